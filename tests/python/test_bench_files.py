"""The benchmark's cases on disk: inputs with known spectra, every peer against them, turns in several sittings."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import file_peers
import file_runs
import limits
from cases import Case, all_cases

SMALL = ("disk-c2c-27-float-4", "disk-r2c-27-float", "disk-c2c-16384x16384", "disk-r2c-1024-float")


@pytest.mark.parametrize(
    ("kind", "shape", "precision"),
    [("c2c", (1 << 12,), "double"), ("c2c", (3 * 5 * 7 * 11,), "float"), ("r2c", (1000,), "double"),
     ("c2c", (24, 10), "double"), ("r2c", (6, 15, 14), "float"), ("r2c", (5, 9), "double")],
)  # fmt: skip
def test_the_spectrum_summed_while_an_input_is_written_is_numpys(kind, shape, precision, tmp_path):
    case = Case("c", kind, shape, 1, (), shape, precision=precision, memory_bytes=1)
    made = file_runs.make_input(tmp_path / "in.npy", shape, case.real_dtype, case.spectrum_shape)
    x = np.load(made.path)
    assert (x.shape, x.dtype) == (shape, np.dtype(case.real_dtype))
    wide = x.astype(np.float64 if kind == "r2c" else np.complex128)
    spectrum = (np.fft.rfftn if kind == "r2c" else np.fft.fftn)(wide)
    assert spectrum.shape == case.spectrum_shape
    assert len(made.places) >= 3
    assert (0,) * len(shape) in made.places
    assert made.error(np.array([spectrum[place] for place in made.places])) < 1e-13 * math.prod(shape)
    assert made.error(np.array([spectrum[place] for place in made.places]) + 1e-3 * made.size) > 1e-4


def test_an_input_of_several_chunks_has_numpys_spectrum(tmp_path, monkeypatch):
    monkeypatch.setattr(file_runs, "_CHUNK", 1 << 6)
    for shape in ((1 << 10,), (37, 9)):
        made = file_runs.make_input(tmp_path / "in.npy", shape, "complex128", shape)
        spectrum = np.fft.fftn(np.load(made.path))
        assert made.error(np.array([spectrum[place] for place in made.places])) < 1e-12


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", SMALL)
def test_every_installed_peer_of_a_small_case_gives_the_right_spectrum(name, tmp_path):
    shape = {1: (1 << 16,), 2: (512, 512), 3: (32, 64, 128)}[len(all_cases()[name].shape)]
    case = replace(all_cases()[name].small(), shape=shape, memory_bytes=1 << 20)
    session = file_runs.Session(case, case.peers, tmp_path, cap_seconds=100)
    missing = [peer for peer, reason in session.absent.items() if "not installed" in reason or "not built" in reason]
    session.turn()
    assert sorted(session.absent) == sorted(missing), session.absent
    assert "spanfft" not in missing
    assert set(session.errors) == set(case.peers) - set(missing)
    assert max(session.errors.values()) < file_runs.TOLERANCES[case.precision]
    left = {path.name for path in session.folder.iterdir()}
    assert left <= {"in.npy", "in.h5", "session.pickle"}, left
    session.close()
    assert not session.folder.exists()


def test_turns_of_several_sittings_are_one_session(tmp_path):
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 16,), memory_bytes=1 << 20)
    sitting = file_runs.Sittings(turns=1)
    assert file_runs.measure(case, 2, ("spanfft",), tmp_path, sitting) is None
    found = file_runs.measure(case, 2, ("spanfft",), tmp_path, sitting)
    assert found is not None
    assert len(found["peers"]["spanfft"]["seconds"]) == len(found["limit_seconds"]) == 2
    assert list(tmp_path.iterdir()) == []
    # Another list of peers does not go on with a session.
    assert file_runs.measure(case, 2, ("spanfft",), tmp_path, sitting) is None
    assert file_runs.Session(case, ("spanfft", "memmap-whole"), tmp_path).turns == 0


def test_a_wrong_spectrum_makes_a_peer_absent(tmp_path, monkeypatch):
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,), memory_bytes=1 << 20)
    right = file_peers.FILE_PEERS["spanfft"]
    wrong = replace(right, values=lambda target, places: right.values(target, places) * (1 + 1e-6))
    monkeypatch.setitem(file_peers.FILE_PEERS, "spanfft", wrong)
    session = file_runs.Session(case, ("spanfft",), tmp_path)
    session.turn()
    assert session.absent["spanfft"].startswith("wrong result")


def test_a_peer_past_its_cap_is_stopped_and_bounded(tmp_path):
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,), memory_bytes=1 << 20)
    session = file_runs.Session(case, ("memmap-whole",), tmp_path, cap_seconds=0.02)
    session.turn()
    assert session.absent["memmap-whole"].startswith("stopped after")
    assert 0.02 <= session.at_least["memmap-whole"] < 60


def test_a_peer_that_is_not_installed_is_absent(tmp_path, monkeypatch):
    missing = replace(file_peers.FILE_PEERS["memmap-whole"], packages=("no-such-package-here",))
    monkeypatch.setitem(file_peers.FILE_PEERS, "memmap-whole", missing)
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,))
    session = file_runs.Session(case, ("memmap-whole",), tmp_path)
    assert session.absent == {"memmap-whole": "no-such-package-here is not installed"}


def test_the_disk_is_measured_at_any_block_size(tmp_path):
    for block_bytes, depth in ((4096, 3), (1 << 20, 2)):
        speeds = limits.disk_speeds(tmp_path, 3 << 20, block_bytes, depth)
        assert min(speeds.read, speeds.write, speeds.both) > 0
    assert list(tmp_path.iterdir()) == []
