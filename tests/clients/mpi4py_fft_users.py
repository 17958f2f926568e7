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
SHENFUN_ON_RANKS = ("curl", "tensorproductspace")
# Written for one process: points or fields are drawn anew on each rank, or a rank looks at its own part alone. They
# fail on two ranks of mpi4py-fft itself.
ALONE = "not eval and not 2dirichlet and not (assign and H)"


def shenfun(work: Path) -> list[Result]:
    tests, version = suites.sdist("shenfun", work) / "tests", suites.pinned("shenfun")
    whole = [tests / f"test_{name}.py" for name in SHENFUN]
    results = [suites.run("shenfun", version, 1, whole, work, **HOOK)]
    for ranks in (2, 4):
        files = [tests / f"test_{name}.py" for name in SHENFUN_ON_RANKS]
        results.append(suites.run("shenfun", version, ranks, [*files, "-k", ALONE], work, **HOOK))
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
