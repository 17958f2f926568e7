"""G-FFT, the Fourier transform of HPC Challenge: what `spanfft bench gfft` does.

The rules (J. Dongarra, P. Luszczek: "HPC Challenge Awards: Class 2 Specification", 2005; program MPIFFT): one transform
of n complex doubles over all ranks, random numbers in, natural order out, the numbers in arrays of the caller; 5 n log2
n operations by the seconds of the forward transform; a reference implementation of the inverse, applied to the result,
must return the input with max |z - z'| / (eps ln n) below 16. The reference is NumPy's, over the ranks by the four-step
method. Beyond the rules, a few frequencies are compared with their sums by definition in long double.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ._arrays import AnyArray, aligned_zeros
from ._errors import InvalidArgument
from ._plan import Plan

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["GfftResult", "gfft"]

RESIDUAL_LIMIT = 16.0
_EPS = 2.0**-53  # as HPC Challenge has it (HPL_dlamch), half of NumPy's
_FREQUENCIES = 4
_BLOCK = 1 << 20
TURN = 2 * np.longdouble("3.14159265358979323846264338327950288")


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
        given = aligned_zeros(plan.input_shape, np.dtype("complex128"))
        random = np.random.default_rng((17, 0 if comm is None else comm.Get_rank()))
        given[...] = random.uniform(-0.5, 0.5, given.shape) + 1j * random.uniform(-0.5, 0.5, given.shape)
        spectrum = aligned_zeros(plan.output_shape, given.dtype)
        plan.forward(given, spectrum)
        seconds = []
        for _ in range(repeats):
            if comm is not None:
                comm.barrier()
            start = time.perf_counter()
            plan.forward(given, spectrum)
            seconds.append(max(gathered(time.perf_counter() - start)))
        error = _error_at_samples(plan, given, spectrum, comm)
        back = _reference_inverse(spectrum, points, comm)
        back -= given
        residual = max(gathered(float(np.abs(back).max()) if back.size else 0.0)) / (_EPS * math.log(points))
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


def _reference_inverse(spectrum: AnyArray, n: int, comm: Comm | None) -> AnyArray:
    """NumPy's inverse of what all ranks hold in blocks, divided alike.

    Frequency k is k1 n2 + k2, point j is j1 + n1 j2. So it is n2 inverse transforms of length n1 over k1, factors
    exp(2 pi i j1 k2 / n), and n1 of length n2 over k2."""
    if comm is None:
        return np.asarray(np.fft.ifft(spectrum))
    n1 = max(d for d in range(1, math.isqrt(n) + 1) if n % d == 0)
    n2, ranks, rank = n // n1, comm.Get_size(), comm.Get_rank()
    blocks = list(np.cumsum([0, *comm.allgather(spectrum.size)]))
    columns, rows = ([m * (count * r // ranks) for r in range(ranks + 1)] for m, count in ((n1, n2), (n2, n1)))

    def turned(i: AnyArray, before: int, after: int) -> AnyArray:
        """Places in an array of `before` columns, as those in its transpose, which has `after`."""
        return np.asarray(i % before * after + i // before)

    x = np.fft.ifft(_moved(comm, spectrum, lambda i: turned(blocks[rank] + i, n2, n1), columns).reshape(-1, n1))
    step = max(1, _BLOCK // n1)
    for begin in range(0, len(x), step):
        lines = x[begin : begin + step]
        k2 = columns[rank] // n1 + begin + np.arange(len(lines))
        turn = TURN * (np.outer(k2, np.arange(n1)).astype(np.longdouble) / n)
        lines *= (np.cos(turn) + 1j * np.sin(turn)).astype(x.dtype)
    x = np.fft.ifft(_moved(comm, x.ravel(), lambda i: turned(columns[rank] + i, n1, n2), rows).reshape(-1, n2))
    return _moved(comm, x.ravel(), lambda i: turned(rows[rank] + i, n2, n1), blocks)


def _moved(comm: Comm, values: AnyArray, place_of: Callable[[AnyArray], AnyArray], bounds: list[int]) -> AnyArray:
    """This rank's block of all numbers in another order: the i-th of a rank's `values` has the place place_of(i)."""
    first, last = bounds[comm.Get_rank() : comm.Get_rank() + 2]
    block = np.empty(last - first, values.dtype)
    for begin in range(0, max(comm.allgather(values.size)), _BLOCK):  # in pieces, for memory's sake
        some = values[begin : begin + _BLOCK]
        places = place_of(begin + np.arange(some.size))
        owners = np.searchsorted(bounds, places, side="right") - 1
        sent = [(places[owners == r], some[owners == r]) for r in range(comm.Get_size())]
        for where, what in comm.alltoall(sent):
            block[where - first] = what
    return block


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
            turn = TURN * (_product(j, int(k), n).astype(np.longdouble) / n)
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
