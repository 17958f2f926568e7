"""What the machine can do at most, measured in the same turns as the peers.

Memory: one copy of the array by libc's memcpy (which streams past the cache at these sizes), by all cores at once:
on one rank by threads, on ranks by each copying its part. No transform that reads and writes the array can be faster.
Disk: what fio does with direct I/O in blocks of one size, so many under way: it writes a fresh file, overwrites it,
reads it, and reads it while it writes another, fresh and again. Two sweeps need 2 reads and 2 writes of the data, of
which the first is to a fresh file.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

BLOCK_BYTES, DEPTH = 8 << 20, 16  # at a depth of 2, or with 2 MiB at 16, there was less bandwidth
THREADS = 16  # that read, and that write, where spanfft has no io_uring

_memcpy = ctypes.CDLL(None).memcpy  # a CDLL call lets other threads run
_memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_memcpy.restype = ctypes.c_void_p


def copy(source: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8], threads: int) -> None:
    """memcpy of min(lengths) bytes by so many threads, a contiguous part each."""
    count = min(source.nbytes, target.nbytes)
    edges = [count * i // threads // 64 * 64 for i in range(threads)] + [count]

    def part(i: int) -> None:
        _memcpy(target.ctypes.data + edges[i], source.ctypes.data + edges[i], edges[i + 1] - edges[i])

    _together([lambda i=i: part(i) for i in range(threads)])  # type: ignore[misc]


def _together(works: list[Callable[[], None]]) -> None:
    if len(works) == 1:
        return works[0]()
    errors: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@dataclass(frozen=True)
class DiskSpeeds:
    """Bytes a second, of a fresh file and of one that is overwritten.

    `both` is of one direction while the other goes on beside it."""

    read: float
    write: float
    rewrite: float
    both: float
    both_again: float

    def seconds(self, read_bytes: float, fresh_bytes: float, again_bytes: float) -> float:
        """The least in which so much is read, written to fresh files and overwritten.

        One way after the other, or both at once: which a disk does faster differs, a program is free to do either, and
        spanfft does both at once. Only the smaller of the two is a limit."""
        written = fresh_bytes + again_bytes
        reading, writing = read_bytes / self.read, fresh_bytes / self.write + again_bytes / self.rewrite
        if not read_bytes or not written:
            return reading + writing
        both = fresh_bytes / self.both + again_bytes / self.both_again  # for all that is written
        share = min(1.0, read_bytes / written), min(1.0, written / read_bytes)  # of either, that goes beside the other
        at_once = share[0] * both + (1 - share[0]) * writing + (1 - share[1]) * reading
        return min(reading + writing, at_once)

    def two_sweeps_seconds(self, count_bytes: int) -> float:
        return self.seconds(2 * count_bytes, count_bytes, count_bytes)


def require_fio() -> str:
    """Its path; ends the program where there is none."""
    path = shutil.which("fio")
    if path is None:
        raise SystemExit("the disk's own speed, which cases on disk are held to, needs fio: apt-get install fio")
    return path


# fio's jobs, (what, file), stage by stage. The second file is fresh in `both` and overwritten in `both-again`.
_STAGES = {
    "write": (("write", "limit-1.bin"),),
    "rewrite": (("write", "limit-1.bin"),),
    "read": (("read", "limit-1.bin"),),
    "both": (("read", "limit-1.bin"), ("write", "limit-2.bin")),
    "both-again": (("read", "limit-1.bin"), ("write", "limit-2.bin")),
}
# Engine and direct I/O, best first: kernels may refuse io_uring, and some tmpfs direct I/O.
_WAYS = (("io_uring", 1), ("libaio", 1), ("psync", 0))


def _fio_jobs() -> list[str]:
    """Stages begin when the one before has ended; a stage's jobs run at once."""
    options = []
    for stage, jobs in _STAGES.items():
        for i, (what, file) in enumerate(jobs):
            options += [f"--name={stage}", f"--filename={file}", f"--rw={what}"]
            options += [] if i else ["--stonewall"]
            options += ["--end_fsync=1"] if what == "write" else []
    return options


def parse_fio(output: str, count_bytes: int) -> DiskSpeeds:
    """From fio's JSON, before which it may have put notes. A stage lasts until the slower of its jobs ends."""
    found, _ = json.JSONDecoder().raw_decode(output, output.index("{"))
    seconds = dict.fromkeys(_STAGES, 1e-3)  # fio counts milliseconds
    for job in found["jobs"]:
        name, ways = job["jobname"], (job["read"], job["write"])
        if job["error"] or sum(way["io_bytes"] for way in ways) != count_bytes:
            raise OSError(f"fio's job {name} did not move {count_bytes} bytes: error {job['error']}")
        seconds[name] = max(seconds[name], *(way["runtime"] / 1e3 for way in ways))
    speed = {stage: count_bytes / t for stage, t in seconds.items()}
    return DiskSpeeds(*(speed[stage] for stage in ("read", "write", "rewrite", "both", "both-again")))


def disk_speeds(folder: Path, count_bytes: int, block_bytes: int = BLOCK_BYTES, depth: int = DEPTH) -> DiskSpeeds:
    """fio writes, reads, and does both at once with files of so many bytes in `folder`; leaves nothing there."""
    moved = max(1, count_bytes // block_bytes) * block_bytes
    sizes = [f"--size={moved}", f"--bs={block_bytes}", f"--iodepth={depth}"]
    command = [require_fio(), "--output-format=json", "--thread", *sizes]  # threads end with it, processes may not
    said = []
    try:
        for engine, direct in _WAYS:
            way = [f"--ioengine={engine}", f"--direct={direct}"]
            # In the folder, as fio takes a colon in a file's name for the end of it.
            done = subprocess.run([*command, *way, *_fio_jobs()], cwd=folder, capture_output=True, text=True)
            if not done.returncode:
                return parse_fio(done.stdout, moved)
            said.append(f"{engine}: {(done.stderr.strip().splitlines() or ['no message'])[0]}")
    finally:
        for file in {file for jobs in _STAGES.values() for _, file in jobs}:
            (folder / file).unlink(missing_ok=True)
    raise OSError(f"fio can't measure {folder}: {'; '.join(said)}")
