"""Simulates ranks on networks that are not here, and holds predictions against it: docs/foresight.md.

./spanfft-dev simulate                     runs whose rows are missing, with the table at the end
./spanfft-dev simulate --case torus-8x8    one case anew; --list names all
./spanfft-dev simulate --table [--write]   the table, from rows; into docs/foresight.md

The library itself runs, unchanged: its planner, its exchanges, with SimGrid's SMPI as its MPI. Simulation and
prediction are told the same data sheet (`machine_of`): a shipped one without what a simulation has to find out by
itself (shares of the peak) and what it does not have (packets, a processor's time for a message, hardware barriers).
Where a case does not say otherwise computing takes no time, so the exchanges alone are compared: simulated seconds of a
plan with wire and barriers of its prediction.
Rows are bench/results/simulated/CASE.json. Predictions beside them are computed whenever the table is made.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine as this_machine
import spanfft
from spanfft._predict import Forecast, machine_text

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "bench" / "results" / "simulated"
PAGE = ROOT / "docs" / "foresight.md"
BEGIN, END = "<!-- simulated: begin -->", "<!-- simulated: end -->"
LEFT_OUT = ("name ", "sockets_per_node", "message_", "collective_", "buffered_", "packet_", "alltoall_share",
            "phased_share", "barrier_us", "overlap_share")  # fmt: skip
AIM = 0.15
# Flows share links max-min fair, at the links' own rate. Messages start when both sides are ready, and pay the sheet's
# latency once. Nothing is timed on this machine, so that a busy one gives the same rows.
MODEL = {
    "network/model": "SMPI",
    "network/optim": "Full",  # the default, Lazy, lets flows that end together be done too early
    "smpi/bw-factor": "0:1",
    "smpi/lat-factor": "0:1",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "1e15",
    "smpi/simulate-computation": "no",
    "smpi/host-speed": "1Gf",
    "smpi/wtime": "0",
    "smpi/init": "0",
    "smpi/iprobe": "5e-6",  # what a rank that waits at a node's barrier spends on each look; by default 100 us
    "smpi/grow-injected-times": "no",
    "smpi/os": "0:0:0",
    "smpi/ois": "0:0:0",
    "smpi/or": "0:0:0",
    "smpi/async-small-thresh": "0",
    "smpi/send-is-detached-thresh": "0",
    "smpi/coll-selector": "mpich",  # small ones as MPICH does them; by default they are all-to-alls of their own
    "smpi/allgather": "rdb",
    # MPICH's would first find out which ranks share a node, in P^2 messages for each new communicator: at 4,096 ranks
    # that takes hours here.
    "smpi/allreduce": "rdb",
    "smpi/bcast": "binomial_tree",
    "smpi/reduce": "binomial",
    "contexts/stack-size": "1024",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A network, problems on it, and exchanges that each is run with."""

    name: str
    machine: str  # shipped, whose figures are taken
    network: str  # the line of the data sheet
    ranks: int
    problems: tuple[str, ...]
    # "alltoallv at once": MPI starts all messages of a call together; "alltoallv in a ring": to rank + 1, rank + 2, ...
    # one after the other; "alltoallv": so too, but with rank xor 1, rank xor 2, ...
    exchanges: tuple[str, ...]
    ranks_per_node: int = 1
    figures: tuple[str, ...] = ()  # lines of the sheet that are other than the machine's
    folded: bool = False  # all ranks' arrays lie on the same pages: values are not checked
    computing: bool = False  # takes time too, at the sheet's rate

    def runs(self) -> list[tuple[str, str]]:
        return [(problem, exchange) for problem in self.problems for exchange in self.exchanges]


_OVERLAP = ("core_fft_gflops 2", "node_memory_gb_per_second 100000", "overlap_share 1")


def _slabs(ranks: int, *extents: int) -> tuple[str, ...]:
    """Planes of so many points an axis: one exchange among all ranks, of (n/ranks)^2 points a message."""
    return tuple(f"c2c {n}x{n} output=exchanged grid={ranks}x1" for n in extents)


_PLANES = ("c2c 16x16384x4096 axes=1,2 output=exchanged grid=16x256",)
_CUBE = ("c2c 1024x1024x1024 output=exchanged grid=64x64",)

CASES = (
    Case("torus-8x8", "blue-gene-l", "torus 8x8", 64, _slabs(64, 2048),
         ("alltoallv at once", "alltoallv", "alltoallv in a ring", "phased:8x8/1")),
    Case("torus-16x2x2", "blue-gene-l", "torus 16x2x2", 64, _slabs(64, 2048),
         ("alltoallv at once", "alltoallv", "alltoallv in a ring", "phased:16x2x2/1")),
    Case("torus-4x4x4", "blue-gene-l", "torus 4x4x4", 64, _slabs(64, 256, 512, 1024, 2048),
         ("alltoallv at once", "alltoallv", "phased:4x4x4/1", "standard")),
    Case("torus-8x8x8", "blue-gene-l", "torus 8x8x8", 512, _slabs(512, 16384),
         ("alltoallv at once", "phased:8x8x8/1", "alltoallv", "alltoallv in a ring"), folded=True),
    Case("torus-16x8x4", "blue-gene-l", "torus 16x8x4", 512, _slabs(512, 16384), ("phased:16x8x4/1", "alltoallv"),
         folded=True),
    Case("fat-tree-64", "jean-zay", "fat_tree 16 2", 64, _slabs(64, 256, 512, 1024, 2048),
         ("alltoallv", "phased:/1", "standard")),
    Case("fat-tree-64-large", "jean-zay", "fat_tree 16 2", 64, _slabs(64, 8192),
         ("alltoallv at once", "alltoallv", "alltoallv in a ring", "phased:/1"), folded=True),
    Case("fat-tree-512", "jean-zay", "fat_tree 32 2", 512, _slabs(512, 16384), ("alltoallv", "phased:/1"), folded=True),
    Case("fat-tree-64-8", "jean-zay", "fat_tree 4 2", 64, _slabs(64, 2048),
         ("alltoallv", "phased:/1", "hierarchical"), ranks_per_node=8),
    # One exchange in planes of 16 x 16; on the process grid, two, among 64 ranks each.
    Case("torus-16x16x16-planes", "blue-gene-l", "torus 16x16x16", 4096, _PLANES,
         ("alltoallv", "phased:16x16x16/1"), folded=True),
    Case("torus-16x16x16", "blue-gene-l", "torus 16x16x16", 4096, _CUBE, ("alltoallv", "phased:/1"), folded=True),
    Case("torus-32x16x8", "blue-gene-l", "torus 32x16x8", 4096, _CUBE, ("alltoallv",), folded=True),
    Case("fat-tree-4096", "jean-zay", "fat_tree 32 2", 4096, _CUBE, ("alltoallv",), folded=True),
    Case("overlap-4x4x4", "blue-gene-l", "torus 4x4x4", 64, _slabs(64, 2048),
         ("alltoallv at once", "blockvector:2", "blockvector:4"), figures=_OVERLAP, computing=True),
)  # fmt: skip


# How SimGrid's MPI_Alltoallv meets its partners, and what a data sheet says of that; by the words behind the exchange.
# (Its MPI_Ialltoallv, blockvector's, always starts all messages at once.)
COLLECTIVES = {
    "alltoallv": ("pair", ["collective_messages 1 pairs"]),
    "alltoallv in a ring": ("ring_one_barrier", ["collective_messages 1"]),
}


def collective(exchange: str) -> tuple[str, list[str]]:
    return COLLECTIVES.get(exchange, ("default", []))


def settings_of(case: Case, exchange: str) -> dict[str, str]:
    """Of SimGrid. Whenever messages end, it shares the links out anew: of a quarter of a million under way at once,
    those that end within a microsecond end together."""
    many = exchange == "alltoallv at once" and case.ranks >= 512
    return {**MODEL, "smpi/alltoallv": collective(exchange)[0], **({"surf/precision": "1e-6"} if many else {})}


def machine_of(case: Case, exchange: str = "") -> str:
    """The data sheet, as text: the shipped one's with another network, what the case says otherwise, and how MPI
    meets the partners of a collective."""
    nodes = case.ranks // case.ranks_per_node
    own = [
        f"name {case.network}, with {case.machine}'s figures",
        f"nodes {nodes}",
        f"cores_per_node {case.ranks_per_node}",
        f"network {case.network}",
        *collective(exchange)[1],
        *case.figures,
    ]
    left_out = (*LEFT_OUT, *(f"{line.split()[0]} " for line in own), "#")
    first, *lines = machine_text(case.machine).splitlines()
    return "\n".join([first, *own, *(line for line in lines if not line.startswith(left_out)), ""])


def predicted(case: Case, problem: str, exchange: str) -> Forecast:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.txt"
        path.write_text(machine_of(case, exchange))
        asked = f"{problem} exchange={exchange.split()[0]}"
        return spanfft.predict(asked, path, case.ranks, ranks_per_node=case.ranks_per_node)[0]


def compared_seconds(case: Case, problem: str, exchange: str) -> float:
    """Of a prediction what a simulation has too."""
    forecast = predicted(case, problem, exchange)
    return forecast.seconds if case.computing else forecast.parts["wire"] + forecast.parts["barriers"]


def simulate(case: Case, problem: str, exchange: str, build: Path) -> dict[str, Any]:
    """Runs one plan on simulated ranks: what rank 0 says, and this machine's seconds."""
    programs = build / "bench" / "simulation"
    text = machine_of(case, exchange)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "machine.txt").write_text(text)
        nodes = [f"node{rank // case.ranks_per_node}" for rank in range(case.ranks)]
        (folder / "hosts").write_text("\n".join(nodes) + "\n")
        wrapper = ["-wrapper", f"env LD_PRELOAD={programs / 'simulated_fold.so'}"] if case.folded else []
        command = [
            "smpirun", *wrapper, "-np", str(case.ranks), "-platform", str(programs / "simulated_platform.so"),
            "-hostfile", str(folder / "hosts"), "-no-privatize",
            *(f"--cfg={key}:{value}" for key, value in settings_of(case, exchange).items()),
            str(programs / "simulated_ranks.so"),
            "uncheck" if case.folded else "check", *problem.split(), f"exchange={exchange.split()[0]}",
            "engine=fftw", "threads=1",
        ]  # fmt: skip
        environment = {
            **os.environ,
            "SIMULATED_MACHINE": str(folder / "machine.txt"),
            "SIMULATED_RANKS": str(case.ranks),
            "SIMULATED_RANKS_PER_NODE": str(case.ranks_per_node),
            "TMPDIR": name,
            "SPANFFT_HOME": name,  # nothing that was tuned or probed here
            "SPANFFT_FFTW_LIBRARY": str(programs / "simulated_engine.so"),
            "SPANFFT_MKL_LIBRARY": "none",
            "SIMULATED_COMPUTING": "1" if case.computing else "0",
            "SPANFFT_WATCH": "0",  # ranks are no processes
        }
        start = time.monotonic()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
    said = re.search(r"^\{.*\}$", done.stdout, re.M)
    if done.returncode or not said:
        said_last = done.stdout[-2000:] + done.stderr[-4000:]
        raise SystemExit(f"{case.name}, {problem}, {exchange}: smpirun exited with {done.returncode}\n{said_last}")
    return {**json.loads(said[0]), "host_seconds": round(seconds, 1)}


def tolerance(problem: str) -> float:
    """Of one transform, as a share of the largest value."""
    points = math.prod(int(n) for n in problem.split()[1].split("x"))
    return 1e-15 * 4 * math.log2(points)


def make_row(case: Case, problem: str, exchange: str, found: dict[str, Any], version: str) -> Row:
    if not case.folded and not 0 <= found["error"] < tolerance(problem):
        raise SystemExit(f"{case.name}, {exchange}: the spectrum is off by {found['error']:.3g}")
    forecast = predicted(case, problem, exchange)
    counted = {name: forecast.counts[name] for name in ("messages", "sent_bytes")}
    if any(counted[name] != found[name] for name in counted):
        raise SystemExit(f"{case.name}, {exchange}: predicted {counted}, and rank 0 counted {found}")
    return {
        "case": case.name, "network": case.network, "machine": case.machine, "ranks": case.ranks,
        "ranks_per_node": case.ranks_per_node, "figures": list(case.figures), "problem": problem, "exchange": exchange,
        "computing": case.computing, "folded": case.folded, "seconds": found["seconds"],
        "error": None if case.folded else found["error"], "messages": found["messages"],
        "sent_bytes": found["sent_bytes"], "host_seconds": found["host_seconds"], "simgrid": version,
        **{key: value for key, value in this_machine.provenance().items() if key in ("commit", "date")},
    }  # fmt: skip


def check_row(row: Row, case: Case) -> None:
    """Raises ValueError where a row is not one of its case."""
    for key in ("network", "machine", "ranks", "ranks_per_node", "figures", "computing", "folded"):
        wanted = list(case.figures) if key == "figures" else getattr(case, key)
        if row[key] != wanted:
            raise ValueError(f"{case.name}: {key} is {row[key]!r} in its row, and {wanted!r} in its case")
    if (row["problem"], row["exchange"]) not in case.runs():
        raise ValueError(f"{case.name}: no run of {row['problem']} with {row['exchange']}")
    if not (row["seconds"] > 0 and math.isfinite(row["seconds"]) and row["messages"] > 0):
        raise ValueError(f"{case.name}, {row['exchange']}: seconds or messages that can't be")
    if (row["error"] is None) != row["folded"]:
        raise ValueError(f"{case.name}, {row['exchange']}: values are checked unless memory is folded")


def rows_of(case: Case) -> list[Row]:
    path = ROWS / f"{case.name}.json"
    rows: list[Row] = json.loads(path.read_text())["rows"] if path.exists() else []
    order = case.runs()
    return sorted(rows, key=lambda row: order.index((row["problem"], row["exchange"])))


def store(case: Case, rows: list[Row]) -> None:
    ROWS.mkdir(parents=True, exist_ok=True)
    (ROWS / f"{case.name}.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n")


def off(row: Row, case: Case) -> float:
    """How far the prediction is above the simulation, relative to it."""
    return compared_seconds(case, row["problem"], row["exchange"]) / float(row["seconds"]) - 1


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _bytes(count: float) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} B"


def _line(case: Case, row: Row) -> str:
    """Of the table."""
    bounds = predicted(case, row["problem"], row["exchange"]).bounds
    strategy, _, how = row["exchange"].partition(" ")
    how = f" {how or 'pair by pair'}" if strategy == "alltoallv" else ""
    difference = off(row, case)
    cells = [
        case.network,
        f"{case.ranks}" + (f", {case.ranks_per_node} a node" if case.ranks_per_node > 1 else ""),
        " ".join(word for word in row["problem"].split() if not word.startswith("output=")),
        f"`{strategy}`{how}" + (", with computing" if case.computing else ""),
        _bytes(row["sent_bytes"] / row["messages"]),
        _time(row["seconds"]),
        f"{100 * max(bounds['bisection'], bounds['injection']) / row['seconds']:.0f} %",
        _time(compared_seconds(case, row["problem"], row["exchange"])),
        f"{round(100 * difference):+d} %" + ("" if abs(difference) <= AIM else ", missed"),
    ]
    return f"| {' | '.join(cells)} |"


def table() -> str:
    lines = [
        "| network | ranks | transform | exchange | message | simulated | of the peak | predicted | off by |",
        "|---|---:|---|---|---:|---:|---:|---:|---:|",
        *(_line(case, row) for case in CASES for row in rows_of(case)),
    ]
    return "\n".join(lines)


def write_table() -> None:
    before, rest = PAGE.read_text().split(BEGIN, 1)
    _, after = rest.split(END, 1)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")


def run(case: Case, build: Path, anew: bool) -> None:
    """The runs of a case whose rows are missing, or all."""
    version = subprocess.run(["smpirun", "-version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    kept = [] if anew else rows_of(case)
    for problem, exchange in case.runs():
        if any((row["problem"], row["exchange"]) == (problem, exchange) for row in kept):
            continue
        found = simulate(case, problem, exchange, build)
        kept.append(make_row(case, problem, exchange, found, version))
        store(case, kept)
        print(f"{case.name:24} {exchange:24} simulated {_time(kept[-1]['seconds']):>8}, predicted "
              f"{_time(compared_seconds(case, problem, exchange)):>8}; {found['host_seconds']} s here",
              file=sys.stderr, flush=True)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="spanfft-dev simulate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="run this one anew")
    parser.add_argument("--list", action="store_true", help="name the cases")
    parser.add_argument("--table", action="store_true", help="only the table, from the rows that there are")
    parser.add_argument("--write", action="store_true", help="put the table into docs/foresight.md")
    options = parser.parse_args()
    if options.list:
        for case in CASES:
            print(f"{case.name:24} {case.network}, {case.ranks} ranks: {' '.join(case.exchanges)}")
        return 0
    if not options.table:
        for case in CASES:
            if not options.case or case.name in options.case:
                run(case, Path(os.environ["SPANFFT_SIMULATION"]), bool(options.case))
    if options.write:
        write_table()
    print(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
