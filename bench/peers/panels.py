"""What a competent user writes in an hour with scipy.fft: two sweeps over the data, in panels by two threads.

    python panels.py INPUT.npy OUTPUT.npy SCRATCH MEMORY_BYTES pread|memmap

Panels are moved by pread and pwrite, a call for each contiguous run, or through numpy.memmap. One axis (complex, a
power of two) goes four-step: n = n1 * n2, x[j1 n2 + j2]: columns j2 are transformed along j1 and multiplied by
exp(-2 pi i j2 k1 / n) into the scratch file; rows k1 are transformed along j2, and X[k1 + n1 k2] is written in natural
order. Several axes (complex or real): slabs of the first axis are transformed along all others into the output, whose
columns are then transformed in place. Panels take half of the memory: each of the two threads has one of a quarter,
reads, transforms and writes it, so that one computes while the other waits for the disk. The other half is scipy's
result, the strided copy and dirty pages. Twiddles come from a table of 64 rows a panel and one row for each 64.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

Array = npt.NDArray[Any]
THREADS, _TABLE = 2, 64


class Matrix:
    """rows x columns of a file, from byte `offset` on."""

    def __init__(self, path: str, offset: int, shape: tuple[int, int], dtype: np.dtype[Any], through: str):
        self.shape, self.dtype, self.offset = shape, dtype, offset
        self.file = os.open(path, os.O_RDWR)
        self.map = np.memmap(path, dtype, "r+", offset, shape) if through == "memmap" else None

    def _place(self, row: int, column: int) -> int:
        return self.offset + (row * self.shape[1] + column) * self.dtype.itemsize

    def read(self, rows: slice, columns: slice) -> Array:
        if self.map is not None:
            return np.array(self.map[rows, columns])
        panel = np.empty((rows.stop - rows.start, columns.stop - columns.start), self.dtype)
        for i, part in enumerate([panel] if panel.shape[1] == self.shape[1] else panel):
            _whole(os.preadv, self.file, part, self._place(rows.start + i, columns.start))
        return panel

    def write(self, rows: slice, columns: slice, panel: Array) -> None:
        if self.map is not None:
            self.map[rows, columns] = panel
            return
        panel = np.ascontiguousarray(panel, self.dtype)
        for i, part in enumerate([panel] if panel.shape[1] == self.shape[1] else panel):
            _whole(os.pwritev, self.file, part, self._place(rows.start + i, columns.start))

    def flush(self) -> None:
        if self.map is not None:
            self.map.flush()
        os.close(self.file)


def _whole(call: Any, file: int, part: Array, place: int) -> None:
    """One call moves at most 2 GiB."""
    data, done = memoryview(part).cast("B"), 0
    while done < len(data):
        done += call(file, [data[done:]], place + done)


def _pieces(count: int, at_once: int) -> list[slice]:
    at_once = max(1, min(count, at_once))
    return [slice(first, min(first + at_once, count)) for first in range(0, count, at_once)]


def _npy(path: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    x = np.load(path, mmap_mode="r")
    return x.shape, x.dtype, x.offset


def _made(path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """An empty .npy file; returns where its array starts."""
    return int(np.lib.format.open_memmap(path, "w+", dtype, shape).offset)


def _each(work: Any, pieces: list[slice]) -> None:
    """work(piece) for every piece, by two threads; the first error ends the program."""
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(work, pieces):
            pass


def _twiddle(panel: Array, columns: slice, n: int) -> None:
    """panel[k1, j2] *= exp(-2 pi i k1 j2 / n), as exp of (64 a) j2 times exp of b j2 with k1 = 64 a + b."""
    j2 = np.arange(columns.start, columns.stop)
    table = np.exp(-2j * np.pi / n * (np.arange(_TABLE)[:, None] * j2)).astype(panel.dtype)
    for first in range(0, panel.shape[0], _TABLE):
        part = panel[first : first + _TABLE]
        part *= table[: part.shape[0]]
        part *= np.exp(-2j * np.pi / n * (first * j2 % n)).astype(panel.dtype)


def four_step(source: Matrix, middle: Matrix, natural: Matrix, panel_bytes: int) -> None:
    n1, n2 = source.shape
    every1, every2 = slice(0, n1), slice(0, n2)

    def first(columns: slice) -> None:
        panel = fft.fft(source.read(every1, columns), axis=0, overwrite_x=True)
        _twiddle(panel, columns, n1 * n2)
        middle.write(every1, columns, panel)

    def second(rows: slice) -> None:
        panel = fft.fft(middle.read(rows, every2), axis=1, overwrite_x=True)
        natural.write(every2, rows, panel.T)

    _each(first, _pieces(n2, panel_bytes // (source.dtype.itemsize * n1)))
    _each(second, _pieces(n1, panel_bytes // (source.dtype.itemsize * n2)))


def by_axes(source: Matrix, target: Matrix, shape: tuple[int, ...], panel_bytes: int) -> None:
    """`source` and `target` have a row for each index of the first axis."""
    transform = fft.fftn if source.dtype.kind == "c" else fft.rfftn
    every_in, every_out = slice(0, source.shape[1]), slice(0, target.shape[1])
    axes = tuple(range(1, len(shape)))
    row_bytes = target.shape[1] * target.dtype.itemsize
    every = slice(0, shape[0])

    def slabs(rows: slice) -> None:
        slab = source.read(rows, every_in).reshape(-1, *shape[1:])
        target.write(rows, every_out, transform(slab, axes=axes).reshape(slab.shape[0], -1))

    def columns(columns: slice) -> None:
        panel = fft.fft(target.read(every, columns), axis=0, overwrite_x=True)
        target.write(every, columns, panel)

    _each(slabs, _pieces(shape[0], panel_bytes // row_bytes))
    _each(columns, _pieces(target.shape[1], panel_bytes // (shape[0] * target.dtype.itemsize)))


def main() -> None:
    source, target, scratch, memory_bytes, through = *sys.argv[1:4], int(sys.argv[4]), sys.argv[5]
    start = time.perf_counter()
    shape, dtype, offset = _npy(source)
    panel_bytes = memory_bytes // (2 * THREADS)
    complex_ = np.result_type(dtype, np.complex64)
    if len(shape) == 1:
        n = shape[0]
        n1 = 1 << (n.bit_length() // 2)
        n2 = n // n1
        if n1 * n2 != n or dtype.kind != "c":
            raise SystemExit("one axis: complex powers of two only")
        with open(scratch, "wb") as file:
            file.truncate(n * dtype.itemsize)
        x = Matrix(source, offset, (n1, n2), dtype, through)
        middle = Matrix(scratch, 0, (n1, n2), dtype, through)
        out = Matrix(target, _made(target, shape, dtype), (n2, n1), dtype, through)
        four_step(x, middle, out, panel_bytes)
    else:
        out_shape = shape if dtype.kind == "c" else (*shape[:-1], shape[-1] // 2 + 1)
        x = Matrix(source, offset, (shape[0], math.prod(shape[1:])), dtype, through)
        place = _made(target, out_shape, complex_)
        out = Matrix(target, place, (shape[0], math.prod(out_shape[1:])), complex_, through)
        by_axes(x, out, shape, panel_bytes)
    out.flush()
    json.dump({"seconds": time.perf_counter() - start}, sys.stdout)


if __name__ == "__main__":
    main()
