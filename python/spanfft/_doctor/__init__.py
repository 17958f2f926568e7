"""Whether spanfft and what it stands on work here: what `spanfft doctor` does.

Each check is run by all ranks and yields findings; the worst of any rank is the one that is told. A finding that is bad
says whose fault it is (an error class of the package, whose code becomes the exit code) and what to do. Numbers are
held against exact ones: a few impulses, whose spectrum is known at every frequency from roots of unity in long double,
so that neither a wrong number nor a right one in a wrong place passes.
Invariant: checks of MPI alone call nothing of spanfft, so that a fault of MPI is told from one of spanfft.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .._errors import MPIError
from .datatypes import check_datatypes
from .disk import check_disk
from .engines import check_engines
from .findings import STATES, Finding, Job
from .machine import check_memory, check_mpi, check_nodes, check_versions
from .transforms import check_boundaries, check_refusals, check_transforms

__all__ = ["STATES", "Finding", "Job", "examine"]

_Check = Callable[[Job], Iterator[Finding]]

_CHECKS: tuple[_Check, ...] = (
    check_versions,
    check_mpi,
    check_nodes,
    check_memory,
    check_engines,
    check_datatypes,
    check_refusals,
    check_boundaries,
    check_transforms,
    check_disk,
)


@contextmanager
def _limited(name: str, seconds: float, job: Job, told: Callable[[Finding], None]) -> Iterator[None]:
    """Ends all ranks if a check does not end: what hangs can't be interrupted otherwise."""

    rank = job.rank

    def end() -> None:
        told(
            Finding(
                name,
                "bad",
                f"rank {rank} did not end this check within {seconds:g} s",
                "a network that drops messages, a firewall between nodes, or a rank that has died; see MPI's own "
                "variables for its network",
                MPIError,
            )
        )
        sys.stdout.flush()
        os._exit(MPIError.code + 1)

    timer = threading.Timer(seconds + (2 if rank else 0), end)  # rank 0 first, which prints
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def examine(job: Job, seconds: float = 120, told: Callable[[Finding], None] = lambda finding: None) -> list[Finding]:
    """Runs every check. Collective over the job's ranks.

    Parameters
    ----------
    job
        What is examined.
    seconds
        How long one check may take; then the process ends with MPI's exit code.
    told
        Called with each finding as soon as it is there, on every rank.

    Returns
    -------
    list of Finding
        The same on all ranks.
    """
    found: list[Finding] = []
    for check in _CHECKS:
        name = check.__name__.removeprefix("check_")
        with _limited(name, seconds, job, told):
            try:
                for finding in check(job):
                    found.append(finding)
                    told(finding)
            except Exception as error:  # on this rank alone, maybe: the others end when their time is up
                found.append(Finding(name, "bad", f"rank {job.rank}: {type(error).__name__}: {error}", "report it"))
                told(found[-1])
    return found
