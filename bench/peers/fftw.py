"""FFTW with threads, in one process, planned with FFTW_MEASURE up to the case's limit a plan."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any

from cases import Case

from peers import Absent, Run, World
from peers.fftw3_interface import MEASURE, Library, prepare_local


def load_fftw() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libfftw3.so.3")
    except OSError as error:
        raise Absent(f"FFTW's library is not found ({error})") from None


@cache
def threaded_library() -> Library:
    main = load_fftw()
    for name in ("libfftw3_threads.so.3", "libfftw3_omp.so.3"):
        try:
            return Library(main, ctypes.CDLL(name))
        except OSError:
            continue
    raise Absent("FFTW's thread library is not found")


def preload() -> None:
    threaded_library()


def version(main: ctypes.CDLL) -> str:
    """Such as fftw-3.3.10-sse2-avx: what it was compiled for is in it."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(main, "fftw_version"))).decode()


def describe() -> dict[str, str]:
    return {"fftw": version(load_fftw())}


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    run = prepare_local(threaded_library(), case, world, MEASURE)
    run.engine, run.effort, run.plan_limit_seconds = "fftw", "FFTW_MEASURE", case.plan_limit_seconds
    run.versions = describe()
    return run
