"""Everything that is timed, behind one interface: prepare(case, world, options) -> Run.

A peer's module is imported only when a case names it. One that cannot run here (not installed, another MPI, too
little memory) raises Absent with the reason, which goes into its row; the others run on.
Scope "ranks" runs on all ranks, "local" in one process (rank 0; the others sleep), "disk" as a command of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from cases import HEFFTE, P1_METHODS, Case

Array = npt.NDArray[Any]


class Absent(Exception):
    """The peer cannot run here; the message says why."""


class Pool:
    """Arrays that peers share one after another, by name: no peer keeps its data while another is timed."""

    def __init__(self) -> None:
        self._blocks: dict[str, npt.NDArray[np.uint8]] = {}

    def reserve(self, name: str, count_bytes: int) -> None:
        """Before anything was taken from it: plans remember addresses."""
        block = np.empty(count_bytes + 64, np.uint8)
        offset = -block.ctypes.data % 64
        self._blocks[name] = block[offset : offset + count_bytes]
        self._blocks[name].fill(0)  # touches every page, here and not in a timing

    def alias(self, name: str, other: str) -> None:
        self._blocks[name] = self._blocks[other]

    def take(self, name: str, shape: tuple[int, ...], dtype: str) -> Array:
        count = math.prod(shape) * np.dtype(dtype).itemsize
        block = self._blocks[name]
        if count > block.nbytes:
            raise Absent(f"needs {count} bytes of array {name}, {block.nbytes} are reserved")
        return cast(Array, block[:count].view(dtype).reshape(shape))


@dataclass
class World:
    """Where a peer is prepared. comm is mpi4py's COMM_WORLD, or None in a launch without MPI."""

    comm: Any
    rank: int
    size: int
    cores: int
    pool: Pool


@dataclass
class Run:
    """A prepared pair of transforms over this rank's part of the array, with all that a row tells of them.

    After a call of forward, `spectrum` holds forward_scale times the transform of what `input` held; after a call of
    backward, `result` holds pair_scale times it."""

    forward: Callable[[], object]
    backward: Callable[[], object]
    input: Array
    input_start: tuple[int, ...]
    spectrum: Callable[[], Array]
    spectrum_start: tuple[int, ...]
    result: Callable[[], Array]
    spectrum_step: tuple[int, ...] = ()  # from one index to the next; (): 1
    forward_scale: float = 1.0
    pair_scale: float = 1.0
    engine: str = ""
    effort: str = ""
    threads: int = 1
    layout: str = "natural"
    planning_seconds: float = 0.0
    plan_limit_seconds: float | None = None
    starved: bool = False  # the planner ran into its limit
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    details: Callable[[], dict[str, Any]] = dict  # after the timings: predicted, counted, solver
    close: Callable[[], None] = lambda: None


class Module(Protocol):
    """What a peer's file offers."""

    def prepare(self, case: Case, world: World, options: Mapping[str, Any]) -> Run: ...
    def describe(self) -> dict[str, str]: ...


def preload(names: tuple[str, ...]) -> None:
    """Loads all that links FFTW, before spanfft or anybody else loads MKL.

    MKL's loader makes its own fftw_* functions global, and what is loaded after it binds to those instead of FFTW's:
    mpi4py-fft then makes no plans, and FFTW-MPI crashes."""
    for name in names:
        with contextlib.suppress(Absent, ImportError):  # `prepare` will say so
            getattr(PEERS[name].load(), "preload", lambda: None)()


@dataclass(frozen=True)
class Peer:
    module: str
    scope: str
    options: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""

    def load(self) -> Module:
        return cast(Module, importlib.import_module(f"peers.{self.module}"))


_FFTW = {"engine": "fftw", "effort": "measure"}
_SHARED = {"exchange": "shared", "own_output": True}

PEERS: dict[str, Peer] = {
    "spanfft": Peer("spanfft_plan", "ranks", {}, "spanfft, the planner's own choice, into the caller's arrays"),
    "spanfft-own": Peer("spanfft_plan", "ranks", {"own_output": True, "own_input": True},
                        "the same, from the plan's own arrays into its own"),
    "spanfft-threads": Peer("spanfft_plan", "local", {"alone": True},
                            "spanfft in one process, the planner's own choice, into the caller's arrays, no MPI"),
    "spanfft-slabs": Peer("spanfft_plan", "ranks", {"grid": (4, 1)}, "spanfft in slabs, the planner's own choice"),
    "spanfft-exchanged": Peer("spanfft_plan", "ranks", {"output": "exchanged"},
                              "spanfft, the planner's own choice, spectrum left exchanged"),
    "spanfft-fftw": Peer("spanfft_plan", "ranks", _FFTW, "spanfft on FFTW"),
    "spanfft-fftw-exchanged": Peer("spanfft_plan", "ranks", {**_FFTW, "output": "exchanged"},
                                   "the same, spectrum left exchanged"),
    "spanfft-shared": Peer("spanfft_plan", "ranks", {**_FFTW, **_SHARED},
                           "spanfft on FFTW, shared windows, into the plan's own arrays"),
    "spanfft-shared-slabs": Peer("spanfft_plan", "ranks", {**_FFTW, **_SHARED, "grid": (4, 1)}, "the same in slabs"),
    "spanfft-shared-mkl": Peer("spanfft_plan", "ranks", {**_SHARED, "engine": "mkl"},
                               "spanfft on MKL, shared windows, into the plan's own arrays"),
    "spanfft-shared-foreign": Peer("spanfft_plan", "ranks", {**_FFTW, "exchange": "shared"},
                                   "spanfft on FFTW, shared windows, into the caller's arrays"),
    "spanfft-messages": Peer("spanfft_plan", "ranks", {"exchange": "alltoallv"},
                             "spanfft by messages alone, into the caller's arrays"),
    "spanfft-messages-exchanged": Peer("spanfft_plan", "ranks", {"exchange": "alltoallv", "output": "exchanged"},
                                       "the same, spectrum left exchanged"),
    "mkl-cluster": Peer("mkl_cluster", "ranks", {}, "MKL's cluster FFT, natural order"),
    "hpcc": Peer("hpcc", "ranks", {}, "FFTE as HPC Challenge carries it, natural order"),
    "mpi4py-fft": Peer("mpi4py_fft_slab", "ranks", {}, "mpi4py-fft, slabs (pencils where the case has a grid), FFTW"),
    "fftw-mpi": Peer("fftw_mpi", "ranks", {}, "FFTW's own MPI transforms, natural order"),
    "fftw-mpi-patient": Peer("fftw_mpi", "ranks", {"patient": True},
                             "the same with FFTW_PATIENT and FFTW_DESTROY_INPUT"),
    "fftw-mpi-in-place": Peer("fftw_mpi", "ranks", {"patient": True, "in_place": True}, "the same, in place"),
    "fftw-mpi-transposed": Peer("fftw_mpi", "ranks", {"transposed": True},
                                "FFTW's own MPI transforms, spectrum left transposed (of one axis: scrambled)"),
    "fftw-mpi-transposed-patient": Peer("fftw_mpi", "ranks", {"transposed": True, "patient": True},
                                        "the same with FFTW_PATIENT and FFTW_DESTROY_INPUT"),
    "dtfft": Peer("dtfft", "ranks", {}, "dtFFT on FFTW, PATIENT, spectrum left transposed"),
    **{name: Peer("heffte", "ranks", {"mode": name.removeprefix("heffte-mkl-").replace("-", "_")},
                  "heFFTe on MKL, natural order, this mode of exchange") for name in HEFFTE},
    "fftw": Peer("fftw", "local", {}, "FFTW with threads, no MPI"),
    "mkl": Peer("mkl", "local", {}, "MKL with threads, no MPI"),
    "scipy": Peer("scipy_fft", "local", {}, "scipy.fft with workers, no MPI"),
    **{f"{name}-calls": Peer("many_calls", "local", {"library": name}, f"{name}.fft.fft, thousands of calls a turn")
       for name in ("spanfft", "numpy", "scipy")},
    "spanfft-again": Peer("spanfft_plan", "disk", {}, "the same once more: how far a ratio is from 1 by chance"),
    "spanfft-ranks": Peer("spanfft_plan", "disk", {}, "spanfft on two MPI ranks, scratch for each beside the output"),
    **{f"spanfft-ranks-{method}": Peer("spanfft_plan", "disk", {}, f"the same by P1's {method.replace('-', '_')}")
       for method in P1_METHODS},
    "memmap-four-step": Peer("panels", "disk", {}, "numpy.memmap and scipy.fft, four-step, two sweeps"),
    "memmap-panels": Peer("panels", "disk", {}, "numpy.memmap and scipy.fft, slabs and panels of columns"),
    "pread-panels": Peer("panels", "disk", {}, "pread, pwrite and scipy.fft, two sweeps in panels"),
    "out-of-core-fft": Peer("ooc_fft", "disk", {}, "the package out_of_core_fft, HDF5 to HDF5"),
    "dask": Peer("dask_zarr", "disk", {}, "dask, rechunked into Zarr, in 6 times the memory"),
    "presto": Peer("presto", "disk", {}, "PRESTO realfft -disk, in place"),
    "memmap-whole": Peer("memmap_whole", "disk", {}, "scipy.fft.fft of a numpy.memmap"),
}  # fmt: skip


def require_memory(case: Case, copies: float) -> None:
    """Raises Absent where so many whole arrays, over all ranks, would not leave 1 GiB free on this machine."""
    wanted = copies * max(case.input_bytes, case.output_bytes)
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    if wanted > free - 2**30:
        raise Absent(f"needs {wanted / 2**30:.1f} GiB besides the other peers' arrays, {free / 2**30:.1f} are free")


def block(case: Case, world: World, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First indices and extents of this rank's balanced block of an array: of the case's grid, or a slab.

    Ranks go through the grid with the last axis fastest: of 4 in 2x2, rank 1 is at (0, 1)."""
    grid = (*case.grid, 1, 1, 1)[: len(shape)] if case.grid else (world.size, *(1,) * (len(shape) - 1))
    parts = []
    for place, blocks, n in zip(np.unravel_index(world.rank, grid), grid, shape, strict=True):
        base, more = divmod(n, blocks)
        parts.append((int(place) * base + min(int(place), more), base + (int(place) < more)))
    return tuple(first for first, _ in parts), tuple(count for _, count in parts)


def slab(case: Case, world: World) -> tuple[int, int]:
    """First row and number of rows of this rank, along axis 0: balanced blocks."""
    base, more = divmod(case.shape[0], world.size)
    return world.rank * base + min(world.rank, more), base + (world.rank < more)


def cores() -> int:
    return len(os.sched_getaffinity(0))
