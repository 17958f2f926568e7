"""What a file format tells the rest: where an input array lies, and how an output one comes to be.

An array in one piece of an ordinary file is read and written by the library directly. One that only a Python library
can reach is moved in boxes of whole chunks by a function; the library copies it through a scratch file where memory
does not hold it, so that each chunk is read, or written, once.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._elements import Element, input_by_descr, input_types
from .._errors import Error, InvalidArgument, InvalidType, IOFailure, NoSpace

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MoveBox", "Options", "Source", "Target"]

MoveBox = Callable[[tuple[int, ...], tuple[int, ...], memoryview], None]
"""(first, extent, memory): moves a box of the array into memory, or out of it. C order."""

_CHUNK_BYTES = 16 << 20
_SAMPLES, _SAMPLE_BYTES = 64, 4096


@dataclass(frozen=True)
class Options:
    """What the caller says about an input or output besides its name."""

    dtype: object = None
    precision: int | None = None
    """Of the C interface, in which an input is computed; None: that of its type."""
    shape: Sequence[int] | None = None
    offset: int | None = None
    dataset: str | None = None
    chunks: Sequence[int] | None = None
    compression: str | None = None


@dataclass(frozen=True)
class Source:
    """An array that is read."""

    name: str
    """As the user says it, for messages."""
    path: str
    """Of the file or folder."""
    element: Element
    shape: tuple[int, ...]
    offset_bytes: int = 0
    fortran: bool = False
    """Of an array in a file: the first axis is the one whose elements lie side by side, not the last."""
    packed: bool = False
    """A half spectrum with X[n/2] in X[0]'s imaginary part; `shape` counts it."""
    chunk: tuple[int, ...] = ()
    """Of an array that `read` reaches; () for one in a file."""
    read: MoveBox | None = None
    """Gives elements as they are computed."""
    identity: Callable[[], str] | None = None
    """Of one that `read` reaches: a text that changes when the array does."""
    sidecar: str | None = None
    """A file that describes the series and goes with its transform."""

    def close(self) -> None:
        """Closes what `read` has open."""
        close = getattr(self.read, "close", None)
        if close is not None:
            close()


class Target:
    """An array that is written; nothing is touched before `open`."""

    packed = False
    chunk: tuple[int, ...] = ()
    write: MoveBox | None = None
    identity = ""
    """With `write`: how the array is stored, for a journal."""
    one_writer = False
    """With `write`: one process alone can write the array."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.header = b""

    def open(self) -> None:
        """Prepares; with `write`, makes the array under a hidden name."""

    def place(self) -> str:
        """After `open`: where the array is, for `join`."""
        return ""

    def join(self, place: str) -> None:
        """On another rank than that which opened and will publish it: prepares to write boxes that no other writes."""

    def publish(self) -> None:
        """Everything is written: gives it its name. With `write`, before a journal's files go; called again by the run
        that goes on if it fails.
        """

    def discard(self) -> None:
        """Something failed: leaves nothing behind. Allowed at any time, more than once."""


def native_element(name: str, dtype: np.dtype[np.generic]) -> Element:
    """The element type of a library's array, in this machine's byte order, to which the library brings it."""
    found = input_by_descr(dtype.newbyteorder("=").str)
    if found is not None and found.precision < 2:
        return found
    raise InvalidType(f"{name} has dtype {dtype}; it can be {input_types()}, but no long double: save it as one of "
                      f"these")  # fmt: skip


def checked_chunks(name: str, chunks: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """The caller's chunk shape, cut to the array's."""
    asked = tuple(int(n) for n in chunks)
    if len(asked) != len(shape) or min(asked) < 1:
        raise InvalidArgument(
            f"chunks are {asked} for {name} of shape {tuple(shape)}; give one length of at least 1 an axis"
        )
    return tuple(min(c, n) for c, n in zip(asked, shape, strict=True))


def parsed_compression(
    name: str, compression: str | None, levels: Mapping[str, range | None]
) -> tuple[str, int | None] | None:
    """A codec of the format's library and its level from "gzip" or "gzip:4"; None: no compression."""
    if compression is None:
        return None
    codec, colon, level = compression.partition(":")
    allowed = levels.get(codec)
    if codec in levels and not colon:
        return codec, None
    if allowed is not None and re.fullmatch(r"-?[0-9]{1,9}", level) and int(level) in allowed:
        return codec, int(level)
    known = ", ".join(c if r is None else f"{c} or {c}:{r[0]} to {c}:{r[-1]}" for c, r in levels.items())
    raise InvalidArgument(f"compression is {compression!r} for {name}; it can be {known}")


def default_chunks(shape: Sequence[int], item_bytes: int) -> tuple[int, ...]:
    """Whole rows, as many as make 16 MiB."""
    chunk, left = [1] * len(shape), max(1, _CHUNK_BYTES // item_bytes)
    for axis in reversed(range(len(shape))):
        chunk[axis] = min(shape[axis], left)
        left //= chunk[axis]
        if chunk[axis] < shape[axis] or left == 0:
            break
    return tuple(chunk)


@contextmanager
def told(name: str, what: str) -> Iterator[None]:
    """A library's failure as one of ours that names the array."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        kind = NoSpace if error.errno in (errno.ENOSPC, errno.EDQUOT) else IOFailure
        raise kind(f"{name} can't be {what}: {error.strerror or error}") from error
    except (ValueError, RuntimeError, KeyError, TypeError) as error:
        raise IOFailure(f"{name} can't be {what}: {error}") from error


def identity_of_file(path: str) -> str:
    """Size, time and inode of a file, and a checksum of 64 of its blocks, as the library has it of files it reads."""
    import hashlib  # with OpenSSL, 3 MiB of a run's memory that other formats don't need

    with open(path, "rb", buffering=0) as file:
        about = os.fstat(file.fileno())
        found = hashlib.blake2b(digest_size=8)
        last = max(0, about.st_size - _SAMPLE_BYTES)
        for i in range(_SAMPLES):
            found.update(os.pread(file.fileno(), _SAMPLE_BYTES, last * i // (_SAMPLES - 1)))
    return f"{about.st_size} {about.st_mtime_ns} {about.st_ino} {found.hexdigest()}"


def identity_of_folder(path: str) -> str:
    """A checksum of the names, sizes and times of all files below a folder.

    Summed up, which has no order, as a folder of a million chunks is too large to be sorted in a small budget."""
    import hashlib  # as above

    total, count, folders = 0, 0, [""]
    while folders:
        below = folders.pop()
        with os.scandir(os.path.join(path, below)) as entries:
            for entry in entries:
                name = os.path.join(below, entry.name)
                if entry.is_dir():
                    folders.append(name)
                    continue
                about = entry.stat()
                text = f"{name!r} {about.st_size} {about.st_mtime_ns}".encode()
                total += int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
                count += 1
    return f"{count} files {total % 2**64:016x}"


def existing_folder(target: str) -> str:
    """The folder that a target will be in."""
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise IOFailure(f"{target} can't be written: there is no folder {folder}")
    return folder
