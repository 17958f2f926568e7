"""The benchmark's cases on disk: inputs with known spectra, every peer against them, turns in several sittings."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import file_peers
import file_runs
import limits
import summary
from cases import Case, all_cases
from conftest import cli_environment

# fio takes two seconds a call, however small; where its figures don't matter, tests do without.
quick_limits = pytest.mark.usefixtures("made_up_speeds")


@pytest.fixture
def made_up_speeds(monkeypatch):
    monkeypatch.setattr(limits, "disk_speeds", lambda *_: (limits.DiskSpeeds(2e9, 2e9, 1e9),) * 2)


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


@quick_limits
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


def test_peers_run_in_turn_forwards_and_backwards_with_the_disk_beside_spanfft(tmp_path, monkeypatch):
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,), memory_bytes=1 << 20)
    session = file_runs.Session(case, ("memmap-whole", "spanfft", "pread-panels"), tmp_path)
    seen: list[str] = []
    monkeypatch.setattr(session, "_run", seen.append)
    monkeypatch.setattr(session, "_ask_disk", lambda: seen.append("disk"))
    monkeypatch.setattr(session, "keep", lambda: None)
    for _ in range(3):
        session.turn()
    once = ["spanfft", "disk", "memmap-whole", "pread-panels"]
    assert seen == [*once, *reversed(once), *once]


@quick_limits
def test_a_wrong_spectrum_makes_a_peer_absent(tmp_path, monkeypatch):
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,), memory_bytes=1 << 20)
    right = file_peers.FILE_PEERS["spanfft"]
    wrong = replace(right, values=lambda target, places: right.values(target, places) * (1 + 1e-6))
    monkeypatch.setitem(file_peers.FILE_PEERS, "spanfft", wrong)
    session = file_runs.Session(case, ("spanfft",), tmp_path)
    session.turn()
    assert session.absent["spanfft"].startswith("wrong result")


@quick_limits
def test_a_peer_past_its_cap_is_stopped_and_bounded(tmp_path):
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,), memory_bytes=1 << 20)
    session = file_runs.Session(case, ("memmap-whole",), tmp_path, cap_seconds=0.02)
    session.turn()
    assert not session.absent  # once may be an accident
    session.turn()
    assert session.absent["memmap-whole"].startswith("stopped after")
    assert 0.02 <= session.at_least["memmap-whole"] < 60


def test_a_peer_that_is_not_installed_is_absent(tmp_path, monkeypatch):
    missing = replace(file_peers.FILE_PEERS["memmap-whole"], packages=("no-such-package-here",))
    monkeypatch.setitem(file_peers.FILE_PEERS, "memmap-whole", missing)
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,))
    session = file_runs.Session(case, ("memmap-whole",), tmp_path)
    assert session.absent == {"memmap-whole": "no-such-package-here is not installed"}


def session_with(tmp_path, case, seconds, **options):
    """A session in which spanfft took so long in its turns."""
    session = file_runs.Session(case, case.peers, tmp_path, **options)
    session.outcomes["spanfft"] = [file_runs.Outcome(t, "", {}, 0, None, 0, 0) for t in seconds]
    return session


def test_a_peer_is_stopped_when_its_target_is_decided(tmp_path):
    full = all_cases()["disk-c2c-16384x16384"]
    factors = {target.against: target.factor for target in full.targets}
    assert (factors["pread-panels"], factors["memmap-panels"]) == (1 / 1.7, 0.1)
    case = replace(full, shape=(8, 8))
    first = session_with(tmp_path, case, ())
    assert first.cap("spanfft") == first.cap("pread-panels") == file_runs._CAP_FIRST_SECONDS
    session = session_with(tmp_path, case, (20.0, 30.0, 25.0))
    assert session.cap("pread-panels") == pytest.approx(1.5 * 1.7 * 30)
    assert session.cap("memmap-panels") == pytest.approx(1.5 * 10 * 30)
    # Then the statement is met, whatever the turns were that the margin is for.
    row = {"case": "c", "peer": "spanfft", "absent": None, "median": 30 * 1.49, "ratios": {}}
    stopped = {"case": "c", "peer": "pread-panels", "absent": "stopped",
               "at_least_seconds": session.cap("pread-panels")}  # fmt: skip
    target = next(t for t in case.targets if t.against == "pread-panels")
    assert summary._verdict(target, "c", [row, stopped]).startswith("- met")


def test_one_stop_among_turns_that_end_decides_nothing(tmp_path, monkeypatch):
    case = replace(all_cases()["disk-c2c-16384x16384"], shape=(8, 8))
    session = session_with(tmp_path, case, (20.0,))
    session.errors["pread-panels"] = 0.0
    monkeypatch.setattr(file_runs.Session, "cap", lambda *_: 44.0)
    took = iter([30.0, None, 31.0, 29.0, None])

    def run(*_):
        seconds = next(took)
        stopped = None if seconds else 44.0
        return file_runs.Outcome(seconds, "stopped after 44 s" if stopped else "", {}, 0, None, 0, 0, stopped)

    monkeypatch.setattr(file_runs, "run_command", run)
    for turn in range(5):
        session._run("pread-panels")
        assert ("pread-panels" in session.absent) == (turn == 4)
        if turn == 3:
            assert session._peer("pread-panels", session.outcomes["pread-panels"])["seconds"] == [
                30.0,
                44.0,
                31.0,
                29.0,
            ]
    assert session.at_least == {"pread-panels": 44.0}


def test_what_has_ended_is_stopped_only_if_it_takes_twice_as_long(tmp_path):
    case = replace(all_cases()["disk-c2c-16384x16384"], shape=(8, 8))
    session = session_with(tmp_path, case, (20.0, 30.0))
    assert session.cap("spanfft") == 120.0
    session.outcomes["pread-panels"] = [file_runs.Outcome(t, "", {}, 0, None, 0, 0) for t in (90.0, 80.0)]
    assert session.cap("pread-panels") == 180.0


def test_a_cap_without_a_target_is_the_old_one_and_a_given_one_wins(tmp_path):
    case = replace(all_cases()["disk-c2c-16384x16384"], shape=(8, 8), peers=("spanfft", "pread-panels", "memmap-whole"))
    session = session_with(tmp_path, case, (20.0,))
    assert session.cap("memmap-whole") == 200.0
    session.outcomes["spanfft"][0].seconds = 1.0
    assert session.cap("memmap-whole") == 120.0
    assert session_with(tmp_path, case, (20.0,), cap_seconds=7.0).cap("pread-panels") == 7.0
    # Times of another case decide a target of that kind, and a small form decides none.
    elsewhere = tuple(replace(target, of_case="other") for target in case.targets)
    assert session_with(tmp_path, replace(case, targets=elsewhere), (20.0,)).cap("pread-panels") == 200.0
    assert session_with(tmp_path, replace(case, is_small=True), (1.0,)).cap("pread-panels") == 120.0


def test_spanfft_goes_first_in_a_turn(tmp_path):
    case = replace(all_cases()["disk-c2c-1d"].small(), shape=(1 << 12,))
    session = file_runs.Session(case, ("memmap-whole", "spanfft", "memmap-four-step"), tmp_path)
    assert list(session.outcomes) == ["spanfft", "memmap-whole", "memmap-four-step"]


def test_the_disk_is_measured_with_new_files_and_with_files_that_are_there(tmp_path):
    folder = tmp_path / "a:b"  # fio's own separator of files
    folder.mkdir()
    found = limits.disk_speeds(folder, 3 << 20)  # smaller than a block
    assert len(found) == 2
    assert min(min(speeds.read, speeds.write, speeds.both) for speeds in found) > 0
    assert {speeds.engine for speeds in found} <= set(limits._WAYS)
    assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == [folder]


def test_the_yardstick_is_one_blocks_of_8_mib_in_registered_memory():
    jobs = limits._stages(1 << 30)
    found = [option for option in jobs if option.startswith(("--rw", "--bs", "--size"))]
    block = ["--bs=8388608", f"--size={1 << 30}"]
    assert found == ["--rw=read", *block, "--rw=write", *block, "--rw=read", *block, "--rw=write", *block]
    assert jobs.count("--stonewall") == 2
    assert next(iter(limits._WAYS.items())) == ("io_uring", ["--direct=1", "--fixedbufs=1", "--registerfiles=1"])


# Name, bytes read, bytes written, milliseconds.
JOBS = (("read", 6000, 0, 2), ("write", 0, 5000, 4), ("both", 6000, 0, 5), ("both", 0, 5000, 10))


def fio_says(jobs=JOBS, error=0, short=0):
    """What of fio's JSON is used."""
    return "note: depth is capped\n" + json.dumps({"jobs": [
        {"jobname": name, "error": error, "job options": {"size": str(read + written + short)},
         "read": {"io_bytes": read, "runtime": ms if read else 0},
         "write": {"io_bytes": written, "runtime": ms if written else 0}}
        for name, read, written, ms in jobs]})  # fmt: skip


def test_speeds_are_those_that_fio_saw():
    assert limits.parse_fio(fio_says()) == pytest.approx({"read": 3e6, "write": 1.25e6, "both": 5e5})
    at_once = [(name, read, written, 0) for name, read, written, _ in JOBS]  # below fio's millisecond
    assert limits.parse_fio(fio_says(at_once))["read"] == pytest.approx(6e6)
    with pytest.raises(OSError, match="moved 6000 bytes, not 6001"):
        limits.parse_fio(fio_says(short=1))
    with pytest.raises(OSError, match="error 28"):
        limits.parse_fio(fio_says(error=28))


def test_bytes_take_the_smaller_time_of_in_turn_and_at_once():
    assert limits.DiskSpeeds(4.0, 2.0, 2.0).seconds(8, 8) == 4.0  # both at once; in turn 2 + 4
    assert limits.DiskSpeeds(4.0, 2.0, 1.0).seconds(8, 8) == 6.0  # in turn; both at once 8
    assert limits.DiskSpeeds(4.0, 2.0, 2.0).seconds(12, 8) == 5.0  # the last 4 are read alone
    assert limits.DiskSpeeds(4.0, 2.0, 2.0).seconds(4, 8) == 4.0  # the last 4 are written alone; in turn 5
    assert limits.DiskSpeeds(4.0, 2.0, 1.0).seconds(8, 0) == 2.0


def test_sweeps_are_what_spanfft_counted():
    def step(depth, read, written):
        return {"depth": depth, "counted": {"disk_read_bytes": read, "disk_written_bytes": written}}

    steps = [
        step(0, 1 << 20, 1 << 20),
        step(1, 9, 9),
        step(0, 2 << 20, 1 << 20),
        step(0, 0, 0),
        step(0, 1 << 20, 1 << 20),
    ]
    said = {"ranks": [{"scratch_bytes": 1 << 20, "steps": steps}]}
    sweeps = file_runs.own_sweeps(said, 1 << 20)
    assert [astuple(sweep) for sweep in sweeps] == [
        (1 << 20, 1 << 20, True),
        (2 << 20, 1 << 20, True),
        (1 << 20, 1 << 20, False),  # scratch and output are there by now
    ]


def fake_fio(folder: Path, script: str) -> str:
    """A PATH on which fio is that."""
    folder.mkdir()
    (folder / "fio").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "fio").chmod(0o755)
    return str(folder)


def test_another_engine_is_taken_where_io_uring_is_refused(tmp_path, monkeypatch):
    (tmp_path / "said.json").write_text(fio_says())
    refuse = 'case "$*" in *io_uring*) echo "io_uring: not permitted" >&2; exit 1;; esac'
    monkeypatch.setenv("PATH", fake_fio(tmp_path / "bin", f"{refuse}; /bin/cat {tmp_path}/said.json"))
    speeds, engine = limits._fio(tmp_path, [])
    assert (speeds["read"], engine) == (pytest.approx(3e6), "libaio")
    monkeypatch.setenv("PATH", fake_fio(tmp_path / "none", "echo no such luck >&2; exit 1"))
    with pytest.raises(OSError, match="io_uring: no such luck; libaio: no such luck"):
        limits._fio(tmp_path, [])


def test_without_fio_the_remedy_is_named_before_anything_runs(tmp_path, monkeypatch):
    run = Path(limits.__file__).with_name("run.py")
    environment = cli_environment() | {"PATH": str(tmp_path)}
    command = [sys.executable, str(run), "--small", "--no-build", "--output", str(tmp_path / "out"), "--case"]
    ran = subprocess.run([*command, "disk-c2c-1d"], capture_output=True, text=True, timeout=100, env=environment)
    assert ran.returncode == 1
    assert ran.stderr.strip().endswith("needs fio: apt-get install fio")
    assert "--" not in ran.stderr, "something was run"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="apt-get install fio"):
        limits.disk_speeds(tmp_path, 4096)
