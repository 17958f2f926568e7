"""Draws the rows of bench/strategies.py; everything in the pictures is in the rows.

cluster-CASE.svg: time and communication time of each candidate (P3's figures 1 and 2), with the links' least.
cluster-planes.svg: time against planes a message (the optimum that P5 leaves open).
cluster-speedup.svg: one rank's time over the time on so many hosts (P5's figures 3 to 6).
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

Row = dict[str, Any]
_TIME, _COMMUNICATION, _LIMIT, _PLANNER = "#b9c4c9", "#1f6f8b", "#c2452d", "#7a4b94"


def _pyplot() -> Any:
    """None where matplotlib is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return None
    matplotlib.rcParams["svg.hashsalt"] = "spanfft"  # the same rows give the same file
    return pyplot


def _save(pyplot: Any, figure: Any, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def plot_case(pyplot: Any, rows: list[Row], path: Path) -> Path | None:
    done = sorted((row for row in rows if not row["absent"]), key=lambda row: row["median"])
    if len(done) < 2:
        return None
    figure, axes = pyplot.subplots(figsize=(7, 1.25 + 0.24 * len(done)), layout="constrained")
    places = list(range(len(done)))
    medians = [row["median"] * 1e3 for row in done]
    low = [(row["median"] - min(row["seconds"])) * 1e3 for row in done]
    high = [row["spread"] * 1e3 for row in done]
    axes.barh(places, medians, xerr=[low, high], color=_TIME, height=0.7, error_kw={"lw": 0.8, "capsize": 2})
    inside = [statistics.median(row["communication_seconds"]) * 1e3 for row in done]
    axes.barh(places, inside, color=_COMMUNICATION, height=0.3)
    wires = [row["wire_seconds"] for row in done if not row["lossy"] and row["wire_seconds"] is not None]
    if wires:
        axes.axvline(min(wires) * 1e3, color=_LIMIT, lw=1.2)
    axes.set_yticks(places, [row["candidate"] + (" (lossy)" if row["lossy"] else "") for row in done], fontsize=8)
    for label, row in zip(axes.get_yticklabels(), done, strict=True):
        if row["candidate"].startswith("planner"):
            label.set_color(_PLANNER)
    axes.invert_yaxis()
    text = (
        "ms, forward and backward: median; whiskers: least, and median plus the quartiles' distance; dark: steps that"
    )
    axes.set_xlabel(
        f"{text}\ncommunicate" + ("; red: the fullest link's time for its bytes" if wires else ""), fontsize=8
    )
    axes.set_title(f"{done[0]['case']}: {done[0]['problem']}", fontsize=9, loc="left")
    _plain(axes)
    return _save(pyplot, figure, path)


def plot_planes(pyplot: Any, rows: list[Row], path: Path) -> Path | None:
    """Relative to all planes at once (alltoallv) in the same run, one rank a host."""
    lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in rows:
        name, _, parameter = row["candidate"].partition(":")
        if row["absent"] or not parameter.isdigit() or name not in ("overlap", "oneplane"):
            continue
        if row["hosts"] == 4 and row["ranks_per_host"] == 1:
            whole = next(r for r in rows if r["case"] == row["case"] and r["candidate"] == "alltoallv")
            ratios = [a / b for a, b in zip(row["seconds"], whole["seconds"], strict=True)]
            key = (f"{row['n']}^3, {row['rate']}", name)
            lines.setdefault(key, []).append((int(parameter), statistics.median(ratios)))
    if not lines:
        return None
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    cases = sorted({case for case, _ in lines})
    colours = dict(zip(cases, pyplot.get_cmap("viridis")([0.0, 0.3, 0.6, 0.85]), strict=False))
    for (case, name), points in sorted(lines.items()):
        points.sort()
        style = "-" if name == "overlap" else "--"
        axes.plot(*zip(*points, strict=True), style, marker="o", ms=4, color=colours[case], label=f"{name}, {case}")
    axes.axhline(1.0, color=_LIMIT, lw=1)
    axes.set_xscale("log", base=2)
    ticks = sorted({planes for points in lines.values() for planes, _ in points})
    axes.set_xticks(ticks, [str(planes) for planes in ticks])
    axes.set_xlabel("planes a message", fontsize=8)
    axes.set_ylabel("time over that of one all-to-all of all planes", fontsize=8)
    axes.set_title("Planes a message, 4 hosts of one rank", fontsize=9, loc="left")
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    _plain(axes)
    return _save(pyplot, figure, path)


def plot_speedup(pyplot: Any, rows: list[Row], path: Path) -> Path | None:
    from strategies import LOSSY, speedups

    best: dict[tuple[int, str], dict[int, float]] = {}
    for n, rate, name, hosts, value in speedups(rows):
        if name.split(":")[0] not in LOSSY:
            line = best.setdefault((n, rate), {})
            line[hosts] = max(value, line.get(hosts, 0.0))
    best = {key: line for key, line in best.items() if len(line) > 1}
    if not best:
        return None
    figure, axes = pyplot.subplots(figsize=(5, 4), layout="constrained")
    for (n, rate), line in sorted(best.items()):
        axes.plot(*zip(*sorted(line.items()), strict=True), marker="o", ms=4, label=f"{n}^3, {rate}")
    axes.axhline(1.0, color=_LIMIT, lw=1)
    axes.set_xticks([1, 2, 4])
    axes.set_yscale("log")
    axes.set_xlabel("hosts of one rank; all share this machine's cores", fontsize=8)
    axes.set_ylabel("time of one rank over time, best strategy", fontsize=8)
    axes.set_title("Speed-up", fontsize=9, loc="left")
    axes.legend(fontsize=7, frameon=False)
    _plain(axes)
    return _save(pyplot, figure, path)


def plot(rows: list[Row], folder: Path) -> list[Path]:
    pyplot = _pyplot()
    if pyplot is None:
        return []
    made = [plot_planes(pyplot, rows, folder / "cluster-planes.svg"),
            plot_speedup(pyplot, rows, folder / "cluster-speedup.svg")]  # fmt: skip
    for name in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == name]
        made.append(plot_case(pyplot, mine, folder / f"cluster-{name}.svg"))
    return [path for path in made if path is not None]
