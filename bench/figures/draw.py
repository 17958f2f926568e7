"""Draws pictures of the documents (out-of-core, ARCHITECTURE, one-axis-on-ranks) from real plans, into docs/images.

    ./spanfft-dev run python bench/figures/draw.py

Numbers come from `spanfft plan --json` with the built-in figures (not from this machine's probe) and, for matrices,
from src/permute by factors.cpp, which is compiled for it. foresight.py and simulated.py have the pictures of
docs/foresight.md. Needs matplotlib (requirements/bench.txt) and g++.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.ticker
from matplotlib.patches import Rectangle

matplotlib.use("Agg")
from matplotlib import pyplot

matplotlib.rcParams["svg.hashsalt"] = "spanfft"  # the same plans give the same files
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text: small files

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
IMAGES = ROOT / "docs" / "images"
BLUE, SAND, RED, GREY, GREEN, PURPLE = "#1f6f8b", "#d99a2b", "#c2452d", "#b9c4c9", "#5aa469", "#7a5195"
# The plans that are drawn.
TWO_SWEEPS = "c2c 65536 float memory=512KiB method=two_sweeps"
PDM = "c2c 4096 float memory=32KiB method=superlevels:block=256,disks=4"
SUPERLEVELS = "c2c 16777216 float memory=64MiB method=superlevels:block=64KiB"
BMMC = ("12", "6", "3", "0", "bit-reversal", "rotation:5")  # n m b d, kinds
LENGTH = "c2c 1073741824 float"
LINE = "c2c 64 ranks=4 exchange=alltoallv"
# Of P1's four methods: 2^lg records, bytes of memory a processor and of a block, processors, disks.
BANDS = (8, 1024, 64, 4, 4)
ON_RANKS = "c2c 65536 float memory=128KiB ranks=4 method=two_sweeps"
SOLVERS = {"two_sweeps": BLUE, "many_sweeps": SAND, "superlevels": GREEN}
MEMORIES_MIB = [2**k for k in range(1, 15)]


@functools.cache
def plan(problem: str) -> dict[str, Any] | None:
    """None where the solver declines."""
    # An empty folder of measured figures: the built-in ones, so that everybody draws the same.
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "XDG_CONFIG_HOME": empty, "XDG_CACHE_HOME": empty, "HOME": empty}
        command = [sys.executable, "-m", "spanfft", "plan", f"{problem} threads=2", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    if done.returncode == 4:  # out of memory: this solver needs more
        return None
    if done.returncode:
        raise SystemExit(f"{problem}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def real(problem: str) -> dict[str, Any]:
    found = plan(problem)
    if found is None:
        raise SystemExit(f"{problem}: no plan")
    return found


def numbers(pattern: str, text: str) -> tuple[int, ...]:
    found = re.search(pattern, text)
    if not found:
        raise SystemExit(f"no {pattern!r} in {text!r}: has its wording changed?")
    return tuple(map(int, found.groups()))


def blank(axes: Any, width: float, height: float) -> None:
    axes.set_xlim(-0.02 * width, 1.02 * width)
    axes.set_ylim(1.02 * height, -0.02 * height)
    axes.set_aspect("equal")
    axes.axis("off")


def save(figure: Any, name: str) -> None:
    path = IMAGES / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print(f"{path.name}  {path.stat().st_size >> 10} KiB")


def draw_two_sweeps() -> None:
    """Where panels lie in the input, in scratch and in the output."""
    one, two = (step["description"] for step in real(TWO_SWEEPS)["steps"])
    _, n1, n2 = numbers(r"of (\d+) = (\d+)\*(\d+)", one)
    (panels,), (run_bytes,) = numbers(r"(\d+) panels", one), numbers(r"runs of (\d+) B", one)
    columns, rows = numbers(r"blocks of (\d+)x(\d+)", one)
    (panels2,), (run2_bytes,) = numbers(r"(\d+) panels", two), numbers(r"runs of (\d+) B", two)
    width, width2 = run_bytes // 8, run2_bytes // 8
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 4.3), layout="constrained")
    for axes, title in (
        (left, f"input: {n1} x {n2}, row after row in the file\nsweep 1 reads a panel: {n1} runs of {run_bytes} B"),
        (
            middle,
            f"scratch: blocks of {columns} columns x {rows} rows,\neach contiguous: sweep 1 writes them, 2 reads them",
        ),
        (right, f"output: {n2} x {n1}, natural order\nsweep 2 writes a panel: {n2} runs of {run2_bytes} B"),
    ):
        blank(axes, n2, n1)
        axes.add_patch(Rectangle((0, 0), n2, n1, fc="#f6f6f6", ec="#444444", lw=0.8))
        axes.set_title(title, fontsize=8)
    for panel in range(panels):
        wide = min(width, n2 - panel * width)
        left.add_patch(
            Rectangle((panel * width, 0), wide, n1, fc=BLUE if panel == 1 else "none", ec=BLUE, lw=0.8, alpha=0.75)
        )
        left.text(panel * width + wide / 2, n1 / 2, str(panel), ha="center", fontsize=9)
    for x in range(0, n2, columns):
        for y in range(0, n1, rows):
            first, second = width <= x < 2 * width, width2 <= y < 2 * width2
            colour = PURPLE if first and second else BLUE if first else SAND if second else "none"
            middle.add_patch(Rectangle((x, y), columns, rows, fc=colour, ec="#999999", lw=0.4, alpha=0.75))
    for panel in range(panels2):
        wide = min(width2, n1 - panel * width2)
        right.add_patch(
            Rectangle((panel * width2, 0), wide, n2, fc=SAND if panel == 1 else "none", ec=SAND, lw=0.8, alpha=0.75)
        )
        right.text(panel * width2 + wide / 2, n2 / 2, str(panel), ha="center", fontsize=9)
    left.text(0, n1 * 1.06, "columns j2: transforms over j1", fontsize=8)
    middle.text(0, n1 * 1.06, "blue: panel 1 of sweep 1; sand: of sweep 2", fontsize=8)
    right.text(0, n2 * 1.06, "columns k1: row k1 of sweep 2 becomes a column", fontsize=8)
    figure.suptitle(TWO_SWEEPS, fontsize=9, family="monospace")
    save(figure, "ooc-two-sweeps")


def pdm_of(problem: str) -> dict[str, int]:
    notes = " ".join(real(problem)["notes"])
    n, m, b, d = numbers(r"N=2\^(\d+), M=F=2\^(\d+), B=2\^(\d+), D=2\^(\d+)", notes)
    ios, most = numbers(r"(\d+) parallel I/Os predicted, at most (\d+)", notes)
    return {"n": n, "m": m, "b": b, "d": d, "ios": ios, "most": most}


def draw_pdm() -> None:
    """The bits of an index, and which blocks lie where."""
    p = pdm_of(PDM)
    n, m, b, d = (p[key] for key in "nmbd")
    stripes, disks, load_stripes = 1 << (n - b - d), 1 << d, 1 << (m - b - d)
    figure, (top, bottom) = pyplot.subplots(2, 1, figsize=(8, 4.6), layout="constrained", height_ratios=(1, 2.4))
    blank(top, n, 2.6)
    for bit in range(n):
        place = n - 1 - bit
        colour = GREY if bit < b else SAND if bit < b + d else BLUE
        top.add_patch(Rectangle((place, 0.6), 1, 1, fc=colour, ec="white", alpha=0.8))
        top.text(place + 0.5, 1.1, str(bit), ha="center", va="center", fontsize=8)
    for low, high, name in ((b + d, n, "stripe"), (b, b + d, "disk"), (0, b, "offset in the block")):
        top.text(n - (low + high) / 2, 0.35, f"{name}: {high - low} bits", ha="center", fontsize=8)
    top.plot([n - m, n - m], [0.5, 2.0], color=RED, lw=1.2)
    top.text(n - m + 0.05, 2.25, f"the low {m} bits: place in a memoryload of M = 2^{m} records", fontsize=8, color=RED)
    shown = [*range(2 * load_stripes + 1), None, stripes - 1]  # None: the stripes left out
    blank(bottom, disks * 4 + 3.2, len(shown))
    bottom.set_aspect("auto")
    for row, stripe in enumerate(shown):
        if stripe is None:
            bottom.text(disks * 2, row + 0.5, "...", ha="center", va="center", fontsize=11)
            continue
        bottom.text(-0.15, row + 0.5, f"stripe {stripe}", ha="right", va="center", fontsize=8)
        for disk in range(disks):
            first = (stripe * disks + disk) << b
            colour = (BLUE, SAND)[stripe // load_stripes % 2]
            bottom.add_patch(Rectangle((disk * 4, row), 3.9, 0.92, fc=colour, ec="none", alpha=0.35))
            records = f"{first} to {first + (1 << b) - 1}"
            bottom.text(disk * 4 + 1.95, row + 0.46, records, ha="center", va="center", fontsize=8)
    for disk in range(disks):
        bottom.text(disk * 4 + 1.95, -0.25, f"disk {disk}", ha="center", fontsize=9)
    for load in range(2):
        top_row, bottom_row = load * load_stripes + 0.08, (load + 1) * load_stripes - 0.16
        bottom.plot([disks * 4 + 0.15] * 2, [top_row, bottom_row], color=(BLUE, SAND)[load], lw=2)
        middle = (top_row + bottom_row) / 2
        bottom.text(disks * 4 + 0.4, middle, f"memoryload {load}", va="center", fontsize=8)
    top.set_title("(a) the bits of a record's index", fontsize=9, loc="left")
    what = (
        f"(b) where records lie: N = {1 << n}, blocks of B = {1 << b}, D = {disks} disks, memory M = {1 << m} records"
    )
    bottom.set_title(what, fontsize=9, loc="left", pad=14)
    save(figure, "ooc-pdm")


def factorings() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        program, permute = Path(folder) / "factors", ROOT / "src" / "permute"
        sources = [
            HERE / "factors.cpp",
            *(permute / f"{name}.cpp" for name in ("factor", "bit_matrix", "bit_matrix_names")),
            ROOT / "src" / "core" / "nearest.cpp",
        ]
        command = ["g++", "-std=c++20", "-O1", f"-I{ROOT / 'src'}", "-o", str(program), *map(str, sources)]
        subprocess.run(command, check=True, timeout=300)
        said = subprocess.run([str(program), *BMMC], check=True, capture_output=True, text=True, timeout=60).stdout
    return [json.loads(line) for line in said.splitlines()]


def draw_bmmc() -> None:
    """Matrices of real factorings, phi framed."""
    n, m, b, d = map(int, BMMC[:4])
    found = factorings()
    most = 1 + max(len(each["factors"]) for each in found)
    figure, grid = pyplot.subplots(len(found), most, figsize=(2.5 * most, 2.9 * len(found)), layout="constrained")
    for row, each in zip(grid, found, strict=True):
        whole = {"sweep": each["kind"], "matrix": each["matrix"], "rank_phi": each["rank_phi"]}
        for column, axes in enumerate(row):
            blank(axes, n, n)
            if column > len(each["factors"]):
                continue
            shown = [whole, *each["factors"]][column]
            for i, digits in enumerate(shown["matrix"]):
                for j, digit in enumerate(digits):
                    if digit == "1":
                        axes.add_patch(
                            Rectangle((j, i), 1, 1, fc=RED if i >= m and j < m else BLUE, ec="white", lw=0.3)
                        )
            axes.add_patch(Rectangle((0, 0), n, n, fc="none", ec="#444444", lw=0.8))
            axes.add_patch(Rectangle((0, m), m, n - m, fc="none", ec=RED, lw=1.2))
            axes.plot([0, n], [b, b], color=GREY, lw=0.7, ls=":")
            axes.plot([m, m], [0, n], color=GREY, lw=0.7, ls=":")
            label = f"{shown['sweep']} =" if column == 0 else f"sweep {column}: {shown['sweep']}"
            axes.set_title(f"{label}\nrank phi {shown['rank_phi']}", fontsize=8)
    what = f"n = {n}, m = {m}, b = {b}, d = {d}: the permutation is (last sweep) ... (sweep 2)(sweep 1)"
    figure.suptitle(f"{what}. Bit 0 is at the top left; phi is framed", fontsize=8)
    save(figure, "ooc-bmmc")


def draw_superlevels() -> None:
    """Where the bits of the output's index lie after each step; butterflies act on the low m bits of a place."""
    p = pdm_of(SUPERLEVELS)
    n, m = p["n"], p["m"]
    bits = [("x", i) for i in range(n)]  # bits[q]: what bit q of a place is; of the input, highest name on top
    lines: list[tuple[str, list[tuple[str, int]], range]] = [("input", list(bits), range(0))]
    done = 0
    for step in real(SUPERLEVELS)["steps"]:
        text = step["description"]
        touched = range(0)
        if step["type"] == "Permute":
            what = text.split(":")[0]
            if what.startswith("bit reversal"):
                bits = bits[::-1]
            else:
                (k,) = numbers(r"right rotation by (\d+)", what)
                bits = bits[k:] + bits[:k]
            if "reversal of the low" in what:
                (k,) = numbers(r"reversal of the low (\d+)", what)
                bits = bits[:k][::-1] + bits[k:]
            sweeps = re.search(r"\d+ sweeps?", text)
            label = f"{what}  ({sweeps[0] if sweeps else ''})"
        else:
            count, points = numbers(r"of (\d+) mini-butterflies of (\d+) points", text)
            depth = points.bit_length() - 1
            touched = range(depth)
            # An engine takes the points of a mini-butterfly in natural order and leaves them in natural order.
            bits = [("k", done + i) for i in range(depth)] + bits[depth:]
            done += depth
            label = f"superlevel: 2^{count.bit_length() - 1} mini-butterflies, depth {depth}"
        lines.append((label, list(bits), touched))
    if bits != [("k", i) for i in range(n)]:
        raise SystemExit(f"superlevels do not end in natural order: {bits}")
    figure, axes = pyplot.subplots(figsize=(9.5, 0.62 * len(lines) + 0.9), layout="constrained")
    axes.set_xlim(-0.3, 1.62 * n)
    axes.set_ylim(len(lines) + 0.1, -0.9)
    axes.axis("off")
    for y, (label, state, touched) in enumerate(lines):
        for q, (kind, number) in enumerate(state):
            place = n - 1 - q
            axes.add_patch(Rectangle((place, y), 0.95, 0.72, fc=BLUE if kind == "k" else GREY, alpha=0.75,
                                     ec=RED if q in touched else "white", lw=1.3 if q in touched else 0.5))  # fmt: skip
            axes.text(place + 0.47, y + 0.37, f"{number}", ha="center", va="center", fontsize=6.5)
        axes.text(n + 0.4, y + 0.37, label, va="center", fontsize=7.5)
    axes.plot([n - m - 0.03] * 2, [-0.3, len(lines) - 0.1], color=RED, lw=1)
    axes.text(n - m, -0.45, f"low m = {m} bits: within a memoryload", fontsize=7.5, color=RED)
    what = "bits of a place, highest left; grey: bits of the input's index, blue: of the output's"
    figure.suptitle(f"{SUPERLEVELS}\n{what}", fontsize=8, family="monospace")
    save(figure, "ooc-superlevels")


def draw_choice() -> None:
    """Predicted seconds, and bytes moved, of each solver against memory."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    size_bytes = 8 * int(LENGTH.split()[1])
    chosen = [(mib, plan(f"{LENGTH} memory={mib}MiB")) for mib in MEMORIES_MIB]
    x, seconds = zip(*((mib, each["predicted"]["seconds"]) for mib, each in chosen if each), strict=True)
    left.plot(x, seconds, color=GREY, lw=7, alpha=0.6, label="what the planner chooses", solid_capstyle="round")
    for (name, colour), marker in zip(SOLVERS.items(), "osD", strict=True):
        found = [(mib, plan(f"{LENGTH} memory={mib}MiB method={name}")) for mib in MEMORIES_MIB]
        can = [(mib, each["predicted"]) for mib, each in found if each is not None]
        x = [mib for mib, _ in can]
        style = {"color": colour, "marker": marker, "ms": 4, "lw": 1.3, "label": name}
        left.plot(x, [each["seconds"] for _, each in can], **style)
        moved = [(each["disk_read_bytes"] + each["disk_written_bytes"]) / size_bytes for _, each in can]
        right.plot(x, moved, **style)
    for mib, each in chosen:
        if each and each["solver"] not in SOLVERS:
            left.annotate(each["solver"].split(" ")[0], (mib, each["predicted"]["seconds"]), (-8, -4), ha="right",
                          textcoords="offset points", fontsize=8)  # fmt: skip
    right.axhline(4, color="#444444", lw=0.8, ls=":")
    right.text(MEMORIES_MIB[0], 3.5, "two sweeps: each byte read twice, written twice", fontsize=7.5, va="top")
    for axes, title, label in ((left, "(a) predicted time", "seconds"),
                               (right, "(b) disk traffic", "bytes moved / bytes of the array")):  # fmt: skip
        axes.set_xscale("log", base=2)
        names = [f"{mib} MiB" if mib < 1024 else f"{mib >> 10} GiB" for mib in MEMORIES_MIB[::2]]
        axes.set_xticks(MEMORIES_MIB[::2], names, fontsize=8)
        axes.set_xlabel("memory budget", fontsize=9)
        axes.set_ylabel(label, fontsize=9)
        axes.set_title(title, fontsize=10, loc="left")
        axes.tick_params(axis="y", labelsize=8)
        axes.grid(axis="y", color="#e6e6e6", lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(fontsize=8, frameon=False)
    left.set_yscale("log")
    left.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter(matplotlib.ticker.ScalarFormatter())
    left.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    right.set_ylim(0)
    save(figure, "ooc-choice")


# Of the flow's picture: x, y, width, height, title, second line, colour.
_CALM, _WARM, _FRESH, _SOFT = "#dce9f7", "#f8efd8", "#dff0df", "#f7e1e1"


def draw_line() -> None:
    """One axis over ranks: who holds which point between the exchanges of `lines`."""
    found = real(LINE)
    steps = [step["type"] for step in found["steps"]]
    layouts = [step["description"] for step in found["steps"] if step["type"] == "Exchange"]
    if steps.count("Exchange") != 3:
        raise SystemExit(f"{LINE}: three exchanges were expected, the plan has {steps}")
    n1, n2 = numbers(r"\[(\d+)/\d+, (\d+)\]", layouts[0])
    ranks = numbers(r"\[\d+/(\d+), \d+\]", layouts[0])[0]
    states = [
        ("x[j2 + n2 j1]", n1, n2, "rows"),
        ("transform columns,\ntwiddle", n1, n2, "columns"),
        ("transform rows", n1, n2, "rows"),
        ("X[k1 + n1 k2]", n1, n2, "columns"),
    ]
    colours = [BLUE, SAND, GREEN, PURPLE]
    figure, axes = pyplot.subplots(figsize=(9.5, 2.9))
    cell, gap = 1.0, 6.4
    for number, (title, height, width, by) in enumerate(states):
        left = number * (n2 * cell + gap)
        for row in range(height):
            for column in range(width):
                owner = row * ranks // height if by == "rows" else column * ranks // width
                axes.add_patch(Rectangle((left + column * cell, -row * cell), cell, -cell, facecolor=colours[owner],
                                         edgecolor="white", linewidth=1))  # fmt: skip
        middle = left + width * cell / 2
        axes.text(middle, 0.5, title, ha="center", va="bottom", fontsize=9)
        axes.text(middle, -height * cell - 0.4, f"a rank has {by}", ha="center", va="top", fontsize=9)
        if number:
            at = -height * cell / 2
            axes.annotate("", (left - 0.3, at), (left - gap + 0.3, at), arrowprops={"arrowstyle": "-|>"})
            axes.text(left - gap / 2, at + 0.3, f"exchange {number}", ha="center", va="bottom", fontsize=9)
    blank(axes, 4 * n2 * cell + 3 * gap, n1 * cell)
    axes.set_xlim(-1, 4 * n2 * cell + 3 * gap + 1)
    axes.set_ylim(-n1 * cell - 2, 2.6)
    save(figure, "line-exchanges")


def _box(axes: Any, x: float, y: float, width: float, height: float, title: str, text: str, colour: str) -> None:
    axes.add_patch(Rectangle((x, y), width, height, fc=colour, ec="#333333", lw=0.9))
    lines = 1 + text.count("\n") if text else 0
    axes.text(x + width / 2, y + height / 2 - 1.15 * lines, title, ha="center", va="center", fontsize=10,
              fontweight="bold")  # fmt: skip
    if text:
        axes.text(x + width / 2, y + height / 2 + 1.45, text, ha="center", va="center", fontsize=8)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], text: str = "", **style: Any) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "lw": 0.9, "color": "#333333", **style})
    if text:
        middle = (start[0] + end[0]) / 2 + 0.8, (start[1] + end[1]) / 2
        axes.text(*middle, text, fontsize=8, va="center", style="italic")


def solvers() -> list[str]:
    """Names in the order of the table."""
    table = (ROOT / "src" / "solvers" / "table.cpp").read_text()
    found = re.findall(r'\{"(\w+)", "[^"]*", solve_\w+,', table)
    if len(found) < 10:
        raise SystemExit(f"only {found} in src/solvers/table.cpp: has its form changed?")
    return found


def draw_flow() -> None:
    """What becomes of a problem: who makes the plan, who runs it, what is compared."""
    figure, axes = pyplot.subplots(figsize=(9, 6.6), layout="constrained")
    axes.set_xlim(0, 100)
    axes.set_ylim(72, 0)
    axes.axis("off")
    _box(axes, 1, 1, 98, 6, "Python, command line, C, C++", "", "#eeeeee")
    _box(axes, 1, 14, 22, 8, "Problem", "a value; prints as one line", _CALM)
    _box(axes, 36, 14, 28, 8, "Planner", "asks every solver; keeps the\nfewest predicted seconds", _CALM)
    _box(axes, 77, 14, 22, 8, "Machine", "figures that turn\ncounts into seconds", _WARM)
    _arrow(axes, (12, 7), (12, 14), "shape, kinds, layouts, budget")
    _arrow(axes, (23, 18), (36, 18))
    _arrow(axes, (77, 18), (64, 18))
    axes.add_patch(Rectangle((1, 28), 98, 13, fc="#f4f8fd", ec="#333333", lw=0.9))
    axes.text(2, 30, "Solvers: each declines with a sentence, or answers with a plan", fontsize=9, va="center")
    names = solvers()
    columns = -(-len(names) // 4)
    for i, name in enumerate(names):
        width = 96 / columns
        x, y = 2 + i % columns * width, 31.3 + i // columns * 2.4
        axes.add_patch(Rectangle((x, y), width - 0.8, 2.05, fc=_CALM, ec="#333333", lw=0.6))
        axes.text(x + width / 2 - 0.4, y + 1.1, name, ha="center", va="center", fontsize=8, family="monospace")
    _arrow(axes, (47, 22), (47, 28), "problem")
    _arrow(axes, (60, 28), (60, 22), "plan, or why not")
    what = "steps, the same value on all ranks;\neach predicts, describes itself, can be bound"
    _box(axes, 1, 48, 44, 8, "Plan", what, _FRESH)
    _box(
        axes,
        56,
        48,
        43,
        8,
        "Executor",
        "binds steps to buffers, ranks and files;\nallocates before it runs, not while",
        _FRESH,
    )
    _arrow(axes, (23, 41), (23, 48), "the chosen one")
    _arrow(axes, (45, 52), (56, 52))
    axes.plot([99.4, 99.4], [4, 4], lw=0)
    _box(axes, 1, 63, 30, 8, "explain", "predicted beside counted,\nstep by step; why others lost", _WARM)
    for x, title, text in ((40, "Engine", "local transforms"), (61, "Comm", "ranks"), (82, "Store", "bytes on disk")):
        _box(axes, x, 63, 17, 8, title, text, _SOFT)
    _arrow(axes, (12, 56), (12, 63), "predicted")
    _arrow(axes, (62, 56), (29, 63), linestyle="--")
    axes.text(42, 61.7, "counted", fontsize=8, va="center", style="italic")
    for x in (52, 69.5, 90):
        _arrow(axes, (max(x, 58), 56), (x, 63))
    save(figure, "flow")


def analysis() -> dict[str, Any]:
    lg, memory, block, processors, disks = map(str, BANDS)
    command = [sys.executable, "-m", "spanfft", "analyse", f"2^{lg}", "--memory", memory, "--block-bytes", block,
               "--processors", processors, "--disks", disks, "--sync", "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def draw_bands() -> None:
    """P1's four methods: which processor has which record, and what a mini-butterfly and a memoryload are."""
    found = analysis()
    records, processors = found["instance"]["records"], found["instance"]["processors"]
    colours = (BLUE, SAND, GREEN, PURPLE)
    figure, axes = pyplot.subplots(figsize=(10, 3.9), layout="constrained")
    axes.set_xlim(-0.31 * records, 1.02 * records)
    axes.set_ylim(len(found["methods"]) + 0.1, -0.75)
    axes.axis("off")
    for row, method in enumerate(found["methods"]):
        band, load, size = method["band_records"], method["memoryload_records"], method["effective_records"]
        share = band // processors
        for first in range(0, records, share):
            owner = first % band // share
            axes.add_patch(Rectangle((first, row), share, 0.42, fc=colours[owner], ec="white", lw=0.3, alpha=0.85))
        for first in range(0, records, load):
            axes.add_patch(Rectangle((first, row - 0.05), load, 0.52, fc="none", ec="#222222", lw=1.1))
        for first in range(0, records, size):
            axes.plot([first + 0.6, first + size - 0.6], [row + 0.6] * 2, color=RED, lw=1.6, solid_capstyle="butt")
        sent = f"{method['butterfly_messages']} + {method['bmmc_messages']}"
        axes.text(-0.305 * records, row + 0.2, method["method"], fontsize=8.5, family="monospace", va="center")
        axes.text(-0.305 * records, row + 0.52, f"band {band}, F = {size}; messages {sent}", fontsize=7.5, va="center")
    for owner in range(processors):
        x = owner * 0.16 * records
        axes.add_patch(Rectangle((x, -0.62), 0.02 * records, 0.2, fc=colours[owner], alpha=0.85))
        axes.text(x + 0.027 * records, -0.52, f"processor {owner}", fontsize=8, va="center")
    axes.text(0.66 * records, -0.52, "frames: memoryloads; red: mini-butterflies of F", fontsize=8, va="center")
    save(figure, "ooc-bands")


def draw_ranks() -> None:
    """Loads and ranks: what each rank reads, keeps and writes in both sweeps of two_sweeps."""
    one, two = (step["description"] for step in real(ON_RANKS)["steps"])
    _, n1, n2 = numbers(r"of (\d+) = (\d+)\*(\d+)", one)
    rounds, run_bytes = numbers(r"(\d+) panels in runs of (\d+) B of all ranks together", one)
    (panels,) = numbers(r"(\d+) panels", two)
    colours = (BLUE, SAND, GREEN, PURPLE)
    ranks, width = len(colours), run_bytes // 8
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 4.1), layout="constrained")
    for axes, title in (
        (
            left,
            f"input, {n1} x {n2}: {rounds} loads of {width} columns;\neach rank reads its rows of a load,\n"
            f"an exchange gives it {width // ranks} whole columns",
        ),
        (middle, "scratch: a second exchange\nafter each tile of columns;\neach rank keeps its rows on its own disk"),
        (
            right,
            f"output, {n2} x {n1}: each rank transforms its rows\nand writes them in {panels} loads, without a message",
        ),
    ):
        blank(axes, 1, 1)
        axes.set_title(title, fontsize=8)
    for rank, colour in enumerate(colours):
        style = {"fc": colour, "ec": "white", "lw": 0.8, "alpha": 0.75}
        for load in range(rounds):
            left.add_patch(Rectangle((load / rounds, rank / ranks), 1 / rounds, 1 / ranks, **style))
            left.text((load + 0.5) / rounds, (rank + 0.5) / ranks, str(load), ha="center", va="center", fontsize=7)
        middle.add_patch(Rectangle((0, rank / ranks), 1, 1 / ranks, **style))
        middle.text(0.5, (rank + 0.5) / ranks, f"rank {rank}", ha="center", va="center", fontsize=9)
        for load in range(panels):
            x, wide = (rank + load / panels) / ranks, 1 / ranks / panels
            right.add_patch(Rectangle((x, 0), wide, 1, **style))
            right.text(x + wide / 2, 0.5, str(load), ha="center", fontsize=7)
    left.text(0, 1.08, "numbers: loads, one after another; colours: ranks, at the same time", fontsize=8)
    figure.suptitle(ON_RANKS, fontsize=9, family="monospace")
    save(figure, "ooc-ranks")


def draw_figure8() -> None:
    """P1's figure 8, as spanfft analyse counts it with its own block size."""
    from spanfft._analyse import figure8
    from spanfft._draw import shares_figure

    found = figure8(4096)
    save(shares_figure(found.shares(), found.instances), "ooc-figure8")


def draw_foresight() -> None:
    """Predictions of machines that are not here, beside what was published of them."""
    sys.path.insert(0, str(HERE))
    from foresight import PICTURES

    for name, picture in PICTURES.items():
        save(picture(), name)


def draw_simulated() -> None:
    """Simulated exchanges, beside predictions."""
    sys.path.insert(0, str(HERE))
    from simulated import PICTURES

    for name, picture in PICTURES.items():
        save(picture(), name)


def main() -> None:
    for draw in (draw_flow, draw_line, draw_two_sweeps, draw_ranks, draw_pdm, draw_bmmc, draw_superlevels, draw_choice,
                 draw_bands, draw_figure8, draw_foresight, draw_simulated):  # fmt: skip
        draw()


if __name__ == "__main__":
    main()
