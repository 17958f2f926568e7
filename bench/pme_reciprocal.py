"""The reciprocal part of apps/pme on ranks and on emulated hosts, over spanfft, mpi4py-fft and FFTW-MPI.

    ./spanfft-dev run python bench/pme_reciprocal.py --output FOLDER     64^3, 128^3 on 1, 2, 4 ranks, and between hosts
    ./spanfft-dev run python bench/pme_reciprocal.py --plot FOLDER       the drawing anew, from FOLDER/PME.json
    LAUNCHER... python bench/pme_reciprocal.py --worker --n 64           one job of any launcher; rank 0 prints its rows

The Duke paper's figures 3 to 6, redrawn: one atom for 13 mesh points, splines of order 5, and everything from the
charges to the forces (spreading, halos, there, influence, back, reading), by the same program over each library; the
spectrum is left where the library's last exchange puts it. spanfft runs by the planner's choice, and as the paper's
method with so many planes a message. All take turns, a turn's time is that of the slowest rank between two barriers,
and every energy must be the first one's. Emulated hosts need root (bench/cluster.py); without it they are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import cluster
import machine

PEERS = ("spanfft", "mpi4py-fft", "fftw-mpi-transposed")
PLANES = (1, 2, 4, 8, 16)  # a message, of spanfft's overlap
RATES = ("1gbit", "100mbit")
SAME_ENERGY = 1e-9
MIN_REPEATS = 5
COLOURS = {"spanfft": "#1f6f8b", "spanfft, overlap": "#5aa469", "mpi4py-fft": "#d99a2b",
           "fftw-mpi-transposed": "#c2452d"}  # fmt: skip
Row = dict[str, Any]


# --- one job ----------------------------------------------------------------------------------------------------------


class PeerTransform:
    """A peer of bench/peers as apps/pme sees a library; spanfft knows its parts only for the halo."""

    def __init__(self, name: str, n: int, comm: Any):
        import spanfft
        from cases import Case
        from peers import PEERS as ALL
        from peers import Pool, World

        pool = Pool()
        for part in ("part_a", "part_b"):
            pool.reserve(part, 16 * n * (n + 2) * (n // 2 + 2) // comm.size + (1 << 22))
        world = World(comm, comm.rank, comm.size, len(os.sched_getaffinity(0)), pool)
        case = Case(f"pme-{n}", "r2c", (n, n, n), comm.size, (name,), (8, 8, 8))
        self.run = ALL[name].load().prepare(case, world, ALL[name].options)
        self.real, self.scale = self.run.input, self.run.pair_scale / self.run.forward_scale
        self.real_slices = self._slices(self.run.input_start, self.real)
        self.spectrum_slices = self._slices(self.run.spectrum_start, self.run.spectrum())
        plan = spanfft.Plan((n, n, n), kind="r2c", comm=comm, real_slices=self.real_slices)
        self.halo = plan.halo

    @staticmethod
    def _slices(start: tuple[int, ...], part: Any) -> tuple[slice, ...]:
        return tuple(slice(first, first + count) for first, count in zip(start, part.shape, strict=True))

    def forward(self) -> Any:
        self.run.forward()
        return self.run.spectrum()

    def backward(self) -> Any:
        self.run.backward()
        return self.run.result()

    def free(self) -> None:
        self.run.close()


def transforms(n: int, comm: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """What can be had here, and why the others can't. `Absent` is said by all ranks."""
    from peers import Absent

    from apps.pme.mesh import SpanfftTransform

    found: dict[str, Any] = {"spanfft": SpanfftTransform((n, n, n), comm)}
    absent = {}
    for planes in PLANES if comm.size > 1 else ():
        if planes * comm.size <= n:
            name = f"spanfft, overlap:{planes}"
            found[name] = SpanfftTransform((n, n, n), comm, exchange=f"overlap:{planes}", grid=(comm.size, 1, 1))
    for name in PEERS[1:]:
        try:
            found[name] = PeerTransform(name, n, comm)
        except Absent as error:
            absent[name] = str(error)
    return found, absent


def work(n: int, repeats: int, comm: Any) -> list[Row]:
    """Collective. The rows of one number of ranks."""
    import numpy as np

    from apps.pme.lattice import Lattice
    from apps.pme.mesh import Reciprocal

    found, absent = transforms(n, comm)
    fractions = np.random.default_rng(1).random((n**3 // 13, 3))  # the same on all ranks
    charges = np.where(np.arange(len(fractions)) % 2, 1.0, -1.0)
    parts, seconds, transforming = {}, {name: [] for name in found}, {name: [] for name in found}
    energies: dict[str, float] = {}
    for name, transform in found.items():
        parts[name] = Reciprocal((n, n, n), 0.3 * n, 5, transform)  # alpha times the mesh's spacing is 0.3
        parts[name].set_box(Lattice.of((1, 1, 1)))
    for turn in range(repeats + 1):  # the first is not counted
        for name, part in parts.items():
            cells = (fractions * n).astype(int)
            slices = part.transform.real_slices
            mine = np.all([(cells[:, a] >= s.start) & (cells[:, a] < s.stop) for a, s in enumerate(slices)], axis=0)
            own, own_charges = fractions[mine], charges[mine]
            comm.Barrier()
            start = time.perf_counter()
            smooth = part.sum(own, own_charges)
            comm.Barrier()
            middle = time.perf_counter()
            part.transform.forward()
            part.transform.backward()
            comm.Barrier()
            end = time.perf_counter()
            energies[name] = comm.allreduce(smooth.energy)
            if turn:
                seconds[name].append(max(comm.allgather(middle - start)))
                transforming[name].append(max(comm.allgather(end - middle)))
    rows = []
    for name in parts:
        off = abs(energies[name] / energies["spanfft"] - 1)
        if off > SAME_ENERGY:
            raise SystemExit(f"{name}, {n}^3 on {comm.size} ranks: the energy is off by {off:.1e}")
        rows.append({
            "n": n, "ranks": comm.size, "peer": name, "seconds": seconds[name],
            "median": statistics.median(seconds[name]), "transforms_seconds": transforming[name],
            "transforms_median": statistics.median(transforming[name]), "energy_off": off,
        })  # fmt: skip
    rows += [{"n": n, "ranks": comm.size, "peer": name, "absent": why} for name, why in absent.items()]
    return rows


# --- all jobs ---------------------------------------------------------------------------------------------------------


def command(n: int, repeats: int) -> list[str]:
    return [sys.executable, str(Path(__file__).resolve()), "--worker", "--n", str(n), "--repeats", str(repeats)]


def rows_of(output: str, **where: object) -> list[Row]:
    return [{**row, **where} for row in json.loads(output.strip().splitlines()[-1])]


def on_this_machine(sizes: list[int], numbers: list[int], repeats: int) -> list[Row]:
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = os.environ.get("SPANFFT_MPIEXEC") or (str(beside) if beside.exists() else shutil.which("mpiexec"))
    rows = []
    for n in sizes:
        for ranks in numbers:
            words = [str(mpiexec), "-n", str(ranks), *command(n, repeats)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
            if done.returncode:
                raise SystemExit(f"{n}^3 on {ranks} ranks ended with {done.returncode}:\n{done.stdout}{done.stderr}")
            rows += rows_of(done.stdout, network="none")
    return rows


def between_hosts(sizes: list[int], numbers: list[int], repeats: int, rate: str) -> list[Row]:
    rows = []
    with cluster.Cluster(hosts=max(numbers), rate=rate) as hosts:
        for n in sizes:
            for ranks in numbers:
                job = hosts.run(1, command(n, repeats), timeout=900, hosts=ranks)
                rows += rows_of(job.output, network=rate)
    return rows


def table(rows: list[Row]) -> str:
    lines = [f"{'network':<8} {'mesh':>5} {'ranks':>5}  {'over':<24} {'ms':>9} {'of that, transforms':>20}"]
    for row in rows:
        head = f"{row['network']:<8} {row['n']:>3}^3 {row['ranks']:>5}  {row['peer']:<24}"
        if "absent" in row:
            lines.append(f"{head} absent: {row['absent']}")
        else:
            lines.append(f"{head} {row['median'] * 1e3:9.1f} {row['transforms_median'] * 1e3:20.1f}")
    return "\n".join(lines)


def _by_ranks(axes: Any, rows: list[Row]) -> None:
    """Of one mesh and network; the best number of planes stands for overlap. Dashed: the transforms alone."""
    for peer, colour in COLOURS.items():
        for key, style in (("median", "o-"), ("transforms_median", "o--")):
            best: dict[int, float] = {}
            for row in rows:
                if row["peer"].split(":")[0] == peer:
                    best[row["ranks"]] = min(best.get(row["ranks"], float("inf")), 1e3 * row[key])
            if best:
                label = peer if key == "median" else None
                axes.plot(*zip(*sorted(best.items()), strict=True), style, ms=3, lw=1, color=colour, label=label)
    axes.set_xticks(sorted({row["ranks"] for row in rows}))
    axes.set_xlabel("ranks")


def _by_planes(axes: Any, rows: list[Row]) -> None:
    """Of one network, its most ranks: each mesh's times over its best."""
    most = max(row["ranks"] for row in rows)
    for n, dash in zip(sorted({row["n"] for row in rows}), ("-", "--", ":"), strict=False):
        planes = [(int(row["peer"].split(":")[1]), row["median"]) for row in rows
                  if (row["n"], row["ranks"]) == (n, most) and ":" in row["peer"]]  # fmt: skip
        if planes:
            fastest = min(median for _, median in planes)
            axes.plot([p for p, _ in planes], [median / fastest for _, median in planes], dash, marker="o", ms=4,
                      color=COLOURS["spanfft, overlap"], label=f"{n}^3")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xlabel(f"planes a message, {most} ranks")
    axes.legend(fontsize=7)


def plot(folder: Path) -> Path:
    """Times by ranks, a row for each mesh and a column for each network, and in the last row by planes a message."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "spanfft"  # the same rows give the same file
    from matplotlib import pyplot

    rows = [row for row in json.loads((folder / "PME.json").read_text())["rows"] if "absent" not in row]
    sizes = sorted({row["n"] for row in rows})
    networks = [name for name in ("none", *RATES) if any(row["network"] == name for row in rows)]
    shape = (len(sizes) + 1, len(networks))
    figure, panels = pyplot.subplots(*shape, figsize=(3.6 * shape[1], 2.8 * shape[0]), layout="constrained",
                                     squeeze=False)  # fmt: skip
    for column, network in enumerate(networks):
        of_network = [row for row in rows if row["network"] == network]
        where = "one node" if network == "none" else f"hosts, {network}/s"
        for line, n in zip(panels, sizes, strict=False):
            _by_ranks(line[column], [row for row in of_network if row["n"] == n])
            line[column].set_title(f"{n}^3, {where}", fontsize=9, loc="left")
            line[column].set_ylim(bottom=0)
        _by_planes(panels[-1][column], of_network)
    for line in panels[:-1]:
        line[0].set_ylabel("ms; dashed: transforms")
    panels[-1][0].set_ylabel("time over the best")
    panels[0][0].legend(fontsize=7)
    path = folder / "pme-reciprocal.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


def main() -> int:
    first, _, rest = (__doc__ or "").partition("\n\n")
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="pme_reciprocal", description=first, epilog=rest, formatter_class=raw)
    parser.add_argument("--n", default="64,128", help="points of a mesh along each edge")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--repeats", type=int, default=7, help=f"turns, at least {MIN_REPEATS}")
    parser.add_argument("--rates", default=",".join(RATES), help="of emulated hosts; empty: none")
    parser.add_argument("--output", type=Path, help="folder for rows and drawing")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="only draw")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    parser.add_argument("--no-build", action="store_true", help="don't compile FFTW-MPI")
    parser.add_argument("--worker", action="store_true", help="run in this job, on all its ranks")
    options = parser.parse_args()
    if options.plot:
        print(plot(options.plot))
        return 0
    if options.repeats < MIN_REPEATS and not (options.loaded or options.worker):
        parser.error(f"--repeats is {options.repeats}; a median needs at least {MIN_REPEATS}")
    sizes = [int(word) for word in options.n.split(",")]
    numbers = [int(word) for word in options.ranks.split(",")]
    if options.worker:
        from mpi4py import MPI
        from peers import preload

        preload(PEERS)
        found = work(sizes[0], options.repeats, MPI.COMM_WORLD)
        if MPI.COMM_WORLD.rank == 0:
            print(json.dumps(found))
        return 0
    if not options.no_build:
        from peers import Absent, fftw_mpi

        try:
            fftw_mpi.build()
        except Absent as error:
            print(f"FFTW-MPI: {error}", file=sys.stderr)
    if not options.loaded:
        machine.wait_for_quiet()
    load = machine.load_average()
    rows = on_this_machine(sizes, numbers, options.repeats)
    for rate in filter(None, options.rates.split(",")):
        try:
            rows += between_hosts(sizes, [r for r in numbers if r > 1], options.repeats, rate)
        except cluster.Absent as error:
            print(f"hosts at {rate}: {error}", file=sys.stderr)
    print(table(rows))
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        about = {"machine": machine.machine(), "load_before": load, **machine.provenance(), "rows": rows}
        (options.output / "PME.json").write_text(json.dumps(about, sort_keys=True) + "\n")
        print(plot(options.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
