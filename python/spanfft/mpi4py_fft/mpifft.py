"""Parallel transforms with mpi4py-fft's layouts and names (`PFFT`, `Transform`), done by spanfft.

Method: where the axes are Fourier transforms without padding, one `spanfft.Plan` does the whole: its grid and
"exchanged" output often are the very layout that mpi4py-fft leaves; else it is given that layout's boxes. Padding and
other transforms go in stages: local transforms of `libfft` with a `Transfer` between two of them.
Invariant: local shapes and slices are those of mpi4py-fft 2.0.6 on any number of ranks: the last group of axes is whole
at first, then the one before it, which swaps its ranks with the one that was whole.
Source: the documented interface of mpi4py-fft 2.0.6; P4 for the order of the exchanges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from .._arguments import whole, wholes
from .._arrays import aligned_zeros
from .._errors import Error, InvalidArgument, InvalidType, Unsupported
from .._mpi import ranks_of
from .._plan import Plan
from .fftw.factory import planning_of
from .libfft import FFT, Transforms, check_backend, planning_options, truncated_length
from .pencil import Pencil, Subcomm, Transfer

AnyArray = npt.NDArray[Any]

__all__ = ["PFFT", "Transform"]

_MOST_AXES_OF_A_PLAN = 6


class Transform:
    """A parallel transform, forward or backward. `PFFT.forward` and `PFFT.backward` are such.

    Parameters
    ----------
    xfftn
        Local transforms (`FFT.forward` or `.backward`), in the order in which they are done.
    transfer
        The exchanges between them: `Transfer.forward` or `.backward`.
    pencil
        Layouts of the input and of the output.
    """

    def __init__(
        self, xfftn: Sequence[Callable[..., AnyArray]], transfer: Sequence[Callable[..., None]],
        pencil: Sequence[Pencil],
    ) -> None:  # fmt: skip
        self._xfftn, self._transfer, self._pencil = tuple(xfftn), tuple(transfer), tuple(pencil)

    @property
    def input_array(self) -> AnyArray:
        """The array that is transformed if the call gives none."""
        found: AnyArray = self._xfftn[0].input_array  # type: ignore[attr-defined]
        return found

    @property
    def output_array(self) -> AnyArray:
        """Where the result goes if the call gives no array."""
        found: AnyArray = self._xfftn[-1].output_array  # type: ignore[attr-defined]
        return found

    @property
    def input_pencil(self) -> Pencil:
        return self._pencil[0]

    @property
    def output_pencil(self) -> Pencil:
        return self._pencil[1]

    def __call__(
        self, input_array: npt.ArrayLike | None = None, output_array: AnyArray | None = None, **kw: Any
    ) -> AnyArray:
        """Transforms. Collective.

        Parameters
        ----------
        input_array, output_array
            This rank's parts; by default the transform's own arrays. The input survives.
        kw
            ``normalize=``: whether the result is scaled; by default forward is and backward is not.

        Returns
        -------
        numpy.ndarray
            The output array.
        """
        source, result = self._checked(input_array, output_array)
        self._run(source, result, **kw)
        return result

    def _checked(self, given: Any, out: Any) -> tuple[AnyArray, AnyArray]:
        """Both arrays, in the shapes of the pencils; an error of one rank is raised on all."""
        source, result, error = self._look(given, out)
        base = self._pencil[0].subcomm.base
        if base is not None and base.Get_size() > 1:
            ranks = ranks_of(base)
            if ranks.any(error is not None):
                ranks.agree(lambda: _tell(error))
        _tell(error)
        return source, result

    def _look(self, given: Any, out: Any) -> tuple[AnyArray, AnyArray, Error | None]:
        source, result = self.input_array, self.output_array
        try:
            if given is not None:
                source = _fitted("input_array", given, source)
            if out is not None:
                real = isinstance(out, np.ndarray) and out.dtype.kind != "c" and result.dtype.kind == "c"
                if not isinstance(out, np.ndarray) or out.shape != result.shape or real:
                    shown = f"{out.shape} {out.dtype}" if isinstance(out, np.ndarray) else f"a {type(out).__name__}"
                    raise InvalidArgument(f"output_array is {shown}; this rank's part is {result.shape} {result.dtype}")
                result = out
            if np.may_share_memory(source, result):
                source = source.copy()
        except Error as found:
            return source, result, found
        return source, result, None

    def _run(self, source: AnyArray, result: AnyArray, **kw: Any) -> None:
        stages: list[Any] = list(self._xfftn)
        for k, move in enumerate(self._transfer):
            moved = stages[k](source, **kw)
            move(moved, stages[k + 1].input_array)
            source = stages[k + 1].input_array
        stages[-1](source, result, **kw)


def _tell(error: Error | None) -> None:
    if error is not None:
        raise error


def _fitted(name: str, given: Any, like: AnyArray) -> AnyArray:
    """The array itself where it fits, else a copy with the right element type."""
    try:
        array = np.asanyarray(given)
        if array.dtype.kind not in "biufc" or array.dtype.kind == "c" != like.dtype.kind:
            raise InvalidType(f"{name} has dtype {array.dtype}; this rank's part has {like.dtype}")
    except ValueError:
        raise InvalidType(f"{name} is {type(given).__name__!r}; give an array of shape {like.shape}") from None
    if array.shape != like.shape:
        raise InvalidArgument(f"{name} has shape {array.shape}; this rank's part has shape {like.shape}")
    fitted: AnyArray = array if array.dtype == like.dtype else array.astype(like.dtype)
    return fitted


class _WholeTransform(Transform):
    """A direction of one spanfft plan over all ranks, with the arrays that it has if the call gives none."""

    def __init__(self, owner: _WholePlans, forward: bool, pencil: Sequence[Pencil]) -> None:
        super().__init__((), (), pencil)
        self._owner, self._forward = owner, forward

    @property
    def input_array(self) -> AnyArray:
        return self._owner.array(self._forward)

    @property
    def output_array(self) -> AnyArray:
        return self._owner.array(not self._forward)

    def _checked(self, given: Any, out: Any) -> tuple[AnyArray, AnyArray]:
        """The plan checks the arrays, on all ranks alike; here they only get the right element type."""
        source = self.input_array if given is None else given
        dtype = self._owner.dtype(self._forward)
        if not isinstance(source, np.ndarray) or source.dtype != dtype:
            try:
                source = np.asarray(source)
                if source.dtype.kind in "biufc" and (source.dtype.kind != "c" or dtype.kind == "c"):
                    source = source.astype(dtype)
            except ValueError:
                source = np.empty(0)  # the plan says on all ranks what it wants
        result = self.output_array if out is None else out
        if isinstance(result, np.ndarray) and np.may_share_memory(source, result):
            source = source.copy()
        return source, result

    def _run(self, source: AnyArray, result: AnyArray, normalize: bool | None = None, **kw: Any) -> None:
        scaled = self._forward if normalize is None else bool(normalize)
        # In a plan of norm "forward" forward is scaled by 1/N, in one of norm "backward" backward is.
        plan = self._owner.plan("forward" if scaled == self._forward else "backward")
        (plan.forward if self._forward else plan.backward)(source, result)


class _WholePlans:
    """The plans of a PFFT, one for each direction that is scaled, and the two arrays that they go between."""

    def __init__(self, make: Callable[[str], Plan]) -> None:
        self._make = make
        self._plans = {"forward": make("forward")}
        self._arrays: dict[bool, AnyArray] = {}

    def plan(self, norm: str) -> Plan:
        """Collective where it is made."""
        if norm not in self._plans:
            self._plans[norm] = self._make(norm)
        return self._plans[norm]

    def dtype(self, real_space: bool) -> np.dtype[Any]:
        plan = self._plans["forward"]
        return plan.dtype if real_space else plan.spectrum_dtype

    def array(self, real_space: bool) -> AnyArray:
        if real_space not in self._arrays:
            plan = self._plans["forward"]
            shape = plan.input_shape if real_space else plan.output_shape
            self._arrays[real_space] = aligned_zeros(shape, self.dtype(real_space))
        return self._arrays[real_space]

    def free(self) -> None:
        for plan in self._plans.values():
            plan.free()


def _is_number(value: Any) -> bool:
    return hasattr(value, "__index__") and not np.ndim(value)


def _groups_of(axes: Any, ndim: int) -> tuple[tuple[int, ...], ...]:
    """Axes as mpi4py-fft takes them: None, one, a sequence, or a sequence of sequences. -> ((0,), (1, 2))"""
    given: list[Any] = list(range(ndim)) if axes is None else [axes] if _is_number(axes) else list(axes)
    groups = []
    for entry in given:
        group = [whole(entry, "axes")] if _is_number(entry) else list(wholes(entry, "axes"))
        for axis in group:
            if not -ndim <= axis < ndim:
                raise InvalidArgument(f"axes has {axis}; {ndim} axes are {-ndim} to {ndim - 1}")
        groups.append(tuple(axis % ndim for axis in group))
    flat = [axis for group in groups for axis in group]
    if not flat or () in groups or len(set(flat)) != len(flat):
        raise InvalidArgument(f"axes is {axes!r}; name at least one axis, and each once")
    return tuple(groups)


def _collapsed(groups: tuple[tuple[int, ...], ...], grid: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Joins the last groups whose axes are all whole."""
    joined = list(groups)
    while len(joined) > 1 and all(grid[axis] == 1 for axis in (*joined[-2], *joined[-1])):
        last = joined.pop()
        joined[-1] = (*joined[-1], *last)
    return tuple(joined)


class PFFT:
    """A transform of an array that is divided over ranks, with mpi4py-fft's layouts. Collective.

    Parameters
    ----------
    comm
        Communicator, or a `Subcomm` with one communicator for each axis, which `destroy` then frees.
    shape
        Global shape: of real space, without padding.
    axes
        None: all. A number, a sequence, or a sequence of sequences: those of one inner sequence are transformed
        together. The last is transformed first and, of real input, halved.
    dtype
        Of the input of the forward transform.
    grid
        Ranks along each axis; free where not positive; completed with ones. (-1,): slabs. Default: all axes but those
        that are transformed first.
    padding
        False, a factor, or one for each axis of the shape: real space is so much longer than the spectrum.
    collapse
        Transform axes together that are whole together.
    backend
        mpi4py-fft's names of local libraries are accepted; all mean spanfft.
    transforms
        From axes to (forward, backward): see `libfft.FFT`.
    darray
        A `DistArray`, whose layout and type are taken in place of shape, dtype and grid.
    kw
        ``slab`` (True or the axis that is divided), ``threads``, ``planner_effort``.

    `forward` and `backward` are `Transform`s: `u_hat = fft.forward(u)`.
    """

    # Libraries derive from this class and set what they need of it by themselves.
    _whole: _WholePlans | None = None
    _stages: tuple[list[FFT], list[Transfer]] | None = None
    _owns = True
    subcomm: Subcomm
    axes: tuple[tuple[int, ...], ...]
    pencil: list[Pencil]
    forward: Transform
    backward: Transform

    def __init__(
        self, comm: Any, shape: Sequence[int] | None = None, axes: Any = None, dtype: npt.DTypeLike = float,
        grid: Sequence[int] | None = None, padding: Any = False, collapse: bool = False, backend: str = "fftw",
        transforms: Transforms | None = None, darray: Any = None, **kw: Any,
    ) -> None:  # fmt: skip
        self._owns = darray is None
        self.collapse = bool(collapse)
        if darray is not None:
            shape, dtype = darray.global_shape[darray.rank :], darray.dtype
        if shape is None:
            raise InvalidArgument("shape is missing; give shape= or darray=")
        given = [whole(n, "shape") for n in shape]
        self._dtype = np.dtype(dtype)
        if self._dtype.char not in "fdgFDG":
            raise InvalidType(f"dtype is {self._dtype}; it can be float32, float64, longdouble or complex of these")
        check_backend(backend)
        self._options = (backend, transforms, kw)
        self._threads, self._flags = planning_options(kw)
        if darray is not None:
            self.subcomm = darray.subcomm
            axes = _axes_for(darray.commsizes[darray.rank :]) if axes is None else axes
        self.axes = _groups_of(axes, len(given))
        if darray is None:
            self.subcomm = self._divided(comm, given, grid, kw.pop("slab", None))
        try:
            self._plan(given, padding, transforms)
        except Error:
            if darray is None and not isinstance(comm, Subcomm):
                self.subcomm.destroy()
            raise

    def _plan(self, given: list[int], padding: Any, transforms: Transforms | None) -> None:
        """All that follows from the grid."""
        self._check_first_group()
        if self.collapse and padding is False:
            self.axes = _collapsed(self.axes, self.subcomm.grid)
        self._padding = self._factors(padding, len(given))
        self._global = given, [int(n * f) for n, f in zip(given, self._padding, strict=True)]
        self._transforms = {
            tuple(axis % len(given) for axis in key): pair for key, pair in dict(transforms or {}).items()
        }
        if not self._plan_whole():
            self._plan_stages()

    def _divided(self, comm: Any, shape: list[int], grid: Any, slab: Any) -> Subcomm:
        """The grid of ranks, from whichever argument describes it."""
        ndim = len(shape)
        if ndim < 2:
            raise InvalidArgument(f"shape is {tuple(shape)}; an array that is divided has at least two axes")
        if slab is not None and slab is not False:
            if grid is not None:
                raise InvalidArgument(f"slab is {slab!r} and grid is {tuple(grid)}; give one of them")
            first = (self.axes[-1][-1] + 1) % ndim if slab is True else whole(slab, "slab") % ndim
            grid = [1] * first + [-1]
        if isinstance(comm, Subcomm):
            if grid is not None or len(comm) != ndim:
                raise InvalidArgument(f"comm is a Subcomm of {len(comm)} axes, which fixes the grid; for shape "
                                      f"{tuple(shape)} it has {ndim}, and grid= is left out")  # fmt: skip
            return comm
        if grid is None:
            dims = [1 if axis in self.axes[-1] else 0 for axis in range(ndim)]
        else:
            dims = [max(0, d) for d in wholes(grid, "grid")]
            dims += [1] * (ndim - len(dims))
            if len(dims) > ndim:
                raise InvalidArgument(f"grid is {tuple(grid)} for shape {tuple(shape)}; it has at most {ndim} entries")
        if not isinstance(comm, MPI.Comm):
            raise InvalidType(f"comm is {comm!r}; give a communicator of mpi4py, or a Subcomm")
        return Subcomm(comm, dims)

    def _check_first_group(self) -> None:
        """What is transformed first is whole."""
        for axis in self.axes[-1]:
            parts = self.subcomm.grid[axis]
            if parts != 1:
                grid = self.subcomm.grid
                raise InvalidArgument(f"axes {self.axes[-1]} are transformed first, but axis {axis} is divided among "
                                      f"{parts} ranks of the grid {grid}; give 1 for it in grid=")  # fmt: skip

    def _factors(self, padding: Any, ndim: int) -> list[float]:
        if padding is False or padding is None:
            return [1.0] * ndim
        given = [float(f) for f in np.atleast_1d(np.asarray(padding, float))]
        if np.ndim(padding) == 0 and padding is not True:
            given = [given[0] if axis in sum(self.axes, ()) else 1.0 for axis in range(ndim)]
        if len(given) != ndim or padding is True or not all(1 <= f < math.inf for f in given):
            raise InvalidArgument(f"padding is {padding!r}; it is False, a factor of at least 1, or {ndim} of them, "
                                  "one for each axis")  # fmt: skip
        for group in self.axes:
            if len(group) > 1 and any(given[axis] > 1 for axis in group):
                raise Unsupported(f"padding {given} along axes {group}, which are transformed together; name each "
                                  "padded axis by itself in axes=")  # fmt: skip
        every = set(sum(self.axes, ()))
        return [f if axis in every else 1.0 for axis, f in enumerate(given)]

    # --- one plan for the whole --------------------------------------------------------------------------------------

    def _plan_whole(self) -> bool:
        base = self.subcomm.base
        flat = sum(self.axes, ())
        groups = set(self.axes) & set(self._transforms)
        real = self._dtype.kind == "f"
        if base is None or groups or len(self._global[0]) > _MOST_AXES_OF_A_PLAN or not self._pads_as_plans_do(real):
            return False
        kept, points = self._global
        spectrum = list(kept)
        if real:
            spectrum[flat[-1]] = spectrum[flat[-1]] // 2 + 1
        first, last = self._ends(points, spectrum)
        kind = ["c2c"] * (len(flat) - 1) + ["r2c" if real else "c2c"]
        same = {
            "dtype": self._dtype,
            "axes": flat,
            "kind": kind,
            "kept": kept,
            "comm": base,
            "threads": self._threads,
            **planning_of(self._flags),
        }
        layouts: list[dict[str, Any]] = [
            {"grid": self.subcomm.grid, "output": "exchanged"},
            {"real_slices": first.slices(), "spectrum_slices": last.slices()},
        ]

        def make(norm: str) -> Plan:
            plan = Plan(first.shape, norm=norm, **same, **layouts[0])
            fits = (plan.input_slices, plan.output_slices) == (first.slices(), last.slices())
            if len(layouts) > 1 and ranks_of(base).any(not fits):
                plan.free()
                del layouts[0]
                return make(norm)
            del layouts[1:]
            return plan

        self._whole = _WholePlans(make)
        self.pencil = [first, last]
        self.forward = _WholeTransform(self._whole, True, (first, last))
        self.backward = _WholeTransform(self._whole, False, (last, first))
        return True

    def _pads_as_plans_do(self, real: bool) -> bool:
        """Along complex axes mpi4py-fft treats the middle mode as a plan with kept= does. Of a real axis that keeps n
        modes, n // 2 + 1 coefficients, it takes the last for that of frequency n/2 where their number is even; that is
        what a plan does where n is 2 (mod 4), and where n is 1 (mod 4) neither does anything. A factor that the
        lengths don't round to is for the stages to refuse."""
        for axis, (modes, points, factor) in enumerate(zip(*self._global, self._padding, strict=True)):
            if factor > 1 and truncated_length(points, factor, real=False) != modes:
                return False
            if real and axis == self.axes[-1][-1] and points > modes and modes % 4 not in (1, 2):
                return False
        return True

    def _ends(self, real_shape: Sequence[int], spectrum_shape: Sequence[int]) -> tuple[Pencil, Pencil]:
        """The layouts before and after."""
        first = Pencil(self.subcomm, real_shape, self.axes[-1][-1])
        last = Pencil(self.subcomm, spectrum_shape, self.axes[-1][-1])
        for group in reversed(self.axes[:-1]):
            last = last.pencil(group[-1])
        return first, last

    # --- in stages ---------------------------------------------------------------------------------------------------

    def _built_stages(self) -> tuple[list[FFT], list[Transfer]]:
        """Local transforms and the exchanges between them, in the order of the forward transform. Not collective."""
        if self._stages is not None:
            return self._stages
        backend, _, options = self._options
        shape, spectrum = list(self._global[1]), self._global[0]
        pencil = Pencil(self.subcomm, shape, self.axes[-1][-1])
        self._first, dtype = pencil, self._dtype
        xfftn: list[FFT] = []
        transfer: list[Transfer] = []
        for k, group in enumerate(reversed(self.axes)):
            if k:
                moved = pencil.pencil(group[-1])
                transfer.append(pencil.transfer(moved, dtype))
                pencil = moved
            for axis in group:
                if pencil.subcomm[axis].Get_size() != 1:
                    raise InvalidArgument(f"axes {group} are transformed together, but axis {axis} is divided among "
                                          f"{pencil.subcomm[axis].Get_size()} ranks; give another grid=")  # fmt: skip
            factor = max(self._padding[axis] for axis in group)
            local = FFT(pencil.subshape, group, dtype, factor if factor > 1 else False, backend, self._transforms,
                        **options)  # fmt: skip
            xfftn.append(local)
            result = local.forward.output_array
            dtype, shape = result.dtype, list(pencil.shape)
            for axis in group:
                shape[axis] = result.shape[axis]
                unpadded = spectrum[axis] // 2 + 1 if local.real_transform and dtype.kind == "c" else spectrum[axis]
                if factor > 1 and shape[axis] != unpadded:
                    raise InvalidArgument(f"padding {factor} of axis {axis}, of {spectrum[axis]}, would keep "
                                          f"{shape[axis]} coefficients of {unpadded}; give another factor")  # fmt: skip
            pencil = Pencil(pencil.subcomm, shape, pencil.axis)
        self._last = pencil
        self._stages = (xfftn, transfer)
        return self._stages

    def _plan_stages(self) -> None:
        xfftn, transfer = self._built_stages()
        ends = (self._first, self._last)
        self.pencil = list(ends)
        self.forward = Transform([x.forward for x in xfftn], [t.forward for t in transfer], ends)
        self.backward = Transform(
            [x.backward for x in reversed(xfftn)], [t.backward for t in reversed(transfer)], ends[::-1]
        )

    def __getattr__(self, name: str) -> Any:
        """`xfftn` and `transfer`, the local transforms and the exchanges between them, in the order of the forward
        transform. Where one plan does the whole they are made when they are first asked for."""
        if name not in ("xfftn", "transfer") or "_global" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.xfftn, self.transfer = self._built_stages()
        return self.__dict__[name]

    # --- what it is --------------------------------------------------------------------------------------------------

    def destroy(self) -> None:
        """Frees plans, datatypes and the communicators of `subcomm`. Collective."""
        if self._whole is not None:
            self._whole.free()
        if self._stages is not None:
            for local in self._stages[0]:
                local.destroy()
            for transfer in self._stages[1]:
                transfer.destroy()
        if self._owns:
            self.subcomm.destroy()

    def _end(self, forward_output: bool) -> Pencil:
        return self.forward.output_pencil if forward_output else self.forward.input_pencil

    def shape(self, forward_output: bool = True) -> tuple[int, ...]:
        """Shape of this rank's part: of the spectrum, or (False) of real space."""
        return self._end(forward_output).subshape

    def local_slice(self, forward_output: bool = True) -> tuple[slice, ...]:
        """This rank's part as slices of the global array: of the spectrum, or (False) of real space."""
        return self._end(forward_output).slices()

    def global_shape(self, forward_output: bool = False) -> tuple[int, ...]:
        """Global shape of real space, or (True) of the spectrum."""
        return self._end(forward_output).shape

    @property
    def dimensions(self) -> int:
        """Number of axes."""
        return len(self.forward.input_pencil.shape)

    def dtype(self, forward_output: bool = False) -> np.dtype[Any]:
        """Element type of real space, or (True) of the spectrum."""
        if self._whole is not None:
            return self._whole.dtype(not forward_output)
        return (self.forward.output_array if forward_output else self.forward.input_array).dtype


def _axes_for(grid: Sequence[int]) -> tuple[int, ...]:
    """All axes, so that the first one that is whole comes last and is transformed first. (2, 1, 2) -> (2, 0, 1)"""
    first = list(grid).index(1)
    ndim = len(grid)
    return tuple((first + 1 + k) % ndim for k in range(ndim))
