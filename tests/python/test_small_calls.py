"""Small calls of numpy's names (core.small_call): the general way's numbers and errors, and no second plan."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from soak import oracle
from spanfft import _calls as calls
from spanfft._native import core

FORMS = {"fft": calls.C2C, "ifft": calls.C2C_BACKWARD, "rfft": calls.R2C, "irfft": calls.C2R}
REAL, COMPLEX = ("float32", "float64", "longdouble"), ("complex64", "complex128", "clongdouble")


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    spanfft.clear_cache()
    yield
    spanfft.clear_cache()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The problems of the plans that were made."""
    problems: list[str] = []
    make = core.plan

    def counting(problem: str, *others: Any) -> Any:
        problems.append(problem)
        return make(problem, *others)

    monkeypatch.setattr(core, "plan", counting)
    return problems


def random_array(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    random = np.random.default_rng(seed)
    a = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * random.standard_normal(shape)
    return np.asarray(a * 100).astype(dtype)


def generally(name: str, a: Any, n: Any, axes: Any, norm: Any) -> Any:
    """The general way, which test_numpy_names.py and test_accuracy.py compare with references."""
    base = name.rstrip("2n")
    one_axis = name == base
    if one_axis:
        n = None if n is None else (n,)
    return calls.transform_like_numpy(a, n, axes, FORMS[base], norm, None, None, None, one_axis=one_axis)


def outcome(call: Any) -> Any:
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    return result.dtype, result.shape, result.flags.c_contiguous, result.tobytes()


def assert_rule(pairs: list[tuple[Any, Any]], lengths: tuple[int, ...]) -> None:
    """Holds what was found, and is exact, in all draws together to the accuracy rule."""
    errors = [oracle.squared_error(found, exact) for found, exact in pairs]
    assert oracle.error_of(errors) <= oracle.rule(lengths, np.complex128)


def assert_alike(found: Any, theirs: Any) -> None:
    """Each may be off by 1.5 eps sqrt(log2 N); a cosine transform of n points is a Fourier one of at most 4n."""
    points = 4**theirs.ndim * theirs.size
    atol = 2 * 1.5 * np.finfo(theirs.dtype).eps * np.sqrt(np.log2(points)) * abs(theirs).max()
    np.testing.assert_allclose(found, theirs, rtol=0, atol=atol)


def bits(call: Any) -> Any:
    """A long double has bytes that nobody sets, so its numbers are compared and not its bytes."""
    found = outcome(call)
    if len(found) == 4 and found[0].name in ("longdouble", "clongdouble", "float128", "complex256"):
        numbers = np.frombuffer(found[3], found[0])
        return (*found[:3], [repr(number) for number in numbers])
    return found


@pytest.mark.parametrize("name", [*FORMS, "fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
def test_a_second_call_makes_no_plan(name: str, made: list[str]) -> None:
    a = random_array(1, (6, 10), "float64" if name.startswith("rfft") else "complex128")
    function = getattr(spanfft, name)
    first = function(a)
    assert len(made) == 1
    assert " threads=1" in made[0]
    again = function(a)
    assert len(made) == 1
    assert again is not first
    assert again.tobytes() == first.tobytes()
    assert core.small_call_count() == 1
    others = [random_array(seed, (6, 10), str(a.dtype)) for seed in range(2, 8)]  # the rule speaks of the mean
    pairs = [(first, reference(name, a)), *((function(x), reference(name, x)) for x in others)]
    last = 18 if name.startswith("irfft") else 10
    assert_rule(pairs, (last,) if name in FORMS else (6, last))


@pytest.mark.parametrize("name", ["hfft", "ihfft", "hfft2", "ihfft2", "hfftn", "ihfftn"])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_a_second_hermitian_call_makes_no_plan_and_gives_the_general_ways_bits(
    name: str, norm: str | None, made: list[str]
) -> None:
    for dtype in REAL if name.startswith("i") else COMPLEX:
        made.clear()
        spanfft.clear_cache()
        a = random_array(5, (6, 10), dtype)
        before = a.tobytes()
        first = bits(lambda: getattr(spanfft, name)(a, norm=norm))  # noqa: B023
        assert len(made) == core.small_call_count() == 1
        assert bits(lambda: getattr(spanfft, name)(a, norm=norm)) == first  # noqa: B023
        assert len(made) == 1
        assert a.tobytes() == before
        # In another layout the general way does it.
        assert bits(lambda: getattr(spanfft, name)(np.asfortranarray(a), norm=norm)) == first  # noqa: B023
        assert len(made) == 2
        wanted = getattr(scipy.fft, name)(a, norm=norm)
        assert_alike(getattr(spanfft, name)(a, norm=norm), wanted)


@pytest.mark.parametrize("name", ["dct", "dst", "idct", "idst", "dctn", "dstn", "idctn", "idstn"])
@pytest.mark.parametrize("type_", [1, 2, 3, 4])
def test_a_second_cosine_or_sine_makes_no_plan(name: str, type_: int, made: list[str]) -> None:
    a = random_array(1, (6, 10), "float64")
    for norm in (None, "ortho", "forward"):
        made.clear()
        spanfft.clear_cache()
        first = getattr(spanfft, name)(a, type_, norm=norm)
        assert len(made) == core.small_call_count() == 1
        again = getattr(spanfft, name)(a, type_, norm=norm)
        assert len(made) == 1
        wanted = getattr(scipy.fft, name)(a, type_, norm=norm)
        assert first.tobytes() == again.tobytes()
        assert_alike(first, wanted)
    # Complex numbers, another scaling, a length and another layout are left to the general way.
    for call in (
        lambda f: f(a + 1j * a, type_),
        lambda f: f(a, type_, orthogonalize=True),
        lambda f: f(a, type_, norm="ortho", orthogonalize=False),
        lambda f: f(a, type_, 5),
        lambda f: f(a.astype("float32")[::-1], type_),
    ):
        theirs = call(getattr(scipy.fft, name))
        assert_alike(call(getattr(spanfft, name)), theirs)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_sampled_calls_are_bit_for_bit_the_general_ways(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*FORMS, "fftn", "ifftn", "rfftn", "irfftn"]))
    shape = tuple(data.draw(st.lists(st.integers(0, 9), min_size=0, max_size=4)))
    if data.draw(st.booleans()):
        shape = (*shape, data.draw(st.sampled_from([1, 2, 64, 127, 1000, 1024])))
    dtype = data.draw(st.sampled_from([*REAL, *COMPLEX, "int32", "float16", ">f8", ">c16", "bool", "U3"]))
    a = random_array(7, shape, dtype) if dtype != "U3" else np.full(shape, "abc")
    axis = st.integers(-len(shape) - 1, len(shape))
    several = name.endswith("n")
    n: Any = None
    if several:
        axes: Any = data.draw(st.one_of(st.none(), axis, st.lists(axis, max_size=3).map(tuple), st.just([0])))
    else:
        axes = data.draw(st.one_of(axis, st.just(-1), st.sampled_from([None, (0,), True, 0.5])))
        own = shape[-1] if shape else 1
        n = data.draw(st.one_of(st.none(), st.sampled_from([own, 2 * own - 1, 2 * own - 2, 5, 0, -3, 2.5, True])))
    norm = data.draw(st.sampled_from([None, "backward", "ortho", "forward", "loud", 3]))
    how = data.draw(st.sampled_from(["plain", "fortran", "reversed", "list", "matrix", "read-only"]))
    if how == "fortran":
        a = np.asfortranarray(a)
    elif how == "reversed":
        a = a[..., ::-1] if a.ndim else a
    elif how == "list":
        a = a.tolist()
    elif how == "matrix" and a.ndim == 2:
        a = a.view(np.matrix)
    elif how == "read-only" and a.ndim:
        a.flags.writeable = False
    function = getattr(spanfft, name)
    wanted = bits(lambda: generally(name, a, n, axes, norm))
    arguments = {"axes": axes} if several else {"n": n, "axis": axes}
    for _ in range(2):  # the second finds a plan, if the first made one
        assert bits(lambda: function(a, norm=norm, **arguments)) == wanted


def test_the_input_is_left_as_it_was() -> None:
    for name, dtype in (("fft", "complex128"), ("fft", "float64"), ("rfft", "float32"), ("irfft", "complex128")):
        a = random_array(3, (5, 12), dtype)
        before = a.tobytes()
        getattr(spanfft, name)(a)
        getattr(spanfft, name)(a)
        assert a.tobytes() == before


def test_the_cache_holds_no_more_plans_than_it_says(made: list[str]) -> None:
    lengths = range(1, 2 * core.small_call_plans)
    for n in lengths:
        a = random_array(n, (n,), "complex128")
        others = [random_array(n + i * 1000, (n,), "complex128") for i in range(256 // n)]
        assert_rule([(spanfft.fft(x), reference("fft", x)) for x in (a, *others)], (n,))
        assert core.small_call_count() == min(n, core.small_call_plans)
    before = len(made)
    for n in lengths[-core.small_call_plans :]:
        spanfft.fft(np.zeros(n, complex))
    assert len(made) == before  # the newest stayed
    spanfft.fft(np.zeros(1, complex))
    assert len(made) == before + 1  # the oldest left


def test_what_is_larger_is_left_to_the_general_way_and_to_more_threads(made: list[str]) -> None:
    for n, kept in ((core.small_call_elems, 1), (core.small_call_elems + 1, 0)):
        spanfft.clear_cache()
        made.clear()
        spanfft.fft(np.zeros(n, complex))
        assert core.small_call_count() == kept
        assert (" threads=1" in made[0]) == bool(kept)


def test_clear_cache_frees_the_plans_and_the_environment_is_read_anew(
    made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    a = np.ones(16, complex)
    spanfft.fft(a)
    monkeypatch.setenv("SPANFFT_HOME", str(tmp_path))  # read when a plan is made
    spanfft.fft(a)
    assert len(made) == 1
    spanfft.clear_cache()
    assert core.small_call_count() == 0
    spanfft.fft(a)
    assert len(made) == 2


def test_threads_get_right_results_at_once() -> None:
    sizes = (8, 64, 2048, 4096, 16384)  # from 2048 elements on the GIL is released meanwhile
    # Of short ones as many as the accuracy rule takes the mean of; one wrong result is far outside it.
    arrays = {n: [random_array(100 * n + i, (max(1, 512 // n), n), "complex128") for i in range(4)] for n in sizes}
    exact = {n: [reference("fft", a) for a in arrays[n]] for n in sizes}
    seen: dict[int, list[tuple[Any, Any]]] = {n: [] for n in sizes}
    wrong: list[Exception] = []
    start = threading.Barrier(4)

    def work(i: int) -> None:
        start.wait()
        try:
            for turn in range(60):
                for n in sizes:
                    row = turn % len(arrays[n][i])
                    seen[n].append((spanfft.fft(arrays[n][i][row]), exact[n][i][row]))
                if i == 0 and turn % 20 == 10:
                    spanfft.clear_cache()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not wrong
    for n in sizes:
        assert len(seen[n]) == 4 * 60
        assert_rule(seen[n], (n,))
    assert core.small_call_count() <= core.small_call_plans


def test_a_child_of_fork_plans_anew() -> None:
    a = random_array(5, (64,), "complex128")
    wanted = spanfft.fft(a)
    assert core.small_call_count() == 1
    child = os.fork()
    if child == 0:
        try:
            none_kept = core.small_call_count() == 0
            good = none_kept and spanfft.fft(a).tobytes() == wanted.tobytes() and core.small_call_count() == 1
        except BaseException:
            good = False
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert spanfft.fft(a).tobytes() == wanted.tobytes()
