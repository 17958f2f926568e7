"""What the ranks of bench/strategies.py run: prepares a list of plans, times them in turns, writes JSON on rank 0.

Method: in each turn each plan gets the same input anew (not timed); forward and backward are timed, each between two
barriers, as the largest time of any rank, with what its steps took. The first turn warms up and is dropped. Before the
turns each plan's spectrum is compared with numpy's of the whole array, and its round trip with the input.
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import spanfft
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
_DIRECTIONS = ("forward", "backward")
# A float has 2^-24 of relative error; a slab's spectrum and round trip see one exchange and two.
_LOSSY_TOLERANCE = 2 * 2.0**-24


def exact_tolerance(shape: list[int]) -> float:
    """Two transforms of at most 1.5 eps sqrt(log2 N) each: ours and numpy's, or there and back."""
    return 2 * 1.5 * float(np.finfo(np.float64).eps) * math.sqrt(math.log2(math.prod(shape)))


def all_max(value: float) -> float:
    return float(WORLD.allreduce(value, MPI.MAX))


def timed(call: Callable[[], object]) -> float:
    WORLD.Barrier()
    start = time.perf_counter()
    call()
    WORLD.Barrier()
    return all_max(time.perf_counter() - start)


def relative_error(found: npt.NDArray[Any], exact: npt.NDArray[Any]) -> float:
    """Over all ranks."""
    squares = np.array([np.vdot(found - exact, found - exact).real, np.vdot(exact, exact).real])
    error, norm = WORLD.allreduce(squares)
    return math.sqrt(error / norm)


class Prepared:
    """A plan of one candidate, and arrays that candidates with the same parts take turns with: they are large."""

    arrays: ClassVar[dict[str, tuple[npt.NDArray[Any], ...]]] = {}

    def __init__(self, shape: tuple[int, ...], options: dict[str, Any], x: npt.NDArray[Any]):
        comm = WORLD if WORLD.size > 1 else None
        start = time.perf_counter()
        self.plan = spanfft.Plan(shape, "complex128", comm=comm, threads=1, **options)
        self.planning_seconds = all_max(time.perf_counter() - start)
        parts = repr((shape, self.plan.input_slices, self.plan.output_slices))
        if parts not in self.arrays:
            given = np.ascontiguousarray(x[self.plan.input_slices])
            self.arrays[parts] = given, self.plan.input_array(), self.plan.output_array()
        self.input, self.a, self.b = self.arrays[parts]
        self.seconds: list[tuple[float, float]] = []
        self.steps: list[dict[str, float]] = []
        self.executions = 0

    def run(self) -> tuple[float, float]:
        np.copyto(self.a, self.input)
        self.executions += 1
        forward = timed(lambda: self.plan.forward(self.a, self.b))
        return forward, timed(lambda: self.plan.backward(self.b, self.a))

    def errors(self, spectrum: npt.NDArray[Any]) -> tuple[float, float]:
        self.run()
        forward = relative_error(self.b, spectrum[self.plan.output_slices])
        return forward, relative_error(self.a, self.input)

    def step_seconds(self) -> dict[str, float]:
        """Of the last execution, both directions, by type of step: the largest of any rank."""
        found: dict[str, float] = {}
        for direction in _DIRECTIONS:
            for step in self.plan.report(direction)["steps"]:
                if step["depth"] == 0 and step["counted"]:
                    found[step["type"]] = found.get(step["type"], 0.0) + step["counted"]["seconds"]
        every = WORLD.allgather(found)
        return {name: max(rank.get(name, 0.0) for rank in every) for name in sorted(set().union(*every))}

    def turn(self) -> None:
        pair = self.run()
        self.seconds.append(pair)
        self.steps.append(self.step_seconds())

    def sums(self) -> dict[str, Any]:
        """Counts of a forward and a backward execution: of all ranks, and the most bytes that one rank sends."""
        mine = {"messages": 0, "sent_bytes": 0}
        predicted = 0.0
        for direction in _DIRECTIONS:
            counted = self.plan.counted(direction)
            assert counted is not None
            for name in mine:
                mine[name] += counted[name]  # type: ignore[literal-required]
            predicted += self.plan.predicted(direction)["seconds"]
        every = WORLD.allgather(mine)
        return {
            **{name: sum(rank[name] for rank in every) for name in mine},
            "most_sent_bytes": max(rank["sent_bytes"] for rank in every),
            "predicted_seconds": all_max(predicted),
        }

    def describe(self) -> dict[str, Any]:
        return {
            "planned_problem": self.plan.problem,
            "engine": self.plan.engines,
            "steps": [step["description"] for step in self.plan.report()["steps"]],
            "planning_seconds": self.planning_seconds,
            "forward_seconds": [pair[0] for pair in self.seconds],
            "backward_seconds": [pair[1] for pair in self.seconds],
            "step_seconds": self.steps,
            **self.sums(),
        }


def main() -> int:
    job = json.loads(Path(sys.argv[1]).read_text())
    if WORLD.size != job["ranks"]:
        raise SystemExit(f"{job['ranks']} ranks are wanted, there are {WORLD.size}: mpiexec belongs to another MPI")
    shape = tuple(job["shape"])
    random = np.random.default_rng(1)
    x = random.standard_normal(shape) + 1j * random.standard_normal(shape)
    spectrum = np.fft.fftn(x)
    plans: dict[str, Prepared] = {}
    absent: dict[str, str] = {}
    errors: dict[str, tuple[float, float]] = {}
    for candidate in job["candidates"]:
        name = candidate["name"]
        os.environ["SPANFFT_HOME"] = candidate["home"]  # where figures and tuned plans of this machine are kept
        try:
            prepared = Prepared(shape, candidate["options"], x)
        except spanfft.Error as reason:  # the same on all ranks
            absent[name] = str(reason)
            continue
        forward, pair = errors[name] = prepared.errors(spectrum)
        tolerance = _LOSSY_TOLERANCE if candidate["lossy"] else exact_tolerance(shape)
        if not max(forward, pair) < tolerance:
            absent[name] = f"wrong result: relative errors {forward:.2g} forward, {pair:.2g} of the round trip"
            continue
        plans[name] = prepared
    del x, spectrum
    gc.collect()
    for turn in range(job["repeats"] + 1):
        for prepared in plans.values():
            prepared.turn()
            if turn == 0:
                prepared.seconds.clear()
                prepared.steps.clear()
    found = {
        "absent": absent,
        "candidates": {
            name: {"forward_error": errors[name][0], "round_trip_error": errors[name][1], **prepared.describe()}
            for name, prepared in plans.items()
        },
        "sent_bytes": sum(prepared.executions * prepared.sums()["sent_bytes"] for prepared in plans.values()),
        "mpi": " ".join(MPI.Get_library_version().split()[:3]),
        "spanfft": spanfft.__version__,
    }
    if WORLD.rank == 0:
        Path(sys.argv[2]).write_text(json.dumps(found))
    for prepared in plans.values():
        prepared.plan.free()
    return 0


if __name__ == "__main__":
    sys.exit(main())
