"""Snapshots in NetCDF files, by netCDF4: a variable for each name over (time, x, y, z), steps in the variable time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ..._errors import InvalidArgument, Unsupported
from .file_base import FileBase, Snapshot

__all__ = ["NCFile"]

_AXES = "xyz"
_TENSOR_AXES = "ijk"


def _axis_name(axis: int) -> str:
    return _AXES[axis] if axis < len(_AXES) else f"x{axis}"


class NCFile(FileBase):
    """A NetCDF file of snapshots, with one counter of steps for all its names.

    Parameters
    ----------
    ncname
        Its name.
    domain
        See `FileBase`. Coordinates are kept in the variables x, y, z; a pair is the first and the last of them.
    mode
        "w": a new file; "a": an old one, or a new one; "r": an old one.
    clobber
        False: mode "w" refuses a file that is there.
    kw
        Further arguments of netCDF4.Dataset; `parallel` and `comm` are not used.
    """

    def __init__(
        self, ncname: str | os.PathLike[str], domain: Sequence[Any] | None = None, mode: str = "a",
        clobber: bool = True, **kw: Any,
    ) -> None:  # fmt: skip
        super().__init__(ncname, domain)
        if mode not in ("w", "a", "r", "r+"):
            raise InvalidArgument(f"mode is {mode!r}; it can be 'w', 'a' or 'r'")
        self._options = {name: value for name, value in kw.items() if name not in ("parallel", "comm", "info")}

        def begin() -> None:
            missing = not os.path.exists(self.filename)
            with self._opened("w" if mode == "a" and missing else mode, clobber=clobber) as file:
                if mode == "w" or missing:
                    file.createDimension("time", None)
                    file.createVariable("time", float, ("time",))

        self._in_turns(begin, only_first=True)

    @staticmethod
    def backend() -> str:
        return "netcdf4"

    def _opened(self, mode: str, **options: Any) -> AbstractContextManager[Any]:
        try:
            import netCDF4
        except ImportError as error:
            raise Unsupported(f"NetCDF files need netCDF4, which can't be imported ({error}); "
                              "pip install netCDF4") from None  # fmt: skip
        dataset: Any = netCDF4.Dataset
        file: AbstractContextManager[Any] = dataset(self.filename, mode, **options, **self._options)
        return file

    def _variable(self, item: Snapshot) -> str:
        return item.name if item.whole else f"{item.name}_{item.slice_name}"

    def _prepare(self, file: Any, item: Snapshot) -> None:
        if item.dtype.kind == "c" or item.dtype.char == "g":
            raise Unsupported(f"{item.name} has dtype {item.dtype}, which NetCDF has not; write real and imaginary "
                              "parts in double precision, or use HDF5")  # fmt: skip
        for axis, extent in enumerate(self.extents(len(item.shape))):
            n, name = item.shape[axis], _axis_name(axis)
            if name not in file.dimensions:
                file.createDimension(name, n)
                points = np.linspace(extent[0], extent[1], n) if len(extent) == 2 else extent
                file.createVariable(name, float, (name,))[:] = points
            elif len(file.dimensions[name]) != n:
                raise InvalidArgument(f"{self.filename} has {len(file.dimensions[name])} points along {name}, the "
                                      f"array {n}; write arrays of one shape into a file")  # fmt: skip
        for k, n in enumerate(item.tensor):
            if _TENSOR_AXES[k] not in file.dimensions:
                file.createDimension(_TENSOR_AXES[k], n)
                file.createVariable(_TENSOR_AXES[k], float, (_TENSOR_AXES[k],))[:] = np.arange(n)
        if item.step not in file["time"][:]:
            file["time"][len(file.dimensions["time"])] = item.step
        if self._variable(item) not in file.variables:
            axes = ("time", *_TENSOR_AXES[: len(item.tensor)], *map(_axis_name, item.kept_axes))
            file.createVariable(self._variable(item), item.dtype, axes)

    def _place(self, file: Any, item: Snapshot) -> tuple[Any, tuple[Any, ...]]:
        name = self._variable(item)
        if name not in file.variables:
            raise InvalidArgument(f"{self.filename} has no {name}; it has {', '.join(file.variables)}")
        steps = np.flatnonzero(np.asarray(file["time"][:]) == item.step)
        if not steps.size:
            raise InvalidArgument(f"{self.filename} has no step {item.step}; it has {list(file['time'][:])}")
        return file[name], (int(steps[0]),)
