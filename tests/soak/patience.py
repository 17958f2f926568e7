"""How long a case may take on a machine that others use too: a time limit that stands still while it waits for a core.

Linux counts for each thread the nanoseconds that it was ready to run and had no core (/proc/PID/task/TID/schedstat, the
second number). From one look to the next, the thread that waited longest among all threads of the case's processes says
by how much the limit moves. What is left for judging is time in which every thread of the case ran or slept, so a
deadlock uses it up, whether its threads sleep or spin; a process that only waits for its turn does not.

Source: Linux, Documentation/scheduler/sched-stats.rst.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

LOOK_SECONDS = 1.0  # between looks: many turns on a core, so that no spinning thread seems to wait all the time


def queued_ns(roots: tuple[int, ...]) -> dict[int, int]:
    """Nanoseconds that each thread of these processes and their descendants has waited for a core, those in sessions of
    their own too. What ends meanwhile is left out."""
    found, pids = {}, list(roots)
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    at = f"/proc/{pid}/task/{thread}"
                    found[int(thread)] = int(Path(at, "schedstat").read_text().split()[1])
                    pids += map(int, Path(at, "children").read_text().split())
    return found


class Limit:
    """`seconds` from now, and as much longer as the processes waited for a core."""

    def __init__(
        self,
        seconds: float,
        *roots: int,
        clock: Callable[[], float] = time.monotonic,
        queued: Callable[[tuple[int, ...]], Mapping[int, int]] = queued_ns,
    ) -> None:
        self.seconds, self._roots, self._clock, self._queued = seconds, roots, clock, queued
        self.waited_seconds = 0.0
        self._begun = self._looked = clock()
        self._before = queued(roots)

    def _look(self) -> None:
        now = self._queued(self._roots)
        # A thread that was not there at the last look has waited since then only.
        self.waited_seconds += max((max(0, ns - self._before.get(tid, 0)) for tid, ns in now.items()), default=0) / 1e9
        self._before, self._looked = now, self._clock()

    def left(self) -> float:
        """Seconds until the next look at most; 0 or less when the time is up."""
        time_up = self._begun + self.seconds + self.waited_seconds
        if self._clock() >= min(time_up, self._looked + LOOK_SECONDS):
            self._look()
            time_up = self._begun + self.seconds + self.waited_seconds
        return min(time_up - self._clock(), LOOK_SECONDS)

    def said(self) -> str:
        """How long it was, for a report."""
        waited = f" and {self.waited_seconds:.0f} s of waiting for a core" if self.waited_seconds >= 1 else ""
        return f"{self.seconds:.0f} s{waited}"


def output_of(process: subprocess.Popen, seconds: float) -> tuple[str | None, str | None] | None:
    """What it has written to its pipes when it ends; None where it has not ended in time."""
    limit = Limit(seconds, process.pid)
    while (left := limit.left()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=left)
    return None
