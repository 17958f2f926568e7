"""Simulations of ranks on SimGrid: rows fit their cases, the page shows what they say, and one small case runs.

Routes and bandwidths of the networks are tests/unit/fabric_test.cpp's, which needs no SimGrid.
"""

from __future__ import annotations

import copy
import os
import shutil
import sys
from pathlib import Path

import pytest
from spanfft._native import core

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import simulate  # noqa: E402


@pytest.mark.parametrize("case", simulate.CASES, ids=lambda case: case.name)
def test_every_case_has_a_sheet_of_its_own_network_and_a_row_for_each_run(case: simulate.Case) -> None:
    for exchange in case.exchanges:
        text = simulate.machine_of(case, exchange)
        info = core.machine_read(text)
        assert info["nodes"] * case.ranks_per_node == case.ranks
        assert f"network {case.network}" in info["sheet"]
        # What a simulation has to find out, or SimGrid does not have, is told to neither.
        assert not any(word in text for word in ("packet_", "_share", "barrier_us")) or case.computing
        # How many messages are under way is told to both.
        in_turn = exchange in ("alltoallv", "alltoallv in a ring")
        assert ("collective_messages 1" in info["sheet"]) == in_turn
        assert (simulate.collective(exchange)[0] != "default") == in_turn
    rows = simulate.rows_of(case)
    assert [(row["problem"], row["exchange"]) for row in rows] == case.runs()
    for row in rows:
        simulate.check_row(row, case)


def test_a_row_that_can_not_be_true_is_refused() -> None:
    case = next(case for case in simulate.CASES if not case.folded)
    row = simulate.rows_of(case)[0]
    for key, value in (("network", "torus 2x2"), ("exchange", "replace:7"), ("seconds", 0.0), ("error", None)):
        wrong = copy.deepcopy(row)
        wrong[key] = value
        with pytest.raises(ValueError, match=case.name):
            simulate.check_row(wrong, case)


def test_the_page_has_the_table_of_the_rows() -> None:
    page = (ROOT / "docs" / "foresight.md").read_text()
    shown = page.split(simulate.BEGIN)[1].split(simulate.END)[0].strip()
    assert shown == simulate.table(), "write it anew: ./spanfft-dev simulate --table --write"


def test_collectives_are_predicted_as_they_are_carried_out() -> None:
    rows = [(case, row) for case in simulate.CASES for row in simulate.rows_of(case)]
    collectives = [(case, row) for case, row in rows if row["exchange"].startswith("alltoallv")]
    assert {row["exchange"] for _, row in collectives} == {"alltoallv", "alltoallv at once", "alltoallv in a ring"}
    assert max(row["ranks"] for _, row in collectives) == 4096
    for case, row in collectives:
        assert abs(simulate.off(row, case)) <= simulate.AIM, (case.name, row["problem"], row["exchange"])


def test_where_a_prediction_misses_the_simulation_the_table_says_so() -> None:
    missed = sum(
        abs(simulate.off(row, case)) > simulate.AIM for case in simulate.CASES for row in simulate.rows_of(case)
    )
    assert simulate.table().count(", missed") == missed


@pytest.mark.parametrize("folded", [False, True])
def test_four_ranks_run_on_simulated_links(folded: bool) -> None:
    build = Path(os.environ.get("SPANFFT_SIMULATION", ROOT / "build" / "simgrid"))
    if not shutil.which("smpirun") or not (build / "bench" / "simulation" / "simulated_ranks.so").exists():
        pytest.skip("SimGrid or what it runs is not here; ./spanfft-dev simulate installs and builds both")
    problem = "c2c 64x64 output=exchanged grid=4x1"
    exchanges = ("phased", "alltoallv", "alltoallv in a ring", "alltoallv at once")
    case = simulate.Case("small", "blue-gene-l", "torus 2x2", 4, (problem,), exchanges, folded=folded)
    for run in case.runs():
        found = simulate.simulate(case, *run, build)
        row = simulate.make_row(case, *run, found, "here")  # which checks counts, and values unless memory is folded
        simulate.check_row(row, case)
        assert row["messages"] == 3
        # Each of 4 nodes sends 3 times 4 KiB, which no link carries faster.
        assert row["seconds"] > 3 * 64 * 64 * 16 / 16 / 2 / 0.175e9
        assert abs(simulate.off(row, case)) <= simulate.AIM, run
