"""Plan on ranks: every kind in 1 to 6 axes, uneven and odd shapes, grids, orders, exchanges, counts, errors."""

from __future__ import annotations

import gc
import itertools

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, assert_rule, assert_transforms, declined, exchange_names, numbers, oracle
from spanfft import Plan

SHAPES = [
    (64,),
    (101,),
    (16, 12),
    (13, 7),
    (1, 9),
    (9, 1),
    (8, 6, 10),
    (7, 11, 13),
    (2, 1, 17),
    (3, 2, 20),
    (4, 5, 2, 6),
    (3, 1, 4, 2, 5),
    (2, 3, 2, 3, 2, 3),
]
KINDS = ["c2c", "r2c", "dct2", "dst3"]


def check_tiles(comm, slices, shape):
    """The ranks' boxes hold every element once."""
    held = np.zeros(shape, int)
    for box in comm.allgather(slices):
        held[box] += 1
    assert (held == 1).all()


def check_plan(comm, plan, u, kind="c2c", axes=None, norm="backward"):
    assert plan.ranks == comm.size
    check_tiles(comm, plan.input_slices, plan.shape)
    check_tiles(comm, plan.output_slices, plan.spectrum_shape)
    local = np.ascontiguousarray(u[plan.input_slices])
    assert local.shape == plan.input_shape
    kept = local.copy()
    v = plan.forward(local)
    assert np.array_equal(local, kept)
    assert v.shape == plan.output_shape
    kept = v.copy()
    plan.backward(v)
    assert np.array_equal(v, kept)
    assert_transforms(comm, plan, u, kind, axes, norm)
    for direction in ("forward", "backward"):
        predicted, counted = plan.predicted(direction), plan.counted(direction)
        for key in ("messages", "sent_bytes", "calls", "memory_bytes"):
            assert predicted[key] == counted[key], (direction, key)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_shapes(kind, shape, comm, rng):
    dtype = "complex128" if kind == "c2c" else "float64"
    u = numbers(rng, shape, dtype)
    for output in ("natural", "exchanged"):
        with Plan(shape, dtype, kind=kind, comm=comm, output=output) as plan:
            check_plan(comm, plan, u, kind)


@pytest.mark.parametrize("kind", ["c2c", "r2c"])
@pytest.mark.parametrize("shape", [(8, 6, 10), (5, 7, 3)], ids=str)
def test_every_grid(kind, shape, comm, rng):
    dtype = "complex128" if kind == "c2c" else "float64"
    u = numbers(rng, shape, dtype)
    for grid in itertools.product(range(1, comm.size + 1), repeat=3):
        if np.prod(grid) != comm.size:
            continue
        for output in ("natural", "exchanged"):
            if declined(comm, 3, grid):
                continue
            with Plan(shape, dtype, kind=kind, comm=comm, grid=grid, output=output) as plan:
                at = list(itertools.product(*(range(p) for p in grid)))[comm.rank]
                pieces = [np.array_split(np.arange(n), p)[c] for n, p, c in zip(shape, grid, at, strict=True)]
                mine = plan.input_slices
                assert [s.stop - s.start for s in mine] == [len(p) for p in pieces]
                assert all(len(p) == 0 or s.start == p[0] for s, p in zip(mine, pieces, strict=True))
                check_plan(comm, plan, u, kind)


def test_default_blocks_are_balanced(comm):
    plan = Plan((13, 5, 4), comm=comm)
    shapes = comm.allgather(plan.input_shape)
    for axis in range(3):
        lengths = {shape[axis] for shape in shapes}
        assert max(lengths) - min(lengths) <= 1
    plan.free()


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (2, 0), (1, 2), (-1, -3)])
@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_some_axes(kind, axes, comm, rng):
    dtype = "complex128" if kind == "c2c" else "float64"
    u = numbers(rng, (6, 9, 8), dtype)
    with Plan(u.shape, dtype, axes=axes, kind=kind, comm=comm) as plan:
        check_plan(comm, plan, u, kind, axes)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_types_and_norms(dtype, norm, comm, rng):
    u = numbers(rng, (12, 10), dtype)
    with Plan(u.shape, dtype, norm=norm, comm=comm) as plan:
        check_plan(comm, plan, u, norm=norm)


# Parameters that leave chunks over, make one of all, or ask for more than there is.
PARAMETERS = [
    *(f"{name}:{planes}" for name in ("oneplane", "overlap", "standard", "replace") for planes in (2, 3, "all", 1000)),
    *(f"blockvector:{blocks}" for blocks in ("1", "3", "1000", "thread", "2,thread")),
]


# test_persistent (test_ranks_strategies.py) holds that one, and its refusal by an MPI without it.
@pytest.mark.parametrize("exchange", [*sorted(set(exchange_names()) - {"persistent"}), *PARAMETERS])
@pytest.mark.parametrize("shape", [(16, 12, 10), (7, 5, 3), (60, 1)], ids=str)
def test_forced_exchange(exchange, shape, comm, rng):
    u = numbers(rng, shape, complex)
    with Plan(shape, exchange=exchange, comm=comm) as plan:
        if comm.size > 1:
            assert exchange in plan.explain()
            assert f"exchange={exchange} " in plan.problem + " "
        check_plan(comm, plan, u)


@pytest.mark.parametrize("exchange", ["oneplane", "overlap:2", "standard", "replace:3", "blockvector:2,thread"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_transforms_in_chunks(exchange, dtype, comm, rng):
    u = numbers(rng, (11, 9, 8), dtype)
    kind = "c2c" if dtype == "complex64" else "r2c"
    for grid in ((comm.size, 1, 1), (1, comm.size, 1)):
        for output in ("natural", "exchanged"):
            with Plan(u.shape, dtype, kind=kind, grid=grid, output=output, exchange=exchange, comm=comm) as plan:
                check_plan(comm, plan, u, kind)


def test_calls_are_those_of_the_five_kernels(comm, rng):
    """P3, section 3: slabs of n / P planes, transposed output; calls of a transform per rank."""
    n, ranks = 4 * comm.size, comm.size
    u = numbers(rng, (n, n, n), complex)
    wanted = {
        "replace": (ranks - 1) * n // ranks,
        "standard": 2 * (ranks - 1) * n // ranks,
        "overlap": 2 * (ranks - 1) * n // ranks,
        "oneplane": n // ranks,
        "alltoallv": 1,
    }
    for exchange, calls in wanted.items():
        grid = (ranks, 1, 1)
        with Plan(u.shape, grid=grid, output="exchanged", exchange=exchange, comm=comm) as plan:
            check_plan(comm, plan, u)
            for direction in ("forward", "backward"):
                assert plan.counted(direction)["calls"] == (calls if ranks > 1 else 0), exchange


@pytest.mark.parametrize(
    "exchange", ["overlap:0", "oneplane:few", "replace:-1", "blockvector:2,threads", "alltoallv:2"]
)
def test_bad_parameters(exchange, comm):
    if comm.size > 1:
        words = f"'{exchange.split(':')[1]}'"
        agrees(comm, lambda: Plan((8, 8, 8), exchange=exchange, comm=comm), ValueError, words)


def test_more_ranks_than_planes(comm, rng):
    u = numbers(rng, (2, 2, 3), float)
    for grid in (None, (comm.size, 1, 1), (1, comm.size, 1)):
        with Plan(u.shape, "float64", kind="r2c", comm=comm, grid=grid) as plan:
            check_plan(comm, plan, u, "r2c")


def test_batch(comm, rng):
    u = numbers(rng, (3, 8, 6), float)
    with Plan((8, 6), "float64", kind="r2c", batch=3, comm=comm) as plan:
        local = np.ascontiguousarray(u[(slice(None), *plan.input_slices)])
        assert local.shape == plan.input_shape
        v = plan.forward(local)
        assert v.shape == (3, *plan.output_shape[1:])
        assert_transforms(comm, plan, u, "r2c")


def test_in_place(comm, rng):
    u = numbers(rng, (9, 8), complex)
    with Plan(u.shape, in_place=True, comm=comm) as plan:
        local = u[plan.input_slices].copy()
        assert plan.forward(local) is local
        assert plan.backward(local) is local
        assert_transforms(comm, plan, u)


def test_boxes_of_ones_own(comm, rng):
    u = numbers(rng, (10, 6), complex)
    # All on the last rank in real space; columns, counted from the last rank, in the spectrum.
    rows = slice(0, 10) if comm.rank == comm.size - 1 else slice(0, 0)
    ends = np.linspace(0, 6, comm.size + 1).astype(int)
    place = comm.size - 1 - comm.rank
    columns = slice(int(ends[place]), int(ends[place + 1]))
    with Plan(u.shape, comm=comm, real_slices=(rows, slice(None)), spectrum_slices=(slice(None), columns)) as plan:
        assert plan.input_slices == (rows, slice(0, 6) if rows.stop else plan.input_slices[1])
        assert plan.output_slices[1] == columns or columns.stop == columns.start
        check_plan(comm, plan, u)


def test_strides_and_out(comm, rng):
    u = numbers(rng, (10, 12), complex)
    with Plan(u.shape, comm=comm) as plan:
        exact = oracle.forward(u, "c2c", (0, 1))[plan.output_slices]
        bound = oracle.limit("c2c", (0, 1), u.shape, u.dtype)
        local = u[plan.input_slices]
        assert_rule(comm, [(plan.forward(local), exact)], bound)
        out = np.asfortranarray(plan.output_array())
        assert plan.forward(np.asfortranarray(local), out) is out
        same = local.copy()
        plan.forward(same, out=same)
        assert_rule(comm, [(out, exact), (same, exact)], bound)


def test_many_plans_at_once(comm, rng):
    plans = [Plan((n, 6, 5), "float64", kind="r2c", comm=comm) for n in range(1, 9)]
    for plan in reversed(plans):
        u = numbers(rng, plan.shape, float)
        check_plan(comm, plan, u, "r2c")
    for plan in plans:
        plan.free()


def test_plans_on_split_communicators(comm, rng):
    u = numbers(rng, (9, 7, 4), complex)
    rows, columns = comm.Split(comm.rank // 2, comm.rank), comm.Split(comm.rank % 2, comm.rank)
    backwards = comm.Split(0, -comm.rank)
    plans = [Plan(u.shape, comm=sub) for sub in (rows, columns, backwards)]
    for sub, plan in zip((rows, columns, backwards), plans, strict=True):
        check_plan(sub, plan, u)
    for sub, plan in zip((rows, columns, backwards), plans, strict=True):
        plan.free()
        sub.Free()


def test_plans_that_are_only_dropped(comm):
    """Collected at different times on each rank, freed together with the next plans."""
    from spanfft._mpi import ranks_of

    kept = []
    for i in range(8):
        plan = Plan((6, 5), comm=comm)
        if comm.rank == i % comm.size:
            kept.append(plan)
        del plan
        gc.collect()
    kept.clear()
    gc.collect()
    Plan((6, 5), comm=comm).free()
    assert not ranks_of(comm)._dropped


def test_many_plans_on_many_communicators(comm):
    for _ in range(200 if comm.size <= 2 else 8):
        copy = comm.Dup()
        plan = Plan((6, 5), comm=copy)
        plan.forward(plan.input_array())
        plan.free()
        copy.Free()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        (dict(shape=(0, 4)), ValueError, r"\(0, 4\)"),
        (dict(shape=(4, 4), dtype="float64"), TypeError, "complex128"),
        (dict(shape=(4, 4), grid=(97, 1)), ValueError, "97"),
        (dict(shape=(4, 4), grid=(1, 1, 1)), ValueError, "grid"),
        (dict(shape=(4, 4), output="upwards"), ValueError, "upwards"),
        (dict(shape=(4, 4), engine="abacus"), Exception, "abacus"),
        (dict(shape=(4, 4), exchange="pigeon"), Exception, "pigeon"),
        (dict(shape=(4, 4), real_slices=(slice(0, 4), slice(0, 1))), ValueError, "box"),
    ],
)
def test_bad_plans(options, kind, words, comm):
    agrees(comm, lambda: Plan(comm=comm, **options), kind, words)


@pytest.mark.parametrize("culprit", [0, -1])
def test_one_rank_asks_for_something_else(culprit, comm):
    if comm.size == 1:
        return
    odd = comm.rank == culprit % comm.size
    agrees(comm, lambda: Plan((8, 7 if odd else 6), comm=comm), spanfft.Error, "rank")
    agrees(comm, lambda: Plan((8, 6) if odd else (8, 6, 1), comm=comm), spanfft.Error, "rank")
    agrees(comm, lambda: Plan((8, 6), "complex64" if odd else "complex128", comm=comm), spanfft.Error, "rank")
    agrees(comm, lambda: Plan((8, 6), norm="ortho" if odd else None, comm=comm), spanfft.Error, "rank")
    agrees(comm, lambda: Plan((8, -6 if odd else 6), comm=comm), ValueError, "rank")
    agrees(comm, lambda: Plan((8, 6), kind="nonsense" if odd else "c2c", comm=comm), ValueError, "rank")


@pytest.mark.parametrize("culprit", [0, -1])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_one_rank_passes_something_else(direction, culprit, comm):
    with Plan((8, 6), comm=comm) as plan:
        run = getattr(plan, direction)
        odd = comm.rank == culprit % comm.size
        good = plan.input_array() if direction == "forward" else plan.output_array()
        agrees(comm, lambda: run(np.zeros((9, 9), complex) if odd else good), ValueError, r"\(9, 9\)")
        agrees(comm, lambda: run(good.astype("F") if odd else good), TypeError, "complex64")
        agrees(comm, lambda: run([1] if odd else good), TypeError, "list")
        agrees(comm, lambda: run(good, out=np.zeros((9, 9), complex) if odd else None), ValueError, "out")
        # It works after all that.
        run(good)


def test_explain(comm, rng):
    u = numbers(rng, (16, 12, 10), complex)
    with Plan(u.shape, comm=comm) as plan:
        local = np.ascontiguousarray(u[plan.input_slices])
        plan.forward(local)
        text = plan.explain()
        assert f"rank {comm.rank}" in text
        assert "counted" in text
        report = plan.report()
        assert report["rank"] == comm.rank
        assert report["ranks"] == comm.size
        others = comm.allgather(report["counted"])
        for rank, counted in enumerate(others):
            predicted = plan.predicted(rank=rank)
            for key in ("messages", "sent_bytes", "memory_bytes"):
                assert predicted[key] == counted[key], (rank, key)


def test_random_problems(comm, rng):
    """Small problems, the same on all ranks; the failing one is named."""
    for _ in range(40):
        ndim = int(rng.integers(2, 5))
        shape = tuple(int(n) for n in rng.integers(1, 12, ndim))
        naxes = int(rng.integers(1, ndim + 1))
        axes = tuple(int(a) for a in rng.permutation(ndim)[:naxes])
        kind = str(rng.choice(["c2c", "r2c", "dct2", "dct4", "dst1"]))
        output = str(rng.choice(["natural", "exchanged"]))
        exchange = str(rng.choice([*exchange_names(), *PARAMETERS, ""])) or None
        dtype = "complex128" if kind == "c2c" else "float64"
        u = numbers(rng, shape, dtype)
        what = f"{kind} {shape} axes={axes} {output} {exchange}"
        try:
            with Plan(shape, dtype, axes=axes, kind=kind, output=output, exchange=exchange, comm=comm) as plan:
                check_plan(comm, plan, u, kind, axes)
        except Exception as error:
            raise AssertionError(f"{what}: {error}") from error


def test_an_array_that_a_plan_owns_outlives_the_plan(comm):
    shape = (9, 7, 10)
    made = Plan(shape, comm=comm, own_output=True)
    spectrum = made.forward(np.full(made.input_shape, 1 + comm.rank, complex))
    kept = spectrum.copy()
    del made
    gc.collect()
    for _ in range(3):  # making plans frees what was dropped
        other = Plan(shape, comm=comm, own_output=True)
        other.forward(np.zeros(other.input_shape, complex))
        other.free()
    np.testing.assert_array_equal(spectrum, kept)


@pytest.mark.parametrize("exchange", [None, "shared", "alltoallv"])
@pytest.mark.parametrize("shape", [(9, 7, 10), (1200,)], ids=str)
@pytest.mark.parametrize("kind", ["c2c", "r2c"])
@pytest.mark.parametrize("own_output", [False, True])
def test_a_plan_that_owns_its_input_reads_it_there_and_any_other_array_by_a_copy(
    comm, kind, shape, exchange, own_output
):
    rng = np.random.default_rng(5)
    axes = tuple(range(len(shape)))
    with Plan(shape, kind=kind, comm=comm, exchange=exchange, own_input=True, own_output=own_output) as plan:
        real, spectrum = plan.input_array(), plan.output_array()
        assert plan.input_array() is real
        for given in (real, np.empty_like(real)):
            whole = numbers(rng, shape, plan.dtype)
            given[...] = whole[plan.input_slices]
            found = plan.forward(given)
            exact = oracle.forward(whole, kind, axes)[plan.output_slices]
            bound = oracle.limit(kind, axes, shape, whole.dtype)
            assert_rule(comm, [(found, exact)], bound)
            np.testing.assert_array_equal(real, whole[plan.input_slices])
            if own_output and plan.solver.startswith("shared"):  # no rank copies what the others read
                assert found.size == 0 or found.ctypes.data == spectrum.ctypes.data
            kept = found.copy()
            back = plan.backward(found)
            assert_rule(comm, [(back, whole[plan.input_slices])], 2 * bound)
            np.testing.assert_array_equal(found, kept)


@pytest.mark.parametrize("exchange", [None, "shared", "alltoallv"])
@pytest.mark.parametrize("output", ["natural", "exchanged"])
@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_a_plan_that_owns_its_output_returns_the_same_array_with_the_new_result(comm, kind, output, exchange):
    shape = (9, 7, 10)
    rng = np.random.default_rng(5)
    plan = Plan(shape, kind=kind, comm=comm, output=output, exchange=exchange, own_output=True)
    seen = None
    for _ in range(2):
        whole = rng.standard_normal(shape)
        if kind == "c2c":
            whole = whole + 1j * rng.standard_normal(shape)
        spectrum = plan.forward(np.ascontiguousarray(whole[plan.input_slices]))
        bound = oracle.limit(kind, (0, 1, 2), shape, whole.dtype)
        assert_rule(comm, [(spectrum, oracle.forward(whole, kind, (0, 1, 2))[plan.output_slices])], bound)
        assert seen is None or spectrum is seen
        seen = spectrum
        assert_rule(comm, [(plan.backward(spectrum), whole[plan.input_slices])], 2 * bound)
    with pytest.raises(spanfft.InvalidArgument, match="owns its output"):
        plan.forward(np.zeros(plan.input_shape, plan.dtype), out=np.zeros(plan.output_shape, plan.spectrum_dtype))
    plan.free()
