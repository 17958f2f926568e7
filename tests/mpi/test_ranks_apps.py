"""apps/poisson on ranks: the results of one process, and mistakes told on all ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import agrees

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from apps.poisson.manufactured import error, problem
from apps.poisson.solver import Poisson

# --- poisson ---


@pytest.mark.parametrize(
    ("shape", "sides"),
    [
        ((48, 44), ("dirichlet", "neumann-dirichlet")),
        ((44, 40), ("neumann", "periodic")),
        ((48,), ("dirichlet-neumann",)),
        ((96,), ("periodic",)),
        ((32, 28, 40), ("periodic", "dirichlet", "periodic")),
        ((30, 32, 31), ("neumann", "dirichlet-neumann", "neumann-dirichlet")),
    ],
)
def test_poisson_to_rounding(comm: MPI.Comm, shape: tuple[int, ...], sides: tuple[str, ...]) -> None:
    box = Poisson(shape, sides, lengths=(1.0, 0.7, 1.3)[: len(shape)], comm=comm)
    assert error(box) < 1e-13
    box.free()


def test_poisson_refuses_on_all_ranks(comm: MPI.Comm) -> None:
    agrees(comm, lambda: Poisson((8, 8), ("periodic", "open"), comm=comm), spanfft.InvalidArgument, "sides are 'open'")
    box = Poisson((12, 12), ("neumann", "periodic"), comm=comm)
    f = np.ones(box.plan.input_shape)
    agrees(comm, lambda: box.solve(f), spanfft.InvalidArgument, "mean of the right-hand side is 1 ")
    assert np.abs(box.solve(f, project=True)).max(initial=0) < 1e-14
    last = comm.size - 1
    if comm.rank == last:
        f[...] = np.nan
    agrees(comm, lambda: box.solve(f), spanfft.InvalidArgument, "not finite at grid point")
    wrong = f[:0] if comm.rank == last else f
    agrees(comm, lambda: box.solve(wrong), spanfft.InvalidArgument, "this rank's box is float64")
    box.free()


def test_poisson_with_more_ranks_than_planes(comm: MPI.Comm) -> None:
    """Ranks beyond the planes have empty boxes or the other axis is divided; the solution is the same."""
    box = Poisson((3, 40), ("neumann", "dirichlet"), comm=comm)
    alone = Poisson((3, 40), ("neumann", "dirichlet"))
    _, f = problem(alone)
    u, expected = box.solve(np.ascontiguousarray(f[box.plan.input_slices])), alone.solve(f)
    np.testing.assert_allclose(u, expected[box.plan.input_slices], rtol=0, atol=1e-14 * np.abs(expected).max())
    box.free()
