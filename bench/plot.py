"""Draws a results folder's ROWS.json: a bar for each peer of a case, its spread, and the machine's limit as a line.

    python bench/plot.py bench/results/MACHINE FOLDER

Everything in the picture is in the rows; nothing is measured here. Rows are what is committed; pictures are drawn anew
by whoever wants to look at them.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rows import Row, load

_OURS, _THEIRS, _LIMIT = "#1f6f8b", "#b9c4c9", "#c2452d"


def plot_case(rows: list[Row], path: Path) -> bool:
    """False where matplotlib is missing or nothing was measured."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    done = [row for row in rows if not row["absent"]]
    if not done:
        return False
    done.sort(key=lambda row: row["median"])
    matplotlib.rcParams["svg.hashsalt"] = "spanfft"  # the same rows give the same file
    figure, axes = pyplot.subplots(figsize=(7, 1.25 + 0.32 * len(done)), layout="constrained")
    limit, widest = done[0]["limit_seconds"], max(row["median"] + row["spread"] for row in done)
    unit, factor = ("ms", 1e3) if widest < 1 else ("s", 1.0)
    places = list(range(len(done)))
    medians = [row["median"] * factor for row in done]
    low = [(row["median"] - min(row["seconds"])) * factor for row in done]
    high = [row["spread"] * factor for row in done]
    colours = [_OURS if row["peer"].startswith("spanfft") else _THEIRS for row in done]
    axes.barh(places, medians, xerr=[low, high], color=colours, height=0.7, error_kw={"lw": 0.8, "capsize": 2})
    labels = [f"{row['peer']} ({row['ranks']}x{row['threads']})" for row in done]
    axes.set_yticks(places, labels, fontsize=8)
    for place, median, more in zip(places, medians, high, strict=True):
        axes.annotate(f"{median:.3g} {unit}", (median + more, place), (5, 0), textcoords="offset points",
                      va="center", fontsize=7)  # fmt: skip
    axes.axvline(limit * factor, color=_LIMIT, lw=1.2)
    axes.invert_yaxis()
    axes.set_xlim(0, max(widest, limit) * factor * 1.12)
    marks = "median; whiskers: least, and median plus the quartiles' distance"
    axes.set_xlabel(f"{unit}: {marks}\nred line: {done[0]['limit']}", fontsize=8)
    axes.set_title(done[0]["problem"] + (" (small form)" if done[0]["small"] else ""), fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="x", labelsize=8)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def plot(folder: Path, target: Path) -> list[Path]:
    """Of the rows in `folder`, into `target`."""
    rows = load(folder / "ROWS.json")
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in dict.fromkeys(row["case"] for row in rows):
        path = target / f"{name}.svg"
        if plot_case([row for row in rows if row["case"] == name], path):
            paths.append(path)
    return paths


if __name__ == "__main__":
    for written in plot(Path(sys.argv[1]), Path(sys.argv[2])):
        print(written)
