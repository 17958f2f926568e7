"""FFTW's MPI interface on spanfft: a client that knows nothing of it (tests/fftw3_mpi/client.c), linked to it; under
Open MPI also linked to FFTW's own library, with which it must pass too, and preloaded."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TESTS, cli_environment

MPI = os.environ.get("SPANFFT_DEV_MPI", "venv")
BUILD = TESTS.parent / "build" / f"release-{MPI}"
LIBRARY = BUILD / "libspanfft_fftw3_mpi.so.0"
HEADERS = Path("/usr/include")
PRECISIONS = {"": ("fftw_", "double", "DBL"), "f": ("fftwf_", "float", "FLT"), "l": ("fftwl_", "long double", "LDBL")}
OURS = (f"-L{BUILD}", "-lspanfft_fftw3_mpi", f"-Wl,-rpath,{BUILD}")
PROBLEMS = 10

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="built without MPI")


def compile_client(folder: Path, precision: str, *libraries: str, source: str = "client.c") -> Path:
    prefix, real, limits = PRECISIONS[precision]
    program = folder / f"client{precision}"
    command = [os.environ["MPICC"], "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}"]
    command += [f"-DPREFIX={prefix}", f"-DREAL={real}", f"-DEPSILON={limits}_EPSILON"]
    command += [str(TESTS / "fftw3_mpi" / source), "-o", str(program), *libraries, f"-l:libfftw3{precision}.so.3"]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, ranks: int, *words: object, **variables: str) -> tuple[str, str]:
    """Its words, and those of the library."""
    environment = cli_environment(OMP_NUM_THREADS="1")
    given = [f"{name}={value}" for name, value in variables.items()]
    command = [
        os.environ["SPANFFT_MPIEXEC"],
        "-n",
        str(ranks),
        "env",
        *given,
        str(program),
        str(ranks),
        *map(str, words),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def judged_ours(program: Path, ranks: int, **variables: str) -> None:
    words, report = run(program, ranks, ranks, PROBLEMS, SPANFFT_FFTW_REPORT="1", **variables)
    assert f"{PROBLEMS} problems, 0 failed, 0 without a plan" in words
    plans = PROBLEMS + 2 * 2  # and there and back for two convolutions
    assert f"{plans} plans by spanfft, 0 plans by FFTW, 0 plans by nobody" in report


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    return compile_client(tmp_path_factory.mktemp("linked"), "", *OURS)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_client_linked_to_it(linked, ranks):
    judged_ours(linked, ranks)


@pytest.mark.parametrize("precision", ["f", "l"])
def test_a_client_in_another_precision(precision, tmp_path):
    program = compile_client(tmp_path, precision, *OURS)
    judged_ours(program, 2)


@pytest.mark.parametrize(("ranks", "windows", "shared"), [(1, "own", 0), (2, "own", 2), (3, "own", 2), (2, "none", 0)])
def test_outputs_of_fftw_malloc_are_shared(ranks, windows, shared, tmp_path):
    """Those of two plans, there and back. A third one of the same output is not, nor any where there are no windows."""
    program = compile_client(tmp_path, "", *OURS, source="shared_arrays.c")
    words, report = run(program, ranks, SPANFFT_FFTW_REPORT="1", SPANFFT_WINDOWS=windows)
    assert "0 failures" in words
    assert "4 plans by spanfft, 0 plans by FFTW, 0 plans by nobody" in report
    told = re.findall(r"the ranks share the output of (\d+) plans", report)
    assert told == ([str(shared)] if shared else [])


@pytest.mark.skipif(MPI != "openmpi", reason="the system's FFTW library for MPI is Open MPI's")
def test_an_unmodified_client_passes_with_fftw_and_preloaded(tmp_path):
    program = compile_client(tmp_path, "", "-l:libfftw3_mpi.so.3")
    words, report = run(program, 3, 3, PROBLEMS)
    assert f"{PROBLEMS} problems, 0 failed" in words
    assert "spanfft" not in report
    judged_ours(program, 3, LD_PRELOAD=str(LIBRARY))


@pytest.mark.skipif(not shutil.which("gfortran"), reason="there is no gfortran here")
def test_a_fortran_client(tmp_path):
    sources, program = TESTS / "fftw3_mpi", tmp_path / "wave"
    compiled = ["gfortran", "-c", f"-I{HEADERS}", str(sources / "wave.f90"), "-o", str(tmp_path / "wave.o")]
    linked = [os.environ["MPICC"], str(sources / "wave_main.c"), str(tmp_path / "wave.o"), "-o", str(program), *OURS]
    for command in (compiled, [*linked, "-l:libfftw3.so.3", "-lgfortran", "-lm"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    launched = [os.environ["SPANFFT_MPIEXEC"], "-n", "3", str(program), "3"]
    environment = cli_environment(SPANFFT_FFTW_REPORT="1")
    done = subprocess.run(launched, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    assert "2 plans by spanfft, 0 plans by FFTW, 0 plans by nobody" in done.stderr


def exported() -> set[str]:
    table = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" T (\w+)", table))


def test_every_function_of_the_header_is_there():
    header = (HEADERS / "fftw3-mpi.h").read_text()
    names = re.findall(r"^FFTW_EXTERN .*?XM\((\w+)\)", header, re.M)
    assert len(names) == 37
    expected = {f"{prefix}mpi_{name}" for prefix, _, _ in PRECISIONS.values() for name in names}
    assert expected <= exported()


def test_every_function_that_fortran_binds_to_is_there():
    bound = set(re.findall(r"bind\(C, name='(fftwf?_mpi_\w+)'", (HEADERS / "fftw3-mpi.f03").read_text()))
    assert len(bound) == 74
    assert bound <= exported()


def test_it_exports_nothing_else():
    strangers = {name for name in exported() if not re.match(r"fftw[fl]?_", name)}
    assert not strangers
    ctypes.CDLL(str(LIBRARY))
