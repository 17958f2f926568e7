"""FFTW's MPI transforms by ctypes: natural order or spectrum left transposed (of one axis: scrambled); measured, or at
their best, which is FFTW_PATIENT and the input destroyed, or the transform in place.

`build` compiles them from Debian's own source package for the MPI in use and links the system's libfftw3, which stays
the engine: the same as that of the other FFTW peers.
"""

from __future__ import annotations

import ctypes
import math
import os
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
from peers.from_debian import call, folder, handle, mpi_version, mpicc, unpacked

SCRAMBLED_IN, SCRAMBLED_OUT = 1 << 27, 1 << 28
TRANSPOSED_IN, TRANSPOSED_OUT = 1 << 29, 1 << 30
DESTROY_INPUT, PATIENT = 1 << 0, 1 << 5
# As Debian configures the double-precision library that is linked: structures depend on it.
_CONFIGURE = ("--enable-shared", "--disable-static", "--enable-threads", "--enable-sse2", "--enable-avx",
              "--enable-mpi", "--disable-fortran")  # fmt: skip


def _path() -> Path:
    return folder("fftw-mpi") / "libfftw3_mpi.so"


def build() -> Path:
    """The compiled library; made if it is not there yet. Needs apt-get's source packages and takes half a minute."""
    library = _path()
    if library.exists():
        return library
    log = library.parent / "build.log"
    source = unpacked("fftw3", library.parent, log)
    linked = version(load_fftw())
    if not linked.startswith(f"{source.name}-"):
        raise Absent(f"the source package is {source.name}, but the library is {linked}")
    call(["./configure", f"CC={os.environ.get('CC', 'cc')}", f"MPICC={mpicc()}", *_CONFIGURE], source, log)
    files = [path.name for path in sorted((source / "mpi").glob("*.c"))]
    files = [name for name in files if name not in ("mpi-bench.c", "testsched.c", "f03-wrap.c")]
    making = library.with_suffix(".part.so")
    call([mpicc(), "-O3", "-fomit-frame-pointer", "-fPIC", "-shared", "-DHAVE_CONFIG_H", "-I..", "-I../api", *files,
          "-o", str(making), "-l:libfftw3.so.3"], source / "mpi", log)  # fmt: skip
    making.rename(library)
    return library


@cache
def _library() -> ctypes.CDLL:
    if not _path().exists():
        raise Absent("FFTW-MPI is not compiled for this MPI (bench/run.py does it unless told --no-build)")
    load_fftw()
    library = ctypes.CDLL(str(_path()))
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
    return {"fftw": version(load_fftw()), "mpi": mpi_version()}


def _facts(case: Case, effort: int, took: list[float], exchanged: bool) -> dict[str, Any]:
    """What a row says of a run, of lines and of arrays of more axes alike."""
    return {
        "engine": "fftw",
        "effort": "FFTW_MEASURE" if effort == MEASURE else "FFTW_PATIENT, input destroyed",
        "layout": "exchanged" if exchanged else "natural",
        "planning_seconds": sum(took),
        "plan_limit_seconds": case.plan_limit_seconds,
        "starved": max(took) >= case.plan_limit_seconds,
        "notes": ["not normalised", "compiled from Debian's source package for this MPI"],
        "versions": describe(),
    }


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    if world.comm is None:
        raise Absent("FFTW-MPI runs under mpiexec only")
    library = _library()
    transposed, in_place = bool(options.get("transposed")), bool(options.get("in_place"))
    effort = PATIENT | DESTROY_INPUT if options.get("patient") else MEASURE
    ndim = len(case.shape)
    if ndim < 2:
        return _prepare_line(case, world, effort, in_place, transposed)
    extents = ctypes.c_ssize_t * ndim
    sizes = [ctypes.c_ssize_t() for _ in range(4)]
    comm = handle(world.comm)
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
        **_facts(case, effort, took, exchanged=transposed),
        close=close,
    )


def _prepare_line(case: Case, world: World, effort: int, in_place: bool, scrambled: bool) -> Run:
    """One axis, c2c, in natural order or scrambled, which omits the last of three transpositions. FFTW-MPI's blocks
    need not be balanced, and may differ by direction."""
    if case.kind != "c2c":
        raise Absent("FFTW-MPI has no real transforms of one axis")
    library, comm, points = _library(), handle(world.comm), case.shape[0]
    n = ctypes.c_ssize_t(points)
    order = {FORWARD: SCRAMBLED_OUT, BACKWARD: SCRAMBLED_IN} if scrambled else {FORWARD: 0, BACKWARD: 0}
    flags = {sign: effort | order[sign] for sign in order}
    plans, took, places = [], [], []
    for sign in (FORWARD, BACKWARD):
        sizes = [ctypes.c_ssize_t() for _ in range(4)]
        words = (ctypes.c_uint(flags[sign]), *map(ctypes.byref, sizes))
        allocated = library.fftw_mpi_local_size_1d(n, comm, sign, *words)
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
        plans.append(library.fftw_mpi_plan_dft_1d(n, *ends, comm, sign, ctypes.c_uint(flags[sign])))
        took.append(time.perf_counter() - begin)
    planner.end_planning()
    if not all(plans):
        raise Absent(f"FFTW-MPI makes no plan for {points} points on {world.size} ranks")

    def forward() -> None:
        planner.main.fftw_execute(plans[0])

    def close() -> None:
        for plan in plans:
            planner.main.fftw_destroy_plan(plan)

    spectrum, spectrum_first = (lambda: b[:out_count]), out_first
    if scrambled:
        a[:count] = np.exp(2j * np.pi * (first + np.arange(count)) / points)
        forward()
        radix = _place_of_frequency_one(b[:out_count], out_first, world.comm)
        spectrum, spectrum_first = (lambda: _unscrambled(b[:out_count], out_first, radix, points)), 0
    return Run(
        forward=forward,
        backward=lambda: planner.main.fftw_execute(plans[1]),
        input=a[:count],
        input_start=(first,),
        spectrum=spectrum,
        spectrum_start=(spectrum_first,),
        result=lambda: a[:count],
        pair_scale=float(points),
        **_facts(case, effort, took, exchanged=scrambled),
        close=close,
    )


def _place_of_frequency_one(part: Array, first: int, comm: Any) -> int:
    """Where a transformed tone stands out, in the numbers of all ranks.

    FFTW splits n into m r and leaves frequency km + m kr at place km r + kr (mpi/dft-rank1.c: m x r, not transposed).
    So frequency 1 tells r, which its interface does not."""
    peak = int(np.abs(part).argmax()) if part.size else 0
    return int(max(comm.allgather((float(abs(part[peak])) if part.size else 0.0, first + peak)))[1])


def _unscrambled(part: Array, first: int, radix: int, points: int) -> Array:
    """All frequencies in natural order: those of this rank, and 0 for those of others."""
    whole: Array = np.zeros(points, np.complex128)
    low, high = np.divmod(first + np.arange(part.size), radix)
    whole[low + points // radix * high] = part
    return whole
