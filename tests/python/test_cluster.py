"""The emulated cluster: results are right across hosts, traffic crosses limited links, and nothing is left behind.

Skipped, with the cluster's own words, where the kernel or the rights for network namespaces are lacking.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import assert_within_rule, reference

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import cluster as emulated  # noqa: E402
from cluster import Absent, Cluster, Failed  # noqa: E402

SHAPE = (24, 20, 18)
RUNS = 3
# Run on the ranks: transforms a known array, writes its part of the result, says what the plan predicted and counted.
TRANSFORM = f"""
import json, os, sys
import numpy as np, spanfft
from mpi4py import MPI
world = MPI.COMM_WORLD
node = world.Split_type(MPI.COMM_TYPE_SHARED)
window = MPI.Win.Allocate_shared(8, 8, comm=node)  # would fail if ranks of two hosts were in one group
x = np.random.default_rng(5).standard_normal({SHAPE}) + 1j * np.random.default_rng(6).standard_normal({SHAPE})
with spanfft.Plan({SHAPE}, "complex128", comm=world, grid=(world.size, 1, 1), exchange="alltoallv") as plan:
    for _ in range({RUNS}):
        y = plan.forward(x[plan.input_slices])
    np.save(f"{{sys.argv[1]}}/{{world.rank}}.npy", y)
    box = [[s.start, s.stop] for s in plan.output_slices]
    found = {{"rank": world.rank, "ranks": world.size, "node": node.size, "host": os.uname().nodename, "box": box,
             "predicted": plan.predicted()["sent_bytes"], "counted": plan.counted()["sent_bytes"]}}
window.Free()
found = world.gather(found, 0)
if world.rank == 0:
    print(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def possible() -> None:
    pytest.importorskip("mpi4py")
    try:
        with Cluster(1):
            pass
    except Absent as reason:
        pytest.skip(f"no emulated cluster here: {reason}")


def network_namespaces() -> set[str]:
    """Of all processes here."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(os.readlink(path))
        except OSError:  # it has ended
            continue
    return found


def wait_until_gone(namespaces: set[str]) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end and namespaces & network_namespaces():
        time.sleep(0.05)
    assert not namespaces & network_namespaces()


@pytest.fixture
def unchanged() -> Iterator[None]:
    """The links and names of this machine after a test are those before it."""

    def seen() -> list[str]:
        commands = (["ip", "-o", "link"], ["ip", "netns", "list"])
        return [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in commands]

    before = seen()
    yield
    assert seen() == before


@pytest.mark.parametrize(("hosts", "ranks_per_host"), [(2, 1), (3, 1), (2, 2)])
def test_a_transform_across_hosts(hosts: int, ranks_per_host: int, tmp_path: Path, unchanged: None) -> None:
    ranks = hosts * ranks_per_host
    with Cluster(hosts, "100mbit") as cluster:
        job = cluster.run(ranks_per_host, [sys.executable, "-c", TRANSFORM, tmp_path], timeout=60)
    found = json.loads(job.output)
    assert [each["ranks"] for each in found] == [ranks] * ranks
    assert [each["node"] for each in found] == [ranks_per_host] * ranks
    assert len({each["host"] for each in found}) == hosts
    result = np.empty(SHAPE, np.complex128)
    for each in found:
        box = tuple(slice(*pair) for pair in each["box"])
        result[box] = np.load(tmp_path / f"{each['rank']}.npy")
        assert each["predicted"] == each["counted"] > 0
    x = np.random.default_rng(5).standard_normal(SHAPE) + 1j * np.random.default_rng(6).standard_normal(SHAPE)
    assert_within_rule(result, reference("fftn", x))
    # Slabs of 24, then of 20 rows: with 4 ranks, equal parts for each other rank, 2 of 3 of them on the other host.
    between = RUNS * sum(each["predicted"] for each in found) * (ranks - ranks_per_host) / (ranks - 1)
    assert sum(job.sent_bytes) >= between
    assert sum(job.received_bytes) >= between


def test_links_hold_their_rate(unchanged: None) -> None:
    with Cluster(2, "100mbit") as cluster:
        assert "memory is shared on a host only" in cluster.check(ranks_per_host=2)


def test_the_check_finds_a_link_that_is_too_fast() -> None:
    with Cluster(2, "200mbit") as cluster:
        cluster.rate, cluster.bits_per_second = "20mbit", 20_000_000
        with pytest.raises(Failed, match=r"moved .* over links of 20mbit"):
            cluster.check(ranks_per_host=1)


def test_large_pieces_cross_a_link_whole() -> None:
    """Links count each piece with one header. Of pieces that are cut before the link they count one a packet: 4.6 %."""
    block_bytes, repeats = 8_000_000, 3
    with Cluster(2, "1gbit") as cluster:
        job = cluster.run(1, [sys.executable, emulated.__file__, "probe", block_bytes], timeout=60)
    assert repeats * block_bytes <= min(job.sent_bytes) <= max(job.sent_bytes) < 1.02 * repeats * block_bytes


def test_everything_ends_with_the_cluster() -> None:
    with Cluster(2, "1gbit") as cluster:
        numbers = [cluster._switch, *(process.pid for process in cluster._processes)]
        namespace = {os.readlink(f"/proc/{cluster._switch}/ns/net")}
        assert namespace <= network_namespaces()
    assert not [number for number in numbers if Path(f"/proc/{number}").exists()]
    assert not namespace & network_namespaces()


OWNER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from cluster import Cluster
with Cluster(2, "1gbit") as cluster:
    folders = [f"/proc/{cluster._switch}", *map(cluster.process_folder, cluster._numbers)]
    print(*(os.readlink(f"{folder}/ns/net") for folder in folders), flush=True)
    cluster.run(1, ["sleep", "100"])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_owner_is_killed(how: signal.Signals, unchanged: None) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, BENCH],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # A shell's background jobs, and so their tests, ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert owner.stdout is not None
    namespaces = set(owner.stdout.readline().split())
    assert len(namespaces) == 3
    time.sleep(0.5)  # its job has begun, or is about to
    assert namespaces <= network_namespaces()
    owner.send_signal(how)
    owner.wait(20)
    owner.stdout.close()
    wait_until_gone(namespaces)


def test_a_job_that_fails_or_hangs_is_told() -> None:
    with Cluster(2, "1gbit") as cluster:
        with pytest.raises(Failed, match="exit code 3"):
            cluster.run(1, ["sh", "-c", "exit 3"], timeout=20)
        with pytest.raises(Failed, match="no end after 1 s"):
            cluster.run(1, ["sleep", "60"], timeout=1)
        assert sorted(cluster.run(2, ["hostname"], timeout=20).output.split()) == ["host0"] * 2 + ["host1"] * 2


@pytest.mark.parametrize("rate", ["100", "fast", "0mbit", "-1mbit", "100mbit; true"])
def test_rates_that_are_refused(rate: str) -> None:
    with pytest.raises(ValueError, match="rate is"):
        Cluster(2, rate)


def test_lacking_rights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated.os, "geteuid", lambda: 1000)
    with pytest.raises(Absent, match="needs root"), Cluster(2):
        pass
    monkeypatch.undo()
    monkeypatch.setattr(emulated.shutil, "which", lambda name: None if name == "tc" else f"/bin/{name}")
    with pytest.raises(Absent, match="missing programs: tc"), Cluster(2):
        pass
