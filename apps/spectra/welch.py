"""Power spectral density along one axis of an array on disk, by P. D. Welch's method (IEEE Trans. AU-15, 1967).

The axis is cut into segments that may overlap; each loses its mean, is multiplied by a window and transformed, and the
squares are averaged. The other axes are cut into tiles of so many lines that a tile's sums and one block of segments
fit the budget; the array is read once but for overlaps. The blocks of a tile go to the ranks in turn, and their sums
are added at its end. Scales are those of scipy.signal.welch with scaling="density", and so are the windows.

Each rank keeps its sums beside the output now and then, and rank 0 the tiles that are done. A run that was stopped or
killed goes on from there, to the same bits, as the blocks and the order of additions stay.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import spanfft

from apps.ranks import agree
from apps.spectra.arrays import bytes_of, forget, identity, opened_by_all

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

Array = npt.NDArray[np.float64]
# Of a segment's element: read (8), without mean and windowed (8), its spectrum (8), squares (8), the sums (4), and as
# much again for the plan and what numpy makes in between.
_BYTES_AN_ELEMENT = 64
# Sums of cosines with alternating signs: F. J. Harris, Proc. IEEE 66, 1978; A. H. Nuttall, IEEE Trans. ASSP-29, 1981.
WINDOWS = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
}


def window_of(name: str, n: int) -> Array:
    """The periodic window, as scipy.signal.get_window gives it."""
    t = 2 * np.pi * np.arange(n) / n
    terms = [(-1) ** i * a * np.cos(i * t) for i, a in enumerate(WINDOWS[name])]
    result: Array = np.sum(terms, axis=0)
    return result


class Welch:
    """What is to be done, checked on all ranks. `run` does it. Collective if `comm` is given.

    Parameters
    ----------
    input
        A .npy file, "file.h5:/dataset" or a folder with a Zarr array, of real numbers. All ranks see it.
    output
        A .npy file: the input's shape, with segment // 2 + 1 frequencies in the place of `axis`.
    segment, overlap
        Elements of a segment, and how many it has in common with the next; by default half.
    window
        A name of `WINDOWS`.
    rate
        Samples in a unit of time; frequency k of the output is k * rate / segment.
    axis
        The axis along which the spectra are.
    detrend
        Whether each segment loses its mean.
    memory
        The budget of each process for arrays.
    journal_bytes
        How much a rank reads before it keeps its sums again.
    """

    def __init__(
        self,
        input: str | os.PathLike[str],
        output: str | os.PathLike[str],
        segment: int,
        overlap: int | None = None,
        window: str = "hann",
        rate: float = 1.0,
        axis: int = -1,
        detrend: bool = True,
        memory: str | int = "256MiB",
        comm: Comm | None = None,
        journal_bytes: int = 1 << 30,
    ) -> None:
        self.comm, self.output = comm, Path(output)
        self.segment, self.overlap = segment, segment // 2 if overlap is None else overlap
        self.window, self.rate, self.axis, self.detrend = window, rate, axis, detrend
        self.journal_bytes = journal_bytes
        self.array, wrong = opened_by_all(input)
        try:
            self.memory_bytes = bytes_of(memory)
        except spanfft.Error as error:
            wrong = str(error)
        agree(comm, wrong or self._wrong(os.fspath(input)))
        shape = self.array.shape
        self.axis %= len(shape)
        self.step = self.segment - self.overlap
        self.segments = (shape[self.axis] - self.segment) // self.step + 1
        self.frequencies = self.segment // 2 + 1
        self.output_shape = (*shape[: self.axis], self.frequencies, *shape[self.axis + 1 :])
        lines = self.memory_bytes // (_BYTES_AN_ELEMENT * self.segment)
        self.tiles = list(self._tiles(lines))
        widest = max(self._lines(tile) for tile in self.tiles)
        self.block = max(1, min(self.segments, lines // widest))
        settings = [
            identity(input), self.segment, self.overlap, window, rate, self.axis, detrend, self.block, len(self.tiles),
            1 if comm is None else comm.size,
        ]  # fmt: skip
        self._settings = json.dumps(settings)
        self._plans: dict[tuple[int, ...], spanfft.Plan] = {}
        self._result: Any = None  # on rank 0
        self._unkept_bytes = 0  # that were read since sums were kept

    def _wrong(self, name: str) -> str | None:
        shape, dtype = self.array.shape, np.dtype(self.array.dtype)
        if dtype.kind not in "fiub":
            return f"{name} holds {dtype}; a power spectrum here is of real numbers"
        if not -len(shape) <= self.axis < len(shape) or 0 in shape:
            return f"{name} has shape {shape}; there is no axis {self.axis} of it, or nothing in it"
        length = shape[self.axis]
        if self.segment < 2:
            return f"segments are of {self.segment} elements; they need at least 2"
        if self.segment > length:
            return f"segments are of {self.segment} elements, but axis {self.axis} of {name} has {length}"
        if not 0 <= self.overlap < self.segment:
            return f"the overlap is {self.overlap}; it can be 0 to {self.segment - 1}, less than a segment"
        if self.window not in WINDOWS:
            return f"there is no window {self.window!r}; name {', '.join(WINDOWS)}"
        if not (np.isfinite(self.rate) and self.rate > 0):
            return f"the rate is {self.rate}; it must be a positive number"
        if self.output.suffix != ".npy" or not self.output.parent.is_dir():
            return f"the output is {self.output}; it must be a .npy file in a folder that exists"
        need = _BYTES_AN_ELEMENT * self.segment
        if need > self.memory_bytes:
            return (
                f"a segment of {self.segment} elements needs {need} bytes, but memory is {self.memory_bytes}; give "
                f"more memory or shorter segments (spanfft transform --window --power does one of any length)"
            )
        return None

    # --- how the work is cut ------------------------------------------------------------------------------------------

    def _tiles(self, lines: int) -> Iterator[tuple[slice, ...]]:
        """Slices of all axes, whole along the spectra's: rows that follow one another, at most so many lines."""
        shape = list(self.array.shape)
        shape[self.axis] = 1
        chunks = getattr(self.array, "chunks", None) or (1,) * len(shape)
        sizes = []
        for axis in reversed(range(len(shape))):
            size = min(shape[axis], max(1, lines))
            if size < shape[axis] and size > chunks[axis]:
                size -= size % chunks[axis]  # so that no chunk is read by two tiles
            lines //= size
            sizes.append(size)
        starts = [range(0, n, size) for n, size in zip(shape, reversed(sizes), strict=True)]
        for corner in itertools.product(*starts):
            tile = [slice(a, min(a + size, n)) for a, size, n in zip(corner, reversed(sizes), shape, strict=True)]
            tile[self.axis] = slice(None)
            yield tuple(tile)

    def _lines(self, tile: tuple[slice, ...]) -> int:
        return int(np.prod([part.stop - part.start for part in tile if part.stop is not None], dtype=np.int64))

    def describe(self) -> str:
        """What will be done, before it is."""
        count = int(np.prod(self.array.shape, dtype=np.int64))
        return (
            f"{self.array.shape} {self.array.dtype}, {count * np.dtype(self.array.dtype).itemsize} bytes: one sweep, "
            f"{self.segments} segments of {self.segment} (overlap {self.overlap}) in {len(self.tiles)} tile(s), "
            f"{self.block} segment(s) a block, {self.memory_bytes} bytes of memory"
        )

    # --- doing it -----------------------------------------------------------------------------------------------------

    def run(self, progress: Callable[[int, int], object] | None = None) -> None:
        """Writes the output, or goes on with it.

        Parameters
        ----------
        progress
            Called after each block of this rank with the segments done, of the present tile, and all of them;
            returning False stops the run on all ranks, which raise `spanfft.Interrupted`.
        """
        rank = 0 if self.comm is None else self.comm.rank
        partial = self.output.with_name(f".{self.output.name}.partial.npy")
        self._journal = self.output.with_name(f".{self.output.name}.journal-{rank}.npz")
        tile, done, sums = self._kept(partial)
        first = tile if self.comm is None else self.comm.bcast(tile)
        if tile != first:
            done, sums = 0, None
        self._result = None
        if rank == 0 and first:
            self._result = np.lib.format.open_memmap(partial, "r+")
        elif rank == 0:
            self._result = np.lib.format.open_memmap(partial, "w+", np.float64, self.output_shape)
        for number in range(first, len(self.tiles)):
            whole = self._sum(number, done, sums, progress)
            done, sums = 0, None
            if self._result is not None and whole is not None:
                box = tuple(slice(None) if part.stop is None else part for part in self.tiles[number])
                self._result[box] = whole * self._scale(whole.ndim)
                if self._unkept_bytes >= self.journal_bytes:
                    self._keep(number + 1, 0, np.zeros(0))
        for plan in self._plans.values():
            plan.free()
        self._plans.clear()
        if self._result is not None:
            self._result.flush()
            self._result = None
            os.replace(partial, self.output)
        if self.comm is not None:
            self.comm.barrier()  # on every rank the output is there when this returns
        self._journal.unlink(missing_ok=True)

    def _sum(
        self, number: int, done: int, sums: Array | None, progress: Callable[[int, int], object] | None
    ) -> Array | None:
        """A tile's squares, on rank 0 those of all ranks. Some blocks of this rank may be done: `sums`."""
        tile, rank, ranks = self.tiles[number], 0, 1
        if self.comm is not None:
            rank, ranks = self.comm.rank, self.comm.size
        if sums is None:
            sums = np.zeros([self.frequencies if part.stop is None else part.stop - part.start for part in tile])
        starts = range(rank * self.block, self.segments, ranks * self.block)
        wrong, stopped = None, False
        while done < len(starts) and not stopped:
            start, count = starts[done], min(self.block, self.segments - starts[done])
            sums += self._squares(tile, start, count)
            done += 1
            if not np.isfinite(sums).all():
                last = (start + count - 1) * self.step + self.segment - 1
                wrong = (
                    f"the input is not finite, or its squares are too large, between elements {start * self.step} and "
                    f"{last} along axis {self.axis}"
                )
                break
            self._unkept_bytes += count * self.step * self._lines(tile) * np.dtype(self.array.dtype).itemsize
            stopped = progress is not None and progress(start + count, self.segments) is False
            if stopped or (self._unkept_bytes >= self.journal_bytes and done < len(starts)):
                self._keep(number, done, sums)
        agree(self.comm, wrong)
        if stopped if self.comm is None else any(self.comm.allgather(stopped)):
            self._keep(number, done, sums)
            raise spanfft.Interrupted(f"stopped in tile {number + 1} of {len(self.tiles)}; the same call goes on")
        whole: Array | None = sums if self.comm is None else self.comm.reduce(sums)
        return whole

    def _squares(self, tile: tuple[slice, ...], first: int, count: int) -> Array:
        """The sum of the squared spectra of some segments that follow one another."""
        span = list(tile)
        span[self.axis] = slice(first * self.step, (first + count - 1) * self.step + self.segment)
        x = np.ascontiguousarray(self.array[tuple(span)], np.float64)
        forget(self.array)
        shape = [self.segment if i == self.axis else n for i, n in enumerate(x.shape)]
        pieces = np.lib.stride_tricks.as_strided(
            x, (count, *shape), (self.step * x.strides[self.axis], *x.strides), writeable=False
        )
        along = [1] * (x.ndim + 1)
        along[self.axis + 1] = -1
        mean = pieces.mean(axis=self.axis + 1, keepdims=True) if self.detrend else 0.0
        key = (count, *shape)
        if key not in self._plans:
            self._plans[key] = spanfft.Plan(shape, "float64", axes=[self.axis], kind="r2c", batch=count)
        spectrum = self._plans[key].forward((pieces - mean) * window_of(self.window, self.segment).reshape(along))
        squares: Array = (spectrum.real**2 + spectrum.imag**2).sum(axis=0)
        return squares

    def _scale(self, ndim: int) -> Array:
        """From sums of squares to a one-sided density."""
        scale = np.full(self.frequencies, 2.0)
        scale[0] = 1
        if self.segment % 2 == 0:
            scale[-1] = 1
        scale /= self.segments * self.rate * (window_of(self.window, self.segment) ** 2).sum()
        along = [1] * ndim
        along[self.axis] = -1
        return scale.reshape(along)

    # --- the journal --------------------------------------------------------------------------------------------------

    def _kept(self, partial: Path) -> tuple[int, int, Array | None]:
        """The tile at work, this rank's blocks of it that are done, and their sums."""
        try:
            with np.load(self._journal) as kept:
                if str(kept["settings"]) == self._settings and partial.exists():
                    done, sums = int(kept["blocks"]), kept["sums"]
                    return int(kept["tile"]), done, sums if done else None
        except (OSError, ValueError, KeyError):
            pass
        return 0, 0, None

    def _keep(self, tile: int, blocks: int, sums: Array) -> None:
        """Replaces what was kept, whole or not at all; the tiles before are on the disk by then."""
        if self._result is not None:
            self._result.flush()
            forget(self._result)
        new = self._journal.with_suffix(".new")
        with open(new, "wb") as file:
            np.savez(file, settings=np.array(self._settings), tile=tile, blocks=blocks, sums=sums)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._journal)
        self._unkept_bytes = 0


def welch(input: str | os.PathLike[str], output: str | os.PathLike[str], segment: int, **options: Any) -> None:
    """`Welch(input, output, segment, **options).run()`."""
    Welch(input, output, segment, **options).run()
