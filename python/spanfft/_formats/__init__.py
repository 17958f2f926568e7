"""The file formats: a table with a line for each, and who is asked about a name.

To add one: a module with `open_source` and `open_target` as in flat.py, and its line here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._arguments import file_name
from .._errors import InvalidArgument
from .._files import Element
from . import flat, hdf5, presto, zarr
from .base import Options, Source, Target

__all__ = ["Options", "Source", "Target", "is_other_format", "name_in_folder", "open_source", "open_target"]


@dataclass(frozen=True)
class _Format:
    name: str
    is_mine: Callable[[str], bool]
    open_source: Callable[[str, Options], Source]
    open_target: Callable[[str, Element, Sequence[int], Source, Options], Target]


# The first that takes a name is asked.
_FORMATS = (
    _Format("HDF5", hdf5.is_mine, hdf5.open_source, hdf5.open_target),
    _Format("Zarr", zarr.is_mine, zarr.open_source, zarr.open_target),
    _Format("PRESTO", lambda name: name.endswith((".dat", ".fft")), presto.open_source, presto.open_target),
    _Format(".npy or raw", lambda name: True, flat.open_source, flat.open_target),
)


def is_other_format(name: str) -> bool:
    """Whether a name says another format than .npy or raw."""
    return any(each.is_mine(name) for each in _FORMATS[:-1])


def open_source(path: str | os.PathLike[str], options: Options) -> Source:
    """What array a file or folder holds. Reads its header, writes nothing.

    With a dtype, any ordinary file is raw.
    """
    name = file_name(path, "the input")
    if options.dtype is not None and os.path.isfile(name):
        return flat.open_source(name, options)
    return next(f for f in _FORMATS if f.is_mine(name)).open_source(name, options)


def open_target(
    path: str | os.PathLike[str], element: Element, shape: Sequence[int], source: Source, options: Options
) -> Target:
    """Where an array of this type and shape, made of `source`, will go. Checks, and writes nothing."""
    name = file_name(path, "the output")
    if source.fortran and not name.endswith(".npy"):
        raise InvalidArgument(
            f"{source.name} is in Fortran order, and so is its transform, which a .npy file alone can say of itself; "
            f"call the output so, or save the input with numpy.ascontiguousarray(a)"
        )
    return next(f for f in _FORMATS if f.is_mine(name)).open_target(name, element, shape, source, options)


def name_in_folder(folder: str, path: str | os.PathLike[str], suffix: str | None) -> str:
    """The name of what is made of an input, in a folder for such: the input's, or with the suffix instead of its own.

    Without a suffix PRESTO's series give .fft and its spectra .dat.
    """
    name = file_name(path, "the input")
    if hdf5.is_mine(name):
        name = hdf5.file_of(name)
    stem, own = os.path.splitext(os.path.basename(name.rstrip("/")))
    return os.path.join(folder, stem + (suffix or {".dat": ".fft", ".fft": ".dat"}.get(own, own)))
