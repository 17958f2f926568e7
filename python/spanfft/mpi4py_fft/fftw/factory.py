"""A planned local transform with FFTW's kinds and flags, by spanfft, and what FFTW calls wisdom.

Method: one `spanfft.Plan` without ranks for each object, made when it is first called. FFTW scales neither direction,
so the plan's norm is the one that leaves its direction as it is. FFTW_PATIENT and FFTW_EXHAUSTIVE time candidates at
once, within `set_timelimit`, and as FFTW's wisdom is a process's own, each process times a problem anew unless it has
imported wisdom. The other flags take predicted costs. Inputs always survive.
Source: FFTW 3 manual, sections 4.3 and 4.8, and the documented interface of mpi4py-fft 2.0.6.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._errors import InvalidArgument, InvalidType, Unsupported
from ..._plan import Plan
from ..._tune import forget_tuning, tuning_store
from .utilities import (
    FFTW_BACKWARD,
    FFTW_EXHAUSTIVE,
    FFTW_FORWARD,
    FFTW_MEASURE,
    FFTW_PATIENT,
    FFTW_REDFT00,
    FFTW_REDFT01,
    FFTW_REDFT10,
    FFTW_REDFT11,
    FFTW_RODFT00,
    FFTW_RODFT01,
    FFTW_RODFT10,
    FFTW_RODFT11,
    AnyArray,
)

_KINDS = {
    FFTW_REDFT00: "dct1",
    FFTW_REDFT01: "dct3",
    FFTW_REDFT10: "dct2",
    FFTW_REDFT11: "dct4",
    FFTW_RODFT00: "dst1",
    FFTW_RODFT01: "dst3",
    FFTW_RODFT10: "dst2",
    FFTW_RODFT11: "dst4",
}
_MEASURED = FFTW_PATIENT | FFTW_EXHAUSTIVE
_settings = {"timelimit": 0.0}  # seconds; 0: spanfft's own limit
_LEAST_LIMIT = 0.05  # seconds, in which a few candidates can be timed
_timed: set[object] = set()  # problems that this process has timed
_IMPORTED = "imported"  # in _timed: whatever the tuning store has counts as timed here


def planning_of(flags: int | Sequence[int]) -> dict[str, Any]:
    """What spanfft's planner may do for FFTW's flags, as arguments of a plan. Below a limit of 50 ms there is no time
    to measure, and predicted costs choose."""
    every = 0
    for flag in np.atleast_1d(flags):
        every |= int(flag)
    limit = _settings["timelimit"]
    if every & _MEASURED and (limit == 0 or limit >= _LEAST_LIMIT):
        return {"effort": "measure", "measure_seconds": limit}
    return {"effort": "estimate"}


class FFT:
    """A transform of one input array into one output array, planned for their shapes and types.

    Made by `get_planned_FFT` or by `fftn`, `rfftn`, `dctn`, ... Calling it transforms `input_array` (or an array that
    is given) into `output_array` (or one that is given), unscaled, and returns the output.
    """

    def __init__(
        self,
        input_array: AnyArray,
        output_array: AnyArray,
        axes: Sequence[int] = (-1,),
        kind: int | Sequence[int] = FFTW_FORWARD,
        threads: int = 1,
        flags: int | Sequence[int] = (FFTW_MEASURE,),
        normalization: float = 1.0,
    ) -> None:
        for name, array in (("input_array", input_array), ("output_array", output_array)):
            if not isinstance(array, np.ndarray) or array.dtype.char not in "fdgFDG":
                what = f"of dtype {array.dtype}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
                raise InvalidType(f"{name} is {what}; give a numpy array of float32, float64, longdouble or complex")
        self._input_array, self._output_array = input_array, output_array
        self._normalization = float(normalization)
        self._axes = _axes_of(axes, input_array.ndim)
        self._options: dict[str, Any] = {"threads": threads, **planning_of(flags)}
        self._choose(kind)
        self._plan: Plan | None = None
        if self._options["effort"] == "measure":
            self._planned()

    def _choose(self, kind: int | Sequence[int]) -> None:
        """Real space, its kinds and the direction, from the types of the arrays as FFTW has it."""
        source, target = self._input_array, self._output_array
        into = (source.dtype.kind == "c", target.dtype.kind == "c")
        real = source if not into[0] else target
        kinds: str | list[str] = "r2c" if into[0] != into[1] else "c2c"
        self._forward = into in ((False, True), (False, False))
        if into == (True, True):
            signs = {int(k) for k in np.atleast_1d(kind)}
            if len(signs) != 1 or not signs <= {FFTW_FORWARD, FFTW_BACKWARD}:
                raise InvalidArgument(f"kind is {kind!r}; from complex to complex it is FFTW_FORWARD or FFTW_BACKWARD")
            self._forward, real = signs == {FFTW_FORWARD}, source
        elif into == (False, False):
            kinds = self._real_kinds(kind)
        wanted = list(real.shape)
        if kinds == "r2c":
            wanted[self._axes[-1]] = wanted[self._axes[-1]] // 2 + 1
        other = target if real is source else source
        if other.shape != tuple(wanted) or other.dtype.char.lower() != real.dtype.char.lower():
            raise InvalidArgument(
                f"input_array has shape {source.shape} and dtype {source.dtype}, output_array {target.shape} and "
                f"{target.dtype}; along axes {self._axes} the one of {real.shape} belongs to one of {tuple(wanted)}"
            )
        self._real, self._kinds = (real.shape, real.dtype), kinds

    def _real_kinds(self, kind: int | Sequence[int]) -> list[str]:
        given = [int(k) for k in np.atleast_1d(kind)]
        given = given * len(self._axes) if len(given) == 1 else given
        if len(given) != len(self._axes):
            raise InvalidArgument(
                f"kind has {len(given)} entries for {len(self._axes)} axes; give one, or one for each"
            )
        for k in given:
            if k not in _KINDS:
                raise Unsupported(
                    f"kind {k} from real to real is not there; FFTW_REDFT00 (3) to FFTW_RODFT11 (10) are. "
                    "In place of half-complex transforms and FFTW_DHT use rfftn"
                )
        return [_KINDS[k] for k in given]

    def _planned(self) -> Plan:
        if self._plan is None:
            shape, dtype = self._real
            options = dict(self._options)
            if options["effort"] == "measure":
                problem = (shape, dtype, self._axes, str(self._kinds), self._forward, options["threads"])
                options["effort"] = "measure" if _timed & {problem, _IMPORTED} else "tune"
                _timed.add(problem)
            # The norm that gives this direction no factor.
            norm = "backward" if self._forward else "forward"
            self._plan = Plan(shape, dtype, self._axes, self._kinds, norm=norm, **options)
        return self._plan

    @property
    def input_array(self) -> AnyArray:
        return self._input_array

    @property
    def output_array(self) -> AnyArray:
        return self._output_array

    def get_normalization(self) -> float:
        """The factor of ``normalize=True``."""
        return self._normalization

    def update_arrays(self, input_array: AnyArray, output_array: AnyArray) -> None:
        """Takes other arrays of the same shapes and types for its own."""
        for name, new, old in (
            ("input_array", input_array, self._input_array),
            ("output_array", output_array, self._output_array),
        ):
            if new.shape != old.shape or new.dtype != old.dtype:
                raise InvalidArgument(f"{name} has shape {new.shape} and dtype {new.dtype}; it was planned for "
                                      f"{old.shape} and {old.dtype}")  # fmt: skip
        self._input_array, self._output_array = input_array, output_array

    def __call__(
        self,
        input_array: npt.ArrayLike | None = None,
        output_array: AnyArray | None = None,
        implicit: bool = True,
        normalize: bool = False,
        **kw: object,
    ) -> AnyArray:
        """Transforms and returns the output array.

        Parameters
        ----------
        input_array, output_array
            By default the object's own.
        implicit
            False: an input that is given is first copied into the object's own. It survives either way.
        normalize
            True: the result is multiplied by `get_normalization`.
        """
        source = self._input_array if input_array is None else np.asarray(input_array)
        alike = source.shape == self._input_array.shape and source.dtype == self._input_array.dtype
        if not alike or not implicit:
            if source.shape != self._input_array.shape:
                raise InvalidArgument(f"input_array has shape {source.shape}; it was planned for "
                                      f"{self._input_array.shape}")  # fmt: skip
            self._input_array[...] = source
            source = self._input_array
        result = self._output_array if output_array is None else output_array
        if np.may_share_memory(source, result):
            source = source.copy()
        plan = self._planned()
        (plan.forward if self._forward else plan.backward)(source, result)
        if normalize:
            result *= self._normalization
        return result

    def print_plan(self) -> None:
        """Prints how spanfft does it."""
        print(self._planned().explain("forward" if self._forward else "backward"), end="")

    def destroy(self) -> None:
        """Frees the plan; a later call plans anew."""
        if self._plan is not None:
            self._plan.free()
            self._plan = None


def _axes_of(axes: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    given = [int(a) for a in np.atleast_1d(axes)]
    for axis in given:
        if not -ndim <= axis < ndim:
            raise InvalidArgument(f"axes has {axis}; an array of {ndim} axes has {-ndim} to {ndim - 1}")
    found = tuple(axis % ndim for axis in given)
    if not found or len(set(found)) != len(found):
        raise InvalidArgument(f"axes is {tuple(given)}; name at least one axis, and each once")
    return found


def get_planned_FFT(
    input_array: AnyArray,
    output_array: AnyArray,
    axes: Sequence[int] = (-1,),
    kind: int | Sequence[int] = FFTW_FORWARD,
    threads: int = 1,
    flags: int | Sequence[int] = (FFTW_MEASURE,),
    normalization: float = 1.0,
) -> FFT:
    """Plans a transform of any of FFTW's kinds; real to complex and back go by the types of the arrays.

    Parameters
    ----------
    axes
        The transformed axes; from real to complex the last of them is halved.
    kind
        FFTW_FORWARD or FFTW_BACKWARD from complex to complex; FFTW_REDFT00 to FFTW_RODFT11, one or one for each axis,
        from real to real.
    flags
        FFTW's planner flags. FFTW_PATIENT and FFTW_EXHAUSTIVE measure.
    normalization
        The factor of ``normalize=True``.
    """
    return FFT(input_array, output_array, axes, kind, threads, flags, normalization)


fftlib = {name: sys.modules[__name__] for name in "FDG"}


def get_fftw_lib(dtype: npt.DTypeLike) -> Any:
    """The module that transforms this precision, or None: here one module does all."""
    return fftlib.get(np.dtype(dtype).char.upper())


def get_normalization(kind: int | Sequence[int], shape: Sequence[int], axes: Sequence[int]) -> float:
    """1 over the product of the logical lengths of axes: n, and for real kinds 2n, 2(n-1) or 2(n+1)."""
    lengths = [int(n) for n in shape]
    given = [int(k) for k in np.atleast_1d(kind)]
    along = _axes_of(axes, len(lengths))
    given = given * len(along) if len(given) == 1 else given
    if len(given) != len(along):
        raise InvalidArgument(f"kind has {len(given)} entries for {len(along)} axes; give one for each")
    factor = 1
    for k, axis in zip(given, along, strict=True):
        n = lengths[axis]
        factor *= {FFTW_REDFT00: 2 * (n - 1), FFTW_RODFT00: 2 * (n + 1)}.get(k, 2 * n if k in _KINDS else n)
    return 1.0 / factor


# --- wisdom: spanfft keeps what it measured in its tuning store -------------------------------------------------------


def _wisdom_file(filename: str | os.PathLike[str]) -> str:
    """Each rank has a file of its own, as in mpi4py-fft."""
    from mpi4py import MPI

    folder, name = os.path.split(os.fspath(filename))
    return os.path.join(folder, f"D{MPI.COMM_WORLD.Get_rank()}_{name}")


def export_wisdom(filename: str | os.PathLike[str]) -> None:
    """Copies the tuning store to a file (D0_NAME on rank 0, ...), for another machine or user."""
    store = tuning_store()
    lines = b""
    if os.path.exists(store):
        with open(store, "rb") as kept:
            lines = kept.read()
    with open(_wisdom_file(filename), "wb") as copy:
        copy.write(lines)


def import_wisdom(filename: str | os.PathLike[str]) -> None:
    """Adds the records of a file that `export_wisdom` wrote to the tuning store, those that it has not yet."""
    with open(_wisdom_file(filename), "rb") as copy:
        lines = copy.read().splitlines(keepends=True)
    store = tuning_store()
    known: set[bytes] = set()
    if os.path.exists(store):
        with open(store, "rb") as kept:
            known = set(kept.read().splitlines(keepends=True))
    new = [line for line in lines if line not in known]
    _timed.add(_IMPORTED)
    if new:
        os.makedirs(os.path.dirname(store), exist_ok=True)
        with open(store, "ab") as kept:
            kept.write(b"".join(new))


def forget_wisdom() -> None:
    """Removes what spanfft has measured: its tuning store's records and FFTW's kept wisdom."""
    _timed.clear()
    forget_tuning()


def set_timelimit(limit: float) -> None:
    """About how many seconds a plan with FFTW_PATIENT or FFTW_EXHAUSTIVE may measure."""
    if not math.isfinite(limit) or limit < 0:
        raise InvalidArgument(f"limit is {limit}; it is a number of seconds, at least 0 (0: spanfft's own limit)")
    _settings["timelimit"] = float(limit)


def cleanup() -> None:
    """Takes the settings back to those at the start."""
    _settings["timelimit"] = 0.0
