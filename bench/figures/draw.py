"""Draws the pictures of docs/out-of-core.md from real plans, into docs/images.

    ./spanfft-dev run python bench/figures/draw.py

Numbers come from `spanfft plan --json` with the built-in figures (not from this machine's probe) and, for matrices,
from src/permute by factors.cpp, which is compiled for it. Needs matplotlib (requirements/bench.txt) and g++.
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
TWO_PASS = "c2c 65536 float memory=512KiB method=two_pass"
PDM = "c2c 4096 float memory=32KiB method=superlevels:block=256,disks=4"
SUPERLEVELS = "c2c 16777216 float memory=64MiB method=superlevels:block=64KiB"
BMMC = ("12", "6", "3", "0", "bit-reversal", "rotation:5")  # n m b d, kinds
LENGTH = "c2c 1073741824 float"
SOLVERS = {"two_pass": BLUE, "many_passes": SAND, "superlevels": GREEN}
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


def draw_two_pass() -> None:
    """Where panels lie in the input, in scratch and in the output."""
    one, two = (step["description"] for step in real(TWO_PASS)["steps"])
    _, n1, n2 = numbers(r"of (\d+) = (\d+)\*(\d+)", one)
    (panels,), (run_bytes,) = numbers(r"(\d+) panels", one), numbers(r"runs of (\d+) B", one)
    columns, rows = numbers(r"blocks of (\d+)x(\d+)", one)
    (panels2,), (run2_bytes,) = numbers(r"(\d+) panels", two), numbers(r"runs of (\d+) B", two)
    width, width2 = run_bytes // 8, run2_bytes // 8
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 4.3), layout="constrained")
    for axes, title in (
        (left, f"input: {n1} x {n2}, row after row in the file\npass 1 reads a panel: {n1} runs of {run_bytes} B"),
        (
            middle,
            f"scratch: blocks of {columns} columns x {rows} rows,\neach contiguous: written in pass 1, read in pass 2",
        ),
        (right, f"output: {n2} x {n1}, natural order\npass 2 writes a panel: {n2} runs of {run2_bytes} B"),
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
    middle.text(0, n1 * 1.06, "blue: panel 1 of pass 1; sand: of pass 2", fontsize=8)
    right.text(0, n2 * 1.06, "columns k1: row k1 of pass 2 becomes a column", fontsize=8)
    figure.suptitle(TWO_PASS, fontsize=9, family="monospace")
    save(figure, "ooc-two-pass")


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
    figure, (top, bottom) = pyplot.subplots(2, 1, figsize=(8, 5.4), layout="constrained", height_ratios=(1, 3.4))
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
    blank(bottom, disks * 4, stripes)
    bottom.set_aspect("auto")
    for stripe in range(stripes):
        for disk in range(disks):
            load = stripe // load_stripes
            colour = (BLUE, GREEN)[load % 2]
            bottom.add_patch(
                Rectangle((disk * 4, stripe), 3.9, 1, fc=colour, ec="white", lw=0.8, alpha=0.35 if load else 0.7)
            )
            first = (stripe * disks + disk) << b
            bottom.text(
                disk * 4 + 1.95, stripe + 0.5, f"{first}..{first + (1 << b) - 1}", ha="center", va="center", fontsize=6
            )
    for disk in range(disks):
        bottom.text(disk * 4 + 1.95, -0.4, f"disk {disk}", ha="center", fontsize=8)
    what = f"N = 2^{n} records, blocks of B = 2^{b}, D = 2^{d}: {stripes} stripes"
    bottom.set_title(
        f"{what}; colours change with the memoryload. A row is a striped parallel I/O.", fontsize=8, pad=12
    )
    figure.suptitle(f"{PDM}\n{p['ios']} parallel I/Os predicted, at most {p['most']}", fontsize=9, family="monospace")
    save(figure, "ooc-pdm")


def factorings() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        program, permute = Path(folder) / "factors", ROOT / "src" / "permute"
        sources = [
            HERE / "factors.cpp",
            *(permute / f"{name}.cpp" for name in ("factor", "bit_matrix", "bit_matrix_names")),
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
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, colour in SOLVERS.items():
        found = [(mib, plan(f"{LENGTH} memory={mib}MiB method={name}")) for mib in MEMORIES_MIB]
        can = [(mib, each) for mib, each in found if each is not None]
        x = [mib for mib, _ in can]
        left.plot(x, [each["predicted"]["seconds"] for _, each in can], "-o", color=colour, ms=4, label=name)
        # The number of sweeps that read and write everything: bytes over bytes.
        size = 8 * int(LENGTH.split()[1])
        moved = [
            (each["predicted"]["disk_read_bytes"] + each["predicted"]["disk_written_bytes"]) / size for _, each in can
        ]
        right.plot(x, moved, "-o", color=colour, ms=4, label=name)
    chosen = [(mib, plan(f"{LENGTH} memory={mib}MiB")) for mib in MEMORIES_MIB]
    x = [mib for mib, each in chosen if each]
    left.plot(
        x, [each["predicted"]["seconds"] for _, each in chosen if each], color=RED, lw=5, alpha=0.25, label="chosen"
    )
    for mib, each in chosen:
        if each and each["solver"] not in SOLVERS:
            place = (mib, each["predicted"]["seconds"])
            left.annotate(each["solver"], place, (-62, 3), textcoords="offset points", fontsize=7)
    for axes, label in ((left, "predicted seconds"), (right, "bytes read and written / bytes of the array")):
        axes.set_xscale("log", base=2)
        names = [f"{mib} MiB" if mib < 1024 else f"{mib >> 10} GiB" for mib in MEMORIES_MIB[::2]]
        axes.set_xticks(MEMORIES_MIB[::2], names, fontsize=7)
        axes.set_xlabel("memory", fontsize=8)
        axes.set_ylabel(label, fontsize=8)
        axes.tick_params(axis="y", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False)
    left.set_yscale("log")
    left.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter(matplotlib.ticker.ScalarFormatter())
    left.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    right.set_ylim(0)
    figure.suptitle(f"{LENGTH} (8 GiB), built-in figures", fontsize=9, family="monospace")
    save(figure, "ooc-choice")


def main() -> None:
    for draw in (draw_two_pass, draw_pdm, draw_bmmc, draw_superlevels, draw_choice):
        draw()


if __name__ == "__main__":
    main()
