"""The check of a disk: speed, direct I/O, and a transform through it."""

from __future__ import annotations

import math
import mmap
import os
import shutil
from collections.abc import Iterator

import numpy as np

from .._errors import Error, IOFailure
from .._memory import bytes_string
from .._native import core
from .._transform import transform
from .._tune import probe, read_machine
from .exact import Impulses, limit, square_norm
from .findings import Finding, Job

__all__ = ["check_disk"]


def check_disk(job: Job) -> Iterator[Finding]:
    """Speed, direct I/O, and a transform through the disk."""
    if job.disk is None:
        yield Finding("disk", "skipped", "name a folder: --disk DIR")
        return
    folder = os.path.join(job.disk, f"spanfft-doctor-{os.getpid()}-{job.rank}")
    try:
        os.makedirs(folder)
        found = os.statvfs(folder)
        trouble = ""
    except OSError as error:
        trouble = f"{job.disk}: {error.strerror}"
    try:
        if told := job.first(trouble):
            yield Finding(
                "disk",
                "bad",
                told,
                "name a folder that every node has and may be written",
                IOFailure,
            )
            return
        free = min(job.everywhere(found.f_bavail * found.f_frsize))
        if free < 1 << 30:
            yield Finding(
                "disk",
                "warning",
                f"{bytes_string(free)} are free in {job.disk}",
                "make room, or name another folder; nothing was measured",
            )
            return
        yield _direct(job, folder)
        yield _disk_speed(job)
        yield _through_disk(job, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _direct(job: Job, folder: str) -> Finding:
    path = os.path.join(folder, "direct")
    mine = "ok"
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
        try:
            with mmap.mmap(-1, 1 << 16) as block:
                os.pwrite(handle, block, 0)
        finally:
            os.close(handle)
    except OSError as error:
        mine = error.strerror or "fails"
    worst = next((text for text in job.everywhere(mine) if text != "ok"), "ok")
    if worst == "ok":
        return Finding("direct I/O", "ok", f"{job.disk} takes direct I/O; {core.disk_io()}")
    return Finding(
        "direct I/O",
        "warning",
        f"{job.disk} does not take direct I/O ({worst}): bytes go through the page cache",
        "use a folder on a local disk (ext4, xfs) for scratch files",
    )


def _disk_speed(job: Job) -> Finding:
    assert job.disk is not None
    numbers = read_machine(probe(comm=job.comm, quick=True, store=False, disk=job.disk))["numbers"]
    read, write = (numbers[f"disk_{way}_bytes_per_second"] for way in ("read", "write"))
    text = f"{read / 1e9:.2f} GB/s read, {write / 1e9:.2f} written"
    if min(read, write) < 50e6:
        return Finding(
            "disk speed",
            "warning",
            text,
            "use a local or a parallel file system; a transform through this disk takes minutes a GB",
        )
    return Finding("disk speed", "ok", text)


def _through_disk(job: Job, folder: str) -> Finding:
    """A line of 2^18 points in 1 MiB of memory, on each rank by itself."""
    exact = Impulses((1 << 18,))
    whole = (slice(None),)
    source, target = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
    trouble = ""
    try:
        np.save(source, exact.real_space(whole, "complex128"))
        transform(source, target, memory="1MiB", scratch=folder)
        asked = exact.spectrum(whole, exact.shape)
        error = math.sqrt(square_norm(np.load(target) - asked) / square_norm(asked))
        if not error <= limit("float64", 1 << 18):
            trouble = f"relative error {error:.1e}"
    except Error as error:
        trouble = str(error)
    if told := job.first(trouble):
        return Finding(
            "transform of a file",
            "bad",
            told,
            "try another folder; if it is wrong there too, report it",
            IOFailure,
        )
    return Finding("transform of a file", "ok", "4 MiB through 1 MiB of memory: an exact spectrum")
