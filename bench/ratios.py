"""Ratios that spanfft promises beside the table of cases; each is measured in turns with what it is relative to.

./spanfft-dev run python bench/ratios.py            all: a table, and rows in bench/results/MACHINE/RATIOS.json
./spanfft-dev run python bench/ratios.py --small    toy sizes, nothing kept: does it run?

exchange     strategy `shared` alone, 256^3 complex double on 2 ranks, and a memcpy of the volume by both ranks
contiguity   each axis of 256^3 alone, and the last, whose points are contiguous
real         r2c of 256^3, and c2c
planning     the slowest of many plans by estimate, after the first: milliseconds, against 50
probe        seconds of `spanfft probe`, against a minute
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import limits
from machine import load_average, machine, machine_name, provenance, wait_for_quiet

TURNS = 9
PLANNED = ["c2c 256x256x256 ranks=4", "r2c 512x512x512 ranks=64", "c2c 8192x8192x8192 ranks=65536",
           "c2c 64x64x64x64x64x64 ranks=65536", "c2c 1009x1013x1019 ranks=7 grid=7x1", "dct2 300x400x500 ranks=12",
           "c2c 536870912 float memory=512MiB", "r2c 1073741824 float memory=64MiB",
           "c2c 16384x16384 float memory=512MiB", "c2c 1024x1024x1024 layout=cyclic ranks=1024"]  # fmt: skip


def in_turns(works: dict[str, Callable[[], float]], turns: int = TURNS) -> dict[str, list[float]]:
    """Seconds of each, A B A B; one turn before is not counted."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(turns + 1):
        for name, work in works.items():
            seconds = work()
            if turn:
                found[name].append(seconds)
    return found


def timed(work: Callable[[], object]) -> Callable[[], float]:
    def run() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return run


def row(name: str, what: str, ours: list[float], theirs: list[float], at_most: float, note: str = "") -> dict[str, Any]:
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return {"ratio": name, "what": what, "seconds": statistics.median(ours), "against": statistics.median(theirs),
            "value": statistics.median(ratios), "at_most": at_most, "turns": len(ours), "note": note}  # fmt: skip


def exchange_worker(n: int, output: Path) -> None:
    """On each rank of a job; rank 0 writes. A turn's time is that of the slowest rank."""
    from mpi4py import MPI
    from spanfft import _core as core
    from spanfft._mpi import ranks_of
    from spanfft._trace import capture

    comm = MPI.COMM_WORLD
    # method=pencil, because the whole transform in shared windows (solver `shared`) has no exchange of its own.
    plan = core.plan(f"c2c {n}x{n}x{n} output=exchanged exchange=shared method=pencil", ranks_of(comm).handle)
    u = np.ones(plan.input_bytes // 16, np.complex128)
    v = np.ones(plan.output_bytes // 16, np.complex128)
    source = np.ones(u.nbytes, np.uint8)
    target = np.ones(u.nbytes, np.uint8)

    def slowest(seconds: float) -> float:
        return float(comm.allreduce(seconds, MPI.MAX))

    def exchange() -> float:
        comm.barrier()
        plan.trace_start(1 << 10)
        plan.execute(u, v)
        plan.trace_stop()
        (step,) = (e for e in capture(plan).events if e.category == "step" and e.name == "Exchange")
        # Waiting for a rank that still transforms is no part of an exchange.
        last_start = comm.allreduce(step.start_ns, MPI.MAX)
        return slowest((step.end_ns - last_start) / 1e9)

    def copy() -> float:
        comm.barrier()
        return slowest(timed(lambda: limits.copy(source, target, 1))())

    found = in_turns({"exchange": exchange, "copy": copy})
    if comm.rank == 0:
        output.write_text(json.dumps(found))


def exchange(n: int) -> list[dict[str, Any]]:
    launcher = os.environ.get("SPANFFT_MPIEXEC", "mpiexec")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "found.json"
        command = [launcher, "-n", "2", sys.executable, __file__, "--exchange-worker", str(output), "--n", str(n)]
        subprocess.run(command, check=True, timeout=300)
        found = json.loads(output.read_text())
    what = f"shared exchange of {n}^3 on 2 ranks / memcpy of it"
    return [row("exchange", what, found["exchange"], found["copy"], 1.3)]


def local(n: int) -> list[dict[str, Any]]:
    import spanfft

    threads = len(os.sched_getaffinity(0))
    shape = (n,) * 3
    plans = {str(axis): spanfft.Plan(shape, axes=(axis,), threads=threads) for axis in range(3)}
    plans["r2c"] = spanfft.Plan(shape, kind="r2c", threads=threads)
    plans["c2c"] = spanfft.Plan(shape, threads=threads)
    works = {}
    for name, plan in plans.items():
        u, v = plan.input_array(), plan.output_array()
        u[...] = 1
        works[name] = timed(lambda plan=plan, u=u, v=v: plan.forward(u, v))  # type: ignore[misc]
    found = in_turns(works)
    rows = [row("contiguity", f"axis {axis} of {n}^3 / axis 2", found[str(axis)], found["2"], 1.3) for axis in (0, 1)]
    return [*rows, row("real", f"r2c of {n}^3 / c2c", found["r2c"], found["c2c"], 0.6)]


def planning() -> list[dict[str, Any]]:
    from spanfft import _core as core

    core.imagine("c2c 32")
    slowest = []
    for _ in range(5):
        slowest.append(max(timed(lambda text=text: core.imagine(text))() for text in PLANNED))  # type: ignore[misc]
    return [row("planning", f"the slowest of {len(PLANNED)} plans / 50 ms", slowest, [0.05] * len(slowest), 1.0)]


def probing() -> list[dict[str, Any]]:
    import spanfft

    seconds = [timed(lambda: spanfft.probe(store=False))() for _ in range(3)]
    return [row("probe", "spanfft probe on one rank / a minute", seconds, [60.0] * 3, 1.0)]


def journal(lg: int) -> list[dict[str, Any]]:
    import spanfft

    state = Path(__file__).resolve().parents[1] / ".spanfft" / "bench"
    state.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=state) as folder:
        source, target = Path(folder) / "in.npy", Path(folder) / "out.npy"
        array = np.lib.format.open_memmap(source, "w+", np.complex64, (1 << lg,))
        rng = np.random.default_rng(1)
        for part in np.array_split(array, 32):
            part[...] = rng.standard_normal(2 * len(part), np.float32).view(np.complex64)
        array.flush()
        del array, part

        def transform(kept: bool) -> float:
            target.unlink(missing_ok=True)
            os.sync()
            return timed(lambda: spanfft.transform(source, target, memory=(2 << lg), journal=kept, checksums=kept))()

        found = in_turns({"on": lambda: transform(True), "off": lambda: transform(False)}, turns=5)
    return [row("journal", f"2^{lg} points on disk, journal and checksums / neither", found["on"], found["off"], 1.05)]


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| ratio | of | ms | against, ms | ratio | at most | |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        verdict = "met" if r["value"] <= r["at_most"] else "MISSED"
        lines.append(f"| {r['ratio']} | {r['what']} | {r['seconds'] * 1e3:.3g} | {r['against'] * 1e3:.3g} "
                     f"| {r['value']:.2f} | {r['at_most']} | {verdict} |")  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    parser.add_argument("--exchange-worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--n", type=int, default=256, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.exchange_worker:
        exchange_worker(options.n, options.exchange_worker)
        return 0
    if not (options.loaded or options.small):
        wait_for_quiet()
    load = load_average()
    n = 32 if options.small else 256
    rows = [
        *exchange(n),
        *local(n),
        *planning(),
        *journal(20 if options.small else 27),
        *([] if options.small else probing()),
    ]
    print(table(rows))
    if not options.small:
        about = machine()
        path = Path(__file__).resolve().parent / "results" / machine_name(about) / "RATIOS.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = ",\n".join(json.dumps({**r, **provenance(), "load_before": load}, sort_keys=True) for r in rows)
        path.write_text(f"[\n{text}\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
