"""Planning functions with mpi4py-fft's names: each returns an `FFT` that transforms when it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._errors import InvalidArgument, InvalidType
from .factory import FFT, _axes_of, get_normalization, get_planned_FFT
from .utilities import (
    C2C_BACKWARD,
    C2C_FORWARD,
    C2R,
    FFTW_MEASURE,
    FFTW_REDFT00,
    FFTW_REDFT01,
    FFTW_REDFT10,
    FFTW_REDFT11,
    FFTW_RODFT00,
    FFTW_RODFT01,
    FFTW_RODFT10,
    FFTW_RODFT11,
    R2C,
    AnyArray,
    aligned,
    aligned_like,
)

Flags = int | Sequence[int]

dct_type = {1: FFTW_REDFT00, 2: FFTW_REDFT10, 3: FFTW_REDFT01, 4: FFTW_REDFT11}
idct_type = {1: FFTW_REDFT00, 2: FFTW_REDFT01, 3: FFTW_REDFT10, 4: FFTW_REDFT11}
dst_type = {1: FFTW_RODFT00, 2: FFTW_RODFT10, 3: FFTW_RODFT01, 4: FFTW_RODFT11}
idst_type = {1: FFTW_RODFT00, 2: FFTW_RODFT01, 3: FFTW_RODFT10, 4: FFTW_RODFT11}


def _typed(name: str, array: AnyArray, kinds: str) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.char not in kinds:
        what = f"of dtype {array.dtype}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
        right = "real (float32, float64, longdouble)" if kinds == "fdg" else "complex"
        raise InvalidType(f"{name}: input_array is {what}; it must be {right}")


def _complex(
    name: str, kind: int, a: AnyArray, axes: Sequence[int], threads: int, flags: Flags, out: AnyArray | None
) -> FFT:
    _typed(name, a, "FDG")
    factor = get_normalization(kind, a.shape, axes)
    return get_planned_FFT(a, aligned_like(a) if out is None else out, axes, kind, threads, flags, factor)


def fftn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), threads: int = 1,
    flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans a forward transform from complex to complex. `s` is not used."""
    return _complex("fftn", C2C_FORWARD, input_array, axes, threads, flags, output_array)


def ifftn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), threads: int = 1,
    flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans a backward transform from complex to complex, unscaled. `s` is not used."""
    return _complex("ifftn", C2C_BACKWARD, input_array, axes, threads, flags, output_array)


def rfftn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), threads: int = 1,
    flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans a forward transform from real to complex, which halves the last of `axes`. `s` is not used."""
    _typed("rfftn", input_array, "fdg")
    if output_array is None:
        shape = list(input_array.shape)
        last = _axes_of(axes, len(shape))[-1]
        shape[last] = shape[last] // 2 + 1
        output_array = aligned(shape, dtype=input_array.dtype.char.upper())
    factor = get_normalization(R2C, input_array.shape, axes)
    return get_planned_FFT(input_array, output_array, axes, R2C, threads, flags, factor)


def irfftn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), threads: int = 1,
    flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans a backward transform from complex to real, unscaled.

    `s` has the lengths of the output along `axes`; without it the halved axis gets the even length.
    """
    _typed("irfftn", input_array, "FDG")
    if output_array is None:
        shape = list(input_array.shape)
        along = _axes_of(axes, len(shape))
        if s is not None and len(s) != len(along):
            raise InvalidArgument(f"irfftn: s has {len(s)} lengths for {len(along)} axes; give one for each")
        shape[along[-1]] = 2 * (shape[along[-1]] - 1) if s is None else int(s[-1])
        output_array = aligned(shape, dtype=input_array.dtype.char.lower())
    factor = get_normalization(C2R, output_array.shape, axes)
    return get_planned_FFT(input_array, output_array, axes, C2R, threads, flags, factor)


def hfftn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), threads: int = 1,
    flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """As mpi4py-fft has it: the unscaled transform from complex to real, which `irfftn` is too."""
    return irfftn(input_array, s, axes, threads, flags, output_array)


def ihfftn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), threads: int = 1,
    flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """As mpi4py-fft has it: the unscaled transform from real to complex, which `rfftn` is too."""
    return rfftn(input_array, s, axes, threads, flags, output_array)


def _real(
    name: str, types: dict[int, int], a: AnyArray, axes: Sequence[int], type: int, threads: int, flags: Flags,
    out: AnyArray | None,
) -> FFT:  # fmt: skip
    _typed(name, a, "fdg")
    if type not in types:
        raise InvalidArgument(f"{name}: type is {type!r}; it can be 1, 2, 3 or 4")
    kinds = [types[type]] * len(_axes_of(axes, a.ndim))
    factor = get_normalization(kinds, a.shape, axes)
    return get_planned_FFT(a, aligned_like(a) if out is None else out, axes, kinds, threads, flags, factor)


def dctn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), type: int = 2,
    threads: int = 1, flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans a cosine transform of type 1 to 4, with FFTW's (and SciPy's) definition. `s` is not used."""
    return _real("dctn", dct_type, input_array, axes, type, threads, flags, output_array)


def idctn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), type: int = 2,
    threads: int = 1, flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans the inverse of `dctn` of the same type, unscaled. `s` is not used."""
    return _real("idctn", idct_type, input_array, axes, type, threads, flags, output_array)


def dstn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), type: int = 2,
    threads: int = 1, flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans a sine transform of type 1 to 4, with FFTW's (and SciPy's) definition. `s` is not used."""
    return _real("dstn", dst_type, input_array, axes, type, threads, flags, output_array)


def idstn(
    input_array: AnyArray, s: Sequence[int] | None = None, axes: Sequence[int] = (-1,), type: int = 2,
    threads: int = 1, flags: Flags = (FFTW_MEASURE,), output_array: AnyArray | None = None,
) -> FFT:  # fmt: skip
    """Plans the inverse of `dstn` of the same type, unscaled. `s` is not used."""
    return _real("idstn", idst_type, input_array, axes, type, threads, flags, output_array)


inverse: dict[int | Callable[..., Any], int | Callable[..., Any]] = {
    FFTW_RODFT11: FFTW_RODFT11,
    FFTW_REDFT11: FFTW_REDFT11,
    FFTW_RODFT01: FFTW_RODFT10,
    FFTW_RODFT10: FFTW_RODFT01,
    FFTW_REDFT01: FFTW_REDFT10,
    FFTW_REDFT10: FFTW_REDFT01,
    FFTW_RODFT00: FFTW_RODFT00,
    FFTW_REDFT00: FFTW_REDFT00,
    rfftn: irfftn,
    irfftn: rfftn,
    fftn: ifftn,
    ifftn: fftn,
    dctn: idctn,
    idctn: dctn,
    dstn: idstn,
    idstn: dstn,
    hfftn: ihfftn,
    ihfftn: hfftn,
}
"""The inverse of each kind and of each planning function."""

PLANNERS = frozenset(f for f in inverse if callable(f))
"""The functions here that plan, rather than transform."""
