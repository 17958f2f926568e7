"""A rank that is killed in the middle of its exchanges ends the others; nobody hangs.

What the others can still do is the MPI library's: its launcher normally ends them at once. Where it is told not to
(MPICH's -disable-auto-cleanup), ranks that share memory find the dead one themselves and say which it is.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import mpiexec as find_mpiexec

LIMIT_SECONDS = 90

PROGRAM = """
import os, sys
from mpi4py import MPI
import numpy as np, spanfft
comm = MPI.COMM_WORLD
plan = spanfft.Plan((48, 40, 36), comm=comm, exchange=sys.argv[1] or None)
u = np.ones(plan.input_shape, complex)
comm.Barrier()
with open(f"{sys.argv[2]}/{comm.rank}.part", "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, f"{sys.argv[2]}/{comm.rank}.pid")
try:
    while True:
        plan.backward(plan.forward(u))
except spanfft.Error as error:
    with open(f"{sys.argv[2]}/{comm.rank}.error", "w") as file:  # the launcher may have gone, and its pipes with it
        file.write(f"{type(error).__name__}: {error}")
    os._exit(3)
"""


def run_and_kill(tmp_path, exchange: str, *options: str) -> tuple[int, str]:
    """Starts 3 ranks, kills rank 1 while they exchange; the launcher's exit code and everything that was printed."""
    mpiexec = find_mpiexec()
    if mpiexec is None:
        pytest.skip("no mpiexec: set SPANFFT_MPIEXEC")
    program = tmp_path / "endless.py"
    program.write_text(textwrap.dedent(PROGRAM))
    log = tmp_path / "output.txt"
    with open(log, "w") as output:
        launcher = subprocess.Popen(
            [mpiexec, *options, "-n", "3", sys.executable, program, exchange, tmp_path],
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            end = time.monotonic() + LIMIT_SECONDS
            while len(list(tmp_path.glob("*.pid"))) < 3 and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(1)
            os.kill(int((tmp_path / "1.pid").read_text()), signal.SIGKILL)
            return launcher.wait(LIMIT_SECONDS), log.read_text()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)


@pytest.mark.parametrize("exchange", ["shared", "alltoallv", "alltoallw"])
def test_the_launcher_ends_all_ranks_with_an_exit_code(tmp_path, exchange):
    code, _ = run_and_kill(tmp_path, exchange)
    assert code != 0


def test_ranks_that_share_memory_name_the_dead_one_where_the_launcher_leaves_them_alone(tmp_path):
    mpiexec = find_mpiexec()
    if mpiexec is None or "HYDRA" not in subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("only MPICH's launcher can be told to leave the other ranks alone")
    code, printed = run_and_kill(tmp_path, "shared", "-disable-auto-cleanup")
    assert code != 0
    end = time.monotonic() + 10
    while len(list(tmp_path.glob("*.error"))) < 2 and time.monotonic() < end:
        time.sleep(0.1)
    for survivor in ("0.error", "2.error"):
        assert re.search(r"MPIError: .*rank 1 .*gone", (tmp_path / survivor).read_text()), printed
