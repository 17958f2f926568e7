"""Runs strangers' programs and test suites on spanfft, whole and unedited, and prints a table of what they say.

    ./spanfft-dev clients                 all of them
    ./spanfft-dev clients NAME...         these
    ./spanfft-dev clients --list          their names

A client is a row of CLIENTS: a function that fetches and builds what it needs outside of the repository's files
(.spanfft/clients) and returns a Result for each of its runs. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from clients import fftw_mpi, fluidfft, mpb, mpi4py_fft, mpi4py_fft_users, petsc, python_suites
from clients.result import Result

WORK = Path(__file__).resolve().parents[2] / ".spanfft" / "clients"
CLIENTS: dict[str, Callable[[Path], list[Result]]] = {
    "mpi-bench": fftw_mpi.mpi_bench,
    "mpb": mpb.mpb,
    "petsc": petsc.petsc,
    "mpi4py-fft": mpi4py_fft.whole,
    "shenfun": mpi4py_fft_users.shenfun,
    "pylops-mpi": mpi4py_fft_users.pylops_mpi,
    "fluidfft": fluidfft.whole,
    "scipy": python_suites.scipy,
    "numpy": python_suites.numpy,
}


def table(results: list[Result]) -> str:
    lines = ["| client | version | run | passed | failed | reasons |", "|---|---|---:|---:|---:|---|"]
    for r in results:
        lines.append(f"| {r.client} | {r.version} | {r.run} | {r.passed} | {r.failed} | {'; '.join(r.reasons)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="spanfft-dev clients", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a client; default all")
    parser.add_argument("--list", action="store_true", help="print the clients' names")
    options = parser.parse_args()
    if unknown := set(options.names) - set(CLIENTS):
        parser.error(f"no client {', '.join(sorted(unknown))}; there are {', '.join(CLIENTS)}")
    if options.list:
        print(*CLIENTS, sep="\n")
        return 0
    results: list[Result] = []
    for name in options.names or CLIENTS:
        folder = WORK / os.environ["SPANFFT_DEV_MPI"] / name
        folder.mkdir(parents=True, exist_ok=True)
        print(f"-- {name}", flush=True)
        results += CLIENTS[name](folder)
    print(table(results))
    return 1 if any(r.failed or r.passed < r.run for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
