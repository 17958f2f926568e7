"""Lines of some 2^26 points over ranks, in every order, in all bins: impulses and tones, whose spectra are known
exactly, linearity, the shift theorem, and the way back.

A random array is a function of the global index, so that each rank has its part of it, and of the same array shifted by
any distance, without asking the others. Of the results every rank judges its own numbers, in pieces, at the indices
that the plan says they have: blocks, every p-th of exchanged order, or a cyclic division. The bounds are the accuracy
rule; two transforms that are compared err independently, and linearity compares three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import spanfft

from .case import Case, Failed, one_of
from .large import exact_signals

LOG2_POINTS = 26
BYTES = 10 << 30  # of free memory: a complex array of all ranks has 1.3 GiB at most; a case has four, and the plan's
ORDERS = {"natural": {}, "exchanged": {"output": "exchanged"}, "cyclic": {"layout": "cyclic"}}
PIECE = 1 << 19
Numbers = Callable[[np.ndarray], np.ndarray]  # of global indices


def points_for(ranks: int, log2: int) -> int:
    """About 2^log2, and ranks^2 divides it, as the cyclic division wants it: 3 ranks and 26 give 9 2^23."""
    odd = ranks
    while odd % 2 == 0:
        odd //= 2
    return odd**2 << (log2 - round(2 * np.log2(odd)))


def random_numbers(seed: int) -> Numbers:
    """Uniform in a square around 0, by the index (splitmix64; S. Vigna)."""

    def bits(x: np.ndarray) -> np.ndarray:
        x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (x ^ (x >> np.uint64(31))) >> np.uint64(11)

    def numbers(j: np.ndarray) -> np.ndarray:
        at = (j.astype(np.uint64) << np.uint64(1)) + (np.uint64(seed) << np.uint64(40))
        return bits(at) * 2.0**-53 - 0.5 + 1j * (bits(at + np.uint64(1)) * 2.0**-53 - 0.5)

    return numbers


def peaks(places: list[int], heights: list[complex]) -> Numbers:
    """heights[m] at places[m], and 0 elsewhere."""
    return lambda j: sum(h * (j == p) for p, h in zip(places, heights, strict=True))


def pieces(part: slice, n: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Where some of this rank's numbers lie in its array, and their global indices."""
    indices = range(n)[part]
    for begin in range(0, len(indices), PIECE):
        some = indices[begin : begin + PIECE]
        yield slice(begin, begin + len(some)), np.arange(some.start, some.stop, some.step, dtype=np.int64)


class Line:
    """A plan, and this rank's part of what goes in."""

    def __init__(self, comm, n: int, order: str) -> None:
        self.comm, self.n = comm, n
        self.plan = spanfft.Plan((n,), "complex128", comm=comm, **ORDERS[order])
        (self.input,), (self.output,) = self.plan.input_slices, self.plan.output_slices
        self.x = np.zeros(self.plan.input_shape, complex)

    def spectrum_of(self, numbers: Numbers) -> np.ndarray:
        for where, j in pieces(self.input, self.n):
            self.x[where] = numbers(j)
        return self.plan.forward(self.x)

    def error(self, found: np.ndarray, part: slice, exact: Callable[[slice, np.ndarray], np.ndarray]) -> float:
        """Relative L2 error over all ranks; `exact` gives it by place and global index."""
        squares = np.zeros(2, np.longdouble)
        for where, index in pieces(part, self.n):
            wanted = exact(where, index)
            for i, value in enumerate((found[where] - wanted, wanted)):
                squares[i] += np.sum(value.real**2 + value.imag**2)
        # A sum that NaN has got into is NaN, and no bound holds it.
        difference, norm = (sum(parts) for parts in zip(*self.comm.allgather(tuple(map(float, squares))), strict=True))
        return float(np.sqrt(difference / norm))


def errors(comm, n: int, order: str, seed: int) -> dict[str, float]:
    """What each check finds, relative to what it allows: right if none is above 1."""
    signals, rng = exact_signals(), np.random.default_rng(seed)
    line, rule = Line(comm, n, order), signals.allowed(n, np.complex128)
    found = {}

    places, heights = signals.places_and_heights(n, rng)
    waves = signals.tones(n, places, heights)
    spectrum = line.spectrum_of(peaks(places, heights))
    found["impulses"] = line.error(spectrum, line.output, lambda _, k: waves(k)) / rule

    places, heights = signals.places_and_heights(n, rng)
    spectrum = line.spectrum_of(signals.tones(n, places, heights, -1))
    exact = peaks(places, [n * height for height in heights])
    found["tones"] = line.error(spectrum, line.output, lambda _, k: exact(k)) / rule

    a, b, distance = random_numbers(seed), random_numbers(seed + 1), int(rng.integers(1, n))
    kept = line.spectrum_of(a)
    turns = signals.Roots(n)
    spectrum = line.spectrum_of(lambda j: a((j - distance) % n))
    shifted = lambda where, k: kept[where] * turns(distance * k)  # noqa: E731
    found["shift"] = line.error(spectrum, line.output, shifted) / (2 * rule)

    back = line.plan.backward(kept)
    found["back"] = line.error(back, line.input, lambda _, j: a(j)) / (2 * rule)
    del back

    spectrum = line.spectrum_of(b)
    spectrum *= 2
    kept += spectrum
    spectrum = line.spectrum_of(lambda j: a(j) + 2 * b(j))
    found["linearity"] = line.error(spectrum, line.output, lambda where, _: kept[where]) / (3 * rule)
    line.plan.free()
    return found


def free_bytes() -> int:
    with open("/proc/meminfo") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))


def run(case: Case, comm) -> None:
    order, n = one_of(case.random, list(ORDERS)), points_for(comm.size, LOG2_POINTS)
    case.text = f"{n} points on {comm.size} ranks, {order}"
    case.count("problems")
    if comm.bcast(free_bytes() < BYTES):
        case.count("skipped")
        return
    found = errors(comm, n, order, case.seed)
    case.text += "".join(f"; {name} {error:.2f} of the rule" for name, error in found.items())
    if not all(error <= 1 for error in found.values()):
        raise Failed("wrong", case.text)
