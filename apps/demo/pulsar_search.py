"""Finds a pulsar in a spectrum on disk: whitening, harmonic summing, refinement, folding; each in bounded memory.

A narrow pulse spreads its power over about 1 / duty_cycle harmonics, each too weak to be seen. Their sum is seen:
noise adds as the root of their number, signal as the number (Taylor and Huguenin, Nature 221, 1969; Ransom, Eikenberry
and Middleditch, AJ 124, 2002).

In units of its mean, noise power is exponential, so a sum of h bins has the distribution Gamma(h), which gives each
sum's probability of arising by chance. Frequencies are counted in bins: bin r of a series that lasts T seconds is r / T
hertz. `write_power` puts the whitened power into a file; `search` looks at every fundamental on a raster of 1 / h bin,
for h = 1, 2, 4, 8, 16; `refine` interpolates between bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from common import blocks
from pulsar_check import spectrum_energy
from pulsar_series import SAMPLING_S, BlockReader
from scipy import stats

HARMONICS = (1, 2, 4, 8, 16)
LOWEST_HZ, HIGHEST_HZ = 0.5, 1000.0  # of a fundamental; the fastest pulsar known turns 716 times a second
_WHITEN_BINS = 1 << 13  # the noise's mean is estimated over so many
_POWER_BLOCK = 1 << 20
_NEIGHBOURS = 32  # bins on each side that the interpolation between bins uses


# --- whitened power -----------------------------------------------------------------------------------------------


def noise_level(power: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Mean power of the noise in each bin of a block, from medians, which a few strong lines don't move.

    The median of an exponential distribution is ln 2 of its mean. Between centres of stretches it is interpolated.
    """
    width = min(_WHITEN_BINS, len(power))
    stretches = len(power) // width
    medians = np.median(power[: stretches * width].reshape(stretches, width), axis=1) / math.log(2)
    centres = (np.arange(stretches) + 0.5) * width
    return np.interp(np.arange(len(power)), centres, medians)


def write_power(
    spectrum: BlockReader, elems: int, path: Path, progress: Callable[[int], object] | None = None
) -> float:
    """Writes |X|^2 over the noise's mean as float32 to the .npy file `path`; returns sum |X|^2 over all n bins.

    `spectrum` is the r2c transform of `elems` samples. Bin 0, the mean of the series, is set to 0.
    """
    energy, level = np.longdouble(0), np.ones(1)
    header = {"descr": np.dtype(np.float32).str, "fortran_order": False, "shape": (spectrum.elems,)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start, count in blocks(spectrum.elems, _POWER_BLOCK):
            values = spectrum.read(start, count)
            power = np.square(values.real, dtype=np.float64) + np.square(values.imag, dtype=np.float64)
            energy += spectrum_energy(power, start, elems)
            short = start > 0 and count < _WHITEN_BINS  # the last block: as noisy as the end of the one before
            level = np.full(count, level[-1]) if short else noise_level(power)
            if start == 0:
                power[0] = 0
            (power / level).astype(np.float32).tofile(file)
            if progress is not None:
                progress(count)
    return float(energy)


# --- harmonic sums ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A fundamental whose harmonics stand out."""

    harmonics: int
    bin: float  # of the fundamental
    sum: float  # of the powers of its harmonics, each 1 in the mean if there is noise only
    log10_chance: float  # log10 of the probability that any of the sums looked at is as high by chance


@dataclass
class Stage:
    """The search with one number of harmonics."""

    harmonics: int
    best: Candidate
    sums: int  # looked at
    profile: npt.NDArray[np.float32]  # highest sum in each block of fundamentals
    profile_bins: npt.NDArray[np.float64]  # at which fundamental it is


def harmonic_sums(power: BlockReader, h: int, first: int, count: int) -> npt.NDArray[np.float32]:
    """Sums of power[round(k r)], k = 1..h, for the fundamentals r = first + q + s / h; shape (h, count), at [s, q].

    k r = k (first + q) + s k / h, so for fixed k and s the bins are k apart in q: element [off, q] of the rows of k
    bins from k * first, with off = round(s k / h) <= k. off = k is the next row's start. For h = 4, k = 3:
    s = 0, 1, 2, 3 gives off = 0, 1, 2, 2 (halves round up).
    """
    sums = np.zeros((h, count), np.float32)
    for k in range(1, h + 1):
        rows = power.read(k * first, k * (count + 1)).reshape(count + 1, k).T.copy()
        for s in range(h):
            off = (2 * s * k + h) // (2 * h)
            sums[s] += rows[0, 1:] if off == k else rows[off, :-1]
    return sums


def log10_chance(total: float, h: int, trials: float = 1.0) -> float:
    """log10 of the probability that the largest of `trials` sums of h powers of noise is `total` or more."""
    log_one = float(stats.gamma.logsf(total, h))  # natural
    log_many = log_one + math.log(trials)
    if log_many > -20:
        # 1 - (1 - p)^trials, which matters only where it is near 1.
        log_many = math.log(-math.expm1(trials * math.log1p(-min(math.exp(log_one), 1 - 1e-16))))
    return log_many / math.log(10)


def gaussian_sigma(log10_probability: float) -> float:
    """Standard deviations of a normal distribution beyond which that probability lies."""
    log_p = min(log10_probability * math.log(10), -1e-12)
    low, high = -10.0, 60.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if stats.norm.logsf(middle) > log_p else (low, middle)
    return low


def search(power: BlockReader, elems: int, progress: Callable[[int], object] | None = None) -> list[Stage]:
    """The best fundamental for each number of harmonics. Memory: a few MiB."""
    duration_s = elems * SAMPLING_S
    stages = []
    for h in HARMONICS:
        first = max(2, math.ceil(LOWEST_HZ * duration_s))
        last = min(math.floor(HIGHEST_HZ * duration_s), (power.elems - 1) // h)
        block = int(np.clip((last - first) // 1024, 64, 1 << 14))
        highest, where = [], []
        for start, count in blocks(last - first, block):
            sums = harmonic_sums(power, h, first + start, count)
            s, q = np.unravel_index(int(sums.argmax()), sums.shape)
            highest.append(sums[s, q])
            where.append(first + start + q + s / h)
            if progress is not None:
                progress(count * h)
        trials = (last - first) * h
        i = int(np.argmax(highest))
        best = Candidate(h, where[i], float(highest[i]), log10_chance(float(highest[i]), h, trials))
        stages.append(Stage(h, best, trials, np.array(highest), np.array(where)))
    return stages


def search_size(elems: int) -> int:
    """What `search` tells `progress` in all."""
    duration_s = elems * SAMPLING_S
    first = max(2, math.ceil(LOWEST_HZ * duration_s))
    return sum(h * (min(math.floor(HIGHEST_HZ * duration_s), elems // 2 // h) - first) for h in HARMONICS)


# --- refinement ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Period:
    """A period with its standard error, and the phase of the fundamental."""

    seconds: float
    error_s: float
    bin: float
    power: float  # summed over the harmonics, interpolated between bins


def refine(spectrum: BlockReader, elems: int, candidate: Candidate) -> Period:
    """Interpolates between bins: the fundamental at which the harmonics' summed power is greatest.

    A sinusoid of r bins, r no integer, has the amplitudes exp(i pi (r - m)) sinc(r - m) at bins m; so the sum of
    X[m] times the conjugate is its amplitude at r. In units of the noise's power, the sum of powers over harmonics is
    the logarithm of the likelihood of r, but for a constant, and its curvature at the top gives the standard error.
    """
    pieces = []
    for k in range(1, candidate.harmonics + 1):
        middle = round(k * candidate.bin)
        start = max(1, middle - _NEIGHBOURS - k)
        count = middle + _NEIGHBOURS + k + 1 - start
        values = spectrum.read(start, count).astype(np.complex128)
        wide = max(1, middle - _WHITEN_BINS // 2)
        around = np.abs(spectrum.read(wide, min(_WHITEN_BINS, spectrum.elems - wide))) ** 2
        pieces.append((k, start + np.arange(count), values / math.sqrt(np.median(around) / math.log(2))))

    def total(r: float) -> float:
        found = 0.0
        for k, bins, values in pieces:
            apart = k * r - bins
            found += abs(np.sum(values * np.exp(-1j * np.pi * apart) * np.sinc(apart))) ** 2
        return found

    # From a raster of 1/20 of the finest harmonic's bin to ever finer ones about the best.
    centre, step, reach = float(candidate.bin), 1.0 / (20 * candidate.harmonics), 20
    while step > 1e-3 / candidate.harmonics:
        raster = centre + step * np.arange(-reach, reach + 1)
        centre = float(raster[np.argmax([total(r) for r in raster])])
        step, reach = step / 4, 6
    h = 0.02 / candidate.harmonics
    curvature = (total(centre + h) - 2 * total(centre) + total(centre - h)) / h**2
    error_bins = 1 / math.sqrt(max(-curvature, 1e-30))
    duration_s = elems * SAMPLING_S
    seconds = duration_s / centre
    return Period(seconds, seconds * error_bins / centre, centre, total(centre))


# --- folding ------------------------------------------------------------------------------------------------------


def fold(
    series: BlockReader, period_s: float, phases: int = 128, progress: Callable[[int], object] | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean of the samples in each of `phases` parts of a turn from the first sample on, and its standard error."""
    total, squares, number = np.zeros(phases), 0.0, np.zeros(phases)
    for start, count in blocks(series.elems, 1 << 20):
        turns = np.arange(start, start + count, dtype=np.float64) * (SAMPLING_S / period_s)
        turns -= np.floor(turns)
        index = np.minimum((turns * phases).astype(np.int64), phases - 1)
        x = series.read(start, count).astype(np.float64)
        total += np.bincount(index, x, phases)
        number += np.bincount(index, minlength=phases)
        squares += float(np.vdot(x, x))
        if progress is not None:
            progress(count)
    return total / number, math.sqrt(squares / series.elems) / np.sqrt(number)
