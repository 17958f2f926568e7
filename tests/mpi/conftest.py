"""Every rank runs every test, and all agree on each outcome: a test that fails on one rank fails on all.

Started as `mpiexec -n K python -m pytest tests/mpi`, with K in SPANFFT_TEST_RANKS, so that K processes which each
believe to be alone (two MPIs mixed up) are found out. Rank 0 prints; of the others, those that fail. A test that
hangs ends its process after its time limit (by a thread, as a signal would wait for MPI), and mpiexec the others.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

# There are more ranks than cores: MPICH shall give way to others sooner than after a thousand looks at its queue.
os.environ.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
# Tests never see, nor change, what the user has tuned or probed. Only rank 0 reads and writes it.
os.environ["SPANFFT_HOME"] = WORLD.bcast(tempfile.mkdtemp(prefix="spanfft-home-") if WORLD.rank == 0 else None)
if WORLD.rank == 0:
    atexit.register(shutil.rmtree, os.environ["SPANFFT_HOME"], ignore_errors=True)
TIME_LIMIT_S = 60


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    expected = int(os.environ.get("SPANFFT_TEST_RANKS", "0") or 0)
    if expected and expected != WORLD.size:
        raise pytest.UsageError(
            f"COMM_WORLD has {WORLD.size} ranks, SPANFFT_TEST_RANKS says {expected}: mpiexec and mpi4py use two MPIs "
            f"(mpi4py: {MPI.Get_library_version().splitlines()[0]})"
        )
    if not config.getoption("timeout", None):
        config.option.timeout = TIME_LIMIT_S
    config.option.timeout_method = "thread"


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if WORLD.rank != 0:
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        reporter._tw._file = open(os.devnull, "w")  # noqa: SIM115


def pytest_report_header() -> str:
    return f"{WORLD.size} ranks, {MPI.Get_library_version().splitlines()[0]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On 3, 5, 6 and 7 ranks a quarter of the tests each, by a digest of their names, so that every test runs on one of
    the four (ADR 66). SPANFFT_EVERY_TEST=1, or naming tests with -k, runs all."""
    sharing = (3, 5, 6, 7)
    if WORLD.size not in sharing or os.environ.get("SPANFFT_EVERY_TEST") or config.option.keyword:
        return
    part = sharing.index(WORLD.size)
    mine = [item for item in items if zlib.crc32(item.nodeid.encode()) % len(sharing) == part]
    config.hook.pytest_deselected(items=[item for item in items if item not in mine])
    items[:] = mine


def pytest_collection_finish(session: pytest.Session) -> None:
    names = WORLD.allgather([item.nodeid for item in session.items])
    if any(other != names[0] for other in names):
        raise pytest.UsageError("the ranks collected different tests")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Generator[None, object, None]:
    result = yield
    report = result.get_result()
    # Each rank comes here three times a test (setup, call, teardown), unless its setup failed or was skipped; then
    # the second is left out on that rank alone. So the agreement is on setup and call together.
    if report.when == "setup" and report.passed:
        return
    if report.when == "teardown":
        return
    mine = (report.outcome, f"{report.when}: {call.excinfo.exconly() if call.excinfo else ''}")
    if report.failed:
        # Before the agreement, which hangs if the others wait inside the test for this rank.
        print(f"--- rank {WORLD.rank}: {item.nodeid}\n{report.longreprtext}", file=sys.__stderr__, flush=True)
    outcomes = WORLD.allgather(mine)
    others = [f"rank {rank} {text}" for rank, (outcome, text) in enumerate(outcomes) if outcome == "failed"]
    if others and not report.failed:
        report.outcome = "failed"
        report.longrepr = f"{report.outcome} on {len(others)} of {WORLD.size} ranks\n" + "\n".join(others)
    elif len({outcome for outcome, _ in outcomes}) > 1 and not others:
        report.outcome = "failed"
        report.longrepr = f"skipped on some ranks only: {outcomes}"


@pytest.fixture
def comm() -> MPI.Comm:
    return WORLD


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """The same random numbers on all ranks, with a seed of the test's own name."""
    return np.random.default_rng(list(request.node.nodeid.encode()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One folder for all ranks."""
    return Path(WORLD.bcast(str(tmp_path)))


@pytest.fixture
def scratch(comm: MPI.Comm, folder: Path) -> str:
    """The name of a folder for each rank, all of which exist."""
    if comm.rank == 0:
        for rank in range(comm.size):
            (folder / f"s{rank}").mkdir()
    comm.barrier()
    return str(folder / "s{rank}")
