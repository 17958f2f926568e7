"""Plans in a child of fork, which has none of its parent's threads: a plan that needs them says so; nothing hangs."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from conftest import TESTS, cli_environment
from spanfft._native import core

ENGINES = [engine["name"] for engine in core.engines()]
LIMIT_SECONDS = 30

# The child ends with what it found; a parent that waited in vain would be killed with it.
PROGRAM = """
import gc, os, signal, sys
import numpy as np, spanfft
from soak import oracle
engine = sys.argv[1]
x = np.random.default_rng(1).standard_normal((96, 64, 32)) + 0j
exact = oracle.forward(x, "c2c", range(3))
many = spanfft.Plan(x.shape, engine=engine, threads=2)
alone = spanfft.Plan(x.shape, engine=engine, threads=1)
assert "threads=2" in many.problem
first = many.forward(x)
assert oracle.keeps_rule(first, exact)
spanfft.fftn(x)

def in_child():
    try:
        if not oracle.keeps_rule(many.forward(x), exact):
            return "threads are wrong"
        if many.engines != "ducc0":  # which starts threads again in a child
            return "the plan with threads ran"
    except spanfft.Unsupported as error:
        if "fork" not in str(error) or str(os.getppid()) not in str(error):
            return f"said {error}"
    if not np.array_equal(alone.forward(x), first) and not oracle.keeps_rule(alone.forward(x), exact):
        return "one thread is wrong"
    if not oracle.keeps_rule(spanfft.fftn(x), exact):
        return "the function is wrong"
    if not oracle.keeps_rule(spanfft.Plan(x.shape, engine=engine, threads=2).forward(x), exact):
        return "a plan made in the child is wrong"
    many.free()
    alone.free()
    return "good"

pid = os.fork()
if pid == 0:
    signal.alarm(20)
    try:
        said = in_child()
    except BaseException as error:
        said = repr(error)
    print(said, flush=True)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
if status:
    print("the child ended with", status)
assert np.array_equal(many.forward(x), first)
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True, text=True, timeout=LIMIT_SECONDS, env=cli_environment(PYTHONPATH=str(TESTS)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_child_of_fork_is_told_that_threads_stayed_behind_and_makes_its_own(engine):
    assert run(PROGRAM, engine) == "good"


# Where a long line takes two sweeps, spanfft's own threads share it, whatever the engine; where it does not, ducc0's
# do. Both run in a child (the unit test SharedTeam.AChildOfForkHasThreadsOfItsOwn holds the first on any machine).
LONG = """
import os, signal, sys
import numpy as np, spanfft
from soak import oracle
x = np.random.default_rng(1).standard_normal(1 << 21) + 0j
exact = oracle.forward(x, "c2c", (0,))
plan = spanfft.Plan(x.shape, engine="ducc0", threads=2)
assert oracle.keeps_rule(plan.forward(x), exact)
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    again = spanfft.Plan(x.shape, engine="ducc0", threads=2)
    os._exit(not all(oracle.keeps_rule(p.forward(x), exact) for p in (plan, again, plan)))
status = os.waitpid(pid, 0)[1]
assert oracle.keeps_rule(plan.forward(x), exact)
print("the child ended with", status)
"""


def test_a_long_line_of_ducc0_runs_in_a_child():
    assert run(LONG) == "the child ended with 0"


POOL = """
import multiprocessing, sys
import numpy as np, spanfft
from soak import oracle
x = np.random.default_rng(1).standard_normal((96, 64, 32)) + 0j
plan = spanfft.Plan(x.shape, threads=2)
plan.forward(x)

def work(i):
    mine = spanfft.Plan(x.shape, threads=2)
    pairs = (mine.forward(x * i), x * i), (spanfft.fftn(x), x)
    return tuple(oracle.keeps_rule(found, oracle.forward(given, "c2c", range(3))) for found, given in pairs)

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, range(4)) == [(True, True)] * 4)
"""


def test_workers_of_multiprocessing_transform():
    assert run(POOL) == "True"
