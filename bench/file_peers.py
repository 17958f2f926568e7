"""How each peer that works on files is driven: its own input format, its command, and how its result is read.

Converting the input is not in the time. Everything else is: one command from a file to a file.
"""

from __future__ import annotations

import importlib.metadata as metadata
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cases import P1_METHODS, Case
from peers import Absent, presto

Place = tuple[int, ...]  # an index of the spectrum
Values = npt.NDArray[np.complex128]
_SCRIPTS = Path(__file__).resolve().parent / "peers"


@dataclass(frozen=True)
class Files:
    """Of one run, all in the same folder."""

    source: Path  # in the peer's format
    target: Path
    scratch: Path
    memory_bytes: int


def npy_values(target: Path, places: Sequence[Place]) -> Values:
    x = np.load(target, mmap_mode="r")
    return np.array([x[place] for place in places], np.complex128)


@dataclass(frozen=True)
class FilePeer:
    """`convert` writes the peer's own input into a folder, before each run if it is `used_up` by one."""

    command: Callable[[Files], list[str]]
    convert: Callable[[Path, Path], Path] = lambda source, _: source
    values: Callable[[Path, Sequence[Place]], Values] = npy_values
    target: str = "out.npy"
    packages: tuple[str, ...] = ("numpy", "scipy")
    used_up: bool = False
    to_its_end: bool = False  # it is never stopped
    memory_factor: int = 1  # it gets so many times the case's memory,
    least_bytes: int = 0  # but at least this much
    processes: int = 1  # that have its memory together
    threads: int = 0  # of each; 0: as many as there are processors
    notes: tuple[str, ...] = ()

    def require(self) -> None:
        """Raises Absent where it is not installed."""
        for package in self.packages:
            try:
                metadata.version(package)
            except metadata.PackageNotFoundError:
                raise Absent(f"{package} is not installed") from None

    def memory_bytes(self, case: Case) -> int:
        more = case.more_for_needy if self.memory_factor > 1 else 1
        return max(case.memory_bytes * self.memory_factor * more, self.least_bytes)

    def versions(self) -> dict[str, str]:
        return {package: metadata.version(package) for package in self.packages}


class _Presto(FilePeer):
    def require(self) -> None:
        presto.program()

    def versions(self) -> dict[str, str]:
        return {"presto": f"{presto.VERSION} {presto.COMMIT[:12]}"}


def _script(name: str, *more: str) -> Callable[[Files], list[str]]:
    def command(files: Files) -> list[str]:
        paths = [str(path) for path in (files.source, files.target, files.scratch)]
        return [sys.executable, str(_SCRIPTS / f"{name}.py"), *paths, str(files.memory_bytes), *more]

    return command


def _spanfft(files: Files) -> list[str]:
    command = [sys.executable, "-m", "spanfft", "transform", str(files.source), str(files.target)]
    return [*command, "--memory", f"{files.memory_bytes >> 20}MiB", "--json"]


def _spanfft_ranks(files: Files, *more: str) -> list[str]:
    """Two ranks with half of the memory each, and scratch beside the output."""
    mpiexec = os.environ.get("SPANFFT_MPIEXEC") or shutil.which("mpiexec") or "mpiexec"
    command = [mpiexec, "-n", "2", *_spanfft(replace(files, memory_bytes=files.memory_bytes // 2))]
    return [*command, "--threads", "1", *more]


def _ranks_by_method(method: str) -> FilePeer:
    note = f"two ranks with half of the memory each, by P1's {method}"
    return FilePeer(
        lambda files: _spanfft_ranks(files, "--method", method),
        packages=("mpi4py",), processes=2, threads=1, notes=(note,),
    )  # fmt: skip


def _hdf5(source: Path, folder: Path) -> Path:
    import h5py

    x, target = np.load(source, mmap_mode="r"), folder / "in.h5"
    if not target.exists():
        with h5py.File(target, "w") as file:
            data = file.create_dataset("x", x.shape, x.dtype)
            for first in range(0, x.size, 1 << 20):
                data[first : first + (1 << 20)] = x[first : first + (1 << 20)]
    return target


def _hdf5_values(target: Path, places: Sequence[Place]) -> Values:
    import h5py

    with h5py.File(target) as file:
        return np.array([file["x"][place] for place in places], np.complex128)


def _zarr_values(target: Path, places: Sequence[Place]) -> Values:
    import zarr

    x: Any = zarr.open_array(str(target), mode="r")
    return np.array([x[place] for place in places], np.complex128)


def _dat(source: Path, folder: Path) -> Path:
    x, target = np.load(source, mmap_mode="r"), folder / "in.dat"
    with open(target, "wb") as file:
        for first in range(0, x.size, 1 << 22):
            x[first : first + (1 << 22)].tofile(file)
    return target


def _dat_values(target: Path, places: Sequence[Place]) -> Values:
    x = np.memmap(target, np.complex64, "r")
    ends = {0: x[0].real, x.size: x[0].imag}
    return np.array([ends.get(k, x[k % x.size]) for (k,) in places], np.complex128)


FILE_PEERS: dict[str, FilePeer] = {
    "spanfft": FilePeer(_spanfft, packages=()),
    "spanfft-again": FilePeer(_spanfft, packages=()),
    "spanfft-ranks": FilePeer(_spanfft_ranks, packages=("mpi4py",), processes=2, threads=1,
                              notes=("two ranks with half of the memory each",)),
    **{f"spanfft-ranks-{method}": _ranks_by_method(method.replace("-", "_")) for method in P1_METHODS},
    "memmap-four-step": FilePeer(_script("panels", "memmap")),
    "memmap-panels": FilePeer(_script("panels", "memmap")),
    "pread-panels": FilePeer(_script("panels", "pread")),
    "memmap-whole": FilePeer(_script("memmap_whole")),
    "out-of-core-fft": FilePeer(_script("ooc_fft"), _hdf5, _hdf5_values, "out.h5",
                                ("numpy", "h5py", "h5py_cache", "out_of_core_fft"), memory_factor=8, threads=1,
                                notes=("has eight times the memory that it is told: with four it is killed",)),
    "dask": FilePeer(_script("dask_zarr"), values=_zarr_values, target="out.zarr", memory_factor=6,
                     packages=("numpy", "dask", "zarr"), notes=("chunks of 1/32 of the array, uncompressed",)),
    "presto": _Presto(lambda files: presto.command(files.source), _dat, _dat_values,
                      "in.fft", used_up=True, to_its_end=True, least_bytes=1 << 30, threads=1,
                      notes=("overwrites its input: a fresh copy before each run, not timed",
                             "has a fixed buffer of 512 MiB, so it gets 1 GiB at least",
                             "has the wisdom that its own makewisdom wrote on this machine")),
}  # fmt: skip
