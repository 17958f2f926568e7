"""The Taylor-Green vortex: runs it, times a step against the same program on mpi4py-fft, draws both.

mpiexec -n 2 python -m apps.turbulence run --size 128 --rows apps/turbulence/rows/128.json
mpiexec -n 2 python -m apps.turbulence run --size 128 --padded       128^3 modes, products on 192^3 points
mpiexec -n 2 python -m apps.turbulence time --size 128 --libraries spanfft,mpi4py-fft
python -m apps.turbulence draw docs/images/app-turbulence.svg        from the committed rows
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps import ranks
from apps.turbulence.flow import Budget, Flow
from apps.turbulence.history import compared, record
from apps.turbulence.transforms import LIBRARIES, preload

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

ROWS = Path(__file__).with_name("rows")


def run(options: argparse.Namespace, comm: Comm | None) -> None:
    """One run, told as it goes, and its peak beside the published one."""
    wrong = None
    if not options.reynolds > 0:
        wrong = f"the Reynolds number is {options.reynolds}; it must be positive (the viscosity is its inverse)"
    ranks.agree(comm, wrong)
    grid = 3 * options.size // 2 if options.padded else options.size
    cutoff = (options.size - 1) // 2 if options.padded else options.cutoff
    preload([options.library])
    flow = Flow(grid, 1 / options.reynolds, comm, cutoff, LIBRARIES[options.library])
    ranks.say(comm, f"{grid}^3 points, modes up to {flow.cutoff}, Re {options.reynolds:g}, {flow.transforms.name}")

    def tell(now: float, budget: Budget) -> None:
        dissipation = 2 * budget.enstrophy / options.reynolds
        ranks.say(comm, f"time {now:7.3f}  energy {budget.energy:.8f}  dissipation {dissipation:.8f}")

    coarse = None
    if options.coarse:
        coarse = Flow(options.coarse, 1 / options.reynolds, comm), options.coarse_until
    history = record(flow, options.reynolds, options.until, options.step, options.every, tell, coarse)
    for line in compared(history):
        ranks.say(comm, line)
    if options.rows and (comm is None or comm.rank == 0):
        options.rows.parent.mkdir(exist_ok=True)
        options.rows.write_text(json.dumps(history) + "\n")


def time_steps(options: argparse.Namespace, comm: Comm | None) -> None:
    """The same steps by each library in turns; each turn is a step, timed as the slowest rank's."""
    names = options.libraries.split(",")
    unknown = [name for name in names if name not in LIBRARIES]
    ranks.agree(comm, f"there is no library {unknown[0]!r}; name {', '.join(LIBRARIES)}" if unknown else None)
    preload(names)
    flows = {name: Flow(options.size, 1 / 1600, comm, None, LIBRARIES[name]) for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    busy: dict[str, list[float]] = {name: [] for name in names}
    for flow in flows.values():
        flow.taylor_green()
    for turn in range(options.steps + 1):
        for name in names if turn % 2 else reversed(names):
            if comm is not None:
                comm.barrier()
            start, cpu = time.perf_counter(), time.process_time()
            flows[name].step(1e-3)
            took, used = time.perf_counter() - start, time.process_time() - cpu
            seconds[name].append(took if comm is None else max(comm.allgather(took)))
            busy[name].append(ranks.total(comm, used))
    energies = {name: flow.budget().energy for name, flow in flows.items()}
    rows: list[dict[str, Any]] = []
    for name, each in seconds.items():
        each = each[1:]  # the first turn warms up
        rows.append({
            "size": options.size, "ranks": 1 if comm is None else comm.size, "library": flows[name].transforms.name,
            "steps": len(each), "median_s": round(statistics.median(each), 5), "fastest_s": round(min(each), 5),
            "cpu_s": round(statistics.median(busy[name][1:]), 5), "energy": energies[name],
        })  # fmt: skip
        ranks.say(comm, f"{flows[name].transforms.name}: {statistics.median(each) * 1e3:.1f} ms a step, "
                        f"{min(each) * 1e3:.1f} at best, processor time {rows[-1]['cpu_s'] * 1e3:.1f}")  # fmt: skip
    if options.rows and (comm is None or comm.rank == 0):
        old = json.loads(options.rows.read_text()) if options.rows.exists() else []
        options.rows.write_text("[\n" + ",\n".join(json.dumps(row) for row in [*old, *rows]) + "\n]\n")


def main(comm: Comm | None) -> None:
    parser = argparse.ArgumentParser(prog="python -m apps.turbulence", description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run", help="run it to a time")
    command.add_argument("--size", type=int, default=64, help="grid points along each axis (64); 128, 256, ...")
    command.add_argument("--padded", action="store_true", help="keep SIZE modes, and take products on 3/2 SIZE points")
    command.add_argument("--cutoff", type=int, help="largest wave number that is kept, by default below SIZE / 3")
    command.add_argument("--coarse", type=int, metavar="N", help="begin on N points an axis, while the flow is smooth")
    command.add_argument("--coarse-until", type=float, default=3.0, metavar="T", help="and go on from time T (3)")
    command.add_argument("--reynolds", type=float, default=1600.0)
    command.add_argument("--step", type=float, default=0.01, help="of time (0.01)")
    command.add_argument("--until", type=float, default=10.0, help="time of the end (10)")
    command.add_argument("--every", type=int, default=10, help="steps between rows (10)")
    command.add_argument("--library", choices=list(LIBRARIES), default="spanfft")
    command.add_argument("--rows", type=Path, metavar="JSON", help="write what was seen")
    command = commands.add_parser("time", help="time a step by several libraries")
    command.add_argument("--size", type=int, default=64)
    command.add_argument("--steps", type=int, default=10)
    command.add_argument("--libraries", default="spanfft,mpi4py-fft")
    command.add_argument("--rows", type=Path, metavar="JSON", help="add what was seen")
    command = commands.add_parser("draw", help="draw the committed rows")
    command.add_argument("picture", type=Path)
    command.add_argument("--rows", type=Path, help="of one run, instead of those that are committed")
    options = parser.parse_args()
    if options.command == "run":
        run(options, comm)
    elif options.command == "time":
        time_steps(options, comm)
    elif comm is None or comm.rank == 0:
        from apps.turbulence.draw import draw

        draw([options.rows] if options.rows else sorted(ROWS.glob("run-*.json")), options.picture)


if __name__ == "__main__":
    ranks.command_line("turbulence", main)
