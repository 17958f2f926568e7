"""layout="cyclic" on ranks: cyclic in, cyclic out, one all-to-all; 1-D arrays too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, assert_rule, assert_transforms, numbers, oracle
from spanfft import Plan
from test_ranks_plan import check_plan

ANY = 2**4 * 3**2 * 5**2 * 7**2  # p * p divides it for p = 1 to 7


def grids(size, ndim):
    return [g for g in itertools.product(range(1, size + 1), repeat=ndim) if np.prod(g) == size]


def one_all_to_all(plan):
    assert plan.solver == "cyclic"
    packed = "exchange=alltoall" in plan.problem  # others may read where the data lies, or cut messages
    for direction in ("forward", "backward"):
        assert not packed or plan.counted(direction)["messages"] == plan.ranks - 1
        types = [step["type"] for step in plan.report(direction)["steps"]]
        assert types.count("Exchange") == (plan.ranks > 1)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble"])
def test_one_dimension(dtype, comm, rng):
    n = comm.size**2 * 12
    u = numbers(rng, (n,), dtype)
    with Plan((n,), dtype, comm=comm, layout="cyclic", exchange="alltoallv") as plan:
        assert np.array_equal(np.arange(n)[plan.input_slices], np.arange(comm.rank, n, comm.size))
        check_plan(comm, plan, u)
        one_all_to_all(plan)


def test_one_long_dimension(comm, rng):
    u = numbers(rng, (ANY,), complex)
    with Plan(u.shape, comm=comm, layout="cyclic", norm="ortho") as plan:
        check_plan(comm, plan, u, norm="ortho")
        one_all_to_all(plan)


@pytest.mark.parametrize("exchange", ["alltoallw", "alltoallv"])
def test_every_grid_of_three_axes(exchange, comm, rng):
    for grid in grids(comm.size, 3):
        shape = tuple(p * p * more for p, more in zip(grid, (2, 3, 1), strict=True))
        u = numbers(rng, shape, complex)
        with Plan(shape, comm=comm, layout="cyclic", grid=grid, exchange=exchange) as plan:
            assert plan.grid == grid
            check_plan(comm, plan, u)
            one_all_to_all(plan)


def test_the_planner_finds_a_grid(comm, rng):
    u = numbers(rng, (4 * 9 * 25 * 49, 4), complex)
    with Plan(u.shape, comm=comm, layout="cyclic") as plan:
        check_plan(comm, plan, u)
        one_all_to_all(plan)


@pytest.mark.parametrize("kind", ["r2c", ("dct2", "c2c", "c2c")], ids=str)
def test_other_kinds_on_axes_that_are_not_divided(kind, comm, rng):
    p = comm.size
    if kind == "r2c":
        u, grid, dtype = numbers(rng, (p * p, 3, 6), float), (p, 1, 1), "float64"
    else:
        u, grid, dtype = numbers(rng, (5, 2 * p * p, 3), complex), (1, p, 1), "complex128"
    with Plan(u.shape, dtype, kind=kind, comm=comm, grid=grid, layout="cyclic") as plan:
        check_plan(comm, plan, u, kind)
        one_all_to_all(plan)


def test_axes_that_are_not_transformed(comm, rng):
    u = numbers(rng, (5, 16, 3), complex)
    with Plan(u.shape, comm=comm, axes=(1,), grid=(comm.size, 1, 1), layout="cyclic") as plan:
        check_plan(comm, plan, u, axes=(1,))
        assert plan.counted()["messages"] == 0


def test_batch_and_in_place(comm, rng):
    n = 4 * comm.size**2
    u = numbers(rng, (3, n), complex)
    with Plan((n,), batch=3, in_place=True, comm=comm, layout="cyclic") as plan:
        local = u[(slice(None), *plan.input_slices)].copy()
        assert local.shape == plan.input_shape
        assert plan.forward(local) is local
        assert plan.backward(local) is local
        assert_transforms(comm, plan, u)


def test_a_filter_needs_no_natural_order(comm, rng):
    """The use of it: transform, multiply by a function of the indices, transform back."""
    n = 6 * comm.size**2
    u = numbers(rng, (n,), complex)
    with Plan((n,), comm=comm, layout="cyclic") as plan:
        (k,) = np.ogrid[plan.output_slices]
        factors = np.exp(np.clongdouble(-2j) * np.arctan(np.longdouble(1)) * 4 * (5 * k % n) / n).astype(complex)
        shifted = plan.backward(plan.forward(u[plan.input_slices]) * factors)
        bound = 2 * oracle.limit("c2c", (0,), u.shape, u.dtype) + 2 * np.finfo(float).eps  # the factors' rounding
        assert_rule(comm, [(shifted, np.roll(u, 5)[plan.input_slices])], bound)


def test_errors(comm):
    size = comm.size
    agrees(comm, lambda: Plan((8, 8), comm=comm, layout="round"), ValueError, "layout is 'round'")
    whole = (slice(0, 8), slice(0, 8)) if comm.rank == 0 else (slice(0, 0), slice(0, 0))
    agrees(comm, lambda: Plan((8, 8), comm=comm, layout="cyclic", real_slices=whole), ValueError, "boxes")
    if size == 1:
        return
    # Only p = 1 divides a prime number twice.
    agrees(comm, lambda: Plan((13, 11), comm=comm, layout="cyclic"), spanfft.Unsupported, "axis 1 of length 11")
    grid = (1, size)
    agrees(comm, lambda: Plan((8, 11), comm=comm, layout="cyclic", grid=grid), ValueError, f"{size}\\*{size}")
    agrees(comm, lambda: Plan((ANY,), kind="r2c", comm=comm, layout="cyclic"), spanfft.Unsupported, "as c2c")
    odd = comm.rank == size - 1
    agrees(comm, lambda: Plan((ANY,), comm=comm, layout="block" if odd else "cyclic"), spanfft.Error, "rank")
