"""What the machine can do at most, measured in the same turns as the peers.

Memory: one copy of the array by libc's memcpy (which streams past the cache at these sizes), by all cores at once:
on one rank by threads, on ranks by each copying its part. No transform that reads and writes the array can be faster.
Disk: a fresh file written, then read, with O_DIRECT in blocks of one size, so many at a time, and written while another
is read. Two sweeps need 2 reads and 2 writes of the data; the first writing of a file's blocks is in the write figure.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

BLOCK_BYTES, DEPTH = 8 << 20, 2
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
    """Bytes a second. `both` is of one direction while the other goes on beside it."""

    read: float
    write: float
    both: float

    def two_sweeps_seconds(self, count_bytes: int) -> float:
        return 2 * count_bytes / self.read + 2 * count_bytes / self.write


class _DirectFile:
    """Blocks of a file past the page cache; page-aligned memory, as O_DIRECT wants it."""

    def __init__(self, path: Path, count_bytes: int, block_bytes: int, writes: bool):
        self.path, self.block_bytes, self.writes = path, block_bytes, writes
        self.blocks = max(1, count_bytes // block_bytes)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if writes else os.O_RDONLY
        try:
            self.file = os.open(path, flags | os.O_DIRECT, 0o600)
            self.is_direct = True
        except OSError:  # a file system without it, such as some tmpfs
            self.file = os.open(path, flags, 0o600)
            self.is_direct = False

    def works(self, depth: int) -> list[Callable[[], None]]:
        """One for each of `depth` threads: block i goes to thread i modulo depth."""

        def work(first: int) -> None:
            memory = mmap.mmap(-1, self.block_bytes)
            if self.writes:
                memory.write((os.urandom(1 << 12) * (-(-self.block_bytes >> 12)))[: self.block_bytes])
            for block in range(first, self.blocks, depth):
                call = os.pwritev if self.writes else os.preadv
                if call(self.file, [memory], block * self.block_bytes) != self.block_bytes:
                    raise OSError(f"{self.path}: short transfer at block {block}")

        return [lambda i=i: work(i) for i in range(depth)]  # type: ignore[misc]

    def close(self) -> None:
        if self.writes:
            os.fdatasync(self.file)
        os.close(self.file)


def _timed(depth: int, *files: _DirectFile) -> float:
    start = time.perf_counter()
    _together([work for file in files for work in file.works(depth)])
    for file in files:
        file.close()
    return time.perf_counter() - start


def disk_speeds(folder: Path, count_bytes: int, block_bytes: int = BLOCK_BYTES, depth: int = DEPTH) -> DiskSpeeds:
    """Writes, reads, and does both at once with files of so many bytes in `folder`; leaves nothing there."""
    one, other = folder / "limit-1.bin", folder / "limit-2.bin"
    moved = max(1, count_bytes // block_bytes) * block_bytes
    try:
        written = _timed(depth, _DirectFile(one, moved, block_bytes, True))
        read = _timed(depth, _DirectFile(one, moved, block_bytes, False))
        both = _timed(depth, _DirectFile(one, moved, block_bytes, False), _DirectFile(other, moved, block_bytes, True))
    finally:
        one.unlink(missing_ok=True)
        other.unlink(missing_ok=True)
    return DiskSpeeds(moved / read, moved / written, moved / both)
