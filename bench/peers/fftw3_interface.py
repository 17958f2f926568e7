"""Local transforms through the FFTW3 interface by ctypes: FFTW itself, and MKL, which answers to the same names.

Not a peer: `fftw` and `mkl` are, each with its own library. Plans are made for the arrays they run on. Wisdom is
forgotten before planning, because spanfft and mpi4py-fft plan with the same FFTW in the same process, and whoever
came later would profit from whoever came first.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

from cases import Case

from peers import Run, World

FORWARD, BACKWARD = -1, 1
MEASURE, DESTROY_INPUT, ESTIMATE = 0, 1, 64
_PLAN = ctypes.c_void_p


class Library:
    """The calls that a transform needs, with their types."""

    def __init__(self, main: ctypes.CDLL, threads: ctypes.CDLL | None):
        self.main = main
        self._threads = threads or main
        for name in ("fftw_plan_dft", "fftw_plan_dft_r2c", "fftw_plan_dft_c2r"):
            getattr(main, name).restype = _PLAN
        main.fftw_execute.argtypes = [_PLAN]
        main.fftw_destroy_plan.argtypes = [_PLAN]
        self._threads.fftw_init_threads()

    def start_planning(self, threads: int, limit_seconds: float) -> None:
        self.main.fftw_forget_wisdom()
        if hasattr(self.main, "fftw_set_timelimit"):
            self.main.fftw_set_timelimit(ctypes.c_double(limit_seconds))
        self._threads.fftw_plan_with_nthreads(threads)

    def end_planning(self) -> None:
        """Others plan with this library too, and the limit is global."""
        if hasattr(self.main, "fftw_set_timelimit"):
            self.main.fftw_set_timelimit(ctypes.c_double(-1.0))
        self.main.fftw_forget_wisdom()


def prepare_local(library: Library, case: Case, world: World, flags: int) -> Run:
    threads = world.cores
    a = world.pool.take("whole_a", case.shape, case.real_dtype)
    b = world.pool.take("whole_b", case.spectrum_shape, "complex128")
    dims = (ctypes.c_int * len(case.shape))(*case.shape)
    real, spectrum = ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(b.ctypes.data)
    main, ndim = library.main, len(case.shape)
    library.start_planning(threads, case.plan_limit_seconds)
    took: list[float] = []

    def plan(function: Any, *arguments: Any) -> Any:
        start = time.perf_counter()
        made = function(ndim, dims, *arguments)
        took.append(time.perf_counter() - start)
        if not made:
            raise RuntimeError("the library makes no plan")
        return made

    if case.kind == "r2c":
        forward = plan(main.fftw_plan_dft_r2c, real, spectrum, flags)
        # Out of place, c2r of several axes has to destroy its input.
        backward = plan(main.fftw_plan_dft_c2r, spectrum, real, flags | DESTROY_INPUT)
    else:
        forward = plan(main.fftw_plan_dft, real, spectrum, FORWARD, flags)
        backward = plan(main.fftw_plan_dft, spectrum, real, BACKWARD, flags)
    library.end_planning()

    def close() -> None:
        main.fftw_destroy_plan(forward)
        main.fftw_destroy_plan(backward)

    points = 1
    for n in case.shape:
        points *= n
    zeros = (0,) * ndim
    return Run(
        forward=lambda: main.fftw_execute(forward),
        backward=lambda: main.fftw_execute(backward),
        input=a,
        input_start=zeros,
        spectrum=lambda: b,
        spectrum_start=zeros,
        result=lambda: a,
        pair_scale=float(points),
        threads=threads,
        planning_seconds=sum(took),
        starved=max(took) >= case.plan_limit_seconds,
        notes=["not normalised"],
        close=close,
    )
