"""G-FFT, the Fourier transform of HPC Challenge: what `spanfft bench gfft` does.

The rules (P. Luszczek et al., "The HPC Challenge benchmark suite", 2006; program MPIFFT): one transform of n complex
doubles over all ranks, random numbers in, natural order out, the numbers in arrays of the caller; 5 n log2 n operations
by the seconds of the forward transform; the inverse of the result must return the input with
max |x - x'| / (eps log2 n) below 16. Beyond the rules, a few frequencies are compared with their sums by definition in
long double, as a transform that is wrong and undone by a wrong inverse would pass.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ._arrays import AnyArray, aligned_zeros
from ._errors import InvalidArgument
from ._plan import Plan

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["GfftResult", "gfft"]

RESIDUAL_LIMIT = 16.0
_FREQUENCIES = 4
_BLOCK = 1 << 20
_TURN = 2 * np.longdouble("3.14159265358979323846264338327950288")


class GfftResult(TypedDict):
    """Seconds are of the slowest rank; gflops of the median; error is relative to the rule's (docs/accuracy.md)."""

    points: int
    ranks: int
    problem: str
    seconds: list[float]
    median_seconds: float
    gflops: float
    residual: float
    error: float
    passed: bool


def gfft(points: int, repeats: int = 5, comm: Comm | None = None) -> GfftResult:
    """One transform of `points` complex doubles by the rules of HPC Challenge. Collective if `comm` is given."""
    if points < 2:
        raise InvalidArgument(f"points is {points}; a transform has at least 2")
    if repeats < 1:
        raise InvalidArgument(f"repeats is {repeats}; it must be at least 1")

    def gathered(value: float) -> list[float]:
        return [value] if comm is None else comm.allgather(value)

    with Plan((points,), "complex128", comm=comm) as plan:
        kept = aligned_zeros(plan.input_shape, np.dtype("complex128"))
        random = np.random.default_rng((17, 0 if comm is None else comm.Get_rank()))
        kept[...] = random.uniform(-0.5, 0.5, kept.shape) + 1j * random.uniform(-0.5, 0.5, kept.shape)
        given, spectrum = kept.copy(), aligned_zeros(plan.output_shape, kept.dtype)
        plan.forward(given, spectrum)
        seconds = []
        for _ in range(repeats):
            if comm is not None:
                comm.barrier()
            start = time.perf_counter()
            plan.forward(given, spectrum)
            seconds.append(max(gathered(time.perf_counter() - start)))
        error = _error_at_samples(plan, given, spectrum, comm)
        back = plan.backward(spectrum)
        worst = max(gathered(float(np.abs(back - kept).max()) if kept.size else 0.0))
        residual = worst / (np.finfo("float64").eps * math.log2(points))
        median = statistics.median(seconds)
        return {
            "points": points,
            "ranks": 1 if comm is None else comm.Get_size(),
            "problem": plan.problem,
            "seconds": seconds,
            "median_seconds": median,
            "gflops": 5e-9 * points * math.log2(points) / median,
            "residual": residual,
            "error": error,
            "passed": bool(residual < RESIDUAL_LIMIT and error < 3),
        }


def _error_at_samples(plan: Plan, given: AnyArray, spectrum: AnyArray, comm: Comm | None) -> float:
    """The root mean square error of a few frequencies, relative to that of all numbers times what the rule allows.

    Three standard deviations of so few numbers are three times that."""
    n = plan.shape[0]
    picked = np.random.default_rng(n).integers(0, n, _FREQUENCIES)
    (mine,), (place,) = plan.input_slices, plan.output_slices
    squares, found, exact = 0.0, np.zeros(_FREQUENCIES, complex), np.zeros(_FREQUENCIES, np.clongdouble)
    for begin in range(0, given.size, _BLOCK):
        block = given[begin : begin + _BLOCK].astype(np.clongdouble)
        squares += float((np.abs(block) ** 2).sum())
        j = mine.start + begin + np.arange(block.size)
        for i, k in enumerate(picked):
            turn = _TURN * (_product(j, int(k), n).astype(np.longdouble) / n)
            exact[i] += (block * (np.cos(turn) - 1j * np.sin(turn))).sum()
    for i, k in enumerate(picked):
        if place.start <= k < place.stop:
            found[i] = spectrum[k - place.start]
    if comm is not None:
        squares = sum(comm.allgather(squares))
        found, exact = sum(comm.allgather(found)), sum(comm.allgather(exact))
    rule = 0.6 * np.finfo("float64").eps * math.sqrt(math.log2(n))
    # A number of the spectrum is sqrt(squares) large, as Parseval has it.
    return float(np.sqrt((np.abs(found - exact) ** 2).mean() / squares) / rule)


def _product(j: AnyArray, k: int, n: int) -> AnyArray:
    """j k mod n, for numbers whose product may not fit 64 bits."""
    if n < 2**31:
        return j * k % n
    return np.array([int(one) * k % n for one in j])
