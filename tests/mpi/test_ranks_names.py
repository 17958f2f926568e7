"""numpy.fft's and scipy.fft's names with comm=: each rank passes its box and gets its box."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.fft
import spanfft
from mpi4py import MPI
from ranks_support import agrees, assert_rule, declined, numbers, oracle
from spanfft._arrays import balanced


def box(array, grid, rank):
    """This rank's balanced blocks: an independent way to find them."""
    at = list(itertools.product(*(range(p) for p in grid)))[rank]
    pieces = [np.array_split(np.arange(n), p)[c] for n, p, c in zip(array.shape, grid, at, strict=True)]
    return array[np.ix_(*pieces)]


def grids(size, ndim):
    """The default, and every division of the ranks among the axes."""
    yield None
    for grid in itertools.product(range(1, size + 1), repeat=ndim):
        if np.prod(grid) == size:
            yield grid


def bound_of(name, x, exact, axes, options):
    """By the accuracy rule, which speaks of the lengths in real space."""
    real = exact.shape if name.startswith(("irfft", "hfft")) else x.shape
    kind = name.removeprefix("i")[:3] + str(options.get("type", 2)) if "ct" in name or "st" in name else "c2c"
    weighs = "ortho" if options.get("orthogonalize") else options.get("norm")
    return oracle.limit(kind, range(x.ndim) if axes is None else axes, real, x.dtype, weighs)


def check(name, x, comm, grid, **options):
    full = grid or (comm.size,) + (1,) * (x.ndim - 1)
    library = np.fft if hasattr(np.fft, name) else scipy.fft
    local = box(x, full, comm.rank)
    axes = [options["axis"]] if "axis" in options else options.get("axes")
    if axes is None:
        axes = [-1] if not name.endswith(("n", "2")) else [-2, -1] if name.endswith("2") else None
    if declined(comm, x.ndim, full, axes):
        kind, words = (spanfft.Unsupported, "1-D") if x.ndim == 1 else (ValueError, "leave one axis undivided")
        agrees(comm, lambda: getattr(spanfft, name)(local, comm=comm, grid=grid, **options), kind, words)
        return
    pairs = []
    for drawn in oracle.draws(x):
        local = box(drawn, full, comm.rank)
        kept = local.copy()
        mine = getattr(spanfft, name)(local, comm=comm, grid=grid, **options)
        exact = getattr(scipy.fft, name)(oracle.wide(drawn), **options)
        pairs.append((mine, box(exact, full, comm.rank)))
        assert np.array_equal(local, kept)
    assert mine.dtype == getattr(library, name)(x, **options).dtype
    assert_rule(comm, pairs, bound_of(name, x, exact, axes, options))


@pytest.mark.parametrize("shape", [(13, 8, 6), (1, 5, 4), (8, 1, 7)])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "fft2", "ifft2", "rfft2", "irfftn", "irfft2"])
def test_several_axes(name, shape, comm, rng):
    x = numbers(rng, shape, float if name.startswith("r") else complex)
    for grid in grids(comm.size, 3):
        check(name, x, comm, grid)
    check(name, x, comm, None, norm="ortho")
    check(name, x, comm, None, axes=(1, 0) if shape[0] > 1 else (0, 1))
    check(name, x.astype("F" if x.dtype.kind == "c" else "f"), comm, None)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis_of_several(name, comm, rng):
    x = numbers(rng, (9, 11), float if name in ("rfft", "ihfft") else complex)
    for grid in grids(comm.size, 2):
        for axis in (0, 1, -1):
            check(name, x, comm, grid, axis=axis)
    check(name, x, comm, None, axis=0, norm="forward")


@pytest.mark.parametrize("n", [1, 2, 7, 16, 30, 64, 97, 101, 120, 1009, 4096])
def test_one_dimension(n, comm, rng):
    x = numbers(rng, (n,), complex)
    full = (comm.size,)
    for name, values in [("fft", x), ("ifft", x), ("rfft", x.real)]:
        check(name, values, comm, None)
    if declined(comm, 1):
        return
    half = spanfft.rfft(box(x.real, full, comm.rank), comm=comm)
    pairs = [(spanfft.irfft(half, n=n, comm=comm), box(x.real, full, comm.rank))]
    assert_rule(comm, pairs, 2 * oracle.limit("r2c", (0,), x.shape, x.dtype))


def test_odd_last_length(comm, rng):
    x = numbers(rng, (6, 9), float)
    full = (comm.size, 1)
    half = spanfft.rfftn(box(x, full, comm.rank), comm=comm)
    back = spanfft.irfftn(half, s=(6, 9), axes=(0, 1), comm=comm)
    assert_rule(comm, [(back, box(x, full, comm.rank))], 2 * oracle.limit("r2c", (0, 1), x.shape, x.dtype))


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("type_", [1, 2, 3, 4])
def test_cosine_and_sine(name, type_, comm, rng):
    x = numbers(rng, (7, 10), float)
    for norm, orthogonalize in [(None, None), ("ortho", None), ("ortho", False), (None, True)]:
        options = dict(type=type_, norm=norm, orthogonalize=orthogonalize)
        check(name + "n", x, comm, None, **options)
        check(name, x, comm, None, axis=0, **options)
    check(name, numbers(rng, (5, 6), complex), comm, None, type=type_, axis=0)


def test_out(comm, rng):
    x = numbers(rng, (10, 6), complex)
    full = (comm.size, 1)
    local, exact = box(x, full, comm.rank), box(oracle.forward(x, "c2c", (0, 1)), full, comm.rank)
    out = np.empty_like(local)
    assert spanfft.fftn(local, out=out, comm=comm) is out
    assert spanfft.fftn(local, out=local, comm=comm) is local
    assert_rule(comm, [(out, exact), (local, exact)], oracle.limit("c2c", (0, 1), x.shape, x.dtype))
    wrong = np.empty((99, 99), complex) if comm.rank == comm.size - 1 else out
    with pytest.raises(ValueError, match="shape"):
        spanfft.fftn(local, out=wrong, comm=comm)


def test_strides(comm, rng):
    x = numbers(rng, (12, 10), complex)
    local = np.asfortranarray(box(x, (comm.size, 1), comm.rank))
    exact = box(oracle.forward(x, "c2c", (0, 1)), (comm.size, 1), comm.rank)
    assert_rule(comm, [(spanfft.fftn(local, comm=comm), exact)], oracle.limit("c2c", (0, 1), x.shape, x.dtype))


def test_wrong_arguments(comm):
    local = np.zeros((balanced(8, comm.size, comm.rank)[1], 6), complex)
    agrees(comm, lambda: spanfft.fftn(local, axes=(0, 5), comm=comm), IndexError, "out of bounds")
    agrees(comm, lambda: spanfft.fftn(local, norm="x", comm=comm), ValueError, "norm")
    agrees(comm, lambda: spanfft.rfftn(local, comm=comm), TypeError, "real")
    agrees(comm, lambda: spanfft.fftn(local, axes=(), comm=comm), ValueError, "empty")
    agrees(comm, lambda: spanfft.fftn(local, axes=(0, 0), comm=comm), NotImplementedError, "twice")
    agrees(comm, lambda: spanfft.fftn(local, s=(9, 6), axes=(0, 1), comm=comm), NotImplementedError, "padded")
    agrees(comm, lambda: spanfft.fftn(local, grid=(99, 1), comm=comm), ValueError, "grid")
    agrees(comm, lambda: spanfft.dct(local.real, type=9, comm=comm), ValueError, "type")
    agrees(comm, lambda: spanfft.dct(local.real, n=5, comm=comm), NotImplementedError, "padded")


@pytest.mark.parametrize("culprit", [0, -1])
def test_one_rank_differs(culprit, comm):
    if comm.size == 1:
        return
    odd = comm.rank == culprit % comm.size
    rows = balanced(8, comm.size, comm.rank)[1]
    agrees(comm, lambda: spanfft.fftn(np.zeros((rows, 5 if odd else 6)), comm=comm), ValueError, "balanced")
    agrees(
        comm, lambda: spanfft.fftn(np.zeros((rows + 2 * odd, 6)), comm=comm), ValueError, "balanced"
    ) if culprit else None
    agrees(comm, lambda: spanfft.fftn(np.zeros((rows, 6, 1) if odd else (rows, 6)), comm=comm), Exception, "axes")
    agrees(comm, lambda: spanfft.fftn(np.zeros((rows, 6)), norm="ortho" if odd else None, comm=comm), Exception, "norm")
    agrees(comm, lambda: spanfft.fftn(np.zeros((rows, 6)), norm="what" if odd else None, comm=comm), ValueError, "rank")
    agrees(comm, lambda: spanfft.fftn(np.zeros((rows, 6), "F" if odd else "D"), comm=comm), Exception, "complex64")
    agrees(comm, lambda: spanfft.fftn(np.array([["a"]]) if odd else np.zeros((rows, 6)), comm=comm), TypeError, "rank")
    for name in (spanfft.fft, spanfft.hfft, spanfft.ihfft, spanfft.dct):
        agrees(
            comm,
            lambda name=name: name(np.zeros((rows, 6)), norm="what" if odd else None, comm=comm),
            ValueError,
            "rank",
        )
        agrees(
            comm, lambda name=name: name([[1], [2, 3]] if odd else np.zeros((rows, 6)), comm=comm), ValueError, "rank"
        )
        agrees(
            comm,
            lambda name=name: name(np.array([["a"]]) if odd else np.zeros((rows, 6)), comm=comm),
            TypeError,
            "rank",
        )


def test_a_result_that_does_not_fit_on_one_rank_is_an_error_on_all(comm, monkeypatch):
    local = np.ones((balanced(8, comm.size, comm.rank)[1], 6))
    spanfft.fftn(local, comm=comm)
    culprit = comm.size - 1

    def no_memory(*_, **__):
        raise MemoryError("no room")

    with monkeypatch.context() as patched:
        if comm.rank == culprit:
            patched.setattr("spanfft._calls.np.ascontiguousarray", no_memory)
        agrees(comm, lambda: spanfft.fftn(local, comm=comm), spanfft.OutOfMemory, "no room")


def test_a_plan_whose_communicator_was_freed_says_so(comm):
    copy = comm.Dup()
    plan = spanfft.Plan((8, 6), comm=copy)
    local = np.ones(plan.input_shape, complex)
    copy.Free()
    other = comm.Dup()  # maybe under the number of the one before
    agrees(comm, lambda: plan.forward(local), spanfft.InvalidArgument, "was freed")
    other.Free()


def test_sub_communicators(comm, rng):
    x = numbers(rng, (9, 8), complex)
    half = comm.Split(comm.rank % 2, comm.rank)
    x *= 1 + comm.rank % 2
    mine = spanfft.fftn(box(x, (half.size, 1), half.rank), comm=half)
    exact = box(oracle.forward(x, "c2c", (0, 1)), (half.size, 1), half.rank)
    assert_rule(half, [(mine, exact)], oracle.limit("c2c", (0, 1), x.shape, x.dtype))
    half.Free()


def test_many_communicators(comm):
    """Each is forgotten with what was kept for it: without, an MPI runs out of them."""
    for _ in range(400 if comm.size <= 2 else 12):
        copy = comm.Dup()
        local = np.ones((balanced(4, comm.size, comm.rank)[1], 2), complex)
        total = spanfft.fftn(local, comm=copy)
        if comm.rank == 0:
            assert total[0, 0] == 8
        copy.Free()


def test_cache(comm):
    for n in range(1, 20):
        local = np.ones((balanced(n, comm.size, comm.rank)[1], 2), complex)
        spanfft.fft(local, axis=0, comm=comm)
    from spanfft._mpi import _CACHED_PLANS, ranks_of

    assert len(ranks_of(comm)._plans) <= _CACHED_PLANS
    spanfft.clear_cache(comm)
    assert not ranks_of(comm)._plans


def test_wrong_communicators(comm):
    with pytest.raises(spanfft.MPIError, match="communicator"):
        spanfft.fft(np.zeros(3), comm=MPI.COMM_NULL)
    with pytest.raises(spanfft.MPIError, match="communicator"):
        spanfft.fft(np.zeros(3), comm=3)
