"""P3's study on this machine: its five kernels on slabs, with the numbers and drawings of its figures 1 to 4.

    ./spanfft-dev run python bench/p3_kernels.py --n 128 --ranks 1,2,4 --output FOLDER
    ./spanfft-dev run python bench/p3_kernels.py --plot FOLDER          the drawings anew, from FOLDER/p3_kernels.json
    LAUNCHER... python bench/p3_kernels.py --worker FILE --n 128       one job of any launcher; rank 0 writes FILE

Every kernel is spanfft's Plan of n^3 complex numbers in n / P planes a rank, output=exchanged, whose exchange is
`replace`, `standard`, `overlap`, `oneplane` or `alltoallv` (the paper's Allplanes). A step is a forward and an inverse
transform. The kernels take turns; a turn's time is that of the slowest rank between two barriers (figure 1). Then each
turn is done once more and traced: a rank's time inside MPI calls, averaged over the ranks, is figure 2, and how many
ranks are inside MPI at each moment of the last one figures 3 and 4.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import machine

KERNELS = {
    "replace": "replace",
    "standard": "standard",
    "overlap": "overlap",
    "oneplane": "oneplane",
    "allplanes": "alltoallv",
}
_COLOURS = {"replace": "#7a5195", "standard": "#b9c4c9", "overlap": "#c2452d", "oneplane": "#dba63c",
            "allplanes": "#1f6f8b"}  # fmt: skip
_MPI_CALLS = ("post", "call", "wait", "barrier")
MIN_REPEATS = 5

Row = dict[str, Any]


def calls_per_step(kernel: str, n: int, ranks: int) -> int:
    """P3, section 3: of a forward and an inverse transform, each with n / P planes a rank."""
    peers, planes = ranks - 1, n // ranks
    each = {
        "replace": peers * planes,
        "standard": 2 * peers * planes,
        "overlap": 2 * peers * planes,
        "oneplane": planes,
        "allplanes": 1,
    }
    return 2 * each[kernel] if ranks > 1 else 0


# --- one job ----------------------------------------------------------------------------------------


def intervals(events: list[Any]) -> list[tuple[int, int]]:
    """When this rank was inside MPI, from its trace, in nanoseconds."""
    return [(e.start_ns, e.end_ns) for e in events if e.track == "steps" and e.name in _MPI_CALLS]


def profile(of_ranks: list[list[tuple[int, int]]]) -> list[tuple[float, int]]:
    """From each of these times (ms) on, how many ranks are inside MPI."""
    first = min((start for one in of_ranks for start, _ in one), default=0)
    changes: dict[int, int] = {}
    for start, end in (pair for one in of_ranks for pair in one):
        changes[start] = changes.get(start, 0) + 1
        changes[end] = changes.get(end, 0) - 1
    steps, inside = [], 0
    for moment in sorted(changes):
        inside += changes[moment]
        steps.append(((moment - first) / 1e6, inside))
    return steps


class Kernel:
    """One of the five on these ranks."""

    def __init__(self, name: str, n: int, comm: Any):
        import spanfft

        self.name, self.n, self.comm = name, n, comm
        grid = (comm.size, 1, 1)
        self.plan = spanfft.Plan((n, n, n), grid=grid, output="exchanged", exchange=KERNELS[name], comm=comm, threads=1)
        self.a, self.b = self.plan.input_array(), self.plan.output_array()
        self.fill()
        self.step()
        import numpy as np

        error = float(np.abs(self.a - self.first()).max()) if self.a.size else 0.0
        if comm.allreduce(error) > 1e-10:
            raise SystemExit(f"{name}: a forward and an inverse transform are off by {error:.2g}")

    def first(self) -> Any:
        import numpy as np

        return np.random.default_rng(self.comm.rank).standard_normal(self.a.shape) + 0j

    def fill(self) -> None:
        self.a[...] = self.first()

    def step(self) -> None:
        self.plan.forward(self.a, self.b)
        self.plan.backward(self.b, self.a)

    def timed(self) -> float:
        from mpi4py import MPI

        self.comm.Barrier()
        start = time.perf_counter()
        self.step()
        self.comm.Barrier()
        return float(self.comm.allreduce(time.perf_counter() - start, MPI.MAX))

    def traced(self) -> tuple[float, list[list[tuple[int, int]]]]:
        """Seconds inside MPI, averaged over the ranks; and when, by rank."""
        self.comm.Barrier()
        with self.plan.trace():
            self.step()
        of_ranks = self.comm.allgather(intervals(self.plan.trace_events()))
        seconds = [sum(end - start for start, end in one) / 1e9 for one in of_ranks]
        return statistics.mean(seconds), of_ranks

    def row(self) -> Row:
        counted = [self.plan.counted(direction) for direction in ("forward", "backward")]
        sums = {key: sum(c[key] for c in counted if c) for key in ("calls", "messages", "sent_bytes", "memory_bytes")}
        return {
            "kernel": self.name,
            "exchange": KERNELS[self.name],
            "n": self.n,
            "ranks": self.comm.size,
            "engine": self.plan.engines,
            "counted": self.comm.allgather(sums)[0],
            "paper_calls": calls_per_step(self.name, self.n, self.comm.size),
        }


def work(n: int, repeats: int) -> list[Row]:
    """Collective. The rows of this number of ranks."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    kernels = [Kernel(name, n, comm) for name in KERNELS]
    seconds: dict[str, list[float]] = {name: [] for name in KERNELS}
    inside: dict[str, list[float]] = {name: [] for name in KERNELS}
    profiles: dict[str, list[tuple[float, int]]] = {}
    can_trace = hasattr(kernels[0].plan, "trace")
    for turn in range(repeats + 1):
        for kernel in kernels:
            elapsed = kernel.timed()
            if turn:
                seconds[kernel.name].append(elapsed)
    for _ in range(repeats if can_trace else 0):
        for kernel in kernels:
            average, of_ranks = kernel.traced()
            inside[kernel.name].append(average)
            profiles[kernel.name] = profile(of_ranks)
    found = []
    for kernel in kernels:
        row = kernel.row() | {"seconds": seconds[kernel.name], "median": statistics.median(seconds[kernel.name])}
        if can_trace:
            row["communication_seconds"] = inside[kernel.name]
            row["communication_median"] = statistics.median(inside[kernel.name])
            row["profile"] = profiles[kernel.name]
        found.append(row)
        kernel.plan.free()
    return found


# --- all jobs, and the drawings -----------------------------------------------------------------------------------


def launch(n: int, ranks: int, repeats: int) -> list[Row]:
    mpiexec = os.environ.get("SPANFFT_MPIEXEC") or shutil.which("mpiexec")
    if not mpiexec:
        raise SystemExit("the kernels need mpiexec: set SPANFFT_MPIEXEC, or use ./spanfft-dev run")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.json"
        command = [mpiexec, "-n", str(ranks), sys.executable, __file__, "--worker", str(output)]
        command += ["--n", str(n), "--repeats", str(repeats)]
        code = subprocess.run(command, stdout=sys.stderr).returncode
        if code or not output.exists():
            raise SystemExit(f"{ranks} ranks: the launch failed with exit code {code}")
        rows: list[Row] = json.loads(output.read_text())
        return rows


def _curves(axes: Any, rows: list[Row], key: str, title: str) -> None:
    for kernel in KERNELS:
        mine = sorted((row["ranks"], row[key]) for row in rows if row["kernel"] == kernel and key in row)
        axes.plot([p for p, _ in mine], [t * 1e3 for _, t in mine], "o-", color=_COLOURS[kernel], label=kernel, ms=4)
    axes.set_xlabel("ranks")
    axes.set_ylabel("ms")
    axes.set_ylim(bottom=0)
    axes.set_xticks(sorted({row["ranks"] for row in rows}))
    axes.set_title(title, fontsize=9, loc="left")
    axes.legend(fontsize=8)


def _profile(axes: Any, row: Row) -> None:
    times = [moment for moment, _ in row["profile"]]
    axes.step(times, [inside for _, inside in row["profile"]], where="post", color=_COLOURS[row["kernel"]], lw=0.7)
    axes.set_xlabel("ms")
    axes.set_ylabel("ranks inside MPI")
    axes.set_ylim(0, row["ranks"] + 0.2)
    axes.set_yticks(range(row["ranks"] + 1))
    axes.set_title(f"{row['kernel']}, {row['n']}^3 on {row['ranks']} ranks", fontsize=9, loc="left")


def plot(folder: Path) -> list[Path]:
    """P3's figures 1 and 2 side by side, and 3 (or 4) for the most ranks; none where matplotlib is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return []
    rows: list[Row] = json.loads((folder / "p3_kernels.json").read_text())["rows"]
    matplotlib.rcParams["svg.hashsalt"] = "spanfft"  # the same rows give the same file
    n, written = rows[0]["n"], []
    has_trace = all("communication_median" in row for row in rows)
    figure, panels = pyplot.subplots(1, 1 + has_trace, figsize=(5 * (1 + has_trace), 3.4), layout="constrained",
                                     squeeze=False)  # fmt: skip
    _curves(panels[0][0], rows, "median", f"{n}^3, a forward and an inverse transform")
    if has_trace:
        _curves(panels[0][1], rows, "communication_median", "of that, inside MPI (average of the ranks)")
    written.append(folder / "p3-times.svg")
    figure.savefig(written[-1], metadata={"Date": None})
    pyplot.close(figure)
    most = max(row["ranks"] for row in rows)
    shown = [row for row in rows if row["ranks"] == most and row["kernel"] in ("allplanes", "overlap")]
    if has_trace and most > 1:
        figure, panels = pyplot.subplots(2, 1, figsize=(7, 4.4), layout="constrained", squeeze=False)
        for axes, row in zip(panels[:, 0], sorted(shown, key=lambda row: str(row["kernel"])), strict=True):
            _profile(axes, row)
        written.append(folder / "p3-profile.svg")
        figure.savefig(written[-1], metadata={"Date": None})
        pyplot.close(figure)
    return written


def table(rows: list[Row]) -> str:
    lines = ["ranks  kernel     ms a step  inside MPI  calls  paper"]
    for row in rows:
        inside = f"{row['communication_median'] * 1e3:10.2f}" if "communication_median" in row else "         -"
        lines.append(
            f"{row['ranks']:5}  {row['kernel']:<9}  {row['median'] * 1e3:9.2f}  {inside}  {row['counted']['calls']:5}"
            f"  {row['paper_calls']:5}"
        )
    return "\n".join(lines)


def main() -> int:
    first, _, rest = (__doc__ or "").partition("\n\n")
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="p3_kernels", description=first, epilog=rest, formatter_class=raw)
    parser.add_argument("--n", type=int, default=128, help="points along each axis")
    parser.add_argument("--ranks", default="1,2,4", help="numbers of ranks, each a divisor of n as in the paper")
    parser.add_argument("--repeats", type=int, default=7, help=f"turns, at least {MIN_REPEATS}")
    parser.add_argument("--output", type=Path, help="folder for rows and drawings")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="only draw")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    parser.add_argument("--worker", type=Path, metavar="FILE", help="run in this job, on all its ranks")
    options = parser.parse_args()
    if options.plot:
        print("\n".join(map(str, plot(options.plot))))
        return 0
    if options.repeats < MIN_REPEATS:
        parser.error(f"--repeats is {options.repeats}; a median needs at least {MIN_REPEATS}")
    if options.worker:
        from mpi4py import MPI

        found = work(options.n, options.repeats)
        if MPI.COMM_WORLD.rank == 0:
            options.worker.write_text(json.dumps(found))
        return 0
    numbers = [int(word) for word in options.ranks.split(",")]
    for ranks in numbers:
        if ranks < 1 or options.n % ranks:
            parser.error(f"{ranks} ranks do not divide {options.n} planes; P3's kernels have n / P planes each")
    if options.output and not options.loaded:
        machine.wait_for_quiet()
    load = machine.load_average()
    rows = [row for ranks in numbers for row in launch(options.n, ranks, options.repeats)]
    print(table(rows))
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": machine.machine(), "load_before": load, "rows": rows}, sort_keys=True)
        (options.output / "p3_kernels.json").write_text(text + "\n")
        for path in plot(options.output):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
