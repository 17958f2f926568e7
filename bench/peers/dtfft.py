"""dtFFT on FFTW, in its own memory, planned with PATIENT over all its MPI exchanges. Its spectrum stays as its last
transposition leaves it: divided along another axis than the input, and in memory axis 0 is the fastest.

Its wheel for MPICH names libmpi.so.12, libmpifort.so.12 and libmpicxx.so.12, which are Debian's MPICH under other
names (PyPI's MPICH has no Fortran library). So it runs with `./spanfft-dev --mpi mpich bench` only, from a copy in the
git-ignored .spanfft/peers that has these names as links beside it.
"""

from __future__ import annotations

import importlib
import math
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case

from peers import Absent, Run, World, require_memory
from peers.from_debian import mpi_version

VERSION = "3.2.0"
_FOLDER = Path(__file__).resolve().parents[2] / ".spanfft" / "peers" / f"dtfft-{VERSION}-{sys.implementation.cache_tag}"
_NAMES = {"libmpi.so.12": "libmpich.so.12", "libmpifort.so.12": "libmpichfort.so.12",
          "libmpicxx.so.12": "libmpichcxx.so.12"}  # fmt: skip
_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")


def build() -> Path:
    """The unpacked wheel, with links to the system's MPICH under the names that it wants."""
    if os.environ.get("SPANFFT_DEV_MPI") != "mpich":
        raise Absent("its wheel needs Debian's MPICH: ./spanfft-dev --mpi mpich bench")
    missing = [name for name in _NAMES.values() if not (_LIBRARIES / name).exists()]
    if missing or not find_library("gfortran"):
        raise Absent(f"its wheel needs {', '.join(missing) or 'libgfortran.so.5'}")
    if not _FOLDER.exists():
        making = _FOLDER.with_suffix(".part")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", making,
                   f"dtfft-fftw-mpich=={VERSION}"]  # fmt: skip
        if subprocess.run(command, stdin=subprocess.DEVNULL).returncode:
            raise Absent(f"pip finds no wheel of dtfft-fftw-mpich {VERSION} for this Python")
        zipfile.ZipFile(next(making.glob("*.whl"))).extractall(making)
        for wanted, present in _NAMES.items():
            (making / "dtfft" / "lib64" / wanted).symlink_to(_LIBRARIES / present)
        making.rename(_FOLDER)
    return _FOLDER / "dtfft"


def _module() -> Any:
    build()
    if str(_FOLDER) not in sys.path:
        sys.path.append(str(_FOLDER))
    try:
        import mpi4py.MPI  # noqa: F401  (its libmpich is the one that the links lead to)

        # Not this file, which is peers.dtfft.
        return importlib.import_module("dtfft")
    except ImportError as error:
        raise Absent(f"dtFFT can't be imported ({error})") from None


def preload() -> None:
    _module()


def describe() -> dict[str, str]:
    return {"dtfft": VERSION, "mpi": mpi_version()}


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    if world.comm is None:
        raise Absent("dtFFT runs under mpiexec only")
    if len(case.shape) not in (2, 3):
        raise Absent("dtFFT transforms 2 and 3 axes")
    require_memory(case, 3)
    dtfft = _module()
    config = dtfft.Config()
    config.enable_mpi_backends = True
    make = dtfft.PlanC2C if case.kind == "c2c" else dtfft.PlanR2C
    start = time.perf_counter()
    plan = make(list(reversed(case.shape)), comm=world.comm, precision=dtfft.Precision.DOUBLE,
                effort=dtfft.Effort.PATIENT, executor=dtfft.Executor.FFTW3, config=config)  # fmt: skip
    took = time.perf_counter() - start
    # Starts and counts are in the order of memory, the fastest first: X Y Z, of the spectrum Z X Y (of two axes Y X).
    in_starts, in_counts, out_starts, out_counts, allocated = plan.local_sizes
    source = plan.get_ndarray(allocated)
    spectrum = plan.get_ndarray(allocated, dtype=np.complex128) if case.kind == "c2c" else plan.get_ndarray(allocated)
    given = source[: math.prod(in_counts)].reshape(in_counts[::-1])
    flat = spectrum.view(np.complex128)[: math.prod(out_counts)]
    to_case = (2, 0, 1) if len(case.shape) == 3 else (1, 0)
    seen = flat.reshape(out_counts[::-1]).transpose(to_case)
    return Run(
        forward=lambda: plan.execute(source, spectrum, dtfft.Execute.FORWARD),
        backward=lambda: plan.execute(spectrum, source, dtfft.Execute.BACKWARD),
        input=given,
        input_start=tuple(in_starts[::-1]),
        spectrum=lambda: seen,
        spectrum_start=tuple(out_starts[::-1][axis] for axis in to_case),
        result=lambda: given,
        pair_scale=float(math.prod(case.shape)),
        engine="fftw",
        effort="PATIENT",
        layout="exchanged",
        planning_seconds=took,
        notes=["not normalised", "its own memory", f"exchange {dtfft.get_backend_string(plan.backend)}"],
        versions=describe(),
        close=plan.destroy,
    )
