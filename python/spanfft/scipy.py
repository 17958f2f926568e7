"""scipy.fft's backend: programs that call scipy.fft run on spanfft after one line.

    import scipy.fft, spanfft.scipy
    scipy.fft.set_global_backend(spanfft.scipy)      # or: with scipy.fft.set_backend(spanfft.scipy): ...

All of scipy.fft's Fourier, cosine and sine transforms take its arguments here and give its shapes, element types and
errors; the numbers keep docs/accuracy.md. `workers` is the number of threads, one unless it or scipy.fft.set_workers
says more. `overwrite_x` is accepted, and nothing is overwritten. What spanfft has no transform for (fht, ifht, arrays
that are not NumPy's) is handed on to SciPy.
Source: the protocol of SciPy's backends, uarray: https://uarray.org/en/latest/libraries.html
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _calls as calls
from . import _dct
from ._arrays import AnyArray, norm_name
from ._errors import InvalidArgument, InvalidAxis, InvalidType, Unsupported
from ._fft import swapped_norm
from ._native import core

if TYPE_CHECKING:
    from ._calls import Form

__all__: list[str] = []

__ua_domain__ = "numpy.scipy.fft"


def __ua_function__(method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What scipy.fft calls in place of `method`."""
    ours = _METHODS.get(method.__name__)
    x = args[0] if args else kwargs.get("x")
    if ours is None or (hasattr(x, "__array_namespace__") and not isinstance(x, (np.ndarray, np.generic))):
        return _by_scipy(method, args, kwargs)
    return ours(*args, **kwargs)


def _by_scipy(method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    from scipy.fft import set_backend

    with set_backend("scipy", only=True):
        return method(*args, **kwargs)


# --- arguments, as scipy.fft takes them ----------------------------------------------------------------------------


def _floating(x: Any) -> AnyArray:
    """The array with elements that a transform has: whole numbers become double, halves single precision."""
    array = np.asarray(x)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind not in "fc":
        try:
            return np.asarray(array, np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidType(f"x has dtype {array.dtype}, which can't be made numbers: {error}") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _threads(workers: int | None) -> int:
    """As many as scipy.fft would have workers; -1 stands for all processors, -2 for all but one."""
    if workers is None:
        from scipy.fft import get_workers

        return int(get_workers())
    processors = os.cpu_count() or 1
    if workers < 0:
        if workers < -processors:
            raise InvalidArgument(f"workers value out of range; got {workers}, must not be less than {-processors}")
        return workers + 1 + processors
    if workers == 0:
        raise InvalidArgument("workers must not be zero")
    return operator.index(workers)


def _no_plan(plan: object) -> None:
    if plan is not None:
        raise Unsupported("a precomputed plan can't be passed to scipy.fft's functions; spanfft.Plan is run by its own")


def _norm(norm: Any) -> str:
    try:
        return norm_name(norm)
    except InvalidArgument:
        raise InvalidArgument(f'Invalid norm value {norm!r}, should be "backward", "ortho" or "forward"') from None


def _whole(values: Any, name: str) -> list[int]:
    several: Any = (values,) if isinstance(values, Number) else values
    try:
        return [operator.index(value) for value in several]
    except TypeError:
        raise InvalidArgument(f"{name} must be a scalar or iterable of integers") from None


def _several(x: AnyArray, s: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Lengths and axes: s alone is of the last axes, -1 in it an axis's own length."""
    picked = None if axes is None else [axis + x.ndim if axis < 0 else axis for axis in _whole(axes, "axes")]
    if picked is not None:
        if any(not 0 <= axis < x.ndim for axis in picked):
            raise InvalidArgument(f"axes exceeds dimensionality of input: axes are {axes}, the array has {x.ndim}")
        if len(set(picked)) != len(picked):
            raise InvalidArgument(f"all axes must be unique; they are {axes}")
    if s is None:
        picked = list(range(x.ndim)) if picked is None else picked
        lengths = [x.shape[axis] for axis in picked]
    else:
        lengths = _whole(s, "shape")
        if picked and len(picked) != len(lengths):
            raise InvalidArgument("when given, axes and shape arguments have to be of the same length")
        if picked is None:
            if len(lengths) > x.ndim:
                raise InvalidArgument("shape requires more axes than are present")
            picked = list(range(x.ndim - len(lengths), x.ndim))
        lengths = [x.shape[axis] if n == -1 else n for n, axis in zip(lengths, picked, strict=False)]
    if any(n < 1 for n in lengths):
        raise InvalidArgument(f"invalid number of data points ({lengths}) specified")
    return lengths, picked


def _one(x: AnyArray, axis: Any) -> int:
    found = operator.index(axis)
    if not -x.ndim <= found < x.ndim:
        raise InvalidAxis(f"axis {axis} is out of range: the array has {x.ndim} axes")
    return found % x.ndim


# --- Fourier transforms --------------------------------------------------------------------------------------------


def _fourier(
    x: Any, lengths: Sequence[int] | None, axes: Sequence[int], form: Form, norm: str | None, threads: int
) -> AnyArray:
    """`lengths` are those in real space of `axes`; None: the array's own."""
    s = None if lengths is None else tuple(lengths)
    return calls.transform_like_numpy(x, s, tuple(axes), form, norm, None, None, None, threads=threads)


def _along_one(form: Form, small: int, hermitian: bool = False) -> Callable[..., AnyArray]:
    def transform(
        x: Any,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: object = None,
    ) -> AnyArray:
        _no_plan(plan)
        threads = _threads(workers)
        if isinstance(x, np.ndarray) and x.dtype != np.float16:
            # Of a plain array, in one step; what needs more is told by None.
            found: AnyArray | None = core.small_call(small, x, n, axis, norm)
            if found is not None:
                return found
        array = _floating(x)
        if form is calls.R2C and array.dtype.kind == "c":
            raise InvalidType(f"x must be a real sequence; it has dtype {array.dtype}")
        _norm(norm)
        at = _one(array, axis)
        length = array.shape[at] if n is None else operator.index(n)
        if form is calls.C2R and n is None:
            length = 2 * (length - 1)
        if length < 1:
            raise InvalidArgument(f"invalid number of data points ({length}) specified")
        named = swapped_norm(norm) if hermitian else norm
        if form is calls.C2R and hermitian:
            array = np.conjugate(array)
        result = _fourier(array, [length], [at], form, named, threads)
        return np.conjugate(result, result) if hermitian and form is calls.R2C else result

    return transform


def _along_several(form: Form, small: int, hermitian: bool = False, default: Any = None) -> Callable[..., AnyArray]:
    def transform(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: object = None,
    ) -> AnyArray:
        _no_plan(plan)
        threads = _threads(workers)
        if s is None and isinstance(x, np.ndarray) and x.dtype != np.float16:
            plain: AnyArray | None = core.small_call_nd(small, x, axes, norm)
            if plain is not None:
                return plain
        array = _floating(x)
        if form is calls.R2C and array.dtype.kind == "c":
            raise InvalidType(f"x must be a real sequence; it has dtype {array.dtype}")
        lengths, picked = _several(array, s, axes)
        _norm(norm)
        if not picked:
            if form.name == "c2c":
                return x  # type: ignore[no-any-return]  # as SciPy has it
            raise InvalidArgument("at least 1 axis must be transformed")
        if form is calls.C2R:
            if s is None:
                lengths[-1] = 2 * (array.shape[picked[-1]] - 1)
            if lengths[-1] < 1:
                raise InvalidArgument(f"invalid number of data points ({lengths[-1]}) specified")
        named = swapped_norm(norm) if hermitian else norm
        if form is calls.C2R and hermitian:
            array = np.conjugate(array)
        found = _fourier(array, lengths, picked, form, named, threads)
        return np.conjugate(found, found) if hermitian and form is calls.R2C else found

    return transform


# --- cosine and sine transforms ------------------------------------------------------------------------------------


def _cosine(family: str, inverse: bool, several: bool) -> Callable[..., AnyArray]:
    def transform(
        x: Any,
        type: Any = 2,
        n: Any = None,
        axis: Any = None if several else -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> AnyArray:
        threads = _threads(workers)
        if n is None and isinstance(x, np.ndarray):
            at_once = _dct.small(family, inverse, x, type, axis if several else (axis,), norm, orthogonalize)
            if at_once is not None:
                return at_once
        array = _floating(x)
        if several:
            lengths, axes = _several(array, n, axis)
            if not axes:
                return x  # type: ignore[no-any-return]
        else:
            axes = [_one(array, axis)]
            lengths = [array.shape[axes[0]] if n is None else operator.index(n)]
            if lengths[0] < 1:
                raise InvalidArgument(f"invalid number of data points ({lengths[0]}) specified")
        _norm(norm)
        return _dct.transform(family, inverse, array, type, lengths, axes, norm, orthogonalize, threads, None, None)

    if not several:
        return transform

    def along_several(
        x: Any,
        type: Any = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> AnyArray:
        return transform(x, type, s, axes, norm, overwrite_x, workers, orthogonalize)

    return along_several


_METHODS: dict[str, Callable[..., AnyArray]] = {
    "fft": _along_one(calls.C2C, calls.SMALL_C2C),
    "ifft": _along_one(calls.C2C_BACKWARD, calls.SMALL_C2C_BACKWARD),
    "rfft": _along_one(calls.R2C, calls.SMALL_R2C),
    "irfft": _along_one(calls.C2R, calls.SMALL_C2R),
    "hfft": _along_one(calls.C2R, calls.SMALL_HERMITIAN, hermitian=True),
    "ihfft": _along_one(calls.R2C, calls.SMALL_TO_HERMITIAN, hermitian=True),
}
for _name, _form, _small, _is_hermitian in (
    ("fft", calls.C2C, calls.SMALL_C2C, False),
    ("ifft", calls.C2C_BACKWARD, calls.SMALL_C2C_BACKWARD, False),
    ("rfft", calls.R2C, calls.SMALL_R2C, False),
    ("irfft", calls.C2R, calls.SMALL_C2R, False),
    ("hfft", calls.C2R, calls.SMALL_HERMITIAN, True),
    ("ihfft", calls.R2C, calls.SMALL_TO_HERMITIAN, True),
):
    _METHODS[f"{_name}n"] = _along_several(_form, _small, _is_hermitian)
    _METHODS[f"{_name}2"] = _along_several(_form, _small, _is_hermitian, (-2, -1))
for _name in ("dct", "dst"):
    for _prefix, _inverse in (("", False), ("i", True)):
        _METHODS[f"{_prefix}{_name}"] = _cosine(_name, _inverse, several=False)
        _METHODS[f"{_prefix}{_name}n"] = _cosine(_name, _inverse, several=True)
