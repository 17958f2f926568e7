"""Is the spectrum right? Two checks that no other FFT takes part in.

1. Some bins against the defining sum X[k] = sum_i x[i] exp(-2 pi i k i / n), over the whole series. With i = b*B + j:
   X[k] = sum_b exp(-2 pi i k b B / n) * sum_j x[b*B + j] exp(-2 pi i k j / n), whose inner sums are a matrix product
   in float64. Phases are exact integers modulo n before they become angles, and the outer sum is in long double, so
   the reference is good to about 1e-15 of the spectrum's root mean square; float32 transforms err by 1e-7 of it.
2. Parseval: sum |x|^2 = sum |X|^2 / n, over everything. If the transform has a relative L2 error e, the two sides
   differ by at most (1 + e)^2 - 1, or 2 e.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from common import blocks
from pulsar_series import BlockReader

_PI = np.arctan2(np.longdouble(0), np.longdouble(-1))
_B = 1 << 12  # samples of an inner sum
_ROWS = 1 << 10  # inner sums in one matrix product: 2^22 samples, 32 MiB as float64


def _phases(k: npt.NDArray[np.int64], i: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.clongdouble]:
    """exp(-2 pi i k i / n) for each pair. k * i must fit 63 bits: k < 2^27 and i < 2^28 do."""
    angle = (np.outer(k, i) % n).astype(np.longdouble) * (-2 * _PI / n)
    phases: npt.NDArray[np.clongdouble] = np.cos(angle) + 1j * np.sin(angle)
    return phases


def direct_bins(
    series: BlockReader, bins: Sequence[int], progress: Callable[[int], object] | None = None
) -> tuple[npt.NDArray[np.clongdouble], float]:
    """The spectrum at `bins` by its definition, and sum |x|^2."""
    n, k = series.elems, np.asarray(bins, dtype=np.int64)
    inner = _phases(k, np.arange(_B), n)
    table = np.concatenate([inner.real, inner.imag]).astype(np.float64).T.copy()  # B x 2 bins
    total = np.zeros(len(k), np.clongdouble)
    energy = np.longdouble(0)
    for start, count in blocks(n, _B * _ROWS):
        x = series.read(start, _B * _ROWS).astype(np.float64).reshape(_ROWS, _B)
        sums = x @ table
        first = start + np.arange(_ROWS) * _B
        outer = _phases(k, np.minimum(first, n), n)  # sums beyond the end are zero
        total += (outer * (sums[:, : len(k)] + 1j * sums[:, len(k) :]).T).sum(axis=1)
        energy += np.vdot(x, x)
        if progress is not None:
            progress(count)
    return total, float(energy)


def bins_to_check(n: int, harmonics: Sequence[int], count: int = 32, seed: int = 1) -> list[int]:
    """0, 1, the last one, those of the pulsar's `harmonics`, and random ones, `count` in all."""
    last = n // 2
    chosen = {0, 1, last, *(k for k in harmonics if k <= last)}
    for k in np.random.default_rng(seed).integers(1, last, 4 * count):
        if len(chosen) >= count:
            break
        chosen.add(int(k))
    return sorted(chosen)


def relative_error(found: npt.NDArray[np.complexfloating], reference: npt.NDArray[np.clongdouble], rms: float) -> float:
    """Root mean square of the differences, relative to the whole spectrum's: an estimate of the relative L2 error."""
    return float(np.sqrt(np.mean(np.abs(found.astype(np.clongdouble) - reference) ** 2))) / rms


def parseval(energy_series: float, energy_spectrum: float, n: int) -> float:
    """Relative difference of the two sides."""
    return abs(energy_spectrum / n - energy_series) / energy_series


def spectrum_energy(power: npt.NDArray[np.float64], start: int, n: int) -> float:
    """Of bins from `start` of an r2c spectrum, whose missing half mirrors all but bin 0 and, for even n, n / 2."""
    total = 2 * float(power.sum())
    if start == 0:
        total -= float(power[0])
    if n % 2 == 0 and start + len(power) == n // 2 + 1:
        total -= float(power[-1])
    return total
