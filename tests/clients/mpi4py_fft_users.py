"""Packages that are built on mpi4py-fft: their own tests, unedited, where `import mpi4py_fft` is answered with
spanfft.mpi4py_fft.

Of shenfun these are the tests that transform (spaces, their products, curls, files); of pylops-mpi those of its FFTs.
The rest of both, and shenfun's demonstrations, are other mathematics.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from clients import suites
from clients.mpi4py_fft import HOOK
from clients.result import Result

SHENFUN = ("backward", "curl", "dot", "fourier", "io", "tensorproductspace", "transforms")
SHENFUN_ON_RANKS = ("curl", "fourier", "lagrangian_particles", "tensorproductspace")


def shenfun(work: Path) -> list[Result]:
    tests, version = suites.sdist("shenfun", work) / "tests", suites.pinned("shenfun")
    results = []
    for ranks, names in ((1, SHENFUN), (2, SHENFUN_ON_RANKS), (4, SHENFUN_ON_RANKS)):
        files = [tests / f"test_{name}.py" for name in names]
        results.append(suites.run("shenfun", version, ranks, files, work, **HOOK))
    return results


def pylops_mpi(work: Path) -> list[Result]:
    package, tests = "pylops-mpi", "tests/test_ffts.py"
    files = importlib.metadata.files(package) or []
    found = [str(file.locate()) for file in files if str(file) == tests]
    if not found:
        raise RuntimeError(f"{package} has no {tests}")
    # Its conftest.py writes to what pytest 9 does not let it write to, and does nothing else.
    arguments = ["--noconftest", *found]
    return [suites.run(package, suites.pinned(package), ranks, arguments, work, **HOOK) for ranks in (2, 4)]
