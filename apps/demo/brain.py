"""The brain of the demo: a volume of 197 x 233 x 189 voxels of 1 mm, transformed on MPI ranks and low-pass filtered.

    python apps/demo/brain.py --reference FOLDER                      SciPy's transforms, for the runs below
    mpiexec -n 4 python apps/demo/brain.py --reference FOLDER --grid 2x2 [--png FILE]

It is nilearn's MNI152 template: nilearn's package contains it, so nothing is downloaded. Two of its lengths are
prime. Each rank holds its box of the volume only; the spectrum is multiplied where it lies by a Gaussian,
exp(-2 (pi sigma |f|)^2) with f in cycles per mm, and transformed back.

Errors are relative L2 errors in units of eps sqrt(log2 N), eps = 2^-52. The reference is SciPy's fftn in long double,
64 bits of significand, so that an error is spanfft's own; the difference from SciPy in double contains SciPy's error
too. Rank 0 prints the result as a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from common import peak_resident_bytes, unit_error

if TYPE_CHECKING:
    from mpi4py.MPI import Comm
    from spanfft import Plan

SIGMA_MM = 2.5
SHAPE = (197, 233, 189)
_SPECTRUM_SHAPE = (*SHAPE[:2], SHAPE[2] // 2 + 1)
_RUNS = 5  # the fastest counts

Volume = npt.NDArray[np.float64]
Spectrum = npt.NDArray[np.complex128]


def load_volume() -> Volume:
    """The template, 0 outside the head and at most 1."""
    from nilearn.datasets import load_mni152_template

    volume = np.ascontiguousarray(load_mni152_template(resolution=1).get_fdata(), np.float64)
    if volume.shape != SHAPE:
        raise SystemExit(f"nilearn's template has shape {volume.shape}; {SHAPE} was expected")
    return volume


def low_pass(shape: Sequence[int], box: Sequence[slice], sigma_mm: float = SIGMA_MM) -> Volume:
    """The Gaussian's values in a `box` of the r2c spectrum of a volume of this `shape`, in real space 1 at f = 0."""
    factors = []
    for axis, (n, part) in enumerate(zip(shape, box, strict=True)):
        f = (np.fft.rfftfreq(n) if axis == len(shape) - 1 else np.fft.fftfreq(n))[part]  # cycles per voxel, of 1 mm
        factors.append(np.exp(-2 * (math.pi * sigma_mm * f) ** 2))
    result: Volume = factors[0]
    for factor in factors[1:]:
        result = np.multiply.outer(result, factor)
    return result


def make_reference(folder: Path) -> dict[str, Any]:
    """volume.npy, and SciPy's spectrum and low-passed volume in double and long double, for r2c's half of the bins."""
    import scipy.fft

    volume = load_volume()
    np.save(folder / "volume.npy", volume)
    gaussian = low_pass(SHAPE, [slice(0, n) for n in _SPECTRUM_SHAPE])
    start = time.perf_counter()
    double = scipy.fft.fftn(volume, workers=-1)[..., : _SPECTRUM_SHAPE[2]]
    seconds = time.perf_counter() - start
    filtered = scipy.fft.irfftn(double * gaussian, SHAPE, workers=-1)
    exact = scipy.fft.fftn(volume.astype(np.longdouble), workers=-1)[..., : _SPECTRUM_SHAPE[2]]
    np.save(folder / "double.npy", double)
    np.save(folder / "filtered.npy", filtered)
    np.save(folder / "exact.npy", exact)
    return {
        "scipy_error_units": _units(double, exact),
        "scipy_seconds": seconds,
        "peak_resident_bytes": peak_resident_bytes(),
    }


def _units(found: npt.NDArray[Any], reference: npt.NDArray[Any]) -> float:
    """Relative L2 error in units of eps sqrt(log2 N), plane by plane, so that no third array is made."""
    error = square = np.longdouble(0)
    for a, b in zip(found, reference, strict=True):
        error += np.sum(np.abs(a - b) ** 2, dtype=np.longdouble)
        square += np.sum(np.abs(b) ** 2, dtype=np.longdouble)
    return float(np.sqrt(error / square)) / unit_error(SHAPE, "float64")


def _scatter(comm: Comm, volume: Volume | None, plan: Plan) -> Volume:
    """Each rank's box of what rank 0 has."""
    boxes = comm.gather(plan.input_slices)
    parts = None if boxes is None or volume is None else [np.ascontiguousarray(volume[box]) for box in boxes]
    part: Volume = comm.scatter(parts)
    return part


def _gather(comm: Comm, part: npt.NDArray[Any], box: tuple[slice, ...], shape: Sequence[int]) -> npt.NDArray[Any]:
    """The whole array on rank 0, from each rank's box; nothing elsewhere."""
    parts = comm.gather((box, part))
    whole = np.empty(shape if parts is not None else 0, part.dtype)
    for each, values in parts or []:
        whole[each] = values
    return whole


def run(grid: tuple[int, ...] | None, folder: Path, png: Path | None) -> dict[str, Any] | None:
    """Forward, low-pass, back, on the ranks of COMM_WORLD; the result on rank 0."""
    from mpi4py import MPI
    from spanfft import Plan

    comm = MPI.COMM_WORLD
    plan = Plan(SHAPE, "float64", kind="r2c", comm=comm, grid=grid)
    volume = np.load(folder / "volume.npy") if comm.rank == 0 else None
    u = _scatter(comm, volume, plan)

    spectrum = plan.forward(u)
    again = plan.backward(spectrum)
    forward_s = backward_s = math.inf
    for _ in range(_RUNS):
        comm.Barrier()
        start = time.perf_counter()
        plan.forward(u, out=spectrum)
        forward_s = min(forward_s, time.perf_counter() - start)
        comm.Barrier()
        start = time.perf_counter()
        plan.backward(spectrum, out=again)
        backward_s = min(backward_s, time.perf_counter() - start)
    passed = spectrum * low_pass(SHAPE, plan.output_slices)
    smooth = plan.backward(passed)

    traffic = []
    for direction in ("forward", "backward"):
        predicted, counted = plan.predicted(direction), plan.counted(direction)
        if counted is None:
            raise SystemExit(f"nothing was counted for {direction}")
        traffic.append([(counts["messages"], counts["sent_bytes"]) for counts in (predicted, counted)])
    all_traffic = comm.gather(traffic)
    seconds = [comm.allreduce(each, MPI.MAX) for each in (forward_s, backward_s)]
    peaks = comm.gather(peak_resident_bytes())

    found = _gather(comm, spectrum, plan.output_slices, plan.spectrum_shape)
    found_passed = _gather(comm, passed, plan.output_slices, plan.spectrum_shape)
    found_again = _gather(comm, again, plan.input_slices, SHAPE)
    found_smooth = _gather(comm, smooth, plan.input_slices, SHAPE)
    result = None
    if volume is not None and all_traffic is not None and peaks is not None:
        counts = np.array(all_traffic)  # rank, direction, predicted or counted, messages or bytes
        result = {
            "ranks": comm.size,
            "grid": list(plan.grid) or [1] * len(SHAPE),
            "solver": plan.solver,
            "engines": plan.engines,
            "problem": plan.problem,
            "error_units": _units(found, np.load(folder / "exact.npy", mmap_mode="r")),
            "scipy_difference_units": _units(found, np.load(folder / "double.npy", mmap_mode="r")),
            "round_trip_units": _units(found_again, volume),
            "low_pass_difference_units": _units(found_smooth, np.load(folder / "filtered.npy", mmap_mode="r")),
            "messages": [int(each) for each in counts[:, :, :, 0].sum(axis=(0, 1))],  # predicted, counted
            "bytes": [int(each) for each in counts[:, :, :, 1].sum(axis=(0, 1))],
            "each_rank_as_predicted": bool((counts[:, :, 0] == counts[:, :, 1]).all()),
            "forward_s": seconds[0],
            "backward_s": seconds[1],
            "peak_resident_bytes": max(peaks),
        }
        if png is not None:
            from pictures import draw_brain

            note = f"MNI152 template, {' x '.join(map(str, SHAPE))}, transformed by spanfft on {comm.size} ranks, "
            note += f"grid {'x'.join(map(str, result['grid']))}; what leaves at the bottom comes in at the top"
            draw_brain(png, volume, found_smooth, (abs(found[..., 0]), abs(found_passed[..., 0])), SIGMA_MM, note)
    plan.free()
    return result


def _abort() -> None:
    """Ends all ranks: the others may wait for one that has failed, for ever."""
    from mpi4py import MPI

    if MPI.COMM_WORLD.size > 1:
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)


def _grid(text: str) -> tuple[int, ...]:
    """2x2 -> (2, 2, 1)."""
    try:
        numbers = tuple(int(word) for word in text.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no grid such as 4x1 or 2x2") from None
    return numbers + (1,) * (len(SHAPE) - len(numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--reference", type=Path, required=True, metavar="FOLDER", help="with SciPy's transforms")
    parser.add_argument("--grid", type=_grid, help="ranks along each axis, such as 4x1; without it: make the reference")
    parser.add_argument("--png", type=Path, help="draw slices")
    options = parser.parse_args()
    if options.grid is None:
        print(json.dumps(make_reference(options.reference)), flush=True)
        return
    try:
        result = run(options.grid, options.reference, options.png)
    except BaseException:
        _abort()
        raise
    if result is not None:
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
