"""FFTW's constants under mpi4py-fft's names, and arrays that begin at a multiple of some bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._arguments import whole
from ..._errors import InvalidArgument

AnyArray = npt.NDArray[Any]

FFTW_FORWARD = -1
FFTW_R2HC = 0
FFTW_BACKWARD = 1
FFTW_HC2R = 1
FFTW_DHT = 2
FFTW_REDFT00 = 3
FFTW_REDFT01 = 4
FFTW_REDFT10 = 5
FFTW_REDFT11 = 6
FFTW_RODFT00 = 7
FFTW_RODFT01 = 8
FFTW_RODFT10 = 9
FFTW_RODFT11 = 10

FFTW_MEASURE = 0
FFTW_DESTROY_INPUT = 1
FFTW_UNALIGNED = 2
FFTW_CONSERVE_MEMORY = 4
FFTW_EXHAUSTIVE = 8
FFTW_PRESERVE_INPUT = 16
FFTW_PATIENT = 32
FFTW_ESTIMATE = 64
FFTW_WISDOM_ONLY = 2097152

C2C_FORWARD = -1
C2C_BACKWARD = 1
R2C = -2
C2R = 2

flag_dict = {name: value for name, value in list(globals().items()) if name.startswith("FFTW_")}

_HIGHEST_ALIGNMENT = 32


def get_alignment(array: AnyArray) -> int:
    """The highest power of two, up to 32, that divides the array's address."""
    address = int(array.ctypes.data)
    return min(_HIGHEST_ALIGNMENT, address & -address) if address else _HIGHEST_ALIGNMENT


def aligned(
    shape: int | Sequence[int], n: int = 32, dtype: npt.DTypeLike = np.float64, fill: complex | None = None
) -> AnyArray:
    """A new array whose first element lies at a multiple of `n` bytes; without `fill` its contents are undefined."""
    lengths = [whole(m, "shape") for m in np.atleast_1d(np.asarray(shape, dtype=object))]
    if min(lengths, default=0) < 0:
        raise InvalidArgument(f"shape is {tuple(lengths)}; no length can be negative")
    if n < 1:
        raise InvalidArgument(f"n is {n}; the alignment is a positive number of bytes")
    element = np.dtype(dtype)
    count = math.prod(lengths) * element.itemsize
    memory = np.empty(count + n, dtype=np.uint8)
    first = -int(memory.ctypes.data) % n
    array: AnyArray = memory[first : first + count].view(element).reshape(lengths)
    if fill is not None:
        array.fill(fill)
    return array


def aligned_like(z: AnyArray, fill: complex | None = None) -> AnyArray:
    """A new aligned array of z's shape and element type."""
    return aligned(z.shape, dtype=z.dtype, fill=fill)
