"""The benchmark: rows have their fields, every case runs in its small form, the table and plots follow from rows."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import cli_environment

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import machine  # noqa: E402
import rows  # noqa: E402
import summary  # noqa: E402
from cases import MIN_REPEATS, Case, Target, all_cases, suites  # noqa: E402
from peers import PEERS, Pool, World, block  # noqa: E402

MPIEXEC = os.environ.get("SPANFFT_MPIEXEC") or shutil.which("mpiexec")
# Both kinds, one, two and four ranks, one axis alone and on ranks, a file. The others differ from these in size and
# list of peers only.
SMALL = ["c2c-256-1", "r2c-256-2", "c2c-256-4", "c2c-1d-1", "c2c-1d-22-2", "calls-64", "disk-c2c-1d"]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / "run.py"), *arguments]
    # Tests before this one initialised MPI here, and Open MPI then tells all children that they are its job's.
    return subprocess.run(command, capture_output=True, text=True, timeout=110, env=cli_environment())


def found_for(case: Case) -> dict[str, Any]:
    """What worker.py would have written: `spanfft` always takes half of the first peer's time."""

    def peer(forward: float) -> dict[str, Any]:
        turns = range(MIN_REPEATS)
        predicted = {"memory_bytes": 3 * case.input_bytes, "sent_bytes": 0, "flops": 1e9}
        return {
            "forward_seconds": [forward * (1 + i) for i in turns],
            "backward_seconds": [forward * (1 + i) for i in turns],
            "threads": 1, "ranks": case.ranks, "engine": "e", "effort": "estimate", "layout": "natural", "notes": [],
            "versions": {}, "forward_error": 1e-15, "predicted": {"forward": predicted, "backward": predicted},
        }  # fmt: skip

    peers = {"spanfft": peer(0.5), "spanfft-fftw-exchanged": peer(0.75), "mpi4py-fft": peer(1.0)}
    absent = {"scipy": "not installed"}
    return {"peers": peers, "absent": absent, "copy_seconds": [0.25 * (1 + i) for i in range(MIN_REPEATS)]}


def made() -> list[rows.Row]:
    case = all_cases()["c2c-256-2"]
    machine = {"cpu": "c", "cpu_family_model": "1/2", "vectors": "avx2", "cores": 2, "memory_gib": 1.0, "kernel": "6",
               "compiler": "g++ 12", "python": "3.11", "virtual": False}  # fmt: skip
    common = {"machine": machine, "commit": "abc", "date": "2026-01-01T00:00Z", "load_before": 0.5,
              "array_bytes": case.input_bytes}  # fmt: skip
    return rows.make_rows(case, found_for(case), common, {name: peer.about for name, peer in PEERS.items()})


def test_row_numbers() -> None:
    by_peer = {row["peer"]: row for row in made()}
    ours = by_peer["spanfft"]
    assert ours["seconds"] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert (ours["median"], ours["min"], ours["spread"]) == (3.0, 1.0, 2.0)
    assert ours["ratios"]["mpi4py-fft"] == pytest.approx(0.5)
    assert ours["factor_from_limit"] == pytest.approx(2.0)
    assert by_peer["scipy"]["absent"] == "not installed"


@pytest.mark.parametrize("damage", [{"median": 1.0}, {"seconds": [1.0] * 4}, {"engine": None}, {"seconds": [0.0] * 5}])
def test_check_refuses(damage: dict[str, Any]) -> None:
    row = copy.deepcopy(made()[0])
    rows.check(row)
    with pytest.raises(ValueError, match="row c2c-256-2 spanfft"):
        rows.check(row | damage)


def test_store_replaces_a_case_whole(tmp_path: Path) -> None:
    path = tmp_path / "ROWS.json"
    first = made()
    rows.store(path, first)
    kept = rows.store(path, [row | {"date": "later"} for row in first[:2]])
    assert [row["date"] for row in kept] == ["later", "later"] == [row["date"] for row in rows.load(path)]


def test_a_peer_that_ran_to_its_end_is_not_replaced_by_one_that_was_stopped(tmp_path: Path) -> None:
    path, first = tmp_path / "ROWS.json", made()
    ended = next(row for row in first if row["peer"] == "mpi4py-fft")
    rows.store(path, first)
    for again in range(2):  # the second replaces a row that was stopped already
        later = [row | {"date": "later"} for row in first]
        (stopped,) = (row for row in later if row["peer"] == "mpi4py-fft")
        for key in rows.MEASURED:
            stopped.pop(key)
        stopped |= {"absent": f"stopped {again}", "at_least_seconds": 1.0}
        rows.store(path, later)
        (kept,) = (row for row in rows.load(path) if row["peer"] == "mpi4py-fft")
        assert kept["absent"] == f"stopped {again}"
        assert kept["ended"]["median"] == ended["median"]
        assert kept["ended"]["date"] == ended["date"]
        assert kept["ended"]["ratio"] == 2.0
    text = summary.summary(rows.load(path))
    assert "it ran to its end on 2026-01-01 (commit abc)" in text
    assert "2.0 times spanfft's" in text
    # It decides its target: a stop after 1 s alone would have said less.
    against = Target("", "spanfft", "mpi4py-fft", 0.4)
    assert summary._verdict(against, kept["case"], rows.load(path)).startswith("- MISSED")


def test_a_loaded_machine_is_waited_for_and_then_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = iter([3.0, 2.0, 0.5])
    monkeypatch.setattr(machine, "load_average", lambda: next(loads))
    monkeypatch.setattr(machine.time, "sleep", lambda _: None)
    machine.wait_for_quiet(60)
    monkeypatch.setattr(machine, "load_average", lambda: 8.5)
    with pytest.raises(SystemExit, match=r"load average is 8\.5.*--loaded"):
        machine.wait_for_quiet(0)


def test_documents_list_the_rows_that_were_taken_under_load_and_summaries_mark_them() -> None:
    page = (BENCH.parent / "docs" / "benchmarks.md").read_text().split("## Rows taken under load\n")[1]
    listed = {
        folder: dict(re.findall(r"`([^`]+)` ([\d.]+)", cases))
        for folder, cases in re.findall(r"^\| \[([^]]+)\]\([^)]*\) \| (.*) \|$", page, re.M)
    }
    found: dict[str, dict[str, str]] = {}
    for path in sorted((BENCH / "results").glob("*/ROWS.json")):
        kept = rows.load(path)
        assert path.with_name("summary.md").read_text() == summary.summary(kept), path.parent
        loads = {row["case"]: row["load_before"] for row in kept if row["load_before"] > machine.QUIET_LOAD}
        if loads:
            found[path.parent.name] = {case: f"{load:.1f}" for case, load in loads.items()}
    assert listed == found


def test_summary_decides_targets() -> None:
    text = summary.summary(made())
    assert "- met: not slower than mpi4py-fft" in text
    assert "= 0.75, target at most 1" in text
    assert "absent: not installed" in text


def row(peer: str, median: float, ratios: dict[str, float], starved: bool = False) -> rows.Row:
    """Of what a verdict is drawn from."""
    return {"case": "c", "peer": peer, "absent": None, "small": False, "median": median, "ratios": ratios,
            "starved": starved, "factor_from_limit": 2.0}  # fmt: skip


def test_a_target_against_several_peers_counts_the_best_of_them() -> None:
    target = Target("2x faster", "ours", ("slow", "fast"), 0.5)
    ours = row("ours", 1.0, {"slow": 0.25, "fast": 0.625})
    rivals = [row("slow", 4.0, {}), row("fast", 1.6, {})]
    assert summary._verdict(target, "c", [ours, *rivals]) == (
        "- MISSED: 2x faster: ours / fast (best of 2) = 0.62, target at most 0.5 (c)"
    )
    del ours["ratios"]["slow"]
    assert summary._verdict(target, "c", [ours, *rivals]) == "- not decided: 2x faster (c: slow is absent)"


def test_a_target_against_another_case_compares_medians() -> None:
    target = Target("within 1.3x", "ours", "ours", 1.3, of_case="other")
    mine = row("ours", 1.25, {})
    text = summary._verdict(target, "c", [mine, row("ours", 1.0, {}) | {"case": "other"}])
    assert text.startswith("- met: within 1.3x: ours / ours = 1.25, target at most 1.3 (c: medians")
    assert "ours is absent" in summary._verdict(target, "c", [mine])


def test_a_target_is_not_decided_against_a_planner_that_was_stopped() -> None:
    target = Target("faster", "ours", "theirs", 1.0)
    text = summary._verdict(target, "c", [row("ours", 1.0, {"theirs": 0.5}), row("theirs", 2.0, {}, starved=True)])
    assert text == (
        "- not decided: faster: ours / theirs = 0.50, target at most 1 (c): "
        "the planner of theirs was stopped by its time limit"
    )


def test_a_rival_that_was_stopped_is_a_bound_where_that_decides() -> None:
    target = Target("4x faster", "ours", "theirs", 0.25)
    theirs = {"case": "c", "peer": "theirs", "absent": "stopped after 40 s", "at_least_seconds": 40.0}
    ours = row("ours", 5.0, {})
    assert summary._verdict(target, "c", [ours, theirs]).startswith("- met: 4x faster: ours / theirs = 0.12")
    assert "theirs is absent" in summary._verdict(target, "c", [row("ours", 20.0, {}), theirs])


def test_blocks_of_a_grid_tile_the_array() -> None:
    case = replace(all_cases()["c2c-256-4"], shape=(5, 7, 3))
    worlds = [World(None, rank, 4, 2, Pool()) for rank in range(4)]
    assert [block(case, world, case.shape) for world in worlds] == [
        ((0, 0, 0), (3, 4, 3)), ((0, 4, 0), (3, 3, 3)), ((3, 0, 0), (2, 4, 3)), ((3, 4, 0), (2, 3, 3))
    ]  # fmt: skip


def test_every_case_names_known_peers_and_fits_its_small_form() -> None:
    assert len(all_cases()) == 62
    for case in all_cases().values():
        assert set(case.peers) <= set(PEERS)
        assert case.repeats >= MIN_REPEATS
        assert case.small().input_bytes <= 2**25
        assert case.small().on_disk == case.on_disk
        for target in case.targets:
            assert target.peer in case.peers
            assert set(target.rivals) <= {*all_cases()[target.of_case or case.name].peers, "limit", "moved"}


def test_suites_have_every_case_once_and_list_theirs() -> None:
    assert sorted(name for suite in suites().values() for name in suite) == sorted(all_cases())
    for name in suites()["node"]:
        assert all_cases()[name].targets, name
    listed = bench("list", "--suite", "node-dtfft", "--case", "calls-64")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["calls-64", *suites()["node-dtfft"]]


def test_what_fftw_mpi_scrambles_is_put_in_order() -> None:
    """By a transform that does what mpi/dft-rank1.c says: m r points as m x r, its result not transposed."""
    from peers.fftw_mpi import _place_of_frequency_one, _unscrambled

    m, r = 5, 3
    comm = type("Comm", (), {"allgather": staticmethod(lambda value: [value, (0.0, -1)])})

    def scrambled(x: np.ndarray) -> np.ndarray:
        columns = np.fft.fft(x.reshape(m, r), axis=0)
        twiddles = np.exp(-2j * np.pi * np.outer(np.arange(m), np.arange(r)) / (m * r))
        return np.fft.fft(columns * twiddles, axis=1).ravel()

    tone = np.exp(2j * np.pi * np.arange(m * r) / (m * r))
    assert _place_of_frequency_one(scrambled(tone), 0, comm) == r
    x = np.random.default_rng(1).standard_normal(m * r) + 0j
    found = scrambled(x)
    parts = [_unscrambled(found[:6], 0, r, m * r), _unscrambled(found[6:], 6, r, m * r)]
    assert np.allclose(sum(parts), np.fft.fft(x))


def test_ffte_takes_factors_of_the_ranks_twice() -> None:
    from peers.hpcc import _divides

    taken = [(2**20, 2), (2**20, 4), (9 * 16, 3), (25 * 4, 5), (36, 6)]
    assert [_divides(*pair) for pair in taken] == [True] * 5
    assert [_divides(*pair) for pair in [(2**20, 3), (4194301, 1), (2 * 7, 1), (3 * 16, 3)]] == [False] * 4


@pytest.mark.parametrize("name", SMALL)
def test_small_form_runs(name: str, tmp_path: Path) -> None:
    if all_cases()[name].ranks > 1 and not MPIEXEC:
        pytest.skip("no mpiexec")
    ran = bench("--small", "--no-build", "--repeats", "2", "--case", name, "--output", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    found = rows.load(tmp_path / "ROWS.json")
    for row in found:
        rows.check(row)
        assert row["small"]
    absent = {row["peer"]: row["absent"] for row in found if row["absent"]}
    assert [row["peer"] for row in found] == list(all_cases()[name].peers)
    assert not [peer for peer in absent if peer.startswith("spanfft")], absent
    assert not [peer for peer, reason in absent.items() if reason.startswith("wrong result")], absent
    assert name in (tmp_path / "summary.md").read_text()
    json.dumps(found, allow_nan=False)


def test_committed_rows_are_whole_and_name_no_place() -> None:
    for path in BENCH.glob("results/*/ROWS.json"):
        found = rows.load(path)
        assert found
        for row in found:
            rows.check(row)
            assert not row["small"], path
        text = path.read_text()
        assert str(BENCH.parent) not in text
        assert str(Path.home()) not in text


def test_too_few_repeats_are_refused() -> None:
    ran = bench("--repeats", "3", "--case", "c2c-1d-1")
    assert ran.returncode == 2
    assert "at least 5" in ran.stderr


def test_ratios_run_in_their_small_form() -> None:
    if not MPIEXEC:
        pytest.skip("no mpiexec")
    command = [sys.executable, str(BENCH / "ratios.py"), "--small"]
    environment = {**os.environ, "SPANFFT_MPIEXEC": str(MPIEXEC)}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
    assert ran.returncode == 0, ran.stderr
    names = [line.split("|")[1].strip() for line in ran.stdout.splitlines()]
    assert names[2:] == ["exchange", "contiguity", "contiguity", "real", "planning", "journal"]
