"""How a transform in two sweeps gains from more disks: scratch striped over 1 to 4 limited loop devices.

Every disk is held to the same rate by a control group, far below what the machine can do, so that scratch decides how
long a run takes; input and output lie elsewhere, without limits. Rows go to DISKS.json: seconds in turns, what the
disks alone need (the scratch written and read once at D times the rate), and their ratio.

    ./spanfft-dev run python bench/disks.py [--repeats 3] [--rate 32] [--results FOLDER]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import machine
import numpy as np
from cluster import Absent
from loop_disks import LoopDisks

MIB = 1 << 20
DISKS = (1, 2, 3, 4)
POINTS = 1 << 24
MEMORY = "32MiB"


def measure(repeats: int, rate: int) -> list[dict[str, Any]]:
    """One row for each backend and number of disks; Absent where there are no such disks."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="spanfft-disks-") as name:
        folder = Path(name)
        np.save(folder / "in.npy", np.random.default_rng(1).standard_normal(POINTS, "float32"))
        with LoopDisks(folder, max(DISKS), 160 * MIB, rate) as disks:
            for _ in range(repeats):  # in turns, so that a busy moment falls on all alike
                for io in ("auto", "threads"):
                    for count in DISKS:
                        found = _run(disks, folder, io, count)
                        row = rows.setdefault((io, count), {"io": io, "disks": count, "seconds": [], **found})
                        row["seconds"].append(found["seconds_of_run"])
    for row in rows.values():
        del row["seconds_of_run"]
        row["rate_bytes_per_second"] = rate
        row["median"] = statistics.median(row["seconds"])
        row["disk_seconds"] = 2 * row["scratch_bytes"] / (rate * row["disks"])
        row["factor_from_disks"] = row["median"] / row["disk_seconds"]
        row["speedup"] = rows[row["io"], 1]["median"] / row["median"]
    return list(rows.values())


def _run(disks: LoopDisks, folder: Path, io: str, count: int) -> dict[str, Any]:
    scratch = ",".join(str(path) for path in disks.folders[:count])
    command = [sys.executable, "-m", "spanfft", "transform", str(folder / "in.npy"), str(folder / "out.npy"),
               "--memory", MEMORY, "--scratch", scratch, "--io", io, "--json"]  # fmt: skip
    done = disks.limited(command)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    result = json.loads(done.stdout)
    report = result["ranks"][0]
    who = next(line[2:].strip() for line in result["explain"].splitlines() if line.startswith("io "))
    return {"problem": report["problem"], "scratch_bytes": report["scratch_bytes"], "who": who,
            "seconds_of_run": result["seconds"]}  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| io | disks | seconds | the disks alone need | factor | speedup |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        lines.append(f"| {row['io']} | {row['disks']} | {row['median']:.2f} | {row['disk_seconds']:.2f} | "
                     f"{row['factor_from_disks']:.2f} | {row['speedup']:.2f} |")  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="scratch striped over limited loop devices")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rate", type=int, default=32, help="MiB/s of each disk, each way")
    parser.add_argument("--results", type=Path, help="folder for DISKS.json; default: this machine's")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    options = parser.parse_args()
    if not options.loaded:
        machine.wait_for_quiet()
    here = machine.machine()
    common = {"machine": here, **machine.provenance(), "load_before": machine.load_average()}
    folder = options.results or Path(__file__).resolve().parent / "results" / machine.machine_name(here)
    try:
        rows = measure(options.repeats, options.rate * MIB)
    except Absent as reason:
        raise SystemExit(f"skipped: {reason}") from None
    folder.mkdir(parents=True, exist_ok=True)
    text = ",\n".join(json.dumps({**row, **common}, sort_keys=True) for row in rows)
    (folder / "DISKS.json").write_text(f"[\n{text}\n]\n")
    print(table(rows))


if __name__ == "__main__":
    main()
