"""Snapshots in HDF5 files, by h5py, with mpi4py-fft's groups: NAME/3D/STEP, NAME/2D/slice_4_slice/STEP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..._errors import InvalidArgument, Unsupported
from .file_base import FileBase, Snapshot

__all__ = ["HDF5File"]


class HDF5File(FileBase):
    """An HDF5 file of snapshots.

    Parameters
    ----------
    h5name
        Its name.
    domain
        See `FileBase`. It is kept as NAME/domain/x0, ... (pairs) or NAME/mesh/x0, ... (coordinates).
    mode
        "w": a new file; "a": an old one, or a new one; "r": an old one.
    kw
        Further arguments of h5py.File; `driver` and `comm` are not used.
    """

    def __init__(
        self, h5name: str | os.PathLike[str], domain: Sequence[Any] | None = None, mode: str = "a", **kw: Any
    ) -> None:
        super().__init__(h5name, domain)
        if mode not in ("w", "a", "r", "r+"):
            raise InvalidArgument(f"mode is {mode!r}; it can be 'w', 'a' or 'r'")
        self._options = {name: value for name, value in kw.items() if name not in ("driver", "comm")}

        def begin() -> None:
            with self._opened(mode):
                pass

        self._in_turns(begin, only_first=True)

    @staticmethod
    def backend() -> str:
        return "hdf5"

    def _opened(self, mode: str) -> AbstractContextManager[Any]:
        try:
            import h5py
        except ImportError as error:
            raise Unsupported(f"HDF5 files need h5py, which can't be imported ({error}); pip install h5py") from None
        file: AbstractContextManager[Any] = h5py.File(self.filename, mode, **self._options)
        return file

    def _path(self, item: Snapshot) -> str:
        folder = f"{item.name}/{len(item.kept_axes)}D"
        return f"{folder}/{item.step}" if item.whole else f"{folder}/{item.slice_name}/{item.step}"

    def _prepare(self, file: Any, item: Snapshot) -> None:
        group = file.require_group(item.name)
        group.attrs["rank"], group.attrs["shape"] = len(item.tensor), item.shape
        extents = self.extents(len(item.shape))
        kind = "domain" if all(len(extent) == 2 for extent in extents) else "mesh"
        for axis, extent in enumerate(extents):
            if f"{kind}/x{axis}" not in group:
                group.create_dataset(f"{kind}/x{axis}", data=extent)
        file.require_dataset(self._path(item), shape=item.kept_shape, dtype=item.dtype)

    def _place(self, file: Any, item: Snapshot) -> tuple[Any, tuple[Any, ...]]:
        path = self._path(item)
        if path not in file:
            raise InvalidArgument(f"{self.filename} has no {path}; it has {', '.join(file) or 'nothing'}")
        return file[path], ()
