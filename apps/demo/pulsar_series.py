"""A pulsar in noise, as a radio telescope would record it: made block by block, so that any length fits into memory.

The series is x[i] = NOISE * g[i] + amplitude * profile(i * SAMPLING_S / period_s), with g normal noise of unit variance
from a fixed seed and profile a Gaussian pulse once a turn, 1 at its top, whose full width at half maximum is
duty_cycle turns. There is no dispersion: all of the pulse arrives at once.

How faint: the pulse train's Fourier coefficient at harmonic k is amplitude * c_k, with c_k = s sqrt(2 pi)
exp(-2 (pi s k)^2) and s = duty_cycle / 2.355 the pulse's standard deviation in turns. So the fundamental's power,
in units of the noise's mean power, is n * (amplitude * c_1 / NOISE)^2. `Pulsar.of_power` asks for that power, which
decides what a search can see, and computes the amplitude.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from common import blocks

SAMPLING_S = 64e-6
NOISE = 1.0  # standard deviation of the noise, in the unit of the series
SEED = 20261121
BLOCK_ELEMS = 1 << 20


@dataclass(frozen=True)
class Pulsar:
    """What is hidden in the noise."""

    period_s: float = 0.0333924123  # the Crab pulsar's
    duty_cycle: float = 0.05  # full width at half maximum, in turns
    amplitude: float = 0.0045  # of the pulse's top, in units of NOISE
    phase: float = 0.3  # turns from the first sample to the first pulse's top

    @property
    def width(self) -> float:
        """Standard deviation of the pulse, in turns."""
        return self.duty_cycle / math.sqrt(8 * math.log(2))

    def coefficient(self, harmonic: int) -> float:
        """Modulus of the profile's Fourier coefficient, for amplitude 1."""
        return self.width * math.sqrt(2 * math.pi) * math.exp(-2 * (math.pi * self.width * harmonic) ** 2)

    def power(self, elems: int, harmonic: int = 1) -> float:
        """Of a harmonic in a series of `elems` samples, in units of the noise's mean power."""
        return elems * (self.amplitude * self.coefficient(harmonic)) ** 2

    @classmethod
    def of_power(cls, power: float, elems: int) -> Pulsar:
        """As faint as to have this `power` in its fundamental in a series of `elems` samples."""
        return cls(amplitude=math.sqrt(power / elems) / cls().coefficient(1))

    def profile(self, turns: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        """The pulse at each phase, 1 at its top. `turns` is counted from a top."""
        distance = (turns - np.rint(turns)).astype(np.float32)
        exponent: npt.NDArray[np.float32] = distance * distance * np.float32(-0.5 / self.width**2)
        return np.exp(exponent, out=exponent)

    def pulses(self, start: int, count: int) -> npt.NDArray[np.float32]:
        """The pulse train alone, in units of NOISE, at samples start <= i < start + count."""
        turns = np.arange(start, start + count, dtype=np.float64)
        turns *= SAMPLING_S / self.period_s
        turns -= self.phase
        pulses = self.profile(turns)
        pulses *= np.float32(self.amplitude)
        return pulses

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Pulsar:
        return cls(**json.loads(path.read_text()))


def write_series(
    path: Path, elems: int, pulsar: Pulsar, seed: int = SEED, progress: Callable[[int], object] | None = None
) -> None:
    """Writes `elems` float32 samples to the .npy file `path`. Memory: a few blocks of 2^20 samples."""
    generator = np.random.default_rng(seed)
    header = {"descr": np.dtype(np.float32).str, "fortran_order": False, "shape": (elems,)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start, count in blocks(elems, BLOCK_ELEMS):
            samples = generator.standard_normal(count, dtype=np.float32)
            samples += pulsar.pulses(start, count)
            samples *= np.float32(NOISE)
            samples.tofile(file)
            if progress is not None:
                progress(count)


class BlockReader:
    """Reads parts of a one-dimensional .npy file. A mapped file would do, but its pages count as this process's
    memory until the system takes them back, and this demo keeps count."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115
        if np.lib.format.read_magic(self._file) != (1, 0):
            raise ValueError(f"{path} is no .npy file of version 1.0")
        shape, fortran, self.dtype = np.lib.format.read_array_header_1_0(self._file)
        if len(shape) != 1 or fortran:
            raise ValueError(f"{path} holds an array of shape {shape}, not a series")
        self.elems = shape[0]
        self._offset_bytes = self._file.tell()
        expected, found = self._offset_bytes + self.elems * self.dtype.itemsize, os.path.getsize(path)
        if expected != found:
            raise ValueError(f"{path} has {found} bytes, but its header promises {expected}")

    def read(self, start: int, count: int) -> npt.NDArray[Any]:
        """Elements start <= i < start + count; zeros beyond the end."""
        data: npt.NDArray[Any] = np.zeros(count, self.dtype)
        inside = max(0, min(count, self.elems - start))
        self._file.seek(self._offset_bytes + start * self.dtype.itemsize)
        read = self._file.readinto(memoryview(data[:inside].data).cast("B")) if inside else 0
        if read != inside * self.dtype.itemsize:
            raise OSError(f"{self._file.name} ended early: {read} bytes for {inside} elements from {start}")
        return data

    def close(self) -> None:
        self._file.close()
