"""Arrays of several axes whose long axis is divided too, and pencils on one node."""

from __future__ import annotations

import numpy as np
import pytest
from ranks_support import assert_transforms, numbers
from spanfft import Plan
from test_ranks_plan import check_plan


def types(plan, direction):
    return [step["type"] for step in plan.report(direction)["steps"]]


# On 2 to 7 ranks: the short axes feed some numbers of ranks, and others not.
SHAPES = [(2, 1440), (1440, 2), (3, 1001), (2, 3, 360), (2, 512, 2), (360, 2, 2), (1, 640), (2, 101)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("output", ["natural", "exchanged"])
@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_long_axes_beside_short_ones(kind, output, shape, comm, rng):
    u = numbers(rng, shape, "complex128" if kind == "c2c" else "float64")
    for exchange in (None, "alltoallv"):
        with Plan(shape, u.dtype, kind=kind, comm=comm, output=output, exchange=exchange) as plan:
            check_plan(comm, plan, u, kind)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble"])
def test_by_that_solver_on_any_number_of_ranks(dtype, comm, rng):
    if comm.size == 1:
        pytest.skip("one rank divides nothing")
    for shape in [(3, 1440), (1440, 3), (2, 96 * comm.size, 3)]:
        u = numbers(rng, shape, dtype)
        with Plan(shape, dtype, comm=comm, method="pencil_lines") as plan:
            assert plan.solver == "pencil_lines"
            check_plan(comm, plan, u)


def test_all_ranks_are_busy(comm, rng):
    if comm.size < 4:
        pytest.skip("an axis of 3 feeds 3 ranks")
    shape = (3, 64 * comm.size**2)
    u = numbers(rng, shape, complex)
    with Plan(shape, comm=comm, exchange="alltoallv") as plan:
        assert plan.solver == "pencil_lines"
        check_plan(comm, plan, u)
        assert plan.input_shape == (3, 64 * comm.size)
        for direction in ("forward", "backward"):
            assert types(plan, direction).count("Exchange") == 3
            assert plan.counted(direction)["messages"] == 3 * (comm.size - 1)


def test_a_grid_that_divides_all_axes(comm, rng):
    if comm.size not in (4, 6):
        pytest.skip("these have grids of two dimensions")
    grid = (2, comm.size // 2)
    for shape in [(60, 66), (6, 250), (250, 6)]:
        u = numbers(rng, shape, complex)
        with Plan(shape, comm=comm, grid=grid, exchange="alltoallv") as plan:
            assert plan.solver == "pencil_lines"
            check_plan(comm, plan, u)


@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_pencils_of_arrays_beyond_the_caches(kind, comm, rng):
    if comm.size not in (4, 6):
        pytest.skip("these have grids of two dimensions")
    shape = (96, 128, 160 if kind == "c2c" else 320)
    u = numbers(rng, shape, "complex128" if kind == "c2c" else "float64")
    for own in (False, True):
        with Plan(shape, u.dtype, kind=kind, comm=comm, grid=(2, comm.size // 2), exchange="shared", own_output=own) as plan:
            assert_transforms(comm, plan, u, kind)
            for direction in ("forward", "backward"):
                assert plan.predicted(direction)["memory_bytes"] == plan.counted(direction)["memory_bytes"]
                assert np.all(np.array(comm.allgather(plan.counted(direction)["messages"])) == 0)
