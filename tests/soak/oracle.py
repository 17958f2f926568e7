"""What a transform must give: scipy.fft in long double, axis by axis, and the accuracy rule of docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.fft

FEW = 256  # numbers; the error of one draw of fewer strays from its mean, of which the rule speaks


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def per_axis(kind: str | Sequence[str], axes: Sequence[int]) -> list[str]:
    """One kind an axis; "r2c" alone is r2c on the last and c2c on the others."""
    if isinstance(kind, str):
        return ["c2c"] * (len(axes) - 1) + ["r2c"] if kind == "r2c" else [kind] * len(axes)
    return list(kind)


def forward(x: np.ndarray, kind, axes: Sequence[int], norm: str = "backward") -> np.ndarray:
    """Real transforms first, so that what is real stays so as long as it can."""
    v = wide(x)
    pairs = sorted(zip(per_axis(kind, axes), axes, strict=True), key=lambda pair: ("dr".find(pair[0][0]) < 0, pair[0]))
    for name, axis in pairs:
        if name == "c2c":
            v = scipy.fft.fft(v, axis=axis, norm=norm)
        elif name == "r2c":
            v = scipy.fft.rfft(v, axis=axis, norm=norm)
        else:
            v = getattr(scipy.fft, name[:3])(v, int(name[3]), axis=axis, norm=norm)
    return v


def backward(x: np.ndarray, kind, axes: Sequence[int], real_shape: Sequence[int], norm="backward") -> np.ndarray:
    v = wide(x)
    pairs = sorted(zip(per_axis(kind, axes), axes, strict=True), key=lambda pair: pair[0] == "r2c")
    for name, axis in pairs:
        if name == "c2c":
            v = scipy.fft.ifft(v, axis=axis, norm=norm)
        elif name == "r2c":
            v = scipy.fft.irfft(v, real_shape[axis], axis=axis, norm=norm)
        else:
            v = getattr(scipy.fft, f"i{name[:3]}")(v, int(name[3]), axis=axis, norm=norm)
    return v


def largest_prime(n: int) -> int:
    largest, p = 1, 2
    while n > 1:
        if n % p == 0:
            largest, n = p, n // p
        else:
            p = p + 1 if p * p <= n else n
    return largest


def logical(kind: str, n: int) -> int:
    if kind in ("c2c", "r2c"):
        return n
    return {"dct1": 2 * (n - 1), "dst1": 2 * (n + 1)}.get(kind, 2 * n)


def limit(kind, axes: Sequence[int], real_shape: Sequence[int], dtype) -> float:
    """The rule, for the relative L2 error."""
    kinds = per_axis(kind, axes)
    lengths = [max(1, logical(k, real_shape[a])) for k, a in zip(kinds, axes, strict=True)]
    eps = float(np.finfo(dtype).eps)
    factor = 0.6 if max(map(largest_prime, lengths)) <= 13 else 1.5
    points = float(np.prod([float(n) for n in lengths]))
    rule = factor * eps * float(np.sqrt(np.log2(max(points, 2.0))))
    # A DCT or DST of one or two points is a multiplication by sqrt(2), rounded: no sum for its error to drown in.
    room = sum(0.7 * eps for k, a in zip(kinds, axes, strict=True) if k[0] == "d" and real_shape[a] <= 2)
    # The reference for long double is long double itself, and errs as much as what it is to judge.
    return 2 * (rule + room) if np.finfo(dtype).nmant >= 63 else rule + room


def squared_error(result: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """|result - exact|^2 and |exact|^2, summed; NaN for NaN."""
    difference = wide(result) - exact
    return tuple(float(np.sum(v.real**2 + v.imag**2)) for v in (difference, exact))


def error_of(squares: Sequence[tuple[float, float]]) -> float:
    """The relative error over all draws together."""
    difference, exact = (sum(part) for part in zip(*squares, strict=True))
    if not np.isfinite(difference):
        return float("inf")
    return float(np.sqrt(difference / exact)) if exact else float(np.sqrt(difference))
