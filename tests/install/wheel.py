"""Proves that a wheel of several MPIs (packaging/wheel_of_cores.py) works in environments that have nothing else.

Each check makes a fresh environment, installs the wheel and one MPI with its mpi4py, and runs wheel_ranks.py on two
ranks, away from the source tree; it prints one line, "ok NAME", "skipped NAME" or "FAILED NAME". The exit code is 1 if
one failed.

    python tests/install/wheel.py dist/spanfft-*.whl [--only NAME]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from install.run import PYTHON_CHECK, Skipped, call  # noqa: E402

RANKS = Path(__file__).resolve().with_name("wheel_ranks.py")
CONSTRAINTS = ROOT / "requirements" / "constraints.txt"


def runpaths(library: Path | str) -> list[str]:
    """The folders in which a library tells the loader to look for others."""
    dynamic = subprocess.run(["readelf", "-d", library], text=True, capture_output=True, check=True).stdout
    return [each for where in re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", dynamic) for each in where.split(":") if each]


class Fresh:
    """An environment with the wheel and some packages of the registry, and nothing of the one that this runs in."""

    def __init__(self, folder: Path, wheel: Path, *packages: object) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        call(sys.executable, "-m", "venv", folder / "venv")
        unwanted = ("VIRTUAL_ENV", "PYTHONPATH", "MPI4PY_MPIABI", "MPI4PY_LIBMPI", "LD_LIBRARY_PATH")
        self.env = {name: value for name, value in os.environ.items() if name not in unwanted}
        own = os.environ.get("VIRTUAL_ENV", "")
        path = [p for p in os.environ["PATH"].split(os.pathsep) if not own or not p.startswith(own)]
        self.env.update(PATH=os.pathsep.join([str(self.bin), *path]), OMP_NUM_THREADS="1")
        self.pip("--only-binary", "spanfft", wheel, *packages)

    def pip(self, *words: object, **variables: str) -> None:
        call(self.bin / "pip", "install", "--quiet", "-c", CONSTRAINTS, *words, env={**self.env, **variables})

    def python(self, *words: object) -> str:
        return call(self.bin / "python", *words, env=self.env, timeout=60, cwd=self.folder)

    def ranks(self, mpiexec: Path, core: str, **variables: str) -> None:
        """Two ranks, which must take this core."""
        env = {**self.env, **variables}
        print(call(mpiexec, "-n", 2, self.bin / "python", RANKS, core, env=env, timeout=120, cwd=self.folder))


def check_no_mpi(wheel: Path, work: Path) -> None:
    """A transform, and a sentence where ranks are asked for."""
    fresh = Fresh(work, wheel)
    print(fresh.python("-c", PYTHON_CHECK))
    asks = "import spanfft\ntry:\n    spanfft.fftn([1.0], comm=1)\nexcept spanfft.MPIError as error:\n    print(error)"
    if "pip install mpi4py" not in (told := fresh.python("-c", asks)):
        raise RuntimeError(f"comm= without mpi4py says {told!r}")


def check_mpich(wheel: Path, work: Path) -> None:
    """The registry's MPICH and mpi4py."""
    fresh = Fresh(work, wheel, "mpich", "mpi4py")
    fresh.ranks(fresh.bin / "mpiexec", "_mpi_mpich")


def check_debian_open_mpi(wheel: Path, work: Path) -> None:
    """The system's Open MPI, and mpi4py's wheel."""
    mpiexec = shutil.which("mpiexec.openmpi")
    if not mpiexec:
        raise Skipped("there is no mpiexec.openmpi here")
    Fresh(work, wheel, "mpi4py").ranks(Path(mpiexec), "_mpi_openmpi", MPI4PY_MPIABI="openmpi")


def check_open_mpi_5(wheel: Path, work: Path) -> None:
    """A later Open MPI than the one that the core was compiled with: the registry's."""
    fresh = Fresh(work, wheel, "openmpi", "mpi4py")
    fresh.ranks(fresh.bin / "mpiexec", "_mpi_openmpi")


def check_intel_mpi(wheel: Path, work: Path) -> None:
    """Another MPI of MPICH's ABI: the registry's Intel MPI, within this machine."""
    fresh = Fresh(work, wheel, "impi-rt", "mpi4py")
    fresh.ranks(fresh.bin / "mpiexec", "_mpi_mpich", I_MPI_FABRICS="shm")


def check_standard_abi(wheel: Path, work: Path) -> None:
    """MPICH 5 with the standard's ABI, for which mpi4py has no wheel yet: it is compiled."""
    fresh = Fresh(work, wheel, "mpich")
    fresh.pip("--no-cache-dir", "--no-binary", "mpi4py", "mpi4py", MPICC=str(fresh.bin / "mpicc_abi"), CFLAGS="-O0")
    fresh.ranks(fresh.bin / "mpiexec", "_mpi_abi")


def check_absent_core(wheel: Path, work: Path) -> None:
    """Where the core for mpi4py's MPI is missing, the error names that MPI, what there is, and what to do."""
    fresh = Fresh(work, wheel, "mpich", "mpi4py")
    (core,) = (fresh.folder / "venv").glob("lib/python*/site-packages/spanfft/_mpi_mpich.*")
    core.unlink()
    told = fresh.python("-c", "import spanfft\nprint(spanfft.info()['mpi']['reason'])")
    if not re.search(r"mpi4py uses MPICH.*MPICH's ABI; .*Open MPI's ABI and the standard.*pip install", told):
        raise RuntimeError(f"without the core for MPICH it says {told!r}")


def check_no_path_of_this_machine(wheel: Path, _: Path) -> None:
    """No file names the checkout, the environment or the home of whoever built it, or looks for libraries outside."""
    folders = {str(ROOT), sys.prefix, sys.base_prefix, str(Path.home())} - {"/", "/usr", "/usr/local"}
    wrong = []
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as unpacked:
        for name in archive.namelist():
            wrong += [f"{name} names {folder}" for folder in folders if folder.encode() in archive.read(name)]
            if re.search(r"\.so(\.|$)", name):
                looks = runpaths(archive.extract(name, unpacked))
                wrong += [f"{name} looks in {each}" for each in looks if each != "$ORIGIN"]
    if wrong:
        raise RuntimeError("\n".join(wrong))


def check_recipes(_: Path, work: Path) -> None:
    """CITATION.cff and conda's recipe, by the tools that read them."""
    call(sys.executable, "-m", "venv", work / "venv")
    python = work / "venv" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", "-r", ROOT / "requirements" / "recipes.txt")
    print(call(python, ROOT / "packaging" / "check_recipes.py", timeout=120))


CHECKS = {
    "no-path-of-this-machine": check_no_path_of_this_machine,
    "no-mpi": check_no_mpi,
    "mpich": check_mpich,
    "debian-open-mpi": check_debian_open_mpi,
    "open-mpi-5": check_open_mpi_5,
    "intel-mpi": check_intel_mpi,
    "standard-abi": check_standard_abi,
    "absent-core": check_absent_core,
    "recipes": check_recipes,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--only", choices=CHECKS, action="append")
    options = parser.parse_args()
    counts = {"ok": 0, "skipped": 0, "FAILED": 0}
    for name in options.only or CHECKS:
        with tempfile.TemporaryDirectory(prefix="spanfft-wheel-") as work:
            word, why = "ok", ""
            try:
                CHECKS[name](options.wheel.resolve(), Path(work))
            except Skipped as reason:
                word, why = "skipped", f": {reason}"
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                word, why = "FAILED", f": {error}"
        counts[word] += 1
        print(f"{word} {name}{why}", flush=True)
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
