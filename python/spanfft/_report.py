"""A plan as a dictionary that json can write."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from ._core import Counts, Step
    from ._core import Plan as CorePlan

__all__ = ["Report", "report_of"]


class Report(TypedDict):
    """What `Plan.report`, `spanfft plan --json` and `spanfft transform --json` tell. Counts are one rank's."""

    problem: str
    solver: str
    engines: str
    rank: int
    ranks: int
    input_shape: list[int]
    output_shape: list[int]
    sweeps: int
    peak_memory_bytes: int
    scratch_bytes: int
    predicted: Counts
    counted: Counts | None
    steps: list[Step]
    notes: list[str]


def report_of(plan: CorePlan, rank: int = -1) -> Report:
    """The report of a C plan, for `rank`; -1 is this one. Not collective."""
    return {
        "problem": plan.problem,
        "solver": plan.solver,
        "engines": plan.engines,
        "rank": plan.rank if rank < 0 else rank,
        "ranks": plan.ranks,
        "input_shape": plan.input_shape,
        "output_shape": plan.output_shape,
        "sweeps": plan.sweeps,
        "peak_memory_bytes": plan.peak_memory_bytes(rank),
        "scratch_bytes": plan.scratch_bytes,
        "predicted": plan.predicted(-1, rank),
        "counted": plan.counted(),
        "steps": plan.steps(rank),
        "notes": plan.notes,
    }
