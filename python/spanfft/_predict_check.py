"""Predicted seconds beside measured ones, here: what `spanfft predict --check` does.

Problems are drawn at random, the same for one seed: c2c and r2c, of one to three axes, float and double. Each is
planned with the figures that plans have here (those of `spanfft probe`, if it ran) and timed as `spanfft bench` does.
"""

from __future__ import annotations

import math
import random
import statistics
from typing import TYPE_CHECKING, TypedDict

from ._bench import bench
from ._errors import InvalidArgument

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["Check", "CheckRow", "check", "random_problems"]

_FACTORS = (2, 2, 2, 3, 5, 7)


class CheckRow(TypedDict):
    problem: str
    predicted_seconds: float
    measured_seconds: float
    deviation: float
    """Relative to what was measured: 0.1 is a tenth above it."""


class Check(TypedDict):
    """Deviations without their sign, and the rows, the worst first."""

    median_deviation: float
    p95_deviation: float
    rows: list[CheckRow]


def _length(draw: random.Random, most: int) -> int:
    """A product of small primes, at most so large."""
    n, aim = 1, math.exp(draw.uniform(math.log(8), math.log(most)))
    while (factor := draw.choice(_FACTORS)) * n <= aim:
        n *= factor
    return max(n, 8)


def random_problems(count: int, seed: int, most_points: int = 1 << 21) -> list[str]:
    """So many problem strings of at most so many points."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        ndim = draw.randint(1, 3)
        shape = [_length(draw, int(most_points ** (1 / ndim))) for _ in range(ndim)]
        found.append(f"{draw.choice(('c2c', 'r2c'))} {'x'.join(map(str, shape))} {draw.choice(('float', 'double'))}")
    return found


def check(count: int, seed: int = 1, comm: Comm | None = None, repeats: int = 5) -> Check | None:
    """Collective over comm, if there is one; None but on its rank 0."""
    if count < 1:
        raise InvalidArgument(f"a check of {count} problems says nothing; give at least 1")
    measured = bench(random_problems(count, seed), [], repeats, comm, None)
    if comm is not None and comm.Get_rank() != 0:
        return None
    rows: list[CheckRow] = [
        {
            "problem": row["problem"],
            "predicted_seconds": row["predicted_seconds"],
            "measured_seconds": row["median_seconds"],
            "deviation": row["predicted_seconds"] / row["median_seconds"] - 1,
        }
        for row in measured
    ]
    rows.sort(key=lambda row: -abs(row["deviation"]))
    sizes = [abs(row["deviation"]) for row in rows]
    return {
        "median_deviation": statistics.median(sizes),
        # Of 20 the second largest: 19 are at most as large.
        "p95_deviation": sizes[len(sizes) - math.ceil(0.95 * len(sizes))],
        "rows": rows,
    }
