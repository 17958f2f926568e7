"""What words of the command line mean; a word that can't be used is refused by name. See cli.py."""

from __future__ import annotations

import argparse
import os
import re
import textwrap

from ._arguments import COUNT_END, SIZE_END
from ._errors import InvalidArgument
from ._memory import parse_bytes

__all__ = ["amount", "axes", "count", "folders", "problem_keys_help", "size", "sizes"]

_WHOLE = re.compile(r"[+-]?[0-9]+")


def _below(end: int, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    if len(text) > 20 or abs(number := int(text)) >= end:
        raise argparse.ArgumentTypeError(f"{text!r} is larger than any number of this sort")
    return number


def count(text: str) -> int:
    """Threads, ranks, repetitions."""
    return _below(COUNT_END, text)


def size(text: str) -> int:
    """Elements, bytes."""
    return _below(SIZE_END, text)


def power_written_out(text: str) -> str:
    """2^25 as 33554432; anything else as it is."""
    power = re.fullmatch(r"2\^([0-9]{1,2})", text)
    return str(1 << int(power[1])) if power else text


def sizes(text: str) -> tuple[int, ...]:
    """64,48 or 64x48."""
    words = text.replace("x", ",").split(",")
    if not all(_WHOLE.fullmatch(word) for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of integers such as 64,48 or 64x48")
    return tuple(size(word) for word in words)


def axes(text: str) -> tuple[int, ...]:
    """0,1 or -2,-1; an x stands between lengths, and 0x1 would be taken for one number or for two."""
    words = text.split(",")
    if not all(_WHOLE.fullmatch(word) for word in words):
        hint = f"; did you mean {text.replace('x', ',')}?" if re.fullmatch(r"-?[0-9]+(x-?[0-9]+)+", text) else ""
        raise argparse.ArgumentTypeError(f"{text!r} is no list of axes such as 0,1 or -1{hint}")
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


def problem_keys_help() -> str:
    """The library's table of keys, for the end of a help text."""
    from ._native import core

    lines = ["keys of PROBLEM, behind its kind and shape (docs/problem-string.md):"]
    for name, values, default, sentence in core.problem_keys():
        word = f"{name}={values}" if values else name
        about = f"{sentence} (default: {default})" if values else sentence
        lines += textwrap.wrap(word, 116, initial_indent="  ", subsequent_indent="    ")
        lines += textwrap.wrap(about, 116, initial_indent="      ", subsequent_indent="      ")
    return "\n".join(lines) + "\n"
