"""Not a peer: how those are compiled that Debian has as source packages, for the MPI in use.

Debian compiles them for Open MPI only, and a library made for one MPI cannot run on another. So they are compiled here,
into a folder of the git-ignored .spanfft/peers for each MPI, from what apt-get finds with lists of its own.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from peers import Absent

_ROOT = Path(__file__).resolve().parents[2]


def mpicc() -> str:
    found = os.environ.get("MPICC") or shutil.which("mpicc")
    if not found:
        raise Absent("no mpicc, so it can't be compiled for this MPI")
    return found


def folder(name: str) -> Path:
    """One for each MPI, told apart by what its compiler wrapper runs."""
    shown = subprocess.run([mpicc(), "-show"], capture_output=True, text=True).stdout
    return _ROOT / ".spanfft" / "peers" / f"{name}-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"


def call(command: list[str], cwd: Path, log: Path) -> None:
    with open(log, "a") as out:
        print("$", *command, file=out, flush=True)
        if subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out).returncode:
            raise Absent(f"it can't be compiled here: {command[0]} failed (log: {log.relative_to(_ROOT)})")


def unpacked(package: str, into: Path, log: Path) -> Path:
    """The folder of the package's source as its authors released it, made anew within `into`."""
    if not shutil.which("apt-get"):
        raise Absent(f"it is compiled from Debian's source package {package}, and there is no apt-get")
    shutil.rmtree(into, ignore_errors=True)
    (into / "apt" / "sources").mkdir(parents=True)
    (into / "apt" / "lists" / "partial").mkdir(parents=True)
    # The system's own sources, asked for source packages instead of compiled ones, with lists of their own.
    for path in Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = path.read_text()
        if "debian" in text:
            (into / "apt" / "sources" / path.name).write_text(re.sub(r"(?m)^Types:.*$", "Types: deb-src", text))
    lines = [path.read_text() for path in [Path("/etc/apt/sources.list")] if path.exists()]
    found = [re.sub(r"^deb ", "deb-src ", line) for line in "\n".join(lines).splitlines() if line.startswith("deb ")]
    (into / "apt" / "sources.list").write_text("\n".join([*found, ""]))
    at = f"{into}/apt"
    apt = ["apt-get", "-o", f"Dir::Etc::SourceList={at}/sources.list", "-o", f"Dir::Etc::SourceParts={at}/sources",
           "-o", f"Dir::State::Lists={at}/lists", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
           "-o", "APT::Sandbox::User=root"]  # fmt: skip
    call([*apt, "update"], into, log)
    # Debian's patches are not wanted: where they alone can't be fetched, the authors' archive is there all the same.
    with open(log, "a") as out:
        source = [*apt, "source", "--download-only", package]
        subprocess.run(source, cwd=into, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    archive = next(into.glob(f"{package}_*.orig.tar.*"), None)
    if archive is None:
        raise Absent(f"apt-get finds no source of {package} (log: {log.relative_to(_ROOT)})")
    before = set(into.iterdir())
    call(["tar", "-xf", str(archive)], into, log)
    return next(path for path in set(into.iterdir()) - before if path.is_dir())


def mpi_version() -> str:
    from mpi4py import MPI

    return " ".join(MPI.Get_library_version().strip("\0 \n").splitlines()[0].split())


def handle(comm: Any) -> Any:
    """The communicator as this MPI's C type: an int in MPICH, a pointer in Open MPI."""
    from mpi4py import MPI

    kind = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(comm))
