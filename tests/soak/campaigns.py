"""The table of campaigns: what each does, how its cases are started, and how long one may take."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .ranks import MOST_RANKS, ranks_of


@dataclass(frozen=True)
class Campaign:
    """`command(first, seconds, count)` runs cases from seed `first` on, `stride` apart; it says what worker.py says."""

    name: str
    what: str
    weight: float  # of the time
    limit_seconds: float  # for one case; beyond it hangs
    command: Callable[[int, float, int], list[str]]
    stride: int = 1
    needs: Callable[[], str] = lambda: "Python"  # the program that starts it; "" where there is none


def worker(kind: str) -> Callable[[int, float, int], list[str]]:
    return lambda first, seconds, count: [sys.executable, "-m", "soak.worker", kind, str(first), str(seconds),
                                          str(count)]  # fmt: skip


def mpiexec() -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    return os.environ.get("SPANFFT_MPIEXEC") or (str(beside) if beside.exists() else shutil.which("mpiexec") or "")


def on_ranks(first: int, seconds: float, count: int) -> list[str]:
    ranks = ["-n", str(ranks_of(first)), sys.executable, "-m", "soak.ranks"]
    return [mpiexec(), *ranks, str(first), str(seconds), str(count)]


def threads_program() -> str:
    """The C++ harness, which the build of tests makes."""
    return os.environ.get("SPANFFT_SOAK_THREADS", "")


def on_threads(first: int, seconds: float, count: int) -> list[str]:
    return [threads_program(), str(first), str(seconds), str(count)]


CAMPAIGNS = {
    each.name: each
    for each in (
        Campaign("memory", "plans for arrays in memory, and numpy's names", 2, 60, worker("memory")),
        Campaign("ranks", "plans on 1 to 9 MPI ranks, misuse by one of them, dropped plans", 3, 120, on_ranks,
                 MOST_RANKS, mpiexec),
        Campaign("threads", "plans on ranks that are threads, held against __float128", 1, 120, on_threads, 1,
                 threads_program),
        Campaign("files", "transforms of files in little memory, some on a full disk", 2, 240, worker("files")),
        Campaign("kills", "transforms of files killed, stopped, damaged and gone on with", 3, 400, worker("kills")),
        Campaign("strings", "problem strings and machine files", 1, 90, worker("strings")),
        Campaign("headers", "damaged .npy headers and .inf files", 0.5, 60, worker("headers")),
        Campaign("damage", "damaged journals and tuning stores", 1, 240, worker("damage")),
        Campaign("killed_ranks", "a rank that is killed in each strategy", 1, 240, worker("killed_ranks"), 1, mpiexec),
    )
}  # fmt: skip
