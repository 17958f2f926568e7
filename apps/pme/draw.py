"""The picture of docs/apps/pme.md, from the rows that `check` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..drawing import BLUE, GREY, RED, SAND, panels, save


def draw(rows: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Accuracy asked for and reached; work moved from the mesh to the pairs; energy in time."""
    figure, (errors, work, time) = panels(3, 3.7, 3.4)
    _errors(errors, [row for row in rows["forces"] if "foreseen" in row])
    _work(work, rows["balance"])
    _time(time, rows["nve"][0])
    save(figure, path)


def _errors(axes: Any, rows: list[dict[str, Any]]) -> None:
    limits = sorted({row["limit"] for row in rows})
    axes.plot(limits, limits, color=GREY, lw=1, label="asked for")
    markers = {4: "o", 5: "s", 6: "^", 7: "v", 8: "D"}
    for order, marker in markers.items():
        of_order = [row for row in rows if row["order"] == order]
        if not of_order:
            continue
        axes.plot([r["limit"] for r in of_order], [r["found"] for r in of_order], marker, ms=5, mfc="none", color=BLUE,
                  label=f"found, order {order}")  # fmt: skip
    axes.plot([r["limit"] for r in rows], [r["foreseen"] for r in rows], ".", ms=2, color=RED, label="foreseen")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("accuracy asked for")
    axes.set_title("error of forces against the Ewald sum")
    axes.legend(fontsize=7)


def _work(axes: Any, rows: list[dict[str, Any]]) -> None:
    cutoffs = [row["cutoff"] for row in rows]
    for name, colour in (("direct", SAND), ("reciprocal", BLUE)):
        axes.plot(cutoffs, [1e3 * row[f"predicted_{name}"] for row in rows], color=colour, label=f"{name}, predicted")
        axes.plot(cutoffs, [1e3 * row[name] for row in rows], "o", ms=4, color=colour, label=f"{name}, taken")
    axes.plot(cutoffs, [1e3 * row["predicted"] for row in rows], color=RED, lw=1, label="both, predicted")
    (chosen,) = (row for row in rows if row["chosen"])
    axes.axvline(chosen["cutoff"], color=GREY, lw=1, ls="--", label="chosen")
    axes.set_xlabel("cutoff, nm")
    axes.set_ylabel("ms of a processor")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, 12 * high)  # room for the legend
    axes.set_title("work moves from the mesh to the pairs")
    axes.legend(fontsize=7, ncols=2, loc="upper left")


def _time(axes: Any, row: dict[str, Any]) -> None:
    for name, colour in (("potential", BLUE), ("kinetic", SAND), ("total", RED)):
        series = np.array(row[name])
        axes.plot(row["times_fs"], series - series[0], color=colour, label=name)
    axes.set_xlabel("fs")
    axes.set_ylabel("eV, from the start on")
    axes.set_title("a crystal melts: energy in time")
    axes.legend(fontsize=7, loc=(0.65, 0.28))
