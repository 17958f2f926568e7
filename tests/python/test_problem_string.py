"""Problem strings from Python's arguments: what the library understands of them is what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
import spanfft
from hypothesis import given
from hypothesis import strategies as st
from spanfft import Plan
from spanfft._native import core
from spanfft._problem import problem_string


def test_values_are_written_as_the_library_reads_them() -> None:
    text = problem_string(
        (8, 6), ("c2c", "r2c"), (0, 1), "backward", "float", norm="ortho", batch=3, ranks=4, grid=(2, 2), scale=1e-7,
        threads=0, engine=None, io="", input_chunk=(), in_place=False, own_output=True,
    )  # fmt: skip
    wanted = "r2c 8x6 backward float norm=ortho batch=3 ranks=4 grid=2x2 scale=1e-07 own_output"
    assert core.canonical(text) == wanted


@given(scale=st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_every_number_arrives_unchanged(scale: float) -> None:
    text = core.canonical(problem_string((8,), ("c2c",), (0,), "forward", "double", scale=scale))
    words = dict(word.split("=") for word in text.split() if "=" in word)
    assert float(words.get("scale", 1)) == scale


def test_the_arguments_of_a_plan_are_in_its_problem() -> None:
    plan = Plan(
        (6, 5, 8), "float32", axes=(2, 0), kind=("dct2", "dst3"), norm="forward", batch=2, in_place=True, threads=1,
        engine="ducc0",
    )  # fmt: skip
    wanted = "dct2,dst3 6x5x8 forward float axes=2,0 norm=forward batch=2 threads=1 engine=ducc0"
    assert [word for word in plan.problem.split() if word != "in_place"] == wanted.split()
    assert "in_place" in plan.problem


@pytest.mark.parametrize("value", ["ducc0 threads=7", "ducc0\tin_place", "ducc0\u2003", "ducc0\n", "\0"])
def test_a_value_can_not_bring_other_keys(value: str, tmp_path) -> None:
    for name in ("engine", "exchange"):
        with pytest.raises(spanfft.InvalidArgument, match=f"{name} is .*printable characters"):
            Plan((8,), **{name: value})
    np.save(tmp_path / "in.npy", np.zeros(8))
    for name in ("engine", "exchange", "method", "io", "window"):
        with pytest.raises(spanfft.InvalidArgument, match=f"{name} is .*printable characters"):
            spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", **{name: value})


def test_numpy_integers_and_bools_are_numbers_there() -> None:
    plan = Plan((np.int64(8), 4), threads=np.int32(1), batch=True)
    assert "c2c 8x4 forward double" in plan.problem
    assert plan.batch == 1
