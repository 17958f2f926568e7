"""FFTW's MPI transforms by ctypes: natural order or spectrum left transposed; measured, or at their best, which is
FFTW_PATIENT and the input destroyed, or the transform in place.

Debian compiles them for Open MPI only, and a library made for one MPI cannot run on another. So `build` compiles
them from Debian's own source package for the MPI in use, into the git-ignored .spanfft/peers, and links the system's
libfftw3, which stays the engine: the same as that of the other FFTW peers.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case

from peers import Absent, Array, Run, World, require_memory
from peers.fftw import load_fftw, threaded_library, version
from peers.fftw3_interface import BACKWARD, FORWARD, MEASURE

TRANSPOSED_IN, TRANSPOSED_OUT = 1 << 29, 1 << 30
DESTROY_INPUT, PATIENT = 1 << 0, 1 << 5
_ROOT = Path(__file__).resolve().parents[2]
# As Debian configures the double-precision library that is linked: structures depend on it.
_CONFIGURE = ("--enable-shared", "--disable-static", "--enable-threads", "--enable-sse2", "--enable-avx",
              "--enable-mpi", "--disable-fortran")  # fmt: skip


def _folder(mpicc: str) -> Path:
    """One for each MPI, told apart by what its compiler wrapper runs."""
    shown = subprocess.run([mpicc, "-show"], capture_output=True, text=True).stdout
    return _ROOT / ".spanfft" / "peers" / f"fftw-mpi-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"


def _mpicc() -> str:
    found = os.environ.get("MPICC") or shutil.which("mpicc")
    if not found:
        raise Absent("no mpicc, so FFTW-MPI can't be compiled for this MPI")
    return found


def build() -> Path:
    """The compiled library; made if it is not there yet. Needs apt-get's source packages and takes half a minute."""
    mpicc = _mpicc()
    folder = _folder(mpicc)
    library = folder / "libfftw3_mpi.so"
    if library.exists():
        return library
    if not shutil.which("apt-get"):
        raise Absent("FFTW-MPI is compiled from Debian's source package, and there is no apt-get")
    shutil.rmtree(folder, ignore_errors=True)
    log = folder / "build.log"
    (folder / "apt" / "sources").mkdir(parents=True)
    (folder / "apt" / "lists" / "partial").mkdir(parents=True)
    # The system's own sources, asked for source packages instead of compiled ones, with lists of their own.
    for path in Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = path.read_text()
        if "debian" in text:
            (folder / "apt" / "sources" / path.name).write_text(re.sub(r"(?m)^Types:.*$", "Types: deb-src", text))
    lines = [path.read_text() for path in [Path("/etc/apt/sources.list")] if path.exists()]
    found = [re.sub(r"^deb ", "deb-src ", line) for line in "\n".join(lines).splitlines() if line.startswith("deb ")]
    (folder / "apt" / "sources.list").write_text("\n".join([*found, ""]))
    at = f"{folder}/apt"
    apt = ["apt-get", "-o", f"Dir::Etc::SourceList={at}/sources.list", "-o", f"Dir::Etc::SourceParts={at}/sources",
           "-o", f"Dir::State::Lists={at}/lists", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
           "-o", "APT::Sandbox::User=root"]  # fmt: skip

    def call(command: list[str], cwd: Path) -> None:
        with open(log, "a") as out:
            print("$", *command, file=out, flush=True)
            if subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out).returncode:
                raise Absent(f"FFTW-MPI can't be compiled here: {command[0]} failed (log: {log.relative_to(_ROOT)})")

    call([*apt, "update"], folder)
    call([*apt, "source", "--download-only", "fftw3"], folder)
    archive = next(folder.glob("fftw3_*.orig.tar.*"), None)
    if archive is None:
        raise Absent("Debian's FFTW source package holds no source archive")
    call(["tar", "-xf", str(archive)], folder)
    source = next(path for path in folder.glob("fftw-*") if path.is_dir())
    linked = version(load_fftw())
    if not linked.startswith(f"{source.name}-"):
        raise Absent(f"the source package is {source.name}, but the library is {linked}")
    call(["./configure", f"CC={os.environ.get('CC', 'cc')}", f"MPICC={mpicc}", *_CONFIGURE], source)
    files = [path.name for path in sorted((source / "mpi").glob("*.c"))]
    files = [name for name in files if name not in ("mpi-bench.c", "testsched.c", "f03-wrap.c")]
    making = library.with_suffix(".part.so")
    call([mpicc, "-O3", "-fomit-frame-pointer", "-fPIC", "-shared", "-DHAVE_CONFIG_H", "-I..", "-I../api", *files,
          "-o", str(making), "-l:libfftw3.so.3"], source / "mpi")  # fmt: skip
    making.rename(library)
    return library


@cache
def _library() -> ctypes.CDLL:
    path = _folder(_mpicc()) / "libfftw3_mpi.so"
    if not path.exists():
        raise Absent("FFTW-MPI is not compiled for this MPI (bench/run.py does it unless told --no-build)")
    load_fftw()
    library = ctypes.CDLL(str(path))
    library.fftw_mpi_init()
    for name in ("fftw_mpi_local_size_many_transposed", "fftw_mpi_local_size_1d"):
        getattr(library, name).restype = ctypes.c_ssize_t
    for name in ("fftw_mpi_plan_dft", "fftw_mpi_plan_dft_1d", "fftw_mpi_plan_dft_r2c", "fftw_mpi_plan_dft_c2r"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


def preload() -> None:
    threaded_library()  # FFTW wants its threads started before its MPI part
    _library()


def describe() -> dict[str, str]:
    from mpi4py import MPI

    library = " ".join(MPI.Get_library_version().strip("\0 \n").splitlines()[0].split())
    return {"fftw": version(load_fftw()), "mpi": library}


def _handle(comm: Any) -> Any:
    """The communicator as this MPI's C type: an int in MPICH, a pointer in Open MPI."""
    from mpi4py import MPI

    kind = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(comm))


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    if world.comm is None:
        raise Absent("FFTW-MPI runs under mpiexec only")
    library = _library()
    transposed, in_place = bool(options.get("transposed")), bool(options.get("in_place"))
    effort = PATIENT | DESTROY_INPUT if options.get("patient") else MEASURE
    ndim = len(case.shape)
    if ndim < 2:
        return _prepare_line(case, world, effort, in_place)
    extents = ctypes.c_ssize_t * ndim
    sizes = [ctypes.c_ssize_t() for _ in range(4)]
    comm = _handle(world.comm)
    allocated = library.fftw_mpi_local_size_many_transposed(
        ndim, extents(*case.spectrum_shape), ctypes.c_ssize_t(1), ctypes.c_ssize_t(0), ctypes.c_ssize_t(0), comm,
        *map(ctypes.byref, sizes),
    )  # fmt: skip
    rows, first, columns, first_column = (size.value for size in sizes)
    half = case.spectrum_shape[-1]
    require_memory(case, 1)
    names = ("part_a", "part_a" if in_place else "part_b")
    whole_a, whole_b = (world.pool.take(name, (allocated,), "complex128") for name in names)
    if case.kind == "r2c":  # rows of real numbers are padded to whole complex ones
        padded = whole_a.view("float64")[: rows * math.prod(case.shape[1:-1]) * 2 * half]
        a: Array = padded.reshape(rows, *case.shape[1:-1], 2 * half)[..., : case.shape[-1]]
    else:
        a = whole_a[: rows * math.prod(case.shape[1:])].reshape(rows, *case.shape[1:])
    if transposed:
        shape = (columns, case.spectrum_shape[0], *case.spectrum_shape[2:])
        start = (0, first_column, *(0,) * (ndim - 2))
    else:
        shape, start = (rows, *case.spectrum_shape[1:]), (first, *(0,) * (ndim - 1))
    b = whole_b[: math.prod(shape)].reshape(shape)
    spectrum = np.swapaxes(b, 0, 1) if transposed else b

    planner = threaded_library()
    planner.start_planning(1, case.plan_limit_seconds)
    out_flag, in_flag = (TRANSPOSED_OUT, TRANSPOSED_IN) if transposed else (0, 0)
    took, plans = [], []
    real, complex_ = ctypes.c_void_p(whole_a.ctypes.data), ctypes.c_void_p(whole_b.ctypes.data)
    for forward in (True, False):
        begin = time.perf_counter()
        ends = (real, complex_) if forward else (complex_, real)
        flags = effort | (out_flag if forward else in_flag)
        head = (ndim, extents(*case.shape), *ends, comm)
        if case.kind == "r2c":
            name = "fftw_mpi_plan_dft_r2c" if forward else "fftw_mpi_plan_dft_c2r"
            plans.append(getattr(library, name)(*head, flags))
        else:
            plans.append(library.fftw_mpi_plan_dft(*head, FORWARD if forward else BACKWARD, flags))
        took.append(time.perf_counter() - begin)
    planner.end_planning()
    if not all(plans):
        raise RuntimeError("FFTW-MPI makes no plan")

    def close() -> None:
        for plan in plans:
            planner.main.fftw_destroy_plan(plan)

    return Run(
        forward=lambda: planner.main.fftw_execute(plans[0]),
        backward=lambda: planner.main.fftw_execute(plans[1]),
        input=a,
        input_start=(first, *(0,) * (ndim - 1)),
        spectrum=lambda: spectrum,
        spectrum_start=start,
        result=lambda: a,
        pair_scale=float(math.prod(case.shape)),
        engine="fftw",
        effort="FFTW_MEASURE" if effort == MEASURE else "FFTW_PATIENT, input destroyed",
        layout="exchanged" if transposed else "natural",
        planning_seconds=sum(took),
        plan_limit_seconds=case.plan_limit_seconds,
        starved=max(took) >= case.plan_limit_seconds,
        notes=["not normalised", "compiled from Debian's source package for this MPI"],
        versions=describe(),
        close=close,
    )


def _prepare_line(case: Case, world: World, effort: int, in_place: bool) -> Run:
    """One axis, c2c, in natural order. FFTW-MPI's blocks need not be balanced, and may differ by direction."""
    if case.kind != "c2c":
        raise Absent("FFTW-MPI has no real transforms of one axis")
    library, comm = _library(), _handle(world.comm)
    n = ctypes.c_ssize_t(case.shape[0])
    plans, took, places = [], [], []
    for sign in (FORWARD, BACKWARD):
        sizes = [ctypes.c_ssize_t() for _ in range(4)]
        allocated = library.fftw_mpi_local_size_1d(n, comm, sign, ctypes.c_uint(effort), *map(ctypes.byref, sizes))
        places.append((allocated, *(size.value for size in sizes)))
    (_, count, first, out_count, out_first), (_, *back) = places
    if back != [out_count, out_first, count, first]:
        raise Absent("FFTW-MPI divides what goes back otherwise than what came")
    require_memory(case, 1)
    allocated = max(place[0] for place in places)
    names = ("part_a", "part_a" if in_place else "part_b")
    a, b = (world.pool.take(name, (allocated,), "complex128") for name in names)
    planner = threaded_library()
    planner.start_planning(1, case.plan_limit_seconds)
    for sign, source, target in ((FORWARD, a, b), (BACKWARD, b, a)):
        begin = time.perf_counter()
        ends = (ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data))
        plans.append(library.fftw_mpi_plan_dft_1d(n, *ends, comm, sign, ctypes.c_uint(effort)))
        took.append(time.perf_counter() - begin)
    planner.end_planning()
    if not all(plans):
        raise Absent(f"FFTW-MPI makes no plan for {case.shape[0]} points on {world.size} ranks")

    def close() -> None:
        for plan in plans:
            planner.main.fftw_destroy_plan(plan)

    return Run(
        forward=lambda: planner.main.fftw_execute(plans[0]),
        backward=lambda: planner.main.fftw_execute(plans[1]),
        input=a[:count],
        input_start=(first,),
        spectrum=lambda: b[:out_count],
        spectrum_start=(out_first,),
        result=lambda: a[:count],
        pair_scale=float(case.shape[0]),
        engine="fftw",
        effort="FFTW_MEASURE" if effort == MEASURE else "FFTW_PATIENT, input destroyed",
        planning_seconds=sum(took),
        plan_limit_seconds=case.plan_limit_seconds,
        starved=max(took) >= case.plan_limit_seconds,
        notes=["not normalised", "compiled from Debian's source package for this MPI"],
        versions=describe(),
        close=close,
    )
