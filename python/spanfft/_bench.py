"""Timing plans side by side: what `spanfft bench` does.

All candidates (problems, and for each the exchange strategies asked for) are planned first; then each round runs every
candidate once, in turn, so that whatever else the machine does falls on all of them alike. The time of a run is that of
its slowest rank, from a barrier on. With a trace, one more run of each is recorded, after the timed ones.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ._arrays import REAL_DTYPES, AnyArray, aligned_zeros
from ._errors import InvalidArgument, Unsupported
from ._native import core
from ._plan import _Kept, _PlanMemory
from ._trace import check_target, write_captures

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Plan as CorePlan
    from ._mpi import Ranks

__all__ = ["BenchRow", "Candidate", "bench", "candidate_of"]

_PRECISIONS = ("float", "double", "longdouble")


class BenchRow(TypedDict):
    """One candidate of `spanfft bench --json`. Seconds are of the slowest rank."""

    problem: str
    solver: str
    engines: str
    ranks: int
    median_seconds: float
    min_seconds: float
    predicted_seconds: float
    seconds: list[float]


@dataclass
class Candidate:
    """A plan with arrays of its own, to be timed."""

    plan: CorePlan
    source: AnyArray
    target: AnyArray
    kept: AnyArray | None  # in place: what the array held
    seconds: list[float]

    def run(self) -> None:
        self.plan.execute(self.source, self.target)

    def refill(self) -> None:
        if self.kept is not None:
            self.source[...] = self.kept


def candidate_of(problem: str, ranks: Ranks | None) -> Candidate:
    words = core.canonical(problem).split()
    if any(word.startswith("memory=") for word in words):
        raise Unsupported(f"'{problem}' is for files; bench times arrays in memory, so leave memory= out")
    dtype = REAL_DTYPES[next(_PRECISIONS.index(word) for word in words if word in _PRECISIONS)]
    plan = core.plan(problem, 0 if ranks is None else ranks.handle)
    in_place = "in_place" in words
    length = max(plan.input_bytes, plan.output_bytes if in_place else 0) // dtype.itemsize
    kept = _Kept(plan)
    if "own_input" in words:
        source = np.asarray(_PlanMemory(kept, plan.input_address, (length,), dtype))
    else:
        source = aligned_zeros((length,), dtype)
    source[...] = np.random.default_rng(plan.rank).standard_normal(length)
    shape = (plan.output_bytes // dtype.itemsize,)
    if in_place:
        target = source
    elif "own_output" in words:
        target = np.asarray(_PlanMemory(kept, plan.output_address, shape, dtype))
    else:
        target = aligned_zeros(shape, dtype)
    return Candidate(plan, source, target, source.copy() if in_place else None, [])


def bench(
    problems: Sequence[str],
    exchanges: Sequence[str] = (),
    repeats: int = 5,
    comm: Comm | None = None,
    trace: str | os.PathLike[str] | None = None,
) -> list[BenchRow]:
    """Times problem strings against one another. Collective if `comm` is given.

    Parameters
    ----------
    problems
        Problem strings; ``ranks=`` may be left out.
    exchanges
        Strategies to time each problem with; by default what the string says or the planner chooses.
    repeats
        Rounds that count; one before them does not.
    comm
        mpi4py communicator.
    trace
        A file for one more, traced run of each candidate.
    """
    ranks: Ranks | None = None
    if comm is not None:
        from ._mpi import ranks_of

        ranks = ranks_of(comm)

    def check() -> None:
        if repeats < 1:
            raise InvalidArgument(f"repeats is {repeats}; it must be at least 1")
        if trace is not None:
            check_target(trace)

    check() if ranks is None else ranks.agree(check)
    candidates: list[Candidate] = []
    try:
        for text in _variants(problems, exchanges):
            candidates.append(candidate_of(text, ranks))
        for candidate in candidates:
            candidate.run()
        for _ in range(repeats):
            for candidate in candidates:
                candidate.seconds.append(_timed(candidate, ranks))
        if trace is not None:
            for candidate in candidates:
                candidate.plan.trace_start()
                _timed(candidate, ranks)
                candidate.plan.trace_stop()
            write_captures(trace, [candidate.plan for candidate in candidates], ranks)
        return [_row(candidate) for candidate in candidates]
    finally:
        for candidate in candidates:
            candidate.plan.free()


def _variants(problems: Sequence[str], exchanges: Sequence[str]) -> list[str]:
    variants = []
    for problem in problems:
        kept = " ".join(word for word in problem.split() if not (exchanges and word.startswith("exchange=")))
        variants += [f"{kept} exchange={name}" for name in exchanges] if exchanges else [problem]
    return variants


def _timed(candidate: Candidate, ranks: Ranks | None) -> float:
    candidate.refill()
    if ranks is not None:
        ranks.comm.barrier()
    start = time.perf_counter()
    candidate.run()
    seconds = time.perf_counter() - start
    return seconds if ranks is None else max(ranks.comm.allgather(seconds))


def _row(candidate: Candidate) -> BenchRow:
    plan = candidate.plan
    return {
        "problem": plan.problem,
        "solver": plan.solver,
        "engines": plan.engines,
        "ranks": plan.ranks,
        "median_seconds": statistics.median(candidate.seconds),
        "min_seconds": min(candidate.seconds),
        "predicted_seconds": max(plan.predicted(-1, rank)["seconds"] for rank in range(plan.ranks)),
        "seconds": candidate.seconds,
    }
