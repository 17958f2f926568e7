"""The light parts of the demo (apps/demo): the series, the checks, the search, the low-pass. No spanfft, no MPI."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

APPS = Path(__file__).resolve().parents[2] / "apps" / "demo"
sys.path.insert(0, str(APPS))
stats = pytest.importorskip("scipy.stats")

import brain  # noqa: E402
import common  # noqa: E402
import pulsar_check as check  # noqa: E402
import pulsar_search as search  # noqa: E402
import pulsar_series as series  # noqa: E402

N = 1 << 19


def write_spectrum(folder: Path, n: int) -> search.BlockReader:
    spectrum = np.fft.rfft(np.load(folder / "series.npy").astype(np.float64)).astype(np.complex64)
    np.save(folder / "spectrum.npy", spectrum)
    return search.BlockReader(folder / "spectrum.npy")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a series that hides a pulsar, its spectrum and the whitened power."""
    folder = tmp_path_factory.mktemp("demo")
    series.write_series(folder / "series.npy", N, series.Pulsar.of_power(15, N))
    search.write_power(write_spectrum(folder, N), N, folder / "power.npy")
    return folder


# --- the series ---


def test_series_does_not_depend_on_the_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pulsar = series.Pulsar(amplitude=0.5)
    series.write_series(tmp_path / "a.npy", 10000, pulsar)
    monkeypatch.setattr(series, "BLOCK_ELEMS", 777)
    series.write_series(tmp_path / "b.npy", 10000, pulsar)
    a, b = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
    assert a.dtype == np.float32
    assert a.shape == (10000,)
    np.testing.assert_array_equal(a, b)


def test_series_has_the_stated_noise(recorded: Path) -> None:
    x = np.load(recorded / "series.npy").astype(np.float64)
    assert abs(x.std() / series.NOISE - 1) < 5 / math.sqrt(2 * N)


def test_pulse_has_the_stated_period_and_duty_cycle() -> None:
    pulsar = series.Pulsar(amplitude=1)
    turns = np.linspace(-0.5, 0.5, 100001)
    half = np.abs(turns[pulsar.profile(turns) >= 0.5])
    assert 2 * half.max() == pytest.approx(pulsar.duty_cycle, rel=1e-3)
    count = round(10 * pulsar.period_s / series.SAMPLING_S)
    pulses = pulsar.pulses(0, count)
    tops = np.flatnonzero((pulses[1:-1] > pulses[:-2]) & (pulses[1:-1] >= pulses[2:]) & (pulses[1:-1] > 0.9)) + 1
    expected = (np.arange(10) + pulsar.phase) * pulsar.period_s / series.SAMPLING_S
    np.testing.assert_allclose(tops, expected, atol=0.51)


@pytest.mark.parametrize("harmonic", [1, 2, 8])
def test_pulse_has_the_computed_power(harmonic: int) -> None:
    pulsar = series.Pulsar.of_power(15, 1 << 28)
    assert pulsar.power(1 << 28) == pytest.approx(15)
    turns = np.arange(4096) / 4096
    found = abs(np.mean(pulsar.profile(turns) * np.exp(-2j * np.pi * harmonic * turns)))
    assert found == pytest.approx(pulsar.coefficient(harmonic), rel=1e-5)


def test_reader_reads_parts_and_zeros_beyond_the_end(tmp_path: Path) -> None:
    values = np.arange(10, dtype=np.float32)
    np.save(tmp_path / "a.npy", values)
    reader = series.BlockReader(tmp_path / "a.npy")
    np.testing.assert_array_equal(reader.read(3, 4), values[3:7])
    np.testing.assert_array_equal(reader.read(8, 4), [8, 9, 0, 0])
    np.testing.assert_array_equal(reader.read(12, 2), [0, 0])
    reader.close()
    path = tmp_path / "a.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="has 167 bytes"):
        series.BlockReader(path)


# --- the checks ---


def test_direct_bins_agree_with_an_fft_and_see_a_wrong_bin(recorded: Path) -> None:
    reader = series.BlockReader(recorded / "series.npy")
    spectrum = np.fft.rfft(np.load(recorded / "series.npy").astype(np.float64))
    bins = check.bins_to_check(N, [8039, 16078])
    assert len(bins) == 32
    assert {0, 1, N // 2, 8039, 16078} <= set(bins)
    reference, energy = check.direct_bins(reader, bins)
    rms = math.sqrt(energy)
    assert check.relative_error(spectrum[bins], reference, rms) < 1e-14
    wrong = spectrum[bins]
    wrong[7] += 1e-4 * rms
    assert check.relative_error(wrong, reference, rms) > 1e-5


@pytest.mark.parametrize("n", [524287, 600000, 1 << 20])
def test_direct_bins_of_any_length(tmp_path: Path, n: int) -> None:
    x = np.random.default_rng(3).standard_normal(n).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    bins = [0, 5, 12345, n // 2]
    found, _ = check.direct_bins(series.BlockReader(tmp_path / "x.npy"), bins)
    np.testing.assert_allclose(found.astype(complex), np.fft.rfft(x.astype(np.float64))[bins], atol=1e-8)


@pytest.mark.parametrize("n", [1000, 1001])
def test_parseval_with_half_of_the_bins(n: int) -> None:
    x = np.random.default_rng(4).standard_normal(n) + 0.3
    power = np.abs(np.fft.rfft(x)) ** 2
    energy = check.spectrum_energy(power[:100], 0, n) + check.spectrum_energy(power[100:], 100, n)
    assert check.parseval(float(x @ x), energy, n) < 1e-14


@pytest.mark.parametrize(
    ("n", "largest"), [(1, 1), (2, 2), (189, 7), (197, 197), (233, 233), (1 << 28, 2), (2 * 13 * 13, 13), (221, 17)]
)
def test_largest_prime_factor(n: int, largest: int) -> None:
    assert common.largest_prime_factor(n) == largest


def test_accuracy_rule() -> None:
    assert common.allowed_units((1 << 28,)) == 0.6
    assert common.allowed_units((197, 233, 189)) == 1.5
    assert common.unit_error((1 << 16,), "float64") == 4 * np.finfo(np.float64).eps
    assert common.unit_error((1 << 16,), "float32") == 4 * np.finfo(np.float32).eps


# --- the search ---


@pytest.mark.parametrize("h", search.HARMONICS)
def test_harmonic_sums_are_those_of_the_definition(tmp_path: Path, h: int) -> None:
    power = np.random.default_rng(5).exponential(size=4001).astype(np.float32)
    np.save(tmp_path / "p.npy", power)
    first, count = 17, 200
    found = search.harmonic_sums(series.BlockReader(tmp_path / "p.npy"), h, first, count)
    for q in range(0, count, 13):
        for s in range(h):
            top = h * (first + q) + s  # r = top / h
            expected = sum(float(power[(2 * top * k + h) // (2 * h)]) for k in range(1, h + 1))
            assert found[s, q] == pytest.approx(expected, rel=1e-5), (q, s)


def test_whitening_makes_the_noise_one(tmp_path: Path) -> None:
    n = 1 << 20
    generator = np.random.default_rng(6)
    spectrum = generator.standard_normal(n // 2 + 1) + 1j * generator.standard_normal(n // 2 + 1)
    spectrum *= 1 + 50 / np.sqrt(1 + np.arange(n // 2 + 1))  # reddish
    spectrum[300000] += 1e3  # a line must not raise the level
    np.save(tmp_path / "s.npy", spectrum.astype(np.complex64))
    search.write_power(series.BlockReader(tmp_path / "s.npy"), n, tmp_path / "p.npy")
    power = np.load(tmp_path / "p.npy")
    assert power.shape == (n // 2 + 1,)
    assert power[100000:290000].mean() == pytest.approx(1, abs=0.02)
    assert power[301000:].mean() == pytest.approx(1, abs=0.02)
    assert power[300000] > 1e5


def test_chance_is_that_of_noise() -> None:
    generator = np.random.default_rng(7)
    highest = generator.gamma(8, size=(2000, 500)).max(axis=1)
    middle = float(np.median(highest))
    assert 10 ** search.log10_chance(middle, 8, 500) == pytest.approx(0.5, abs=0.06)
    assert search.log10_chance(300, 16, 1e8) < -80
    assert search.log10_chance(1, 16, 1e8) == pytest.approx(0)


@pytest.mark.parametrize("sigma", [-2.0, 0.0, 3.0, 8.0, 30.0])
def test_gaussian_sigma(sigma: float) -> None:
    assert search.gaussian_sigma(stats.norm.logsf(sigma) / math.log(10)) == pytest.approx(sigma, abs=1e-4)


def test_search_finds_the_planted_period(recorded: Path) -> None:
    truth = series.Pulsar()
    stages = search.search(series.BlockReader(recorded / "power.npy"), N)
    assert [stage.harmonics for stage in stages] == list(search.HARMONICS)
    best = min((stage.best for stage in stages), key=lambda candidate: candidate.log10_chance)
    assert best.harmonics >= 8
    assert search.gaussian_sigma(best.log10_chance) > 5
    period = search.refine(series.BlockReader(recorded / "spectrum.npy"), N, best)
    assert abs(period.seconds - truth.period_s) < 4 * period.error_s
    assert period.error_s / period.seconds < 1e-5
    profile, error = search.fold(series.BlockReader(recorded / "series.npy"), period.seconds, 64)
    assert abs(profile.argmax() / 64 - truth.phase) < 0.04
    assert profile.max() > 4 * error[0]


def test_search_finds_nothing_in_noise(tmp_path: Path) -> None:
    series.write_series(tmp_path / "series.npy", N, series.Pulsar(amplitude=0), seed=11)
    search.write_power(write_spectrum(tmp_path, N), N, tmp_path / "power.npy")
    for stage in search.search(series.BlockReader(tmp_path / "power.npy"), N):
        assert stage.best.log10_chance > -3


def test_search_counts_its_progress(recorded: Path) -> None:
    done: list[int] = []
    search.search(series.BlockReader(recorded / "power.npy"), N, done.append)
    assert sum(done) == search.search_size(N)


# --- the low-pass ---


def test_low_pass_is_a_gaussian_blur() -> None:
    """An impulse becomes a Gaussian of the stated width and of sum 1."""
    shape, sigma = (64, 60, 61), 2.5
    whole = brain.low_pass(shape, [slice(0, 64), slice(0, 60), slice(0, 31)], sigma)
    impulse = np.zeros(shape)
    impulse[32, 30, 30] = 1
    found = np.fft.irfftn(np.fft.rfftn(impulse) * whole, shape, axes=(0, 1, 2))
    i, j, k = np.meshgrid(*(np.arange(n) - c for n, c in zip(shape, (32, 30, 30), strict=True)), indexing="ij")
    expected = np.exp(-(i**2 + j**2 + k**2) / (2 * sigma**2)) / (2 * math.pi * sigma**2) ** 1.5
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.sum() == pytest.approx(1)


def test_low_pass_of_boxes_is_a_part_of_the_whole() -> None:
    shape = (12, 9, 10)
    whole = brain.low_pass(shape, [slice(0, 12), slice(0, 9), slice(0, 6)])
    box = (slice(3, 7), slice(0, 5), slice(2, 6))
    np.testing.assert_array_equal(brain.low_pass(shape, box), whole[box])
    assert brain.low_pass(shape, (slice(5, 5), slice(0, 9), slice(0, 6))).shape == (0, 9, 6)
