"""Ranks share memory where /dev/shm has 64 MiB, as in Docker's containers, and more than that is needed.

The launcher gets mounts of its own, in which /dev/shm is that small; who may not do that skips. Windows of our own need
no room there. Where they can't be made, MPI's are refused before they are touched, and the plan does without.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import cli_environment
from conftest import mpiexec as find_mpiexec

PROGRAM = """
import sys
from mpi4py import MPI
import numpy as np, spanfft
assert MPI.COMM_WORLD.size == 2
n = int(sys.argv[1])
plan = spanfft.Plan((n, n, n), dtype="complex64", comm=MPI.COMM_WORLD)
u = np.zeros(plan.input_shape, np.complex64)
if MPI.COMM_WORLD.rank == 0:
    u[0, 0, 0] = 1
assert np.all(plan.forward(u) == 1)
if MPI.COMM_WORLD.rank == 0:
    print(plan.explain())
"""
MOUNT = 'mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm && exec "$@"'


def explained(tmp_path, n: int, **variables: str) -> str:
    launcher = find_mpiexec()
    pytest.importorskip("mpi4py")
    if launcher is None:
        pytest.skip("no mpiexec: set SPANFFT_MPIEXEC")
    inside = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if subprocess.run([*inside, "sh", "-c", MOUNT, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounts of one's own are not allowed here")
    program = tmp_path / "plan.py"
    program.write_text(PROGRAM)
    command = [*inside, "sh", "-c", MOUNT, "sh", launcher, "-n", "2", sys.executable, str(program), str(n)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=90, env=cli_environment(**variables), check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_default_plan_shares_memory_that_dev_shm_has_no_room_for(tmp_path):
    text = explained(tmp_path, 216)  # 77 MiB
    assert "exchange=shared" in text
    assert "windows are MPI's" not in text
    assert "without shared memory" not in text


def test_where_only_mpi_has_windows_the_plan_does_without_and_says_why(tmp_path):
    text = explained(tmp_path, 216, SPANFFT_WINDOWS="mpi")
    assert "planned without shared memory" in text
    assert "/dev/shm has room for" in text


def test_windows_by_mpi_that_fit_are_used_and_noted(tmp_path):
    text = explained(tmp_path, 48, SPANFFT_WINDOWS="mpi")
    assert "windows are MPI's: no shared memory of our own (SPANFFT_WINDOWS=mpi asks for others)" in text
