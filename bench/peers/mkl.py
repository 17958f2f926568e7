"""MKL with threads, in one process, through its FFTW3 interface. It plans in microseconds, so there is no effort."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cases import Case

from peers import Absent, Run, World
from peers.fftw3_interface import ESTIMATE, Library, prepare_local


@cache
def load_mkl() -> ctypes.CDLL:
    names = [f"libmkl_rt.so.{number}" for number in (3, 2, 1)]
    here = [str(Path(sys.prefix) / "lib" / name) for name in names]
    for name in filter(None, (os.environ.get("SPANFFT_MKL_LIBRARY"), *here, *names)):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise Absent("MKL's libmkl_rt is not found")


def describe() -> dict[str, str]:
    text = ctypes.create_string_buffer(200)
    load_mkl().MKL_Get_Version_String(text, 200)
    return {"mkl": text.value.decode().strip()}


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    main = load_mkl()
    run = prepare_local(Library(main, None), case, world, ESTIMATE)
    # The plan's count is an upper bound; the thread's own count is the other, and OMP_NUM_THREADS its default.
    transforms = run.forward, run.backward

    def with_threads(transform: Any) -> Any:
        def call() -> None:
            before = main.MKL_Set_Num_Threads_Local(world.cores)
            transform()
            main.MKL_Set_Num_Threads_Local(before)

        return call

    run.forward, run.backward = map(with_threads, transforms)
    run.engine, run.effort, run.versions = "mkl", "MKL's only one", describe()
    return run
