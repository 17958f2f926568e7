"""Ranks with disks of their own: loop devices held to 32 MiB/s each, and hosts that see no other host's disk.

Skipped, with the reason, where the rights for block devices, control groups or namespaces are lacking.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import assert_transform

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import rank_disks  # noqa: E402
from cluster import Absent, Cluster, find_mpiexec  # noqa: E402
from loop_disks import LoopDisks  # noqa: E402

MIB = 1 << 20
POINTS = 1 << 20  # 8 MiB, so 2 MiB or more of scratch for each of 4 ranks with 1 MiB of memory


@pytest.fixture
def series(rng, tmp_path) -> np.ndarray:
    pytest.importorskip("mpi4py")
    x = (rng.standard_normal(POINTS) + 1j * rng.standard_normal(POINTS)).astype("complex64")
    np.save(tmp_path / "in.npy", x)
    return x


def limited_disks(folder: Path, count: int) -> LoopDisks:
    return LoopDisks(folder, count, 64 * MIB, 32 * MIB)


def moved(disks: LoopDisks, run: Callable[[], str]) -> tuple[list[int], dict]:
    """What each disk moved while a command ran, and what the command printed."""
    before = rank_disks.disk_bytes(disks)
    said = json.loads(run())
    return [now - then for now, then in zip(rank_disks.disk_bytes(disks), before, strict=True)], said


@pytest.mark.parametrize(("ranks", "count"), [(1, 1), (2, 1), (2, 2), (3, 3), (4, 2), (5, 2), (6, 3), (7, 2)])
def test_each_rank_keeps_its_share_on_its_own_disk_which_some_may_share(ranks, count, series, tmp_path):
    try:
        with limited_disks(tmp_path, count) as disks:
            for rank in range(ranks):  # rank r has disk r mod D
                own = disks.folders[rank % count] / f"of{rank}"
                own.mkdir()
                (tmp_path / f"scratch{rank}").symlink_to(own)
            command = rank_disks.transform_command(tmp_path, 1, str(tmp_path / "scratch{rank}"))
            command += ["--method", "two_sweeps"]

            def run() -> str:
                done = disks.limited([find_mpiexec(), "-n", str(ranks), *command])
                assert done.returncode == 0, done.stderr
                return done.stdout

            each, said = moved(disks, run)
            assert_transform(np.load(tmp_path / "out.npy"), series)
            assert [len(os.listdir(disks.folders[rank % count] / f"of{rank}")) for rank in range(ranks)] == [0] * ranks
    except Absent as reason:
        pytest.skip(str(reason))
    assert len(said["ranks"]) == ranks
    if ranks == 1:  # between the sweeps the array lies in the output
        return
    # A rank writes what it keeps twice: into scratch, and transformed into the output.
    kept = [rank["counted"]["disk_written_bytes"] / 2 for rank in said["ranks"]]
    assert sum(kept) == 8 * POINTS
    assert max(kept) < 1.2 * 8 * POINTS / ranks
    for disk, found in enumerate(each):
        share = sum(kept[disk::count])
        assert 0.9 * share < found < 1.2 * share + MIB, (disk, each)


@pytest.mark.parametrize("hosts", [2, 4])
def test_hosts_use_their_own_disks_which_no_other_host_sees(hosts, series, tmp_path):
    try:
        with limited_disks(tmp_path, hosts) as disks, Cluster(hosts, "1gbit") as cluster, disks.joined():
            for host in range(hosts):
                for other in set(disks.folders) - {disks.folders[host]}:
                    cluster.unmount(host, other)
            command = rank_disks.transform_command(tmp_path, 1, str(tmp_path / "disk{node}"))
            command += ["--method", "two_sweeps"]  # which has the array in scratch once
            each, said = moved(disks, lambda: cluster.run(1, command).output)
            assert_transform(np.load(tmp_path / "out.npy"), series)
    except Absent as reason:
        pytest.skip(str(reason))
    assert len(said["ranks"]) == hosts
    share = 8 * POINTS / hosts
    assert all(0.9 * share < found < 1.2 * share + MIB for found in each), each


def test_a_row_is_held_against_the_larger_of_its_own_turns_disk_and_wire():
    turns = [{"problem": "p", "solver": "two_sweeps", "disk_bytes": [1], "sent_bytes": [1], "seconds": seconds,
              "disk_seconds": disk, "wire_seconds": wire}
             for seconds, disk, wire in ((2.0, 1.0, 0.5), (3.0, 1.0, 2.0), (6.0, 2.0, 1.0))]  # fmt: skip
    row = rank_disks.gather(turns, case="hosts", ranks=4)
    assert (row["median"], row["ratio"]) == (3.0, 2.0)
    assert "MISSED" in rank_disks.table([row])
    assert "met" in rank_disks.table([{**row, "ratio": 1.19}])
