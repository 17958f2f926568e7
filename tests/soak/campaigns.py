"""The table of campaigns: what each does, how its cases are started, and how long one may take."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .on_ranks import MOST_RANKS, ranks_of


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
    from_minutes: float = 0  # only soaks that last so long have it without being asked


def worker(kind: str) -> Callable[[int, float, int], list[str]]:
    return lambda first, seconds, count: [sys.executable, "-m", "soak.worker", kind, str(first), str(seconds),
                                          str(count)]  # fmt: skip


def mpiexec() -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    return os.environ.get("SPANFFT_MPIEXEC") or (str(beside) if beside.exists() else shutil.which("mpiexec") or "")


def on_ranks(kind: str) -> Callable[[int, float, int], list[str]]:
    def command(first: int, seconds: float, count: int) -> list[str]:
        wire = os.environ.get("SPANFFT_SOAK_WIRE", "")  # the library of wire.cpp, which the build of tests makes
        preload = ["env", f"LD_PRELOAD={wire}"] if wire else []
        program = [*preload, sys.executable, "-m", "soak.on_ranks", kind]
        return [mpiexec(), "-n", str(ranks_of(first)), *program, str(first), str(seconds), str(count)]

    return command


def threads_program() -> str:
    """The C++ harness, which the build of tests makes."""
    return os.environ.get("SPANFFT_SOAK_THREADS", "")


def on_threads(first: int, seconds: float, count: int) -> list[str]:
    return [threads_program(), str(first), str(seconds), str(count)]


def faults_program() -> str:
    """The C++ tests of disks that fail, which the build of tests makes."""
    return os.environ.get("SPANFFT_SOAK_FAULTS", "")


CAMPAIGNS = {
    each.name: each
    for each in (
        Campaign("memory", "plans for arrays in memory, and numpy's names", 2, 60, worker("memory")),
        Campaign("ranks", "plans on 1 to 9 MPI ranks, messages held against PMPI, misuse by one rank", 3, 120,
                 on_ranks("ranks"), MOST_RANKS, mpiexec),
        Campaign("rank_files", "files transformed on 1 to 9 MPI ranks, trouble on one of them", 1, 120,
                 on_ranks("rank_files"), MOST_RANKS, mpiexec),
        Campaign("dropped", "plans that are dropped without free", 1, 240, on_ranks("dropped"), MOST_RANKS, mpiexec),
        Campaign("threads", "plans on ranks that are threads, held against __float128", 1, 120, on_threads, 1,
                 threads_program),
        Campaign("files", "transforms of files in little memory, some on a full disk", 2, 240, worker("files")),
        Campaign("kills", "transforms of files killed, stopped, damaged and gone on with", 3, 400, worker("kills")),
        Campaign("strings", "problem strings and machine files", 1, 90, worker("strings")),
        Campaign("headers", "damaged .npy headers and .inf files", 0.5, 60, worker("headers")),
        Campaign("damage", "damaged journals and tuning stores", 1, 240, worker("damage")),
        Campaign("killed_ranks", "a rank that is killed in each strategy", 1, 240, worker("killed_ranks"), 1, mpiexec),
        Campaign("killed_sweeps", "files beyond all memories on MPI ranks that are killed and go on", 2, 900,
                 worker("killed_sweeps"), 1, mpiexec),
        Campaign("sampled", "operations of long runs that fail, or before which the power goes", 1, 400,
                 worker("sampled"), 1, faults_program, from_minutes=2),
        Campaign("long_lines", "some 2^26 points over 1 to 9 ranks, impulses, tones, shift and sum, all bins", 2, 3600,
                 on_ranks("long_lines"), MOST_RANKS, mpiexec, from_minutes=30),
        Campaign("large", "2^24 against an oracle, up to 2^28 impulses and tones, all bins", 2, 3600, worker("large"),
                 from_minutes=30),
    )
}  # fmt: skip
