"""Arguments, checked by name before anything is touched. Needs no numpy."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import SupportsIndex

from ._errors import InvalidArgument, InvalidType

__all__ = [
    "COUNT_END",
    "SIZE_END",
    "check_callable",
    "count",
    "did_you_mean",
    "file_name",
    "number",
    "text",
    "whole",
    "wholes",
]

COUNT_END, SIZE_END = 1 << 31, 1 << 62  # what the library's integers hold


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "; did you mean 'two_sweeps'?" for a word that is nearly a known one, else ""."""
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), names, 1, 0.65)
    return f"; did you mean {names[found[0]]!r}?" if found else ""


def file_name(value: object, what: str) -> str:
    """A path as text; bytes too, as the file system has them."""
    if not isinstance(value, str | bytes | os.PathLike):
        raise InvalidType(f"{what} is {value!r}; it must be the name of a file, as str, bytes or os.PathLike")
    name: str = os.fsdecode(value)
    if not name:
        raise InvalidArgument(f"{what} is an empty name; name a file")
    if "\0" in name:
        raise InvalidArgument(f"{what} is {name!r}; no file's name has a zero byte")
    if name == "-":
        raise InvalidArgument(
            f"{what} is '-', but files are read and written at many places at once, which standard input and output "
            f"can't do; name a file (./- for one that is called so)"
        )
    return name


def whole(value: SupportsIndex | object, name: str, end: int = SIZE_END) -> int:
    """An integer that the library can hold."""
    try:
        found = int(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise InvalidType(f"{name} is {value!r}; it must be an integer") from None
    if abs(found) >= end:
        shown = str(found) if found.bit_length() < 256 else f"a number of {found.bit_length()} bits"
        raise InvalidArgument(f"{name} is {shown}; it can be {1 - end} to {end - 1}")
    return found


def count(value: object, name: str) -> int:
    """Threads, ranks."""
    return whole(value, name, COUNT_END)


def wholes(values: object, name: str) -> tuple[int, ...]:
    """Several integers; one alone is taken for a list of one, as numpy does."""
    with suppress(TypeError):  # an array has the method too, but for one number alone
        return (whole(operator.index(values), name),)  # type: ignore[arg-type]
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidType(f"{name} is {values!r}; it must be an integer or a sequence of integers")
    return tuple(whole(value, name) for value in values)


def number(value: object, name: str) -> float:
    """A real number."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidType(f"{name} is {value!r}; it must be a number") from None


def check_callable(value: object, name: str) -> None:
    """A function, or None."""
    if value is not None and not callable(value):
        raise InvalidType(f"{name} is {value!r}; it must be a function or None")


def text(value: object, name: str) -> str | None:
    """A word, or None."""
    if value == "":
        raise InvalidArgument(f"{name} is an empty word; name one, or leave it out")
    if value is None or isinstance(value, str):
        return value
    raise InvalidType(f"{name} is {value!r}; it must be a str or None")
