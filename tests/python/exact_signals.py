"""Signals whose spectra are known exactly at any length, and sums by the definition: references that need no transform.

An impulse's spectrum is a tone, and a tone's an impulse; the exponents of the roots are reduced in integers, and a root
is the product of two from tables in long double, so a reference is off by some 1e-19. As a program: holds impulses and
tones of 2^LOG2 points to the accuracy rule in every bin, from file to file, within a quarter of the array's memory.

    python exact_signals.py --log2 28 --seed 7 [--folder DIR]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

CHUNK = 1 << 20
FINE = 1 << 12
Spectrum = Callable[[np.ndarray], np.ndarray]  # of bins, as complex long double


class Roots:
    """exp(-2 pi i e / n) for whole e, in complex long double."""

    def __init__(self, n: int) -> None:
        self.n = n
        turn = 2 * np.arccos(np.longdouble(-1)) / np.longdouble(n)
        coarse = np.arange(0, n, FINE, dtype=np.int64).astype(np.longdouble)
        self.coarse = np.cos(turn * coarse) - 1j * np.sin(turn * coarse)
        fine = np.arange(min(FINE, n), dtype=np.int64).astype(np.longdouble)
        self.fine = np.cos(turn * fine) - 1j * np.sin(turn * fine)

    def __call__(self, exponents: np.ndarray) -> np.ndarray:
        """exponents: int64, any sign; a product of two numbers below n = 2^31 fits."""
        e = exponents % self.n
        return self.coarse[e // FINE] * self.fine[e % FINE]


def places_and_heights(n: int, rng: np.random.Generator, count: int = 4) -> tuple[list[int], list[complex]]:
    """Where the impulses (or tones) are, the ends among them; heights that every precision holds."""
    places = sorted({0, n - 1, *(int(p) for p in rng.integers(0, n, count - 2))})
    heights = [complex(int(a), int(b)) for a, b in rng.integers(1, 1000, (len(places), 2))]
    return places, heights


def tones(n: int, places: list[int], heights: list[complex], sign: int = 1) -> Spectrum:
    """sum of heights[m] exp(-+2 pi i places[m] k / n), for k: what impulses give (sign 1), or what gives them (-1)."""
    roots = Roots(n)
    return lambda k: sum(h * roots(sign * p * k) for p, h in zip(places, heights, strict=True))


def pieces(n: int) -> Iterator[slice]:
    for start in range(0, n, CHUNK):
        yield slice(start, min(n, start + CHUNK))


def error_of(result: np.ndarray, exact: Spectrum) -> float:
    """Relative L2 error in all bins."""
    error = norm = 0.0
    for piece in pieces(len(result)):
        wanted = exact(np.arange(piece.start, piece.stop, dtype=np.int64))
        error += float(np.sum(np.abs(result[piece].astype(np.clongdouble) - wanted) ** 2))
        norm += float(np.sum(np.abs(wanted) ** 2))
    return float(np.sqrt(error / norm))


def error_of_peaks(result: np.ndarray, places: list[int], heights: list[complex]) -> float:
    """The same where the exact result is len(result) * heights[m] at places[m] and 0 elsewhere."""
    n = len(result)
    error = 0.0
    for piece in pieces(n):
        difference = result[piece].astype(np.clongdouble)
        for place, height in zip(places, heights, strict=True):
            if piece.start <= place < piece.stop:
                difference[place - piece.start] -= n * height
        error += float(np.sum(np.abs(difference) ** 2))
    return float(np.sqrt(error / sum(abs(h) ** 2 for h in heights)) / n)


def sums_by_definition(x: np.ndarray, bins: np.ndarray) -> np.ndarray:
    """sum of x[j] exp(-2 pi i j k / n) for the k in bins, in long double: O(n) a bin, some seconds for 2^24 and 8."""
    roots = Roots(len(x))
    rows = np.arange(0, len(x), FINE, dtype=np.int64)
    within = roots(np.arange(FINE, dtype=np.int64)[:, None] * bins)  # of a row's points
    total = np.zeros(len(bins), np.clongdouble)
    for row, outside in zip(rows, roots(rows[:, None] * bins), strict=True):
        points = x[row : row + FINE].astype(np.clongdouble)
        total += outside * (points @ within[: len(points)])
    return total


def allowed(n: int, dtype: np.dtype | type) -> float:
    """The accuracy rule, for lengths without prime factors above 13."""
    return 0.6 * float(np.finfo(dtype).eps) * float(np.sqrt(np.log2(n)))


def main(words: list[str] | None = None) -> int:
    import spanfft

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log2", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default=None, help="for two files of 2^(LOG2+3) bytes; default: a temporary one")
    options = parser.parse_args(words)
    n, rng = 1 << options.log2, np.random.default_rng(options.seed)
    limit, worst = allowed(n, np.complex64), 0.0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source, target = Path(folder) / "in.npy", Path(folder) / "out.npy"
        for signal in ("impulses", "tones"):
            places, heights = places_and_heights(n, rng)
            x = np.lib.format.open_memmap(source, "w+", np.complex64, (n,))
            if signal == "impulses":  # sparse: the rest is a hole
                x[places] = heights
            else:
                of = tones(n, places, heights, -1)
                for piece in pieces(n):
                    x[piece] = of(np.arange(piece.start, piece.stop, dtype=np.int64))
            del x
            spanfft.transform(source, target, memory=max(1 << 20, 2 * n))
            result = np.load(target, mmap_mode="r")
            if signal == "impulses":
                error = error_of(result, tones(n, places, heights))
            else:
                error = error_of_peaks(result, places, heights)
            print(f"{signal}: 2^{options.log2} points, seed {options.seed}: error {error:.3g}, allowed {limit:.3g}")
            worst = max(worst, error)
    return 0 if worst <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
