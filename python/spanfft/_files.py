"""Arrays in files: what .npy headers and raw files hold, and the header of the result.

Written without numpy, so that transforming a file costs its memory budget and not numpy's besides. What holds no
numbers (pickled objects, records, text) is refused with the way out; a file that is shorter or longer than its header
says is corrupt.
"""

from __future__ import annotations

import ast
import math
import os
import stat
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ._arguments import file_name, wholes
from ._elements import ELEMENTS, Element, input_by_descr, input_element, input_types
from ._errors import CorruptData, InvalidArgument, InvalidType, IOFailure

__all__ = ["ELEMENTS", "ArrayFile", "Element", "check_is_file", "describe", "npy_header"]

_MAGIC = b"\x93NUMPY"
_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_CALL_IT_HDF5 = "for an array in it end its name in .h5 and say which: FILE.h5:/DATASET (a link will do)"
_MAX_HEADER_BYTES = 1 << 20
HEADER_BYTES = 4096
"""Of the headers we write, so that the array starts where pages and disk blocks start."""


@dataclass(frozen=True)
class ArrayFile:
    """An array in one piece of a file, `offset_bytes` from the start."""

    path: str
    format: str  # npy or raw
    element: Element
    shape: tuple[int, ...]
    offset_bytes: int
    fortran: bool = False
    """The first axis is the one whose elements lie side by side, not the last."""

    @property
    def data_bytes(self) -> int:
        return math.prod(self.shape) * self.element.size_bytes


def check_is_file(path: str) -> None:
    """Refuses what would never answer, such as a FIFO, before it is opened. What is not there passes."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        what = "a FIFO" if stat.S_ISFIFO(mode) else "a device or a socket"
        raise IOFailure(f"{path} is {what}, and an array has to be in a regular file: copy it into one")


def describe(
    path: str | os.PathLike[str],
    dtype: object = None,
    shape: Sequence[int] | None = None,
    offset: int | None = None,
) -> ArrayFile:
    """What array a file holds. Opens it and reads its header.

    Parameters
    ----------
    path
        A .npy file, or with `dtype` a raw one.
    dtype, shape, offset
        Of a raw file: element type, shape (by default all elements on one axis), bytes before the array.

    Raises
    ------
    IOFailure
        It can't be opened or read.
    CorruptData
        It is shorter or longer than it should be, or its header is damaged.
    InvalidArgument
        It holds something that can't be transformed. The message has the remedy.
    """
    name = file_name(path, "the input")
    check_is_file(name)
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if dtype is None:
                start = file.read(len(_MAGIC) + 2)
                found = _npy(name, start, file.read, size)
            else:
                input_element(dtype)
                if offset is None:
                    _check_is_raw(name, file.read(len(_HDF5_MAGIC)))
                found = _raw(name, dtype, shape, 0 if offset is None else offset, size)
    except OSError as error:
        raise IOFailure(f"{name} can't be read: {error.strerror or error}") from None
    if dtype is None and (shape is not None or offset is not None):
        raise InvalidArgument(f"{name} is a .npy file, which says itself what it holds; leave out --shape and --offset")
    _check_length(found, size)
    return found


def _check_length(file: ArrayFile, size: int) -> None:
    promised = file.offset_bytes + file.data_bytes
    if min(file.shape, default=0) < 1:
        raise InvalidArgument(f"{file.path} has shape {file.shape}, which holds nothing to transform")
    what = f"shape {file.shape} of {file.element.name} at byte {file.offset_bytes} needs {promised} bytes"
    if size < promised:
        remedy = "copy or make it again" if file.format == "npy" else "check --shape, --dtype and --offset"
        raise CorruptData(f"{file.path} is truncated: {what}, the file has {size}; {remedy}")
    if size > promised:
        remedy = (
            "it is damaged, or holds several arrays: save them one a file"
            if file.format == "npy"
            else "check --shape, --dtype and --offset, so that nothing is left out unseen"
        )
        raise CorruptData(f"{file.path} is too long: {what}, the file has {size}; {remedy}")


def _check_is_raw(path: str, start: bytes) -> None:
    """A header would be transformed as numbers. With an offset, somebody knows what they do."""
    if start.startswith(_MAGIC):
        raise InvalidArgument(
            f"{path} is a .npy file, which says itself what it holds; leave out --dtype (what the output holds is "
            f"--output-dtype), or give the --offset of its array to read it as raw"
        )
    if start == _HDF5_MAGIC:
        raise InvalidArgument(f"{path} is an HDF5 file; {_CALL_IT_HDF5}")


def _raw(path: str, dtype: object, shape: Sequence[int] | None, offset: int, size: int) -> ArrayFile:
    kind = input_element(dtype)
    if offset < 0:
        raise InvalidArgument(f"offset is {offset}; it must be 0 or more bytes")
    if shape is None:
        if size <= offset or (size - offset) % kind.size_bytes:
            raise CorruptData(
                f"{path} has {size} bytes, which is no whole number of {kind.name} after byte {offset}; "
                f"check --dtype and --offset"
            )
        shape = ((size - offset) // kind.size_bytes,)
    lengths = wholes(shape, "shape")
    if not lengths or min(lengths) < 1:
        raise InvalidArgument(f"shape is {lengths}; every length must be at least 1")
    return ArrayFile(path, "raw", kind, lengths, offset)


def _npy(path: str, start: bytes, read: object, size: int) -> ArrayFile:
    if start[: len(_MAGIC)] != _MAGIC:
        if _HDF5_MAGIC.startswith(start[:6]) and len(start) >= 6:
            raise InvalidArgument(f"{path} is an HDF5 file; {_CALL_IT_HDF5}")
        if path.endswith(".npy") or not start:
            raise CorruptData(
                f"{path} does not begin as a .npy file does ({start[:6]!r}); if it is raw, give --dtype and --shape"
            )
        raise InvalidArgument(f"{path} is no .npy file ({start[:6]!r}); give --dtype and --shape for a raw one")
    if len(start) < len(_MAGIC) + 2:
        raise CorruptData(f"{path} is truncated within its header ({size} bytes); copy or make it again")
    major = start[6]
    if major not in (1, 2, 3) or start[7] != 0:
        raise CorruptData(f"{path} says it is .npy version {major}.{start[7]}; known are 1.0, 2.0 and 3.0")
    width = "<H" if major == 1 else "<I"
    prefix = read(struct.calcsize(width))  # type: ignore[operator]
    length = struct.unpack(width, prefix)[0] if len(prefix) == struct.calcsize(width) else -1
    if length > _MAX_HEADER_BYTES:
        raise CorruptData(f"{path} says that its header has {length} bytes, more than any; it is damaged")
    text = read(length) if length >= 0 else b""  # type: ignore[operator]
    if length < 0 or len(text) < length:
        raise CorruptData(f"{path} is truncated within its header ({size} bytes); copy or make it again")
    try:
        header = ast.literal_eval(text.decode("utf-8" if major == 3 else "latin1").strip(" \t\r\n"))
        descr, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
        good = isinstance(fortran, bool) and isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        good = False
    if not good:
        raise CorruptData(f"{path} has a damaged .npy header: {text[:80]!r}; copy or make it again")
    kind = _npy_element(path, descr)
    if not shape:
        raise InvalidArgument(f"{path} holds a single number (shape ()); it needs at least one axis")
    offset = len(start) + len(prefix) + length
    return ArrayFile(path, "npy", kind, shape, offset, fortran and sum(n > 1 for n in shape) > 1)


def _npy_element(path: str, descr: object) -> Element:
    if not isinstance(descr, str):
        raise InvalidType(f"{path} holds records ({descr!r}); save one field of them: numpy.save(path, a['field'])")
    found = input_by_descr(descr)
    if found is not None:
        return found
    if descr.lstrip("<>|=").startswith("O"):
        raise InvalidType(f"{path} holds Python objects (dtype {descr!r}); save numbers: a.astype('complex128')")
    raise InvalidType(f"{path} has dtype {descr!r}; it can be {input_types()}: save it with a.astype(...)")


def npy_header(kind: Element, shape: Sequence[int], fortran: bool = False) -> bytes:
    """A .npy header of 4096 bytes; the padding is spaces, as the format says."""
    lengths = ", ".join(str(n) for n in shape) + ("," if len(shape) == 1 else "")
    text = f"{{'descr': '{kind.descr}', 'fortran_order': {fortran}, 'shape': ({lengths}), }}"
    prefix = _MAGIC + b"\x01\x00"
    length = HEADER_BYTES - len(prefix) - 2
    return prefix + struct.pack("<H", length) + text.encode("latin1").ljust(length - 1) + b"\n"


def folder_list(scratch: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None) -> list[str]:
    """Of one folder, several, or none."""
    if scratch is None:
        return []
    if isinstance(scratch, str | bytes | os.PathLike) or not isinstance(scratch, Iterable):
        return [file_name(scratch, "scratch")]
    return [file_name(folder, "scratch") for folder in scratch]


def on_another_disk(folder: str, output: str) -> bool:
    """Whether one process's scratch folder is on another file system than the output. What is not there is on none."""
    folder = folder.replace("{rank}", "0").replace("{node}", "0")
    try:
        return os.stat(folder).st_dev != os.stat(os.path.dirname(output) or ".").st_dev
    except OSError:
        return False
