"""Arrays in one piece of an ordinary file: .npy and raw."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .._arguments import did_you_mean
from .._errors import InvalidArgument
from .._files import Element, describe, npy_header
from .base import Options, Source, Target, existing_folder

__all__ = ["check_suffix", "open_source", "open_target"]

_WRITTEN = ("npy", "h5", "hdf5", "zarr", "fft", "dat")
_OTHERS = (
    *("asc", "csv", "fit", "fits", "hdf", "json", "mat", "nc", "nii", "npz", "parquet", "pickle", "pkl", "png"),
    *("sav", "tif", "tiff", "tsv", "txt", "wav", "xls", "xlsx", "yaml", "zip"),
)
"""Of formats that we don't write, and that nobody calls a raw file by."""
_COMPRESSED = ("bz2", "gz", "xz", "zst")


def check_suffix(name: str) -> None:
    """Refuses a name of an output that says another format, or one of ours wrongly: it would get elements alone."""
    stem, _, suffix = os.path.basename(name).rpartition(".")
    if not stem or suffix in _WRITTEN:
        return
    swapped = next((known for known in _WRITTEN if sorted(suffix.lower()) == sorted(known)), None)
    near = f"; did you mean {swapped!r}?" if swapped else did_you_mean(suffix, ("npy", "zarr", "hdf5"))
    if not near and suffix.lower() not in (*_OTHERS, *_COMPRESSED):
        return
    raise InvalidArgument(
        f"{name} ends in .{suffix}, which is no format that is written here: .npy, .h5, .zarr, .fft and .dat are; for "
        f"raw elements end it in .raw, .bin or nothing{near}"
    )


def open_source(name: str, options: Options) -> Source:
    """A .npy file, or with a dtype a raw one."""
    found = describe(name, options.dtype, options.shape, options.offset)
    return Source(name, found.path, found.element, found.shape, found.offset_bytes, found.fortran)


def open_target(name: str, element: Element, shape: Sequence[int], source: Source, options: Options) -> Target:
    """With a .npy header if it is called so, else the elements alone."""
    check_suffix(name)
    existing_folder(name)
    if os.path.isdir(name):
        raise InvalidArgument(f"{name} is a folder; give the name of a file in it")
    if options.chunks is not None:
        raise InvalidArgument(f"{name} has no chunks; leave them out, or write .zarr or .h5")
    if options.compression is not None:
        raise InvalidArgument(f"{name} can't be compressed; leave compression out, or write .zarr or .h5")
    target = Target(name, name)
    if name.endswith(".npy"):
        target.header = npy_header(element, shape, source.fortran)
    return target
