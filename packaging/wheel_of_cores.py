"""Builds one wheel that holds spanfft's core for each of several MPIs.

Method: a wheel is built with each mpicc, in a folder of its own. They have the same libspanfft, which knows no MPI, and
differ in libspanfft_mpi_<abi> and the module _mpi_<abi>; so the first is taken, and of the others what it lacks.
Python's `spanfft._mpi` picks the module that fits mpi4py. auditwheel then says for which Linux the whole is good, and
names it so.
Invariant: what two of the wheels have is the same in both, byte by byte; else nothing is written.
Source: mpi4py's own wheels, which hold a module for each ABI and are merged alike. docs/adr/0091 says what for.

    python packaging/wheel_of_cores.py MPICC...        into dist/; needs what requirements/wheel.txt and build.txt name

Take the oldest MPI of each ABI that shall be served: a core needs the functions of the MPI that it was compiled with.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Of the user's machine, as mpi4py finds them: a copy of our own would be a second MPI in the process.
MPI_LIBRARIES = ("libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1")


def call(*command: object) -> str:
    """The output of a command; raises with its words if it fails."""
    words = [str(part) for part in command]
    run = subprocess.run(words, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode:
        raise RuntimeError(f"{' '.join(words)} exited with {run.returncode}:\n{run.stdout}")
    return run.stdout


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def build(mpicc: Path, number: int) -> Path:
    """A wheel with the core of one MPI. Its tree is as deep below the checkout as others of this checkout, so that a
    compiler cache, which sees relative paths, has what they share."""
    folder = ROOT / "build" / f"wheel-{number}"
    shutil.rmtree(folder / "wheel", ignore_errors=True)
    settings = {"build-dir": folder, "build.targets": "python_package"}
    settings |= {"cmake.define.SPANFFT_MPI": "ON", "cmake.define.MPI_C_COMPILER": mpicc}
    # Else the linker would see this folder in its search path, and number the same library otherwise in each.
    settings["cmake.define.CMAKE_BUILD_WITH_INSTALL_RPATH"] = "ON"
    options = [f"--config-settings={name}={value}" for name, value in settings.items()]
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation")
    call(*pip, *options, "--wheel-dir", folder / "wheel", ROOT)
    return only_file(folder / "wheel")


def contents(wheel: Path) -> dict[str, tuple[zipfile.ZipInfo, bytes]]:
    """What a wheel holds, by name, but for its own list."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            entry.filename: (entry, archive.read(entry))
            for entry in archive.infolist()
            if not entry.is_dir() and not entry.filename.endswith(".dist-info/RECORD")
        }


def merge(wheels: list[Path], folder: Path) -> Path:
    """One wheel with all that these hold, by the name of the first."""
    merged: dict[str, tuple[zipfile.ZipInfo, bytes]] = {}
    for wheel in wheels:
        for name, (entry, data) in contents(wheel).items():
            if merged.setdefault(name, (entry, data))[1] != data:
                raise RuntimeError(f"{name} of {wheel} is not that of the wheels before; build all from the same")
    (about,) = {name.split("/")[0] for name in merged if name.split("/")[0].endswith(".dist-info")}
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / wheels[0].name
    lines = []
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (entry, data) in merged.items():
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            quoted = f'"{name}"' if "," in name else name
            lines.append(f"{quoted},sha256={digest},{len(data)}\n")
        archive.writestr(f"{about}/RECORD", "".join([*lines, f"{about}/RECORD,,\n"]))
    return result


def repair(wheel: Path, folder: Path) -> Path:
    """The wheel under the name of the oldest Linux for which it is good, by auditwheel."""
    shutil.rmtree(folder, ignore_errors=True)
    excluded = [word for library in MPI_LIBRARIES for word in ("--exclude", library)]
    call(sys.executable, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", folder, wheel)
    return only_file(folder)


def make(compilers: list[Path]) -> Path:
    """The wheel with the cores of these mpicc's, in dist/."""
    work = ROOT / "build" / "wheel"
    wheels: list[Path] = []
    for number, mpicc in enumerate(compilers):
        print(f"-- a wheel with {mpicc}", flush=True)
        wheels.append(build(mpicc.absolute(), number))
    print("-- one wheel of these", flush=True)
    repaired = repair(merge(wheels, work / "merged"), work / "repaired")
    (ROOT / "dist").mkdir(exist_ok=True)
    result = Path(shutil.copy(repaired, ROOT / "dist"))
    print(f"{result.relative_to(ROOT)}: {result.stat().st_size} bytes")
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpicc", nargs="+", type=Path, help="an MPI's compiler; one for each ABI")
    make(parser.parse_args().mpicc)
    return 0


if __name__ == "__main__":
    sys.exit(main())
