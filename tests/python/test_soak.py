"""A quarter of a minute of `./spanfft-dev soak`, and that it notices: what fails is counted, named and repeated."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def programs() -> dict[str, str]:
    """What the build of C++ tests made for soak, where there is one."""
    found = {}
    built = TESTS.parent / "build" / f"release-{os.environ.get('SPANFFT_DEV_MPI', 'venv')}" / "tests"
    for name, file in (("SPANFFT_SOAK_THREADS", "soak_threads"), ("SPANFFT_SOAK_WIRE", "libsoak_wire.so")):
        if (built / file).exists():
            found[name] = str(built / file)
    return found


def soak(*arguments: object, timeout: float = 300, **changes: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, **programs(), "PYTHONPATH": str(TESTS), **changes}
    command = [sys.executable, "-m", "soak.run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


@pytest.mark.timeout(400)
def test_fifteen_seconds_find_nothing():
    """One seed for ever: a change is to be judged by what it did, not by what a new day finds. New seeds are what
    ./spanfft-dev soak is for."""
    seed = 13
    done = soak("--minutes", 0.25, "--seed", seed, timeout=360)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"seed {seed}" in done.stdout
    last = done.stdout.splitlines()[-1]
    assert "0 wrong, 0 lost, 0 hung, 0 crashed" in last
    compared = int(re.search(r"(\d+) compared", last)[1])
    assert compared > 0 or "SPANFFT_SOAK_WIRE" not in programs()


BROKEN = """
import os, time
from .case import Failed
def run(case):
    case.count("problems")
    case.text = "a broken case"
    if case.seed % 10 == 3:
        raise Failed("wrong", "1 is not 2")
    if case.seed % 10 == 5:
        os.abort()
    if case.seed % 10 == 7:
        time.sleep(100)
"""
RUN = """
import sys
import soak
soak.__path__.insert(0, {folder!r})
from soak import campaigns, run
from dataclasses import replace
command = lambda first, seconds, count: [sys.executable, "-c",
    "import sys, soak; soak.__path__.insert(0, " + repr({folder!r}) + "); from soak import worker; worker.main()",
    "broken", str(first), str(seconds), str(min(count, 10 - first % 10))]
campaigns.CAMPAIGNS.clear()
campaigns.CAMPAIGNS["broken"] = campaigns.Campaign("broken", "", 1, 2, command)
sys.exit(run.main())
"""


def test_wrong_results_hangs_and_crashes_are_counted_and_said_again(tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN)
    program = tmp_path / "start.py"
    program.write_text(RUN.format(folder=str(tmp_path)))
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, str(program)]
    done = subprocess.run([*command, "--minutes", "0.1", "--seed", "0"], capture_output=True, text=True, timeout=100,
                          env=environment)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    for how, seed in (("wrong", 3), ("crashed", 5), ("hung", 7)):
        assert f"-- {how}: broken:{seed} " in done.stdout
        assert f"--repeat broken:{seed}\n" in done.stdout
    again = subprocess.run([*command, "--repeat", "broken:3"], capture_output=True, text=True, timeout=60,
                           env=environment)  # fmt: skip
    assert again.returncode == 1
    assert "1 is not 2" in again.stdout
    assert subprocess.run([*command, "--repeat", "broken:4"], capture_output=True, timeout=60,
                          env=environment).returncode == 0  # fmt: skip


def test_a_seed_is_one_case():
    """Twice the same text and counts."""
    seen = []
    for _ in range(2):
        command = [sys.executable, "-m", "soak.worker", "memory", "5", "60", "4"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "PYTHONPATH": str(TESTS)})  # fmt: skip
        seen.append([json.loads(line) for line in done.stdout.splitlines()])
    assert len(seen[0]) == 8
    assert seen[0] == seen[1]


def said_by(program: str, *arguments: object) -> str:
    """What a program prints that imports soak, in a process of its own: soak forks, and has no threads beside it."""
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
                          timeout=100, env={**os.environ, "PYTHONPATH": str(TESTS)})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


KILLED_IN_PLACE = """
import sys
import numpy as np
from pathlib import Path
from soak import child, files, kills
folder = Path(sys.argv[1])
np.save(folder / "in.npy", np.ones((1024, 256), complex))
problem = files.FileProblem(folder, str(folder / "in.npy"), str(folder / "in.npy"),
                            {"in_place": True, "memory": 1 << 20})
print(child.call(lambda: problem.transform(progress=kills.dying(0.8))).how)
print([Path(path).name for path in kills.journals(problem)])
print(kills.flip(np.random.default_rng(0), kills.journals(problem)[0]))
print(child.call(lambda: problem.transform()).kind)
"""


def test_damage_reaches_the_journals_of_runs_in_place(tmp_path):
    said = said_by(KILLED_IN_PLACE, tmp_path).split("\n")
    assert said[:3] == ["killed", "['.in.npy.spanfft-in-place']", "True"]
    assert said[3] == "CorruptData"


DROPPED = """
import sys
import spanfft
from mpi4py import MPI
from soak import dropped
from soak.case import Case, Failed
kept, made, dropped.TURNS, dropped.ROUNDS = [], spanfft.Plan, (20,), 2
def plan(*arguments, **options):
    kept.append(made(*arguments, **options))
    return kept[-1] if sys.argv[1] == "kept" else kept.pop()
spanfft.Plan = plan
case = Case("dropped", 0)
try:
    dropped.run(case, MPI.COMM_WORLD)
    print("right", case.counts["dropped"])
except Failed as failure:
    print(failure.how, failure)
"""


@pytest.mark.parametrize("which", ["kept", "dropped"])
def test_plans_that_are_not_given_back_are_noticed(which):
    pytest.importorskip("mpi4py")
    said = said_by(DROPPED, which)
    assert said.startswith("lost heap: " if which == "kept" else "right "), said


LIMITS = """
from soak.patience import Limit

def ends(waiting, seconds=60):
    '''After how many seconds a limit says that the time is up, on a clock of its own. `waiting(t)` are the seconds that
    each of some threads has waited for a core by then.'''
    now = [0.0]
    limit = Limit(seconds, 1, clock=lambda: now[0], queued=lambda _: {i: int(1e9 * s) for i, s in waiting(now[0])})
    while (left := limit.left()) > 0 and now[0] < 5000:
        now[0] += min(left, 0.5)
    return now[0], limit.said()

print(ends(lambda t: []))  # asleep, or gone
print(ends(lambda t: [(0, 0), (1, 0)]))  # spinning, alone on their cores
print(ends(lambda t: [(0, t / 2), (1, t / 2)]))  # two that spin on one core
print(ends(lambda t: [(0, 7 * t / 9), (1, 0)]))  # nine ranks spin on two cores; one sleeps
print(ends(lambda t: [(0, min(t, 1000)), (1, 0)]))  # one has no core for 1000 s
print(ends(lambda t: [(int(t / 10), t % 10)]))  # threads that wait all their lives, of 10 s each
"""


def test_waiting_for_a_core_does_not_count_and_every_deadlock_is_found():
    asleep, alone, shared, nine, starved, children = map(ast.literal_eval, said_by(LIMITS).splitlines())
    assert asleep == alone == (60.0, "60 s")
    assert shared == (pytest.approx(120, abs=2), "60 s and 60 s of waiting for a core")
    assert nine[0] == pytest.approx(270, abs=2)  # 60 s of the two ninths that each rank has of a core
    assert starved[0] == pytest.approx(1060, abs=2)
    assert children[0] == pytest.approx(600, abs=60)  # the last second of each is not seen


QUEUED = """
import os, signal, time
from soak.patience import Limit, queued_ns
core = min(os.sched_getaffinity(0))
pids = []
for _ in range(2):  # each in a session of its own, with a child: all four spin on one core
    pid = os.fork()
    if not pid:
        os.setsid()
        os.sched_setaffinity(0, {core})
        os.fork()
        while os.getppid() != 1:
            pass
        os._exit(0)
    pids.append(pid)
try:
    limit, before, after, end = Limit(1e9, *pids), queued_ns(tuple(pids)), {}, time.monotonic() + 30
    def have_waited():  # on a busy machine the last that was forked has at first not had its turn
        return len(after) == 4 and all(after[tid] > before.get(tid, 0) for tid in after)
    while time.monotonic() < end and not (limit.waited_seconds >= 0.1 and have_waited()):
        limit._look()
        after = queued_ns(tuple(pids))
    print(len(after), have_waited())
    print(queued_ns((os.getpid(),)).keys() >= after.keys())
finally:
    for pid in pids:
        os.killpg(pid, signal.SIGKILL)
"""


def test_the_kernel_counts_the_waiting_of_descendants():
    assert said_by(QUEUED).splitlines() == ["4 True", "True"]


HUNG = """
import time
from soak import child
def spin():
    while True:
        pass
for stuck in (spin, lambda: time.sleep(100)):
    answer = child.call(stuck, seconds=0.2)
    print(answer.how, answer.text)
print(child.call(spin, seconds=100, cpu_seconds=1).text)
print(child.call(spin, seconds=100, kill_after=0.1).how)
print(child.call(lambda: 5, seconds=100, kill_after=100).value)
"""


def test_what_spins_or_sleeps_hangs():
    said = said_by(HUNG).splitlines()
    assert [line.split()[0] for line in said[:2]] == ["hung", "hung"]
    assert said[2:] == ["1 s of processor time", "killed", "5"]
