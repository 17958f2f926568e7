"""apps/poisson, turbulence and spectra on ranks: the results of one process, and mistakes told on all ranks."""

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
from apps.spectra.convolve import Convolution
from apps.spectra.welch import Welch
from apps.turbulence.flow import Flow
from apps.turbulence.history import vorticity_plane

# --- poisson ---


@pytest.mark.parametrize(
    ("shape", "sides"),
    [
        ((44, 40), ("neumann", "periodic")),
        ((48,), ("dirichlet-neumann",)),
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


# --- turbulence ---


def test_turbulence_is_that_of_one_process(comm: MPI.Comm) -> None:
    flow, alone = (Flow(16, 1 / 1600, each) for each in (comm, None))
    for each in (flow, alone):
        each.taylor_green()
        for _ in range(3):
            each.step(0.05)
    np.testing.assert_allclose(
        flow.velocity(), alone.velocity()[(slice(None), *flow.transforms.real_slices)], rtol=0, atol=1e-14
    )
    assert flow.budget() == pytest.approx(alone.budget(), rel=1e-13)
    np.testing.assert_allclose(flow.spectrum(), alone.spectrum(), rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(vorticity_plane(flow), vorticity_plane(alone), rtol=0, atol=1e-13)


def test_turbulence_goes_on_on_a_finer_grid(comm: MPI.Comm) -> None:
    """The modes are the same, so a step of the smooth flow is too."""
    coarse, fine = Flow(16, 1 / 400, comm), Flow(25, 1 / 400, comm, cutoff=5)
    coarse.taylor_green()
    for _ in range(3):
        coarse.step(0.1)
    fine.continue_from(coarse)
    assert fine.time == coarse.time
    for each in (coarse, fine):
        each.step(0.1)
    assert fine.budget() == pytest.approx(coarse.budget(), rel=1e-13)
    np.testing.assert_allclose(fine.spectrum(), coarse.spectrum(), rtol=1e-11, atol=1e-18)


def test_turbulence_refuses_on_all_ranks(comm: MPI.Comm) -> None:
    agrees(comm, lambda: Flow(16, -1, comm), spanfft.InvalidArgument, "viscosity is -1")
    agrees(comm, lambda: Flow(2, 1, comm), spanfft.InvalidArgument, "grid has 2 points")
    agrees(comm, lambda: Flow(16, 1, comm, cutoff=6), spanfft.InvalidArgument, "can be 1 to 5")
    flow = Flow(12, 0.01, comm)
    flow.taylor_green()
    u = flow.velocity().copy()
    if comm.rank == comm.size - 1 and u.size:
        u.flat[0] = np.inf
    if comm.allreduce(not np.isfinite(u).all()):
        agrees(comm, lambda: flow.set_velocity(u), spanfft.InvalidArgument, "velocity is not finite at 1 grid")
    agrees(comm, lambda: flow.set_velocity(u[:2]), spanfft.InvalidArgument, "this rank's box is float64")
    agrees(comm, lambda: list(flow.run(1, -0.1)), spanfft.InvalidArgument, "makes no sense")
    flow.taylor_green()
    agrees(comm, lambda: list(flow.run(200, 20)), spanfft.Error, "the flow has blown up at time")


# --- spectra ---


def saved(comm: MPI.Comm, path: Path, array: np.ndarray) -> Path:
    if comm.rank == 0:
        np.save(path, array)
    comm.barrier()
    return path


def test_welch_is_that_of_one_process(comm: MPI.Comm, folder: Path, rng: np.random.Generator) -> None:
    path = saved(comm, folder / "x.npy", rng.standard_normal((5, 700, 3)) + 4)
    for name, ranks in (("ranks.npy", comm), ("alone.npy", MPI.COMM_SELF if comm.rank == 0 else None)):
        if ranks is not None:
            work = Welch(path, folder / name, 64, axis=1, rate=10, memory=64 * 64 * 12, comm=ranks)
            assert len(work.tiles) > 1
            assert work.segments // work.block >= 4
            work.run()
    comm.barrier()
    np.testing.assert_allclose(np.load(folder / "ranks.npy"), np.load(folder / "alone.npy"), rtol=1e-12)
    if comm.rank == 0:
        assert sorted(p.name for p in folder.iterdir()) == ["alone.npy", "ranks.npy", "x.npy"]


def test_welch_goes_on_to_the_same_bits(comm: MPI.Comm, folder: Path, rng: np.random.Generator) -> None:
    path = saved(comm, folder / "x.npy", rng.standard_normal(20_000).astype(np.float32))

    def work(name: str) -> Welch:
        return Welch(path, folder / name, 100, memory=64 * 100 * 8, comm=comm)

    work("whole.npy").run()
    calls: list[int] = []

    def stop(done: int, of: int) -> bool:
        calls.append(done)
        return len(calls) < 5

    agrees(comm, lambda: work("parts.npy").run(stop), spanfft.Interrupted, "the same call goes on")
    assert not (folder / "parts.npy").exists()
    again: list[int] = []
    work("parts.npy").run(lambda done, of: again.append(done))
    assert len(calls) == 5
    assert not set(calls) & set(again)
    np.testing.assert_array_equal(np.load(folder / "parts.npy"), np.load(folder / "whole.npy"))


def test_welch_refuses_on_all_ranks(comm: MPI.Comm, folder: Path) -> None:
    x = np.zeros(1000)
    x[700] = np.nan
    path = saved(comm, folder / "x.npy", x)
    out = folder / "psd.npy"
    agrees(comm, lambda: Welch(path, out, 2000, comm=comm), spanfft.InvalidArgument, "axis -1 of .* has 1000")
    agrees(comm, lambda: Welch(path, out, 100, 100, comm=comm), spanfft.InvalidArgument, "overlap is 100")
    agrees(comm, lambda: Welch(folder / "no.npy", out, 100, comm=comm), spanfft.InvalidArgument, "can't be read")
    agrees(comm, lambda: Welch(path, out, 100, memory=100, comm=comm), spanfft.InvalidArgument, "give more memory")
    small = Welch(path, out, 100, memory=6400, comm=comm)
    agrees(comm, small.run, spanfft.InvalidArgument, r"not finite.* between elements [67]\d\d and 7\d\d")


@pytest.mark.parametrize("boundary", ["zero", "periodic"])
def test_convolution_is_numpys(comm: MPI.Comm, folder: Path, rng: np.random.Generator, boundary: str) -> None:
    x, h = rng.standard_normal((80, 150)), rng.standard_normal((20, 100))
    paths = [saved(comm, folder / f"{name}.npy", array) for name, array in (("x", x), ("h", h))]
    work = Convolution(*paths, folder / "y.npy", boundary, "1MiB", comm)
    if boundary == "zero":
        assert all("sweep" in line or "copy" in line for line in work.describe())
    work.run()
    shape = x.shape if boundary == "periodic" else (99, 249)
    expected = np.fft.irfft2(np.fft.rfft2(x, shape) * np.fft.rfft2(h, shape), shape)
    y = np.load(folder / "y.npy")
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    if comm.rank == 0:
        assert sorted(p.name for p in folder.iterdir()) == ["h.npy", "x.npy", "y.npy"]


def test_convolution_refuses_on_all_ranks(comm: MPI.Comm, folder: Path) -> None:
    x = np.ones((20, 30))
    x[3, 4] = np.inf
    a, b, c = (saved(comm, folder / f"{i}.npy", array) for i, array in enumerate((x, np.ones((4, 5)), np.ones(7))))
    out = folder / "y.npy"
    agrees(comm, lambda: Convolution(a, c, out, comm=comm), spanfft.InvalidArgument, "must have as many axes")
    agrees(comm, lambda: Convolution(b, a, out, "periodic", comm=comm), spanfft.InvalidArgument, "must fit in it")
    agrees(comm, lambda: Convolution(a, b, out, "mirror", comm=comm), spanfft.InvalidArgument, "boundary is 'mirror'")
    for boundary in ("zero", "periodic"):
        work = Convolution(a, b, out, boundary, comm=comm)
        agrees(comm, work.run, spanfft.InvalidArgument, "0.npy holds numbers that are not finite")
