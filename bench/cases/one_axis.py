"""One long axis in one process with all cores, complex and real: 2^24 complex numbers are 256 MiB."""

from __future__ import annotations

from . import Case, Target

_PEERS = ("spanfft", "spanfft-fftw", "fftw", "mkl", "scipy")


def _case(kind: str, lg: int) -> Case:
    name = "c2c-1d-1" if (kind, lg) == ("c2c", 24) else f"{kind}-1d-{lg}-1"  # the older name has rows
    target = Target("0.75 of the better of FFTW measured and MKL", "spanfft", ("fftw", "mkl"), 0.75)
    return Case(name, kind, (2**lg,), 1, _PEERS, (2**16,), repeats=9, targets=(target,))


CASES = [_case(kind, lg) for kind in ("c2c", "r2c") for lg in (20, 22, 24, 26)]
