"""Files larger than all memories on MPI ranks, each with scratch of its own: kill -9 of any rank, of all, or of mpiexec
itself at random moments, and now and then a flipped bit of scratch; the same command goes on to the same bits."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from . import oracle
from .campaigns import mpiexec
from .case import Case, Failed, chance, one_of
from .killed_ranks import alive
from .kills import flip
from .patience import Limit, output_of

LIMIT_SECONDS = 120
PROGRAM = """
import json, os, signal, sys
from mpi4py import MPI
import spanfft
folder, dies, share, options = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), json.loads(sys.argv[4])
comm = MPI.COMM_WORLD
open(f"{folder}/{comm.rank}.pid", "w").write(str(os.getpid()))

def progress(done, total):
    if comm.rank == dies and done >= share * total:
        os.kill(os.getpid(), signal.SIGKILL)
    return True

try:
    result = spanfft.transform(folder + "/in.npy", folder + "/out.npy", comm=comm, scratch=folder + "/scratch{rank}",
                               progress=progress, **options)
    said = {"resumed": result.resumed_bytes, "sweeps": len(result.report["steps"])}
except spanfft.Error as error:
    said = {"error": type(error).__name__, "text": str(error)}
said = comm.gather(said)
if comm.rank == 0:
    open(folder + "/said", "w").write(json.dumps(said))
"""
# Shapes, kinds and axes whose sweeps differ: one axis in blocks and through the output, several axes, real ones, rows.
PROBLEMS = (
    ((1 << 18,), "complex128", {}), ((3**5 * 1000,), "complex64", {}), ((1 << 19,), "float64", {}),
    ((1 << 18,), "complex128", {"norm": "ortho"}), ((600, 500), "complex128", {}), ((64, 60, 70), "complex128", {}),
    ((64, 61, 70), "float64", {}), ((300, 800), "float64", {"axes": [0]}), ((4, 1 << 16), "complex128", {"axes": [1]}),
    ((500, 700), "float32", {}),
)  # fmt: skip


class Ranks:
    def __init__(self, folder: Path, ranks: int, options: dict[str, object], case: Case) -> None:
        self.folder, self.ranks, self.options, self.case = folder, ranks, options, case
        for rank in range(ranks):
            (folder / f"scratch{rank}").mkdir()

    def start(self, dies: int, share: float) -> subprocess.Popen:
        for name in ("said", *(f"{rank}.pid" for rank in range(self.ranks))):
            (self.folder / name).unlink(missing_ok=True)
        command = [mpiexec(), "-n", str(self.ranks), sys.executable, "-c", PROGRAM, str(self.folder), str(dies),
                   str(share), json.dumps(self.options)]  # fmt: skip
        with open(self.folder / "log", "w") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def pids(self) -> list[int]:
        found = []
        for rank in range(self.ranks):
            with contextlib.suppress(OSError, ValueError):
                found.append(int((self.folder / f"{rank}.pid").read_text()))
        return found

    def end(self, launcher: subprocess.Popen) -> list[dict] | None:
        """What the ranks said; None where they were killed. No process is left."""
        try:
            if output_of(launcher, LIMIT_SECONDS) is None:
                raise Failed("hung", f"the launcher has not ended after {LIMIT_SECONDS} s")
            limit = Limit(20, *self.pids())
            while any(map(alive, self.pids())):
                if limit.left() <= 0:
                    raise Failed("hung", "ranks live on")
                time.sleep(0.05)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)
            for pid in self.pids():  # a launcher that was killed leaves them
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        said = self.folder / "said"
        return json.loads(said.read_text()) if said.exists() else None

    def run(self) -> list[dict]:
        said = self.end(self.start(-1, 0))
        if said is None:
            raise Failed("crashed", (self.folder / "log").read_text()[-600:])
        return said

    def killed(self, rng) -> bool:
        """A run that is killed somewhere, or comes to its end before: then False."""
        how = one_of(rng, ["rank", "rank", "rank", "all", "mpiexec"])
        victim, share, delay = int(rng.integers(self.ranks)), float(rng.uniform(0.02, 1)), float(rng.uniform(0, 0.4))
        self.case.text += f"; {how} {victim} at {share:.2f} or after {delay:.2f} s"
        launcher = self.start(victim if how == "rank" else -1, share)
        if how != "rank":
            limit = Limit(LIMIT_SECONDS, launcher.pid)
            while len(self.pids()) < self.ranks and launcher.poll() is None:
                if limit.left() <= 0:
                    raise Failed("hung", "the ranks did not begin")
                time.sleep(0.02)
            time.sleep(delay)
            for pid in self.pids() if how == "all" else [launcher.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        said = self.end(launcher)
        self.case.count("kills", int(said is None))
        return said is None

    def digest(self) -> str:
        return hashlib.sha256((self.folder / "out.npy").read_bytes()).hexdigest()

    def left(self) -> list[str]:
        mine = {"in.npy", "out.npy", "log", "said", *(f"{rank}.pid" for rank in range(self.ranks))}
        return sorted(name for _, _, names in os.walk(self.folder) for name in names if name not in mine)


def draw(rng, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if "complex" in dtype else 0)
    return x.astype(dtype)


def check(x: np.ndarray, got: np.ndarray, options: dict[str, object]) -> None:
    axes = options.get("axes") or range(x.ndim)
    exact = oracle.forward(x, "c2c" if np.iscomplexobj(x) else "r2c", axes, options.get("norm") or "backward")
    if not oracle.keeps_rule(got, exact):
        raise Failed("wrong", "the error is above the accuracy rule")


def damage(rng, job: Ranks, case: Case) -> bool:
    kept = sorted(job.folder.glob("scratch*/.*spanfft-kept-scratch*"))
    if not kept or not chance(rng, 0.15):
        return False
    case.text += "; a bit is flipped"
    done = flip(rng, str(one_of(rng, kept)))
    case.count("flips", int(done))
    return done


def finish(job: Ranks, whole: str, damaged: bool) -> int:
    """The last run, to the same bits; the most that a rank had of an earlier one."""
    said = job.run()
    if damaged and said[0].get("error") == "CorruptData":
        said = job.run()
    if any("error" in each for each in said):
        raise Failed("lost" if damaged else "wrong", f"a run that goes on: {said}")
    if job.digest() != whole:
        raise Failed("wrong", "other bits than those of an undisturbed run")
    if job.left():
        raise Failed("lost", f"left behind: {job.left()}")
    return max(each["resumed"] for each in said)


def run(case: Case) -> None:
    rng = case.random
    shape, dtype, more = one_of(rng, PROBLEMS)
    ranks, memory = int(rng.integers(2, 6)), one_of(rng, [1 << 20, 1 << 20, 3 << 19])
    options = {**more, "memory": memory, "threads": 1}
    case.text = f"{dtype} {shape} {options} on {ranks} ranks"
    case.count("problems")
    with tempfile.TemporaryDirectory(prefix="spanfft-soak-") as name:
        job = Ranks(Path(name), ranks, options, case)
        x = draw(rng, shape, dtype)
        np.save(job.folder / "in.npy", x)
        said = job.run()
        if "error" in said[0]:
            if said[0]["error"] not in ("Unsupported", "InvalidArgument"):
                raise Failed("wrong", str(said))
            case.count("refused")
            return
        check(x, np.load(job.folder / "out.npy"), options)
        whole = job.digest()
        os.unlink(job.folder / "out.npy")
        damaged = False
        for _ in range(int(rng.integers(1, 4))):
            if not job.killed(rng):
                break
            damaged = damage(rng, job, case) or damaged
        case.count("resumes", int(finish(job, whole, damaged) > 0))
