"""Helpers that every array interface shares: kinds, element types, axes, boxes, aligned arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from ._arguments import whole
from ._errors import InvalidArgument, InvalidAxis, InvalidType
from ._problem import KINDS, NORMS, PRECISIONS

__all__ = [
    "BACKWARD",
    "FORWARD",
    "aligned_zeros",
    "balanced",
    "kinds_of_axes",
    "listed",
    "native",
    "norm_name",
    "normalize_axes",
    "precision_of",
    "whole",
]

AnyArray = npt.NDArray[Any]

FORWARD, BACKWARD = "forward", "backward"
REAL_DTYPES: tuple[np.dtype[Any], ...] = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.longdouble))
COMPLEX_DTYPES: tuple[np.dtype[Any], ...] = (
    np.dtype(np.complex64),
    np.dtype(np.complex128),
    np.dtype(np.clongdouble),
)
_PRECISIONS = {
    dtype: name for dtypes in (REAL_DTYPES, COMPLEX_DTYPES) for dtype, name in zip(dtypes, PRECISIONS, strict=True)
}
_ALIGNMENT = 64


def as_array(a: object) -> AnyArray:
    """numpy's array of it, or an `InvalidArgument` where numpy makes none."""
    try:
        return np.asarray(a)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(str(error)) from error


def norm_name(norm: str | None) -> str:
    """numpy's ``norm``, checked; None is "backward"."""
    if norm is None:
        return "backward"
    if not isinstance(norm, str) or norm not in NORMS:
        raise InvalidArgument(f'norm is {norm!r}; it can be "backward", "ortho" or "forward"')
    return norm


def precision_of(dtype: np.dtype[Any]) -> str:
    """A problem's word for an element type, real or complex."""
    try:
        return _PRECISIONS[dtype]
    except KeyError:
        raise InvalidType(
            f"dtype is {dtype}; it can be float32, float64, longdouble, complex64, complex128 or clongdouble"
        ) from None


def native(dtype: np.dtype[Any], scalar: complex) -> np.dtype[Any]:
    """The type that numpy gives a number of `dtype` beside a Python float or complex, in native byte order."""
    result: np.dtype[Any] = np.result_type(dtype, scalar).newbyteorder("=")
    return result


def listed(value: Any, name: str) -> list[Any]:
    """The entries of a sequence argument, or an error that names it."""
    try:
        return list(value)
    except TypeError:
        raise InvalidType(f"{name} is {value!r}; it must be a sequence, such as a tuple") from None


def normalize_axis(axis: SupportsIndex, ndim: int) -> int:
    """0 <= axis < ndim, counting negative ones from the end."""
    a = whole(axis, "axis")
    if not -ndim <= a < ndim:
        raise InvalidAxis(f"axis {a} is out of bounds for array of dimension {ndim}")
    return a % ndim


def normalize_axes(axes: SupportsIndex | Iterable[SupportsIndex] | None, ndim: int) -> tuple[int, ...]:
    """All axes for None, else each checked."""
    if axes is None:
        return tuple(range(ndim))
    given = [axes] if isinstance(axes, SupportsIndex) else listed(axes, "axes")
    if not given:
        raise InvalidArgument("axes is empty; name at least one axis to transform")
    return tuple(normalize_axis(a, ndim) for a in given)


def kinds_of_axes(kind: str | Sequence[str], naxes: int) -> tuple[str, ...]:
    """One kind an axis. "r2c" for several axes means: the last one is halved, the others are c2c."""
    if isinstance(kind, str):
        if kind == "c2r":
            raise InvalidArgument('kind is "c2r"; use "r2c", whose backward transform it is')
        names = ["c2c"] * (naxes - 1) + ["r2c"] if kind == "r2c" else [kind] * naxes
    else:
        names = listed(kind, "kind")
        if len(names) != naxes:
            raise InvalidArgument(f"kind names {len(names)} transforms for {naxes} axes; give one an axis")
    if not all(isinstance(name, str) and name in KINDS for name in names):
        raise InvalidArgument(f"kind is {kind!r}; it can be {', '.join(KINDS)}, or a list with one an axis")
    if "r2c" in names[:-1]:
        raise InvalidArgument(f"kind is {kind!r}; only the last of the transformed axes can be r2c")
    return tuple(names)


def balanced(n: int, parts: int, part: int) -> tuple[int, int]:
    """Start and length of a part of n indices in balanced blocks: the first n % parts hold one more.

    10 over 4: (0, 3), (3, 3), (6, 2), (8, 2).
    """
    small, more = divmod(n, parts)
    return part * small + min(part, more), small + (part < more)


def aligned_zeros(shape: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    """Zeros that start at a multiple of 64 bytes; pages are not touched until they are used."""
    count = int(np.prod(shape, dtype=object)) if shape else 1
    raw = np.zeros(count * dtype.itemsize + _ALIGNMENT, dtype=np.uint8)
    skip = -raw.ctypes.data % _ALIGNMENT
    return raw[skip : skip + count * dtype.itemsize].view(dtype).reshape(tuple(shape))


def slices(part: tuple[Sequence[int], Sequence[int], Sequence[int]]) -> tuple[slice, ...]:
    """A part (start, count, step) as slices of the global array; a step of 1 is left out."""
    return tuple(
        slice(start, start + count) if step == 1 else slice(start, start + (count - 1) * step + 1, step)
        for start, count, step in zip(*part, strict=True)
    )
