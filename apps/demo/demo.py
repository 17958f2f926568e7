"""The demonstration: real input, through memory, MPI ranks and disk, each result compared with a reference.

    ./spanfft-dev demo                        everything; about two minutes on two cores, 3 GiB of disk meanwhile
    ./spanfft-dev demo -- --size 4194304      a series of 16 MiB instead of 1 GiB
    ./spanfft-dev demo -- --keep              leave series and spectrum where they are

(a) A brain volume, 197 x 233 x 189, on 1 rank and on 4 ranks in a slab and a pencil grid: compared with SciPy,
    low-pass filtered in frequency space and transformed back. See brain.py.
(b) A pulsar too faint to be seen, in a series of 2^28 samples on disk, 1 GiB, transformed within 128 MiB of memory
    by the command line, then searched for. See pulsar.py.
(c) A vortex that decays into turbulence, 64 x 64 x 64 at Reynolds number 400, on 2 ranks: energy lost against
    dissipation. See apps/turbulence.
(d) Ions and water in periodic boxes by particle-mesh Ewald, in one process and on 2 ranks: lattices, forces, a melt.
    See apps/pme.

Pictures go to spanfft-demo-output/, large files into a folder in it that is removed at the end. The exit code is 0 if
every check passed, 1 if one did not, 2 if the demo could not run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from common import allowed_units, bytes_text, grouped, unit_error

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MIB = 1 << 20
FULL_SIZE = 1 << 28  # samples, 4 bytes each
PYTHON_BYTES = 64 * MIB  # what Python itself may occupy besides the budget
BRAIN_SHAPE = (197, 233, 189)
BRAIN_RUNS = ((1, "1x1", "one rank"), (4, "4x1", "slabs"), (4, "2x2", "pencils"))
CHILD_LIMIT_S = 400
VORTEX_RANKS, VORTEX_SIZE, VORTEX_REYNOLDS, VORTEX_UNTIL = 2, 64, 400, 8
Command = list[str | Path]


class Failure(Exception):
    """The demo can't go on; the message says why."""


# --- talking -------------------------------------------------------------------------------------------------------


def say(text: str = "") -> None:
    print(text, flush=True)


def colour(text: str, code: int) -> str:
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() else text


def title(text: str) -> None:
    say()
    say(colour(f"== {text}", 1))


@dataclass
class Checks:
    """What was measured beside what is allowed."""

    rows: list[tuple[str, str, str, bool]] = field(default_factory=list)

    def at_most(self, name: str, value: float, limit: float, unit: str = "") -> None:
        self.add(name, f"{value:.3g}{unit}", f"<= {limit:.3g}{unit}", value <= limit)

    def add(self, name: str, value: str, demand: str, good: bool) -> None:
        self.rows.append((name, value, demand, good))

    @property
    def failed(self) -> int:
        return sum(not good for *_, good in self.rows)

    def print(self) -> None:
        width = [max((len(str(row[i])) for row in self.rows), default=0) for i in range(3)]
        for name, value, demand, good in self.rows:
            verdict = colour("ok", 32) if good else colour("FAILED", 31)
            say(f"   {name:<{width[0]}}  {value:>{width[1]}}  {demand:<{width[2]}}  {verdict}")


# --- children ------------------------------------------------------------------------------------------------------


@dataclass
class Finished:
    """A child that has ended."""

    output: str
    seconds: float
    peak_resident_bytes: int


def run(command: Command, check: bool = True) -> Finished:
    """Runs a command; its standard output comes back, its standard error, where progress appears, is ours.

    wait4 tells the most memory that the child itself occupied. Until it became the command it was a copy of this
    process, which imports little for that reason."""
    words = [str(word) for word in command]
    start = time.monotonic()
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    parts: list[str] = []
    assert child.stdout is not None
    reader = threading.Thread(target=lambda: parts.append(child.stdout.read()), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        pid = 0
        while pid == 0:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid == 0:
                if time.monotonic() - start > CHILD_LIMIT_S:
                    raise Failure(f"{shlex.join(words)} has not ended in {CHILD_LIMIT_S} s")
                time.sleep(0.02)
        child.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if child.returncode is None:
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
    seconds = time.monotonic() - start
    reader.join(10)
    output = "".join(parts)
    if child.returncode and check:
        raise Failure(f"exit code {child.returncode} from: {shlex.join(words)}\n{output}".rstrip())
    return Finished(output, seconds, usage.ru_maxrss * 1024)


def run_json(command: Command) -> tuple[dict[str, Any], Finished]:
    """Runs a command whose last line of output is JSON."""
    done = run(command)
    lines = done.output.strip().splitlines()
    try:
        return json.loads(lines[-1]), done
    except (IndexError, ValueError):
        raise Failure(f"no JSON from: {shlex.join(map(str, command))}\n{done.output}".rstrip()) from None


def spanfft(*arguments: str | Path) -> Command:
    """The command line `spanfft`, of this interpreter."""
    return [sys.executable, "-m", "spanfft", *arguments]


# --- (a) the brain -------------------------------------------------------------------------------------------------


@dataclass
class Brain:
    """What the runs said."""

    reference: dict[str, Any]
    runs: list[tuple[str, dict[str, Any]]]
    picture: Path


def brain(mpiexec: str, folder: Path, output: Path, checks: Checks) -> Brain:
    shape = " x ".join(map(str, BRAIN_SHAPE))
    title(f"(a) A brain volume, {shape}, real, double, on MPI ranks")
    program = HERE / "brain.py"
    say("   SciPy's transforms of it, in double and in long double, as references")
    reference, done = run_json([sys.executable, program, "--reference", folder])
    say(f"   done in {done.seconds:.1f} s")
    picture = output / "brain.png"
    runs = []
    allowed = allowed_units(BRAIN_SHAPE)
    say()
    say("   errors in units of eps sqrt(log2 N); the fastest of 5 runs")
    say(
        f"   {'':<20}{'error':>8}{'there+back':>12}{'low-pass':>10}{'messages':>10}{'bytes sent':>14}{'predicted':>11}"
        f"{'forward':>10}{'back':>9}  engine"
    )
    for ranks, grid, name in BRAIN_RUNS:
        command: Command = [mpiexec, "-n", str(ranks), sys.executable, program, "--reference", folder, "--grid", grid]
        if grid == "2x2":
            command += ["--png", picture]
        result, _ = run_json(command)
        runs.append((name, result))
        where = f"{name}, {'x'.join(map(str, result['grid']))}"
        if result["ranks"] != ranks:
            raise Failure(f"mpiexec -n {ranks} made jobs of {result['ranks']} ranks: it is not mpi4py's mpiexec")
        exact = result["each_rank_as_predicted"]
        say(
            f"   {where:<20}{result['error_units']:>8.3f}{result['round_trip_units']:>12.3f}"
            f"{result['low_pass_difference_units']:>10.3f}{result['messages'][1]:>10}"
            f"{grouped(result['bytes'][1]):>14}{'exactly' if exact else 'WRONGLY':>11}"
            f"{result['forward_s'] * 1e3:>7.0f} ms{result['backward_s'] * 1e3:>6.0f} ms  {result['engines']}"
        )
        checks.at_most(f"brain, {name}: error against SciPy in long double, units", result["error_units"], allowed)
        both = allowed + reference["scipy_error_units"]
        checks.at_most(f"brain, {name}: difference from SciPy, units", result["scipy_difference_units"], both)
        checks.at_most(f"brain, {name}: there and back, units", result["round_trip_units"], 2 * allowed)
        value = result["low_pass_difference_units"]
        checks.at_most(f"brain, {name}: low-passed, difference from SciPy, units", value, 2 * both)
        value, limit = (f"{grouped(result['bytes'][i])} bytes, {result['messages'][i]} messages" for i in (1, 0))
        checks.add(f"brain, {name}: traffic on each rank as predicted", value, limit, exact)
    say(f"   SciPy itself: {reference['scipy_error_units']:.3f}")
    say(f"   slices before and after: {show(picture)}")
    return Brain(reference, runs, picture)


# --- (b) the pulsar ------------------------------------------------------------------------------------------------


@dataclass
class Pulsar:
    """What was found, and how the transform went."""

    found: dict[str, Any]
    explain: str
    transform: Finished
    record: Finished
    examine: Finished
    budget_bytes: int
    picture: Path


def predicted_cost(elems: int, budget_bytes: int) -> dict[str, Any]:
    """What the library says the transform will cost, before a byte is written."""
    problem = f"r2c {elems} forward float"
    done = run(spanfft("plan", problem, "--memory", str(budget_bytes), "--json"))
    found: dict[str, Any] = json.loads(done.output)
    return found


def check_space(folder: Path, elems: int, scratch_bytes: int) -> int:
    """Raises if the disk can't hold series, spectrum and what else lies beside them; returns the need in bytes."""
    need = 4 * elems + 4 * (elems + 2) + max(scratch_bytes, 2 * elems + 4) + 16 * MIB
    free = shutil.disk_usage(folder).free
    if free < need:
        raise Failure(
            f"{folder} has {bytes_text(free)} of free space, but {bytes_text(need)} are needed; "
            f"make the series shorter with --size, or give another --output"
        )
    return need


def pulsar(elems: int, memory: str, budget_bytes: int, folder: Path, output: Path, checks: Checks) -> Pulsar:
    series_bytes = 4 * elems
    title(f"(b) A pulsar search: {grouped(elems)} samples on disk, {bytes_text(series_bytes)}, within {memory}")
    cost = predicted_cost(elems, budget_bytes)
    need = check_space(folder, elems, cost["scratch_bytes"])
    sweeps = f"{cost['sweeps']} sweep{'s' if cost['sweeps'] > 1 else ''}"
    say(
        f"   the plan, before anything is written: {cost['solver']}, {sweeps} of the disk, "
        f"{bytes_text(cost['peak_memory_bytes'])} of memory"
    )
    say(f"   disk needed meanwhile: {bytes_text(need)}, in {show(folder)}")
    program = HERE / "pulsar.py"
    record = run([sys.executable, program, "record", folder, "--size", str(elems)])

    arguments: Command = [folder / "series.npy", folder / "spectrum.npy", "--memory", memory]
    say(f"   $ spanfft transform {' '.join(map(str, map(show, arguments)))} --explain")
    transform = run(spanfft("transform", *arguments, "--explain"))
    rate = cost["sweeps"] * 2 * series_bytes / transform.seconds
    say(
        f"   transformed in {transform.seconds:.1f} s ({bytes_text(rate)} a second read and written), "
        f"peak memory {bytes_text(transform.peak_resident_bytes)}"
    )

    picture = output / "pulsar.png"
    found, examine = run_json([sys.executable, program, "examine", folder, "--png", picture])
    say(f"   series, spectrum, sums and the folded pulse: {show(picture)}")

    allowed = allowed_units((elems,))
    name = f"spectrum: error against the defining sum, {found['bins_checked']} bins, units"
    checks.at_most(name, found["error_units"], allowed)
    unit = unit_error((elems,), "float32")
    checks.at_most("spectrum: Parseval over all bins, relative", found["parseval"], 2 * allowed * unit)
    limit = budget_bytes + PYTHON_BYTES
    value = bytes_text(transform.peak_resident_bytes)
    good = transform.peak_resident_bytes <= limit
    checks.add(f"transform: peak memory, {memory} + 64 MiB for Python", value, f"<= {bytes_text(limit)}", good)
    off = abs(found["period_s"] - found["true_period_s"])
    checks.at_most("pulsar: period off by, standard errors", off / found["period_error_s"], 5)
    checks.at_most("pulsar: period off by, relative", off / found["true_period_s"], 1e-7 * FULL_SIZE / elems)
    sigma = found["sigma"]
    checks.add("pulsar: significance, sigma", f"{sigma:.1f}", ">= 5", sigma >= 5)
    return Pulsar(found, transform.output, transform, record, examine, budget_bytes, picture)


# --- (c) the vortex ------------------------------------------------------------------------------------------------


def vortex(mpiexec: str, folder: Path, output: Path, checks: Checks) -> Path:
    """Runs apps/turbulence in small; its picture comes back."""
    title(f"(c) Turbulence: a Taylor-Green vortex, {VORTEX_SIZE}^3, Re {VORTEX_REYNOLDS}, on {VORTEX_RANKS} ranks")
    program: Command = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "apps.turbulence"]
    rows, picture = folder / "vortex.json", output / "turbulence.png"
    arguments: Command = ["run", "--size", str(VORTEX_SIZE), "--reynolds", str(VORTEX_REYNOLDS), "--rows", rows]
    arguments += ["--until", str(VORTEX_UNTIL), "--step", "0.05", "--every", "4"]
    done = run([mpiexec, "-n", str(VORTEX_RANKS), *program, *arguments])
    for line in done.output.splitlines()[::8]:
        say(f"   {line}")
    history = json.loads(rows.read_text())
    if history["ranks"] != VORTEX_RANKS:
        raise Failure(f"mpiexec -n {VORTEX_RANKS} made jobs of {history['ranks']} ranks: it is not mpi4py's mpiexec")
    run([*program, "draw", picture, "--rows", rows])
    say(f"   dissipation, spectra and vorticity: {show(picture)}, after {done.seconds:.0f} s")
    checks.at_most("vortex: energy lost, difference from the integral of the dissipation", history["imbalance"], 1e-5)
    first = 2 * history["rows"][0][2] / VORTEX_REYNOLDS
    checks.at_most("vortex: dissipation at first, difference from 3 nu / 4", abs(first * VORTEX_REYNOLDS - 0.75), 1e-12)
    return picture


# --- (d) the ions --------------------------------------------------------------------------------------------------


def ions(folder: Path, output: Path, checks: Checks) -> Path:
    """Runs the checks of apps/pme in small; their picture comes back."""
    title("(d) Particle-mesh Ewald: crystals, random charges, a crystal that melts, and water on ranks")
    program: Command = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "apps.pme"]
    rows, picture = folder / "pme.json", output / "pme.png"
    done = run([*program, "check", "--small", "--rows", rows], check=False)
    if not rows.exists():
        raise Failure(f"apps/pme has found nothing:\n{done.output}".rstrip())
    for name, found in json.loads(rows.read_text()).items():
        held = [row for row in found if "limit" in row]
        if held:
            worst = max(held, key=lambda row: row["found"] / row["limit"])
            checks.at_most(f"pme, {name}: {worst['what']}", worst["found"], worst["limit"])
    run([*program, "draw", rows, picture])
    say(f"   errors of forces, work moved from mesh to pairs, a melt: {show(picture)}, after {done.seconds:.0f} s")
    return picture


# --- the end -------------------------------------------------------------------------------------------------------


def summary(a: Brain | None, b: Pulsar | None, more: list[Path], checks: Checks, seconds: float) -> None:
    if b is not None:
        found = b.found
        title("What was found")
        say(
            f"   hidden: a pulsar of period {found['true_period_s']:.10f} s, duty cycle {found['duty_cycle']:.0%}, "
            f"pulses {found['amplitude'] / found['noise']:.2%} of the noise level,"
        )
        say(f"           in {found['duration_s']:.0f} s of noise, sampled every {found['sampling_s'] * 1e6:g} us")
        say("   searched, with the probability of the best sum by chance:")
        for stage in found["stages"]:
            sigma = f"{max(stage['sigma'], 0):.1f} sigma"
            say(
                f"      harmonics {stage['harmonics']:>2}  best at {stage['best_bin'] / found['duration_s']:12.6f} Hz"
                f"  sum {stage['best_sum']:6.1f}  chance 1e{stage['log10_chance']:.1f}  {sigma:>10}"
                f"  {relation(stage['best_bin'], found['true_bin'])}"
            )
        off = found["period_s"] - found["true_period_s"]
        say(f"   found:  {found['period_s']:.10f} s +- {found['period_error_s']:.1e} s ({found['sigma']:.1f} sigma)")
        say(
            f"   off by {off:+.1e} s: {abs(off) / found['true_period_s']:.1e} of it, "
            f"{abs(off) / found['period_error_s']:.1f} standard errors"
        )

    title("Errors against the references, and other checks")
    checks.print()

    rows = []
    if a is not None:
        rows.append(("SciPy's references for the brain", a.reference["peak_resident_bytes"]))
        rows += [(f"brain, {name}, most of any rank", run["peak_resident_bytes"]) for name, run in a.runs]
    if b is not None:
        rows.append(("recording the series", b.record.peak_resident_bytes))
        budget = bytes_text(b.budget_bytes)
        rows.append((f"transforming it, budget {budget}", b.transform.peak_resident_bytes))
        rows.append(("checking and searching the spectrum", b.examine.peak_resident_bytes))
    if rows:
        title("Memory used")
    for name, count in rows:
        say(f"   {name:<44}{bytes_text(count):>10}")

    if b is not None:
        title("The plan of the disk run, predicted beside counted")
        for line in b.explain.rstrip().splitlines():
            say(f"   {line}")

    title("Pictures")
    for picture in [*(each.picture for each in (a, b) if each is not None), *more]:
        say(f"   {show(picture)}  ({bytes_text(picture.stat().st_size)})")
    say()
    passed = len(checks.rows) - checks.failed
    verdict = colour("all good", 32) if not checks.failed else colour(f"{checks.failed} FAILED", 31)
    say(f"{passed} checks passed, {verdict}, in {seconds:.0f} s")


def relation(bin: float, true_bin: float) -> str:
    """What a candidate is to the truth: the pulsar, a simple multiple of it, or neither."""
    ratio = Fraction(bin / true_bin).limit_denominator(16)
    if abs(bin - float(ratio) * true_bin) > 0.6 or ratio.numerator > 16:
        return "noise"
    return "the pulsar" if ratio == 1 else f"{ratio} x the pulsar's frequency"


def show(path: Path | str) -> str:
    """Relative to the working folder where that is shorter."""
    text = os.path.relpath(path) if isinstance(path, Path) else path
    return str(path) if text.startswith("../..") else text


def find_mpiexec() -> str:
    found = os.environ.get("SPANFFT_MPIEXEC") or shutil.which("mpiexec")
    if found is None or shutil.which(found) is None:
        raise Failure("no mpiexec was found; run ./spanfft-dev demo, or set SPANFFT_MPIEXEC")
    return found


def parse_memory(text: str) -> int:
    """128MiB -> bytes."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    number, unit = text[:-3], text[-3:]
    if unit not in units or not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of memory such as 128MiB")
    return int(number) * units[unit]


def parse() -> argparse.Namespace:
    first, _, rest = (__doc__ or "").partition("\n\n")
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="demo.py", description=first, epilog=rest, formatter_class=raw)
    help_text = f"samples of the series; default {FULL_SIZE}, which is 1 GiB"
    parser.add_argument("--size", type=int, default=FULL_SIZE, metavar="N", help=help_text)
    help_text = "budget of the disk transform; default 128MiB"
    parser.add_argument("--memory", default="128MiB", metavar="M", help=help_text)
    help_text = "folder for pictures and, meanwhile, large files; default spanfft-demo-output"
    parser.add_argument("--output", type=Path, default=Path("spanfft-demo-output"), metavar="DIR", help=help_text)
    parser.add_argument("--keep", action="store_true", help="leave the large files")
    parser.add_argument("--only", choices=("brain", "pulsar", "vortex", "ions"), help="a part of the demo")
    options = parser.parse_args([word for word in sys.argv[1:] if word != "--"])
    try:
        options.budget_bytes = parse_memory(options.memory)
    except argparse.ArgumentTypeError as error:
        parser.error(f"--memory: {error}")
    if options.size < 1 << 19:
        parser.error(f"--size is {options.size}; at least {1 << 19} samples, 34 s, are needed to find the pulsar")
    return options


def stop(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def demo(options: argparse.Namespace) -> int:
    start = time.monotonic()
    parts = (options.only,) if options.only else ("brain", "pulsar", "vortex", "ions")
    mpiexec = find_mpiexec() if parts != ("pulsar",) else ""
    version = run(spanfft("--version")).output.strip()
    say(f"{version}, Python {platform.python_version()}, {len(os.sched_getaffinity(0))} cores")
    options.output.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="large-", dir=options.output))
    checks = Checks()
    a = b = None
    more: list[Path] = []
    try:
        if "pulsar" in parts:
            check_space(folder, options.size, 4 * options.size)  # early; the plan's own figure is checked later
        if "brain" in parts:
            a = brain(mpiexec, folder, options.output, checks)
        if "pulsar" in parts:
            for file in folder.glob("*.npy"):  # the brain's
                file.unlink()
            b = pulsar(options.size, options.memory, options.budget_bytes, folder, options.output, checks)
        if "vortex" in parts:
            more.append(vortex(mpiexec, folder, options.output, checks))
        if "ions" in parts:
            more.append(ions(folder, options.output, checks))
    finally:
        if options.keep:
            say(f"   kept: {show(folder)}")
        else:
            shutil.rmtree(folder)
    summary(a, b, more, checks, time.monotonic() - start)
    return 1 if checks.failed else 0


def main() -> int:
    options = parse()
    signal.signal(signal.SIGTERM, stop)
    try:
        return demo(options)
    except (Failure, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ndemo: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
