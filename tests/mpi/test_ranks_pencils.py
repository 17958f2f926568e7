"""Arrays of several axes whose long axis is divided too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, assert_rule, numbers
from soak import oracle
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
    options = {"comm": comm, "exchange": "alltoallv", "grid": (1, comm.size), "method": "pencil_lines"}
    with Plan(shape, "float64", kind="r2c", **options) as plan:
        check_plan(comm, plan, numbers(rng, shape, float), "r2c")
        assert plan.input_shape == (3, 64 * comm.size)
    with Plan(shape, **options) as plan:
        check_plan(comm, plan, numbers(rng, shape, complex))
        assert plan.input_shape == (3, 64 * comm.size)
        for direction in ("forward", "backward"):
            assert types(plan, direction).count("Exchange") == 3
            assert plan.counted(direction)["messages"] == 3 * (comm.size - 1)


def test_the_planner_finds_it(comm, rng):
    if comm.size < 6:
        pytest.skip("half of the ranks would be idle")
    shape = (3, 4096 * comm.size**2)
    with Plan(shape, comm=comm, exchange="alltoallv") as plan:
        assert plan.solver == "pencil_lines"
        check_plan(comm, plan, numbers(rng, shape, complex))
        assert all(np.prod(part) > 0 for part in comm.allgather(plan.input_shape))


def test_a_grid_that_divides_all_axes(comm, rng):
    if comm.size not in (4, 6):
        pytest.skip("these have grids of two dimensions")
    grid = (2, comm.size // 2)
    for shape in [(60, 66), (6, 250), (250, 6)]:
        u = numbers(rng, shape, complex)
        with Plan(shape, comm=comm, grid=grid, exchange="alltoallv") as plan:
            assert plan.solver == "pencil_lines"
            check_plan(comm, plan, u)


def grids(ranks, dims):
    return [grid for grid in itertools.product(range(1, ranks + 1), repeat=dims) if np.prod(grid) == ranks]


GRID_SHAPES = [(90, 5), (5, 180), (2, 3, 180), (2, 96, 3)]  # r2c of (5, 90) has too few pairs, and is refused below


@pytest.mark.parametrize(
    ("kind", "shape"), [*itertools.product(["c2c", "r2c"], GRID_SHAPES), ("c2c", (5, 90))], ids=str
)
def test_every_grid_that_divides_the_long_axis(kind, shape, comm, rng):
    """Short axes in more parts than they have points too: then some ranks have nothing at either end."""
    dtype = "complex128" if kind == "c2c" else "float64"
    long = int(np.argmax(shape))
    halves_long = kind == "r2c" and long == len(shape) - 1
    u = numbers(rng, shape, dtype)
    for grid in grids(comm.size, len(shape)):
        if grid[long] == 1 or (halves_long and 1 not in grid):
            continue
        for output, exchange in (("natural", "alltoallv"), ("exchanged", "overlap:2")):
            options = {"output": output, "exchange": exchange, "method": "pencil_lines"}
            with Plan(shape, dtype, kind=kind, comm=comm, grid=grid, **options) as plan:
                check_plan(comm, plan, u, kind)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("kind", ["c2c", "r2c", "dct2"])
def test_norms_in_place_and_beside_other_kinds(kind, norm, comm, rng):
    if comm.size == 1:
        pytest.skip("one rank divides nothing")
    shape = (128, 3)
    kinds = ["c2c", "dct2"] if kind == "dct2" else kind
    u = numbers(rng, shape, "float64" if kind == "r2c" else "complex128")
    with Plan(shape, u.dtype, kind=kinds, norm=norm, comm=comm, method="pencil_lines") as plan:
        check_plan(comm, plan, u, kinds, norm=norm)
    if kind == "c2c":
        with Plan(shape, norm=norm, comm=comm, method="pencil_lines", in_place=True) as plan:
            mine = np.ascontiguousarray(u[plan.input_slices])
            exact = oracle.forward(u, "c2c", (0, 1), norm)[plan.output_slices]
            assert_rule(comm, [(plan.forward(mine), exact)], oracle.rule(shape, u.dtype))


def test_boxes_and_ranks_without_elements(comm, rng):
    if comm.size < 3:
        pytest.skip("two ranks share the array, and another has nothing")
    shape = (2, 96)
    boxes = [(slice(0, 2), slice(0, 10)), (slice(0, 2), slice(10, 96))]
    boxes += [(slice(0, 0), slice(0, 0))] * (comm.size - 2)
    u = numbers(rng, shape, complex)
    for names in (("real_slices",), ("spectrum_slices",), ("real_slices", "spectrum_slices")):
        given = {name: boxes[comm.rank] for name in names}
        with Plan(shape, comm=comm, method="pencil_lines", **given) as plan:
            check_plan(comm, plan, u)


def test_refusals_say_why(comm):
    if comm.size == 1:
        pytest.skip("one rank divides nothing")
    options = {"comm": comm, "method": "pencil_lines"}
    for shape, kind, words in [
        ((3, 1009), "c2c", "of a length with factors"),  # a prime
        ((3, 1023), "r2c", "of r2c of an even length"),
        ((3, 60), "c2c", "64 points or more"),
        ((5, 90), "r2c", "64 points or more"),  # 45 pairs
        ((4096,), "c2c", "arrays of several axes"),
    ]:
        agrees(comm, lambda: Plan(shape, kind=kind, **options), spanfft.Error, words)  # noqa: B023
