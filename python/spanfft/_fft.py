"""numpy.fft's functions, for arrays in this process and for arrays divided over MPI ranks (``comm=``).

Without ``comm`` names, arguments, results and errors are numpy's, and scipy.fft's of the four functions that numpy
lacks (hfft2, hfftn, ihfft2, ihfftn). With ``comm`` each function is collective:
``a`` is this rank's box of a global array whose axis 0 is divided in balanced blocks over all ranks (the first
ones hold one more), or, with ``grid=(p0, p1, ...)``, whose axis i is divided in p_i blocks, ranks counted
row-major. The result is this rank's box of the spectrum, divided in the same way. All ranks get the same error.

Signatures are spelled out, since help() and type checkers show them; _calls.py does the work.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
import numpy.typing as npt
from numpy.fft import fftshift, ifftshift

from ._arrays import AnyArray
from ._calls import (
    C2C,
    C2C_BACKWARD,
    C2R,
    R2C,
    SMALL_C2C,
    SMALL_C2C_BACKWARD,
    SMALL_C2R,
    SMALL_HERMITIAN,
    SMALL_R2C,
    SMALL_TO_HERMITIAN,
    Form,
    transform_like_numpy,
)
from ._errors import InvalidArgument
from ._frequencies import fftfreq, rfftfreq
from ._native import core

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# What is wrong stays as it is, for transform_like_numpy to refuse: on all ranks, where one alone must not raise here.
def swapped_norm(norm: str | None) -> str | None:
    """Of a Hermitian transform, which is the other direction's of the conjugate."""
    return _SWAPPED.get(norm, norm) if norm is None or isinstance(norm, str) else norm


def _conjugate(a: npt.ArrayLike) -> npt.ArrayLike:
    try:
        conjugated: AnyArray = np.conjugate(a)
    except (TypeError, ValueError):
        return a
    return conjugated


def _hermitian(
    x: npt.ArrayLike,
    s: object,
    axes: object,
    form: Form,
    norm: str | None,
    workers: int | None,
    comm: Comm | None,
    grid: Sequence[int] | None,
) -> AnyArray:
    if comm is None:
        _unique(axes, np.ndim(x))
    if axes is None and isinstance(s, Iterable):
        s = list(s)
        axes = range(-len(s), 0)  # scipy's, where numpy warns
    threads = 0 if workers is None or workers < 0 else workers
    return transform_like_numpy(x, s, axes, form, swapped_norm(norm), None, comm, grid, threads=threads)


def _just(n: object) -> object:
    return None if n is None else (n,)


def fft(
    a: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete Fourier transform along one axis.

    Parameters
    ----------
    a
        Any numbers, any layout in memory. With `comm`: this rank's box of a global array whose axis 0 is divided in
        balanced blocks over all ranks (the first ones hold one more), or as `grid` says.
    n
        Length along `axis` to which the array is cropped or padded with zeros. Default: its own.
    axis
        The axis to transform.
    norm
        Which direction carries the factor 1/n: "backward" (default), "ortho" (1/sqrt(n) in both) or "forward".
    out
        Array for the result, of its shape. Returned.
    comm
        mpi4py communicator over which the array is divided. All its ranks must call (collective).
    grid
        Into how many blocks each axis is divided, ranks counted row-major, for `comm`; the result is divided the same
        way. Default: axis 0 over all ranks.

    Returns
    -------
    numpy.ndarray
        complex64 for float16, float32 and complex64; clongdouble for long double; else complex128. The
        shape is that of `a` with `n` along `axis`. With `comm`: this rank's box of it.

    Raises
    ------
    InvalidArgument
        A ValueError; also InvalidAxis (an IndexError) and InvalidType (a TypeError). With `comm` on all ranks.
    """
    if out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call(SMALL_C2C, a, n, axis, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, _just(n), axis, C2C, norm, out, comm, grid, one_axis=True)


def ifft(
    a: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `fft`, with the same parameters, result and errors. Collective with `comm`."""
    if out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call(SMALL_C2C_BACKWARD, a, n, axis, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, _just(n), axis, C2C_BACKWARD, norm, out, comm, grid, one_axis=True)


def rfft(
    a: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete Fourier transform of real numbers along one axis: frequencies 0 to n // 2 only.

    Parameters are those of `fft`; complex `a` is a TypeError. The result has n // 2 + 1 entries along `axis`.
    Collective with `comm`.
    """
    if out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call(SMALL_R2C, a, n, axis, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, _just(n), axis, R2C, norm, out, comm, grid, one_axis=True)


def irfft(
    a: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `rfft`: real numbers from frequencies 0 to n // 2.

    Parameters are those of `fft`, but `n` is the length of the result, by default the even one 2 (m - 1) for
    m frequencies. Give `n` if the original length was odd. Collective with `comm`.
    """
    if out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call(SMALL_C2R, a, n, axis, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, _just(n), axis, C2R, norm, out, comm, grid, one_axis=True)


def hfft(
    a: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete Fourier transform of Hermitian-symmetric numbers, given their first half: a real spectrum.

    Parameters are those of `irfft`. Collective with `comm`.
    """
    if out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call(SMALL_HERMITIAN, a, n, axis, norm)
        if small is not None:
            return small
    return transform_like_numpy(_conjugate(a), _just(n), axis, C2R, swapped_norm(norm), out, comm, grid, one_axis=True)


def ihfft(
    a: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `hfft`: the first half of Hermitian-symmetric numbers from a real spectrum.

    Parameters are those of `rfft`. Collective with `comm`.
    """
    if out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call(SMALL_TO_HERMITIAN, a, n, axis, norm)
        if small is not None:
            return small
    result = transform_like_numpy(a, _just(n), axis, R2C, swapped_norm(norm), out, comm, grid, one_axis=True)
    return np.conjugate(result, out=result)


def fftn(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete Fourier transform along several axes.

    Parameters
    ----------
    a
        Any numbers, any layout in memory. With `comm`: this rank's box of the global array.
    s
        Lengths along `axes` to which the array is cropped or padded with zeros, or one for the last axis; -1 keeps a
        length.
    axes
        The axes to transform, or one, by default all. An axis that is named twice is transformed twice, as in numpy;
        scipy refuses it. With no axes, () or those of a single number, the result is a copy of `a`.
    norm
        Which direction carries the factor 1/N: "backward" (default), "ortho" (1/sqrt(N) in both) or "forward".
    out
        Array for the result, of its shape. Returned.
    comm
        mpi4py communicator over which the array is divided. All its ranks must call (collective).
    grid
        Into how many blocks each axis is divided, for `comm`. Default: axis 0 over all ranks.

    Returns
    -------
    numpy.ndarray
        Of the precision of `a` (integers: double). With `comm`: this rank's box of the global spectrum.

    Raises
    ------
    InvalidArgument
        A ValueError; also InvalidAxis (an IndexError) and InvalidType (a TypeError). With `comm` on all ranks.
    """
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_C2C, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, C2C, norm, out, comm, grid)


def ifftn(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `fftn`, with the same parameters, result and errors. Collective with `comm`."""
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_C2C_BACKWARD, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, C2C_BACKWARD, norm, out, comm, grid)


def rfftn(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete Fourier transform of real numbers along several axes; the last of them is halved to n // 2 + 1.

    Parameters are those of `fftn`; complex `a` is a TypeError. Collective with `comm`.
    """
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_R2C, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, R2C, norm, out, comm, grid)


def irfftn(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `rfftn`: real numbers. `s` holds lengths of the result; without `s` the last length is even.

    Parameters are those of `fftn`. Collective with `comm`.
    """
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_C2R, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, C2R, norm, out, comm, grid)


def fft2(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """`fftn` along the last two axes. Collective with `comm`."""
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_C2C, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, C2C, norm, out, comm, grid)


def ifft2(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """`ifftn` along the last two axes. Collective with `comm`."""
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_C2C_BACKWARD, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, C2C_BACKWARD, norm, out, comm, grid)


def rfft2(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """`rfftn` along the last two axes. Collective with `comm`."""
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_R2C, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, R2C, norm, out, comm, grid)


def irfft2(
    a: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: AnyArray | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """`irfftn` along the last two axes. Collective with `comm`."""
    if s is None and out is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_C2R, a, axes, norm)
        if small is not None:
            return small
    return transform_like_numpy(a, s, axes, C2R, norm, out, comm, grid)


def _unique(axes: object, ndim: int) -> None:
    """scipy's functions refuse an axis that is named twice, which numpy's transform twice."""
    if isinstance(axes, Iterable):
        picked = [operator.index(axis) % max(1, ndim) for axis in axes if isinstance(axis, SupportsIndex)]
        if len(set(picked)) != len(picked):
            raise InvalidArgument(f"axes {tuple(picked)} name one axis twice; all axes must be unique")


def hfftn(
    x: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Discrete Fourier transform along several axes of Hermitian-symmetric numbers: a real spectrum.

    Parameters
    ----------
    x
        Any numbers: the first half along the last of the axes, n // 2 + 1 entries of n. With `comm`: this rank's box.
    s
        Lengths of the result along `axes`, or one for the last axis; without `s` the last length is even.
    axes
        The axes to transform, or one; by default all. None may be named twice.
    norm
        Which direction carries the factor 1/N: "backward" (default), "ortho" (1/sqrt(N) in both) or "forward".
    overwrite_x
        Accepted for scipy's sake; `x` is never changed.
    workers
        Threads; default: the planner chooses.
    comm, grid
        As for `fftn`. Collective with `comm`.

    Returns
    -------
    numpy.ndarray
        Real, of the precision of `x` (integers: double). With `comm`: this rank's box of the global spectrum.
    """
    if s is None and workers is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_HERMITIAN, x, axes, norm)
        if small is not None:
            return small
    return _hermitian(_conjugate(x), s, axes, C2R, norm, workers, comm, grid)


def ihfftn(
    x: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """Inverse of `hfftn`: the first half of Hermitian-symmetric numbers from a real spectrum. Collective with `comm`.

    Parameters are those of `hfftn`, with lengths of the input; complex `x` is a TypeError.
    """
    if s is None and workers is None and comm is None and grid is None:
        small: AnyArray | None = core.small_call_nd(SMALL_TO_HERMITIAN, x, axes, norm)
        if small is not None:
            return small
    result = _hermitian(x, s, axes, R2C, norm, workers, comm, grid)
    return np.conjugate(result, out=result)


def hfft2(
    x: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """`hfftn` along the last two axes. Collective with `comm`."""
    return hfftn(x, s, axes, norm, overwrite_x, workers, comm=comm, grid=grid)


def ihfft2(
    x: npt.ArrayLike,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    comm: Comm | None = None,
    grid: Sequence[int] | None = None,
) -> AnyArray:
    """`ihfftn` along the last two axes. Collective with `comm`."""
    return ihfftn(x, s, axes, norm, overwrite_x, workers, comm=comm, grid=grid)
