"""How a file larger than all memories is transformed by ranks that each have a slow disk of their own.

    ./spanfft-dev run python bench/rank_disks.py loops [--repeats 5]    P = 1, 2, 4 ranks and as many disks of 32 MiB/s
    ./spanfft-dev run python bench/rank_disks.py hosts [--repeats 5]    4 emulated hosts, 1 Gb/s, disks of 64 MiB/s
    ./spanfft-dev run python bench/rank_disks.py summary                the table anew from the committed rows

The disks are loop devices that a control group holds to a rate, for reads and for writes, far below what the machine
can do, so that scratch decides how long a run takes; input and output lie elsewhere, without limits. In `hosts` no host
sees another one's disk, the links count what leaves each host, and `spanfft probe` measures links and all disks before
the runs. What a run is held against is measured beside it, in the same turn: the least time in which these disks write
and read the bytes that the kernel counted on them in the run, all at once, and the time in which an all-to-all moves
over the links what the run sent. Rows go to RANK_DISKS.json, the table to rank_disks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import machine
import numpy as np
from cluster import Absent, Cluster, find_mpiexec
from loop_disks import LoopDisks

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
Row = dict[str, Any]

# Of complex floats. Memory a rank is a sixteenth of the array on one rank and a quarter on four, so no number of ranks
# holds the array with its work space.
LOOP_POINTS, LOOP_MEMORY_MIB, LOOP_RATE_MIB, LOOP_RANKS = 1 << 24, 8, 32, (1, 2, 4)
HOST_POINTS, HOST_MEMORY_MIB, HOST_RATE_MIB, HOSTS, LINK = 1 << 25, 16, 64, 4, "1gbit"
LOOPS_TARGET, HOSTS_TARGET = 1.15, 1.2

# Writes and reads so many bytes of a file in a folder past the page cache, and says how long each took.
_DISK_SPEED = """
import mmap, os, sys, time
name, left = sys.argv[1] + "/speed", int(sys.argv[2])
block = mmap.mmap(-1, 8 << 20)
seconds = []
for flags in (os.O_WRONLY | os.O_CREAT, os.O_RDONLY):
    file, start = os.open(name, flags | os.O_DIRECT, 0o600), time.perf_counter()
    for at in range(0, left, len(block)):
        part = memoryview(block)[: min(len(block), left - at)]  # a disk moves as much as it did in the run
        if flags & os.O_WRONLY:
            os.pwrite(file, part, at)
        else:
            os.preadv(file, [part], at)
    os.close(file)
    seconds.append(time.perf_counter() - start)
os.unlink(name)
print(sum(seconds))
"""


def transform_command(folder: Path, memory_mib: int, scratch: str) -> list[str]:
    return [sys.executable, "-m", "spanfft", "transform", str(folder / "in.npy"), str(folder / "out.npy"), "--memory",
            f"{memory_mib}MiB", "--threads", "1", "--scratch", scratch, "--json"]  # fmt: skip


def make_input(folder: Path, points: int) -> None:
    random = np.random.default_rng(1)
    np.save(folder / "in.npy", random.standard_normal(2 * points, "float32").view("complex64"))


def check_output(folder: Path, points: int) -> None:
    """A few bins against the definition: a fast run that is wrong is no run."""
    x, got = np.load(folder / "in.npy"), np.load(folder / "out.npy", mmap_mode="r")
    for k in (0, 1, points // 3):
        steps = np.exp(-2j * np.pi * ((k * np.arange(points, dtype=np.int64)) % points) / points)
        expected = np.sum(x * steps)
        if abs(got[k] - expected) > 1e-4 * np.sqrt(points):
            raise SystemExit(f"bin {k} is {got[k]}, and by the definition {expected}")


def disk_bytes(disks: LoopDisks) -> list[int]:
    """What each disk has moved so far, half of it in either direction, as a run writes and reads its scratch once, in
    whole blocks of direct I/O."""
    return [(w + r) // 8192 * 4096 for w, r in zip(disks.written_bytes(), disks.read_bytes(), strict=True)]


def disk_seconds(disks: LoopDisks, bytes_each: list[int], limited: Callable[[list[str]], list[str]]) -> float:
    """The longest of what the disks need for their bytes, written and read once, all at the same time."""
    commands = [limited([sys.executable, "-c", _DISK_SPEED, str(folder), str(count)])
                for folder, count in zip(disks.folders, bytes_each, strict=True) if count > MIB]  # fmt: skip
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    said = [process.communicate(timeout=300)[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit("the disks' own speed could not be measured")
    return max(map(float, said))


def report(text: str) -> Row:
    """Of what a run printed: seconds, and what each rank counted."""
    result = json.loads(text)
    ranks = result["ranks"]
    return {"problem": ranks[0]["problem"], "solver": ranks[0]["solver"], "seconds": result["seconds"],
            "sent_bytes": [rank["counted"]["sent_bytes"] for rank in ranks]}  # fmt: skip


def gather(turns: list[Row], **more: Any) -> Row:
    """One row of several turns: medians, and the median of each turn's ratio."""
    row: Row = {
        "disks_alone": "move the bytes of the run",
        **{name: turns[0][name] for name in ("problem", "solver", "disk_bytes", "sent_bytes")},
        **more,
    }
    for name in ("seconds", "disk_seconds", "wire_seconds"):
        if name in turns[0]:
            row[name] = [turn[name] for turn in turns]
    row["median"] = statistics.median(row["seconds"])
    row["ratio"] = statistics.median(t["seconds"] / max(t["disk_seconds"], t.get("wire_seconds", 0)) for t in turns)
    return row


def loops(repeats: int) -> list[Row]:
    turns: dict[int, list[Row]] = {ranks: [] for ranks in LOOP_RANKS}
    mpiexec = find_mpiexec()
    with tempfile.TemporaryDirectory(prefix="spanfft-rank-disks-") as name:
        folder = Path(name)
        make_input(folder, LOOP_POINTS)
        with LoopDisks(folder, max(LOOP_RANKS), 10 * LOOP_POINTS + 64 * MIB, LOOP_RATE_MIB * MIB) as disks:
            scratch = str(folder / "disk{rank}")
            for _ in range(repeats):  # in turns, so that a busy moment falls on all alike
                for ranks in LOOP_RANKS:
                    command = transform_command(folder, LOOP_MEMORY_MIB, scratch)
                    before = disk_bytes(disks)
                    done = disks.limited([mpiexec, "-n", str(ranks), *command])
                    if done.returncode:
                        raise SystemExit(f"{' '.join(command)} on {ranks} ranks: {done.stderr}")
                    turn = report(done.stdout)
                    turn["disk_bytes"] = [now - then for now, then in zip(disk_bytes(disks), before, strict=True)]
                    turn["disk_seconds"] = disk_seconds(disks, turn["disk_bytes"], disks.inside)
                    turns[ranks].append(turn)
            check_output(folder, LOOP_POINTS)
    rows = [gather(found, case="loops", ranks=ranks, rate_bytes_per_second=LOOP_RATE_MIB * MIB)
            for ranks, found in turns.items()]  # fmt: skip
    for row in rows:  # time times P, against P = 1
        row["of_one_rank"] = row["ranks"] * row["median"] / rows[0]["median"]
    return rows


def wire_seconds(cluster: Cluster, sent_bytes: list[int]) -> float:
    """An all-to-all of what the rank that sends most sends, between all hosts, without anything else."""
    block = max(sent_bytes) // (cluster.hosts - 1)
    said = json.loads(cluster.run(1, [sys.executable, HERE / "cluster.py", "probe", block]).output)
    return float(min(said["seconds"]))


def hosts(repeats: int) -> list[Row]:
    turns: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="spanfft-rank-disks-") as name:
        folder = Path(name)
        make_input(folder, HOST_POINTS)
        with (
            LoopDisks(folder, HOSTS, 10 * HOST_POINTS + 64 * MIB, HOST_RATE_MIB * MIB) as disks,
            Cluster(HOSTS, LINK) as cluster,
            disks.joined(),  # what the cluster starts from here on is limited too
        ):
            for host in range(HOSTS):
                for other in set(disks.folders) - {disks.folders[host]}:
                    cluster.unmount(host, other)
            scratch = str(folder / "disk{node}")
            # As the manual asks: plans know these links, the disk on which input and output are, and those of scratch.
            os.environ["SPANFFT_HOME"] = str(folder / "measured")
            probe = [sys.executable, "-m", "spanfft", "probe", "--disk", folder, "--scratch", scratch]
            cluster.run(1, probe, timeout=300)
            command = transform_command(folder, HOST_MEMORY_MIB, scratch)
            for _ in range(repeats):
                before = disk_bytes(disks)
                job = cluster.run(1, command, timeout=600)
                turn = report(job.output)
                turn["disk_bytes"] = [now - then for now, then in zip(disk_bytes(disks), before, strict=True)]
                turn["link_bytes"] = max(job.sent_bytes)
                turn["wire_seconds"] = wire_seconds(cluster, turn["sent_bytes"])
                turn["disk_seconds"] = disk_seconds(disks, turn["disk_bytes"], list)
                turns.append(turn)
            check_output(folder, HOST_POINTS)
    return [gather(turns, case="hosts", ranks=HOSTS, rate_bytes_per_second=HOST_RATE_MIB * MIB, link=LINK,
                   link_bytes=[turn["link_bytes"] for turn in turns])]  # fmt: skip


def table(rows: list[Row]) -> str:
    lines = [
        "| case | ranks | seconds | disks alone | links alone | ratio to the larger | times P, of P = 1 | target |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        one, wire = row.get("of_one_rank"), row.get("wire_seconds")
        value, most = (one, LOOPS_TARGET) if one else (row["ratio"], HOSTS_TARGET)
        verdict = "" if row["ranks"] == 1 else f"at most {most}: {'met' if value <= most else 'MISSED'}"
        if not one and "disks_alone" not in row:
            verdict = f"at most {most}: not decided, as the disks alone moved whole blocks of 8 MiB"
        lines.append(f"| {row['case']} | {row['ranks']} | {row['median']:.2f} | "
                     f"{statistics.median(row['disk_seconds']):.2f} | "
                     f"{f'{statistics.median(wire):.2f}' if wire else ''} | {row['ratio']:.2f} | "
                     f"{f'{one:.2f}' if one else ''} | {verdict} |")  # fmt: skip
    return "\n".join(lines)


CASES: Mapping[str, Callable[[int], list[Row]]] = {"loops": loops, "hosts": hosts}


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    first, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(description=first, epilog=rest, formatter_class=raw)
    parser.add_argument("case", choices=(*CASES, "summary"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--results", type=Path, help="folder of RANK_DISKS.json; default: this machine's")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    options = parser.parse_args()
    here = machine.machine()
    folder = options.results or HERE / "results" / machine.machine_name(here)
    path = folder / "RANK_DISKS.json"
    rows: list[Row] = json.loads(path.read_text()) if path.exists() else []
    if options.case != "summary":
        if not options.loaded:
            machine.wait_for_quiet()
        common = {"machine": here, **machine.provenance(), "load_before": machine.load_average()}
        try:
            made = CASES[options.case](options.repeats)
        except Absent as reason:
            raise SystemExit(f"skipped: {reason}") from None
        rows = [row for row in rows if row["case"] != options.case] + [{**row, **common} for row in made]
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in rows) + "\n]\n")
    text = table(rows)
    (folder / "rank_disks.md").write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
