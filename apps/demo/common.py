"""What the demo's programs share: the accuracy rule, progress, memory used. Standard library only.

demo.py imports nothing else, so that it stays small: Linux counts the peak memory of the process that starts a
child as the child's own until exec, and the demo measures its children.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from types import TracebackType

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


def largest_prime_factor(n: int) -> int:
    """189 -> 7, 197 -> 197, 1 -> 1."""
    largest, factor = 1, 2
    while factor * factor <= n:
        while n % factor == 0:
            n, largest = n // factor, factor
        factor += 1
    return max(n, largest)


def unit_error(shape: Sequence[int], dtype: str) -> float:
    """eps sqrt(log2 N): the relative L2 error that a transform of N points may have, but for a small factor."""
    return EPSILON[dtype] * math.sqrt(math.log2(math.prod(shape)))


def allowed_units(shape: Sequence[int]) -> float:
    """spanfft's accuracy rule: 0.6 units of error where no prime factor exceeds 13, 1.5 otherwise."""
    return 0.6 if max(map(largest_prime_factor, shape)) <= 13 else 1.5


def peak_resident_bytes() -> int:
    """Most memory that this process has occupied so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bytes_text(count: float) -> str:
    """1536 -> "1.50 KiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if count == int(count) or count >= 100 else f"{count:.3g} {unit}"


def grouped(count: int) -> str:
    """16777216 -> "16 777 216"."""
    return f"{count:,}".replace(",", " ")


class Progress:
    """A line that counts up to 100 % on a terminal; in a pipe, one plain line at the end. To stderr.

    >>> with Progress("writing", 10) as progress:
    ...     progress.advance(10)
    """

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, max(total, 1), 0
        self._start = time.monotonic()
        self._next = 0.0
        self._live = sys.stderr.isatty()

    def advance(self, count: int = 1) -> None:
        """`count` more of the total are done."""
        self._done += count
        now = time.monotonic()
        if self._live and now >= self._next:
            self._next = now + 0.1
            share = min(self._done / self._total, 1.0)
            bar = "█" * round(30 * share)
            print(f"\r\033[K   {self._what} {share:4.0%} |{bar:<30}|", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        erase = "\r\033[K" if self._live else ""
        ending = f"{time.monotonic() - self._start:.1f} s" if kind is None else "not finished"
        print(f"{erase}   {self._what}: {ending}", file=sys.stderr, flush=True)


def blocks(total: int, size: int) -> Iterable[tuple[int, int]]:
    """(start, count) of consecutive blocks of at most `size` that cover range(total)."""
    for start in range(0, total, size):
        yield start, min(size, total - start)
