"""What padded transforms give, by numpy.fft: every axis in turn is transformed whole, and cut or filled with zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def reals(shape: tuple[int, ...], kind: str) -> Array:
    """Numbers for real space; complex ones for c2c."""
    rng = np.random.default_rng(sum(shape))
    u: Array = rng.standard_normal(shape)
    return u if kind == "r2c" else u + 1j * rng.standard_normal(shape)


def spectrum_of(plan: Any) -> Array:
    """A spectrum of real numbers for `backward`."""
    found: Array = plan.forward(reals(plan.input_shape, "r2c"))
    return found


def cases() -> list[tuple[tuple[int, ...], str]]:
    """Axes of three, in any order, and kinds."""
    return [(axes, kind) for axes in [(0, 1, 2), (2, 0), (2, 1, 0), (1,), (0,)] for kind in ("c2c", "r2c")]


def _cut(y: Array, axis: int, n: int) -> Array:
    """The spectrum along a complex axis of a grid of n points. Of an even n, n/2 and -n/2 are one."""
    whole = y.shape[axis]
    if n == whole:
        return y
    y = np.moveaxis(y, axis, 0)
    cut = np.concatenate([y[: n - n // 2], y[whole - n // 2 :]]) if n > 1 else y[:1].copy()
    if n % 2 == 0:
        cut[n // 2] += y[n // 2]
    return np.moveaxis(cut, 0, axis)


def _fill(x: Array, axis: int, whole: int) -> Array:
    n = x.shape[axis]
    if n == whole:
        return x
    x = np.moveaxis(x, axis, 0)
    filled = np.zeros((whole, *x.shape[1:]), x.dtype)
    filled[: n - n // 2] = x[: n - n // 2]
    if n > 1:
        filled[whole - n // 2 :] = x[n - n // 2 :]
    if n % 2 == 0:
        filled[whole - n // 2] /= 2
        filled[n // 2] = filled[whole - n // 2]
    return np.moveaxis(filled, 0, axis)


def forward(u: Array, kept: tuple[int, ...], kind: str, axes: tuple[int, ...] | None = None) -> Array:
    """Coefficients, scaled by 1 over the points of real space."""
    axes = tuple(range(u.ndim)) if axes is None else axes
    last, n = axes[-1], kept[axes[-1]]
    if kind == "r2c":
        whole = u.shape[last]
        y = np.moveaxis(np.fft.rfft(u, axis=last, norm="forward"), last, 0)[: n // 2 + 1].copy()
        if n < whole and n % 2 == 0:
            y[n // 2] = 2 * y[n // 2].real
        y = np.moveaxis(y, 0, last)
    else:
        y = _cut(np.fft.fft(u, axis=last, norm="forward"), last, n)
    for axis in axes[:-1]:
        y = _cut(np.fft.fft(y, axis=axis, norm="forward"), axis, kept[axis])
    return y


def backward(
    x: Array, shape: tuple[int, ...], kept: tuple[int, ...], kind: str, axes: tuple[int, ...] | None = None
) -> Array:
    """The field with these coefficients on a grid of `shape`."""
    axes = tuple(range(x.ndim)) if axes is None else axes
    for axis in axes[:-1]:
        x = np.fft.ifft(_fill(x, axis, shape[axis]), axis=axis, norm="forward")
    last, n, whole = axes[-1], kept[axes[-1]], shape[axes[-1]]
    if kind == "c2c":
        return np.fft.ifft(_fill(x, last, whole), axis=last, norm="forward")
    x = np.moveaxis(x, last, 0)
    filled = np.zeros((whole // 2 + 1, *x.shape[1:]), complex)
    filled[: n // 2 + 1] = x
    if n < whole and n % 2 == 0:
        filled[n // 2] = filled[n // 2].real / 2
    return np.moveaxis(np.fft.irfft(filled, whole, axis=0, norm="forward"), 0, last)
