"""Plan.halo in one process, without MPI; tests/mpi/test_ranks_halo.py has the rest."""

from __future__ import annotations

import numpy as np
import pytest
import spanfft


@pytest.mark.parametrize("width", [0, 1, ((0, 2), 3), (9, (13, 0))])
@pytest.mark.parametrize("batch", [None, 3])
def test_surroundings_and_their_adjoint(width: object, batch: int | None, rng: np.random.Generator) -> None:
    plan = spanfft.Plan((6, 4), "complex64", batch=batch)
    u = rng.integers(-9, 9, plan.input_shape).astype("complex64")
    halo = plan.halo(width)
    assert halo.sent_elems == 0
    expected = u
    for axis, line in enumerate(halo.ranges, u.ndim - 2):
        expected = np.take(expected, line, axis=axis, mode="wrap")
    found = halo.exchange(u)
    np.testing.assert_array_equal(found, expected)
    assert halo.shape == found.shape
    v = rng.integers(-9, 9, halo.shape).astype("complex64")
    assert np.vdot(found, v) == np.vdot(u, halo.add_back(v))  # whole numbers: exact


def test_a_view_is_read_and_out_is_written() -> None:
    plan = spanfft.Plan((6, 4), "float64", kind="r2c")
    halo = plan.halo((1, 0))
    u = np.arange(48.0).reshape(12, 4)[::2]
    whole = np.zeros((8, 6))
    out = whole[:, 1:5]
    assert halo.exchange(u, out=out) is out
    np.testing.assert_array_equal(whole[:, 1:5], np.concatenate([u[-1:], u, u[:1]]))
    assert not whole[:, [0, 5]].any()


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (-1, "at least 0"),
        ((1,), "one entry for each of 2 axes"),
        ((1, (1, 2, 3)), "one before and one after"),
        ((1, 1.5), "width"),
        ("ab", "width"),
    ],
)
def test_widths_that_make_no_sense(width: object, words: str) -> None:
    with pytest.raises(spanfft.Error, match=words):
        spanfft.Plan((6, 4)).halo(width)


def test_arrays_that_do_not_fit() -> None:
    plan = spanfft.Plan((6, 4), "float64", kind="r2c")
    halo, u = plan.halo(1), plan.input_array()
    for call, words in (
        (lambda: halo.exchange(u[1:]), "has shape"),
        (lambda: halo.exchange(u.astype("float32")), "has dtype float32"),
        (lambda: halo.exchange([1.0]), "is a list"),
        (lambda: halo.add_back(u), "has shape"),
        (lambda: halo.add_back(np.zeros(halo.shape), out=u[1:]), "out has shape"),
    ):
        with pytest.raises(spanfft.Error, match=words):
            call()
    extended = np.zeros(halo.shape)
    with pytest.raises(spanfft.InvalidArgument, match="same memory"):
        halo.add_back(extended, out=extended[1:-1, 1:-1])
