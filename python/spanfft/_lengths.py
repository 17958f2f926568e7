"""Lengths that engines are fast at: products of small primes, as scipy.fft's functions of these names give them.

FFTW, MKL and ducc0 have kernels of their own for 2, 3, 5, 7 and 11 in complex transforms. Needs no numpy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import SupportsIndex

from ._arguments import whole
from ._errors import InvalidArgument

__all__ = ["next_fast_len", "prev_fast_len"]

_COMPLEX, _REAL = (11, 7, 5, 3), (5, 3)
_END = (1 << 63) // 11  # the next one is then counted in 64 bits


def _odd_products(primes: tuple[int, ...], most: int) -> list[int]:
    """All products of these primes up to `most`."""
    found = [1]
    for prime in primes:
        power = found
        while power := [n * prime for n in power if n * prime <= most]:
            found = found + power
    return found


@lru_cache
def _nearest(target: int, real: bool, upward: bool) -> int:
    if target <= 2:
        return target
    primes = _REAL if real else _COMPLEX
    if upward:
        # Each odd product times the least power of two that reaches the target.
        return min(n << max(0, (-(-target // n) - 1).bit_length()) for n in _odd_products(primes, 2 * target))
    return max(n << ((target // n).bit_length() - 1) for n in _odd_products(primes, target))


def _checked(target: SupportsIndex) -> int:
    n = whole(target, "target", 1 << 63)
    if not 0 <= n <= _END:
        raise InvalidArgument(f"target is {n}; a length can be 0 to {_END}")
    return n


def next_fast_len(target: SupportsIndex, real: bool = False) -> int:
    """The least length of at least `target` that is fast to transform: for padding.

    Parameters
    ----------
    target
        A length, 0 or more.
    real
        For real transforms: products of 2, 3 and 5 only; else also of 7 and 11.
    """
    return _nearest(_checked(target), bool(real), True)


def prev_fast_len(target: SupportsIndex, real: bool = False) -> int:
    """The greatest length up to `target` that is fast to transform: for cropping.

    Parameters are those of `next_fast_len`.
    """
    return _nearest(_checked(target), bool(real), False)
