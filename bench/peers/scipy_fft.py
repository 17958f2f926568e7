"""scipy.fft with workers, in one process. Its functions return new arrays, so each call's time holds an allocation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cases import Case

from peers import Absent, Array, Run, World, require_memory


def describe() -> dict[str, str]:
    try:
        import scipy
    except ImportError:
        raise Absent("scipy is not installed") from None
    return {"scipy": scipy.__version__}


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    versions = describe()
    from scipy import fft

    require_memory(case, 3)
    a = world.pool.take("whole_a", case.shape, case.real_dtype)
    kept: dict[str, Array] = {}

    def forward() -> None:
        kept.clear()
        kept["spectrum"] = (fft.rfftn if case.kind == "r2c" else fft.fftn)(a, workers=world.cores)

    def backward() -> None:
        if case.kind == "r2c":
            kept["result"] = fft.irfftn(kept["spectrum"], case.shape, workers=world.cores)
        else:
            kept["result"] = fft.ifftn(kept["spectrum"], workers=world.cores)

    zeros = (0,) * len(case.shape)
    return Run(
        forward=forward,
        backward=backward,
        input=a,
        input_start=zeros,
        spectrum=lambda: kept["spectrum"],
        spectrum_start=zeros,
        result=lambda: kept["result"],
        engine="pocketfft",
        effort="scipy's only one",
        threads=world.cores,
        notes=["allocates its result in each call"],
        versions=versions,
        close=kept.clear,
    )
