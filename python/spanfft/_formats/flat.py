"""Arrays in one piece of an ordinary file: .npy and raw."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .._errors import InvalidArgument
from .._files import Element, describe, npy_header
from .base import Options, Source, Target, existing_folder

__all__ = ["open_source", "open_target"]


def open_source(name: str, options: Options) -> Source:
    """A .npy file, or with a dtype a raw one."""
    found = describe(name, options.dtype, options.shape, options.offset)
    return Source(name, found.path, found.element, found.shape, found.offset_bytes)


def open_target(name: str, element: Element, shape: Sequence[int], source: Source, options: Options) -> Target:
    """With a .npy header if it is called so, else the elements alone."""
    existing_folder(name)
    if os.path.isdir(name):
        raise InvalidArgument(f"{name} is a folder; give the name of a file in it")
    if options.chunks is not None:
        raise InvalidArgument(f"{name} has no chunks; leave them out, or write .zarr or .h5")
    if options.compression is not None:
        raise InvalidArgument(f"{name} can't be compressed; leave compression out, or write .zarr or .h5")
    target = Target(name, name)
    if name.endswith(".npy"):
        target.header = npy_header(element, shape)
    return target
