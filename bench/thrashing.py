"""What demand paging costs: three FFTs on a mapped file, beside two_sweeps and superlevels in the same memory.

    ./spanfft-dev run python bench/thrashing.py [--memory 64MiB] [--lg 20 ...] [--method NAME ...] [--cap 60]
    ./spanfft-dev run python bench/thrashing.py --plot       anew from the committed rows

P1, section 3, on today's machine. bench/paging/paged_fft.c has the three (complex doubles); a memory control group with
the budget and ROOM_BYTES for the program holds each, spanfft's runs have the budget as their --memory in a group with
room for Python. Without such a group nothing is measured. Rows go to PAGING.json: seconds inside the program, until the
result is on disk; page faults as getrusage and the group count them; and time per butterfly, seconds / (N/2 lg N), as
in P1's figure 2. What runs longer than the cap is stopped: its time is then a lower bound, and `projected_seconds` is
what its progress lets expect, without the phases that it never began. Each method runs with the kernel's read-ahead
(normal) and without (random); a statement against demand paging is one against the best of all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import file_runs
import machine
import numpy as np
from file_peers import npy_values
from peers import Absent

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "paging" / "paged_fft.c"
STATE = HERE.parent / ".spanfft" / "bench"
METHODS = ("cooley-tukey", "stockham", "swarztrauber")
ADVICES = ("normal", "random")
OURS = ("two_sweeps", "superlevels")
RENAMED = {"two_pass": "two_sweeps"}  # rows keep the name that the method had when they were taken
ROOM_BYTES = 2 << 20
Row = dict[str, Any]


def build() -> Path:
    """The compiled program, one for each version of its source."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    program = STATE.parent / "peers" / f"paged-fft-{digest}"
    if not program.exists():
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            raise Absent("no C compiler, so bench/paging/paged_fft.c can't be compiled")
        program.parent.mkdir(parents=True, exist_ok=True)
        # -fcx-limited-range: complex products without checks for infinities.
        command = [compiler, "-std=gnu11", "-O2", "-fcx-limited-range", "-Wall", "-Wextra", "-Werror"]
        # Several tests may come here at once: none may run what another one's linker still writes.
        own = program.with_name(f"{program.name}.{os.getpid()}")
        subprocess.run([*command, "-o", str(own), str(SOURCE), "-lm"], check=True, timeout=60)
        own.replace(program)
    return program


def paged(method: str, advice: str, lg: int, data: Path, group: file_runs.Group, cap_seconds: float) -> Row:
    """One run of the program on `data`, in place. Raises Absent with the reason where it failed."""
    before = group.faults()
    command = [str(build()), method, str(data), str(lg), str(cap_seconds), advice]
    outcome = file_runs.run_command(command, data, group, 3 * cap_seconds + 60)
    if outcome.reason:
        raise Absent(outcome.reason)
    after, said = group.faults(), outcome.said
    projected = sum(p["seconds"] * (p["of"] / max(1, p["done"])) for p in said["phases"])
    return {
        **said,
        "projected_seconds": max(projected, said["seconds"]),
        "major_faults": sum(p["major_faults"] for p in said["phases"]),
        "group_faults": {name: after[name] - before.get(name, 0) for name in after},
    }


def result_of(data: Path, said: Row) -> Path:
    return data.with_name(data.name + ".work") if said["in_work"] else data


class Series:
    """One memory budget, several lengths."""

    def __init__(self, folder: Path, memory_bytes: int, cap_seconds: float):
        self.folder, self.memory_bytes, self.cap_seconds = folder, memory_bytes, cap_seconds
        self.data = folder / "data.bin"

    def rows(self, lg: int, repeats: int, methods: Sequence[str], advices: Sequence[str]) -> list[Row]:
        """In turns, spanfft's first; what was stopped or failed is not run again."""
        n = 1 << lg
        self.source = file_runs.make_input(self.folder / "in.npy", (n,), "complex128", (n,))
        runs: dict[tuple[str, str], list[Row]] = {(name, ""): [] for name in OURS}
        runs |= {(name, advice): [] for name in methods for advice in advices}
        for _ in range(repeats):
            for (name, advice), done in runs.items():
                if done and (done[-1]["stopped"] or done[-1]["absent"]):
                    continue
                run = self._ours(name) if name in OURS else self._paged(name, advice, lg)
                said = run["absent"] or f"{run['seconds']:.2f} s{' (stopped)' if run['stopped'] else ''}"
                print(f"   2^{lg} {name} {advice}: {said}", file=sys.stderr, flush=True)
                done.append(run)
        return [self._row(name, advice, lg, done) for (name, advice), done in runs.items()]

    def _ours(self, method: str) -> Row:
        group = file_runs.Group(self.memory_bytes + file_runs.SLACK_BYTES)
        target = self.folder / "out.npy"
        command = [sys.executable, "-m", "spanfft", "transform", str(self.source.path), str(target), "--method", method]
        file_runs.drop(self.source.path)
        outcome = file_runs.run_command(
            [*command, "--memory", f"{self.memory_bytes >> 20}MiB", "--json"], target, group, self.cap_seconds + 60
        )
        if not outcome.reason:
            self._check(npy_values(target, self.source.places))
        target.unlink(missing_ok=True)
        faults = group.faults()
        group.close()
        return {"seconds": outcome.said.get("seconds"), "stopped": False, "absent": outcome.reason or None,
                "group_faults": faults}  # fmt: skip

    def _paged(self, method: str, advice: str, lg: int) -> Row:
        if method == "swarztrauber" and lg % 2:
            return {"absent": "for even powers of two", "stopped": False}
        group = file_runs.Group(self.memory_bytes + ROOM_BYTES)
        np.load(self.source.path, mmap_mode="r").tofile(self.data)
        file_runs.drop(self.data)
        try:
            run = paged(method, advice, lg, self.data, group, self.cap_seconds)
            if not run["stopped"]:
                self._check(np.memmap(result_of(self.data, run), np.complex128, "r")[self._indices()])
            return {**run, "absent": None}
        except Absent as reason:
            return {"absent": str(reason), "stopped": False}
        finally:
            group.close()
            self.data.unlink(missing_ok=True)
            self.data.with_name(self.data.name + ".work").unlink(missing_ok=True)

    def _indices(self) -> list[int]:
        return [place[0] for place in self.source.places]

    def _check(self, values: Any) -> None:
        error = self.source.error(np.asarray(values))
        if not error < file_runs.TOLERANCES["double"]:
            raise SystemExit(f"wrong result: relative error {error:.2g}")

    def _row(self, name: str, advice: str, lg: int, done: list[Row]) -> Row:
        last, butterflies = done[-1], (1 << lg) / 2 * lg
        row: Row = {"method": name, "advice": advice, "lg_n": lg, "memory_bytes": self.memory_bytes,
                    "bytes": 16 << lg, "absent": last["absent"], "stopped": last["stopped"],
                    "cap_seconds": self.cap_seconds}  # fmt: skip
        if last["absent"]:
            return row
        seconds = [run["seconds"] for run in done]
        median = statistics.median(seconds)
        row |= {"seconds": seconds, "median": median, "spread": max(seconds) - min(seconds),
                "normalised_us": 1e6 * median / butterflies, "group_faults": last["group_faults"]}  # fmt: skip
        if name in METHODS:
            projected = statistics.median(run["projected_seconds"] for run in done)
            row |= {"phases": last["phases"], "major_faults": last["major_faults"], "projected_seconds": projected,
                    "projected_us": 1e6 * projected / butterflies}  # fmt: skip
        return row


def method_of(row: Row) -> str:
    return str(RENAMED.get(row["method"], row["method"]))


def best_paged(rows: list[Row], lg: int, memory_bytes: int) -> Row | None:
    """The fastest demand-paged run of that length; a stopped one counts with the time it had run."""
    mine = [row for row in rows if (row["lg_n"], row["memory_bytes"]) == (lg, memory_bytes) and not row["absent"]]
    return min((row for row in mine if method_of(row) in METHODS), key=lambda row: row["median"], default=None)


def table(rows: list[Row]) -> str:
    heads = [
        "N",
        "data / memory",
        "method",
        "read-ahead",
        "runs",
        "seconds",
        "us a butterfly",
        "major faults",
        "of two_sweeps",
    ]
    lines = [f"| {' | '.join(heads)} |", "|---:|---:|---|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        start = f"| 2^{row['lg_n']} | {row['bytes'] / row['memory_bytes']:.3g} | {method_of(row)} | {row['advice']} |"
        if row["absent"]:
            lines.append(f"{start} | {row['absent'].replace('|', '/')} | | | |")
            continue
        ours = [r for r in rows if (method_of(r), r["lg_n"], r["memory_bytes"])
                == ("two_sweeps", row["lg_n"], row["memory_bytes"]) and not r["absent"]]  # fmt: skip
        at_least = "over " if row["stopped"] else ""
        times = f"{at_least}{row['median'] / ours[0]['median']:.3g}" if ours else ""
        lines.append(f"{start} {len(row['seconds'])} | {at_least}{row['median']:.3g} | "
                     f"{at_least}{row['normalised_us']:.3g} | {row.get('major_faults', '')} | {times} |")  # fmt: skip
    return "\n".join(lines)


def plot(rows: list[Row], path: Path) -> None:
    """P1's figure 2 anew, of one memory: time per butterfly against N; stopped runs: the time they had (triangles) and
    what their progress projects (crosses)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "spanfft"
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    colours = dict(zip((*METHODS, *OURS), ("#c2452d", "#d99a2b", "#7a5195", "#1f6f8b", "#5aa469"), strict=True))
    for name, colour in colours.items():
        for advice, line in (("normal", "--"), ("random", ":"), ("", "-")):
            mine = [row for row in rows if (method_of(row), row["advice"]) == (name, advice) and not row["absent"]]
            mine.sort(key=lambda row: row["lg_n"])
            if not mine:
                continue
            label = name + (f", {advice}" if advice else "")
            x = [row["lg_n"] for row in mine]
            y = [row["projected_us"] if row["stopped"] else row["normalised_us"] for row in mine]
            axes.plot(x, y, line, color=colour, label=label, lw=1.1)
            for place, value, row in zip(x, y, mine, strict=True):
                axes.plot(place, value, "x" if row["stopped"] else "o", color=colour, ms=4)
                if row["stopped"]:
                    axes.plot(place, row["normalised_us"], "^", color=colour, ms=3.5)
    memory = rows[0]["memory_bytes"]
    axes.axvline(math.log2(memory / 16), color="#888888", lw=0.8)
    axes.annotate(f" memory: {memory >> 20} MiB", (math.log2(memory / 16), axes.get_ylim()[1]), fontsize=7, va="top")
    axes.set_yscale("log")
    axes.set_xticks(sorted({row["lg_n"] for row in rows}))
    axes.set_xlabel(
        "lg N, complex doubles (dots: measured; triangles: stopped there; crosses: projected from progress)", fontsize=8
    )
    axes.set_ylabel("us a butterfly: seconds / (N/2 lg N)", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    first, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(description=first, epilog=rest, formatter_class=raw)
    parser.add_argument("--memory", type=int, default=64, help="MiB")
    parser.add_argument("--lg", type=int, action="append", help="lg N; default: 20, 22, 24, 26")
    parser.add_argument("--method", action="append", choices=METHODS, help="default: all three")
    parser.add_argument("--advice", action="append", choices=ADVICES, help="default: both")
    parser.add_argument("--cap", type=float, default=60, help="seconds after which a run is stopped")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--results", type=Path, help="folder for PAGING.json; default: this machine's")
    parser.add_argument("--plot", action="store_true", help="table and plot from the rows that are there")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    options = parser.parse_args()
    here = machine.machine()
    folder = options.results or HERE / "results" / machine.machine_name(here)
    path = folder / "PAGING.json"
    rows: list[Row] = json.loads(path.read_text()) if path.exists() else []
    if not options.plot:
        group = file_runs.Group(options.memory << 20)
        group.close()
        if group.folder is None:
            raise SystemExit(f"skipped: {group.why_not}, so nothing would be paged out")
        if not options.loaded:
            machine.wait_for_quiet()
        common = {"machine": here, **machine.provenance(), "load_before": machine.load_average()}
        STATE.mkdir(parents=True, exist_ok=True)
        methods, advices = options.method or METHODS, options.advice or ADVICES
        for lg in options.lg or (20, 22, 24, 26):
            with tempfile.TemporaryDirectory(dir=STATE) as name:
                series = Series(Path(name), options.memory << 20, options.cap)
                made = [{**row, **common} for row in series.rows(lg, options.repeats, methods, advices)]
            fresh = {(method_of(row), row["lg_n"], row["memory_bytes"]) for row in made}
            rows = [r for r in rows if (method_of(r), r["lg_n"], r["memory_bytes"]) not in fresh] + made
            names = (*OURS, *METHODS)
            rows.sort(key=lambda row: (row["memory_bytes"], row["lg_n"], names.index(method_of(row)), row["advice"]))
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text("[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in rows) + "\n]\n")
    if not rows:
        raise SystemExit(f"no rows in {path}")
    for memory_bytes in sorted({row["memory_bytes"] for row in rows}):
        mine = [row for row in rows if row["memory_bytes"] == memory_bytes]
        if len({row["lg_n"] for row in mine}) > 1:
            plot(mine, folder / f"paging-{memory_bytes >> 20}mib.svg")
    print(table(rows))


if __name__ == "__main__":
    main()
