"""What the machine can do at most, measured in the same turns as the peers.

Memory: one copy of the array by libc's memcpy (which streams past the cache at these sizes), by all cores at once:
on one rank by threads, on ranks by each copying its part. No transform that reads and writes the array can be faster.
Disk: what fio does with direct I/O in blocks of 8 MiB, 16 under way, in registered memory and files: it reads a file,
writes another, new or there before, and reads the one while it writes a third. The bytes of a run, at these speeds, one
way after the other or both at once, whichever takes less, are the least time that this disk allows for it.
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
    """Bytes a second: read, written, and each way while the other goes on beside it."""

    read: float
    write: float
    both: float
    engine: str = "io_uring"  # of fio: with io_uring its memory and files are registered

    def seconds(self, read_bytes: float, written_bytes: float) -> float:
        """The least in which so much is read and written.

        One way after the other, or both at once: which a disk does faster differs, a program is free to do either, and
        spanfft does both at once. Only the smaller of the two is a limit."""
        reading, writing = read_bytes / self.read, written_bytes / self.write
        if not read_bytes or not written_bytes:
            return reading + writing
        beside = min(read_bytes, written_bytes)
        alone = (read_bytes - beside) / self.read + (written_bytes - beside) / self.write
        return min(reading + writing, beside / self.both + alone)


def require_fio() -> str:
    """Its path; ends the program where there is none."""
    path = shutil.which("fio")
    if path is None:
        raise SystemExit("the disk's own speed, which cases on disk are held to, needs fio: apt-get install fio")
    return path


_SOURCE, _ALONE, _BESIDE = "limit-source.bin", "limit-alone.bin", "limit-beside.bin"
# Best first: kernels may refuse io_uring, and some tmpfs direct I/O. Without registered memory and files fio moved two
# thirds as much as with them.
_WAYS = {
    "io_uring": ["--direct=1", "--fixedbufs=1", "--registerfiles=1"],
    "libaio": ["--direct=1"],
    "psync": ["--direct=0"],
}


def _job(stage: str, what: str, file: str, count_bytes: int) -> list[str]:
    options = [f"--name={stage}", f"--filename={file}", f"--rw={what}", f"--bs={BLOCK_BYTES}", f"--size={count_bytes}"]
    return options + (["--end_fsync=1"] if what == "write" else [])


def _stages(count_bytes: int) -> list[str]:
    """fio's jobs: read, write, then both at once. Stages begin when the one before has ended."""
    options = _job("read", "read", _SOURCE, count_bytes)
    options += [*_job("write", "write", _ALONE, count_bytes), "--stonewall"]
    options += [*_job("both", "read", _SOURCE, count_bytes), "--stonewall"]
    return options + _job("both", "write", _BESIDE, count_bytes)


def parse_fio(output: str) -> dict[str, float]:
    """Bytes a second of each stage, from fio's JSON, before which it may have put notes.

    A stage lasts until the slower of its jobs ends, and counts what one of them moved."""
    found, _ = json.JSONDecoder().raw_decode(output, output.index("{"))
    seconds: dict[str, float] = {}
    moved: dict[str, int] = {}
    for job in found["jobs"]:
        name, ways = job["jobname"], (job["read"], job["write"])
        wanted, done = int(job["job options"]["size"]), sum(way["io_bytes"] for way in ways)
        if job["error"] or done != wanted:
            raise OSError(f"fio's job {name} moved {done} bytes, not {wanted}: error {job['error']}")
        seconds[name] = max(seconds.get(name, 1e-3), *(way["runtime"] / 1e3 for way in ways))  # it counts milliseconds
        moved[name] = min(moved.get(name, done), done)
    return {name: moved[name] / seconds[name] for name in seconds}


def _fio(folder: Path, jobs: list[str]) -> tuple[dict[str, float], str]:
    """Bytes a second of each stage, and the engine that did it."""
    # Threads end with it, processes may not.
    command = [require_fio(), "--output-format=json", "--thread", f"--iodepth={DEPTH}"]
    said = []
    for engine, options in _WAYS.items():
        # In the folder, as fio takes a colon in a file's name for the end of it.
        whole = [*command, f"--ioengine={engine}", *options, *jobs]
        done = subprocess.run(whole, cwd=folder, capture_output=True, text=True)
        if not done.returncode:
            return parse_fio(done.stdout), engine
        said.append(f"{engine}: {(done.stderr.strip().splitlines() or ['no message'])[0]}")
    raise OSError(f"fio can't measure {folder}: {'; '.join(said)}")


def disk_speeds(folder: Path, count_bytes: int) -> tuple[DiskSpeeds, DiskSpeeds]:
    """Of writing new files, and of writing files that are there, each of so many bytes in `folder`.

    Leaves nothing there."""
    files = [folder / name for name in (_SOURCE, _ALONE, _BESIDE)]
    whole_bytes = max(1, -(-count_bytes // BLOCK_BYTES)) * BLOCK_BYTES
    speeds = []
    try:
        _fio(folder, _job("prepare", "write", _SOURCE, whole_bytes))
        for _ in ("new", "there before"):
            found, engine = _fio(folder, _stages(whole_bytes))
            speeds.append(DiskSpeeds(found["read"], found["write"], found["both"], engine))
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    return speeds[0], speeds[1]
