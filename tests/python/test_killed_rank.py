"""A rank that is killed in the middle of its exchanges ends the others; nobody hangs.

The launcher ends them. Ranks that wait for a dead one in shared memory, not in MPI, find it themselves: that is
NodeBarrier's test.
"""

from __future__ import annotations

import contextlib
import os
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
    print(error, flush=True)
    os._exit(3)
"""


def run_and_kill(tmp_path, exchange: str) -> tuple[int, str]:
    """Starts 3 ranks, kills rank 1 while they exchange; the launcher's exit code and everything that was printed."""
    mpiexec = find_mpiexec()
    if mpiexec is None:
        pytest.skip("no mpiexec: set SPANFFT_MPIEXEC")
    program = tmp_path / "endless.py"
    program.write_text(textwrap.dedent(PROGRAM))
    log = tmp_path / "output.txt"
    with open(log, "w") as output:
        launcher = subprocess.Popen(
            [mpiexec, "-n", "3", sys.executable, program, exchange, tmp_path],
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
