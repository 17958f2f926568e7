"""PETSc's FFT matrices: Debian's library of complex numbers, linked to FFTW's MPI library, with ours preloaded. It is a
build for Open MPI, and runs under that alone."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

from clients.fftw_mpi import call, our_library
from clients.result import Result

PACKAGES = ("libpetsc-complex-dev", "pkg-config")
PROGRAM = Path(__file__).with_name("petsc_fft.c")


def folders() -> list[Path]:
    """Where Debian describes its PETSc of complex numbers; the plain name may mean the one of real numbers."""
    return sorted(Path("/usr/lib/petscdir").glob("petsc*/*-complex/lib/pkgconfig"))


def petsc(work: Path) -> list[Result]:
    if os.environ["SPANFFT_DEV_MPI"] != "openmpi":
        return [Result("PETSc", "", 0, 0, 0, ["Debian's is for Open MPI: ./spanfft-dev --mpi openmpi clients petsc"])]
    if not (shutil.which("pkg-config") and folders()):
        call("apt-get", "install", "-y", "--no-install-recommends", *PACKAGES)
    found = {"PKG_CONFIG_PATH": str(folders()[0])}
    version = call("pkg-config", "--modversion", "petsc", **found).strip()
    flags = shlex.split(call("pkg-config", "--cflags", "--libs", "petsc", **found))
    call("mpicc.openmpi", "-O1", PROGRAM, *flags, "-lm", "-o", work / "petsc_fft")
    results = []
    for ranks in (2, 3, 4):  # of one rank PETSc plans by FFTW itself, without MPI
        launch = [os.environ["SPANFFT_MPIEXEC"], "-n", ranks, "env", f"LD_PRELOAD={our_library()}"]
        output = call(*launch, "SPANFFT_FFTW_REPORT=1", work / "petsc_fft")
        said = re.findall(r"^(ok|wrong) (.*)$", output, re.M)
        passed = sum(verdict == "ok" for verdict, _ in said)
        report = re.search(r"^spanfft: (\d+ plans by spanfft, \d+ plans by FFTW)", output, re.M)
        reasons = [report[1] if report else "no plan by spanfft"] + [what for verdict, what in said if verdict != "ok"]
        results.append(
            Result(f"PETSc MatCreateFFT, {ranks} ranks", version, len(said), passed, len(said) - passed, reasons)
        )
    return results
