"""The benchmark: named cases, each timed in turns with its peers, as rows, a table and plots.

    ./spanfft-dev bench                        every case, into bench/results/MACHINE
    ./spanfft-dev bench list                   what there is
    ./spanfft-dev bench --case c2c-256-2       one case (may be repeated)
    ./spanfft-dev bench --suite node           the cases of a suite (may be repeated)
    ./spanfft-dev bench --small                all of it at toy size, into .spanfft/bench: does it run?
    ./spanfft-dev bench summary | plot         anew from the committed rows
    ./spanfft-dev bench cluster ...            exchange strategies on an emulated cluster: strategies.py

Every case is one launch in which all its peers are prepared first and then take turns. It wants a quiet machine: above
a load average of 1 it waits up to five minutes, then refuses, unless --loaded allows it. The load before each case is
in its rows.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import file_runs
import limits
import machine
import plot
import rows
import strategies
import summary
from cases import HEFFTE, MIN_REPEATS, Case, all_cases, suites
from peers import PEERS, Absent

HERE = Path(__file__).resolve().parent
STATE = HERE.parent / ".spanfft" / "bench"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(
    case: Case, repeats: int, peers: tuple[str, ...], small: bool, sittings: file_runs.Sittings
) -> dict[str, Any] | None:
    if case.on_disk:
        return file_runs.measure(case, repeats, peers, STATE, sittings)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "found.json"
        command = [sys.executable, str(HERE / "worker.py"), case.name, *(["--small"] if small else [])]
        command += ["--repeats", str(repeats), "--output", str(output)]
        for name in peers:
            command += ["--peer", name]
        mpiexec = os.environ.get("SPANFFT_MPIEXEC") or shutil.which("mpiexec")
        if mpiexec:
            command = [mpiexec, "-n", str(case.ranks), *command]
        elif case.ranks > 1:
            raise SystemExit(f"{case.name} needs mpiexec: set SPANFFT_MPIEXEC, or run ./spanfft-dev bench")
        # A rank has one thread, or the process all cores; every peer is told its number itself.
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
        code = subprocess.run(command, env=environment, stdout=sys.stderr).returncode
        if code or not output.exists():
            raise SystemExit(f"{case.name}: the launch failed with exit code {code}")
        found: dict[str, Any] = json.loads(output.read_text())
        return found


def build_peers(cases: list[Case], only: list[str] | None) -> None:
    wanted = {peer for case in cases for peer in (only or case.peers)}
    for name, module, those in (
        ("FFTW-MPI", "fftw_mpi", {peer for peer in wanted if peer.startswith("fftw-mpi")}),
        ("HPC Challenge's FFTE", "hpcc", wanted & {"hpcc"}),
        ("PRESTO", "presto", wanted & {"presto"}),
        ("heFFTe", "heffte", wanted & set(HEFFTE)),
        ("dtFFT", "dtfft", wanted & {"dtfft"}),
    ):
        if those:
            try:
                say(f"-- {name}: {importlib.import_module(f'peers.{module}').build().parent.name}")
            except Absent as reason:
                say(f"-- {name}: absent: {reason}")


def finish(folder: Path) -> None:
    if not (folder / "ROWS.json").exists():
        return
    text = summary.summary(rows.load(folder / "ROWS.json"))
    (folder / "summary.md").write_text(text)
    for path in plot.plot(folder, STATE / "plots" / folder.name):
        say(f"-- {path.relative_to(HERE.parent)}")
    print(text)


def main() -> int:
    if sys.argv[1:2] == ["cluster"]:
        return strategies.main(sys.argv[2:])
    cases = all_cases()
    raw = argparse.RawDescriptionHelpFormatter
    first, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="bench", description=first, epilog=rest, formatter_class=raw)
    parser.add_argument("action", nargs="?", choices=("run", "list", "summary", "plot"), default="run")
    parser.add_argument("--case", action="append", choices=list(cases), metavar="NAME", help="default: all")
    parser.add_argument("--suite", action="append", choices=list(suites()), metavar="NAME",
                        help=f"of {', '.join(suites())}")  # fmt: skip
    parser.add_argument("--peer", action="append", choices=list(PEERS), metavar="NAME", help="default: the case's own")
    parser.add_argument("--small", action="store_true", help="toy sizes: does it run?")
    parser.add_argument("--repeats", type=int, help=f"turns, at least {MIN_REPEATS}; default: the case's own")
    parser.add_argument(
        "--turns",
        type=int,
        help="of cases on disk: take so many turns now (0: just write the input), the others in later calls",
    )
    cap = "of cases on disk: seconds after which a peer's run is stopped; default: when its target is decided"
    parser.add_argument("--cap", type=float, help=cap)
    parser.add_argument("--output", type=Path, help="folder for rows, table and plots")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine is not quiet")
    parser.add_argument("--no-build", action="store_true", help="don't compile FFTW-MPI and heFFTe's driver")
    options = parser.parse_args()
    named = [*(options.case or ()), *(name for suite in options.suite or () for name in suites()[suite])]
    chosen = [cases[name] for name in dict.fromkeys(named or cases)]
    if options.action == "list":
        for case in chosen:
            print(f"{case.name:<14} {case.problem:<46} {', '.join(case.peers)}")
        return 0
    if options.repeats is not None and options.repeats < (1 if options.small else MIN_REPEATS):
        parser.error(f"--repeats is {options.repeats}; a median needs at least {MIN_REPEATS}")
    here = machine.machine()
    folder = options.output or (STATE / "small" if options.small else HERE / "results" / machine.machine_name(here))
    if options.action in ("summary", "plot"):
        finish(folder)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [case.small() for case in chosen] if options.small else chosen
    if any(case.on_disk for case in chosen):
        limits.require_fio()  # now, not after the hours of the cases before
    if not options.no_build:
        build_peers(chosen, options.peer)
    sittings = file_runs.Sittings(options.turns, options.cap)
    for case in chosen:
        peers = tuple(name for name in case.peers if not options.peer or name in options.peer)
        if not peers:
            continue
        say(f"-- {case.name}: {case.problem}")
        if not (options.loaded or options.small):
            machine.wait_for_quiet()
        load = machine.load_average()
        found = measure(case, options.repeats or case.repeats, peers, options.small, sittings)
        if found is None:
            continue
        common = {
            "machine": here,
            **machine.provenance(),
            "load_before": load,
            "array_bytes": (case.input_bytes + case.output_bytes) // 2,
        }
        made = rows.make_rows(case, found, common, {name: peer.about for name, peer in PEERS.items()})
        rows.store(folder / "ROWS.json", made)
    finish(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
