"""The planner's choice on slow links, held against the committed rows that timed every strategy there.

A machine is described by what each strategy was measured to take on the cluster, in the form in which `spanfft probe`
writes it: seconds a byte over message sizes. What the planner then chooses for a problem, left free, must be within
10 % of the best that was measured for it. One shape's figures also choose for the other shape, of eight times, or an
eighth of, the bytes. What can't be reached is marked with the reason.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
from spanfft._native import core

ROWS = Path(__file__).resolve().parents[2] / "bench" / "results" / "amd-epyc-26-2-2-cores" / "CLUSTER.json"
HOSTS = 4
GOAL = 1.10


def timed(case: str) -> list[dict]:
    rows = [row for row in json.loads(ROWS.read_text()) if row["case"] == case and not row["absent"]]
    return [row for row in rows if not row["lossy"] and not row["candidate"].startswith("planner")]


def seconds_of(row: dict) -> float:
    """A direction's communication, as the probe takes it on a network: without the slowest quarter of the turns."""
    turns = sorted(row["communication_seconds"])
    return statistics.fmean(turns[: max(1, len(turns) * 3 // 4)]) / 2


def machine_of(case: str) -> str:
    points: dict[str, dict[float, float]] = {}
    for row in timed(case):
        if row["candidate"].startswith("pencil"):
            continue
        messages, sent = (row[name] / HOSTS / 2 for name in ("messages", "sent_bytes"))  # of a rank, one way
        points.setdefault(row["candidate"].split(":")[0], {})[sent / messages] = seconds_of(row) / sent
    lines = ["spanfft-machine 1", "name an emulated cluster", "ranks_per_node 1", "cores 1"]
    for strategy, curve in points.items():
        for message_bytes, rate in sorted(curve.items()):
            lines.append(f"exchange {strategy} far point {message_bytes} {rate}")
        lines += [f"exchange {strategy} far latency_seconds 0", f"exchange {strategy} whole"]
    return "\n".join(lines) + "\n"


def row_of(problem: str, case: str) -> dict:
    """The row of what was chosen."""
    words = dict(word.split("=") for word in problem.split() if "=" in word)
    name, _, parameter = words["exchange"].partition(":")
    planes = int(case.split("-")[1]) // HOSTS
    if name in ("oneplane", "overlap"):
        parameter = {"": "1", "all": str(planes)}.get(parameter, parameter)
    if name == "blockvector":
        parameter = parameter or "4"
    candidate = f"{name}:{parameter}" if parameter else name
    if "x" in words["grid"].removesuffix("x1").removesuffix("x1"):
        candidate = f"pencil {candidate}"
    (row,) = [row for row in timed(case) if row["candidate"] == candidate]
    return row


def ratio_of_choice(case: str, figures: str) -> tuple[str, float]:
    edge = case.split("-")[1]
    plan = core.imagine(f"c2c {edge}x{edge}x{edge} ranks={HOSTS} output=exchanged", machine_of(figures))
    row = row_of(plan.problem, case)
    return row["candidate"], row["ratio_to_best"]


NO_LARGER = "at 64^3 blocking pairs were timed with one size of message only, and cost more a byte at a larger one"
NOISE = "in this launch the plan that is chosen was timed twice, at 1.07 and at 1.26 of the best"


@pytest.mark.parametrize(
    ("case", "figures"),
    [
        ("c2c-64-4x1-100mbit", "c2c-64-4x1-100mbit"),
        ("c2c-128-4x1-100mbit", "c2c-128-4x1-100mbit"),
        ("c2c-64-4x1-100mbit", "c2c-128-4x1-100mbit"),
        pytest.param("c2c-128-4x1-100mbit", "c2c-64-4x1-100mbit", marks=pytest.mark.xfail(reason=NO_LARGER)),
        ("c2c-128-4x1-1gbit", "c2c-128-4x1-1gbit"),
        ("c2c-128-4x1-1gbit", "c2c-64-4x1-1gbit"),
        pytest.param("c2c-64-4x1-1gbit", "c2c-64-4x1-1gbit", marks=pytest.mark.xfail(reason=NOISE)),
    ],
)
def test_the_choice_is_within_a_tenth_of_the_best_that_was_measured(case, figures):
    chosen, ratio = ratio_of_choice(case, figures)
    assert ratio <= GOAL, f"{chosen} takes {ratio:.3f} of the best"
