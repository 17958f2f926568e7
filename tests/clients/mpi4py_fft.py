"""mpi4py-fft's own tests, unedited, where `import mpi4py_fft` is answered with spanfft.mpi4py_fft.

The tests come from the source archive in the registry. test_io.py takes its cases from its last lines, so it runs as
the program that it is; test_speed.py is a benchmark of pyFFTW and has no test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from clients import suites
from clients.result import Result

PACKAGE = "mpi4py-fft"
FILES = ("test_pencil.py", "test_darray.py", "test_libfft.py", "test_fftw.py", "test_mpifft.py")
SAMPLE = ("test_pencil.py", "test_darray.py", "test_mpifft.py::test_r2r")
"""What ./spanfft-dev test runs of them: all but the three that take long."""
HOOK = {"PYTHONPATH": str(suites.STRANGERS / "mpi4py_fft")}


def tests_of(work: Path) -> Path:
    return suites.sdist(PACKAGE, work) / "tests"


def as_program(name: str, ranks: int, tests: Path, work: Path) -> Result:
    folder = work / f"files-{ranks}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command = [os.environ["SPANFFT_MPIEXEC"], "-n", str(ranks), sys.executable, str(tests / name)]
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(command, cwd=folder, env=os.environ | HOOK, timeout=900, **quiet)
    reasons = [done.stderr.strip().rpartition("\n")[2][:200]] if done.returncode else []
    client = f"{PACKAGE}: {name}, as a program, {ranks} rank{'s' * (ranks > 1)}"
    return Result(client, suites.pinned(PACKAGE), 1, int(not done.returncode), int(done.returncode != 0), reasons)


def speed(ranks: int, n: int) -> Result:
    """Against mpi4py-fft itself; a pass is that the results agree."""
    command = [
        os.environ["SPANFFT_MPIEXEC"],
        "-n",
        str(ranks),
        sys.executable,
        "-m",
        "clients.mpi4py_fft_speed",
        str(n),
    ]
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(command, cwd=suites.ROOT / "tests", timeout=900, **quiet)
    client = f"{PACKAGE} beside spanfft, {n}^3, slabs, {ranks} ranks"
    if done.returncode:
        return Result(client, suites.pinned(PACKAGE), 1, 0, 1, [done.stderr.strip().rpartition("\n")[2][:200]])
    found = json.loads(done.stdout.splitlines()[-1])
    reasons = [f"load {found['load']:.1f}"]
    for kind in ("c2c", "r2c"):
        theirs, ours = found[kind]["mpi4py-fft"], found[kind]["spanfft"]
        reasons.append(
            f"{kind} {1e3 * theirs:.1f} ms a pair, spanfft {1e3 * ours:.1f} ({theirs / ours:.2f} times as fast)"
        )
    return Result(client, suites.pinned(PACKAGE), 1, 1, 0, reasons)


def whole(work: Path) -> list[Result]:
    tests = tests_of(work)
    results = []
    for ranks in (1, 2, 4):
        files = [tests / name for name in FILES]
        results.append(suites.run(PACKAGE, suites.pinned(PACKAGE), ranks, files, work, **HOOK))
        results.append(as_program("test_io.py", ranks, tests, work))
    return [*results, speed(2, 128)]


def sample(work: Path, ranks: int) -> Result:
    tests = tests_of(work)
    return suites.run(PACKAGE, suites.pinned(PACKAGE), ranks, [tests / name for name in SAMPLE], work, **HOOK)
