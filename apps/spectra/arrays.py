"""Arrays on disk, read by slices: .npy, "file.h5:/dataset" (HDF5), folders with a Zarr array; and sizes in words."""

from __future__ import annotations

import json
import mmap
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import spanfft

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def open_array(name: str | os.PathLike[str]) -> Any:
    """Something with `shape`, `dtype` and slices that read. Raises InvalidArgument with a sentence."""
    text = os.fspath(name)
    path, _, dataset = text.partition(":")
    try:
        if path.endswith((".h5", ".hdf5")):
            import h5py

            file = h5py.File(path, "r")
            names = [dataset] if dataset else [key for key in file if isinstance(file[key], h5py.Dataset)]
            if len(names) != 1:
                raise spanfft.InvalidArgument(f"{path} has the datasets {names}; name one as {path}:/NAME")
            return file[names[0]]
        if os.path.isdir(text):
            import zarr

            return zarr.open_array(text, mode="r")
        if text.endswith(".npy"):
            return np.load(text, mmap_mode="r")
    except (OSError, ValueError, KeyError) as error:
        raise spanfft.InvalidArgument(f"{text} can't be read: {error}") from None
    except ImportError as error:
        raise spanfft.Unsupported(f"{text} needs a package that is not installed: {error}") from None
    raise spanfft.InvalidArgument(f"{text} is no .npy, no .h5 and no folder with a Zarr array")


def forget(array: Any) -> None:
    """Of a mapped .npy file, gives the pages back that were read or written: they count as the process's memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, mmap.mmap):
        array.madvise(mmap.MADV_DONTNEED)


def opened_by_all(name: str | os.PathLike[str]) -> tuple[Any, str | None]:
    """The array, or a sentence that says why there is none."""
    try:
        return open_array(name), None
    except spanfft.Error as error:
        return None, str(error)


def identity(name: str | os.PathLike[str]) -> str:
    """Changes when the file does: its size and time of change; of a folder, those of all its files."""
    path = Path(os.fspath(name).partition(":")[0])
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    states = [each.stat() for each in files]
    return json.dumps([os.fspath(name), sum(s.st_size for s in states), max(s.st_mtime_ns for s in states)])


def bytes_of(memory: str | int) -> int:
    """256MiB and the like, or a number of bytes."""
    if isinstance(memory, int):
        return memory
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:iB|B)?", memory.strip())
    if not found:
        raise spanfft.InvalidArgument(f"memory is {memory!r}; give a number of bytes such as 256MiB")
    return int(found[1]) * _UNITS[found[2]]
