"""What one process does wrong with a plan: a sentence that names it, in spanfft's own exceptions."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import spanfft
from conftest import assert_plan, cli_environment
from spanfft import Plan

HUGE = 2**70


@pytest.mark.parametrize("exchange", ["overlap:-1", "overlap:0", "oneplane:few", "alltoallv:2", "blockvector:2,x"])
def test_one_process_refuses_an_exchange_that_ranks_refuse(exchange):
    with pytest.raises(spanfft.InvalidArgument, match=f"'{exchange.split(':')[1]}'"):
        Plan((8, 8, 8), exchange=exchange)
    Plan((8, 8, 8), exchange="overlap:2").free()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        (dict(grid=5), TypeError, "grid is 5; it must be a sequence"),
        (dict(grid=(HUGE, 1)), ValueError, f"grid is {HUGE}"),
        (dict(shape=(HUGE, 2)), ValueError, f"shape is {HUGE}"),
        (dict(shape=None), TypeError, "shape is None"),
        (dict(axes=1.5), TypeError, "axes is 1.5"),
        (dict(kind=5), TypeError, "kind is 5"),
        (dict(batch=HUGE), ValueError, f"batch is {HUGE}"),
        (dict(threads=2**31), ValueError, "threads is 2147483648"),
        (dict(engine="fftw\0"), ValueError, "printable"),
        (dict(exchange="\ud800"), ValueError, "printable"),
        (dict(in_place=np.zeros(2)), TypeError, "in_place is"),
        (dict(real_slices=5), TypeError, "real_slices is 5"),
        (dict(real_slices=(slice(0, 2.5), slice(None))), TypeError, "2.5"),
        (dict(dtype="i4,,f"), TypeError, "dtype is"),
    ],
    ids=str,
)
def test_an_argument_of_no_use_is_named(options, kind, words):
    with pytest.raises(kind, match=words) as caught:
        Plan(**({"shape": (4, 4)} | options))
    assert isinstance(caught.value, spanfft.Error)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda way: way.__name__)
def test_a_plan_is_not_copied(way, rng):
    plan = Plan((8, 6))
    with pytest.raises(spanfft.InvalidType, match="can't be copied or pickled"):
        way(plan)
    assert_plan(plan, rng.standard_normal((8, 6)) + 0j)


def test_a_rank_that_a_plan_has_not_is_named():
    plan = Plan((8, 6))
    for rank in (1, -1, HUGE):
        with pytest.raises(spanfft.InvalidArgument, match="rank is"):
            plan.predicted(rank=rank)


BEFORE = """
    import mpi4py
    mpi4py.rc.initialize = False
    from mpi4py import MPI
    import spanfft
    try:
        spanfft.Plan((4, 4), comm=MPI.COMM_WORLD)
    except spanfft.MPIError as error:
        print(error)
"""
AFTER = """
    from mpi4py import MPI
    import numpy as np, spanfft
    plan = spanfft.Plan((4, 4), comm=MPI.COMM_WORLD)
    u = plan.input_array()
    if {used}:
        plan.forward(u)
    else:
        del plan
    MPI.Finalize()
    try:
        plan.forward(u) if {used} else spanfft.fftn(u, comm=MPI.COMM_WORLD)
    except spanfft.MPIError as error:
        print(error)
    if {used}:
        plan.free()
"""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (BEFORE, "MPI is not initialised"),
        (AFTER.format(used=True), "MPI is finalised"),
        (AFTER.format(used=False), "MPI is finalised"),
    ],
    ids=["before", "a plan after the end", "a function after the end"],
)
def test_mpi_that_does_not_run_is_what_the_error_says(program, words):
    pytest.importorskip("mpi4py")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=60, env=cli_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(words), done.stdout + done.stderr
    assert "two MPI" not in done.stdout


LEFT = """
    from mpi4py import MPI
    import spanfft
    plan = spanfft.Plan((4, 4), comm=MPI.COMM_WORLD, own_output=True)
    plan.forward(plan.input_array())
    spanfft.kept_until_the_end = plan
"""


def test_a_plan_that_lives_until_the_program_ends_says_nothing():
    pytest.importorskip("mpi4py")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LEFT)],
        capture_output=True, text=True, timeout=60, env=cli_environment(),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
