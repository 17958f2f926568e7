"""A sample of the strangers' suites that ./spanfft-dev clients runs whole."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import TESTS, cli_environment, mpiexec


@pytest.mark.parametrize("ranks", [2])
def test_mpi4py_ffts_own_tests_pass(ranks, monkeypatch):
    launcher = mpiexec()
    if launcher is None:
        pytest.skip("no mpiexec")
    from clients import mpi4py_fft

    work = TESTS.parent / ".spanfft" / "clients" / "sample"
    work.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("SPANFFT_MPIEXEC", launcher)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    result = mpi4py_fft.sample(work, ranks)
    assert result.failed == 0, result.reasons
    assert result.passed == 6


def test_their_imports_lead_to_ours():
    """Else the suite above would judge mpi4py-fft, where it is installed."""
    names = ["mpi4py_fft", "mpi4py_fft.fftw.xfftn", "mpi4py_fft.io.h5py_file"]
    code = f"import importlib; print(*[importlib.import_module(name).__name__ for name in {names}])"
    environment = cli_environment(PYTHONPATH=str(TESTS / "strangers" / "mpi4py_fft"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.split() == [f"spanfft.{name}" for name in names], done.stderr
