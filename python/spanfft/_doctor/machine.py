"""Checks of what is installed, and of the nodes, their processors and memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import numpy as np

from .._errors import MPIError
from .._native import core
from .findings import Finding, Job, sentence

__all__ = ["check_memory", "check_mpi", "check_nodes", "check_versions"]


def check_versions(job: Job) -> Iterator[Finding]:
    mine = f"spanfft {core.version()}, Python {sys.version.split()[0]}, NumPy {np.__version__}"
    if differs := job.difference(mine):
        remedy = "use one environment on all nodes, such as a folder that all of them see"
        yield Finding("versions", "bad", differs, remedy, MPIError)
    else:
        yield Finding("versions", "ok", mine + ("" if job.size == 1 else f", on all {job.size} ranks"))


def check_mpi(job: Job) -> Iterator[Finding]:
    if job.comm is None:
        yield Finding("MPI", "skipped", "one process, without MPI; start it as mpiexec -n 2 spanfft doctor")
        return
    from mpi4py import MPI

    from .._mpi import library

    theirs = MPI.Get_library_version().strip("\0 \n").splitlines()[0]
    if differs := job.difference(theirs):
        yield Finding("MPI", "bad", differs, "load one MPI on all nodes", MPIError)
        return
    if failed := job.first(sentence(library)):
        yield Finding("MPI", "bad", failed, "build spanfft with the MPI that mpi4py runs on", MPIError)
        return
    names = {
        MPI.THREAD_SINGLE: "single",
        MPI.THREAD_FUNNELED: "funneled",
        MPI.THREAD_SERIALIZED: "serialized",
        MPI.THREAD_MULTIPLE: "multiple",
    }
    level = MPI.Query_thread()
    text = f"{theirs}, {job.size} ranks, threads {names[level]}"
    if level < MPI.THREAD_SERIALIZED:
        yield Finding(
            "MPI",
            "warning",
            f"{text}: exchanges can't be moved on by a thread of their own",
            'set mpi4py.rc.thread_level = "multiple", or MPI\'s own variable for it',
        )
    else:
        yield Finding("MPI", "ok", text)


def check_nodes(job: Job) -> Iterator[Finding]:
    """Ranks per node and their pinning."""
    mine = (os.uname().nodename, sorted(os.sched_getaffinity(0)))
    nodes: dict[str, list[list[int]]] = {}
    for name, processors in job.everywhere(mine):
        nodes.setdefault(name, []).append(processors)
    counts = sorted({len(ranks) for ranks in nodes.values()})
    yield Finding("nodes", "ok", f"{len(nodes)} node(s) with {' or '.join(map(str, counts))} rank(s) each")
    for name, ranks in nodes.items():
        processors = {processor for rank in ranks for processor in rank}
        if len(processors) < len(ranks):
            yield Finding(
                "pinning",
                "warning",
                f"{name} has {len(ranks)} ranks on {len(processors)} processor(s)",
                "start fewer ranks on a node, or give the job more processors: ranks that wait take turns "
                "with those that work",
            )
            return
        pinned = len(ranks) > 1 and all(len(rank) < len(processors) for rank in ranks)
        if pinned and sum(map(len, ranks)) > len(processors):
            yield Finding(
                "pinning",
                "warning",
                f"ranks of {name} share processors that they are bound to",
                "bind each rank to its own: mpiexec --bind-to core, srun --cpu-bind=cores",
            )
            return
    sizes = sorted({len(rank) for ranks in nodes.values() for rank in ranks})
    yield Finding("pinning", "ok", f"each rank may use {' or '.join(map(str, sizes))} processor(s)")


def check_memory(job: Job) -> Iterator[Finding]:
    from .._memory import available_bytes, bytes_string, total_bytes

    free, total = min(job.everywhere((available_bytes(), total_bytes())))
    text = f"{bytes_string(free)} of {bytes_string(total)} are free on the fullest node"
    if free < 1 << 30:
        yield Finding(
            "memory", "warning", text, "end other programs, or raise the job's limit (ulimit -v, the control group)"
        )
    else:
        yield Finding("memory", "ok", text)
    windows = job.everywhere(core.windows())
    try:
        found = os.statvfs("/dev/shm")
        shared = found.f_bavail * found.f_frsize
    except OSError:
        shared = 0
    least = min(job.everywhere(shared))
    text = f"spanfft's windows: {windows[0]}; /dev/shm, which MPI uses, has {bytes_string(least)} free"
    if least < 64 << 20:
        yield Finding(
            "shared memory",
            "warning",
            text,
            "make /dev/shm larger: mount -o remount,size=50% /dev/shm, or "
            "docker run --shm-size=2g; a full one ends MPI with a bus error",
        )
    else:
        yield Finding("shared memory", "ok", text)
    yield _huge_pages(job)


def _huge_pages(job: Job) -> Finding:
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
            mine = file.read()
    except OSError:
        mine = "[absent]"
    modes = {text[text.find("[") + 1 : text.find("]")] for text in job.everywhere(mine)}
    bad = sorted(modes - {"always", "madvise"})
    if bad:
        return Finding(
            "huge pages",
            "warning",
            f"transparent huge pages are {bad[0]}",
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; large arrays are read "
            "and written faster then",
        )
    return Finding("huge pages", "ok", f"transparent huge pages: {', '.join(sorted(modes))}")
