"""FFTW's own benchmark of its MPI library, mpi-bench, with FFTW's library and with ours preloaded, in turns.

    ./spanfft-dev run python bench/fftw_mpi.py [--ranks 2] [--turns 5] [PROBLEM...]

A problem is in mpi-bench's notation: o or i for out of place or in place, then c or r, then the lengths. Both are
planned with FFTW_MEASURE. Prints medians, as mpi-bench measures them, and how they are spread.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from clients import fftw_mpi  # noqa: E402

PROBLEMS = ("oc64x64x64", "oc128x128x128", "or128x128x128", "o]c128x128x128", "oc1048576")
UNITS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}


def milliseconds(fftw: fftw_mpi.Fftw, ranks: int, problem: str, preloaded: Path | None) -> float:
    output = fftw_mpi.call(*fftw.launcher(ranks, preloaded), "--verbose=1", "--speed", problem)
    found = re.search(r"time: ([\d.e+-]+) (\w+)", output)
    if not found:
        raise RuntimeError(f"mpi-bench names no time:\n{output}")
    if preloaded and " 0 plans by FFTW, 0 plans by nobody" not in output:
        raise RuntimeError(f"spanfft did not make the plan:\n{output}")
    return float(found[1]) * UNITS[found[2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", default=PROBLEMS)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    work = ROOT / ".spanfft" / "clients" / os.environ["SPANFFT_DEV_MPI"] / "mpi-bench"
    work.mkdir(parents=True, exist_ok=True)
    fftw = fftw_mpi.Fftw(work)
    ours = fftw_mpi.our_library()
    load = os.getloadavg()[0]
    print(f"FFTW {fftw.version}, {options.ranks} ranks, {options.turns} turns, load average {load:.1f} at the start")
    print("| problem | FFTW, ms | spanfft, ms | ratio | FFTW, least to most | spanfft |\n|---|---:|---:|---:|---|---|")
    for problem in options.problems:
        times: dict[Path | None, list[float]] = {None: [], ours: []}
        for _ in range(options.turns):
            for preloaded, taken in times.items():
                taken.append(milliseconds(fftw, options.ranks, problem, preloaded))
        theirs, mine = (statistics.median(taken) for taken in times.values())
        spread = " | ".join(f"{min(taken):.3g} to {max(taken):.3g}" for taken in times.values())
        print(f"| {problem} | {theirs:.3g} | {mine:.3g} | {mine / theirs:.2f} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
