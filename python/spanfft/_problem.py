"""Problem strings from Python's arguments: the one form in which a transform is handed to the library.

The keys and what they mean are the library's table (`core.problem_keys`); values are written here, and a value that
would fall apart into several words is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._errors import InvalidArgument
from ._native import core

__all__ = ["KINDS", "NORMS", "PRECISIONS", "one_word", "problem_string"]

KINDS = ("c2c", "r2c", "dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4")
NORMS = ("backward", "ortho", "forward")
PRECISIONS = ("float", "double", "longdouble")

_Value = str | int | float | Sequence[int] | None


def problem_string(
    shape: Sequence[int], kinds: Sequence[str], axes: Sequence[int], direction: str, precision: str, **keys: _Value
) -> str:
    """The problem of a shape in real space, with one kind for each of `axes`.

    What a key has no value for is left to its default: None, False and what is empty. True stands for a flag.
    """
    words = [",".join(kinds), _lengths(shape), direction, precision, "axes=" + ",".join(map(str, axes))]
    words += [_word(key, value) for key, value in keys.items() if not _is_default(value)]
    return " ".join(words)


def one_word(key: str, value: str) -> str:
    """The value, or an error: it must not fall apart, nor end the C interface's text."""
    if not value.isprintable() or " " in value:
        known = " or ".join(_values_of(key).rsplit(", ", 1))
        raise InvalidArgument(f"{key} is {value!r}; it must be one word of printable characters: {known}")
    return value


def _values_of(key: str) -> str:
    """What the table says can stand behind a key."""
    return next((values for name, values, _, _ in core.problem_keys() if name == key), "one word")


def _is_default(value: _Value) -> bool:
    return value is None or value is False or (not isinstance(value, int | float) and len(value) == 0)


def _lengths(values: Sequence[int]) -> str:
    return "x".join(map(str, values))


def _word(key: str, value: _Value) -> str:
    if value is True:
        return key
    if isinstance(value, str):
        return f"{key}={one_word(key, value)}"
    if isinstance(value, int | float):
        return f"{key}={value!r}"
    return f"{key}={_lengths(value or ())}"
