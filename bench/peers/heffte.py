"""heFFTe on MKL by ctypes, natural order, in each of its four modes of exchange.

heFFTe is no package: build it for the MPI in use, outside this repository, and set SPANFFT_HEFFTE to where it is
installed (or install it into the git-ignored .spanfft/peers/heffte):

    cmake -S heffte -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-O3 -march=native" -DHeffte_ENABLE_AVX=ON \\
        -DHeffte_ENABLE_MKL=ON -DMKL_ROOT=MKL -DMPI_CXX_COMPILER=mpicxx -DCMAKE_INSTALL_PREFIX=PREFIX
    cmake --build build --target install

`build` then compiles heffte_driver against it. A mode has two options more (slabs or pencils between, strided or
reordered local transforms): `prepare` times all four and keeps the fastest, as other peers' planners do.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import math
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cases import Case

from peers import Absent, Run, World, block, require_memory
from peers.from_debian import mpi_version
from peers.mkl import describe as describe_mkl
from peers.mkl import load_mkl

_ROOT = Path(__file__).resolve().parents[2]
_SOURCE = Path(__file__).resolve().parent / "heffte_driver"
# Shared by all modes, as only one runs at a time; as large as the largest wanted.
_work: dict[str, npt.NDArray[np.complex128]] = {}


def _installed() -> Path:
    folder = Path(os.environ.get("SPANFFT_HEFFTE") or _ROOT / ".spanfft" / "peers" / "heffte")
    if not (folder / "lib").is_dir():
        raise Absent("heFFTe is not found: build heFFTe and set SPANFFT_HEFFTE to its install folder")
    return folder.resolve()


def _mpicxx() -> str:
    found = os.environ.get("MPICXX") or shutil.which("mpicxx")
    if not found:
        raise Absent("no mpicxx, so heFFTe's driver can't be compiled for this MPI")
    return found


def _folder() -> Path:
    """One for each MPI, heFFTe and version of the driver."""
    shown = subprocess.run([_mpicxx(), "-show"], capture_output=True, text=True).stdout
    digest = hashlib.sha256(f"{shown}{_installed()}".encode())
    for path in sorted(_SOURCE.iterdir()):
        digest.update(path.read_bytes())
    return _ROOT / ".spanfft" / "peers" / f"heffte-driver-{digest.hexdigest()[:12]}"


def build() -> Path:
    """The compiled driver; made if it is not there yet, in some seconds."""
    installed, folder = _installed(), _folder()
    library = folder / "libheffte_driver.so"
    if library.exists():
        return library
    cmake = shutil.which("cmake")
    if not cmake:
        raise Absent("no cmake, so heFFTe's driver can't be compiled")
    folder.mkdir(parents=True, exist_ok=True)
    configure = [cmake, "-S", str(_SOURCE), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release"]
    configure += [f"-DHeffte_ROOT={installed}", f"-DMPI_CXX_COMPILER={_mpicxx()}"]
    for command in (configure, [cmake, "--build", str(folder)]):
        with open(folder / "build.log", "a") as log:
            if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode:
                shown = (folder / "build.log").relative_to(_ROOT)
                raise Absent(f"heFFTe's driver can't be compiled against this heFFTe (log: {shown})")
    return library


@cache
def _library() -> ctypes.CDLL:
    path = _folder() / "libheffte_driver.so"
    if not path.exists():
        raise Absent("heFFTe's driver is not compiled for this MPI (bench/run.py does it unless told --no-build)")
    load_mkl()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Absent(f"heFFTe can't be loaded ({error})".replace(str(_ROOT), "")) from None
    if not library.heffte_driver_same_mpi():
        raise Absent("heFFTe was built for another MPI: build heFFTe for this one and set SPANFFT_HEFFTE to it")
    library.heffte_driver_error.restype = ctypes.c_char_p
    library.heffte_driver_version.restype = ctypes.c_char_p
    library.heffte_driver_work_size.restype = ctypes.c_size_t
    return library


def describe() -> dict[str, str]:
    return {"heffte": _library().heffte_driver_version().decode(), "mpi": mpi_version(), **describe_mkl()}


def _must(code: int) -> None:
    if code:
        raise RuntimeError(f"heFFTe: {_library().heffte_driver_error().decode()}")


class _Transform:
    """One of heFFTe's plans over this rank's boxes, and its calls."""

    def __init__(self, case: Case, world: World, mode: str, reorder: bool, pencils: bool):
        from mpi4py import MPI

        self._library, self._plan = _library(), ctypes.c_void_p()
        ints = ctypes.c_int * 3
        boxes = [ints(*part) for shape in (case.shape, case.spectrum_shape) for part in block(case, world, shape)]
        made = self._library.heffte_driver_make(
            ctypes.byref(self._plan), int(case.kind == "r2c"), *boxes, ctypes.c_void_p(MPI._addressof(world.comm)),
            mode.encode(), int(reorder), int(pencils),
        )  # fmt: skip
        _must(made)
        self.what = f"{'pencils' if pencils else 'slabs'}, {'reordered' if reorder else 'strided'} local transforms"
        self.work_size = int(self._library.heffte_driver_work_size(self._plan))

    def run(self, direction: str, source: int, target: int) -> None:
        call = getattr(self._library, f"heffte_driver_{direction}")
        work = ctypes.c_void_p(_work["work"].ctypes.data)
        _must(call(self._plan, ctypes.c_void_p(source), ctypes.c_void_p(target), work))

    def free(self) -> None:
        self._library.heffte_driver_free(self._plan)


def _reserve_work(case: Case, world: World, size: int) -> None:
    size = max(world.comm.allgather(size))
    if "work" not in _work or _work["work"].size < size:
        _work.clear()
        reason = ""
        try:
            require_memory(case, size * 16 * world.size / max(case.input_bytes, case.output_bytes))
        except Absent as error:
            reason = str(error)
        reasons = world.comm.allgather(reason)  # before any allocates, so that one's reason is everybody's
        if any(reasons):
            raise Absent(max(reasons))
        _work["work"] = np.zeros(size, "complex128")


def _round_trip_seconds(transform: _Transform, world: World, a: int, b: int) -> float:
    """The slowest rank's."""
    world.comm.Barrier()
    start = time.perf_counter()
    transform.run("forward", a, b)
    transform.run("backward", b, a)
    return float(max(world.comm.allgather(time.perf_counter() - start)))


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    if world.comm is None:
        raise Absent("heFFTe runs under mpiexec only")
    if len(case.shape) != 3:
        raise Absent("heFFTe transforms three axes")
    versions = describe()
    (input_start, input_shape), (spectrum_start, spectrum_shape) = (
        block(case, world, shape) for shape in (case.shape, case.spectrum_shape)
    )
    a = world.pool.take("part_a", input_shape, case.real_dtype)
    b = world.pool.take("part_b", spectrum_shape, "complex128")
    start = time.perf_counter()
    flags = itertools.product((False, True), repeat=2)
    candidates = [_Transform(case, world, options["mode"], reorder, pencils) for reorder, pencils in flags]
    _reserve_work(case, world, max(candidate.work_size for candidate in candidates))
    a.fill(0)
    # In turns, the first of which warms up.
    turns = [[_round_trip_seconds(each, world, a.ctypes.data, b.ctypes.data) for each in candidates] for _ in range(3)]
    times = [min(mine) for mine in zip(*turns[1:], strict=True)]
    best = candidates[times.index(min(times))]
    for candidate in candidates:
        if candidate is not best:
            candidate.free()
    tried = "; ".join(f"{c.what}: {t * 1e3:.4g} ms" for c, t in zip(candidates, times, strict=True))
    return Run(
        forward=lambda: best.run("forward", a.ctypes.data, b.ctypes.data),
        backward=lambda: best.run("backward", b.ctypes.data, a.ctypes.data),
        input=a,
        input_start=input_start,
        spectrum=lambda: b,
        spectrum_start=spectrum_start,
        result=lambda: a,
        pair_scale=float(math.prod(case.shape)),
        engine="mkl",
        effort=f"{options['mode']}, {best.what}",
        planning_seconds=time.perf_counter() - start,
        notes=["not normalised", f"the fastest of four, by their better round trip of two: {tried}"],
        versions=versions,
        close=best.free,
    )
