"""Datasets in HDF5 files, through h5py: FILE.h5:/path/to/dataset.

A contiguous dataset is a piece of the file: h5py says where, and the library reads it there. A file that is written
gets one contiguous dataset behind all of HDF5's own data, so that these are a header like .npy's. Chunked (and
compressed, and virtual) datasets go through h5py box by box. Complex numbers are h5py's compound {r, i}.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from .. import _whole_files
from .._elements import Element, input_by_descr
from .._errors import CorruptData, InvalidArgument, IOFailure, Unsupported
from .._files import check_is_file
from . import base
from .base import Options, Source, Target

__all__ = ["is_mine", "open_source", "open_target"]

_NAME = re.compile(r"^(?P<file>.*\.(?:h5|hdf5))(?::(?P<dataset>.+))?$", re.IGNORECASE | re.DOTALL)
_META_BYTES = 1 << 15
"""For HDF5's own data, in front of a dataset that we write."""
_ALIGN_BYTES = 4096
_DEFAULT_DATASET = "/data"
_COMPRESSIONS = {"gzip": range(10), "lzf": None}
"""That every h5py has, with their levels."""


def is_mine(name: str) -> bool:
    """FILE.h5, FILE.hdf5, or one of them with :DATASET behind it."""
    return _NAME.match(name) is not None


def file_of(name: str) -> str:
    """Without the dataset."""
    found = _NAME.match(name)
    assert found is not None
    return found["file"]


def _h5py(name: str) -> Any:
    try:
        import h5py
    except ImportError:
        raise Unsupported(f"{name} needs h5py, which is not installed: pip install h5py") from None
    return h5py


def _parts(name: str, options: Options) -> tuple[str, str | None]:
    found = _NAME.match(name)
    assert found is not None
    dataset = found["dataset"]
    if dataset and options.dataset and dataset.strip("/") != options.dataset.strip("/"):
        raise InvalidArgument(f"{name} names a dataset, and the option another one: {options.dataset}; give one")
    dataset = dataset or options.dataset
    return found["file"], None if dataset is None else "/" + dataset.strip("/")


def _names(h5py: Any, file: Any) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, item: found.append("/" + name) if isinstance(item, h5py.Dataset) else None)
    return found


class _Reader:
    """Reads boxes; opens the file when it is first needed, so that it can go to other processes."""

    def __init__(self, path: str, dataset: str, dtype: str) -> None:
        self.path, self.dataset, self.dtype = path, dataset, dtype
        self._file: Any = None

    def __call__(self, first: tuple[int, ...], extent: tuple[int, ...], memory: memoryview) -> None:
        import numpy as np

        with base.told(f"{self.path}:{self.dataset}", "read"):
            if self._file is None:
                self._file = _h5py(self.path).File(self.path, "r")
            box = tuple(slice(f, f + n) for f, n in zip(first, extent, strict=True))
            into = np.frombuffer(memory, self.dtype).reshape(extent)
            self._file[self.dataset].read_direct(into, box)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def open_source(name: str, options: Options) -> Source:
    """A dataset, by offset where it lies in one piece, else through h5py."""
    if options.dtype is not None or options.shape is not None or options.offset is not None:
        raise InvalidArgument(
            f"{name} is an HDF5 file, which says itself what it holds; leave out --dtype, --shape and --offset"
        )
    path, dataset = _parts(name, options)
    h5py = _h5py(name)
    check_is_file(path)
    if not os.path.exists(path):
        raise IOFailure(f"{path} can't be read: No such file or directory")
    if not h5py.is_hdf5(path):
        raise CorruptData(f"{path} is no HDF5 file, or a damaged one")
    with base.told(path, "read"), h5py.File(path, "r") as file:
        datasets = _names(h5py, file)
        if dataset is None:
            if len(datasets) != 1:
                raise InvalidArgument(f"{path} holds {len(datasets)} datasets; name one, such as {path}:/NAME: "
                                      f"{', '.join(datasets[:10])}")  # fmt: skip
            dataset = datasets[0]
        found = file.get(dataset)
        if not isinstance(found, h5py.Dataset):
            what = "is a group" if found is not None else "is not there"
            raise InvalidArgument(f"{path}:{dataset} {what}; the datasets are: {', '.join(datasets[:10]) or 'none'}")
        label = f"{path}:{dataset}"
        if not found.shape or min(found.shape) < 1:
            raise InvalidArgument(f"{label} has shape {found.shape}, which holds nothing to transform")
        element = base.native_element(label, found.dtype)
        shape = tuple(int(n) for n in found.shape)
        in_one_piece = found.chunks is None and not found.external and not found.is_virtual
        offset = found.id.get_offset() if in_one_piece else None
        as_it_lies = element if found.dtype.isnative and not element.foreign else _as_it_lies(h5py, found)
        if offset is not None and as_it_lies is not None:
            return Source(label, path, as_it_lies, shape, int(offset))
        chunk = found.chunks or base.default_chunks(shape, element.size_bytes)
        others = _other_files(path, found)
    reader = _Reader(path, dataset, element.computed(options.precision).descr)
    return Source(label, path, element, shape, chunk=tuple(min(c, n) for c, n in zip(chunk, shape, strict=True)),
                  read=reader, identity=lambda: _identity(path, dataset, others))  # fmt: skip


def _as_it_lies(h5py: Any, found: Any) -> Element | None:
    """The type of a dataset that the library reads from the file itself; None where HDF5's type is an unusual one of
    that size, such as 12 bits in 16, which h5py brings to the usual one."""
    usual = found.id.get_type() == h5py.h5t.py_create(found.dtype, logical=True)
    return input_by_descr(found.dtype.str) if usual else None


def _other_files(path: str, found: Any) -> list[str]:
    """That hold elements of a virtual or external dataset."""
    names = [source.file_name for source in found.virtual_sources()] if found.is_virtual else []
    names += [each[0] for each in found.external or []]
    beside = os.path.dirname(path)
    return sorted({os.path.join(beside, os.fsdecode(name)) for name in names if name != "."})


def _identity(path: str, dataset: str, others: Sequence[str]) -> str:
    """Of the elements' files, and which dataset."""
    with base.told(f"{path}:{dataset}", "read"):
        files = [base.identity_of_file(name) if os.path.exists(name) else "none" for name in [path, *others]]
    return " ".join(["hdf5", *files, dataset])


def _new_file(h5py: Any, path: str) -> Any:
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    access.set_libver_bounds(h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_V18)
    access.set_meta_block_size(_META_BYTES)
    access.set_alignment(_META_BYTES + 1, _ALIGN_BYTES)
    return h5py.File(h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, fapl=access))


class _ContiguousTarget(Target):
    """HDF5's own data as a header; the library appends the elements."""

    def __init__(self, name: str, path: str, dataset: str, element: Element, shape: Sequence[int]) -> None:
        super().__init__(name, path)
        self._dataset, self._element, self._shape = dataset, element, tuple(shape)

    def open(self) -> None:
        h5py = _h5py(self.name)
        with base.told(self.name, "written"):
            _whole_files.remove_stale(base.existing_folder(self.path))
            sample = _whole_files.hidden_name(self.path)  # as long as the output will be, but a hole
            try:
                self.header = self._header(h5py, sample)
            finally:
                if os.path.lexists(sample):
                    os.unlink(sample)

    def _header(self, h5py: Any, sample: str) -> bytes:
        with _new_file(h5py, sample) as file:
            written = os.open(sample, os.O_RDONLY | os.O_CLOEXEC)  # its name may go when HDF5's lock goes
            layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            layout.set_layout(h5py.h5d.CONTIGUOUS)
            layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            layout.set_obj_track_times(False)  # a run that goes on another second writes the same header
            links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
            links.set_create_intermediate_group(True)
            kind = h5py.h5t.py_create(_dtype(self._element), logical=True)
            space = h5py.h5s.create_simple(self._shape)
            made = h5py.h5d.create(file.id, self._dataset.encode(), kind, space, layout, links)
            offset = int(made.get_offset())
        payload = self._element.size_bytes
        for n in self._shape:
            payload *= n
        with open(written, "rb") as whole:
            if os.fstat(written).st_size != offset + payload:
                raise IOFailure(f"{self.name} can't be written in one piece: HDF5 put its own data behind the dataset; "
                                f"give chunks")  # fmt: skip
            return whole.read(offset)


def _dtype(element: Element) -> Any:
    import numpy as np

    return np.dtype(element.descr)


class _ChunkedTarget(Target):
    """A chunked dataset in a file of a hidden name, which HDF5 holds locked while it is written, by one process."""

    one_writer = True

    def __init__(
        self, name: str, path: str, dataset: str, element: Element, shape: Sequence[int], chunk: tuple[int, ...],
        compression: tuple[str | None, int | None], like: str,
    ) -> None:  # fmt: skip
        super().__init__(name, _whole_files.behind_links(path))
        self._like = like
        self.chunk = chunk
        self.write = self._write
        self.identity = f"hdf5 {dataset}, compression {compression}"
        self._compression = compression
        self._dataset, self._element, self._shape = dataset, element, tuple(shape)
        self._hidden = ""
        self._lock = -1
        self._file: Any = None
        self._array: Any = None

    def open(self) -> None:
        h5py = _h5py(self.name)
        with base.told(self.name, "written"):
            _whole_files.remove_stale(base.existing_folder(self.path))
            hidden = _whole_files.hidden_name(self.path)
            os.close(os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._hidden = hidden
            self._file = h5py.File(hidden, "w")
            # Whoever cleans up after dead runs goes by the lock, which HDF5 can be told not to take.
            self._lock = _whole_files.lock_unless_held(hidden)
            self._array = self._file.create_dataset(
                self._dataset, self._shape, _dtype(self._element), chunks=self.chunk, fillvalue=None,
                compression=self._compression[0], compression_opts=self._compression[1],
            )  # fmt: skip

    def _write(self, first: tuple[int, ...], extent: tuple[int, ...], memory: memoryview) -> None:
        import numpy as np

        with base.told(self.name, "written"):
            box = tuple(slice(f, f + n) for f, n in zip(first, extent, strict=True))
            self._array.write_direct(np.frombuffer(memory, self._element.descr).reshape(extent), dest_sel=box)

    def publish(self) -> None:
        with base.told(self.name, "written"):
            file, self._file, self._array = self._file, None, None  # closed once, even if that fails
            file.close()
            if self._lock < 0:
                self._lock = _whole_files.lock(self._hidden)
            _whole_files.give_mode(self._hidden, self.path, self._like)
            _whole_files.flush(self._hidden)
            os.replace(self._hidden, self.path)
            self._hidden = ""
            self._unlock()
            _whole_files.flush_folder(base.existing_folder(self.path))

    def discard(self) -> None:
        file, self._file, self._array = self._file, None, None
        if file is not None:
            with suppress(Exception):  # of a full disk, say, which has been told
                file.close()
        if self._hidden and os.path.exists(self._hidden):
            os.unlink(self._hidden)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def open_target(name: str, element: Element, shape: Sequence[int], source: Source, options: Options) -> Target:
    """A file with this dataset alone, contiguous unless chunks are given."""
    h5py = _h5py(name)
    path, dataset = _parts(name, options)
    dataset = dataset or _DEFAULT_DATASET
    base.existing_folder(path)
    if os.path.isdir(path):
        raise InvalidArgument(f"{path} is a folder; give the name of a file in it")
    if element.precision > 1:
        raise Unsupported(f"{name} would hold {element.name}, which HDF5 has no portable type for; write .npy")
    if os.path.exists(path) and h5py.is_hdf5(path):
        with base.told(path, "read"), h5py.File(path, "r") as file:
            others = [other for other in _names(h5py, file) if other != dataset]
        if others:
            raise InvalidArgument(
                f"{path} holds other datasets ({', '.join(others[:5])}), and the output replaces the whole file; "
                f"write to a file of its own"
            )
    label = f"{path}:{dataset}"
    compression = base.parsed_compression(label, options.compression, _COMPRESSIONS)
    if options.chunks is None and compression is None:
        return _ContiguousTarget(label, path, dataset, element, shape)
    if options.chunks is None:
        chunks = base.default_chunks(shape, element.size_bytes)
    else:
        chunks = base.checked_chunks(label, options.chunks, shape)
    return _ChunkedTarget(label, path, dataset, element, shape, chunks, compression or (None, None), source.path)
