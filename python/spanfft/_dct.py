"""scipy.fft's cosine and sine transforms, types 1 to 4, for arrays in this process and on MPI ranks (``comm=``).

With ``comm`` arrays are divided as `spanfft.fft` describes, and each function is collective.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from ._arguments import whole
from ._arrays import BACKWARD, FORWARD, AnyArray
from ._calls import Call, execute_ranks, global_shape, merge_axes, no_axes, resize, run_local, small_cosine
from ._errors import InvalidArgument, InvalidType, Unsupported
from ._native import core

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._mpi import Ranks

__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"]

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def _factors(family: str, type_: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which entries along an axis carry sqrt(2) before, and 1/sqrt(2) after, to make the transform orthogonal."""
    if family == "dct":
        return {1: ((0, -1), (0, -1)), 2: ((), (0,)), 3: ((0,), ()), 4: ((), ())}[type_]
    return {1: ((), ()), 2: ((), (-1,)), 3: ((-1,), ()), 4: ((), ())}[type_]


def _scale(
    a: AnyArray,
    axes: Sequence[int],
    entries: tuple[int, ...],
    factor: float,
    start: Sequence[int],
    shape: Sequence[int],
) -> None:
    """Multiplies global entries of an axis, where this box (which begins at `start`) holds them."""
    for axis in axes:
        for entry in entries:
            place = entry % shape[axis] - start[axis]
            if 0 <= place < a.shape[axis]:
                a[(slice(None),) * axis + (slice(place, place + 1),)] *= a.dtype.type(factor)


@dataclass(frozen=True)
class _Extra:
    """What is left to do around the library, which makes transforms orthogonal for norm="ortho" and only then."""

    norm: str  # what the library is asked for
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    factor: float = 1.0


def _extra(
    family: str, inverse: bool, type_: int, norm: str | None, orthogonalize: bool | None, lengths: Sequence[int]
) -> _Extra:
    name = arrays.norm_name(norm)
    if orthogonalize is None or orthogonalize == (norm == "ortho"):
        return _Extra(name)
    if orthogonalize:
        return _Extra(name, *_factors(family, _INVERSE_TYPE[type_] if inverse else type_))
    # Unscaled, then 1 / sqrt of the logical lengths: 2 (n - 1) for DCT-1, 2 (n + 1) for DST-1, else 2 n.
    shift = {"dct1": -1, "dst1": 1}.get(f"{family}{type_}", 0)
    unscaled = arrays.norm_name("forward" if inverse else "backward")
    return _Extra(unscaled, factor=1 / math.sqrt(math.prod(2 * (n + shift) for n in lengths)))


def _real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in "biufc":
        raise InvalidType(f"x has dtype {dtype}; it must be numbers")
    real = np.zeros(0, dtype).real.dtype
    return np.dtype(np.float32) if real == np.float16 else arrays.native(real, 1.0)


def _pick(x: AnyArray, s: object, axes: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lengths and axes, by scipy's rules: s alone means the last axes."""
    if s is None:
        picked = arrays.normalize_axes(axes, x.ndim)  # type: ignore[arg-type]
        lengths = tuple(x.shape[axis] for axis in picked)
    else:
        given = list(s) if isinstance(s, Iterable) else [s]
        default = range(-len(given), 0) if axes is None else axes
        picked = arrays.normalize_axes(default, x.ndim)  # type: ignore[arg-type]
        if len(given) != len(picked):
            raise InvalidArgument(f"s has {len(given)} lengths for {len(picked)} axes")
        pairs = zip(given, picked, strict=True)
        lengths = tuple(x.shape[axis] if n in (None, -1) else whole(n, "s") for n, axis in pairs)
    if len(set(picked)) != len(picked):
        raise InvalidArgument(f"axes {picked} name one axis twice")
    for n in lengths:
        if n < 1:
            raise InvalidArgument(f"invalid number of data points ({n}) specified")
    if len(picked) > core.max_ndim:
        raise Unsupported(f"{len(picked)} axes in one call; transform at most {core.max_ndim} at a time")
    return lengths, picked


def _kind_of_type(family: str, type_: object) -> str:
    if type_ not in (1, 2, 3, 4):
        raise InvalidArgument(f"type is {type_!r}; it can be 1, 2, 3 or 4")
    return f"{family}{type_}"


def small(
    family: str, inverse: bool, x: object, type_: object, axes: object, norm: object, orthogonalize: object
) -> AnyArray | None:
    """Of a plain, short array along a tuple of axes, or all (None), in one step; else None: `transform` does it."""
    if type(type_) is not int or type_ not in _INVERSE_TYPE:
        return None
    if orthogonalize is not None and orthogonalize is not (norm == "ortho"):
        return None
    found: AnyArray | None = core.small_call_nd(small_cosine(family, type_, inverse), x, axes, norm)
    return found


def transform(
    family: str,
    inverse: bool,
    x: object,
    type_: int,
    s: object,
    axes: object,
    norm: str | None,
    orthogonalize: bool | None,
    workers: int | None,
    comm: Comm | None,
    grid: Sequence[int] | None,
) -> AnyArray:
    if comm is not None:
        from ._mpi import ranks_of

        return _on_ranks(ranks_of(comm), family, inverse, x, type_, s, axes, norm, orthogonalize, grid)
    if grid is not None:
        raise InvalidArgument("grid= divides an array over ranks; give comm= too")
    if s is None:
        at_once = small(family, inverse, x, type_, axes, norm, orthogonalize)
        if at_once is not None:
            return at_once
    array = np.asarray(x)
    real = _real_dtype(array.dtype)
    kind = _kind_of_type(family, type_)
    arrays.norm_name(norm)
    if no_axes(array, s, axes):
        same: AnyArray = array.copy()  # as scipy has it, of the array's own type
        return same
    lengths, picked = _pick(array, s, axes)
    array = resize(array, dict(zip(picked, lengths, strict=True)))
    if len(merge_axes(array.shape, picked)[0]) > core.max_ndim:
        raise Unsupported(f"an array of {array.ndim} axes with transforms along {picked}; reshape it to fewer axes")
    direction = BACKWARD if inverse else FORWARD
    threads = 0 if workers is None or workers < 0 else workers
    precision = arrays.precision_of(real)
    extra = _extra(family, inverse, type_, norm, orthogonalize, lengths)
    call = Call(array.shape, picked, (kind,) * len(picked), direction, precision, extra.norm, (), threads)
    origin = (0,) * array.ndim

    def run(part: AnyArray) -> AnyArray:
        source = np.ascontiguousarray(part, dtype=real).reshape(part.shape)
        result = np.empty(array.shape, real)
        if result.size:
            if extra.before:
                source = source.copy() if np.may_share_memory(source, part) else source
                _scale(source, picked, extra.before, math.sqrt(2), origin, array.shape)
            run_local(source, result, call)
            _scale(result, picked, extra.after, math.sqrt(0.5), origin, array.shape)
            if extra.factor != 1:
                result *= real.type(extra.factor)
        return result

    if array.dtype.kind != "c":
        return run(array)
    result = np.empty(array.shape, np.result_type(real, 1j))
    result.real = run(array.real)
    result.imag = run(array.imag)
    return result


def _on_ranks(
    ranks: Ranks,
    family: str,
    inverse: bool,
    x: object,
    type_: int,
    s: object,
    axes: object,
    norm: str | None,
    orthogonalize: bool | None,
    grid: Sequence[int] | None,
) -> AnyArray:
    array: AnyArray = np.empty(0)

    def ask() -> tuple[tuple[int, ...], tuple[object, ...]]:
        nonlocal array
        array = arrays.as_array(x)
        if s is not None:
            raise Unsupported("arrays on ranks can't be cropped or padded (n=, s=); do that before they are divided")
        picked = arrays.normalize_axes(axes, array.ndim)  # type: ignore[arg-type]
        if len(set(picked)) != len(picked):
            raise InvalidArgument(f"axes {picked} name one axis twice")
        divided = None if grid is None else tuple(whole(p, "grid") for p in grid)
        common = (
            ("i" if inverse else "") + family,
            _kind_of_type(family, type_),
            str(_real_dtype(array.dtype)),
            array.dtype.kind == "c",
            picked,
            arrays.norm_name(norm),
            orthogonalize,
            divided,
        )
        return array.shape, common

    asked = ranks.agree(ask, lambda found: found[1])
    shape, full_grid = global_shape([found[0] for found in asked], grid)
    real = _real_dtype(array.dtype)
    picked = arrays.normalize_axes(axes, array.ndim)  # type: ignore[arg-type]
    kinds = (_kind_of_type(family, type_),) * len(picked)
    direction = BACKWARD if inverse else FORWARD
    extra = _extra(family, inverse, type_, norm, orthogonalize, [shape[axis] for axis in picked])
    call = Call(shape, picked, kinds, direction, arrays.precision_of(real), extra.norm, full_grid)
    plan = ranks.cached(call, lambda: call.plan(ranks.handle))

    def run(part: AnyArray) -> AnyArray:
        source = np.array(part, dtype=real, order="C")
        _scale(source, picked, extra.before, math.sqrt(2), plan.input_part[0], shape)
        result = execute_ranks(ranks, plan, source, real, real, None)
        _scale(result, picked, extra.after, math.sqrt(0.5), plan.output_part[0], shape)
        return result if extra.factor == 1 else result * real.type(extra.factor)

    if array.dtype.kind != "c":
        return run(array)
    return run(array.real) + 1j * run(array.imag)


_PARAMETERS = """

    Parameters
    ----------
    x
        Numbers, any layout in memory; the parts of complex ones are transformed separately. With `comm`: this
        rank's box of the global array.
    type
        1, 2, 3 or 4.
    {lengths}
    norm
        "backward" (default), "ortho" or "forward", as in scipy.fft.
    overwrite_x
        Accepted for scipy's sake; `x` is never changed.
    workers
        Threads; default: the planner chooses.
    orthogonalize
        Whether the matrix is made orthogonal (up to scale). Default: for norm="ortho" only.
    comm
        mpi4py communicator over which the array is divided. All its ranks must call (collective).
    grid
        Into how many blocks each axis is divided, for `comm`. Default: axis 0 over all ranks.

    Returns
    -------
    numpy.ndarray
        Of the precision of `x` (integers: double) and its shape, or the lengths asked for.
    """


_Function = TypeVar("_Function", bound=Callable[..., AnyArray])


def _document(lengths: str) -> Callable[[_Function], _Function]:
    def add(function: _Function) -> _Function:
        function.__doc__ = (function.__doc__ or "") + _PARAMETERS.format(lengths=lengths)
        return function

    return add


_one = _document("n, axis\n        Length to crop or pad to, and the axis.")
_many = _document(
    "s, axes\n        Lengths to crop or pad to, and the axes, or one of each; s alone means the last. Default: all."
)


@_one
def dct(
    x: npt.ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete cosine transform along one axis."""
    s = None if n is None else (n,)
    return transform("dct", False, x, type, s, (axis,), norm, orthogonalize, workers, comm, grid)


@_many
def dctn(
    x: npt.ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete cosine transform along several axes."""
    return transform("dct", False, x, type, s, axes, norm, orthogonalize, workers, comm, grid)


@_one
def idct(
    x: npt.ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `dct` of the same type."""
    s = None if n is None else (n,)
    return transform("dct", True, x, type, s, (axis,), norm, orthogonalize, workers, comm, grid)


@_many
def idctn(
    x: npt.ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `dctn` of the same type."""
    return transform("dct", True, x, type, s, axes, norm, orthogonalize, workers, comm, grid)


@_one
def dst(
    x: npt.ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete sine transform along one axis."""
    s = None if n is None else (n,)
    return transform("dst", False, x, type, s, (axis,), norm, orthogonalize, workers, comm, grid)


@_many
def dstn(
    x: npt.ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete sine transform along several axes."""
    return transform("dst", False, x, type, s, axes, norm, orthogonalize, workers, comm, grid)


@_one
def idst(
    x: npt.ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `dst` of the same type."""
    s = None if n is None else (n,)
    return transform("dst", True, x, type, s, (axis,), norm, orthogonalize, workers, comm, grid)


@_many
def idstn(
    x: npt.ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `dstn` of the same type."""
    return transform("dst", True, x, type, s, axes, norm, orthogonalize, workers, comm, grid)
