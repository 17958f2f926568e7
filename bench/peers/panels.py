"""What a careful user writes today with scipy.fft: two passes over the data, in panels of a quarter of the memory.

    python panels.py INPUT.npy OUTPUT.npy SCRATCH MEMORY_BYTES pread|memmap

Panels are moved by pread and pwrite, a call for each contiguous run, or through numpy.memmap. One axis (complex, a
power of two) goes four-step: n = n1 * n2, x[j1 n2 + j2]: columns j2 are transformed along j1 and multiplied by
exp(-2 pi i j2 k1 / n) into the scratch file; rows k1 are transformed along j2, and X[k1 + n1 k2] is written in natural
order. Several axes (complex or real): slabs of the first axis are transformed along all others into the output, whose
columns are then transformed in place. The rest of the memory is scipy's result, the strided copy and dirty pages.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

Array = npt.NDArray[Any]


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


def four_step(source: Matrix, middle: Matrix, natural: Matrix, panel_bytes: int) -> None:
    n1, n2 = source.shape
    n, every1, every2 = n1 * n2, slice(0, n1), slice(0, n2)
    k1 = np.arange(n1)[:, None]
    for columns in _pieces(n2, panel_bytes // (source.dtype.itemsize * n1)):
        panel = fft.fft(source.read(every1, columns), axis=0, overwrite_x=True, workers=-1)
        for rows in _pieces(n1, 1024):  # the twiddles in pieces
            panel[rows] *= np.exp(-2j * np.pi / n * (k1[rows] * np.arange(columns.start, columns.stop)[None, :]))
        middle.write(every1, columns, panel)
    for rows in _pieces(n1, panel_bytes // (source.dtype.itemsize * n2)):
        panel = fft.fft(middle.read(rows, every2), axis=1, overwrite_x=True, workers=-1)
        natural.write(every2, rows, panel.T)


def by_axes(source: Matrix, target: Matrix, shape: tuple[int, ...], panel_bytes: int) -> None:
    """`source` and `target` have a row for each index of the first axis."""
    transform = fft.fftn if source.dtype.kind == "c" else fft.rfftn
    every_in, every_out = slice(0, source.shape[1]), slice(0, target.shape[1])
    axes = tuple(range(1, len(shape)))
    row_bytes = target.shape[1] * target.dtype.itemsize
    for rows in _pieces(shape[0], panel_bytes // row_bytes):
        slab = source.read(rows, every_in).reshape(-1, *shape[1:])
        target.write(rows, every_out, transform(slab, axes=axes, workers=-1).reshape(slab.shape[0], -1))
    every = slice(0, shape[0])
    for columns in _pieces(target.shape[1], panel_bytes // (shape[0] * target.dtype.itemsize)):
        panel = fft.fft(target.read(every, columns), axis=0, overwrite_x=True, workers=-1)
        target.write(every, columns, panel)


def main() -> None:
    source, target, scratch, memory_bytes, through = *sys.argv[1:4], int(sys.argv[4]), sys.argv[5]
    start = time.perf_counter()
    shape, dtype, offset = _npy(source)
    panel_bytes = memory_bytes // 4
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
