"""One long axis in one process with all cores: 2^24 complex numbers, 256 MiB."""

from __future__ import annotations

from . import Case

CASES = [Case("c2c-1d-1", "c2c", (2**24,), 1, ("spanfft", "spanfft-fftw", "fftw", "mkl", "scipy"), (2**16,), repeats=9)]
