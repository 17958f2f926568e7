"""NumPy's and SciPy's own tests of their Fourier transforms, unedited, as their packages bring them, run on spanfft."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from clients import suites
from clients.result import Result


def numpy(work: Path) -> list[Result]:
    return [_whole("numpy", "numpy.fft.tests", work)]


def scipy(work: Path) -> list[Result]:
    return [_whole("scipy", "scipy.fft.tests", work)]


def _whole(package: str, tests: str, work: Path) -> Result:
    version = importlib.metadata.version(package)
    hook = {"PYTHONPATH": str(suites.STRANGERS / package)}
    return suites.run(f"{package}: {tests}", version, 0, ["--pyargs", tests], work, **hook)
