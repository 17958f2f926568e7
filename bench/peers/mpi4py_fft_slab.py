"""mpi4py-fft in slabs, or in pencils where the case has a grid, on FFTW with FFTW_MEASURE, at its fastest: its own work
arrays, no copies in or out, axes that are whole transformed by one call (collapse), no normalisation. Its spectrum
stays divided along another axis."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from cases import Case

from peers import Absent, Run, World, require_memory
from peers.from_debian import mpi_version


def describe() -> dict[str, str]:
    from peers.fftw import describe as describe_fftw

    try:
        import mpi4py
        import mpi4py_fft
        from mpi4py import MPI  # noqa: F401  (here, where it may fail)
    except (ImportError, RuntimeError) as error:
        raise Absent(f"mpi4py-fft can't be imported ({error})") from None
    return {"mpi4py-fft": mpi4py_fft.__version__, "mpi4py": mpi4py.__version__, "mpi": mpi_version(), **describe_fftw()}


def preload() -> None:
    describe()


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    versions = describe()
    from mpi4py import MPI
    from mpi4py_fft import PFFT

    from peers.fftw import threaded_library

    if len(case.shape) < 2:
        raise Absent("mpi4py-fft has no distributed transform of one axis")
    require_memory(case, 2 if world.size == 1 else 4)  # an array before and after each of its stages
    threads = 1 if world.size > 1 else world.cores
    library = threaded_library()
    library.start_planning(threads, case.plan_limit_seconds)
    start = time.perf_counter()
    fft = PFFT(
        world.comm or MPI.COMM_SELF, case.shape, dtype=case.real_dtype, collapse=True, backend="fftw", threads=threads,
        planner_effort="FFTW_MEASURE",
    )  # fmt: skip
    took = time.perf_counter() - start
    library.end_planning()
    starts = [tuple(s.start for s in fft.local_slice(spectral)) for spectral in (False, True)]
    return Run(
        forward=lambda: fft.forward(normalize=False),
        backward=lambda: fft.backward(normalize=False),
        input=fft.forward.input_array,
        input_start=starts[0],
        spectrum=lambda: fft.forward.output_array,
        spectrum_start=starts[1],
        result=lambda: fft.backward.output_array,
        pair_scale=float(math.prod(case.shape)),
        engine="fftw",
        effort="FFTW_MEASURE",
        threads=threads,
        layout="natural" if world.size == 1 else "exchanged",
        planning_seconds=took,
        plan_limit_seconds=case.plan_limit_seconds,
        starved=took >= case.plan_limit_seconds,  # all its plans together, so this may say so too early
        notes=["not normalised", "destroys its input"],
        versions=versions,
        close=fft.destroy,
    )
