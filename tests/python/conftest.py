"""What the Python tests share: references in long double, and the command line as a child process."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.fft
from hypothesis import settings
from soak import oracle

if TYPE_CHECKING:
    import spanfft

# Tests never see, nor change, what the user has tuned or probed.
os.environ["SPANFFT_HOME"] = tempfile.mkdtemp(prefix="spanfft-home-")
atexit.register(shutil.rmtree, os.environ["SPANFFT_HOME"], ignore_errors=True)

TESTS = Path(__file__).resolve().parents[1]  # PYTHONPATH of programs that say "from soak import oracle"

# A failure prints the lines that reproduce it; the seed goes into the header.
settings.register_profile("spanfft", max_examples=60, deadline=None, print_blob=True)
settings.load_profile("spanfft")


def pytest_report_header(config: pytest.Config) -> str:
    return f"hypothesis seed: {config.getoption('--hypothesis-seed', None) or 'random, printed on failure'}"


# What these look at belongs to the whole machine: block devices, network namespaces.
WHOLE_MACHINE = ("test_cluster", "test_cluster_bench", "test_loop_disks", "test_rank_disks")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For a run in several processes: a file's tests stay in one, with what they share."""
    for item in items:
        name = item.path.stem
        item.add_marker(pytest.mark.xdist_group("whole_machine" if name in WHOLE_MACHINE else name))


def relative_error(result: np.ndarray, exact: np.ndarray) -> float:
    norm = np.linalg.norm(exact.ravel().astype(np.clongdouble))
    difference = np.linalg.norm((result.astype(np.clongdouble) - exact).ravel())
    return float(difference / norm) if norm else float(difference)


def assert_within_rule(result: np.ndarray, exact: np.ndarray, transforms: int = 1) -> None:
    """Holds `result` to the accuracy rule, `transforms` times over after as many transforms (a round trip: 2)."""
    assert result.shape == exact.shape
    assert relative_error(result, exact) <= oracle.rule(result.shape, result.dtype) * transforms


def assert_transform(
    found: np.ndarray, x: np.ndarray, kind: object = "c2c", axes: Sequence[int] | None = None, norm: str = "backward"
) -> None:
    """Holds `found` to be the forward transform of `x`, by the accuracy rule."""
    picked = range(x.ndim) if axes is None else [axis % x.ndim for axis in axes]
    exact = oracle.forward(x, kind, picked, norm)
    assert found.shape == exact.shape
    assert relative_error(found, exact) <= oracle.limit(kind, picked, x.shape, found.dtype, norm)


def assert_plan(
    plan: spanfft.Plan, u: np.ndarray, kind: object = "c2c", axes: Sequence[int] | None = None, norm: str = "backward"
) -> None:
    """Holds both directions of a plan to the accuracy rule. `u` is like what it transforms, a batch first."""
    there, back, bound = oracle.both_ways(plan, u, kind, axes, norm)
    for pairs in (there, back):
        assert all(found.shape == exact.shape for found, exact in pairs)
        assert oracle.error_of([oracle.squared_error(found, exact) for found, exact in pairs]) <= bound


def reference(name: str, x: np.ndarray, **options: object) -> np.ndarray:
    """scipy.fft in long double."""
    wide = np.clongdouble if np.iscomplexobj(x) else np.longdouble
    return getattr(scipy.fft, name)(x.astype(wide), **options)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers with a seed of the test's own name, so that each test can be run alone."""
    group = next(request.node.iter_markers("xdist_group")).args[0]  # which xdist adds to the name
    return np.random.default_rng(list(request.node.nodeid.removesuffix(f"@{group}").encode()))


def cli_environment(**changes: str) -> dict[str, str]:
    # Without what mpiexec sets, in case pytest itself was started by it.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "PMIX", "OMPI_COMM_WORLD", "HYDRA"))}
    return {**kept, **changes}


def cli(
    *arguments: object, timeout: float = 100, cwd: Path | None = None, **changes: str
) -> subprocess.CompletedProcess:
    """`spanfft ARGUMENTS`, with pipes for its output."""
    command = [sys.executable, "-m", "spanfft", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, cwd=cwd, env=cli_environment(**changes)
    )


def mpiexec() -> str | None:
    beside = Path(sys.executable).with_name("mpiexec")
    return os.environ.get("SPANFFT_MPIEXEC") or (str(beside) if beside.exists() else shutil.which("mpiexec"))


def python_on_ranks(ranks: int, *arguments: object, timeout: float = 100) -> subprocess.CompletedProcess:
    """`mpiexec -n RANKS python ARGUMENTS`; skips where there is no MPI."""
    pytest.importorskip("mpi4py")
    launcher = mpiexec()
    if launcher is None:
        pytest.skip("no mpiexec")
    more = ["--oversubscribe"] if "openmpi" in os.environ.get("SPANFFT_DEV_MPI", "") else []
    command = [launcher, *more, "-n", str(ranks), sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=cli_environment())


def cli_on_ranks(ranks: int, *arguments: object, timeout: float = 100) -> subprocess.CompletedProcess:
    """`mpiexec -n RANKS spanfft ARGUMENTS`; skips where there is no MPI."""
    return python_on_ranks(ranks, "-m", "spanfft", *arguments, timeout=timeout)
