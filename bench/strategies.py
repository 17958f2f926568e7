"""Exchange strategies against each other, on an emulated cluster and on this machine: P3's and P5's comparisons with
today's numbers.

    ./spanfft-dev bench cluster                     every case, into bench/results/MACHINE/CLUSTER.json and plots
    ./spanfft-dev bench cluster list | summary      what there is; table and plots anew from the committed rows
    ./spanfft-dev bench cluster --case NAME         one case (may be repeated)
    ./spanfft-dev bench cluster --small             toy size, into .spanfft/bench/cluster: does it run?

A case is a shape, hosts, ranks a host and a rate; `memory` for a rate is this machine itself, without a cluster. All
candidates are planned in one launch and then take turns. As in the papers, a strategy is forced on slabs (N/P planes a
rank) and the spectrum is left exchanged; `pencil` is a strategy on a two-dimensional grid. A case of one axis has the
candidates in natural and in exchanged order. `planner` is what the
planner chooses when nothing is forced, after `spanfft probe` has run on the same cluster; `planner unprobed` chooses by
built-in figures, `planner measure` times its best few. What the library refuses is a row that says why. A launch fails
unless the links counted every byte that the plans say they sent.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import machine
from cluster import EXIT_ABSENT, Absent, Cluster, Failed, Job, bits_per_second, find_mpiexec

HERE = Path(__file__).resolve().parent
STATE = HERE.parent / ".spanfft" / "bench" / "cluster"
MIN_REPEATS = 5
Row = dict[str, Any]

# The design's table. Those with a parameter are tried with several: planes a message, blocks.
STRATEGIES = ("alltoallv", "alltoallw", "oneplane", "standard", "replace", "overlap", "blockvector", "phased",
              "shared", "hierarchical", "persistent", "compressed")  # fmt: skip
LOSSY = ("compressed",)  # changes the data, so it is never the planner's choice nor the best
BY_PLANES = ("overlap", "oneplane")
BLOCKS = (2, 4, 8)
PENCIL = ("alltoallv", "alltoallw", "overlap", "hierarchical")
SOME = ("alltoallv", "overlap", "phased")
# Of one axis; a rank of 4 has 1024 columns of 2^24 points. Targets: natural order over its bytes' time on the links,
# and exchanged order, two exchanges of three, over natural order. All plans are held at once, and take 1.1 GB each.
LINE_STRATEGIES = ("alltoallv", "overlap:128", "blockvector:4")
LINE_TARGETS = {"natural": 1.15, "exchanged": 2 / 3}


HERE_ITSELF = "memory"  # instead of a link's rate: this machine's ranks, no cluster


@dataclass(frozen=True)
class Candidate:
    name: str
    options: dict[str, Any]
    lossy: bool = False
    home: str = "empty"  # where the planner finds figures: none, what `spanfft probe` found here, or a copy of that

    @property
    def order(self) -> str:
        return str(self.options.get("output", "natural"))

    @property
    def forced(self) -> bool:
        return "exchange" in self.options


@dataclass(frozen=True)
class Case:
    n: int
    hosts: int
    ranks_per_host: int
    rate: str
    which: str = "all"  # or "each" strategy without sweeping its parameter, or "some" for the speed-up
    is_small: bool = False
    axes: int = 3  # of n points each; 1: a line

    @property
    def name(self) -> str:
        size = f"1d-{int(math.log2(self.n))}" if self.axes == 1 else self.n
        return f"c2c-{size}-{self.hosts}x{self.ranks_per_host}-{self.rate}"

    @property
    def shape(self) -> list[int]:
        return [self.n] * self.axes

    @property
    def repeats(self) -> int:
        """More where a turn is short; the largest case at 100 Mb/s takes a second a candidate and turn."""
        if self.is_small or (self.rate == "100mbit" and self.n > 64):
            return MIN_REPEATS
        return 9

    @property
    def ranks(self) -> int:
        return self.hosts * self.ranks_per_host

    @property
    def problem(self) -> str:
        words = f"c2c {'x'.join(map(str, self.shape))} forward double"
        if self.ranks == 1:
            return words
        return f"{words} ranks={self.ranks}" + (" output=exchanged" if self.axes > 1 else "")

    def small(self) -> Case:
        return replace(self, n=16 if self.axes > 1 else 2**12, is_small=True)

    def candidates(self) -> list[Candidate]:
        if self.ranks == 1:
            return [Candidate("planner", {})]
        if self.axes == 1:
            return self.line_candidates()
        common = {"output": "exchanged"}
        found = [Candidate("planner", common, home="probed"), Candidate("planner unprobed", common)]
        found.append(Candidate("planner measure", {**common, "effort": "measure"}, home="measured"))
        slab = {**common, "grid": (self.ranks, 1, 1)}
        texts = [text for name in STRATEGIES for text in self.texts(name)]
        found += [Candidate(text, {**slab, "exchange": text}, text.split(":")[0] in LOSSY) for text in texts]
        if self.ranks == 4:
            found += [Candidate(f"pencil {text}", {**common, "grid": (2, 2, 1), "exchange": text}) for text in PENCIL]
        return found

    def line_candidates(self) -> list[Candidate]:
        found = []
        for order in LINE_TARGETS:
            common = {"output": order}
            found.append(Candidate(f"planner {order}", common, home="probed"))
            found.append(Candidate(f"planner {order} unprobed", common))
            found += [Candidate(f"{order} {text}", {**common, "exchange": text}) for text in LINE_STRATEGIES]
        return found

    def texts(self, name: str) -> list[str]:
        """A strategy with the parameters that this case tries."""
        planes = self.n // self.ranks
        if name in BY_PLANES:
            sweep = {"all": planes_a_message(planes), "each": sorted({1, planes}), "some": [1, planes]}[self.which]
            texts = [f"{name}:{each}" for each in sweep]
        elif name == "blockvector":
            texts = [f"{name}:{blocks}" for blocks in (BLOCKS if self.which == "all" else BLOCKS[1:2])]
        else:
            texts = [name]
        return texts if self.which != "some" or name in SOME else []


def planes_a_message(planes: int) -> list[int]:
    """From one plane to all that a rank has, in powers of two."""
    return sorted({min(2**i, planes) for i in range(planes.bit_length() + 1)})


def all_cases() -> dict[str, Case]:
    found = []
    for rate in ("100mbit", "1gbit"):
        for n in (64, 128):
            found += [Case(n, 1, 1, rate), Case(n, 2, 1, rate, "some")]
            found += [Case(n, 4, 1, rate), Case(n, 2, 2, rate, "each")]
    found.append(Case(2**24, 4, 1, "1gbit", axes=1))
    for n in (32, 64, 128):
        found += [Case(n, 1, 2, HERE_ITSELF, "each"), Case(n, 1, 4, HERE_ITSELF, "each")]
    return {case.name: case for case in found}


# --- measuring --------------------------------------------------------------------------------------------------------


_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_PROBE_SECONDS = 20


class ThisMachine:
    """Stands where a cluster stands, for ranks of this machine."""

    def __enter__(self) -> ThisMachine:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def run(self, ranks: int, command: Sequence[object], env: Mapping[str, str], timeout: float) -> Job:
        launch = [find_mpiexec(), "-n", str(ranks), *map(str, command)]
        done = subprocess.run(launch, env={**os.environ, **env}, capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise Failed(f"{' '.join(launch)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
        return Job(done.stdout, done.stderr, 0.0, (0,), (0,))


def place(case: Case) -> Cluster | ThisMachine:
    return ThisMachine() if case.rate == HERE_ITSELF else Cluster(case.hosts, case.rate)


def probe(cluster: Cluster | ThisMachine, case: Case, home: Path) -> None:
    """Stores this cluster's figures in `home`, once for all shapes."""
    if not home.exists():
        command = [sys.executable, "-m", "spanfft", "probe"]
        command += ["--quick"] if case.is_small else ["--seconds", str(_PROBE_SECONDS)]
        cluster.run(case.ranks_per_host, command, {**_ONE_THREAD, "SPANFFT_HOME": str(home)}, timeout=300)


def measure(case: Case, repeats: int, homes: Path) -> dict[str, Any]:
    """`homes` keeps what was probed on other cases' clusters of the same make; the user's own figures are not seen."""
    with tempfile.TemporaryDirectory() as folder, place(case) as cluster:
        job, output, empty, measured = (Path(folder) / name for name in ("job.json", "found.json", "empty", "measured"))
        probed = homes / f"{case.hosts}x{case.ranks_per_host}-{case.rate}"
        if case.ranks > 1:
            probe(cluster, case, probed)
            shutil.copytree(probed, measured)
        home = {"empty": str(empty), "probed": str(probed), "measured": str(measured)}
        listed = [{"name": one.name, "options": one.options, "lossy": one.lossy, "home": home[one.home]}
                  for one in case.candidates()]  # fmt: skip
        job.write_text(json.dumps({"shape": case.shape, "ranks": case.ranks, "repeats": repeats, "candidates": listed}))
        command = [sys.executable, HERE / "strategies_worker.py", job, output]
        done = cluster.run(case.ranks_per_host, command, _ONE_THREAD, timeout=1800)
        found: dict[str, Any] = json.loads(output.read_text())
    if case.ranks_per_host == 1:  # then every byte that a plan sends is sent to another host
        for counted in (sum(done.sent_bytes), sum(done.received_bytes)):
            if counted < found["sent_bytes"]:
                raise Failed(f"{case.name}: plans sent {found['sent_bytes']} bytes, but the links counted {counted}")
    found["link_bytes"] = sum(done.sent_bytes)
    return found


def _spread(seconds: list[float]) -> float:
    """Between the quartiles."""
    quarters = statistics.quantiles(seconds, n=4, method="inclusive")
    return quarters[2] - quarters[0]


def make_rows(case: Case, found: dict[str, Any], common: Row) -> list[Row]:
    timed = {
        name: [sum(pair) for pair in zip(one["forward_seconds"], one["backward_seconds"], strict=True)]
        for name, one in found["candidates"].items()
    }
    exact = [one for one in case.candidates() if one.forced and not one.lossy and one.name in timed]
    rows = []
    for candidate in case.candidates():
        row: Row = {"case": case.name, "problem": case.problem, "n": case.n, "hosts": case.hosts,
                    "ranks_per_host": case.ranks_per_host, "rate": case.rate, "candidate": candidate.name,
                    "lossy": candidate.lossy, "small": case.is_small, "absent": found["absent"].get(candidate.name),
                    **common}  # fmt: skip
        if case.axes == 1:
            row |= {"axes": 1, "order": candidate.order}
        if not row["absent"]:
            alike = [one.name for one in exact if one.order == candidate.order]
            best = min(alike, key=lambda name: statistics.median(timed[name]), default=None)
            one, seconds = found["candidates"][candidate.name], timed[candidate.name]
            row |= {
                **{key: value for key, value in one.items() if key != "step_seconds"},
                "seconds": seconds,
                "median": statistics.median(seconds),
                "min": min(seconds),
                "spread": _spread(seconds),
                "communication_seconds": [sum(t for name, t in turn.items() if name != "Transform")
                                          for turn in one["step_seconds"]],
                "best": best,
                "ratio_to_best": statistics.median(a / b for a, b in zip(seconds, timed[best], strict=True))
                if best else None,
                # What the fullest link takes for the bytes of one rank; with several ranks a host not that simple.
                "wire_seconds": 8 * one["most_sent_bytes"] / bits_per_second(case.rate)
                if case.ranks_per_host == 1 else None,
            }  # fmt: skip
        check(row)
        rows.append(row)
    return rows


def check(row: Row) -> None:
    """Raises ValueError for a row that can't be true."""
    where = f"row {row['case']} {row['candidate']}"
    if row["absent"]:
        return
    if len(row["seconds"]) < MIN_REPEATS or not all(t > 0 and math.isfinite(t) for t in row["seconds"]):
        raise ValueError(f"{where}: {len(row['seconds'])} repeats or a time that can't be")
    if not math.isclose(row["median"], statistics.median(row["seconds"])):
        raise ValueError(f"{where}: the median does not follow from seconds")
    # Each direction may begin with a burst of 64 KiB that the links allow besides.
    burst = 2 * 2 * 8 * 65536 / bits_per_second(row["rate"]) if row["wire_seconds"] is not None else 0
    if row["wire_seconds"] is not None and row["min"] < 0.99 * (row["wire_seconds"] - burst):
        raise ValueError(f"{where}: {row['min']:.4f} s, but its bytes take {row['wire_seconds']:.4f} s on the links")


def load(path: Path) -> list[Row]:
    rows: list[Row] = json.loads(path.read_text()) if path.exists() else []
    return rows


def store(path: Path, new: list[Row]) -> None:
    """A case's rows are replaced together."""
    replaced = {row["case"] for row in new}
    rows = [row for row in load(path) if row["case"] not in replaced] + new
    order = {name: i for i, name in enumerate(all_cases())}
    rows.sort(key=lambda row: order.get(row["case"], len(order)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in rows) + "\n]\n")


# --- telling ----------------------------------------------------------------------------------------------------------


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def chosen(row: Row) -> str:
    """What a plan does, in the words of its problem string."""
    words = [word for word in row["planned_problem"].split() if word.startswith(("exchange=", "grid="))]
    words = [re.sub(r"^(grid=\d+(?:x\d+)*?)(?:x1)+$", r"\1", word) for word in words]  # 4x1x1 is 4x1 is 4
    return " ".join(words) or "one rank"


def size(row: Row) -> str:
    return f"2^{int(math.log2(row['n']))} points" if row.get("axes") == 1 else f"{row['n']}^3"


def where(row: Row) -> str:
    if row["rate"] == HERE_ITSELF:
        return f"{row['ranks_per_host']} ranks of this machine"
    return f"{row['hosts']} hosts of {row['ranks_per_host']} ranks, links of {row['rate']}"


def winners_table(rows: list[Row]) -> list[str]:
    lines = ["### The fastest by size", "",
             "Forced candidates that keep the data exact; how much longer the next ones took.", "",
             "| shape | where | fastest | second | third |", "|---|---|---|---|---|"]  # fmt: skip
    for name in dict.fromkeys(row["case"] for row in rows):
        forced = [row for row in rows if row["case"] == name and not row["absent"] and not row["lossy"]
                  and not row["candidate"].startswith("planner")]  # fmt: skip
        if not forced:
            continue
        ranked = sorted(forced, key=lambda row: row["median"])[:3]
        first = ranked[0]
        cells = [f"{first['candidate']}, {_time(first['median'])}"]
        cells += [f"{row['candidate']}, {row['median'] / first['median']:.2f}" for row in ranked[1:]]
        lines.append(f"| {size(first)} | {where(first)} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def case_table(rows: list[Row]) -> list[str]:
    first = rows[0]
    lines = [f"### {first['case']}: `{first['problem']}`", "",
             f"{where(first)}; commit "
             f"{first['commit']}, {first['date']}, load before {first['load_before']:.1f}"
             + (", small form" if first["small"] else ""), "",
             "| candidate | median | spread | communication | over best | at least on links | messages | bytes |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    done = sorted((row for row in rows if not row["absent"]), key=lambda row: row["median"])
    for row in done:
        name = row["candidate"] + (" (lossy)" if row["lossy"] else "")
        name += f" ({chosen(row)})" if row["candidate"].startswith("planner") else ""
        over = f"{row['ratio_to_best']:.2f}" if row["ratio_to_best"] else ""
        wire = _time(row["wire_seconds"]) if row["wire_seconds"] is not None else ""
        lines.append(
            f"| {name} | {_time(row['median'])} | {_time(row['spread'])} | "
            f"{_time(statistics.median(row['communication_seconds']))} | {over} | {wire} | {row['messages']} | "
            f"{row['sent_bytes']} |"
        )
    for row in rows:
        if row["absent"]:
            lines.append(
                f"| {row['candidate']} | absent: {' '.join(row['absent'].replace('|', '/').split())} | | | | | | |"
            )
    return [*lines, ""]


def planner_table(rows: list[Row]) -> list[str]:
    lines = ["### The planner's choice against the best found by measuring all", "",
             "Ratios are medians over turns. Target: at most 1.10. The same plan was timed as a forced candidate too:",
             "how far its ratio is from the planner's tells how noisy the run was.", "",
             "| case | planner | chose | best measured | ratio | same plan forced | target |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    exhaustive = {name for name, case in all_cases().items() if case.which != "some" and case.ranks > 1}
    done = [row for row in rows if row["case"] in exhaustive and not row["absent"]]
    for row in done:
        if row["candidate"].startswith("planner"):
            same = [other["ratio_to_best"] for other in done if other["case"] == row["case"]
                    and not other["candidate"].startswith("planner") and chosen(other) == chosen(row)
                    and other.get("order") == row.get("order")]  # fmt: skip
            lines.append(
                f"| {row['case']} | {row['candidate']} | {chosen(row)} | {row['best']} | {row['ratio_to_best']:.3f} | "
                f"{f'{same[0]:.3f}' if same else ''} | {'met' if row['ratio_to_best'] <= 1.1 else 'MISSED'} |"
            )
    return [*lines, ""]


def line_table(rows: list[Row]) -> list[str]:
    """Of the planner's choices on one axis: over the time of the bytes, and exchanged order over natural order."""
    lines = ["### One axis: the planner's choices against their bytes' time on the links", "",
             "Exchanged order is compared with natural order turn by turn.", "",
             "| case | planner | chose | median | over the links' time | over natural order | target |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    done = {(row["case"], row["candidate"]): row for row in rows if row.get("axes") == 1 and not row["absent"]}
    for (case, candidate), row in done.items():
        natural = done.get((case, candidate.replace("exchanged", "natural")))
        if not candidate.startswith("planner") or natural is None:
            continue
        over_wire = row["median"] / row["wire_seconds"] if row["wire_seconds"] else None
        over_natural = statistics.median(a / b for a, b in zip(row["seconds"], natural["seconds"], strict=True))
        judged = over_wire if row["order"] == "natural" else over_natural
        target = LINE_TARGETS[row["order"]]
        verdict = "" if judged is None else f"{target:.3g}: {'met' if judged <= target else 'MISSED'}"
        lines.append(
            f"| {case} | {candidate} | {chosen(row)} | {_time(row['median'])} | "
            f"{f'{over_wire:.3f}' if over_wire else ''} | {over_natural:.3f} | {verdict} |"
        )
    return [*lines, ""] if len(lines) > 6 else []


def speedups(rows: list[Row]) -> list[tuple[int, str, str, int, float]]:
    """(n, rate, candidate, hosts, time of one rank over the time): with one rank a host."""
    alone = {(row["n"], row["rate"]): row["median"] for row in rows if row["hosts"] * row["ranks_per_host"] == 1}
    found = []
    for row in rows:
        base = alone.get((row["n"], row["rate"]))
        if base and not row["absent"] and row["ranks_per_host"] == 1:
            found.append((row["n"], row["rate"], row["candidate"], row["hosts"], base / row["median"]))
    return found


def speedup_table(rows: list[Row]) -> list[str]:
    every = speedups(rows)
    lines = ["### Speed-up over one rank", "",
             "One rank a host, of the fastest candidate that keeps the data exact.", "",
             "| shape | links | 1 host | 2 hosts | 4 hosts |", "|---|---|---|---|---|"]  # fmt: skip
    for n, rate in sorted({(n, rate) for n, rate, *_ in every}):
        cells = []
        for hosts in (1, 2, 4):
            here = [(value, name) for m, r, name, h, value in every
                    if (m, r, h) == (n, rate, hosts) and name.split(":")[0] not in LOSSY]  # fmt: skip
            cells.append(f"{max(here)[0]:.2f}" + (f" ({max(here)[1]})" if hosts > 1 else "") if here else "")
        lines.append(f"| {n}^3 | {rate} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def summary(rows: list[Row]) -> str:
    if not rows:
        return "No rows.\n"
    here = rows[0]["machine"]
    lines = [f"Machine: {here['cpu']} ({here['vectors']}), {here['cores']} cores that all hosts share, Linux "
             f"{here['kernel']}{', virtual' if here['virtual'] else ''}; {rows[0]['versions']['mpi']}. Times are "
             f"medians of a forward and a backward transform of double c2c data whose spectrum is left exchanged, but "
             f"of one axis in either order; all candidates of a case took turns in one launch. `over best` compares "
             f"with the fastest forced candidate (of one axis, in the same order), turn by turn. Communication is what "
             f"steps other than transforms took; where an "
             f"exchange and a transform are one step, its transform is in it.", ""]  # fmt: skip
    lines += winners_table(rows) + planner_table(rows) + line_table(rows) + speedup_table(rows)
    for name in dict.fromkeys(row["case"] for row in rows):
        lines += case_table([row for row in rows if row["case"] == name])
    return "\n".join(lines)


def finish(folder: Path) -> None:
    import strategies_plot

    rows = load(folder / "CLUSTER.json")
    text = summary(rows)
    (folder / "cluster.md").write_text(text)
    plots = STATE.parent / "plots" / folder.name
    plots.mkdir(parents=True, exist_ok=True)
    for path in strategies_plot.plot(rows, plots):
        print(f"-- {path.relative_to(HERE.parent)}", file=sys.stderr)
    print(text)


def main(arguments: list[str] | None = None) -> int:
    cases = all_cases()
    raw = argparse.RawDescriptionHelpFormatter
    first, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="bench cluster", description=first, epilog=rest, formatter_class=raw)
    parser.add_argument("action", nargs="?", choices=("run", "list", "summary"), default="run")
    parser.add_argument("--case", action="append", choices=list(cases), metavar="NAME", help="default: all")
    parser.add_argument("--small", action="store_true", help="toy size: does it run?")
    parser.add_argument("--repeats", type=int, help=f"turns, at least {MIN_REPEATS}; default: the case's own")
    parser.add_argument("--output", type=Path, help="folder for rows, table and plots")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    options = parser.parse_args(arguments)
    if options.repeats is not None and options.repeats < MIN_REPEATS:
        parser.error(f"--repeats is {options.repeats}; a median needs at least {MIN_REPEATS}")
    if options.action == "list":
        for case in cases.values():
            print(f"{case.name:<20} {case.problem:<50} {len(case.candidates())} candidates")
        return 0
    here = machine.machine()
    folder = options.output or (STATE if options.small else HERE / "results" / machine.machine_name(here))
    if options.action == "run":
        chosen_cases = [cases[name] for name in options.case or cases]
        with tempfile.TemporaryDirectory() as homes:
            for case in [case.small() for case in chosen_cases] if options.small else chosen_cases:
                if not (options.loaded or options.small):
                    machine.wait_for_quiet()
                load_before = machine.load_average()
                try:
                    found = measure(case, options.repeats or case.repeats, Path(homes))
                except Absent as reason:
                    print(f"no emulated cluster here: {reason}", file=sys.stderr)
                    return EXIT_ABSENT
                versions = {"mpi": found["mpi"], "spanfft": found["spanfft"]}
                common = {"machine": here, **machine.provenance(), "load_before": load_before, "versions": versions}
                made = make_rows(case, found, common)
                store(folder / "CLUSTER.json", made)
                print("\n".join(case_table(made)), file=sys.stderr, flush=True)
    finish(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
