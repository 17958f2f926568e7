"""Padded transforms (kept=) on ranks, against numpy.fft with spectra that are filled with zeros axis by axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import agrees
from soak import padded

CASES = [
    ((13, 9, 6), (7, 6, 4)), ((6, 10, 12), (4, 10, 7)), ((1, 9, 15), (1, 6, 10)), ((11, 1, 7), (6, 1, 5)),
    ((3, 2, 8), (2, 1, 5)), ((5, 4, 6, 7), (3, 3, 4, 5)), ((20, 14), (13, 9)),
]  # fmt: skip


def assert_padded(comm: MPI.Comm, plan: spanfft.Plan, kind: str) -> None:
    """Both directions, and counts that are the predicted ones. norm is "forward"."""
    whole = padded.reals(plan.shape, kind)
    spectrum = padded.forward(whole, plan.kept, kind, plan.axes)
    mine = plan.forward(np.ascontiguousarray(whole[plan.input_slices]))
    errors = [np.abs(mine - spectrum[plan.output_slices]).max(initial=0)]
    back = plan.backward(np.ascontiguousarray(spectrum[plan.output_slices]))
    wanted = padded.backward(spectrum, plan.shape, plan.kept, kind, plan.axes)
    errors.append(np.abs(back - wanted[plan.input_slices]).max(initial=0))
    assert max(comm.allgather(max(errors))) < 1e-13
    for direction in ("forward", "backward"):
        predicted, counted = plan.predicted(direction), plan.counted(direction)
        assert counted is not None
        for name in ("messages", "sent_bytes", "calls", "memory_bytes"):
            assert counted[name] == predicted[name], name


@pytest.mark.parametrize("exchange", [None, "alltoallv"])
@pytest.mark.parametrize("output", ["natural", "exchanged"])
@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_shapes(comm: MPI.Comm, kind: str, output: str, exchange: str | None):
    for shape, kept in CASES:
        plan = spanfft.Plan(shape, kind=kind, comm=comm, kept=kept, output=output, norm="forward", exchange=exchange)
        assert plan.solver in (("pencil", "shared") if comm.size > 1 else ("local",))
        assert_padded(comm, plan, kind)
        plan.free()


@pytest.mark.parametrize("method", ["pencil", "shared"])
@pytest.mark.parametrize("grid", ["pencils", "slabs of axis 1"])
def test_grids_and_methods(comm: MPI.Comm, grid: str, method: str):
    if comm.size == 1:
        pytest.skip("one rank has no grid")
    rows = next(p for p in (3, 2, comm.size) if comm.size % p == 0)
    divided = (rows, comm.size // rows, 1) if grid == "pencils" else (1, comm.size, 1)
    for kind, output in (("c2c", "natural"), ("r2c", "exchanged"), ("r2c", "natural")):
        refusal = None
        try:
            plan = spanfft.Plan((8, 15, 12), kind=kind, comm=comm, kept=(5, 10, 8), grid=divided, output=output,
                                norm="forward", method=method)  # fmt: skip
        except spanfft.Unsupported as e:
            refusal = str(e)
        if refusal is not None:  # an axis that stays divided at the end is no matter of padding
            assert method == "shared"
            assert "does not end with axis" in refusal
            continue
        assert_padded(comm, plan, kind)
        plan.free()


@pytest.mark.parametrize("axes", [(0, 2), (1, 0), (2,)])
def test_some_axes_boxes_and_arrays_of_the_plans_own(comm: MPI.Comm, axes: Sequence[int]):
    shape = (10, 9, 6)
    kept = tuple({0: 6, 1: 7, 2: 4}[axis] if axis in axes else n for axis, n in enumerate(shape))
    plan = spanfft.Plan(shape, kind="r2c", axes=axes, comm=comm, kept=kept, norm="forward", own_output=True,
                        own_input=True)  # fmt: skip
    assert_padded(comm, plan, "r2c")
    plan.free()
    first = min(comm.rank, 9)
    stop = 10 if comm.rank == comm.size - 1 else first + 1
    plan = spanfft.Plan(shape, kind="r2c", axes=axes, comm=comm, kept=kept, norm="forward",
                        real_slices=(slice(first, stop), slice(0, 9), slice(0, 6)))  # fmt: skip
    assert_padded(comm, plan, "r2c")
    plan.free()


@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_exchanges_move_the_kept_modes_only(comm: MPI.Comm, kind: str):
    """In slabs of axis 0: all of axes 1 and 2 are cut before the exchange, so it sends what M x N x N (or N/2+1) points
    are, of which the P - 1 others get theirs."""
    ranks, points, modes = comm.size, 42, 28
    whole, plan = (
        spanfft.Plan((points,) * 3, kind=kind, comm=comm, kept=(n,) * 3, output="exchanged", exchange="alltoallv",
                     grid=(ranks, 1, 1))
        for n in (points, modes)
    )  # fmt: skip
    plan.forward(np.zeros(plan.input_shape, plan.dtype))
    plan.backward(np.zeros(plan.output_shape, plan.spectrum_dtype))
    last = modes // 2 + 1 if kind == "r2c" else modes
    rows = len(range(*plan.input_slices[0].indices(points)))
    columns = len(range(*plan.output_slices[1].indices(modes)))
    wanted = {"forward": rows * (modes - columns), "backward": (points - rows) * columns}
    for direction, lines in wanted.items():
        counted = plan.counted(direction)
        assert counted is not None
        assert counted["sent_bytes"] == 16 * last * lines
    if ranks > 1:
        sent, all_modes = (comm.allreduce(p.predicted("forward")["sent_bytes"]) for p in (plan, whole))
        lasts = points // 2 + 1 if kind == "r2c" else points
        assert sent / all_modes == pytest.approx(modes * last / (points * lasts), rel=0.05)  # rounding of the blocks
    for each in (whole, plan):
        each.free()


def test_refusals(comm: MPI.Comm):
    if comm.size > 1:
        agrees(comm, lambda: spanfft.Plan((12,), comm=comm, kept=(8,)), spanfft.Unsupported, "an axis that is not div")
        agrees(comm, lambda: spanfft.Plan((12, 12), comm=comm, kept=(8, 8), method="pencil_lines"),
               spanfft.Unsupported, "pencil_lines keeps all modes")  # fmt: skip
        agrees(comm, lambda: spanfft.Plan((12, 12), comm=comm, kept=(8 - (comm.rank == 1), 8)), spanfft.MPIError,
               "all ranks must agree on the problem")  # fmt: skip
