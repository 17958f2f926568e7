"""Halos on ranks against numpy.take(mode="wrap"), and their adjoint against the sum that defines it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import agrees, numbers

WIDTHS = [0, (2, (0, 3), 1), (0, (5, 0), (4, 4)), ((1, 29), 3, (0, 14))]


def surrounded(whole: np.ndarray, halo: spanfft.Halo, first_axis: int = 0) -> np.ndarray:
    """What a halo is, from the whole array."""
    for axis, line in enumerate(halo.ranges, first_axis):
        whole = np.take(whole, np.arange(line.start, line.stop), axis=axis, mode="wrap")
    return whole


def assert_halo(comm: MPI.Comm, plan: spanfft.Plan, width: object, rng: np.random.Generator) -> spanfft.Halo:
    """Both directions: the exchange exactly, the adjoint on whole numbers, whose sums are exact."""
    first_axis = 0 if plan.batch is None else 1
    shape = plan.shape if plan.batch is None else (plan.batch, *plan.shape)
    mine = (slice(None),) * first_axis + plan.input_slices
    whole = np.rint(100 * numbers(rng, shape, plan.dtype)).astype(plan.dtype)
    halo = plan.halo(width)
    extended = halo.exchange(np.ascontiguousarray(whole[mine]))
    np.testing.assert_array_equal(extended, surrounded(whole, halo, first_axis))
    assert extended.shape == halo.shape

    values = np.rint(100 * rng.standard_normal(halo.shape)).astype(plan.dtype) * (comm.rank + 1)
    sums = np.zeros(shape, plan.dtype)
    places = [np.arange(line.start, line.stop) % n for line, n in zip(halo.ranges, plan.shape, strict=True)]
    np.add.at(sums, np.ix_(*(np.arange(n) for n in shape[:first_axis]), *places), values)
    comm.Allreduce(MPI.IN_PLACE, sums)
    assert_counts(halo, "exchange")
    np.testing.assert_array_equal(halo.add_back(values), sums[mine])
    assert_counts(halo, "add_back")
    return halo


def assert_counts(halo: spanfft.Halo, call: str, own: bool = False) -> None:
    predicted, counted = halo.predicted(call, own), halo.counted()
    for name in ("messages", "sent_bytes", "calls", "memory_bytes"):
        assert counted[name] == predicted[name], name


@pytest.mark.parametrize("width", WIDTHS)
def test_any_width(comm: MPI.Comm, rng: np.random.Generator, width: object):
    plan = spanfft.Plan((10, 9, 4), kind="r2c", comm=comm)
    halo = assert_halo(comm, plan, width, rng)
    sent = comm.allreduce(halo.sent_elems)
    owned = [sum(n % plan.shape[a] in range(*plan.input_slices[a].indices(plan.shape[a])) for n in halo.ranges[a])
             for a in range(3)]  # fmt: skip
    assert sent == comm.allreduce(int(np.prod(halo.shape)) - int(np.prod(owned)))  # what a part has itself stays there
    plan.free()


@pytest.mark.parametrize(("shape", "dtype"), [((3, 2), "complex64"), ((2, 3, 3, 2), "float32")])
def test_more_ranks_than_planes(comm: MPI.Comm, rng: np.random.Generator, shape: Sequence[int], dtype: str):
    kind = "c2c" if dtype.startswith("c") else "r2c"
    grid = (comm.size, *(1,) * (len(shape) - 1))
    plan = spanfft.Plan(shape, dtype, kind=kind, comm=comm, grid=grid)
    assert_halo(comm, plan, 2, rng)
    plan.free()


@pytest.mark.parametrize("name", ["pencils", "slabs of the last axis"])
def test_any_grid(comm: MPI.Comm, rng: np.random.Generator, name: str):
    rows = next(p for p in (3, 2, comm.size) if comm.size % p == 0)
    grid = (rows, comm.size // rows, 1) if name == "pencils" else (1, 1, comm.size)
    plan = spanfft.Plan((8, 11, 6), comm=comm, grid=grid)
    assert plan.grid == grid
    assert_halo(comm, plan, (2, 1, (0, 2)), rng)
    plan.free()


def test_boxes_of_ones_own_and_a_batch(comm: MPI.Comm, rng: np.random.Generator):
    """The last rank has all but one row of each other, so most halos reach past their neighbours."""
    first = comm.rank
    stop = first + 1 if comm.rank < comm.size - 1 else 12
    plan = spanfft.Plan((12, 5), comm=comm, batch=2, real_slices=(slice(first, stop), slice(0, 5)))
    assert_halo(comm, plan, (3, (1, 0)), rng)
    plan.free()


def test_out_is_used_and_nothing_is_lost_on_the_way(comm: MPI.Comm):
    plan = spanfft.Plan((9, 6), "float64", kind="r2c", comm=comm)
    halo = plan.halo(1)
    extended = np.full(halo.shape, np.nan)
    ones = np.ones(plan.input_shape)
    assert halo.exchange(ones, out=extended) is extended
    assert np.all(extended == 1)
    back = np.full(plan.input_shape, np.nan)
    assert halo.add_back(extended, out=back) is back
    assert comm.allreduce(float(back.sum())) == comm.allreduce(float(extended.sum()))
    plan.free()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("batch", [None, 2])
def test_on_a_node_the_plans_own_array_is_read_where_it_lies(
    comm: MPI.Comm, rng: np.random.Generator, width: object, batch: int | None
):
    plan = spanfft.Plan((10, 9, 4), kind="r2c", comm=comm, own_input=True, own_output=True, batch=batch)
    first_axis = 0 if batch is None else 1
    whole = numbers(rng, (10, 9, 4) if batch is None else (batch, 10, 9, 4), plan.dtype)
    halo = assert_halo(comm, plan, width, rng)  # of another array, which is packed into a window
    assert halo.counted()["messages"] == 0
    own = plan.input_array()
    own[...] = whole[(slice(None),) * first_axis + plan.input_slices]
    np.testing.assert_array_equal(halo.exchange(own), surrounded(whole, halo, first_axis))
    counted = halo.counted()
    assert (counted["messages"], counted["calls"]) == (0, 0)
    assert_counts(halo, "exchange", own=True)
    # Each element of the extended part is copied once, and nothing is packed.
    assert counted["memory_bytes"] == 2 * own.itemsize * int(np.prod(halo.shape))
    # The halo needs the plan no longer; and what one rank gives elsewhere is told to all.
    mine = own.copy()
    plan.free()
    np.testing.assert_array_equal(halo.exchange(mine), surrounded(whole, halo, first_axis))
    assert_counts(halo, "exchange", own=comm.size == 1)
    halo.free()


def test_mistakes_are_told_on_all_ranks(comm: MPI.Comm):
    plan = spanfft.Plan((9, 6), kind="r2c", comm=comm)
    wrong = comm.rank == comm.size - 1
    agrees(comm, lambda: plan.halo(-1 if wrong else 1), spanfft.InvalidArgument, "at least 0 elements")
    agrees(comm, lambda: plan.halo((1, 2, 3)), spanfft.InvalidArgument, "one entry for each of 2 axes")
    agrees(comm, lambda: plan.halo((1, (1, 2, 3))), spanfft.InvalidArgument, "one before and one after")
    if comm.size > 1:
        agrees(comm, lambda: plan.halo(2 if wrong else 1), spanfft.MPIError, "must agree on the halo's width")
    halo = plan.halo(1)
    good, bad = np.zeros(plan.input_shape), np.zeros((1, 1, 1))
    agrees(comm, lambda: halo.exchange(bad if wrong else good), spanfft.InvalidArgument, "has shape")
    agrees(comm, lambda: halo.exchange(good.astype("f4") if wrong else good), spanfft.InvalidType, "float32")
    agrees(comm, lambda: halo.add_back([1] if wrong else np.zeros(halo.shape)), spanfft.InvalidType, "list")
    agrees(comm, lambda: halo.exchange(good, out=bad), spanfft.InvalidArgument, "out has shape")
    assert halo.exchange(good).shape == halo.shape  # and it still works
    plan.free()
    cyclic = spanfft.Plan((comm.size**2,), comm=comm, layout="cyclic")
    agrees(comm, lambda: cyclic.halo(1), spanfft.Unsupported, "cyclic")
    cyclic.free()
