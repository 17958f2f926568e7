"""What words of the command line mean; a word that can't be used is refused by name. See cli.py."""

from __future__ import annotations

import argparse
import os

from ._errors import InvalidArgument
from ._memory import parse_bytes

__all__ = ["amount", "count", "folders", "size", "sizes"]

_COUNT_END, _SIZE_END = 1 << 31, 1 << 62  # what the library's integers hold


def _below(end: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if abs(number) >= end:
        raise argparse.ArgumentTypeError(f"{text!r} is larger than any number of this sort")
    return number


def count(text: str) -> int:
    """Threads, ranks, repetitions."""
    return _below(_COUNT_END, text)


def size(text: str) -> int:
    """Elements, bytes."""
    return _below(_SIZE_END, text)


def sizes(text: str) -> tuple[int, ...]:
    """64,48 or 64x48."""
    words = text.replace("x", ",").split(",")
    try:
        [int(word) for word in words]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of integers such as 64,48 or 64x48") from None
    return tuple(size(word) for word in words)


def amount(text: str) -> int:
    """256MiB, in bytes."""
    try:
        return parse_bytes(text)
    except InvalidArgument as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def folders(text: str) -> list[str]:
    """ "a,b" -> ["a", "b"], but a folder that has commas in its name is one."""
    return [text] if os.path.isdir(text) else text.split(",")
