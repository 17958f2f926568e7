"""Convolution of an array on disk with a kernel on disk, by transforms of the whole; memory may hold neither.

    1. the kernel's spectrum, of the shape of the array             a forward transform from file to file
    2. the array's spectrum, times the kernel's as it is written    another, with a function on its output
    3. back                                                         a backward one

Where memory holds the array in parts only, each transform is two sweeps of the disk: the array takes four, and the
products none of their own, as a function of the run multiplies each block before it is written. Convolution over
periodic sides is that. With zeros outside, the array is first copied into the corner of a longer one of zeros, whose
products do not wrap around (a sparse file: zeros take no disk), and the result is copied out.

Every transform has a journal, and every finished stage leaves a file, so that the same call goes on after a kill.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import spanfft

from apps.ranks import agree
from apps.spectra.arrays import bytes_of, forget, identity, opened_by_all

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

BOUNDARIES = ("zero", "periodic")


class Convolution:
    """What is to be done, checked on all ranks; `describe` says what it will cost, `run` does it. Collective if `comm`
    is given.

    Parameters
    ----------
    input, kernel
        .npy files, "file.h5:/dataset" or folders with Zarr arrays, of real numbers and of as many axes. All ranks see
        them.
    output
        A .npy file of float64.
    boundary
        "zero": nothing is outside of the array, and the result has n + m - 1 elements along an axis (scipy.signal's
        "full"). "periodic": the array goes on after its end with its beginning, and the result has its shape.
    memory
        The budget of each process.
    """

    def __init__(
        self,
        input: str | os.PathLike[str],
        kernel: str | os.PathLike[str],
        output: str | os.PathLike[str],
        boundary: str = "zero",
        memory: str | int = "256MiB",
        comm: Comm | None = None,
    ) -> None:
        self.comm, self.input, self.kernel = comm, input, kernel
        self.output, self.boundary = Path(output), boundary
        self.array, wrong = opened_by_all(input)
        self.kernel_array, also = opened_by_all(kernel)
        try:
            self.memory_bytes = bytes_of(memory)
        except spanfft.Error as error:
            also = str(error)
        agree(comm, wrong or also or self._wrong())
        self.shape = self.array.shape
        if boundary == "zero":
            self.output_shape = tuple(n + m - 1 for n, m in zip(self.shape, self.kernel_array.shape, strict=True))
            self.padded_shape = tuple(spanfft.next_fast_len(n, real=True) for n in self.output_shape)
        else:
            self.output_shape = self.padded_shape = self.shape
        self.folder = self.output.with_name(f".{self.output.name}.convolution")
        self._name = f"multiply {abs(hash_of(identity(input), identity(kernel), boundary)):x}"

    def _wrong(self) -> str | None:
        for name, array in ((self.input, self.array), (self.kernel, self.kernel_array)):
            if np.dtype(array.dtype).kind not in "fiub":
                return f"{os.fspath(name)} holds {array.dtype}; a convolution here is of real numbers"
            if 0 in array.shape:
                return f"{os.fspath(name)} has shape {array.shape}: there is nothing in it"
        a, b = self.array.shape, self.kernel_array.shape
        if len(a) != len(b):
            return f"the array has shape {a} and the kernel {b}; they must have as many axes"
        if self.boundary not in BOUNDARIES:
            return f"the boundary is {self.boundary!r}; it can be {' or '.join(BOUNDARIES)}"
        if self.boundary == "periodic" and any(m > n for n, m in zip(a, b, strict=True)):
            return f"the kernel has shape {b}, larger than the array's {a}; with periodic sides it must fit in it"
        if self.output.suffix != ".npy" or not self.output.parent.is_dir():
            return f"the output is {self.output}; it must be a .npy file in a folder that exists"
        return None

    # --- before ---------------------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        return {"memory": self.memory_bytes, "comm": self.comm}

    def _forward(self, source: Any, target: Path, multiply: Callable[..., None] | None, dry: bool) -> Any:
        more: dict[str, Any] = {} if multiply is None else {"on_output": multiply, "callback_name": self._name}
        return spanfft.transform(source, target, kind="r2c", precision="double", dry_run=dry, **more, **self._options())

    def _backward(self, source: Path, target: Path, dry: bool) -> Any:
        length = self.padded_shape[-1]
        return spanfft.transform(source, target, kind="c2r", real_length=length, dry_run=dry, **self._options())

    def describe(self) -> list[str]:
        """What each stage will cost, as the plans predict it, before anything but an empty folder is made."""
        self._make_folder()
        real, half = self.folder / "shape-real.npy", self.folder / "shape-half.npy"
        spectrum_shape = (*self.padded_shape[:-1], self.padded_shape[-1] // 2 + 1)
        if self._first():
            holes(real, self.padded_shape, np.float64)  # files of holes, which take no disk: plans look at headers
            holes(half, spectrum_shape, np.complex128)
        self._wait()
        nothing: Callable[..., None] = lambda block, index: None  # noqa: E731
        stages = [
            ("the kernel's spectrum", self._forward(real, self.folder / "a.npy", None, True)),
            ("the array's spectrum, times the kernel's", self._forward(real, self.folder / "a.npy", nothing, True)),
            ("back", self._backward(half, self.folder / "a.npy", True)),
        ]
        self._wait()
        if self._first():
            real.unlink()
            half.unlink()
        lines = [
            f"{name}: {plan.report['sweeps']} sweep(s), {plan.report['solver']}, "
            f"{plan.report['peak_memory_bytes']} bytes of memory"
            for name, plan in stages
        ]
        if self.boundary == "zero":
            lines.insert(0, f"a copy into {self.padded_shape} with zeros around, and one of the result out of it")
        sweeps = sum(plan.report["sweeps"] for _, plan in stages[1:])
        lines.append(f"{sweeps} sweeps of the array between its input and its result")
        return lines

    # --- doing it ---------------------------------------------------------------------------------------------------

    def run(self, tell: Callable[[str], None] = lambda text: None) -> None:
        """Writes the output, or goes on with it. `tell` gets a line after each stage."""
        self._make_folder()
        padded, spectrum = self.folder / "array.npy", self.folder / "kernel-spectrum.npy"
        product, result = self.folder / "product.npy", self.folder / "result.npy"

        def kernel_spectrum() -> None:
            small = self.folder / "kernel.npy"
            agree(self.comm, self._pad(self.kernel, self.kernel_array, small) if self._first() else None)
            self._forward(small, spectrum, None, False)
            self._wait()
            if self._first():
                small.unlink()

        def pad() -> None:
            if self.boundary == "zero":
                agree(self.comm, self._pad(self.input, self.array, padded) if self._first() else None)

        def multiplied() -> None:
            factors = np.load(spectrum, mmap_mode="r").reshape(-1)

            def multiply(block: npt.NDArray[Any], index: int) -> None:
                with np.errstate(invalid="ignore", over="ignore"):  # said below, in words
                    block *= factors[index : index + len(block)]
                forget(factors)
                if not np.isfinite(block).all():
                    raise ValueError(f"{os.fspath(self.input)} holds numbers that are not finite, or too large")

            try:
                self._forward(padded if self.boundary == "zero" else self.input, product, multiply, False)
            except spanfft.CallbackFailed as error:
                raise spanfft.InvalidArgument(str(error.__cause__)) from error

        def copy_out() -> None:
            if self._first():
                self._cut(result)
            self._wait()

        stages = [
            ("kernel-spectrum", kernel_spectrum, []),
            ("array", pad, []),
            ("product", multiplied, [padded, spectrum]),
            ("result", lambda: self._backward(product, result, False), [product]),
            ("output", copy_out, [result]),
        ]
        for name, work, used in stages:
            mark = self.folder / f"{name}.done"
            if not self._same(mark.exists()):
                work()
                self._wait()
                if self._first():
                    mark.write_text(self._name)
                    for path in used:
                        path.unlink(missing_ok=True)
                self._wait()
            tell(f"{name} is done")
        if self._first():
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
        self._wait()

    def _first(self) -> bool:
        return self.comm is None or bool(self.comm.rank == 0)

    def _wait(self) -> None:
        if self.comm is not None:
            self.comm.barrier()

    def _same(self, found: bool) -> bool:
        """What rank 0 found."""
        return found if self.comm is None else bool(self.comm.bcast(found))

    def _make_folder(self) -> None:
        """Throws away what a run from other files has left."""
        if self._first():
            name = self.folder / "of"
            if self.folder.exists() and not (name.exists() and name.read_text() == self._name):
                for path in self.folder.iterdir():
                    path.unlink()
            self.folder.mkdir(exist_ok=True)
            name.write_text(self._name)
        self._wait()

    def _pad(self, name: str | os.PathLike[str], array: Any, target: Path) -> str | None:
        """Writes the array into the corner of zeros, as float64; or says what is wrong with it."""
        whole = holes(target, self.padded_shape, np.float64)
        for part in pieces(array.shape, max(1, self.memory_bytes // 16)):
            block = np.asarray(array[part], np.float64)
            if not np.isfinite(block).all():
                return f"{os.fspath(name)} holds numbers that are not finite"
            whole[part] = block
            forget(array)
            forget(whole)
        whole.flush()
        return None

    def _cut(self, result: Path) -> None:
        """The result without what is beyond its end."""
        whole = np.load(result, mmap_mode="r")
        partial = self.folder / "output.npy"
        cut = holes(partial, self.output_shape, np.float64)
        for part in pieces(self.output_shape, max(1, self.memory_bytes // 16)):
            cut[part] = whole[part]
            forget(whole)
            forget(cut)
        cut.flush()
        os.replace(partial, self.output)


def holes(path: Path, shape: Sequence[int], dtype: npt.DTypeLike) -> Any:
    """A new .npy file of zeros, which takes disk only where something is written."""
    return np.lib.format.open_memmap(path, "w+", dtype, tuple(shape))


def pieces(shape: Sequence[int], elems: int) -> Iterator[tuple[slice, ...]]:
    """Boxes that tile an array, of rows that follow one another, each of about so many elements."""
    sizes = []
    for n in reversed(shape):
        sizes.append(min(n, max(1, elems)))
        elems //= sizes[-1]
    starts = [range(0, n, size) for n, size in zip(shape, reversed(sizes), strict=True)]
    for corner in itertools.product(*starts):
        yield tuple(slice(a, min(a + size, n)) for a, size, n in zip(corner, reversed(sizes), shape, strict=True))


def hash_of(*texts: str) -> int:
    """The same in every process."""
    import zlib

    return zlib.crc32("\0".join(texts).encode())
