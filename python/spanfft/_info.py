"""info(): what spanfft is, and what it finds on this machine."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import TypedDict

from ._memory import available_bytes, bytes_string, total_bytes
from ._mpi import library, mpi_cores
from ._native import core

__all__ = ["Info", "info", "info_text"]


class MPIInfo(TypedDict):
    """mpi4py and its MPI library, and whether this spanfft can use them."""

    mpi4py: str | None
    library: str | None
    usable: bool
    reason: str


class EngineInfo(TypedDict):
    """A library of local transforms that was found."""

    name: str
    version: str
    path: str
    precisions: list[str]


class Info(TypedDict):
    """What `info` tells."""

    version: str
    python: str
    numpy: str | None
    mpi: MPIInfo
    extensions: list[str]
    engines: list[EngineInfo]
    processor: str
    cores: int
    memory_bytes: int
    available_bytes: int
    disk_io: str
    windows: str
    system: str


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _mpi() -> MPIInfo:
    version = _version("mpi4py")
    if version is None:
        return {"mpi4py": None, "library": None, "usable": False, "reason": "mpi4py is not installed"}
    try:
        module = library()
        name = module.library_version().strip("\0 \n").splitlines()[0]
    except Exception as error:
        return {"mpi4py": version, "library": None, "usable": False, "reason": str(error)}
    return {"mpi4py": version, "library": name, "usable": True, "reason": ""}


def info() -> Info:
    """Tells versions, MPI, engines found, processor and memory. Initializes MPI if mpi4py is there. Not collective.

    Returns
    -------
    dict
        A dictionary that json can write.
    """
    engines: list[EngineInfo] = [
        {
            "name": engine["name"],
            "version": engine["version"],
            "path": engine["path"],
            "precisions": engine["precisions"],
        }
        for engine in core.engines()
    ]
    return {
        "version": core.version(),
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "mpi": _mpi(),
        "extensions": [f"_mpi_{abi}" for abi in mpi_cores()],
        "engines": engines,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        "memory_bytes": total_bytes(),
        "available_bytes": available_bytes(),
        "disk_io": core.disk_io(),
        "windows": core.windows(),
        "system": f"{platform.system()} {platform.release()}",
    }


def info_text(found: Info) -> str:
    """For people."""
    mpi = found["mpi"]
    lines = [
        f"spanfft    {found['version']}",
        f"python     {found['python']}, numpy {found['numpy']}",
        f"MPI        {mpi['library']}, mpi4py {mpi['mpi4py']}" if mpi["usable"] else f"MPI        no: {mpi['reason']}",
    ]
    for engine in found["engines"]:
        precisions = ", ".join(engine["precisions"])
        lines.append(f"engine     {engine['name']} {engine['version']} ({precisions}) {engine['path']}".rstrip())
    if not found["engines"]:
        lines.append("engine     none")
    memory, free = bytes_string(found["memory_bytes"]), bytes_string(found["available_bytes"])
    lines += [
        f"processor  {found['processor']}, {found['cores']} cores for this process",
        f"memory     {memory}, {free} available",
        f"disk I/O   {found['disk_io']}",
        f"windows    {found['windows']}",
        f"system     {found['system']}",
    ]
    return "\n".join(lines)
