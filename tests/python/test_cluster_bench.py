"""The benchmark on the emulated cluster: rows follow from what was measured, and one that can't be true is refused."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import strategies  # noqa: E402
import strategies_plot  # noqa: E402
from cluster import EXIT_ABSENT  # noqa: E402

CASE = strategies.all_cases()["c2c-64-4x1-100mbit"]
COMMON = {"machine": {"cpu": "c", "vectors": "avx2", "cores": 2, "kernel": "6", "virtual": False}, "commit": "abc",
          "date": "2026-01-01T00:00Z", "load_before": 0.5, "versions": {"mpi": "MPICH"}}  # fmt: skip


def found(times: dict[str, float]) -> dict[str, Any]:
    """What strategies_worker.py would have written: each direction takes half of the time, which grows by turns."""

    def one(seconds: float) -> dict[str, Any]:
        turns = [seconds * (1 + turn / 10) / 2 for turn in range(strategies.MIN_REPEATS)]
        return {"forward_seconds": turns, "backward_seconds": turns, "messages": 24, "sent_bytes": 4 * 1_572_864,
                "step_seconds": [{"Transform": 0.1, "Exchange": t} for t in turns], "predicted_seconds": 0.2,
                "most_sent_bytes": 1_572_864, "engine": "e", "steps": [], "planning_seconds": 0.1,
                "planned_problem": "c2c 64x64x64 grid=4x1 exchange=x", "forward_error": 0.0}  # fmt: skip

    absent = {one.name: "not known" for one in CASE.candidates() if one.name not in times}
    return {"candidates": {name: one(seconds) for name, seconds in times.items()}, "absent": absent}


def rows() -> list[strategies.Row]:
    times = {"planner": 0.22, "alltoallv": 0.2, "overlap:1": 0.3, "overlap:4": 0.25, "compressed": 0.16}
    return strategies.make_rows(CASE, found(times), COMMON)


def test_rows_compare_with_the_best_exact_strategy() -> None:
    by_name = {row["candidate"]: row for row in rows()}
    assert by_name["planner"]["best"] == "alltoallv"  # not the faster, lossy one
    assert by_name["planner"]["ratio_to_best"] == pytest.approx(1.1)
    assert by_name["overlap:1"]["ratio_to_best"] == pytest.approx(1.5)
    assert by_name["alltoallv"]["wire_seconds"] == pytest.approx(8 * 1_572_864 / 100e6)
    assert by_name["phased"]["absent"] == "not known"
    assert len(by_name) == len(CASE.candidates())


def test_a_row_faster_than_its_link_is_refused() -> None:
    row = copy.deepcopy(next(row for row in rows() if row["candidate"] == "alltoallv"))
    fast = [0.1] * strategies.MIN_REPEATS  # its bytes alone take 0.126 s
    row |= {"seconds": fast, "median": 0.1, "min": 0.1}
    with pytest.raises(ValueError, match=r"row c2c-64-4x1-100mbit alltoallv: 0\.1000 s, but its bytes take 0\.1258 s"):
        strategies.check(row)


def test_planes_a_message_go_from_one_to_all() -> None:
    assert strategies.planes_a_message(16) == [1, 2, 4, 8, 16]
    assert strategies.planes_a_message(12) == [1, 2, 4, 8, 12]
    assert strategies.planes_a_message(1) == [1]


def test_summary_and_plots_follow_from_rows(tmp_path: Path) -> None:
    text = strategies.summary(rows())
    assert "| c2c-64-4x1-100mbit | planner | grid=4 exchange=x | alltoallv | 1.100 | 1.000 |" in text
    assert "| phased | absent: not known |" in text
    pytest.importorskip("matplotlib")
    names = {path.name for path in strategies_plot.plot(rows(), tmp_path)}
    assert names == {"cluster-planes.svg", "cluster-c2c-64-4x1-100mbit.svg"}


def test_a_small_case_runs_on_the_cluster(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    command = [sys.executable, str(BENCH / "run.py"), "cluster", "--small", "--case", "c2c-64-2x1-1gbit"]
    ran = subprocess.run([*command, "--output", str(tmp_path)], capture_output=True, text=True, timeout=110)
    if ran.returncode == EXIT_ABSENT:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stderr
    made = {row["candidate"]: row for row in strategies.load(tmp_path / "CLUSTER.json")}
    assert made["planner"]["ratio_to_best"] > 0
    # 16^3 complex numbers, of which each of 2 ranks sends half of its half, there and back.
    assert made["alltoallv"]["sent_bytes"] == 2 * 16 * 16**3 // 2
    assert not [name for name, row in made.items() if (row["absent"] or "").startswith("wrong result")]


def test_a_line_has_candidates_of_both_orders_each_compared_with_its_own_best() -> None:
    case = strategies.all_cases()["c2c-1d-24-4x1-1gbit"]
    assert case.problem == "c2c 16777216 forward double ranks=4"
    wire_bytes = 3 * 2 * 50_331_648  # of a rank: of its 64 MiB three quarters, three times, both ways
    times = {"planner natural": 2.6, "planner exchanged": 1.9, "natural alltoallv": 2.5, "exchanged alltoallv": 1.7}
    written = found(times)
    for name, one in written["candidates"].items():
        one["most_sent_bytes"] = wire_bytes * 2 // 3 if "exchanged" in name else wire_bytes
    written["absent"] = {one.name: "not known" for one in case.candidates() if one.name not in times}
    made = strategies.make_rows(case, written, COMMON)
    by_name = {row["candidate"]: row for row in made}
    assert by_name["planner natural"]["best"] == "natural alltoallv"
    assert by_name["planner exchanged"]["best"] == "exchanged alltoallv"
    assert by_name["planner natural"]["wire_seconds"] == pytest.approx(8 * wire_bytes / 1e9)
    text = strategies.summary(made)
    assert "| 2^24 points | 4 hosts of 1 ranks, links of 1gbit |" in text
    over = by_name["planner natural"]["median"] / by_name["planner natural"]["wire_seconds"]
    assert f"| {over:.3f} | 1.000 | 1.15: MISSED |" in text
    assert f"| {1.9 / 2.6:.3f} | 0.667: MISSED |" in text
