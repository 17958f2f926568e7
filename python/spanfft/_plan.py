"""Plan: planned once, executed many times, in this process or on MPI ranks."""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from ._arguments import whole
from ._arrays import BACKWARD, FORWARD, AnyArray
from ._calls import grid_of
from ._errors import Error, InternalError, InvalidArgument, InvalidType, OutOfMemory, Unsupported
from ._native import core
from ._problem import PRECISIONS, one_word, problem_string
from ._report import report_of

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Counts, Part
    from ._core import Plan as CorePlan
    from ._halo import Halo, Width
    from ._mpi import Ranks
    from ._report import Report
    from ._trace import TraceEvent

__all__ = ["Plan"]

_OUTPUTS = ("natural", "exchanged")
_LAYOUTS = ("block", "cyclic")
_EFFORTS = ("estimate", "measure", "tune")
_DIRECTIONS = (FORWARD, BACKWARD)
_BoxLists = tuple[list[int], list[int]]
_MOST_THREADS = 2**31 - 1


def _choice(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise InvalidArgument(f"{name} is {value!r}; it can be {' or '.join(map(repr, known))}")
    return value


def _name(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidType(f"{name} is {value!r}; it must be a name or None")
    return one_word(name, value)


def _flag(name: str, value: object) -> bool:
    try:
        return bool(value)
    except Exception:
        raise InvalidType(f"{name} is {value!r}; it must be True or False") from None


def _grid_of(plan: CorePlan) -> tuple[int, ...]:
    """The grid that the planner chose, which its problem string has."""
    for word in plan.problem.split():
        if word.startswith("grid="):
            return tuple(int(p) for p in word[5:].split("x"))
    return ()


class _Kept:
    """A C plan that has arrays; they have one of these in common, which so dies with the last of them."""

    def __init__(self, plan: CorePlan):
        self.plan = plan


class _PlanMemory:
    """An array of a C plan, for numpy; whoever has the numpy array keeps the plan, on ranks the C plan too."""

    def __init__(self, kept: _Kept, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]):
        self.kept = kept
        self.empty = np.empty(1, dtype)  # where an empty part points to
        address = address or self.empty.ctypes.data
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (address, False),
        }


class Plan:
    """A Fourier transform of one shape, planned once and executed many times.

    The real-space array has `shape` and `dtype`; the spectrum has `spectrum_shape` and `spectrum_dtype`. `forward`
    goes from the one to the other, `backward` back, and backward(forward(u)) is u.

    With `comm`, arrays are divided over its ranks: each rank passes and gets its box, and making a plan,
    `forward`, `backward`, `free` and (for a direction not planned before) `explain` are collective: all ranks of
    `comm` must call them, in the same order. Everything else concerns this rank alone. When an argument is wrong
    on one rank, the same error is raised on all; for that, each execution begins with one allgather of an int.

    A plan can't be copied or pickled. In a child of fork, a plan that has ranks or threads (except ducc0's) is refused:
    make another there.

    Parameters
    ----------
    shape
        Global shape in real space, 1 to 6 axes, slowest first.
    dtype
        Of real space: complex64, complex128, clongdouble for "c2c"; float32, float64, longdouble for the others.
        Default: double precision.
    axes
        The axes to transform; by default all.
    kind
        "c2c", "r2c" (the last of `axes` is halved to n // 2 + 1), "dct1" to "dct4", "dst1" to "dst4" (scipy.fft's
        definitions), or a sequence with one kind for each of `axes`.
    comm
        mpi4py communicator; None: this process alone. It is duplicated and stays yours.
    grid
        Into how many blocks each axis of real space is divided; the product is the number of ranks. Axis i is
        divided into balanced blocks: the first r ranks hold one index more. Default: the planner chooses.
    layout
        "block": axis i of the grid is divided into balanced blocks. "cyclic": both real space and spectrum are
        divided cyclically, index j on part j mod p, which takes a single all-to-all, for 1-D too; p * p must divide
        the length of a transformed axis that is divided by p, and its kind must be c2c.
    output
        "natural": the spectrum is divided like real space. "exchanged": it stays where the last exchange puts it,
        which saves one exchange; `output_slices` says where that is. The spectrum of an array of one axis is divided
        cyclically then: frequency k lies on rank k mod p, in rising order; where p divides no factor of the length,
        it stays natural.
    norm
        Which direction carries the factor 1/N: "backward", "ortho" (1/sqrt(N) in both) or "forward". N is a product
        of lengths, of which DCT and DST count 2n (dct1 2(n-1), dst1 2(n+1)). "ortho" also makes DCT and DST orthogonal,
        as scipy.fft does: types 1 to 3 weigh the ends of an axis by sqrt(2).
    kept
        Modes that the spectrum keeps along each axis of `shape`, in numpy's order of frequencies; of the halved axis
        those of the real line, of which kept // 2 + 1 are stored. `forward` leaves the other modes out, axis by axis;
        `backward` pads them with zeros, so that products of fields on the grid of `shape` have no aliasing errors
        (the 3/2 rule: ``Plan((192,) * 3, kind="r2c", kept=(128,) * 3)``). Of an even number of modes n the frequencies
        n/2 and -n/2 are one: `forward` adds them up, `backward` gives each a half. Default: all modes.
    batch
        Number of arrays in one execution: a first axis of that length in every array here, not divided.
    in_place
        `forward` and `backward` overwrite their argument and return it. Possible for c2c, dct and dst in natural order;
        if you give slices, they must be the same in real space and in the spectrum.
    own_output
        `forward` and `backward` return arrays that the plan owns: the same at each call, with the new result, until
        the plan is freed. Ranks of one node then write into one another's part, which saves a copy of the result.
    own_input
        The plan owns the arrays that `forward` and `backward` read: `input_array()` and `output_array()` return them,
        the same at each call. Ranks of one node then read one another's part, which saves a copy of the input; another
        array that is given is copied into the plan's first. With own_output too, `forward` writes into the array that
        `backward` reads, and `backward` into the one that `forward` reads.
    threads
        Threads of each rank; 0: the planner chooses.
    engine
        "fftw", "mkl" or "ducc0"; None: the planner chooses.
    exchange
        "shared", "alltoallv", "overlap:4", ... (docs/strategies.md); None: the planner chooses.
    effort
        "estimate" (predicted costs, or what was tuned before; milliseconds), "measure" (what was tuned before, else
        times the best candidates and stores the winner), "tune" (times them in any case).
    measure_seconds
        About how long "measure" and "tune" may take; 0: 5 seconds.
    real_slices, spectrum_slices
        This rank's part of real space or of the spectrum as slices of the global array, if you do not want
        balanced blocks. Give it on all ranks or on none; the parts must tile the array.
    method
        The solver that makes the plan: "pencil", "shared_lines", ... (docs/ARCHITECTURE.md), or "soi:digits=D", which
        transforms one axis over ranks by a single exchange, to D digits, or "ffte", a published variant of the method
        for one axis over ranks; None: the planner chooses among the exact ones, without "ffte".

    Raises
    ------
    InvalidArgument, Unsupported, OutOfMemory, EngineError, MPIError
        The same on all ranks.

    Examples
    --------
    >>> plan = Plan((64, 48), "complex64")
    >>> u = plan.input_array()
    >>> spectrum = plan.forward(u)
    >>> again = plan.backward(spectrum)
    """

    def __init__(
        self,
        shape: Sequence[int],
        dtype: npt.DTypeLike | None = None,
        axes: Sequence[int] | None = None,
        kind: str | Sequence[str] = "c2c",
        comm: Comm | None = None,
        grid: Sequence[int] | None = None,
        output: str = "natural",
        norm: str | None = "backward",
        *,
        kept: Sequence[int] | None = None,
        batch: int | None = None,
        in_place: bool = False,
        own_output: bool = False,
        own_input: bool = False,
        threads: int = 0,
        engine: str | None = None,
        exchange: str | None = None,
        effort: str = "estimate",
        measure_seconds: float = 0,
        real_slices: Sequence[slice] | None = None,
        spectrum_slices: Sequence[slice] | None = None,
        layout: str = "block",
        method: str | None = None,
    ) -> None:
        # First, so that a plan that couldn't be made can be collected.
        self._plans: dict[str, CorePlan] = {}
        self._serials: dict[str, int] = {}
        self._own_outputs: dict[str, AnyArray] = {}
        self._own_inputs: dict[str, AnyArray] = {}
        self._kept: dict[str, _Kept] = {}
        self._ranks: Ranks | None = None
        self._trace_max_events: int | None = None
        self._traced: set[str] = set()
        self._lock = threading.Lock()
        if comm is not None:
            from ._mpi import ranks_of

            self._ranks = ranks_of(comm)
        self.comm = comm
        """The communicator, or None."""

        def check() -> tuple[object, ...]:
            return self._check(
                shape, dtype, axes, kind, grid, output, norm, kept, batch, in_place, own_output, own_input, threads,
                engine, exchange, effort, measure_seconds, real_slices, spectrum_slices, layout, method,
            )  # fmt: skip

        if self._ranks is None:
            check()
        else:
            self._ranks.agree(check)
        self._plan(FORWARD)

    def _check(
        self,
        shape: Sequence[int],
        dtype: npt.DTypeLike | None,
        axes: Sequence[int] | None,
        kind: str | Sequence[str],
        grid: Sequence[int] | None,
        output: str,
        norm: str | None,
        kept: Sequence[int] | None,
        batch: int | None,
        in_place: bool,
        own_output: bool,
        own_input: bool,
        threads: int,
        engine: str | None,
        exchange: str | None,
        effort: str,
        measure_seconds: float,
        real_slices: Sequence[slice] | None,
        spectrum_slices: Sequence[slice] | None,
        layout: str,
        method: str | None,
    ) -> tuple[object, ...]:
        """Everything that can be wrong before the library is asked. Sets the attributes."""
        given: object = shape
        lengths = [given] if isinstance(given, SupportsIndex) else arrays.listed(shape, "shape")
        self.shape: tuple[int, ...] = tuple(whole(n, "shape") for n in lengths)
        """Global shape in real space, without the batch."""
        if not 1 <= len(self.shape) <= core.max_ndim:
            raise InvalidArgument(f"shape {self.shape} has {len(self.shape)} axes; it must have 1 to {core.max_ndim}")
        if min(self.shape) < 1:
            raise InvalidArgument(f"shape is {self.shape}; every length must be at least 1")
        self.axes: tuple[int, ...] = arrays.normalize_axes(axes, len(self.shape))
        """The transformed axes."""
        if len(set(self.axes)) != len(self.axes):
            raise InvalidArgument(f"axes {self.axes} name one axis twice")
        self._kinds = arrays.kinds_of_axes(kind, len(self.axes))
        halves = "r2c" in self._kinds
        is_complex = "c2c" in self._kinds and not halves
        if dtype is None:
            dtype = np.complex128 if is_complex else np.float64
        try:
            self.dtype: np.dtype[Any] = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):
            raise InvalidType(f"dtype is {dtype!r}; give an element type such as 'complex128'") from None
        """Element type in real space."""
        self._precision = arrays.precision_of(self.dtype)
        if (self.dtype.kind == "c") != is_complex:
            right = (arrays.COMPLEX_DTYPES if is_complex else arrays.REAL_DTYPES)[PRECISIONS.index(self._precision)]
            raise InvalidType(f"dtype is {self.dtype}, but kind {kind!r} transforms {right} (dtype is real space's)")
        self.spectrum_dtype: np.dtype[Any] = np.result_type(self.dtype, 1j) if halves else self.dtype
        """Element type of the spectrum."""
        self.kept: tuple[int, ...] = self._kept_modes(kept)
        """Modes that the spectrum keeps along each axis, of the halved one as of a real line."""
        spectrum = list(self.kept)
        if halves:
            spectrum[self.axes[-1]] = spectrum[self.axes[-1]] // 2 + 1
        self.spectrum_shape: tuple[int, ...] = tuple(spectrum)
        """Global shape of the spectrum, without the batch."""
        self._norm = arrays.norm_name(norm)
        self.batch: int | None = None if batch is None else whole(batch, "batch")
        """Length of the arrays' first axis, or None if they have no such axis."""
        if self.batch is not None and self.batch < 1:
            raise InvalidArgument(f"batch is {self.batch}; it must be at least 1")
        self._output = _choice("output", output, _OUTPUTS)
        self._layout = _choice("layout", layout, _LAYOUTS)
        self._effort = _choice("effort", effort, _EFFORTS)
        if not isinstance(measure_seconds, (int, float)) or not 0 <= measure_seconds <= 1e6:
            raise InvalidArgument(f"measure_seconds is {measure_seconds!r}; it must be 0 (the default) to 1000000")
        self._measure_seconds = float(measure_seconds)
        self._threads = whole(threads, "threads")
        if not 0 <= self._threads <= _MOST_THREADS:
            raise InvalidArgument(f"threads is {threads}; it must be 0 (the planner chooses) to {_MOST_THREADS}")
        self._in_place = _flag("in_place", in_place)
        if self._in_place and (halves or self._output != "natural"):
            raise Unsupported('in_place is for c2c, dct and dst with output="natural"; the arrays differ otherwise')
        self._own_output = _flag("own_output", own_output)
        if self._own_output and self._in_place:
            raise InvalidArgument("in_place overwrites your array and own_output fills the plan's; ask for one")
        self._own_input = _flag("own_input", own_input)
        if self._own_input and self._in_place:
            raise InvalidArgument("in_place overwrites your array and own_input reads the plan's; ask for one")
        self._engine, self._exchange = _name("engine", engine), _name("exchange", exchange)
        self._method = _name("method", method)
        self._grid: tuple[int, ...] = () if grid is None else grid_of(grid)
        if self._ranks is None and math.prod(self._grid) != 1:
            raise InvalidArgument(f"grid is {self._grid}, but without comm= there is one rank")
        self._real_box = self._box("real_slices", real_slices, self.shape)
        self._spectrum_box = self._box("spectrum_slices", spectrum_slices, self.spectrum_shape)
        return ()

    def _kept_modes(self, kept: Sequence[int] | None) -> tuple[int, ...]:
        if kept is None:
            return self.shape
        modes = tuple(whole(n, "kept") for n in arrays.listed(kept, "kept"))
        if len(modes) != len(self.shape):
            raise InvalidArgument(
                f"kept is {modes}; it must have one number of modes for each of {len(self.shape)} axes"
            )
        return modes

    @staticmethod
    def _box(name: str, given: Sequence[slice] | None, shape: tuple[int, ...]) -> _BoxLists | None:
        if given is None:
            return None
        pieces = arrays.listed(given, name)
        if len(pieces) != len(shape):
            raise InvalidArgument(f"{name} has {len(pieces)} slices for {len(shape)} axes")
        start, count = [], []
        for piece, n in zip(pieces, shape, strict=True):
            if not isinstance(piece, slice):
                raise InvalidType(f"{name} holds {piece!r}; it must hold slices")
            try:
                first, stop, step = piece.indices(n)
            except (TypeError, ValueError):
                raise InvalidType(f"{name} holds {piece}; a box has integers, and step 1") from None
            if step != 1:
                raise InvalidArgument(f"{name} holds {piece}; a box has step 1")
            start.append(first)
            count.append(max(0, stop - first))
        return start, count

    def _plan(self, direction: str) -> CorePlan:
        """The C plan of a direction, made when it is first needed. Then collective."""
        with self._lock:
            plan = self._plans.get(direction)
            if plan is not None:
                return plan
            if direction == FORWARD:
                plan = self._make(direction, self._grid, self._real_box, self._spectrum_box)
                self._check_in_place(plan)
            else:
                plan = self._make_backward(self._plans[FORWARD])
            if self._trace_max_events is not None:
                plan.trace_start(self._trace_max_events)
                self._traced.add(direction)
            self._plans[direction] = plan
            if self._ranks is not None:
                self._serials[direction] = self._ranks.next_serial()
            return plan

    def _check_in_place(self, plan: CorePlan) -> None:
        """One array can't be two parts. Collective where boxes were given, which all ranks do or none."""
        boxes = self._real_box is not None or self._spectrum_box is not None
        if self._ranks is None or not self._in_place or not boxes:
            return
        if self._ranks.any(plan.input_part != plan.output_part):
            plan.free()
            raise InvalidArgument(
                "in_place needs the same part in real space and in the spectrum, but real_slices and spectrum_slices "
                "differ on some rank; give both alike, or leave in_place out"
            )

    def _make_backward(self, forward: CorePlan) -> CorePlan:
        """The way back must begin where the forward plan ends, though the planner might choose otherwise for it."""
        plan = self._make(BACKWARD, _grid_of(forward), self._real_box, self._spectrum_box)
        if self._ranks is None:
            return plan
        differs = (plan.input_part, plan.output_part) != (forward.output_part, forward.input_part)
        if not self._ranks.any(differs):
            return plan
        plan.free()
        parts = forward.input_part, forward.output_part
        if self._ranks.any(any(step != 1 for part in parts for step in part[2])):
            # Boxes can't say that a rank has every n-th element; the forward plan's solver has them so both ways.
            return self._make(BACKWARD, _grid_of(forward), self._real_box, self._spectrum_box, forward.solver)
        return self._make(BACKWARD, (), forward.input_part[:2], forward.output_part[:2])

    def _make(
        self,
        direction: str,
        grid: Sequence[int],
        real_box: _BoxLists | None,
        spectrum_box: _BoxLists | None,
        method: str | None = None,
    ) -> CorePlan:
        problem = problem_string(
            self.shape,
            self._kinds,
            self.axes,
            direction,
            self._precision,
            norm=self._norm,
            kept=() if self.kept == self.shape else self.kept,
            batch=self.batch,
            ranks=self.ranks,
            grid=grid,
            layout=self._layout,
            output=self._output,
            threads=self._threads,
            engine=self._engine,
            exchange=self._exchange,
            method=method or self._method,
            effort=self._effort,
            measure_seconds=self._measure_seconds,
            in_place=self._in_place,
            own_output=self._own_output,
            own_input=self._own_input,
        )
        undone = self._plans.get(FORWARD) if direction == BACKWARD else None
        return core.plan(problem, 0 if self._ranks is None else self._ranks.handle, real_box, spectrum_box, undone)

    # --- running ---------------------------------------------------------------------------------------------------

    def forward(self, u: AnyArray, out: AnyArray | None = None) -> AnyArray:
        """Real space to spectrum. Collective if the plan has a communicator.

        Parameters
        ----------
        u
            This rank's box of real space: shape `input_shape`, dtype `dtype`. Any strides; it is left as it was
            unless the plan is in place.
        out
            Where the result goes: shape `output_shape`, dtype `spectrum_dtype`. By default a new array.

        Returns
        -------
        numpy.ndarray
            `out`: this rank's box of the spectrum.

        Raises
        ------
        InvalidArgument
            Wrong shape, wrong dtype (InvalidType, a TypeError) or no array, on any rank: raised on all.
        """
        return self._run(FORWARD, "forward", u, out)

    def backward(self, u: AnyArray, out: AnyArray | None = None) -> AnyArray:
        """Spectrum to real space: undoes `forward`. Collective if the plan has a communicator.

        The first call takes longer, because it plans this direction.

        Parameters
        ----------
        u
            This rank's box of the spectrum: shape `output_shape`, dtype `spectrum_dtype`. Any strides; it is left
            as it was unless the plan is in place.
        out
            Where the result goes: shape `input_shape`, dtype `dtype`. By default a new array.

        Returns
        -------
        numpy.ndarray
            `out`: this rank's box of real space.

        Raises
        ------
        InvalidArgument
            Wrong shape, wrong dtype (InvalidType, a TypeError) or no array, on any rank: raised on all.
        """
        return self._run(BACKWARD, "backward", u, out)

    def _run(self, direction: str, name: str, u: AnyArray, out: AnyArray | None) -> AnyArray:
        if self._ranks is not None:
            self._ranks.check_open()
        real = (self.input_shape, self.dtype, "real space")
        spectrum = (self.output_shape, self.spectrum_dtype, "the spectrum")
        source_is, target_is = (real, spectrum) if direction == FORWARD else (spectrum, real)
        error: Error | None = None
        source = result = u
        try:
            self._fits(name, "u", u, *source_is)
            if out is not None:
                self._fits(name, "out", out, *target_is)
            written = u if self._in_place else out
            if written is not None and not written.flags.writeable:
                raise InvalidArgument(f"{name}: the array for the result is read-only")
            if self._in_place and out is not None and out is not u:
                raise InvalidArgument(f"{name}: the plan is in place, so out can only be u itself")
            source = np.require(u, requirements=["C", "A"])
            if self._in_place:
                result = source
            elif self._own_output:
                known = self._own_outputs.get(direction)
                if out is not None and (known is None or out is not known):
                    raise InvalidArgument(f"{name}: the plan owns its output (own_output=True); leave out= away")
            else:
                result = self._target(source, out, target_is[0], target_is[1])
        except Error as e:
            error = e
        except MemoryError as e:
            error = OutOfMemory(f"{name}: {e}")
        except Exception as e:  # nothing may keep this rank from the others
            error = InternalError(f"{name}: {type(e).__name__}: {e}")
        if error is not None and self._ranks is None:
            raise error
        plan = self._plan(direction)  # may have to be made, which all ranks do
        if self._own_output:
            out = result = self._owned(self._own_outputs, direction, *target_is[:2])
        if self._own_input:
            own = self._owned(self._own_inputs, direction, *source_is[:2])
            if error is None and source.ctypes.data != own.ctypes.data:
                own[...] = source
            source = own
        if self._ranks is None:
            plan.execute(source, result)
        else:
            self._ranks.execute(plan, source, result, error)
        asked = u if self._in_place else out
        if asked is None or asked is result:
            return result
        asked[...] = result
        return asked

    def _owned(
        self, known: dict[str, AnyArray], direction: str, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> AnyArray:
        """The plan's own array for what a direction reads, or for its results: an entry of `known`."""
        owned = known.get(direction)
        if owned is None:
            plan = self._plan(direction)
            address = plan.input_address if known is self._own_inputs else plan.output_address
            kept = self._kept.setdefault(direction, _Kept(plan))
            owned = np.asarray(_PlanMemory(kept, address, shape, dtype))
            known[direction] = owned
        return owned

    @staticmethod
    def _target(source: AnyArray, out: AnyArray | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
        """Where the library writes: out itself if it can."""
        if out is None:
            return arrays.aligned_zeros(shape, dtype)
        if out.flags.c_contiguous and out.flags.aligned and not np.may_share_memory(out, source):
            return out
        return np.empty(shape, dtype)

    def _fits(self, call: str, name: str, a: object, shape: tuple[int, ...], dtype: np.dtype[Any], space: str) -> None:
        where = "" if self._ranks is None else "this rank's box of "
        if not isinstance(a, np.ndarray):
            raise InvalidType(f"{call}: {name} is a {type(a).__name__}; give a numpy array of shape {shape}, {dtype}")
        if a.shape != shape:
            raise InvalidArgument(f"{call}: {name} has shape {a.shape}; {where}{space} has shape {shape}")
        if a.dtype != dtype:
            raise InvalidType(f"{call}: {name} has dtype {a.dtype}; {space} has dtype {dtype} (use astype)")

    # --- layout ------------------------------------------------------------------------------------------------------

    def _batched(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(shape) if self.batch is None else (self.batch, *shape)

    def _parts(self) -> tuple[Part, Part]:
        plan = self._plan(FORWARD)
        return plan.input_part, plan.output_part

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of this rank's array in real space, with the batch."""
        return self._batched(self._parts()[0][1])

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of this rank's array of the spectrum, with the batch."""
        return self._batched(self._parts()[1][1])

    @property
    def input_slices(self) -> tuple[slice, ...]:
        """This rank's part of real space, as slices of the global array (without the batch); cyclic: with a step."""
        return arrays.slices(self._parts()[0])

    @property
    def output_slices(self) -> tuple[slice, ...]:
        """This rank's part of the spectrum, as slices of the global array (without the batch); cyclic: with a step."""
        return arrays.slices(self._parts()[1])

    def input_array(self) -> AnyArray:
        """A new array of zeros for `forward`: shape `input_shape`, dtype `dtype`, 64-byte aligned. With own_input the
        plan's own, with what was last written there."""
        if self._own_input:
            return self._owned(self._own_inputs, FORWARD, self.input_shape, self.dtype)
        return arrays.aligned_zeros(self.input_shape, self.dtype)

    def output_array(self) -> AnyArray:
        """A new array of zeros for `backward`: shape `output_shape`, dtype `spectrum_dtype`, 64-byte aligned. With
        own_input the plan's own, with what was last written there; the first call is then collective."""
        if self._own_input:
            return self._owned(self._own_inputs, BACKWARD, self.output_shape, self.spectrum_dtype)
        return arrays.aligned_zeros(self.output_shape, self.spectrum_dtype)

    def halo(self, width: Width) -> Halo:
        """Plans the exchange of this rank's surroundings in real space, which is periodic. Collective on ranks.

        Parameters
        ----------
        width
            Elements on each side of the part, along each axis: a number for all axes, or one entry for each, which is
            a number or a pair (before, after). Any width will do, beyond the neighbours' parts too.

        Returns
        -------
        Halo
            Its `exchange` gives the part with its surroundings, its `add_back` is the adjoint.

        Raises
        ------
        InvalidArgument, InvalidType, Unsupported, OutOfMemory, MPIError
            The same on all ranks.

        Examples
        --------
        >>> plan = Plan((64, 48), kind="r2c")
        >>> halo = plan.halo(1)
        >>> halo.exchange(plan.input_array()).shape
        (66, 50)
        """
        from ._halo import Halo

        return Halo(self._plan(FORWARD), self.batch, self.dtype, self._ranks, width)

    # --- what it is --------------------------------------------------------------------------------------------------

    def explain(self, direction: str = "forward") -> str:
        """The plan in words: its steps with predicted costs and, after a run, what was counted, for this rank.

        Collective only for "backward" before the first `backward`, because that plans it.
        """
        return self._plan(_choice("direction", direction, _DIRECTIONS)).explain()

    def report(self, direction: str = "forward") -> Report:
        """What `explain` says, as a dictionary that json can write. Collective when `explain` is."""
        return report_of(self._plan(_choice("direction", direction, _DIRECTIONS)))

    def predicted(self, direction: str = "forward", rank: int | None = None) -> Counts:
        """The predicted cost of one execution for a rank (by default this one). Collective when `explain` is."""
        if rank is not None and not 0 <= whole(rank, "rank") < self.ranks:
            raise InvalidArgument(f"rank is {rank}; the plan has ranks 0 to {self.ranks - 1}")
        return self._plan(_choice("direction", direction, _DIRECTIONS)).predicted(-1, -1 if rank is None else rank)

    def counted(self, direction: str = "forward") -> Counts | None:
        """The counted cost of the last execution for this rank; None before the first. Collective when `explain` is."""
        return self._plan(_choice("direction", direction, _DIRECTIONS)).counted()

    @property
    def problem(self) -> str:
        """The one-line problem string, with the planner's choices filled in; `spanfft plan` takes it."""
        return self._plan(FORWARD).problem

    @property
    def solver(self) -> str:
        """The planner's choice of method."""
        return self._plan(FORWARD).solver

    @property
    def engines(self) -> str:
        """The local engines that this rank uses, such as "mkl" or "mkl, ducc0"."""
        return self._plan(FORWARD).engines

    @property
    def grid(self) -> tuple[int, ...]:
        """Into how many blocks each axis is divided; () where boxes were given or there is one rank."""
        return _grid_of(self._plan(FORWARD))

    @property
    def ranks(self) -> int:
        """Number of ranks; 1 without a communicator."""
        return 1 if self._ranks is None else self._ranks.size

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # What copy, deepcopy and pickle call.
        raise InvalidType(
            "a Plan can't be copied or pickled: it holds memory, threads and communicators of this process; "
            "make another one from the same arguments"
        )

    def __repr__(self) -> str:
        return f"<spanfft.Plan {self._plans[FORWARD].problem if FORWARD in self._plans else '(freed)'}>"

    # --- tracing -----------------------------------------------------------------------------------------------------

    @contextmanager
    def trace(self, max_events: int = 0) -> Iterator[Plan]:
        """Records what `forward` and `backward` do inside ``with plan.trace():``, for `trace_events` and
        `spanfft.write_trace`. Collective if the plan has a communicator; an older trace of the plan is thrown away.

        Parameters
        ----------
        max_events
            Events to make room for, on each rank and for each direction; 0: 65536 (3 MiB). Further ones are dropped.
        """

        def check() -> int:
            return whole(max_events, "max_events")

        events = check() if self._ranks is None else self._ranks.agree(check)[self._ranks.rank]
        for plan in self._plans.values():  # the forward one first, on all ranks
            plan.trace_start(events)
        self._traced = set(self._plans)
        self._trace_max_events = events
        try:
            yield self
        finally:
            self._trace_max_events = None
            for plan in self._plans.values():
                if not plan.freed:
                    plan.trace_stop()

    def _traced_plans(self) -> list[CorePlan]:
        return [plan for direction, plan in self._plans.items() if direction in self._traced]

    def trace_events(self) -> list[TraceEvent]:
        """What this rank has recorded in `trace`, both directions, by time. Not collective."""
        from ._trace import capture

        events = [event for plan in self._traced_plans() for event in capture(plan).events]
        return sorted(events, key=lambda event: (event.start_ns, -event.end_ns))

    # --- the end -----------------------------------------------------------------------------------------------------

    def free(self) -> None:
        """Frees work space and communicators. Collective if the plan has a communicator. The plan is then unusable.

        A plan on ranks that is garbage-collected instead is freed when the next one is made on its communicator.
        """
        for plan in self._plans.values():
            plan.free()
        self._serials.clear()

    def __enter__(self) -> Plan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An exception that one rank alone has must not leave it waiting for the others here.
        if self._ranks is None or kind is None or isinstance(value, Error):
            self.free()

    def __del__(self) -> None:
        ranks = getattr(self, "_ranks", None)
        if ranks is not None and not sys.is_finalizing():  # when nothing can be imported any more
            for direction, serial in self._serials.items():
                kept = self._kept.get(direction)
                if kept is None:
                    ranks.drop(serial, self._plans[direction])
                else:  # the C plan lives as long as its arrays
                    weakref.finalize(kept, ranks.drop, serial, self._plans[direction]).atexit = False
