"""Fourier transforms of xarray's arrays by the names of their dimensions, in bounded memory where Dask is behind them.

    import spanfft.xr
    spectrum = spanfft.xr.dft(da, dim="time", memory="1GiB", scratch="/fast/disk")   # dimension freq_time

Method: `dim` is looked up among the dimensions, the array goes to `spanfft.dask` or, if it is NumPy's, to spanfft's
functions, and the result gets coordinates of frequency, in cycles a unit of the coordinate (a second, of times).
Invariant: dimensions that are not transformed keep their names, order and coordinates. Sums are NumPy's: no phase or
amplitude is changed, so that `idft` of `dft` is the input, whose coordinates are kept as attributes of the frequencies.
Source: the names of xrft, https://github.com/xgcm/xrft
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _fft
from ._errors import InvalidArgument, InvalidType, Unsupported

if TYPE_CHECKING:
    from xarray import DataArray

__all__ = ["dft", "idft", "power_spectrum"]

_PREFIX = "freq_"
Names = Hashable | Sequence[Hashable] | None


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise Unsupported("spanfft.xr needs xarray, which is not here: pip install xarray") from None
    return xarray


def _dims(da: DataArray, dim: Names, prefix: str = "") -> tuple[Hashable, ...]:
    """The dimensions to transform: those named, or all that begin with the prefix."""
    if not isinstance(da, _xarray().DataArray):
        raise InvalidType(f"this is a {type(da).__name__}; give an xarray.DataArray (of a Dataset: dataset['name'])")
    if dim is None:
        named: tuple[Hashable, ...] = tuple(each for each in da.dims if str(each).startswith(prefix))
    else:
        named = (dim,) if isinstance(dim, str) or not isinstance(dim, Sequence) else tuple(dim)
    for each in named:
        if each not in da.dims:
            raise InvalidArgument(f"there is no dimension {each!r}; the array has {', '.join(map(repr, da.dims))}")
    if not named or len(set(named)) < len(named):
        raise InvalidArgument(f"dim is {dim!r}; name at least one dimension, and each once")
    return named


def _halved_last(dims: tuple[Hashable, ...], real: Hashable | None) -> tuple[Hashable, ...]:
    """With the dimension last that is halved, as numpy.fft takes it."""
    if real is None:
        return dims
    if real not in dims:
        raise InvalidArgument(f"real is {real!r}, which is none of the transformed dimensions {dims!r}")
    return (*(each for each in dims if each != real), real)


def _grid_of(da: DataArray, dim: Hashable) -> dict[str, Any]:
    """Where the samples of a dimension lie: `spacing` (of times in seconds) and `origin`; of none 1 and 0."""
    length = da.sizes[dim]
    if dim not in da.coords:
        return {"spacing": 1.0, "length": length}
    values = da.coords[dim].values
    times = values.dtype.kind == "M"
    if values.dtype.kind not in "iufM":
        raise InvalidArgument(f"the coordinate of {dim!r} holds {values.dtype}; it must hold numbers or datetime64")
    origin = str(values[0]) if times else float(values[0])
    if length == 1:
        return {"spacing": 1.0, "length": 1, "origin": origin}
    offsets = (values - values[0]) / np.timedelta64(1, "s") if times else values.astype(float) - float(values[0])
    spacing = float(offsets[-1]) / (length - 1)
    if not spacing or not np.allclose(np.diff(offsets), spacing, rtol=1e-5, atol=0):
        raise InvalidArgument(f"the coordinate of {dim!r} is not evenly spaced; interpolate it to one that is")
    return {"spacing": spacing, "length": length, "origin": origin}


def _samples(frequencies: DataArray) -> Any:
    """The coordinate that `dft` had found, of a dimension of frequencies; None if there was none."""
    attributes = frequencies.attrs
    if "origin" not in attributes:
        return None
    offsets = np.arange(attributes["length"]) * attributes["sample_spacing"]
    if isinstance(attributes["origin"], str):
        return np.datetime64(attributes["origin"], "ns") + np.round(offsets * 1e9).astype("timedelta64[ns]")
    return attributes["origin"] + offsets


def _transformed(
    da: DataArray,
    name: str,
    dims: tuple[Hashable, ...],
    s: tuple[int, ...],
    norm: str | None,
    memory: str | int | None,
    scratch: str | os.PathLike[str] | None,
    power: bool,
) -> Any:
    axes = tuple(da.dims.index(each) for each in dims)
    if da.chunks is not None:
        from .dask import transform_chunked

        return transform_chunked(da.data, name, s, axes, norm, memory, scratch, power)
    result = getattr(_fft, f"{name}n")(da.values, s, axes, norm)
    return result.real**2 + result.imag**2 if power else result


def _assembled(da: DataArray, data: Any, names: dict[Hashable, Hashable], coords: dict[Hashable, Any]) -> DataArray:
    """The result, with renamed dimensions, their new coordinates, and the old ones that do not depend on them."""
    kept = {name: each for name, each in da.coords.items() if not set(names) & set(each.dims)}
    dims = [names.get(each, each) for each in da.dims]
    result: DataArray = _xarray().DataArray(data, dims=dims, coords={**kept, **coords}, name=da.name)
    return result


def _spectrum(
    da: DataArray,
    dim: Names,
    real: Hashable | None,
    shift: bool,
    norm: str | None,
    memory: str | int | None,
    scratch: str | os.PathLike[str] | None,
    power: bool,
) -> DataArray:
    dims = _halved_last(_dims(da, dim), real)
    grids = {each: _grid_of(da, each) for each in dims}
    s = tuple(da.sizes[each] for each in dims)
    data = _transformed(da, "fft" if real is None else "rfft", dims, s, norm, memory, scratch, power)
    names: dict[Hashable, Hashable] = {each: f"{_PREFIX}{each}" for each in dims}
    coords: dict[Hashable, Any] = {}
    for each, grid in grids.items():
        frequencies = (np.fft.rfftfreq if each == real else np.fft.fftfreq)(grid["length"], grid["spacing"])
        attributes = {"spacing": 1 / (grid["length"] * grid["spacing"]), "sample_spacing": grid["spacing"]}
        attributes |= {key: grid[key] for key in ("length", "origin") if key in grid}
        coords[names[each]] = (names[each], frequencies, attributes)
    result = _assembled(da, data, names, coords)
    if shift:
        result = result.roll({names[each]: result.sizes[names[each]] // 2 for each in dims if each != real},
                             roll_coords=True)  # fmt: skip
    return result


def dft(
    da: DataArray,
    dim: Names = None,
    *,
    real: Hashable | None = None,
    shift: bool = False,
    norm: str | None = None,
    memory: str | int | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> DataArray:
    """Discrete Fourier transform along named dimensions.

    Parameters
    ----------
    da
        An array of NumPy's or Dask's. A coordinate of a transformed dimension must be evenly spaced.
    dim
        A dimension, or several; by default all.
    real
        The one of them to halve, for real numbers: its frequencies are 0 to n // 2 only.
    shift
        Frequencies in ascending order, as numpy.fft.fftshift puts them. By default they are in the order of numpy.fft.
    norm
        As in numpy.fft.
    memory, scratch
        As in `spanfft.dask`: asked for where a dimension has several chunks.

    Returns
    -------
    DataArray
        "time" has become "freq_time", with frequencies as its coordinate, in cycles a unit of the old one; of
        datetime64, in Hz. Coordinates of the other dimensions are kept.
    """
    return _spectrum(da, dim, real, shift, norm, memory, scratch, power=False)


def power_spectrum(
    da: DataArray,
    dim: Names = None,
    *,
    real: Hashable | None = None,
    shift: bool = False,
    scaling: str = "density",
    memory: str | int | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> DataArray:
    """abs(dft)**2, squared in the same run over the disk: parameters of `dft`, and:

    scaling
        "density": a power density, whose sum times the spacings of the frequencies is the mean of abs(da)**2.
        "spectrum": powers, whose sum is that mean. None of the frequencies counts twice: of `real`, sum all but 0 and
        n / 2 twice.
    """
    if scaling not in ("density", "spectrum"):
        raise InvalidArgument(f"scaling is {scaling!r}; it can be 'density' or 'spectrum'")
    result = _spectrum(da, dim, real, shift, None, memory, scratch, power=True)
    frequencies = [result[f"{_PREFIX}{each}"].attrs for each in _dims(da, dim)]
    count = math.prod(each["length"] for each in frequencies)
    unit = math.prod(each["length"] * abs(each["sample_spacing"]) for each in frequencies)
    scaled: DataArray = result * np.asarray((unit if scaling == "density" else 1) / count**2, result.dtype)
    return scaled


def idft(
    da: DataArray,
    dim: Names = None,
    *,
    real: Hashable | None = None,
    norm: str | None = None,
    memory: str | int | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> DataArray:
    """Inverse of `dft`.

    `dim` are dimensions of frequencies, by default all that are called freq_...; `real` is the one that was halved. The
    frequencies may be in either order. "freq_time" becomes "time" again, with the coordinate that it had.
    """
    dims = _halved_last(_dims(da, dim, _PREFIX), real)
    wrong = [each for each in dims if not (str(each).startswith(_PREFIX) and "length" in da[each].attrs)]
    if wrong:
        raise InvalidArgument(f"{wrong[0]!r} is no dimension that dft made: one begins with {_PREFIX}, and the "
                              f"attributes of its coordinate say what was transformed")  # fmt: skip
    for each in dims:
        if each != real and float(da[each][0]) != 0:  # shifted
            da = da.roll({each: -(da.sizes[each] // 2)}, roll_coords=True)
    s = tuple(int(da[each].attrs["length"]) for each in dims)
    data = _transformed(da, "ifft" if real is None else "irfft", dims, s, norm, memory, scratch, power=False)
    names: dict[Hashable, Hashable] = {each: str(each).removeprefix(_PREFIX) for each in dims}
    samples = {names[each]: _samples(da[each]) for each in dims}
    return _assembled(da, data, names, {name: (name, found) for name, found in samples.items() if found is not None})
