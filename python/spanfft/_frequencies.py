"""The frequencies of a spectrum's entries: numpy.fft's functions, with the Array API's argument `dtype`, which NumPy's
lack. `device` can be "cpu", as NumPy 2 has it.

Source: https://data-apis.org/array-api/latest/extensions/generated/array_api.fft.fftfreq.html
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.fft import fftfreq as _fftfreq  # as they are now: programs may put ours in their place
from numpy.fft import rfftfreq as _rfftfreq

from ._errors import InvalidArgument, InvalidType

__all__ = ["fftfreq", "rfftfreq"]


def fftfreq(n: int, d: float = 1.0, device: str | None = None, *, dtype: npt.DTypeLike | None = None) -> Any:
    """Frequencies of the entries of `fft` of `n` samples `d` apart, in cycles a unit of `d`; 0 comes first, then the
    positive ones, then the negative ones. `dtype` is a floating-point type, by default double."""
    return _typed(_fftfreq(n, d), device, dtype)


def rfftfreq(n: int, d: float = 1.0, device: str | None = None, *, dtype: npt.DTypeLike | None = None) -> Any:
    """The same for `rfft`: 0 to the highest, n // 2 + 1 of them."""
    return _typed(_rfftfreq(n, d), device, dtype)


def _typed(frequencies: npt.NDArray[Any], device: str | None, dtype: npt.DTypeLike | None) -> Any:
    if device not in (None, "cpu"):
        raise InvalidArgument(f"device is {device!r}; arrays are NumPy's, whose only device is 'cpu'")
    if dtype is None:
        return frequencies
    if np.dtype(dtype).kind != "f":
        raise InvalidType(f"dtype is {np.dtype(dtype)}; frequencies are floating-point numbers")
    return frequencies.astype(dtype, copy=False)
