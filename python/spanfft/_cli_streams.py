"""The command line's standard streams, which may be closed, full, or unable to say what is in a name. See cli.py.

A descriptor from 0 to 2 that is closed would be given to the next file that is opened, an output maybe, into which
any library could then write its messages. So closed ones lead to /dev/null, standard output such that writing fails.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["OutputLost", "drop_output", "launched_rank", "prepare", "print_json", "say_error"]

_ERRORS = "spanfft-names"


def launched_rank() -> int:
    """The number that mpiexec (or srun) gave this process, known before MPI runs; 0 without them. 0 alone prints."""
    for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK"):
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return 0


def print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2)
    print()


class OutputLost(OSError):
    """Standard output takes nothing more."""


class _Output(io.FileIO):
    """Descriptor 1, whose failures are told from those of other files. A reader that has gone is another matter."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from None


def _as_it_was(error: UnicodeError) -> tuple[str | bytes, int]:
    """Names that are no text in the file system's encoding go out byte for byte; other letters are spelled out."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def prepare() -> None:
    """Makes standard streams fit to be written to."""
    for descriptor, access in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDWR)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest number that is free, which is this one
    codecs.register_error(_ERRORS, _as_it_was)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors=_ERRORS)
    now = sys.stdout
    if now is None or (isinstance(now, io.TextIOWrapper) and _descriptor(now) == 1):
        encoding = None if now is None else now.encoding
        lines = now is not None and now.line_buffering
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Output(1, "wb", closefd=False)), encoding, _ERRORS,
                                      line_buffering=lines)  # fmt: skip


def _descriptor(stream: Any) -> int:
    """-1 for streams of a program that calls the command line as a function."""
    try:
        return int(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return -1


def _drop(stream: Any, descriptor: int) -> None:
    if _descriptor(stream) == descriptor:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def drop_output() -> None:
    """Forgets what could not be written, which the interpreter would try again at its end."""
    _drop(sys.stdout, 1)


def say_error(line: str) -> None:
    """On standard error; where it takes nothing, the exit code must do."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr, 2)
