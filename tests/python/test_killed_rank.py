"""A rank that is killed in the middle, in every exchange strategy and while it transforms a file: what ends the others,
and what stays behind.

As a rule the launcher ends them: it sees the death, and no MPI call of theirs would return. Where a launcher lets them
live, a rank that waits in spanfft's own barrier (NodeBarrier, in `shared` and `hierarchical`) has an error that says
so, and one that waits in MPI ends by itself with a sentence of the same sort (src/comm/mpi/rank_watch.hpp). Many groups
of ranks run at once, each with a strategy of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import spanfft
from conftest import assert_transform, cli_environment
from conftest import mpiexec as find_mpiexec

START_SECONDS = 90  # until all ranks run, on a busy machine
END_SECONDS = 20  # from the kill until the last one is gone
SHARED_MEMORY = Path("/dev/shm")

# argv: folder, how many ranks a group has, a strategy for each group; with LIVE set, a process stands between launcher
# and rank, so that the launcher sees no death.
PROGRAM = """
import os, sys, time
folder, each, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
if os.environ.get("LIVE"):
    rank = os.fork()
    if rank:
        os.waitpid(rank, 0)
        while not os.path.exists(folder + "/end"):
            time.sleep(0.05)
        os._exit(0)
os.environ.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")
from mpi4py import MPI
import numpy as np, spanfft
world = MPI.COMM_WORLD
assert world.size == each * len(names)
group = world.rank // each
comm = world.Split(group, world.rank)

def here(what, text):
    part = f"{folder}/{group}.{comm.rank}.part"
    with open(part, "w") as file:
        file.write(str(text))
    os.rename(part, f"{folder}/{group}.{comm.rank}.{what}")

try:
    if names[group] == "file":
        def progress(done, total):
            if done > 0 and not os.path.exists(f"{folder}/{group}.{comm.rank}.pid"):
                here("pid", os.getpid())
            time.sleep(1)  # the kill falls into the first run
        while True:
            spanfft.transform(folder + "/in.npy", folder + "/out.npy", comm=comm, memory="1MiB",
                              progress=progress)
    plan = spanfft.Plan((48, 40, 36), comm=comm, exchange=names[group], threads=1)
    u = np.ones(plan.input_shape, complex)
    plan.backward(plan.forward(u))
    here("pid", os.getpid())
    while True:
        plan.backward(plan.forward(u))
except spanfft.Error as error:
    here("said", error)
    os._exit(3)
"""


def mpi_version() -> int:
    """Of the standard that mpi4py's library keeps to; asked in a process of its own, as importing MPI starts it."""
    pytest.importorskip("mpi4py")
    program = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_version()[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return int(done.stdout)


def strategies() -> list[str]:
    """All that the ranks can have: persistent collectives came with MPI 4, which Open MPI 4.1 is not."""
    with pytest.raises(spanfft.Error) as caught:
        spanfft.Plan((4, 4), exchange="pigeon")
    names = str(caught.value).split("use one of ")[1].split(", ")
    assert len(names) >= 12
    return names if mpi_version() >= 4 else [name for name in names if name != "persistent"]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


class Job:
    """Groups of ranks under one launcher."""

    def __init__(self, folder: Path, names: list[str], each: int, live: bool):
        launcher = find_mpiexec()
        if launcher is None:
            pytest.skip("no mpiexec: set SPANFFT_MPIEXEC")
        pytest.importorskip("mpi4py")
        self.folder, self.names, self.each = folder, names, each
        (folder / "ranks.py").write_text(PROGRAM)
        environment = cli_environment(**({"LIVE": "1"} if live else {}))
        more = ["--oversubscribe"] if "openmpi" in os.environ.get("SPANFFT_DEV_MPI", "") else []
        with open(folder / "log", "w") as log:
            self.launcher = subprocess.Popen(
                [launcher, *more, "-n", str(each * len(names)), sys.executable, folder / "ranks.py", folder, str(each),
                 *names],
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=environment,
            )  # fmt: skip

    def pids(self) -> dict[tuple[int, int], int]:
        """Process of each (group, rank) that runs."""
        found = {}
        for path in self.folder.glob("*.pid"):
            group, rank = path.name.split(".")[:2]
            found[int(group), int(rank)] = int(path.read_text())
        return found

    def start(self) -> dict[tuple[int, int], int]:
        started = wait_until(
            lambda: len(self.pids()) == self.each * len(self.names) or self.launcher.poll() is not None, START_SECONDS
        )
        assert started, f"{self.pids()} {(self.folder / 'log').read_text()}"
        assert self.launcher.poll() is None, (self.folder / "log").read_text()
        time.sleep(0.3)
        return self.pids()

    def said(self) -> dict[tuple[int, int], str]:
        paths = [path for path in self.folder.glob("*.said")]
        return {tuple(map(int, p.name.split(".")[:2])): p.read_text() for p in paths}  # type: ignore[misc]

    def words(self) -> str:
        return (self.folder / "log").read_text() + "".join(self.said().values())

    def comes_to_say(self, words: str) -> bool:
        """Ranks that have ended may have said so to the launcher, which has not handed it on yet."""
        return wait_until(lambda: words in self.words(), END_SECONDS)

    def end(self) -> None:
        (self.folder / "end").touch()
        for pid in self.pids().values():
            with contextlib.suppress(ProcessLookupError):
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.launcher.pid, signal.SIGKILL)
        self.launcher.wait(END_SECONDS)


@contextlib.contextmanager
def job(folder: Path, names: list[str], each: int = 2, live: bool = False) -> Iterator[Job]:
    before = {path.name for path in SHARED_MEMORY.iterdir()}
    running = Job(folder, names, each, live)
    try:
        yield running
    finally:
        running.end()
    left = {path.name for path in SHARED_MEMORY.iterdir()} - before
    assert not [name for name in left if "spanfft" in name]


def test_the_launcher_ends_all_ranks_of_every_strategy_when_one_is_killed(tmp_path):
    names = strategies()
    with job(tmp_path, names) as running:
        pids = running.start()
        os.kill(pids[len(names) // 2, 1], signal.SIGKILL)
        gone = wait_until(lambda: not any(map(is_alive, pids.values())), END_SECONDS)
        assert gone, [names[group] for (group, _), pid in pids.items() if is_alive(pid)]
        assert running.launcher.wait(END_SECONDS) != 0


@pytest.mark.parametrize("culprit", [0, 1], ids=["the one that made the output", "another one"])
def test_ranks_of_a_file_that_lose_one_leave_the_input_and_no_output_and_the_next_run_clears_up(tmp_path, culprit):
    x = np.random.default_rng(3).standard_normal((32, 40, 24)) + 0j
    np.save(tmp_path / "in.npy", x)
    original = (tmp_path / "in.npy").read_bytes()
    (tmp_path / "out.npy").write_bytes(b"what was there before")
    with job(tmp_path, ["file"]) as running:
        pids = running.start()
        os.kill(pids[0, culprit], signal.SIGKILL)
        assert wait_until(lambda: not any(map(is_alive, pids.values())), END_SECONDS)
        assert running.launcher.wait(END_SECONDS) != 0
        assert not running.said()
    assert (tmp_path / "in.npy").read_bytes() == original
    assert (tmp_path / "out.npy").read_bytes() == b"what was there before"
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy")
    assert_transform(np.load(tmp_path / "out.npy"), x)
    assert not [path.name for path in tmp_path.iterdir() if "spanfft" in path.name]


def test_where_the_launcher_lets_them_live_ranks_of_every_strategy_end_with_the_sentence(tmp_path):
    names = strategies()
    with job(tmp_path, names, live=True) as running:
        pids = running.start()
        culprits = {group: pids[group, group % 2] for group in range(len(names))}
        for pid in culprits.values():
            os.kill(pid, signal.SIGKILL)
        gone = wait_until(lambda: not any(map(is_alive, pids.values())), END_SECONDS)
        assert gone, [names[group] for (group, _), pid in pids.items() if is_alive(pid)]
        for group, pid in culprits.items():
            said = running.comes_to_say(f"rank {group % 2} (process {pid}) of this node is gone")
            assert said, (names[group], running.words())


def test_where_the_launcher_lets_them_live_ranks_of_a_file_end_with_the_sentence_and_the_next_run_clears_up(tmp_path):
    x = np.random.default_rng(3).standard_normal((32, 40, 24)) + 0j
    np.save(tmp_path / "in.npy", x)
    (tmp_path / "out.npy").write_bytes(b"what was there before")
    with job(tmp_path, ["file"], live=True) as running:
        pids = running.start()
        os.kill(pids[0, 1], signal.SIGKILL)
        assert wait_until(lambda: not any(map(is_alive, pids.values())), END_SECONDS)
        assert running.comes_to_say(f"rank 1 (process {pids[0, 1]}) of this node is gone"), running.words()
    assert (tmp_path / "out.npy").read_bytes() == b"what was there before"
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy")
    assert_transform(np.load(tmp_path / "out.npy"), x)
    assert not [path.name for path in tmp_path.iterdir() if "spanfft" in path.name]


def test_a_rank_that_has_gone_is_not_looked_for_where_the_user_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SPANFFT_WATCH", "0")
    with job(tmp_path, ["alltoallw"], live=True) as running:
        pids = running.start()
        os.kill(pids[0, 1], signal.SIGKILL)
        gone = wait_until(lambda: not is_alive(pids[0, 0]), 6)
        # MPI may end it by an error of its own, where it copies from the memory of the one that has gone, and says so.
        assert not gone or wait_until(lambda: bool(running.words()), END_SECONDS)
        assert "of this node is gone" not in running.words()
