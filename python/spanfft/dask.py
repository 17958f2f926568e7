"""Transforms of Dask arrays along axes of several chunks, in the memory that is asked for.

    import spanfft.dask
    spectrum = spanfft.dask.rfft(x, axis=0, memory="1GiB", scratch="/fast/disk")

Method: where every transformed axis is one chunk, chunks are transformed one by one, as dask.array.fft does it. Else
the call writes the array chunk by chunk into a Zarr array in the scratch folder, lets `spanfft.transform` make another
of it, which reads and writes each chunk once, and returns a Dask array that reads that. So it computes when it is
called, unlike Dask's own functions, which refuse such axes.
Invariant: what is in the scratch folder lives as long as some array needs it: the result, and whatever is made of it.
Source: https://github.com/dask/dask/issues/2620
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _fft
from ._arguments import whole
from ._errors import InvalidArgument, InvalidType, Unsupported
from ._memory import available_bytes, bytes_string, parse_bytes
from ._transform import transform

if TYPE_CHECKING:
    import dask.array

__all__ = ["fft", "fftn", "ifft", "ifftn", "irfft", "irfftn", "rfft", "rfftn"]

_KINDS: dict[str, tuple[str, Callable[..., Any]]] = {
    "fft": ("c2c", _fft.fftn),
    "ifft": ("c2c", _fft.ifftn),
    "rfft": ("r2c", _fft.rfftn),
    "irfft": ("c2r", _fft.irfftn),
}
_WHERE = """
    Parameters are those of `numpy.fft`, and:

    memory
        The budget of the transform, as in `spanfft.transform`; a chunk of the array on each thread that Dask computes
        with is in it too. Default: half of the free memory.
    scratch
        A folder on a disk (not in memory, as /tmp often is) with room for the array, the transform and as much again
        while it runs. It is asked for where a transformed axis has several chunks. The transform lies there as long as
        the result, or anything that is made of it, is in use.

    Returns a Dask array with the chunks of `a`, where they are alike: chunks of unlike lengths become those of the
    longest. Raises what `spanfft.transform` raises.
"""


def _dask() -> Any:
    try:
        import dask.array
    except ImportError:
        raise Unsupported("spanfft.dask needs Dask's arrays, which are not here: pip install 'dask[array]'") from None
    return dask.array


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise Unsupported(
            "an axis of several chunks goes through zarr, which is not here: pip install 'zarr>=3'"
        ) from None
    return zarr


class _Kept:
    """A Zarr array in a folder that goes when this object does. Other processes get the array without that duty."""

    def __init__(self, folder: str, name: str) -> None:
        self._path = os.path.join(folder, name)
        self._array = _zarr().open_array(self._path, mode="r")
        self.shape, self.dtype, self.ndim, self.chunks = (
            self._array.shape, self._array.dtype, self._array.ndim, self._array.chunks)  # fmt: skip
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def __getitem__(self, index: Any) -> Any:
        return self._array[index]

    def __reduce__(self) -> Any:
        return _again, (self._path,)


def _again(path: str) -> Any:
    return _zarr().open_array(path, mode="r")


def _fitted(a: dask.array.Array, axis: int, length: int) -> dask.array.Array:
    """Cut, or filled with zeros, as `n` and `s` of numpy.fft do it."""
    da = _dask()
    if length <= a.shape[axis]:
        return a[(slice(None),) * axis + (slice(0, length),)]
    shape = (*a.shape[:axis], length - a.shape[axis], *a.shape[axis + 1 :])
    chunks = (*a.chunks[:axis], max(a.chunks[axis]), *a.chunks[axis + 1 :])
    return da.concatenate([a, da.zeros(shape, a.dtype, chunks=chunks)], axis)


def _stored(a: dask.array.Array, path: str, memory_bytes: int) -> None:
    """Computes the array chunk by chunk into a Zarr array, on as many threads as have room for what they hold: a chunk,
    what it is made of, and its bytes on the way to the disk."""
    da = _dask()
    chunks = tuple(max(lengths) for lengths in a.chunks)
    target = _zarr().create_array(store=path, shape=a.shape, chunks=chunks, dtype=a.dtype, compressors=None)
    chunk_bytes = int(np.prod(chunks)) * a.dtype.itemsize
    workers = min(max(memory_bytes // (4 * chunk_bytes), 1), os.cpu_count() or 1)
    da.store(a.rechunk(chunks), target, lock=False, scheduler="threads", num_workers=workers)


def _by_disk(
    a: dask.array.Array,
    kind: str,
    backward: bool,
    axes: tuple[int, ...],
    real_length: int | None,
    norm: str | None,
    memory: str | int | None,
    scratch: str | os.PathLike[str] | None,
    power: bool,
) -> dask.array.Array:
    da = _dask()
    if scratch is None:
        needed = bytes_string(3 * a.nbytes)
        several = next(axis for axis in axes if len(a.chunks[axis]) > 1)
        raise InvalidArgument(f"axis {several} has {len(a.chunks[several])} chunks, so its transform goes through a "
                              f"disk; name a folder with scratch= that has room for about {needed}")  # fmt: skip
    _zarr()
    budget = available_bytes() // 2 if memory is None else parse_bytes(memory)
    folder = tempfile.mkdtemp(prefix="spanfft-dask-", dir=scratch)
    try:
        source, target = os.path.join(folder, "array.zarr"), os.path.join(folder, "transform.zarr")
        _stored(a, source, budget)
        transform(source, target, kind=kind, backward=backward, axes=axes, norm=norm or "backward", memory=budget,
                  scratch=folder, real_length=real_length, power=power, journal=False)  # fmt: skip
        shutil.rmtree(source)
        kept = _Kept(folder, "transform.zarr")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return da.from_array(kept, chunks=kept.chunks, name=f"spanfft-{uuid.uuid4().hex}", lock=False)


def _by_chunks(
    a: dask.array.Array,
    function: Callable[..., Any],
    axes: tuple[int, ...],
    s: tuple[int, ...],
    found: tuple[int, ...],
    norm: str | None,
    power: bool,
) -> dask.array.Array:
    """Each chunk is transformed by itself, when it is asked for."""
    chunks = list(a.chunks)
    for axis, length in zip(axes, found, strict=True):
        chunks[axis] = (length,)
    called = partial(_one_chunk, function=function, s=s, axes=axes, norm=norm, power=power)
    sample = called(np.ones((1,) * a.ndim, a.dtype))
    return a.map_blocks(called, dtype=sample.dtype, chunks=tuple(chunks), meta=sample[(slice(0, 0),) * a.ndim])


def _one_chunk(
    x: Any, function: Callable[..., Any], s: tuple[int, ...], axes: tuple[int, ...], norm: str | None, power: bool
) -> Any:
    y = function(x, s, axes, norm)
    return y.real**2 + y.imag**2 if power else y


def _axes_of(a: dask.array.Array, s: Sequence[int | None] | None, axes: Sequence[int] | None) -> tuple[int, ...]:
    """Counted from 0; by default the last ones that `s` has lengths for, or all."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim)
    given = tuple(axes)
    if not given or any(not -a.ndim <= axis < a.ndim for axis in given):
        raise InvalidArgument(f"axes are {given}; the array's are {-a.ndim} to {a.ndim - 1}")
    found = tuple(axis % a.ndim for axis in given)
    if len(set(found)) < len(found):
        raise InvalidArgument(f"axes are {given}; name each once")
    return found


def _lengths_of(
    a: dask.array.Array, s: Sequence[int | None] | None, axes: tuple[int, ...], halved: bool
) -> tuple[int, ...]:
    """Of the axes in real space; `halved`: the array has half of the last one."""
    given = [None] * len(axes) if s is None else list(s)
    if len(given) != len(axes):
        raise InvalidArgument(f"there are {len(given)} lengths in s for {len(axes)} axes; give one an axis")
    usual = [int(a.shape[axis]) for axis in axes]
    if halved:
        usual[-1] = 2 * (usual[-1] - 1)
    found = [have if wanted is None else whole(wanted, "a length") for wanted, have in zip(given, usual, strict=True)]
    for axis, length in zip(axes, found, strict=True):
        if length < 1:
            raise InvalidArgument(f"the length of axis {axis} is {length}; it must be at least 1")
    return tuple(found)


def transform_chunked(
    a: Any,
    name: str,
    s: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    norm: str | None,
    memory: str | int | None,
    scratch: str | os.PathLike[str] | None,
    power: bool = False,
) -> dask.array.Array:
    """What all functions here are: `name` of _KINDS along `axes`, to lengths `s`; `power` gives abs(x)**2."""
    da = _dask()
    if not isinstance(a, da.Array):
        raise InvalidType(f"this is a {type(a).__name__}; give a Dask array, or use spanfft.{name} for NumPy's")
    kind, function = _KINDS[name]
    if any(np.isnan(length) for length in a.shape):
        raise InvalidArgument("the array has chunks of unknown length; compute_chunk_sizes() finds them out")
    axes = _axes_of(a, s, axes)
    lengths = _lengths_of(a, s, axes, halved=kind == "c2r")
    if kind == "r2c" and a.dtype.kind == "c":
        raise InvalidType(f"{name} takes real numbers; the array is {a.dtype}; use fft")
    last = lengths[-1]
    half = (*lengths[:-1], last // 2 + 1)
    if all(len(a.chunks[axis]) == 1 for axis in axes):
        return _by_chunks(a, function, axes, lengths, half if kind == "r2c" else lengths, norm, power)
    if kind != "r2c" and a.dtype.kind != "c":
        a = a.astype(np.complex64 if a.dtype in (np.float16, np.float32) else np.complex128)
    for axis, length in zip(axes, half if kind == "c2r" else lengths, strict=True):
        a = _fitted(a, axis, length)
    real_length = last if kind == "c2r" else None
    return _by_disk(a, kind, name == "ifft", axes, real_length, norm, memory, scratch, power)


def _make(name: str, several: bool) -> Callable[..., Any]:
    """One of the functions, with the arguments of numpy.fft's and `memory` and `scratch`."""

    def one(
        a: dask.array.Array,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        *,
        memory: str | int | None = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> dask.array.Array:
        return transform_chunked(a, name, (n,), (axis,), norm, memory, scratch)

    def many(
        a: dask.array.Array,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str | None = None,
        *,
        memory: str | int | None = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> dask.array.Array:
        return transform_chunked(a, name, s, axes, norm, memory, scratch)

    function = many if several else one
    function.__name__ = function.__qualname__ = f"{name}n" if several else name
    function.__doc__ = f"numpy.fft's `{function.__name__}` of a Dask array, in bounded memory.\n{_WHERE}"
    return function


fft, ifft, rfft, irfft = (_make(name, False) for name in ("fft", "ifft", "rfft", "irfft"))
fftn, ifftn, rfftn, irfftn = (_make(name, True) for name in ("fft", "ifft", "rfft", "irfft"))
