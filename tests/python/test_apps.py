"""apps/poisson, apps/turbulence and apps/spectra in one process: known solutions, published rows, SciPy, mistakes.

tests/mpi/test_ranks_apps.py holds ranks to one process.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.signal
import spanfft

try:
    import zarr
except ImportError:  # it needs Python 3.11
    zarr = None

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from apps.poisson.manufactured import error
from apps.poisson.solver import SIDES, Poisson
from apps.spectra.convolve import Convolution
from apps.spectra.welch import WINDOWS, Welch, window_of
from apps.turbulence.flow import BlownUp, Flow
from apps.turbulence.history import dissipation, imbalance, peak, record, reference

ROOT = Path(__file__).resolve().parents[2]


def app(name: str, *arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """python -m apps.NAME ARGUMENTS"""
    command = [sys.executable, "-m", f"apps.{name}", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=folder or ROOT, env=environment)


# --- poisson ---


@pytest.mark.parametrize("sides", list(itertools.product(SIDES, SIDES)), ids="-".join)
def test_poisson_solves_to_rounding(sides: tuple[str, str]) -> None:
    assert error(Poisson((46, 44), sides, (1.0, 0.8))) < 1e-13


def test_poisson_converges_to_rounding_as_committed() -> None:
    """Faster than any power: each error is far below the third power of a smaller grid's."""
    rows = json.loads((ROOT / "apps/poisson/rows.json").read_text())
    assert {tuple(row["sides"]) for row in rows} == set(itertools.combinations_with_replacement(SIDES, 2))
    for sides in itertools.combinations_with_replacement(SIDES, 2):
        mine = {row["points"]: row["error"] for row in rows if tuple(row["sides"]) == sides}
        assert mine[64] < 1e-14
        assert mine[24] < mine[8] / 3**8
        box = Poisson((8, 8), sides)
        assert error(box, project=not box.fixes_mean) == pytest.approx(mine[8], rel=1e-6)


def test_poisson_in_one_and_three_axes_and_an_odd_box() -> None:
    assert error(Poisson((61,), ("dirichlet",), (2.5,))) < 1e-13
    assert error(Poisson((40, 37, 41), ("periodic", "neumann", "periodic"), (1.0, 2.0, 0.5))) < 1e-13


def test_poisson_says_what_is_wrong() -> None:
    for shape, sides, lengths, words in (
        ((8, 8, 8, 8), ("periodic",) * 4, None, "has 4 axes; a box has 1 to 3"),
        ((8, 0), ("periodic",) * 2, None, "at least one grid point"),
        ((8, 8), ("periodic",), None, "sides for 1"),
        ((8,), ("robin",), None, "sides are 'robin'; an axis can be periodic, neumann"),
        ((8,), ("periodic",), (0.0,), "must be a positive number"),
    ):
        with pytest.raises(spanfft.InvalidArgument, match=words):
            Poisson(shape, sides, lengths)
    box = Poisson((8, 8), ("periodic", "neumann"))
    with pytest.raises(spanfft.InvalidArgument, match="there is no solution unless it vanishes"):
        box.solve(np.ones((8, 8)))
    with pytest.raises(spanfft.InvalidArgument, match=r"box is float64 \(8, 8\)"):
        box.solve(np.ones((8, 9)))
    f = np.zeros((8, 8))
    f[2, 5] = np.inf
    with pytest.raises(spanfft.InvalidArgument, match=r"not finite at grid point \(2, 5\)"):
        box.solve(f)


def test_poisson_on_the_command_line() -> None:
    done = app("poisson", "--shape", "40x40", "--sides", "dirichlet,periodic")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 1e-13
    done = app("poisson", "--sides", "open,open,open")
    assert done.returncode == 2
    assert done.stderr.startswith("poisson: sides are 'open'")


# --- turbulence ---


def test_turbulence_keeps_an_exact_solution() -> None:
    """A Beltrami flow, whose vorticity is the velocity: u x w = 0, so it decays as exp(-nu t) exactly."""
    nu, until = 0.1, 1.0
    flow = Flow(12, nu)
    x, y, z = flow.points()
    u = np.zeros((3, 12, 12, 12))
    u[0], u[1], u[2] = np.sin(z) + 0.7 * np.cos(y), 0.5 * np.sin(x) + np.cos(z), 0.7 * np.sin(y) + 0.5 * np.cos(x)
    flow.set_velocity(u)
    *_, (time, budget) = flow.run(until, 0.05, every=7)
    assert time == pytest.approx(until)
    np.testing.assert_allclose(flow.velocity(), u * np.exp(-nu * until), rtol=0, atol=1e-10)
    assert budget.energy == pytest.approx(budget.enstrophy)  # |k| = 1
    assert flow.spectrum()[1] == pytest.approx(budget.energy)


def test_turbulence_by_fourth_order_steps() -> None:
    """Half the step, a sixteenth of the error."""
    found = []
    for steps in (2, 4, 8, 16):
        flow = Flow(16, 0.02)
        flow.taylor_green()
        for _ in range(steps):
            flow.step(1.6 / steps)
        found.append(flow.velocity().copy())
    errors = [float(np.abs(u - found[-1]).max()) for u in found[:-1]]
    assert 12 < errors[0] / errors[1] < 22
    assert 12 < errors[1] / errors[2] < 22


def test_turbulence_begins_as_published() -> None:
    """While 10 modes an axis resolve the vortex, to time 2, against the published run of 512^3 points."""
    flow = Flow(32, 1 / 1600)
    seen = record(flow, 1600, 2.0, 0.05, 2, lambda now, budget: None)
    published = {row[0]: row for row in reference()["rows"]}
    assert len(seen["rows"]) == 21
    for time, energy, enstrophy in seen["rows"]:
        _, their_energy, _, their_enstrophy = published[round(time, 1)]
        assert energy == pytest.approx(their_energy, rel=1e-6)
        assert enstrophy == pytest.approx(their_enstrophy, rel=2e-3 if time > 1.5 else 1e-4)
    assert imbalance(seen) < 1e-8
    assert set(seen["spectra"]) == {"0", "1", "2"}
    k = np.arange(len(seen["spectra"]["2"]))
    assert sum(seen["spectra"]["2"]) == pytest.approx(seen["rows"][-1][1], rel=1e-5)
    assert (np.array(seen["spectra"]["2"])[k > 10 * np.sqrt(3) + 1] == 0).all()


def test_turbulence_keeps_its_energy_without_viscosity_and_its_divergence_at_zero() -> None:
    flow = Flow(24, 0.0)
    flow.taylor_green()
    (_, first), *_, (_, last) = flow.run(3.0, 0.05, every=20)
    assert last.energy == pytest.approx(first.energy, rel=1e-6)
    assert last.enstrophy > 2 * first.enstrophy
    n = flow.transforms.modes
    k = np.meshgrid(np.fft.fftfreq(n, 1 / n), np.fft.fftfreq(n, 1 / n), np.arange(n // 2 + 1), indexing="ij")
    divergence = sum(a * b for a, b in zip(k, flow.velocity_hat, strict=True))
    assert np.abs(divergence).max() < 1e-15
    assert (flow.velocity_hat[:, np.maximum(np.maximum(abs(k[0]), abs(k[1])), k[2]) > 7] == 0).all()


def test_the_committed_runs_hold_what_their_page_says() -> None:
    page = (ROOT / "docs/apps/turbulence.md").read_text()
    files = sorted((ROOT / "apps/turbulence/rows").glob("run-*.json"))
    assert files
    for path in files:
        seen = json.loads(path.read_text())
        when, height = peak(*dissipation(seen))
        assert f"| {height:.6f} | {when:.3f} |" in page, path.name
        assert imbalance(seen) < 2e-4
    assert f"| {reference()['peak'][2]:.6f} | {reference()['peak'][0]:.3f} |" in page
    steps = json.loads((ROOT / "apps/turbulence/rows/steps.json").read_text())
    padding = json.loads((ROOT / "apps/turbulence/rows/padding.json").read_text())
    assert [row["energy"] for row in padding] == pytest.approx([padding[0]["energy"]] * 4, rel=1e-12)
    for row in steps + padding:
        name, wall = row["library"].split(",")[0], f"{row['median_s'] * 1e3:.0f} ({row['fastest_s'] * 1e3:.0f})"
        assert f"| {row['size']}³ | {row['ranks']} | {name} | {row['cpu_s'] * 1e3:.0f} | {wall} |" in page
    for size in (64, 128):  # all solved the same equations
        energies = [row["energy"] for row in steps if row["size"] == size]
        assert energies == pytest.approx([energies[0]] * len(energies), rel=1e-12)


def test_the_peak_of_a_parabola_is_found() -> None:
    times = [0.0, 0.5, 1.0, 1.5, 2.0]
    assert peak(times, [3 - (t - 1.13) ** 2 for t in times]) == pytest.approx((1.13, 3.0))
    assert peak([0.0, 1.0], [1.0, 2.0]) == (1.0, 2.0)


def test_turbulence_says_what_is_wrong() -> None:
    done = app("turbulence", "run", "--size", 16, "--reynolds", -1)
    assert (done.returncode, done.stderr[:39]) == (2, "turbulence: the Reynolds number is -1.0")
    with pytest.raises(spanfft.InvalidArgument, match="viscosity is nan"):
        Flow(16, float("nan"))
    flow = Flow(16, 0.0)
    with pytest.raises(spanfft.InvalidArgument, match="velocity is not finite at 2 grid points"):
        flow.set_velocity(np.where(np.arange(3 * 16**3).reshape(3, 16, 16, 16) < 2, np.nan, 0.0))
    flow.taylor_green()
    with pytest.raises(BlownUp, match="take steps shorter than"):
        list(flow.run(100, 10))


# --- spectra ---


@pytest.fixture
def x(tmp_path: Path, rng: np.random.Generator) -> np.ndarray:
    """Also as x.npy, x.h5 and x.zarr, whose chunks no tile fits."""
    array = (rng.standard_normal((6, 500, 7)) + 3).astype(np.float32)
    np.save(tmp_path / "x.npy", array)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("movie", data=array, chunks=(4, 64, 3))
    if zarr is not None:
        zarr.create_array(tmp_path / "x.zarr", data=array, chunks=(4, 64, 3))
    return array


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("n", [64, 37])
def test_windows_are_scipys(window: str, n: int) -> None:
    np.testing.assert_allclose(window_of(window, n), scipy.signal.get_window(window, n), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "axis", "options", "scipys"),
    [
        ("x.npy", 1, {"segment": 64}, {"nperseg": 64}),
        ("x.npy", -1, {"segment": 5, "overlap": 2, "window": "boxcar"}, {"nperseg": 5, "noverlap": 2}),
        ("x.npy", 0, {"segment": 6, "detrend": False}, {"nperseg": 6, "detrend": False}),
        ("x.h5:/movie", 1, {"segment": 51, "overlap": 0}, {"nperseg": 51, "noverlap": 0}),
        ("x.h5", 1, {"segment": 100, "overlap": 75}, {"nperseg": 100, "noverlap": 75}),
        ("x.zarr", 1, {"segment": 128, "rate": 250.0}, {"nperseg": 128, "fs": 250.0}),
    ],
)
def test_welch_is_scipys(
    tmp_path: Path, x: np.ndarray, name: str, axis: int, options: dict[str, Any], scipys: dict[str, Any]
) -> None:
    if name == "x.zarr" and zarr is None:
        pytest.skip("no zarr here")
    lines = x.size // x.shape[axis]
    for memory in ("4MiB", 64 * options["segment"] * (lines // 5)):
        work = Welch(tmp_path / name, tmp_path / "psd.npy", axis=axis, memory=memory, **options)
        assert memory == "4MiB" or len(work.tiles) >= 5
        assert f"{work.segments} segments" in work.describe()
        work.run()
        window = options.get("window", "hann")
        _, expected = scipy.signal.welch(x.astype(np.float64), axis=axis, window=window, **scipys)
        np.testing.assert_allclose(np.load(tmp_path / "psd.npy"), expected, rtol=1e-9, atol=1e-13)


def test_welch_keeps_to_its_memory(tmp_path: Path) -> None:
    """What numpy allocates stays within the budget, for an array eight times as large."""
    np.save(tmp_path / "x.npy", np.random.default_rng(1).standard_normal((64, 4096), np.float32))
    for axis, segment in ((1, 1024), (0, 16)):
        work = Welch(tmp_path / "x.npy", tmp_path / "psd.npy", segment, axis=axis, memory=1 << 17)
        work.run()  # what it imports at first is not the array's
        tracemalloc.start()
        work.run()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 1 << 17


@pytest.mark.parametrize(
    ("journal_bytes", "killed", "again"), [(1 << 30, False, 0), (8192, True, 2), (1 << 30, True, 13)]
)
def test_welch_goes_on_in_a_later_tile(
    tmp_path: Path, x: np.ndarray, journal_bytes: int, killed: bool, again: int
) -> None:
    """A run that is stopped keeps its sums; one that is killed goes on at what it last kept."""

    def work(name: str) -> Welch:
        return Welch(tmp_path / "x.npy", tmp_path / name, 64, axis=1, memory=64 * 64 * 6, journal_bytes=journal_bytes)

    work("whole.npy").run()
    blocks = -(-work("whole.npy").segments // work("whole.npy").block)
    total = len(work("whole.npy").tiles) * blocks
    assert total > 13 + blocks
    calls: list[int] = []

    def progress(done: int, of: int) -> bool:
        calls.append(done)
        if killed and len(calls) == 13:
            raise KeyboardInterrupt
        return len(calls) != 13

    with pytest.raises(KeyboardInterrupt if killed else spanfft.Interrupted):
        work("parts.npy").run(progress)
    work("parts.npy").run(progress)
    # A block is 1 segment of 6 lines: 32 new elements a line, 768 bytes. 11 blocks are 8192 bytes or more, so the
    # twelfth and the thirteenth were not kept.
    assert len(calls) - total == again
    np.testing.assert_array_equal(np.load(tmp_path / "parts.npy"), np.load(tmp_path / "whole.npy"))
    assert not list(tmp_path.glob(".*"))


def test_welch_says_what_is_wrong(tmp_path: Path, x: np.ndarray) -> None:
    np.save(tmp_path / "c.npy", np.ones(4, np.complex64))
    for arguments, words in (
        (("x.npy", 600, {"axis": 1}), "segments are of 600 elements, but axis 1 of .* has 500"),
        (("x.npy", 1, {}), "need at least 2"),
        (("x.npy", 5, {"axis": 3}), "there is no axis 3"),
        (("x.npy", 5, {"overlap": -1}), "overlap is -1"),
        (("x.npy", 5, {"window": "kaiser"}), "there is no window 'kaiser'"),
        (("x.npy", 5, {"rate": 0.0}), "rate is 0.0"),
        (("x.npy", 5, {"memory": "much"}), "memory is 'much'"),
        (("c.npy", 2, {}), "holds complex64"),
        (("x.dat", 2, {}), "is no .npy, no .h5 and no folder"),
    ):
        name, segment, options = arguments
        with pytest.raises(spanfft.InvalidArgument, match=words):
            Welch(tmp_path / name, tmp_path / "psd.npy", segment, **options)
    done = app("spectra", "welch", tmp_path / "x.npy", tmp_path / "psd.npy", "--segment", 8)
    assert (done.returncode, done.stderr[:30]) == (2, "spectra: segments are of 8 ele")


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_convolution_is_scipys(tmp_path: Path, rng: np.random.Generator, ndim: int) -> None:
    shape, small = ((4000,), (90, 70), (12, 31, 17))[ndim - 1], ((1500,), (31, 64), (5, 8, 16))[ndim - 1]
    array, kernel = rng.standard_normal(shape), rng.standard_normal(small).astype(np.float32)
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "h.npy", kernel)
    expected = scipy.signal.oaconvolve(array, kernel.astype(np.float64))
    Convolution(tmp_path / "x.npy", tmp_path / "h.npy", tmp_path / "y.npy").run()
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h.npy", "x.npy", "y.npy"]


def test_convolution_takes_four_sweeps_and_says_so(tmp_path: Path, rng: np.random.Generator) -> None:
    """An array of four times the budget with a kernel of its size. A second run finishes what a first could not."""
    array, kernel = rng.standard_normal((2, 512, 1024))
    np.save(tmp_path / "x.npy", array.astype(np.float32))
    np.save(tmp_path / "h.npy", kernel)
    work = Convolution(tmp_path / "x.npy", tmp_path / "h.npy", tmp_path / "y.npy", "periodic", "1MiB")
    assert work.describe()[-1] == "4 sweeps of the array between its input and its result"
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if text == "product is done" and told.count(text) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.run(tell)
    done = [path.stat().st_mtime_ns for path in work.folder.glob("product.*")]
    assert len(done) == 2
    again = Convolution(tmp_path / "x.npy", tmp_path / "h.npy", tmp_path / "y.npy", "periodic", "1MiB")
    again.run(lambda text: text != "product is done" or done.extend(
        path.stat().st_mtime_ns for path in work.folder.glob("product.*")))  # fmt: skip
    assert done[:2] == done[2:]
    wide = np.fft.rfft2(array.astype(np.float32).astype(np.float64)) * np.fft.rfft2(kernel)
    expected = np.fft.irfft2(wide, array.shape)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_convolution_on_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(50.0))
    np.save(tmp_path / "h.npy", np.array([1.0, -1.0]))
    done = app("spectra", "convolve", "x.npy", "h.npy", "y.npy", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sweeps of the array between its input and its result" in done.stdout
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), [0, *np.ones(49), -49], atol=1e-13)
    done = app("spectra", "convolve", "h.npy", "x.npy", "y.npy", "--boundary", "periodic", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("spectra: the kernel has shape (50,), larger than the array's (2,)")


def test_the_page_of_spectra_says_what_was_measured() -> None:
    page = (ROOT / "docs/apps/spectra.md").read_text()
    table = json.loads((ROOT / "apps/spectra/rows.json").read_text())
    for row in table["runs"]:
        assert f"| {row['peak_memory_bytes'] / (1 << 20):.0f} MiB |" in page
        assert f"| {row['seconds']} |" in page
    for name in ("welch", "convolve"):
        assert table[f"{name}_difference"] < 1e-13
        assert f"| {table[f'{name}_difference']:.1e} of the largest value |" in page


def test_pictures_are_drawn_from_committed_rows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from apps.poisson import __main__ as poisson
    from apps.poisson.draw import draw as draw_poisson
    from apps.spectra import __main__ as spectra
    from apps.spectra.draw import draw as draw_spectra
    from apps.turbulence import __main__ as turbulence
    from apps.turbulence.draw import draw as draw_turbulence

    draw_poisson(poisson.ROWS, tmp_path / "app-poisson.svg")
    draw_turbulence(sorted(turbulence.ROWS.glob("run-*.json")), tmp_path / "app-turbulence.svg")
    draw_spectra(spectra.ROWS, tmp_path / "app-spectra.svg")
    for made in tmp_path.iterdir():
        committed = (ROOT / "docs/images" / made.name).read_text()
        assert texts_of(made.read_text()) == texts_of(committed), f"draw {made.name} anew"
        assert made.stat().st_size < 200_000


def texts_of(drawing: str) -> list[str]:
    """What can be read in an SVG."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
