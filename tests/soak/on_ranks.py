"""Campaigns on MPI ranks: python -m soak.on_ranks KIND FIRST SECONDS COUNT under mpiexec -n N.

Seeds are FIRST, FIRST + 9, ... so that a seed says how many ranks it is for, 1 + SEED % 9. Every rank draws the same
case and runs it; the verdict is all ranks'. What worker.py does for one process.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable

MOST_RANKS = 9


def ranks_of(seed: int) -> int:
    return 1 + seed % MOST_RANKS


def all_say(comm, text: str) -> str:
    """The error that every rank has, or "" where none has one."""
    from .case import Failed

    errors = comm.allgather(text)
    if len(set(errors)) > 1:
        raise Failed("wrong", f"ranks say different things: {sorted(set(errors))}")
    return text


def agreed(comm, call: Callable[[], object]) -> tuple[object, str]:
    """What it returns, and the error that all ranks have alike ("" if none)."""
    import spanfft

    result, error = None, ""
    try:
        result = call()
    except spanfft.InternalError:
        raise
    except spanfft.Error as e:
        error = f"{type(e).__name__}: {e}"
    return result, all_say(comm, error)


def _three(function: str) -> tuple[int, int, int] | None:
    """What wire.cpp's function says; None where it is not loaded."""
    try:
        counts = getattr(ctypes.CDLL(None), function)
    except AttributeError:
        return None
    found = (ctypes.c_int64 * 3)()
    counts(found)
    return tuple(found)


def wire() -> tuple[int, int, int] | None:
    """Messages, their bytes and calls that this process has asked of MPI, as they were seen on their way there."""
    return _three("spanfft_soak_wire")


def of_mpi() -> dict[str, int]:
    """What of MPI's was made and not freed."""
    found = _three("spanfft_soak_held")
    return dict(zip(("communicators", "windows", "datatypes"), found, strict=True)) if found else {}


def begin(world) -> str:
    """Nothing that the user has tuned is seen or changed."""
    home = world.bcast(tempfile.mkdtemp(prefix="spanfft-soak-home-") if world.rank == 0 else None)
    os.environ["SPANFFT_HOME"] = home
    return home


def run_cases(kind: str, first: int, seconds: float, count: int, world) -> None:
    from .case import Case
    from .worker import judged, say

    run, end = importlib.import_module(f"soak.{kind}").run, time.monotonic() + seconds
    for seed in range(first, first + MOST_RANKS * count, MOST_RANKS):
        if world.bcast(time.monotonic() >= end):
            break
        if world.rank == 0:
            say(begin=seed)
        case = Case(kind, seed)
        failure = judged(case, lambda case: run(case, world))
        if failure:  # before the others are asked, who may wait inside the case for this rank
            print(f"rank {world.rank}: {case.text}: {failure}", file=sys.stderr, flush=True)
        failures = world.gather(failure)
        if world.rank == 0:
            found = next((f for f in failures if f), None)
            say(end=seed, counts=case.counts, text=case.text, failure=found)
        if any(world.allgather(failure is not None)):
            break  # ranks may be apart


def main() -> None:
    kind, first, seconds, count = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    os.environ.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    if world.size != ranks_of(first):
        raise SystemExit(f"seed {first} is for {ranks_of(first)} ranks, these are {world.size}: two MPIs?")
    if os.environ.get("SPANFFT_SOAK_WIRE") and wire() is None:
        raise SystemExit("the layer between spanfft and MPI is not loaded, and would compare nothing")
    home = begin(world)
    try:
        run_cases(kind, first, seconds, count, world)
    finally:
        if world.rank == 0:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
