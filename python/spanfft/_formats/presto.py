"""PRESTO's files: NAME.dat (a float32 series), NAME.fft (its packed half spectrum), NAME.inf (what it is).

The spectrum of n reals has n/2+1 numbers, of which the first and the last are real; a .fft file holds n/2, with the
last one's real part as the first one's imaginary part (realfft.c). The .inf file is a text with "what = value" lines,
one of which gives the number of samples; it goes with the series and its spectrum alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from .._errors import CorruptData, InvalidArgument, IOFailure
from .._files import ELEMENTS, Element, check_is_file, describe
from .._whole_files import replaced
from .base import Options, Source, Target, told
from .flat import open_target as open_flat_target

__all__ = ["open_source", "open_target"]

_BINS = re.compile(r"^\s*Number of bins in the time series\s*=\s*(\d+)\s*$", re.MULTILINE)


def _inf_of(name: str) -> str:
    return os.path.splitext(name)[0] + ".inf"


def _samples(inf: str) -> int:
    check_is_file(inf)
    try:
        with open(inf, encoding="latin1") as file:
            found = _BINS.search(file.read())
    except OSError as error:
        raise IOFailure(f"{inf} can't be read: {error.strerror or error}") from None
    if found is None:
        raise CorruptData(f'{inf} has no line "Number of bins in the time series = N"; it is no .inf file of PRESTO')
    return int(found[1])


def open_source(name: str, options: Options) -> Source:
    """A .dat file with its .inf, or a .fft file."""
    if options.shape is not None or options.offset is not None:
        raise InvalidArgument(f"{name} is PRESTO's, one axis from byte 0; leave out --shape and --offset, or give "
                              f"--dtype too for a raw file")  # fmt: skip
    series = name.endswith(".dat")
    inf = _inf_of(name)
    if not os.path.exists(name):
        raise IOFailure(f"{name} can't be read: No such file or directory")
    if not os.path.exists(inf):
        if series:
            raise InvalidArgument(
                f"{name} has no {inf} beside it, as PRESTO's series have; for a raw file give --dtype (and --shape)"
            )
        inf = ""
    found = describe(name, "float32" if series else "complex64")
    samples = found.shape[0] if series else 2 * found.shape[0]
    if inf and _samples(inf) != samples:
        raise CorruptData(
            f"{inf} says that the series has {_samples(inf)} samples, but {name} holds {samples}: one of them is "
            f"truncated or another's"
        )
    if series:
        return Source(name, name, found.element, found.shape, sidecar=inf)
    return Source(name, name, found.element, (samples // 2 + 1,), packed=True, sidecar=inf or None)


class _PrestoTarget(Target):
    def __init__(self, name: str, packed: bool, sidecar: str | None) -> None:
        super().__init__(name, name)
        self.packed = packed
        self._sidecar = sidecar

    def publish(self) -> None:
        """The .inf, when the array has its name: before, it would describe what had the name before."""
        inf = _inf_of(self.path)
        if not self._sidecar or (os.path.exists(inf) and os.path.samefile(self._sidecar, inf)):
            return
        with told(inf, "written"), open(self._sidecar, "rb") as file, replaced(inf, like=self._sidecar) as copy:
            copy.write(file.read())  # some lines of text


def open_target(name: str, element: Element, shape: Sequence[int], source: Source, options: Options) -> Target:
    """NAME.fft gets a packed spectrum, NAME.dat a series; the input's .inf goes with them."""
    open_flat_target(name, element, shape, source, options)
    result = f"{element.name} {tuple(shape)}, made of {source.element.name} {source.shape}: give it another suffix"
    if name.endswith(".dat"):
        if element is not ELEMENTS["float32"] or len(shape) != 1:
            raise InvalidArgument(f"{name} would be PRESTO's series, which is float32 on one axis; it is {result}")
        if source.sidecar and _samples(source.sidecar) != shape[0]:
            raise InvalidArgument(
                f"{name} would get {source.sidecar} as its .inf, which speaks of {_samples(source.sidecar)} samples; "
                f"it is {result}"
            )
        return _PrestoTarget(name, False, source.sidecar)
    series = source.element is ELEMENTS["float32"] and len(source.shape) == 1 and element is ELEMENTS["complex64"]
    if not series or source.shape[0] % 2 or tuple(shape) != (source.shape[0] // 2 + 1,):
        raise InvalidArgument(
            f"{name} would be PRESTO's packed half spectrum, which is complex64, of float32 on one axis of even "
            f"length; it is {result}"
        )
    return _PrestoTarget(name, True, source.sidecar)
