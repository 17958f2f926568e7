"""MKL's cluster FFT by ctypes: one axis, c2c, out of place, in natural order, one thread a rank.

PyPI's mkl has the library (libmkl_cdft_core) and what binds it to MPICH (BLACS), and no header: the functions' names
are those that it exports, the numbers those of MKL's documented enumerations. It stands on libmkl_rt, which the
other peers use too, as MKL's layers must not be loaded twice.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cases import Case

from peers import Absent, Array, Run, World
from peers.mkl import describe, load_mkl

DOUBLE, COMPLEX, PLACEMENT, NOT_INPLACE = 36, 32, 11, 44
LOCAL_SIZE, X_START, X_COUNT, OUT_START, OUT_COUNT = 1000, 1001, 1002, 1005, 1006


@cache
def _library() -> ctypes.CDLL:
    from mpi4py import MPI

    if "MPICH" not in MPI.Get_library_version():
        raise Absent("MKL's cluster FFT is bound to MPICH here")
    load_mkl().MKL_Get_Max_Threads()  # its layers are loaded by the first call
    mode = os.RTLD_LAZY | ctypes.RTLD_GLOBAL
    folder = Path(sys.prefix) / "lib"
    try:
        # For its symbols; it is loaded already.
        ctypes.CDLL(str(folder / "libmpi.so.12"), mode)
        ctypes.CDLL(str(folder / "libmkl_rt.so.3"), mode)
        ctypes.CDLL(str(folder / "libmkl_blacs_intelmpi_lp64.so.2"), mode)
        return ctypes.CDLL(str(folder / "libmkl_cdft_core.so.2"), mode)
    except OSError as error:
        raise Absent(f"MKL's cluster FFT is not found ({error})") from None


class _Descriptor:
    def __init__(self, points: int, comm: Any) -> None:
        from mpi4py import MPI

        self.library, self.handle = _library(), ctypes.c_void_p()
        communicator = ctypes.c_int(MPI._handleof(comm))
        self._check(self.library.mkl_cdft_DftiCreateDescriptorDM(
            communicator, ctypes.byref(self.handle), DOUBLE, COMPLEX, ctypes.c_long(1), ctypes.c_long(points)
        ))  # fmt: skip
        self._check(self.library.DftiSetValueDM(self.handle, PLACEMENT, ctypes.c_long(NOT_INPLACE)))
        self._check(self.library.mkl_cdft_DftiCommitDescriptorDM(self.handle))

    def value(self, name: int) -> int:
        found = ctypes.c_long()
        self._check(self.library.mkl_cdft_DftiGetValueDM(self.handle, name, ctypes.byref(found)))
        return found.value

    def run(self, name: str, source: Array, target: Array) -> None:
        ends = (ctypes.c_void_p(a.ctypes.data) for a in (source, target))
        self._check(getattr(self.library, name)(self.handle, *ends))

    def free(self) -> None:
        self.library.mkl_cdft_DftiFreeDescriptorDM(ctypes.byref(self.handle))

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise Absent(f"MKL's cluster FFT fails with code {code}")


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    if case.kind != "c2c" or len(case.shape) != 1:
        raise Absent("this peer is for c2c of one axis")
    main = load_mkl()
    start = time.perf_counter()
    plan = _Descriptor(case.shape[0], world.comm)
    planned = time.perf_counter() - start
    size, first, count, out_first, out_count = map(plan.value, (LOCAL_SIZE, X_START, X_COUNT, OUT_START, OUT_COUNT))
    a, b = (world.pool.take(name, (size,), "complex128") for name in ("part_a", "part_b"))

    def call(name: str, source: Array, target: Array) -> None:
        before = main.MKL_Set_Num_Threads_Local(1)
        plan.run(name, source, target)
        main.MKL_Set_Num_Threads_Local(before)

    return Run(
        forward=lambda: call("DftiComputeForwardDM", a, b),
        backward=lambda: call("DftiComputeBackwardDM", b, a),
        input=a[:count],
        input_start=(first,),
        spectrum=lambda: b[:out_count],
        spectrum_start=(out_first,),
        result=lambda: a[:count],
        pair_scale=float(case.shape[0]),
        engine="mkl",
        effort="MKL's only one",
        planning_seconds=planned,
        notes=["not normalised"],
        versions=describe(),
        close=plan.free,
    )
