"""Zarr arrays in folders, through zarr-python 3: NAME.zarr, or any folder that holds an array.

Chunks (shards, where an array has them) are read and written one at a time and whole. What is written is Zarr v3,
without compression unless it is asked for: spectra hardly get smaller by it. It lies in a folder of a hidden name until
it is whole.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _whole_files
from .._errors import CorruptData, InvalidArgument, IOFailure, Unsupported
from .._files import Element
from . import base
from .base import Options, Source, Target

__all__ = ["is_mine", "open_source", "open_target"]

_MARKS = ("zarr.json", ".zarray", ".zgroup")
_COMPRESSIONS = {"blosc": range(10), "gzip": range(10), "zstd": range(-131072, 23)}
"""Codecs of Zarr v3, with their levels."""
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def is_mine(name: str) -> bool:
    """NAME.zarr, or a folder with Zarr's metadata."""
    return name.rstrip("/").endswith(".zarr") or any(os.path.exists(os.path.join(name, mark)) for mark in _MARKS)


def _zarr(name: str) -> Any:
    try:
        import zarr
    except ImportError:
        found = "is not installed"
    else:
        if int(zarr.__version__.split(".")[0]) >= 3:
            return zarr
        found = f"is {zarr.__version__} here"
    raise Unsupported(f"{name} needs zarr 3 (and Python 3.11 or newer), which {found}: pip install 'zarr>=3'")


def _chunks_in(
    first: tuple[int, ...], extent: tuple[int, ...], chunk: tuple[int, ...]
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """The chunks of a box that begins at one: where each lies in the array, and where in the box."""
    starts = [range(f, f + n, c) for f, n, c in zip(first, extent, chunk, strict=True)]
    for start in itertools.product(*starts):
        there = tuple(slice(s, min(s + c, f + n)) for s, c, f, n in zip(start, chunk, first, extent, strict=True))
        yield there, tuple(slice(t.start - f, t.stop - f) for t, f in zip(there, first, strict=True))


class _Reader:
    """Reads boxes, chunk by chunk; opens the array when it is first needed."""

    def __init__(self, path: str, descr: str, chunk: tuple[int, ...]) -> None:
        self.path, self.descr, self.chunk = path, descr, chunk
        self._array: Any = None

    def __call__(self, first: tuple[int, ...], extent: tuple[int, ...], memory: memoryview) -> None:
        import numpy as np

        with base.told(self.path, "read"):
            if self._array is None:
                self._array = _zarr(self.path).open_array(self.path, mode="r")
            box = np.frombuffer(memory, self.descr).reshape(extent)
            for there, here in _chunks_in(first, extent, self.chunk):
                box[here] = self._array[there]


def open_source(name: str, options: Options) -> Source:
    """An array, read through zarr."""
    if options.dtype is not None or options.shape is not None or options.offset is not None:
        raise InvalidArgument(
            f"{name} is a Zarr array, which says itself what it holds; leave out --dtype, --shape and --offset"
        )
    if not os.path.isdir(name):
        what = "is no folder" if os.path.exists(name) else "is not there"
        raise IOFailure(f"{name} can't be read: it {what}; a Zarr array is a folder")
    zarr = _zarr(name)
    if not is_mine(name) or not any(os.path.exists(os.path.join(name, mark)) for mark in _MARKS):
        raise CorruptData(f"{name} has no {_MARKS[0]}; it is no Zarr array, or a damaged one")
    with base.told(name, "read"):
        found = zarr.open(name, mode="r")
    if not isinstance(found, zarr.Array):
        inside = ", ".join(sorted(found.keys())[:10])
        raise InvalidArgument(f"{name} is a group; name an array in it, such as {os.path.join(name, 'NAME')}: {inside}")
    if not found.shape or min(found.shape) < 1:
        raise InvalidArgument(f"{name} has shape {found.shape}, which holds nothing to transform")
    element = base.native_element(name, found.dtype)
    shape = tuple(int(n) for n in found.shape)
    unit = found.shards or found.chunks
    chunk = tuple(min(int(c), n) for c, n in zip(unit, shape, strict=True))
    reader = _Reader(name, element.computed(options.precision).descr, chunk)
    return Source(name, name, element, shape, chunk=chunk, read=reader,
                  identity=lambda: _identity(name))  # fmt: skip


def _identity(name: str) -> str:
    with base.told(name, "read"):
        return f"zarr {base.identity_of_folder(name)}"


class _ZarrTarget(Target):
    """An array in a hidden folder, locked while it is written, then given its name."""

    def __init__(
        self, name: str, element: Element, shape: Sequence[int], chunk: tuple[int, ...],
        compression: tuple[str, int | None] | None, like: str,
    ) -> None:  # fmt: skip
        super().__init__(name, _whole_files.behind_links(name))
        self._like = like
        self.chunk = chunk
        self._compression = compression
        self.write = self._write
        self.identity = f"zarr, compression {compression}"
        self._element, self._shape = element, tuple(shape)
        self._hidden = ""
        self._lock = -1
        self._array: Any = None

    def open(self) -> None:
        zarr = _zarr(self.name)
        with base.told(self.name, "written"):
            _whole_files.remove_stale(base.existing_folder(self.path))
            hidden = _whole_files.hidden_name(self.path)
            os.mkdir(hidden, 0o700)
            self._hidden = hidden
            self._lock = _whole_files.lock(hidden)
            self._array = zarr.create_array(
                store=hidden, shape=self._shape, dtype=self._element.descr, chunks=self.chunk,
                compressors=_codec(zarr, self._compression),
                fill_value=0, config={"write_empty_chunks": True},
            )  # fmt: skip

    def place(self) -> str:
        return self._hidden

    def join(self, place: str) -> None:
        with base.told(self.name, "written"):
            self._array = _zarr(self.name).open_array(place, mode="r+", config={"write_empty_chunks": True})

    def _write(self, first: tuple[int, ...], extent: tuple[int, ...], memory: memoryview) -> None:
        import numpy as np

        with base.told(self.name, "written"):
            box = np.frombuffer(memory, self._element.descr).reshape(extent)
            for there, here in _chunks_in(first, extent, self.chunk):
                self._array[there] = box[here]

    def publish(self) -> None:
        with base.told(self.name, "written"):
            _whole_files.give_mode(self._hidden, self.path, self._like)
            _whole_files.flush(self._hidden)
            _exchange(self._hidden, self.path)
            _whole_files.flush_folder(base.existing_folder(self.path))
        self.discard()  # what had the name before, if anything

    def discard(self) -> None:
        self._array = None
        if self._hidden:
            import shutil  # with its codecs, only where there is something to remove

            shutil.rmtree(self._hidden, ignore_errors=True)
            self._hidden = ""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _codec(zarr: Any, compression: tuple[str, int | None] | None) -> Any:
    if compression is None:
        return None
    name, level = compression
    codecs = {"blosc": zarr.codecs.BloscCodec, "gzip": zarr.codecs.GzipCodec, "zstd": zarr.codecs.ZstdCodec}
    if level is None:
        return codecs[name]()
    return codecs[name](**{"clevel" if name == "blosc" else "level": level})


def _exchange(new: str, path: str) -> None:
    """Gives `new` the name `path`; what had it before gets the name `new`."""
    if not os.path.lexists(path):
        os.rename(new, path)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    source, target = os.fsencode(new), os.fsencode(path)
    if libc.renameat2(_AT_FDCWD, source, _AT_FDCWD, target, _RENAME_EXCHANGE) != 0:
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(code, os.strerror(code), path)
        _exchange_by_steps(new, path)


def _exchange_by_steps(new: str, path: str) -> None:
    """For file systems that can't exchange names (NFS): a kill in between leaves both arrays, under hidden names."""
    aside = new.removesuffix(_whole_files.PARTIAL_SUFFIX) + ".spanfft-replaced"  # no name that is cleaned up
    os.rename(path, aside)
    try:
        os.rename(new, path)
    except BaseException:
        if not os.path.lexists(path):
            os.rename(aside, path)
        raise
    os.rename(aside, new)


def open_target(name: str, element: Element, shape: Sequence[int], source: Source, options: Options) -> Target:
    """An array in the input's chunks, if it has any, else in chunks of 16 MiB."""
    _zarr(name)
    name = name.rstrip("/")
    place = _whole_files.behind_links(name)
    base.existing_folder(place)
    if os.path.lexists(place):
        if not os.path.isdir(name):
            raise InvalidArgument(f"{name} is a file; a Zarr array is a folder: give another name")
        marked = [mark for mark in _MARKS if os.path.exists(os.path.join(name, mark))]
        if os.listdir(name) and (not marked or _is_group(name)):
            raise InvalidArgument(f"{name} is a folder that holds other things than a Zarr array; give another name")
    if element.precision > 1:
        raise Unsupported(f"{name} would hold {element.name}, which Zarr has no type for; write .npy")
    chunk: Sequence[int]
    if options.chunks is not None:
        chunk = base.checked_chunks(name, options.chunks, shape)
    elif len(source.chunk) == len(shape):
        chunk = base.checked_chunks(name, source.chunk, shape)
    else:
        chunk = base.default_chunks(shape, element.size_bytes)
    compression = base.parsed_compression(name, options.compression, _COMPRESSIONS)
    return _ZarrTarget(name, element, shape, tuple(chunk), compression, source.path)


def _is_group(name: str) -> bool:
    zarr = _zarr(name)
    with base.told(name, "read"):
        return not isinstance(zarr.open(name, mode="r"), zarr.Array)
