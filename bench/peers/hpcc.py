"""FFTE as HPC Challenge carries it, by ctypes: the transform that G-FFT times, one axis, c2c, in natural order.

Debian's program hpcc can't be told a length: its own follows from the memory that HPL's matrix takes, and it runs HPL
and all its other tests before. So `build` compiles the transform's files from Debian's source package, for the MPI in
use, and it takes turns with the others. HPCC_fftw_mpi, which hpcc calls, is HPCC_pzfft1d and a copy of the result over
the input; the copy is left out here, in FFTE's favour. The input is destroyed.

FFTE wants n = 2^a 3^b 5^c in which each factor of the number of ranks is contained twice.
Source: the HPC Challenge benchmark, FFT/mpifft.c, FFT/wrapmpifftw.c and FFT/pzfft1d.c.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cases import Case

from peers import Absent, Array, Run, World, require_memory
from peers.from_debian import call, folder, handle, mpi_version, mpicc, unpacked

FORWARD, BACKWARD, ESTIMATE = -1, 1, 0
_FILES = ("bcnrand", "fft235", "pzfft1d", "zfft1d", "wrapfftw", "wrapmpifftw")
# What the program defines beside these files: where a transform notes its times.
_REST = """
#include <hpcc.h>
#include "hpccfft.h"
#include "wrapmpifftw.h"
static double times[MPIFFT_TIMING_COUNT];
double *HPCC_fft_timings_forward = times, *HPCC_fft_timings_backward = times;
int peer_version(void) { return 100 * (100 * HPCC_VERSION_MAJOR + HPCC_VERSION_MINOR) + HPCC_VERSION_MICRO; }
void peer_transform(hpcc_fftw_mpi_plan p, int me, int ranks, int sign, void *a, void *b) {
  HPCC_pzfft1d(p->n, (fftw_complex *)a, (fftw_complex *)b, p->work, me, ranks, sign, p);
}
"""


def _path() -> Path:
    return folder("hpcc") / "libhpcc_fft.so"


def build() -> Path:
    """The compiled library; made if it is not there yet, in some seconds."""
    library = _path()
    if library.exists():
        return library
    log = library.parent / "build.log"
    source = unpacked("hpcc", library.parent, log)
    (source / "FFT" / "rest.c").write_text(_REST)
    making = library.with_suffix(".part.so")
    call([mpicc(), "-O3", "-march=native", "-fomit-frame-pointer", "-fPIC", "-shared", "-DLONG_IS_64BITS",
          "-I../include", "-I../hpl/include", *(f"{name}.c" for name in (*_FILES, "rest")), "-o", str(making), "-lm"],
         source / "FFT", log)  # fmt: skip
    making.rename(library)
    return library


@cache
def _library() -> ctypes.CDLL:
    if not _path().exists():
        raise Absent("FFTE is not compiled for this MPI (bench/run.py does it unless told --no-build)")
    library = ctypes.CDLL(str(_path()))
    library.HPCC_fftw_mpi_create_plan.restype = ctypes.c_void_p
    return library


def describe() -> dict[str, str]:
    number = _library().peer_version()
    return {"hpcc": f"{number // 10000}.{number // 100 % 100}.{number % 100}", "mpi": mpi_version()}


def _divides(points: int, ranks: int) -> bool:
    """Whether FFTE takes so many points on so many ranks."""
    if points % ranks**2:
        return False
    for prime in (2, 3, 5):
        while points % prime == 0:
            points //= prime
    return points == 1


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    if world.comm is None or case.kind != "c2c" or len(case.shape) != 1:
        raise Absent("this peer is for c2c of one axis on ranks")
    points = case.shape[0]
    if not _divides(points, world.size):
        raise Absent(f"FFTE does not take {points} points on {world.size} ranks")
    library, comm, count = _library(), handle(world.comm), points // world.size
    require_memory(case, 1.5)
    start = time.perf_counter()
    length = ctypes.c_longlong(points)
    plan = ctypes.c_void_p(library.HPCC_fftw_mpi_create_plan(comm, length, FORWARD, ESTIMATE))
    planned = time.perf_counter() - start
    if not plan:
        raise Absent("FFTE makes no plan")
    a, b = (world.pool.take(name, (count,), "complex128") for name in ("part_a", "part_b"))

    def transform(sign: int, source: Array, target: Array) -> None:
        ends = (ctypes.c_void_p(array.ctypes.data) for array in (source, target))
        library.peer_transform(plan, world.rank, world.size, sign, *ends)

    return Run(
        forward=lambda: transform(FORWARD, a, b),
        backward=lambda: transform(BACKWARD, b, a),
        input=a,
        input_start=(count * world.rank,),
        spectrum=lambda: b,
        spectrum_start=(count * world.rank,),
        result=lambda: a,
        engine="ffte",
        effort="FFTE's only one",
        planning_seconds=planned,
        notes=["backward multiplies by 1/N, destroys its input", "compiled from Debian's source package for this MPI"],
        versions=describe(),
        close=lambda: library.HPCC_fftw_mpi_destroy_plan(plan),
    )
