"""What a transform must give: scipy.fft in long double, axis by axis, and the accuracy rule of docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

if TYPE_CHECKING:
    import spanfft

COMPRESSED = 2.0**-23  # what that exchange may lose unless told otherwise
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


def rule(lengths: Sequence[int], dtype) -> float:
    """0.6 eps sqrt(log2 N) where no prime factor exceeds 13, else 1.5."""
    factor = 0.6 if max(map(largest_prime, lengths)) <= 13 else 1.5
    points = float(np.prod([float(n) for n in lengths]))
    return factor * float(np.finfo(dtype).eps) * float(np.sqrt(np.log2(max(points, 2.0))))


def keeps_rule(found: np.ndarray, exact: np.ndarray) -> bool:
    """For a complex transform of whole arrays."""
    return found.shape == exact.shape and error_of([squared_error(found, exact)]) <= rule(exact.shape, found.dtype)


def limit(kind, axes: Sequence[int], real_shape: Sequence[int], dtype, norm: str | None = "backward") -> float:
    """The rule for a problem against a reference in long double."""
    kinds = per_axis(kind, axes)
    eps = float(np.finfo(dtype).eps)
    lengths = [max(1, logical(k, real_shape[a])) for k, a in zip(kinds, axes, strict=True)]
    bound = rule(lengths, dtype)
    # A DCT or DST of one or two points, or an orthonormal FFT of two, is little more than a multiplication by a
    # constant, and what that was rounded by, at most eps/2, is the same in every draw (docs/accuracy.md).
    tiny = [k for k, a in zip(kinds, axes, strict=True) if k[0] == "d" and real_shape[a] <= 2]
    room = eps / 2 * max(len(tiny), int(norm == "ortho" and np.prod(lengths) <= 2))
    # The reference for long double is long double itself, and errs as much as what it is to judge.
    return 2 * (bound + room) if np.finfo(dtype).nmant >= 63 else bound + room


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


def draws(x: np.ndarray) -> list[np.ndarray]:
    """It, and more like it if it has few numbers: the rule speaks of the mean."""
    rng = np.random.default_rng(x.size)
    more = [rng.standard_normal((2, *x.shape)) for _ in range(FEW // max(1, x.size))]
    return [x, *((m[0] + 1j * m[1] if np.iscomplexobj(x) else m[0]).astype(x.dtype) for m in more)]


def both_ways(
    plan: spanfft.Plan, u: np.ndarray, kind="c2c", axes: Sequence[int] | None = None, norm: str = "backward"
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[tuple[np.ndarray, np.ndarray]], float]:
    """What a plan gives and must give, forward and backward, for each draw like `u` (the whole array in real space, a
    batch first), in this rank's box; and the limit of the errors, where compression may add 2^-24 an exchange."""
    batch = u.ndim - len(plan.shape)
    first = (slice(None),) * batch
    picked = [a % len(plan.shape) + batch for a in (range(len(plan.shape)) if axes is None else axes)]
    ins, outs = first + plan.input_slices, first + plan.output_slices
    there, back = [], []
    for x in draws(u):
        exact = forward(x, kind, picked, norm)
        there.append((plan.forward(np.array(x[ins])).copy(), exact[outs]))  # own_output: the next one overwrites it
        given = exact.astype(plan.spectrum_dtype)
        exact = backward(given, kind, picked, x.shape, norm)
        back.append((plan.backward(np.array(given[outs])).copy(), exact[ins]))
    bound = limit(kind, picked, u.shape, u.dtype, norm)
    if "exchange=compressed" in plan.problem:
        bound += 2.0**-24 * sum("Exchange" in step["type"] for step in plan.report()["steps"])
    return there, back, bound
