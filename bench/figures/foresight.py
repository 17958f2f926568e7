"""Pictures of docs/foresight.md, into docs/images: predictions of the shipped machines, and what was published of them.

    ./spanfft-dev run python bench/figures/draw.py

draws these too. Points are rows of bench/results/published/rows.json; curves are computed by spanfft.predict.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import spanfft
from matplotlib import pyplot
from spanfft._draw_scaling import scaling_axes
from spanfft._predict import strong

ROOT = Path(__file__).resolve().parents[2]
ROWS = json.loads((ROOT / "bench" / "results" / "published" / "rows.json").read_text())["rows"]
BLUE, SAND, RED, GREEN, PURPLE = "#1f6f8b", "#d99a2b", "#c2452d", "#5aa469", "#7a5195"
NODES = [2**k for k in range(9, 17)]


def _torus(nodes: int) -> str:
    """The partition of Blue Gene/L with so many nodes, a power of two."""
    sides = [1, 1, 1]
    for _ in range(nodes.bit_length() - 1):
        shortest = min(side for side, most in zip(sides, (64, 32, 32), strict=True) if side < most)
        at = max(i for i in range(3) if sides[i] == shortest and shortest < (64, 32, 32)[i])
        sides[at] *= 2
    return "x".join(map(str, sides))


def _published(machine: str, quantity: str, exchange: str = "") -> list[dict[str, Any]]:
    rows = [row for row in ROWS if row["machine"] == machine and row["quantity"] == quantity]
    return [row for row in rows if exchange in row["problems"][0]]


def _both_ways(machine: str, n: int, ranks: int, exchange: str) -> float:
    """Seconds of a forward and an inverse transform of a cube in slabs, the spectrum exchanged."""
    keys = f"grid={ranks} output=exchanged exchange={exchange}"
    both = [spanfft.predict(f"c2c {n}x{n}x{n} {way} {keys}", machine, ranks)[0] for way in ("forward", "backward")]
    return sum(each.seconds for each in both)


def _logs(axes: Any, ranks: str, what: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=10)
    axes.set(xlabel=ranks, ylabel=what)
    axes.legend(fontsize="x-small")


def blue_gene() -> Any:
    """P2's figures 2 and 3: weak scaling with 4M points a node, and strong scaling of 1G to 16G points."""
    figure, (weak, strong_axes) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    ways = (("base", "alltoallv", RED), ("A2A", "phased:TORUS", BLUE),
            ("A2A+Ovlp", "phased:TORUS+blockvector:4+blockvector:4", GREEN))  # fmt: skip
    for name, exchange, colour in ways:
        problems = [f"c2c {nodes << 22} exchange={exchange.replace('TORUS', _torus(nodes))}" for nodes in NODES]
        rates = [spanfft.predict(problem, "blue-gene-l", nodes)[0].gflops
                 for problem, nodes in zip(problems, NODES, strict=True)]  # fmt: skip
        weak.plot(NODES, rates, color=colour, label=f"{name}: {exchange}")
        for row in _published("blue-gene-l", "gflops"):
            if row["problems"][0] == problems[-1]:
                weak.plot(row["ranks"], row["published"], "o", color=colour)
    weak.set_title("4M points a node; points: P2's", fontsize="small")
    _logs(weak, "nodes", "Gflop/s")
    for lg, colour in zip((30, 31, 32, 33, 34), (RED, SAND, GREEN, BLUE, PURPLE), strict=True):
        rates = [spanfft.predict(f"c2c {1 << lg} exchange=phased:{_torus(nodes)}", "blue-gene-l", nodes)[0].gflops
                 for nodes in NODES]  # fmt: skip
        strong_axes.plot(NODES, rates, color=colour, label=f"{1 << (lg - 30)}G points")
    strong_axes.set_title("phased, predicted", fontsize="small")
    _logs(strong_axes, "nodes", "Gflop/s")
    return figure


def clusters() -> Any:
    """Jean Zay's and HECToR's rows, and what is predicted with the same grids."""
    figure, both = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, machine, title in zip(
        both, ("jean-zay", "hector-xt4"), ("Jean Zay, 512^3 r2c and c2r", "HECToR XT4, 512^3 c2c"), strict=True
    ):
        rows = _published(machine, "seconds")
        ranks = [row["ranks"] for row in rows]
        times = [sum(spanfft.predict(problem, machine, row["ranks"])[0].seconds for problem in row["problems"])
                 for row in rows]  # fmt: skip
        axes.plot(ranks, [row["published"] for row in rows], "o", color=RED, label="published")
        axes.plot(ranks, times, "-", color=BLUE, label="predicted, same grids")
        axes.set_title(title, fontsize="small")
        _logs(axes, "ranks", "seconds")
    return figure


def kernels() -> Any:
    """P3's figure 1: five kernels on the T3E and the SP2. Allplanes (`oneplane:all`) by the model, and by P3's fit."""
    figure, both = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    names = (("Allplanes", "oneplane:all", BLUE), ("Oneplane", "oneplane:1", GREEN), ("Overlap", "overlap:1", RED),
             ("Standard", "standard:1", SAND), ("Replace", "replace:1", PURPLE))  # fmt: skip
    for axes, machine, n, ranks in zip(
        both, ("t3e", "sp2"), (256, 128), ([32, 64, 128, 256], [2, 4, 8, 16, 32, 64]), strict=True
    ):
        for name, exchange, colour in names:
            # Who has one plane sends it as a whole.
            each = [exchange if p < n else exchange.replace(":1", ":all") for p in ranks]
            times = [_both_ways(machine, n, p, by) for p, by in zip(ranks, each, strict=True)]
            axes.plot(ranks, times, color=colour, label=name)
        fitted = [_both_ways(machine, n, p, "alltoallv") for p in ranks]
        label = "P3's fits" if machine == "t3e" else "P3's fit of computing"
        axes.plot(ranks, fitted, "--", color=BLUE, label=label)
        for exchange, colour in (("alltoallv", BLUE), ("overlap:1", RED)):
            for row in _published(machine, "seconds", f"exchange={exchange}"):
                axes.plot(row["ranks"], row["published"], "o", color=colour)
        axes.set_title(f"{machine}, {n}^3, forward and inverse; points: P3's", fontsize="small")
        _logs(axes, "processors", "seconds")
    return figure


def duke() -> Any:
    """P5: speed-up over one processor on 100 Mb/s, and slices a message."""
    figure, (speed, slices) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    ranks = [1, 2, 4, 6, 8, 10, 12, 14, 16]
    for n, colour in ((32, GREEN), (64, RED), (128, BLUE)):
        problem = f"c2c {n}x{n}x{n} output=exchanged threads=1"
        times = [spanfft.predict(problem + (f" grid={p} exchange=overlap:1" if p > 1 else ""), "duke-cluster", p,
                                 ranks_per_node=1)[0].seconds for p in ranks]  # fmt: skip
        if n > 32:
            speed.plot(ranks, [times[0] / each for each in times], "-o", color=colour, markersize=3,
                       label=f"{n}^3")  # fmt: skip
        planes = [1 << i for i in range((n // 8).bit_length())]
        by_slices = [spanfft.predict(f"{problem} grid=8 exchange=overlap:{k}", "duke-cluster", 8, ranks_per_node=1)[0]
                     for k in planes]  # fmt: skip
        slices.plot(
            planes, [each.seconds * 1e3 for each in by_slices], "-o", color=colour, markersize=3, label=f"{n}^3"
        )
    speed.plot(ranks, ranks, ":", color="grey", label="ideal")
    speed.set(xlabel="processors, one a node", ylabel="speed-up, predicted")
    speed.legend(fontsize="x-small")
    slices.set_title("8 processors, predicted", fontsize="small")
    _logs(slices, "slices a message", "milliseconds")
    return figure


def regimes() -> Any:
    """Strong scaling with the bounds and what limits where."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    scaling_axes(axes, strong("c2c 2048x2048x2048", "jean-zay"))
    axes.legend(fontsize="small")
    return figure


PICTURES = {
    "foresight-blue-gene": blue_gene,
    "foresight-clusters": clusters,
    "foresight-kernels": kernels,
    "foresight-duke": duke,
    "foresight-regimes": regimes,
}
