"""kill -9 of one rank while all exchange, by each strategy: the launcher ends by itself, and nothing of ours stays."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .campaigns import mpiexec
from .case import Case, Failed, one_of
from .patience import Limit, output_of
from .ranks import STRATEGIES

LIMIT_SECONDS = 90
PROGRAM = """
import os, sys
from mpi4py import MPI
import numpy as np, spanfft
comm, folder = MPI.COMM_WORLD, sys.argv[2]
try:
    plan = spanfft.Plan((24, 20, 18), comm=comm, exchange=sys.argv[1] or None, in_place=sys.argv[3] == "1")
except spanfft.Unsupported:
    sys.exit(77)
u = np.ones(plan.input_shape, complex)
comm.Barrier()
open(f"{folder}/{comm.rank}.part", "w").write(str(os.getpid()))
os.rename(f"{folder}/{comm.rank}.part", f"{folder}/{comm.rank}.pid")
try:
    while True:
        u = plan.backward(plan.forward(u))
except spanfft.Error as error:
    print(error, flush=True)
    os._exit(3)
"""


def shared_memory() -> set[str]:
    with contextlib.suppress(OSError):
        return {name for name in os.listdir("/dev/shm") if "spanfft" in name}
    return set()


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


def run(case: Case) -> None:
    rng = case.random
    ranks, exchange = int(rng.integers(2, 6)), one_of(rng, ["", *STRATEGIES])
    victim, delay, in_place = int(rng.integers(ranks)), float(rng.uniform(0, 0.5)), str(int(rng.integers(2)))
    case.text = f"{ranks} ranks, {exchange or 'default'}, in place {in_place}, rank {victim} after {delay:.2f} s"
    case.count("problems")
    before = shared_memory()
    with tempfile.TemporaryDirectory(prefix="spanfft-soak-") as folder, open(f"{folder}/log", "w+") as log:
        launcher = subprocess.Popen(
            [mpiexec(), "-n", str(ranks), sys.executable, "-c", PROGRAM, exchange, folder, in_place],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            limit = Limit(LIMIT_SECONDS, launcher.pid)
            while len(pids := list(Path(folder).glob("*.pid"))) < ranks and launcher.poll() is None:
                if limit.left() <= 0:
                    raise Failed("hung", "the ranks did not begin")
                time.sleep(0.05)
            if launcher.poll() is not None:
                if "Traceback" in Path(folder, "log").read_text():
                    raise Failed("wrong", Path(folder, "log").read_text()[-600:])
                case.count("refused")
                return
            numbers = [int(path.read_text()) for path in pids]
            time.sleep(delay)
            os.kill(int(Path(folder, f"{victim}.pid").read_text()), signal.SIGKILL)
            case.count("kills")
            if output_of(launcher, LIMIT_SECONDS) is None:
                raise Failed("hung", f"the launcher has not ended after {LIMIT_SECONDS} s")
            if launcher.returncode == 0:
                raise Failed("wrong", "the launcher ended with 0")
            limit = Limit(10, *numbers)
            while any(map(alive, numbers)) and limit.left() > 0:
                time.sleep(0.05)
            if any(map(alive, numbers)):
                raise Failed("hung", "ranks live on")
            if shared_memory() - before:
                raise Failed("lost", f"left in /dev/shm: {sorted(shared_memory() - before)}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)
