"""numpy.fft.fft and functions of its kind, called many times a turn: what a call of a short transform costs.

A turn is so many calls in a Python loop that it takes about 10 ms; its row's seconds are those of the turn, and all
peers of a case make as many calls. Each call allocates its result, as users of these functions have it.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Mapping
from typing import Any

from cases import Case

from peers import Absent, Array, Run, World

_ELEMS_A_TURN = 1 << 20
_FEWEST, _MOST = 200, 4000


def _functions(library: str) -> tuple[Callable[..., Array], Callable[..., Array], str]:
    """fft, ifft and the version of what has them."""
    if library == "numpy":
        import numpy

        return numpy.fft.fft, numpy.fft.ifft, numpy.__version__
    if library == "scipy":
        try:
            import scipy.fft
        except ImportError:
            raise Absent("scipy is not installed") from None
        return scipy.fft.fft, scipy.fft.ifft, scipy.__version__
    import spanfft

    return spanfft.fft, spanfft.ifft, spanfft.__version__


def describe() -> dict[str, str]:
    return {"python": platform.python_version()}


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    library = str(options["library"])
    fft, ifft, version = _functions(library)
    calls = range(max(_FEWEST, min(_MOST, _ELEMS_A_TURN // math.prod(case.shape))))
    a = world.pool.take("whole_a", case.shape, case.real_dtype)
    kept: dict[str, Array] = {}

    def forward() -> None:
        for _ in calls:
            spectrum = fft(a)
        kept["spectrum"] = spectrum

    def backward() -> None:
        spectrum = kept["spectrum"]
        for _ in calls:
            result = ifft(spectrum)
        kept["result"] = result

    zeros = (0,) * len(case.shape)
    return Run(
        forward=forward,
        backward=backward,
        input=a,
        input_start=zeros,
        spectrum=lambda: kept["spectrum"],
        spectrum_start=zeros,
        result=lambda: kept["result"],
        engine="spanfft's choice" if library == "spanfft" else "pocketfft",
        effort="the function's only one",
        threads=1,
        notes=[f"{len(calls)} calls a turn", "allocates its result in each call"],
        versions={**describe(), library: version},
        close=kept.clear,
    )
