"""Calls in the manner of numpy.fft: what one asks for, the plan it needs, and its run, here or on ranks (``comm=``).

Plans are kept and used again: a few for this process, a few for each communicator. The names that users call are in
_fft.py and _dct.py.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays as arrays
from ._arguments import whole
from ._arrays import BACKWARD, FORWARD, AnyArray
from ._errors import Error, InternalError, InvalidArgument, InvalidAxis, InvalidType, OutOfMemory, Unsupported
from ._native import core
from ._problem import problem_string

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Plan as CorePlan
    from ._mpi import Ranks


@dataclass(frozen=True)
class Call:
    """One transform, but for the communicator: what caches are keyed by."""

    shape: tuple[int, ...]  # in real space
    axes: tuple[int, ...]
    kinds: tuple[str, ...]
    direction: str
    precision: str
    norm: str
    grid: tuple[int, ...] = ()
    threads: int = 0

    def plan(self, comm: int = 0) -> CorePlan:
        problem = problem_string(
            self.shape,
            self.kinds,
            self.axes,
            self.direction,
            self.precision,
            norm=self.norm,
            grid=self.grid,
            threads=self.threads,
        )
        return core.plan(problem, comm)


class _Pool:
    """Idle plans of this process. A plan is taken out while it runs, so threads don't wait for one another."""

    # Few, because plans own work space; what a program calls in its loop is seldom more.
    _max_plans = 32
    _max_bytes = 256 << 20

    def __init__(self) -> None:
        self.forget()
        # A plan's threads stay with the process that made it, and so does whoever holds the lock.
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._idle: OrderedDict[tuple[Call, int], CorePlan] = OrderedDict()
        self._bytes = 0
        self._numbers = itertools.count()

    @staticmethod
    def _owned_bytes(plan: CorePlan) -> int:
        return max(0, plan.peak_memory_bytes() - plan.input_bytes - plan.output_bytes)

    @contextmanager
    def plan(self, call: Call) -> Iterator[CorePlan]:
        plan = self._take(call)
        if plan is None:
            plan = call.plan()
        yield plan
        # A plan that failed is not kept.
        self._keep(call, plan)

    def _take(self, call: Call) -> CorePlan | None:
        with self._lock:
            for key in reversed(self._idle):
                if key[0] == call:
                    plan = self._idle.pop(key)
                    self._bytes -= self._owned_bytes(plan)
                    return plan
        return None

    def _keep(self, call: Call, plan: CorePlan) -> None:
        size = self._owned_bytes(plan)
        if size > self._max_bytes // 2:
            return
        with self._lock:
            while self._idle and (len(self._idle) >= self._max_plans or self._bytes + size > self._max_bytes):
                self._bytes -= self._owned_bytes(self._idle.popitem(last=False)[1])
            self._idle[call, next(self._numbers)] = plan
            self._bytes += size

    def clear(self) -> None:
        with self._lock:
            self._idle.clear()
            self._bytes = 0


_pool = _Pool()
os.register_at_fork(after_in_child=core.forget_small_calls)


def clear_cache(comm: Comm | None = None) -> None:
    """Frees the plans that the functions of this module keep.

    Parameters
    ----------
    comm
        None: those of this process. Else those of the communicator; collective.
    """
    if comm is None:
        _pool.clear()
        core.forget_small_calls()
    else:
        from ._mpi import ranks_of

        ranks_of(comm).clear_cache()


# --- one process -------------------------------------------------------------------------------------------------


def resize(a: AnyArray, lengths: dict[int, int]) -> AnyArray:
    """Crops or pads with zeros at the end, so that axis i has lengths[i]."""
    shape = tuple(lengths.get(i, n) for i, n in enumerate(a.shape))
    if shape == a.shape:
        return a
    kept = tuple(slice(0, min(old, new)) for old, new in zip(a.shape, shape, strict=True))
    if all(new <= old for old, new in zip(a.shape, shape, strict=True)):
        return a[kept]
    padded = np.zeros(shape, a.dtype)
    padded[kept] = a[kept]
    return padded


def merge_axes(shape: Sequence[int], axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The same array with neighbouring axes that are not transformed taken as one, and length-1 ones dropped.

    (2, 3, 1, 8, 5, 7) with axes [3] is (6, 8, 35) with axes [1].
    """
    merged: list[int] = []
    place: dict[int, int] = {}
    open_batch = False
    for i, n in enumerate(shape):
        if i in axes:
            place[i] = len(merged)
            merged.append(n)
            open_batch = False
        elif n == 1:
            continue
        elif open_batch:
            merged[-1] *= n
        else:
            merged.append(n)
            open_batch = True
    return merged, [place[axis] for axis in axes]


def _as_run(call: Call, input_elems: int) -> Call:
    """With merged axes. A small array is one thread's work: waiting for another costs more than it brings."""
    shape, axes = merge_axes(call.shape, call.axes)
    threads = call.threads or int(input_elems <= core.small_call_elems)
    return Call(tuple(shape), tuple(axes), call.kinds, call.direction, call.precision, call.norm, (), threads)


def run_local(source: AnyArray, target: AnyArray, call: Call) -> None:
    """Transforms contiguous arrays of any number of axes, with at most `core.max_ndim` after merging."""
    with _pool.plan(_as_run(call, source.size)) as plan:
        plan.execute(source, target)


def _finish(result: AnyArray, out: AnyArray | None) -> AnyArray:
    if out is None:
        return result
    if out is not result:
        np.copyto(out, result, casting="same_kind")
    return out


def check_out(out: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray | None:
    """The out= argument, or an error that names what it should be."""
    if out is None:
        return None
    if not isinstance(out, np.ndarray):
        raise InvalidType(
            f"out is a {type(out).__name__}; it must be of ArrayType: an array of shape {shape} and dtype {dtype}"
        )
    if out.shape != shape:
        raise InvalidArgument(f"out has shape {out.shape}; the result has shape {shape} (output array has wrong shape)")
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise InvalidType(
            f"Cannot cast the result from {dtype} to {out.dtype}, which is out's dtype; give out of dtype {dtype}"
        )
    if not out.flags.writeable:
        raise InvalidArgument("out is read-only")
    return out


def _transform_local(
    a: AnyArray, lengths: tuple[int, ...], axes: tuple[int, ...], form: Form, norm: str, out: object, threads: int
) -> AnyArray:
    for n in lengths:
        if n < 1:
            raise InvalidArgument(f"Invalid number of FFT data points ({n}) specified.")
    a = resize(a, dict(zip(axes, form.input_lengths(lengths), strict=True)))
    shape = list(a.shape)
    for axis, n in zip(axes, form.output_lengths(lengths), strict=True):
        shape[axis] = n
    dtype = form.result_dtype(a.dtype)
    target = check_out(out, tuple(shape), dtype)
    source = np.ascontiguousarray(a, dtype=form.input_dtype(a.dtype)).reshape(a.shape)
    run_dtype = form.output_dtype(source.dtype)
    direct = target is not None and target.dtype == run_dtype and target.flags.c_contiguous and target.flags.aligned
    if direct and target is not None and not np.may_share_memory(target, source):
        result = target
    else:
        result = np.empty(shape, run_dtype)
    if result.size:
        real_shape = list(a.shape)
        for axis, n in zip(axes, lengths, strict=True):
            real_shape[axis] = n
        precision = arrays.precision_of(source.dtype)
        kinds = form.kinds(len(axes))
        call = Call(tuple(real_shape), axes, kinds, form.direction, precision, norm, (), threads)
        run_local(source, result, call)
    return _finish(result.astype(dtype, copy=False), target)


# --- ranks ---------------------------------------------------------------------------------------------------------


def grid_of(grid: object) -> tuple[int, ...]:
    return tuple(whole(p, "grid") for p in arrays.listed(grid, "grid"))


def global_shape(
    local_shapes: Sequence[tuple[int, ...]], grid: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and grid of an array whose boxes have these shapes, rank by rank, if they are balanced blocks."""
    size = len(local_shapes)
    ndim = len(local_shapes[0])
    if any(len(s) != ndim for s in local_shapes):
        ndims = [len(s) for s in local_shapes]
        raise InvalidArgument(f"the ranks' arrays have {ndims} axes; all must be boxes of one global array")
    if ndim == 0:
        raise InvalidArgument("a is 0-dimensional; it must have at least one axis")
    full = (size,) + (1,) * (ndim - 1) if grid is None else grid_of(grid)
    full += (1,) * (ndim - len(full))
    if len(full) != ndim or math.prod(full) != size or min(full) < 1:
        raise InvalidArgument(f"grid is {full} for {size} ranks and {ndim} axes; its product must be {size}")
    coordinates = list(itertools.product(*(range(p) for p in full)))
    shape = tuple(
        sum(local_shapes[rank][i] for rank, at in enumerate(coordinates) if not any(at[:i] + at[i + 1 :]))
        for i in range(ndim)
    )
    for rank, at in enumerate(coordinates):
        expected = tuple(arrays.balanced(n, p, c)[1] for n, p, c in zip(shape, full, at, strict=True))
        if local_shapes[rank] != expected:
            raise InvalidArgument(
                f"the ranks' arrays have shapes {list(local_shapes)}, which are no balanced blocks on grid {full}: "
                f"for a global shape of {shape} rank {rank} would hold {expected}; "
                f"give grid= if the array is divided otherwise, or use Plan with real_slices="
            )
    return shape, full


@dataclass(frozen=True)
class _Asked:
    """What a rank asks for; but for local_shape and out, the same on all."""

    local_shape: tuple[int, ...]
    dtype: str
    lengths: tuple[int, ...] | None
    axes: tuple[int, ...]
    form: str
    norm: str
    grid: tuple[int, ...] | None

    def common(self) -> str:
        lengths = "" if self.lengths is None else f", lengths {self.lengths}"
        return (
            f"{self.form} of {self.dtype} along axes {self.axes} of {len(self.local_shape)}{lengths}, "
            f"norm {self.norm}, grid {self.grid}"
        )


def _transform_ranks(
    ranks: Ranks,
    a: object,
    s: object,
    axes_given: object,
    form: Form,
    norm: str | None,
    out: object,
    grid: object,
    one_axis: bool,
) -> AnyArray:
    array: AnyArray = np.empty(0)

    def ask() -> _Asked:
        nonlocal array
        array = arrays.as_array(a)
        axes = _pick_axes(array, s, axes_given, one_axis)
        if len(set(axes)) != len(axes):
            raise Unsupported(f"axes are {axes}; on ranks an axis can't be transformed twice in one call")
        dtype = form.input_dtype(array.dtype)
        arrays.precision_of(dtype)
        lengths = None if s is None else _pick_lengths(s, axes)
        picked = None if grid is None else grid_of(grid)
        return _Asked(array.shape, dtype.name, lengths, axes, form.name, arrays.norm_name(norm), picked)

    asked = ranks.agree(ask, _Asked.common)
    mine = asked[ranks.rank]
    # From here on all ranks compute the same from the same, so they raise alike, until out= is looked at.
    shape, full_grid = global_shape([one.local_shape for one in asked], mine.grid)
    own = tuple(shape[axis] for axis in mine.axes)
    if mine.lengths is not None:
        lengths = tuple(n if given == -1 else given for given, n in zip(mine.lengths, own, strict=True))
    elif form.name == "c2r":
        lengths = (*own[:-1], 2 * (own[-1] - 1))
    else:
        lengths = own
    if min(lengths) < 1:
        raise InvalidArgument(f"Invalid number of FFT data points ({min(lengths)}) specified.")
    needed = form.input_lengths(lengths)
    for axis, n in zip(mine.axes, needed, strict=True):
        if n != shape[axis]:
            raise Unsupported(
                f"axis {axis} of the global array has length {shape[axis]}, and lengths {lengths} would need {n}: "
                f"arrays on ranks can't be cropped or padded; do that before they are divided"
            )
    real_shape = list(shape)
    for axis, n in zip(mine.axes, lengths, strict=True):
        real_shape[axis] = n
    dtype = form.input_dtype(array.dtype)
    precision = arrays.precision_of(dtype)
    kinds = form.kinds(len(mine.axes))
    call = Call(tuple(real_shape), mine.axes, kinds, form.direction, precision, mine.norm, full_grid)
    plan = ranks.cached(call, lambda: call.plan(ranks.handle))
    return execute_ranks(ranks, plan, array, dtype, form.output_dtype(dtype), out)


def execute_ranks(
    ranks: Ranks, plan: CorePlan, array: AnyArray, dtype: np.dtype[Any], result_dtype: np.dtype[Any], out: object
) -> AnyArray:
    """Runs a plan on ranks, whose out= arguments may be wrong on some."""
    ranks.check_open()
    shape = tuple(plan.output_part[1])
    target: AnyArray | None = None
    error: Error | None = None
    source = result = array
    try:
        target = check_out(out, shape, result_dtype)
        source = np.ascontiguousarray(array, dtype=dtype)
        fits = target is not None and target.dtype == result_dtype
        fits = fits and target is not None and target.flags.c_contiguous and target.flags.aligned
        if fits and target is not None and not np.may_share_memory(target, source):
            result = target
        else:
            result = np.empty(shape, result_dtype)
    except Error as e:
        error = e
    except MemoryError as e:
        error = OutOfMemory(str(e))
    except Exception as e:  # nothing may keep this rank from the others
        error = InternalError(f"{type(e).__name__}: {e}")
    ranks.execute(plan, source, result, error)
    return _finish(result, target)


# --- the arguments ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """c2c forward or backward, r2c, c2r: lengths and element types of what goes in and comes out."""

    name: str
    direction: str

    def kinds(self, naxes: int) -> tuple[str, ...]:
        return ("c2c",) * (naxes - 1) + ("c2c" if self.name == "c2c" else "r2c",)

    def input_lengths(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        return (*lengths[:-1], lengths[-1] // 2 + 1) if self.name == "c2r" else lengths

    def output_lengths(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        return (*lengths[:-1], lengths[-1] // 2 + 1) if self.name == "r2c" else lengths

    def input_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """What the array is converted to: at least single precision, native byte order."""
        if dtype.kind not in "biufc":
            raise InvalidType(f"a has dtype {dtype}; it must be numbers")
        if self.name == "r2c":
            if dtype.kind == "c":
                raise InvalidType(f"a has dtype {dtype}; real transforms need real numbers (take a.real, or use fft)")
            return np.dtype(np.float32) if dtype == np.float16 else arrays.native(dtype, 1.0)
        return arrays.native(dtype, 1j)

    def output_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """What the transform of a converted array makes."""
        if self.name == "c2r":
            return np.zeros(0, dtype).real.dtype
        return np.result_type(dtype, 1j)

    def result_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """What numpy returns for an array of `dtype`."""
        if self.name == "c2r":
            return arrays.native(np.zeros(0, dtype).real.dtype, 1.0)
        return arrays.native(dtype, 1j)


C2C = Form("c2c", FORWARD)
C2C_BACKWARD = Form("c2c", BACKWARD)
R2C = Form("r2c", FORWARD)
C2R = Form("c2r", BACKWARD)


# What core.small_call and core.small_call_nd number.
SMALL_C2C, SMALL_C2C_BACKWARD, SMALL_R2C, SMALL_C2R, SMALL_HERMITIAN, SMALL_TO_HERMITIAN = range(6)
_SMALL_FORMS = (C2C, C2C_BACKWARD, R2C, C2R, C2R, R2C)  # the last two with conjugates, of which plans don't know
_SMALL_COSINES = tuple(itertools.product((FORWARD, BACKWARD), ("dct", "dst"), (1, 2, 3, 4)))


def small_cosine(family: str, type_: int, inverse: bool) -> int:
    """The number of a cosine or sine transform there: those of `_SMALL_COSINES` follow the others."""
    return len(_SMALL_FORMS) + 8 * inverse + 4 * (family == "dst") + type_ - 1


def plan_of_small_call(
    form: int, shape: Sequence[int], axes: Sequence[int], real_dtype: np.dtype[Any], norm: str
) -> CorePlan:
    """The plan that run_local would make, for the cache of small calls. `shape` is that in real space."""
    if form < len(_SMALL_FORMS):
        how = _SMALL_FORMS[form]
        kinds, direction = how.kinds(len(axes)), how.direction
    else:
        direction, family, type_ = _SMALL_COSINES[form - len(_SMALL_FORMS)]
        kinds = (f"{family}{type_}",) * len(axes)
    precision = arrays.precision_of(real_dtype)
    call = Call(tuple(shape), tuple(axes), kinds, direction, precision, norm)
    return _as_run(call, core.small_call_elems).plan()


def _pick_axes(a: AnyArray, s: object, axes: object, one_axis: bool) -> tuple[int, ...]:
    if one_axis:
        return (arrays.normalize_axis(axes, a.ndim),)  # type: ignore[arg-type]
    if axes is None and s is not None and not isinstance(s, Iterable):
        return (arrays.normalize_axis(-1, a.ndim),)
    if axes is None and s is not None:
        warnings.warn(
            "`axes` should not be `None` if `s` is not `None` (deprecated in NumPy 2.0); give the axes of s",
            DeprecationWarning,
            stacklevel=5,
        )
        given = arrays.listed(s, "s")
        return arrays.normalize_axes(range(-len(given), 0), a.ndim)
    return arrays.normalize_axes(axes, a.ndim)  # type: ignore[arg-type]


def _pick_lengths(s: object, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The s= argument; -1 stands for the array's own length, and so does None within it. One number is a list of it."""
    several = list(s) if isinstance(s, Iterable) else [s]
    if len(axes) > 1 and None in several:
        warnings.warn(
            "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0; give -1 for an axis's own",
            DeprecationWarning,
            stacklevel=5,
        )
    given = [-1 if n is None else whole(n, "n" if len(axes) == 1 else "s") for n in several]
    if len(given) != len(axes):
        raise InvalidArgument("Shape and axes have different lengths.")
    return tuple(given)


def transform_like_numpy(
    a: object,
    s: object,
    axes_given: object,
    form: Form,
    norm: str | None,
    out: object,
    comm: Comm | None,
    grid: object,
    one_axis: bool = False,
    threads: int = 0,
) -> AnyArray:
    if comm is not None:
        from ._mpi import ranks_of

        return _transform_ranks(ranks_of(comm), a, s, axes_given, form, norm, out, grid, one_axis)
    if grid is not None:
        raise InvalidArgument("grid= divides an array over ranks; give comm= too")
    array = np.asarray(a)
    form.input_dtype(array.dtype)
    norm = arrays.norm_name(norm)
    if not one_axis and no_axes(array, s, axes_given):
        return _untransformed(array, form, out)
    axes = _pick_axes(array, s, axes_given, one_axis)
    if form.name == "c2r" and len(axes) > 1 and array.dtype == np.float16:
        # Only a single axis gives float16 back: of several, the others are transformed first, in single precision.
        array = array.astype(np.complex64)
    # numpy's default for the halved axis of c2r, 2 (n - 1), holds for s=None only: -1 in s is the array's length.
    lengths = tuple(array.shape[axis] for axis in axes)
    if s is None:
        if form.name == "c2r":
            lengths = (*lengths[:-1], 2 * (lengths[-1] - 1))
    else:
        lengths = tuple(own if n == -1 else n for n, own in zip(_pick_lengths(s, axes), lengths, strict=True))
    if len(set(axes)) == len(axes) and len(merge_axes(array.shape, axes)[0]) <= core.max_ndim:
        return _transform_local(array, lengths, axes, form, norm, out, threads)
    return _one_by_one(array, lengths, axes, form, norm, out, threads)


def no_axes(a: AnyArray, s: object, axes: object) -> bool:
    """Whether no axis is asked for: axes=(), or all of a single number."""
    if axes is None:
        return a.ndim == 0 and (s is None or (isinstance(s, Sized) and len(s) == 0))
    return isinstance(axes, Sized) and len(axes) == 0


def _untransformed(a: AnyArray, form: Form, out: object) -> AnyArray:
    """What numpy and scipy make of no axis: the array itself, of its own type; here a copy."""
    if form.name != "c2c":
        raise InvalidAxis("axes is empty; at least 1 axis must be transformed, the last of them to or from half of it")
    target = check_out(out, a.shape, a.dtype)
    return _finish(a.copy(), target)


def _one_by_one(
    a: AnyArray, lengths: tuple[int, ...], axes: tuple[int, ...], form: Form, norm: str, out: object, threads: int
) -> AnyArray:
    """Axis after axis in numpy's order: for axes named twice and for more axes than a plan has."""
    c2c = C2C if form.direction == FORWARD else C2C_BACKWARD
    order = range(len(axes)) if form.name == "c2r" else range(len(axes) - 1, -1, -1)
    for i in order:
        last = i == len(axes) - 1
        final = i == order[-1]
        a = _transform_local(a, (lengths[i],), (axes[i],), form if last else c2c, norm, out if final else None, threads)
    return a
