"""spanfft: Fourier transforms that span cores, nodes and disks.

- `fft`, `rfftn`, ... : numpy.fft's names, and scipy.fft's `dct`, `dstn`, `hfftn`, `next_fast_len`, ...; with ``comm=``
  for arrays that are divided over MPI ranks.
- `Plan`: a transform that is planned once and executed many times, in this process or on ranks.
- `Halo`: a rank's part of an array with its periodic surroundings, made by `Plan.halo`.
- `transform`: transforms an array from file to file within a memory budget. The command line is ``spanfft``.
- `write_trace`, `read_trace`: write and read which rank did what when, for plans run inside `Plan.trace`.
- `tune`, `probe`: measure what is fastest here, and remember it.
- `predict`: what a transform would take on a machine that is not here.
- `info`: versions, engines, MPI, processor and memory.
- `spanfft.scipy`: the backend with which programs that call scipy.fft run on spanfft.
- `spanfft.mpi4py_fft`: mpi4py-fft's names, with which its programs run on spanfft.

Submodules are imported when a name of theirs is first used, so the command line starts without numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._errors import (
    CallbackFailed,
    CorruptData,
    EngineError,
    Error,
    InternalError,
    Interrupted,
    InvalidArgument,
    InvalidAxis,
    InvalidType,
    IOFailure,
    MPIError,
    NoSpace,
    OutOfMemory,
    Unsupported,
)

if TYPE_CHECKING:
    from ._calls import clear_cache
    from ._dct import dct, dctn, dst, dstn, idct, idctn, idst, idstn
    from ._fft import (
        fft,
        fft2,
        fftfreq,
        fftn,
        fftshift,
        hfft,
        hfft2,
        hfftn,
        ifft,
        ifft2,
        ifftn,
        ifftshift,
        ihfft,
        ihfft2,
        ihfftn,
        irfft,
        irfft2,
        irfftn,
        rfft,
        rfft2,
        rfftfreq,
        rfftn,
    )
    from ._file_runs import TransformResult
    from ._halo import Halo
    from ._info import info
    from ._lengths import next_fast_len, prev_fast_len
    from ._permute import PermuteResult, permute
    from ._plan import Plan
    from ._predict import Forecast, machines, predict
    from ._trace import TraceEvent, TraceFile, read_trace, write_trace
    from ._transform import transform, transform_files
    from ._tune import forget_tuning, probe, read_machine, tune, tuning_records, tuning_store

    __version__: str

__all__ = [
    "CallbackFailed",
    "CorruptData",
    "EngineError",
    "Error",
    "Forecast",
    "Halo",
    "IOFailure",
    "InternalError",
    "Interrupted",
    "InvalidArgument",
    "InvalidAxis",
    "InvalidType",
    "MPIError",
    "NoSpace",
    "OutOfMemory",
    "PermuteResult",
    "Plan",
    "TraceEvent",
    "TraceFile",
    "TransformResult",
    "Unsupported",
    "__version__",
    "clear_cache",
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "forget_tuning",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "info",
    "irfft",
    "irfft2",
    "irfftn",
    "machines",
    "next_fast_len",
    "permute",
    "predict",
    "prev_fast_len",
    "probe",
    "read_machine",
    "read_trace",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
    "transform",
    "transform_files",
    "tune",
    "tuning_records",
    "tuning_store",
    "write_trace",
]

_MODULES = {
    "_calls": ("clear_cache",),
    "_dct": ("dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"),
    "_fft": (
        "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
        "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
    ),
    "_halo": ("Halo",),
    "_info": ("info",),
    "_lengths": ("next_fast_len", "prev_fast_len"),
    "_permute": ("PermuteResult", "permute"),
    "_plan": ("Plan",),
    "_predict": ("Forecast", "machines", "predict"),
    "_trace": ("TraceEvent", "TraceFile", "read_trace", "write_trace"),
    "_file_runs": ("TransformResult",),
    "_transform": ("transform", "transform_files"),
    "_tune": ("forget_tuning", "probe", "read_machine", "tune", "tuning_records", "tuning_store"),
}  # fmt: skip
_SUBMODULES = ("dask", "scipy", "xr")
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._native import core

        value: Any = core.version()
    elif name in _SUBMODULES:
        value = importlib.import_module(f".{name}", __name__)
    elif name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
