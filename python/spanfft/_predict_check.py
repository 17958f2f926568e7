"""Predicted seconds beside measured ones, here: what `spanfft predict --check` does.

Problems are drawn at random, the same for one seed: in memory c2c and r2c of one to three axes and at least 1,024
points, float and double, since of fewer points what Python takes to hand over a call outweighs the transform; on disk
one or two axes in a fraction of their bytes. Each is planned with the figures that plans have here (those of `spanfft
probe`, if it ran). In memory a problem is run again and again, as a program does that transforms many arrays, and the
median of some samples of several milliseconds counts, without what Python takes to hand over a call. Samples are
taken in rounds through all problems, as a machine that others use too is slower for seconds at a time. On disk a file
is transformed once to make its blocks known, and the median of the next runs counts. The step whose predicted and
counted seconds differ most is named.

Figures of a probe are those of the state in which the machine was then. So some of what the probe timed is timed again
before each round and at the end: some dozens of its transforms, and how long one processor waits for another one.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ._bench import Candidate, candidate_of
from ._errors import InvalidArgument
from ._native import core

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Step
    from ._mpi import Ranks
    from ._tune import ProbeFigures

__all__ = ["Check", "CheckRow", "benchmark_problems", "check", "random_file_problems", "random_problems"]

_FACTORS = (2, 2, 2, 3, 5, 7)
_LEAST_POINTS = 1024
_ROUNDS = 3  # of files: runs
_SAMPLE_SECONDS = 5e-3
_CALLS = 1000
_BYTES = {"float": 4, "double": 8}
_PROBE_SECONDS = 1.0  # for some dozens of the probe's transforms
_HEADER = "spanfft-machine 1"


class CheckRow(TypedDict):
    problem: str
    predicted_seconds: float
    measured_seconds: float
    deviation: float
    """Relative to what was measured: 0.1 is a tenth above it."""
    step: str
    """The type of the step that is furthest off, in seconds."""
    step_predicted_seconds: float
    step_measured_seconds: float


class MachineBeside(TypedDict):
    """What the machine took beside what it took when it was probed: 1.2 is a fifth longer."""

    transforms: float
    """The median of some of the probe's transforms."""
    handover: float | None
    """One processor to see what another one wrote; None: one of the two was not measured."""


class Check(TypedDict):
    """Deviations without their sign, and the rows, the worst first."""

    median_deviation: float
    p95_deviation: float
    machine: list[MachineBeside]
    """Before each round and at the end; empty where no probe of transforms is kept."""
    rows: list[CheckRow]


# --- problems --------------------------------------------------------------------------------------------------------


def _length(draw: random.Random, most: int) -> int:
    """A product of small primes, at most so large."""
    n, aim = 1, math.exp(draw.uniform(math.log(8), math.log(most)))
    while (factor := draw.choice(_FACTORS)) * n <= aim:
        n *= factor
    return max(n, 8)


def random_problems(count: int, seed: int, most_points: int = 1 << 21) -> list[str]:
    """So many problem strings of at least 1,024 and at most so many points."""
    draw = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        ndim = draw.randint(1, 3)
        shape = [_length(draw, int(most_points ** (1 / ndim))) for _ in range(ndim)]
        if math.prod(shape) < _LEAST_POINTS:
            continue
        found.append(f"{draw.choice(('c2c', 'r2c'))} {'x'.join(map(str, shape))} {draw.choice(('float', 'double'))}")
    return found


def _numbers_bytes(problem: str) -> int:
    """Of the input."""
    kind, shape, precision = problem.split()[:3]
    return math.prod(map(int, shape.split("x"))) * _BYTES[precision] * (2 if kind == "c2c" else 1)


def random_file_problems(count: int, seed: int, most_points: int = 1 << 22) -> list[str]:
    """Problem strings of files, with a budget that is a part of their bytes."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        points = 1 << draw.randint(most_points.bit_length() - 4, most_points.bit_length() - 1)
        rows = draw.choice((1, 1, 1 << draw.randint(6, 10)))
        shape = f"{points}" if rows == 1 else f"{rows}x{points // rows}"
        problem = f"{draw.choice(('c2c', 'r2c'))} {shape} {draw.choice(('float', 'double'))}"
        found.append(f"{problem} memory={_numbers_bytes(problem) // draw.choice((2, 4, 8)) + (2 << 20)}")
    return found


def benchmark_problems(on_disk: bool) -> list[str]:
    """Like those of the benchmarks, no larger than 256 MiB an array."""
    shapes = ("1048576", "4194304", "16777216", "64x64x64", "128x128x128", "256x256x256", "2048x2048")
    problems = [f"{kind} {shape} double" for kind in ("c2c", "r2c") for shape in shapes]
    problems += ["c2c 256x256x256 float", "c2c 16777216 float", "c2c 1048573 double"]
    if not on_disk:
        return problems
    files = ("c2c 16777216 float", "c2c 16777216 double", "r2c 33554432 float", "c2c 4096x4096 float")
    return problems + [f"{each} memory={_numbers_bytes(each) // part}" for each in files for part in (4, 16)]


# --- measuring -------------------------------------------------------------------------------------------------------


def _furthest(steps: list[Step]) -> tuple[str, float, float]:
    """Type, predicted and counted seconds of the step that is furthest off."""
    found = ("", 0.0, 0.0)
    for step in steps:
        counted = step["counted"]
        if counted is None:
            continue
        predicted, measured = step["predicted"]["seconds"], counted["seconds"]
        if abs(predicted - measured) >= abs(found[1] - found[2]):
            found = (step["type"], predicted, measured)
    return found


def _row(problem: str, predicted: float, measured: float, steps: list[Step]) -> CheckRow:
    step, step_predicted, step_measured = _furthest(steps)
    return {
        "problem": problem,
        "predicted_seconds": predicted,
        "measured_seconds": measured,
        "deviation": predicted / measured - 1,
        "step": step,
        "step_predicted_seconds": step_predicted,
        "step_measured_seconds": step_measured,
    }


def _rates(machine: ProbeFigures) -> dict[tuple[object, ...], float]:
    """By what was timed."""
    return {
        tuple(value for name, value in row.items() if name != "gflops"): float(str(row["gflops"]))
        for row in machine["engines"]
    }


def _machine_beside(kept: str, comm: Comm | None) -> list[MachineBeside]:
    """Now, beside the figures of a probe; none where that timed no transforms. Rank 0's count."""
    from ._tune import probe, read_machine

    if not (kept if comm is None else comm.bcast(kept)):
        return []
    now, then = read_machine(probe(comm=comm, seconds=_PROBE_SECONDS, store=False)), read_machine(kept or _HEADER)
    rates, rates_then = _rates(now), _rates(then)
    ratios = [rates_then[row] / rate for row, rate in rates.items() if row in rates_then]
    waits, waits_then = (figures["numbers"].get("handover_seconds", 0) for figures in (now, then))
    if not ratios:
        return []
    return [{"transforms": statistics.median(ratios), "handover": waits / waits_then if waits and waits_then else None}]


def _call_seconds() -> float:
    """What it takes Python to hand over a call: of a plan with next to nothing to do, but for what C++ takes of it."""
    candidate = candidate_of("c2c 2 threads=1", None)
    try:
        samples = []
        for _ in range(9):
            start = time.perf_counter()
            for _ in range(_CALLS):
                candidate.run()
            samples.append((time.perf_counter() - start) / _CALLS)
        return max(0.0, statistics.median(samples) - candidate.plan.predicted(-1, 0)["seconds"])
    finally:
        candidate.plan.free()


def _sample(candidate: Candidate, runs: int, ranks: Ranks | None) -> float:
    """Seconds of a run, one of several that follow one another; of the slowest rank."""
    if ranks is not None:
        ranks.comm.barrier()
    start = time.perf_counter()
    for _ in range(runs):
        candidate.run()
    seconds = (time.perf_counter() - start) / runs
    return seconds if ranks is None else max(ranks.comm.allgather(seconds))


def _in_memory(problem: str, repeats: int, ranks: Ranks | None, call_seconds: float, samples: list[float]) -> CheckRow:
    """Adds so many samples to those of the rounds before."""
    candidate = candidate_of(problem, ranks)
    plan = candidate.plan
    try:
        candidate.run()
        once = _sample(candidate, 1, ranks)
        runs = max(1, math.ceil(_SAMPLE_SECONDS / once))
        samples += [_sample(candidate, runs, ranks) for _ in range(repeats)]
        measured = statistics.median(samples) - call_seconds
        predicted = max(plan.predicted(-1, rank)["seconds"] for rank in range(plan.ranks))
        return _row(plan.problem, predicted, measured, plan.steps())
    finally:
        plan.free()


def _on_disk(problem: str, folder: Path, comm: Comm | None) -> CheckRow:
    from ._transform import transform

    kind, shape, precision, memory = problem.split()
    extents = tuple(map(int, shape.split("x")))
    source, target = folder / "in.npy", folder / "out.npy"
    if comm is None or comm.Get_rank() == 0:
        _write_random(source, extents, kind == "c2c", precision)
    if comm is not None:
        comm.barrier()
    seconds = []
    for _ in range(1 + _ROUNDS):
        report = transform(source, target, kind=kind, memory=memory.removeprefix("memory="), comm=comm).report
        counted = report["counted"]
        assert counted is not None
        seconds.append(counted["seconds"] if comm is None else max(comm.allgather(counted["seconds"])))
    measured = statistics.median(seconds[1:])
    if comm is None or comm.Get_rank() == 0:
        source.unlink()
        target.unlink()
    return _row(report["problem"], report["predicted"]["seconds"], measured, report["steps"])


def _write_random(path: Path, extents: tuple[int, ...], is_complex: bool, precision: str) -> None:
    import numpy as np

    dtype = np.dtype(f"{'c' if is_complex else 'f'}{_BYTES[precision] * (2 if is_complex else 1)}")
    array = np.lib.format.open_memmap(path, "w+", dtype, extents)
    flat = array.reshape(-1)
    draw = np.random.default_rng(1)
    for start in range(0, flat.size, 1 << 20):
        flat[start : start + (1 << 20)] = draw.standard_normal(min(1 << 20, flat.size - start))
    array.flush()
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def check(
    count: int,
    seed: int = 1,
    comm: Comm | None = None,
    repeats: int = 5,
    *,
    folder: str | os.PathLike[str] | None = None,
    benchmarks: bool = False,
) -> Check | None:
    """Collective over comm, if there is one; None but on its rank 0.

    With a folder a quarter of the problems, at least one, are files there. `benchmarks`: those of the benchmarks too.
    """
    if count < 1:
        raise InvalidArgument(f"a check of {count} problems says nothing; give at least 1")
    ranks: Ranks | None = None
    if comm is not None:
        from ._mpi import ranks_of

        ranks = ranks_of(comm)
    on_disk = 0 if folder is None else max(1, count // 4)
    problems = random_problems(count - on_disk, seed) + random_file_problems(on_disk, seed)
    if benchmarks:
        problems += benchmark_problems(folder is not None)
    files = [problem for problem in problems if "memory=" in problem]
    arrays: list[tuple[str, list[float]]] = [(problem, []) for problem in problems if "memory=" not in problem]
    each = math.ceil(repeats / _ROUNDS)
    call_seconds = _call_seconds()
    kept = core.probe_kept(0 if ranks is None else ranks.handle)
    machine: list[MachineBeside] = []
    with tempfile.TemporaryDirectory(prefix="spanfft-check-", dir=folder) as scratch:
        place = Path(scratch if comm is None else comm.bcast(scratch))
        for _ in range(_ROUNDS):  # the last one's rows have the samples of all
            machine += _machine_beside(kept, comm)
            rows = [_in_memory(problem, each, ranks, call_seconds, samples) for problem, samples in arrays]
        rows += [_on_disk(problem, place, comm) for problem in files]
        machine += _machine_beside(kept, comm)
        if comm is not None:
            comm.barrier()
    if comm is not None and comm.Get_rank() != 0:
        return None
    rows.sort(key=lambda row: -abs(row["deviation"]))
    sizes = [abs(row["deviation"]) for row in rows]
    return {
        "median_deviation": statistics.median(sizes),
        # Of 20 the second largest: 19 are at most as large.
        "p95_deviation": sizes[len(sizes) - math.ceil(0.95 * len(sizes))],
        "machine": machine,
        "rows": rows,
    }
