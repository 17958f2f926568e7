"""Local transforms of some axes with padding and truncation: mpi4py-fft's `libfft.FFT`, by spanfft.

Method: a planned forward and a planned backward transform with one array on each side. Forward is scaled by 1/N unless
the call says normalize=False, backward unless it says so is not. With padding, real space is longer than the spectrum
has frequencies: forward leaves the high ones out, backward fills in zeros (the 3/2 rule against aliasing).
Source: the documented interface of mpi4py-fft 2.0.6, and its results where the documents are silent.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from .._errors import InvalidArgument, InvalidType, Unsupported
from . import fftw
from .fftw.factory import _axes_of
from .fftw.xfftn import PLANNERS

AnyArray = npt.NDArray[Any]
Transforms = Mapping[tuple[int, ...], tuple[Callable[..., Any], Callable[..., Any]]]

__all__ = ["BACKENDS", "FFT", "FFTBase"]

BACKENDS = ("fftw", "pyfftw", "numpy", "scipy", "mkl_fft")
"""Names that mpi4py-fft knows. spanfft does the transforms, whichever is named."""
_FLAGS = {
    "FFTW_ESTIMATE": fftw.FFTW_ESTIMATE,
    "FFTW_MEASURE": fftw.FFTW_MEASURE,
    "FFTW_PATIENT": fftw.FFTW_PATIENT,
    "FFTW_EXHAUSTIVE": fftw.FFTW_EXHAUSTIVE,
}


def check_backend(backend: str) -> None:
    """It is one of the names that mpi4py-fft knows."""
    if backend not in BACKENDS:
        raise InvalidArgument(f"backend is {backend!r}; it can be {', '.join(map(repr, BACKENDS))}, which all mean "
                              "spanfft here")  # fmt: skip


def planning_options(options: Mapping[str, Any]) -> tuple[int, int]:
    """Threads and flags from the keywords that mpi4py-fft's backends take; others are theirs alone."""
    effort = options.get("planner_effort", "FFTW_MEASURE")
    if effort not in _FLAGS:
        raise InvalidArgument(f"planner_effort is {effort!r}; it can be {', '.join(map(repr, _FLAGS))}")
    return int(options.get("threads", 1)), _FLAGS[effort]


def truncated_length(n: int, factor: float, real: bool) -> int:
    """How many coefficients remain of a padded axis of n. 9 by 1.5: 6, or 4 of a real axis."""
    kept = int(np.round(n / factor))
    return kept // 2 + 1 if real else kept


class _Planned:
    """A planned transform between two arrays, as `FFT.forward` and `FFT.backward`."""

    def __init__(self, run: Callable[..., None], input_array: AnyArray, output_array: AnyArray) -> None:
        self._run, self._input_array, self._output_array = run, input_array, output_array

    @property
    def input_array(self) -> AnyArray:
        return self._input_array

    @property
    def output_array(self) -> AnyArray:
        return self._output_array

    def __call__(
        self, input_array: npt.ArrayLike | None = None, output_array: AnyArray | None = None, **options: Any
    ) -> AnyArray:
        """Transforms the given input (or `input_array`) into the given output (or `output_array`)."""
        source = self._input_array
        if input_array is not None:
            if _alike(input_array, source):
                source = input_array
            else:
                source[...] = input_array
        if output_array is None or _alike(output_array, self._output_array):
            target = self._output_array if output_array is None else output_array
            self._run(source, target, **options)
            return target
        self._run(source, self._output_array, **options)
        output_array[...] = self._output_array
        return output_array


def _alike(a: Any, b: AnyArray) -> TypeGuard[AnyArray]:
    return isinstance(a, np.ndarray) and a.shape == b.shape and a.dtype == b.dtype


class FFTBase:
    """What a local transform is of: shape, axes, type, and the padding of one axis.

    Parameters
    ----------
    shape
        Of the input of the forward transform, with the padding.
    axes
        None: all. From real to complex the last of them is halved.
    dtype
        Of the input of the forward transform.
    padding
        False, or the factor by which real space is longer than the spectrum has frequencies, for one axis alone.
    """

    def __init__(
        self, shape: Sequence[int], axes: int | Sequence[int] | None = None, dtype: npt.DTypeLike = float,
        padding: bool | float | Sequence[float] = False,
    ) -> None:  # fmt: skip
        self.shape = [int(n) for n in np.atleast_1d(shape)]
        self.axes = list(range(len(self.shape)) if axes is None else _axes_of(axes, len(self.shape)))
        self.dtype = np.dtype(dtype)
        if self.dtype.char not in "fdgFDG":
            raise InvalidType(f"dtype is {self.dtype}; it can be float32, float64, longdouble or complex of these")
        self.padding = padding
        self.real_transform = self.dtype.char in "fdg"
        self.padding_factor = 1.0
        if padding is not False:
            self.padding_factor = float(np.atleast_1d(np.asarray(padding, float))[-1])
            if not 1 <= self.padding_factor < np.inf or padding is True:
                raise InvalidArgument(f"padding is {padding!r}; it is False or a factor of at least 1")
            if self.padding_factor > 1 and len(self.axes) != 1:
                raise Unsupported(f"padding of axes {tuple(self.axes)} in one transform; pad one axis at a time")

    def _ends(self, array: AnyArray, n: int) -> tuple[AnyArray, AnyArray]:
        """Where an array holds the coefficients of a complex axis of n: (n + 1) // 2 low ones, n // 2 high."""
        half, length = n // 2, array.shape[self.axes[-1]]
        return self._along(array, 0, n - half), self._along(array, length - half, length)

    def _along(self, array: AnyArray, start: int, stop: int) -> AnyArray:
        """A view of these coefficients of the padded axis."""
        index: list[Any] = [slice(None)] * array.ndim
        index[self.axes[-1]] = slice(start, stop)
        view: AnyArray = array[tuple(index)]
        return view

    def _truncation_forward(self, padded_array: AnyArray, trunc_array: AnyArray) -> None:
        """Keeps the low frequencies. Of a complex axis of even length n, frequencies n/2 and -n/2 are one coefficient,
        their sum. A real axis that keeps an even number of coefficients is taken for such a one, as mpi4py-fft has it,
        though it is not one if its length is odd."""
        n = trunc_array.shape[self.axes[-1]]
        if self.real_transform:
            trunc_array[...] = self._along(padded_array, 0, n)
            if n % 2 == 0:
                top = self._along(trunc_array, n - 1, n)
                top[...] = 2 * top.real
            return
        for target, source in zip(self._ends(trunc_array, n), self._ends(padded_array, n), strict=True):
            target[...] = source
        if n % 2 == 0:
            middle = self._along(trunc_array, n // 2, n // 2 + 1)
            middle += self._along(padded_array, n // 2, n // 2 + 1)

    def _padding_backward(self, trunc_array: AnyArray, padded_array: AnyArray) -> None:
        """Zeros between low and high frequencies. Of even lengths, frequencies n/2 and -n/2 get half each."""
        n = trunc_array.shape[self.axes[-1]]
        padded_array.fill(0)
        if self.real_transform:
            self._along(padded_array, 0, n)[...] = trunc_array
            if n % 2 == 0:
                top = self._along(padded_array, n - 1, n)
                top[...] = 0.5 * top.real
            return
        for target, source in zip(self._ends(padded_array, n), self._ends(trunc_array, n), strict=True):
            target[...] = source
        if n % 2 == 0:
            length = padded_array.shape[self.axes[-1]]
            above, below = (self._along(padded_array, k, k + 1) for k in (n // 2, length - n // 2))
            below *= 0.5
            above[...] = below


class FFT(FFTBase):
    """A local transform of some axes, forward and backward.

    Parameters
    ----------
    shape, axes, dtype, padding
        See `FFTBase`.
    backend
        A name that mpi4py-fft knows. All mean spanfft.
    transforms
        From axes to a pair of functions, forward and backward: planning functions of `spanfft.mpi4py_fft.fftw` (or
        partials of them), or functions that transform, such as numpy.fft's. Default: rfftn and irfftn of real input,
        fftn and ifftn of complex.
    kw
        ``threads`` and ``planner_effort``; other keywords of mpi4py-fft's backends are accepted and not used.

    `forward` and `backward` have an `input_array` and an `output_array`, and take others when they are called, with
    ``normalize=`` (default: forward is scaled by 1/N, backward is not).
    """

    def __init__(
        self, shape: Sequence[int], axes: int | Sequence[int] | None = None, dtype: npt.DTypeLike = float,
        padding: bool | float | Sequence[float] = False, backend: str = "fftw",
        transforms: Transforms | None = None, **kw: Any,
    ) -> None:  # fmt: skip
        super().__init__(shape, axes, dtype, padding)
        check_backend(backend)
        self.backend = backend
        self._threads, self._flags = planning_options(kw)
        self._plan(dict(transforms or {}))
        source, reduced = self.fwd.input_array, self._reduced(self.fwd.output_array)
        self.forward = _Planned(self._forward, source, reduced)
        self.backward = _Planned(self._backward, reduced, source)

    def _plan(self, transforms: dict[tuple[int, ...], tuple[Callable[..., Any], Callable[..., Any]]]) -> None:
        source = fftw.aligned(self.shape, dtype=self.dtype, fill=0)
        default = (fftw.rfftn, fftw.irfftn) if self.real_transform else (fftw.fftn, fftw.ifftn)
        there, back = transforms.get(tuple(self.axes), default)
        if _planner_of(there) is None:
            self.M = 1.0 / float(np.prod(np.take(self.shape, self.axes)))
            self.fwd: Any = _Called(there, source, None, self.axes, 1.0)
            self.bck: Any = _Called(back, self.fwd.output_array, source, self.axes, 1.0 / self.M)
            return
        options = {"axes": tuple(self.axes), "threads": self._threads, "flags": (self._flags,)}
        self.fwd = there(source, None, **options)
        lengths = tuple(self.shape[axis] for axis in self.axes)
        self.bck = back(self.fwd.output_array, lengths, output_array=source, **options)
        self.M = self.fwd.get_normalization()
        if self.padding_factor > 1 and self.real_transform and self.fwd.output_array.dtype.kind != "c":
            raise Unsupported("padding is for Fourier transforms; cosine and sine transforms have none")

    def _reduced(self, full: AnyArray) -> AnyArray:
        if self.padding_factor <= 1:
            return full
        shape = list(full.shape)
        axis = self.axes[-1]
        shape[axis] = truncated_length(self.shape[axis], self.padding_factor, self.real_transform)
        return fftw.aligned(shape, dtype=full.dtype, fill=0)

    def _forward(self, source: AnyArray, target: AnyArray, normalize: bool = True, **kw: Any) -> None:
        if self.padding_factor <= 1:
            self.fwd(source, target)
        else:
            self._truncation_forward(self.fwd(source), target)
        if normalize:
            target *= self.M

    def _backward(self, source: AnyArray, target: AnyArray, normalize: bool = False, **kw: Any) -> None:
        if self.padding_factor > 1:
            self._padding_backward(source, self.bck.input_array)
            source = self.bck.input_array
        self.bck(source, target)
        if normalize:
            target *= self.M

    def destroy(self) -> None:
        """Frees the plans; a later call plans anew."""
        for plan in (self.fwd, self.bck):
            plan.destroy()


def _planner_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The planning function of ours that this is, or is a partial of."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if function in PLANNERS else None


class _Called:
    """A function of another library that transforms (numpy.fft.rfftn) or plans (pyfftw.builders.rfftn), in the place of
    a planned transform of ours. `factor` undoes the scaling of those that go back."""

    def __init__(
        self, function: Callable[..., Any], source: AnyArray, target: AnyArray | None, axes: Sequence[int],
        factor: float,
    ) -> None:  # fmt: skip
        self.input_array, self._function, self._factor = source, function, factor
        names = inspect.signature(function).parameters
        if "axes" not in names:
            raise InvalidType(f"transforms has {function!r}, which takes no axes=; give ones such as numpy.fft.rfftn")
        self._options: dict[str, Any] = {"axes": tuple(axes)}
        if target is not None:  # the way back must know an odd length
            lengths = tuple(target.shape[axis] for axis in axes)
            self._options.update({name: lengths for name in ("s", "shape") if name in names})
        found = function(source, **self._options)
        if callable(found):  # a planned transform, as pyfftw.builders make; some destroy their input
            planned = found
            self._function = lambda array, **options: planned(array.copy())
            found = self._function(source)
        self.output_array = fftw.aligned_like(np.asarray(found)) if target is None else target

    def __call__(self, source: AnyArray, target: AnyArray | None = None) -> AnyArray:
        found = np.asarray(self._function(source, **self._options))
        result = self.output_array if target is None else target
        result[...] = found if result.dtype.kind == "c" else found.real
        if self._factor != 1:
            result *= self._factor
        return result

    def destroy(self) -> None:
        """Nothing was planned."""
