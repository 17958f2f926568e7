"""Transforms in place on disk: the output takes the input's place in its file, and a run that is cut off can go on."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import spanfft
from conftest import assert_transform, assert_within_rule, cli, cli_environment

KiB = 1 << 10


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def source(rng, tmp_path):
    x = rng.standard_normal((96, 70, 50)) + 1j * rng.standard_normal((96, 70, 50))
    np.save(tmp_path / "a.npy", x)
    return x


@pytest.mark.parametrize("memory", [1024 * KiB, 64 << 20])
def test_the_output_takes_the_place_of_the_input(source, tmp_path, memory):
    os.chmod(tmp_path / "a.npy", 0o640)
    os.link(tmp_path / "a.npy", tmp_path / "b.npy")
    result = spanfft.transform(tmp_path / "a.npy", in_place=True, memory=memory)
    assert result.output == str(tmp_path / "a.npy")
    note = "the last sweep overwrites" if memory < 5 << 20 else "is copied over"
    assert any(note in text for text in result.report["notes"]), result.report["notes"]
    assert os.path.samefile(tmp_path / "a.npy", tmp_path / "b.npy")
    assert os.stat(tmp_path / "a.npy").st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy"]
    assert_transform(np.load(tmp_path / "b.npy"), source)


def test_it_is_the_same_to_the_bit_as_another_output_and_goes_back(source, tmp_path):
    spanfft.transform(tmp_path / "a.npy", tmp_path / "b.npy", memory=1024 * KiB)
    spanfft.transform(tmp_path / "a.npy", in_place=True, memory=1024 * KiB)
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))
    spanfft.transform(tmp_path / "a.npy", in_place=True, memory=1024 * KiB, backward=True)
    assert_within_rule(np.load(tmp_path / "a.npy"), source, transforms=2)


def test_fused_work_and_real_kinds(rng, tmp_path):
    x = rng.standard_normal((300, 500))
    np.save(tmp_path / "a.npy", x)
    options = {"kind": "dct2", "memory": 1024 * KiB, "window": "hann", "scale": 0.25}
    spanfft.transform(tmp_path / "a.npy", tmp_path / "b.npy", **options)
    spanfft.transform(tmp_path / "a.npy", in_place=True, **options)
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))
    seen = []
    result = spanfft.transform(
        tmp_path / "a.npy", in_place=True, kind="dct2", memory=1024 * KiB, on_input=lambda b, i: seen.append(len(b))
    )
    assert sum(seen) == x.size
    assert any("no journal of this run: its callbacks" in note for note in result.report["notes"])


def test_an_hdf5_dataset_in_one_piece(rng, tmp_path):
    h5py = pytest.importorskip("h5py")
    x = rng.standard_normal(4096) + 1j * rng.standard_normal(4096)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["other"] = np.arange(1000.0)
        file["x"] = x
    spanfft.transform(f"{tmp_path}/a.h5:/x", in_place=True, memory="1MiB")
    with h5py.File(tmp_path / "a.h5") as file:
        assert_transform(file["x"][:], x)
        assert np.array_equal(file["other"][:], np.arange(1000.0))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kind": "c2r"}, r"makes 96x70x98 real double of 96x70x50 complex double; give another output"),
        ({"output_dtype": "complex64"}, r"makes .* complex float of .* complex double"),
        ({"journal": False}, r"safe with a journal only"),
        ({"output": "b.npy"}, r"the output is b.npy, but in place"),
        ({"chunks": (10, 10, 10)}, r"no chunks"),
        ({"resume": True}, r"no unfinished run"),
    ],
)
def test_what_cant_be_is_refused_and_nothing_touched(source, tmp_path, options, match):
    before = digest(tmp_path / "a.npy")
    with pytest.raises((spanfft.InvalidArgument, spanfft.Unsupported), match=match):
        spanfft.transform(tmp_path / "a.npy", in_place=True, memory=1024 * KiB, **options)
    assert digest(tmp_path / "a.npy") == before
    assert os.listdir(tmp_path) == ["a.npy"]


def test_in_place_must_be_said(source, tmp_path):
    with pytest.raises(spanfft.InvalidArgument, match=r"never overwritten unasked; .*--in-place"):
        spanfft.transform(tmp_path / "a.npy", tmp_path / "a.npy")
    with pytest.raises(spanfft.InvalidArgument, match=r"where shall .* go"):
        spanfft.transform(tmp_path / "a.npy")


def test_chunked_arrays_are_refused(rng, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=rng.standard_normal((64, 64)) + 0j, chunks=(8, 8))
    with pytest.raises(spanfft.Unsupported, match="in chunks; in place is for arrays in one piece"):
        spanfft.transform(f"{tmp_path}/a.h5:/x", in_place=True)


# Killed at seeded random moments, again and again: --resume ends with the bits of a run that nothing disturbed.
def test_kill_and_resume_on_the_command_line(tmp_path):
    rng = np.random.default_rng(5)
    rng.standard_normal((1 << 22) * 2).astype("float32").view("complex64").tofile(tmp_path / "in.raw")
    original = digest(tmp_path / "in.raw")
    common = ["--dtype", "complex64", "--memory", "4MiB"]
    done = cli("transform", "in.raw", "out.raw", *common, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = digest(tmp_path / "out.raw")
    os.unlink(tmp_path / "out.raw")
    moments, half = random.Random(7), 0
    command = ["transform", "--in-place", "in.raw", *common]
    for kill in range(6):
        process = subprocess.Popen(
            [sys.executable, "-m", "spanfft", *command], cwd=tmp_path, env=cli_environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        journal = tmp_path / ".in.raw.spanfft-in-place"
        while process.poll() is None and not (journal.exists() and b"\npanels " in journal.read_bytes()):
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not journal.exists():
            break  # it was done
        assert kill > 0 or digest(tmp_path / "in.raw") == original or b"panels 0" in journal.read_bytes()
        refused = cli("transform", "in.raw", "out.raw", *common, cwd=tmp_path)
        if refused.returncode == 7:
            half += 1
            assert "half overwritten" in refused.stderr
            assert "in place goes on" in refused.stderr
        command = ["transform", "--in-place", "in.raw", "--dtype", "complex64", "--resume"]
    if journal.exists():
        done = cli(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "in.raw") == whole
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
