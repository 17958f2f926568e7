"""Pictures of docs/foresight.md, into docs/images: what was simulated, and predictions beside it.

    ./spanfft-dev run python bench/figures/draw.py

draws these too. Points are rows of bench/results/simulated; what stands beside them is computed by spanfft.predict.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from matplotlib import pyplot

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import simulate  # noqa: E402

BLUE, SAND, RED, GREY, GREEN, PURPLE = "#1f6f8b", "#d99a2b", "#c2452d", "#b9c4c9", "#5aa469", "#7a5195"
SWEPT = ("torus-4x4x4", "fat-tree-64")


def _largest(case: simulate.Case) -> list[simulate.Row]:
    return [row for row in simulate.rows_of(case) if row["problem"] == case.problems[-1]]


def exchanges() -> Any:
    """Each case's largest problem: time over what the links need at least."""
    runs = [(case, row) for case in simulate.CASES for row in _largest(case)]
    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.2 * len(runs)), layout="constrained")
    for place, (case, row) in enumerate(runs):
        bounds = simulate.predicted(case, row["problem"], row["exchange"]).bounds
        least = max(bounds["bisection"], bounds["injection"], bounds["flops"] if case.computing else 0)
        times = row["seconds"] / least, simulate.compared_seconds(case, row["problem"], row["exchange"]) / least
        axes.plot(times, (place, place), "-", color=GREY, linewidth=3, zorder=1)
        axes.plot(times[0], place, "o", color=BLUE, label="" if place else "simulated")
        axes.plot(times[1], place, "|", color=RED, markersize=11, markeredgewidth=2, label="" if place else "predicted")
    axes.set_xscale("log")
    ticks = (1, 2, 5, 10, 20, 50)
    axes.set_xticks(ticks, list(map(str, ticks)))
    names = [f"{case.name}: {row['exchange']}" for case, row in runs]
    axes.set_yticks(range(len(runs)), names, fontsize=7)
    axes.invert_yaxis()
    axes.axvline(1, color=GREY, linewidth=1, zorder=0)
    axes.set_xlabel("time over the least that links (and, where it is simulated, computing) need", fontsize="small")
    axes.legend(fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def messages() -> Any:
    """Seconds against bytes a message."""
    cases = [case for case in simulate.CASES if case.name in SWEPT]
    figure, both = pyplot.subplots(1, len(cases), figsize=(10, 4), layout="constrained", squeeze=False)
    for axes, case in zip(both[0], cases, strict=True):
        for exchange, colour in zip(case.exchanges, (BLUE, RED, GREEN, PURPLE, SAND), strict=False):
            rows = [row for row in simulate.rows_of(case) if row["exchange"] == exchange]
            sizes = [row["sent_bytes"] / row["messages"] for row in rows]
            foreseen = [simulate.compared_seconds(case, row["problem"], exchange) for row in rows]
            axes.plot(sizes, [row["seconds"] for row in rows], "o", color=colour)
            axes.plot(sizes, foreseen, "-", color=colour, label=exchange)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(xlabel="bytes a message", ylabel="seconds")
        axes.set_title(f"{case.network}, {case.ranks} ranks; points: simulated", fontsize="small")
        axes.legend(fontsize="x-small")
    return figure


PICTURES = {"simulated-exchanges": exchanges, "simulated-messages": messages}
