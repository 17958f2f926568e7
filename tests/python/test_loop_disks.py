"""Scratch on several block devices: loop devices with file systems of their own. Skipped where there are none."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import spanfft

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from cluster import Absent
from conftest import assert_transform
from loop_disks import LoopDisks

MIB = 1 << 20


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[LoopDisks]:
    try:
        with LoopDisks(tmp_path, 3, 24 * MIB) as made:
            yield made
    except Absent as reason:
        pytest.skip(str(reason))


def empty(folder: Path) -> None:
    assert os.listdir(folder) == ["lost+found"]


@pytest.mark.parametrize("io", ["auto", "threads"])
def test_each_disk_moves_its_share(io, disks, rng, tmp_path):
    np.save(tmp_path / "in.npy", rng.standard_normal(1 << 22, "float32"))
    # With so much memory blocks in scratch are whole ones; other requests may never leave the page cache, as the
    # scratch is gone before.
    how = {"memory": "12MiB", "io": io, "method": "two_sweeps"}
    spanfft.transform(tmp_path / "in.npy", tmp_path / "one.npy", **how)
    before = disks.written_bytes(), disks.read_bytes()
    done = spanfft.transform(tmp_path / "in.npy", tmp_path / "many.npy", **how, scratch=disks.folders)
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "many.npy").read_bytes()
    share = done.report["scratch_bytes"] / 3
    for then, now in zip(before, (disks.written_bytes(), disks.read_bytes()), strict=True):
        for was, is_now in zip(then, now, strict=True):
            assert 0.8 * share < is_now - was < 1.3 * share, (share, was, is_now)
    for folder in disks.folders:
        empty(folder)


def test_one_process_uses_a_disk_of_its_own_and_needs_none_beside_the_output(disks, rng, tmp_path):
    np.save(tmp_path / "in.npy", rng.standard_normal(1 << 20, "float32").view("complex64"))
    (tmp_path / "beside").mkdir()
    scratch = {}
    for name, folder in (
        ("none", None),
        ("beside", tmp_path / "beside"),
        ("own", str(disks.folders[0])[:-1] + "{rank}"),
    ):
        done = spanfft.transform(tmp_path / "in.npy", tmp_path / f"{name}.npy", memory="1MiB", scratch=folder)
        scratch[name] = done.report["scratch_bytes"]
        assert_transform(np.load(tmp_path / f"{name}.npy"), np.load(tmp_path / "in.npy"))
    assert scratch["none"] == scratch["beside"] == 0
    assert scratch["own"] >= 4 * MIB  # the array's bytes


def test_a_full_disk_is_named_before_anything_is_written(disks, rng, tmp_path):
    np.save(tmp_path / "in.npy", rng.standard_normal(1 << 22, "float32"))
    (disks.folders[1] / "ballast").write_bytes(bytes(18 * MIB))
    with pytest.raises(spanfft.NoSpace, match=str(disks.folders[1])):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="4MiB", scratch=disks.folders)
    assert not (tmp_path / "out.npy").exists()
    for folder in (disks.folders[0], disks.folders[2]):
        empty(folder)


def test_disks_that_cannot_be_had_leave_nothing(tmp_path):
    try:
        with LoopDisks(tmp_path, 1, 1 << 12):  # no file system is that small
            pytest.fail("a disk of 4 KiB was made")
    except Absent:
        pass
    assert os.listdir(tmp_path) == []
