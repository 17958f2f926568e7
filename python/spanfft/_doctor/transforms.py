"""Checks of spanfft itself: every exchange, counts and messages beyond 2^31, and refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import Error, InternalError, OutOfMemory, Unsupported
from .._memory import available_bytes, bytes_string
from .._native import core
from .._plan import Plan
from .exact import errors, exact_pair, limit, roots, square_norm
from .findings import Finding, Job, sentence

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["EXCHANGES", "check_boundaries", "check_refusals", "check_transforms"]

EXCHANGES = (
    "alltoallv",
    "alltoallw",
    "oneplane",
    "overlap",
    "standard",
    "replace",
    "blockvector",
    "phased",
    "persistent",
    "hierarchical",
    "shared",
    "compressed",
)
_COMPRESSED_TOLERANCE = 2.0**-20


def _ways(ranks: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What to transform and how: each exchange, then the other divisions. Lengths divide by nothing."""
    shape = (2 * ranks + 1, ranks + 3, 11)
    for name in EXCHANGES if ranks > 1 else ():
        yield f"exchange {name}", {"shape": shape, "exchange": name, "grid": (ranks, 1, 1)}
    if ranks > 3 and (p := next((d for d in range(2, math.isqrt(ranks) + 1) if ranks % d == 0), 0)):
        yield "pencils", {"shape": shape, "grid": (p, ranks // p, 1)}
    yield "r2c", {"shape": shape, "kind": "r2c"}
    yield "the planner's choice", {"shape": (64, 60, 62)}
    yield "one axis", {"shape": (997 * 60,)}
    if ranks > 1:
        yield "one axis, exchanged order", {"shape": (ranks * ranks * 144,), "output": "exchanged"}
        yield "cyclic", {"shape": (ranks * ranks * 12, 10), "layout": "cyclic"}


def check_transforms(job: Job) -> Iterator[Finding]:
    """An exact spectrum and a round trip by each way to exchange and to divide."""
    right = []
    for name, options in _ways(job.size):
        shape = options.pop("shape")
        allowed = limit("float64", math.prod(shape))
        if options.get("exchange") == "compressed":
            allowed = _COMPRESSED_TOLERANCE
        try:
            with Plan(shape, comm=job.comm, **options) as plan:
                forward, back = errors(plan, job, *exact_pair(plan))
        except Unsupported as error:  # such as persistent collectives, before MPI 4
            yield Finding("transforms", "skipped", f"{name}: {error}")
            continue
        except Error as error:  # the same on all ranks
            yield Finding(
                "transforms", "bad", f"{name}: {error}", "if the lines above are green, report it", type(error)
            )
            continue
        if max(forward, back) <= allowed:
            right.append(name)
        else:
            yield Finding(
                "transforms",
                "bad",
                f"{name}: relative error {forward:.1e}, there and back {back:.1e}, of {allowed:.1e} allowed",
                "if MPI's lines above are green, report it",
                InternalError,
            )
    yield Finding("transforms", "ok", f"exact spectrum and round trip: {', '.join(right)}")


def check_boundaries(job: Job) -> Iterator[Finding]:
    """Counts beyond 2^31, which a plan of two imagined ranks has, and real messages of such a size if asked for."""
    n = 3 << 30
    sent = core.imagine(f"c2c {n // 1024}x1024 double ranks=2 exchange=alltoallv output=exchanged").predicted(-1, 0)
    expected = n // 4 * 16  # half of what a rank has
    if sent["sent_bytes"] == expected:
        yield Finding("2^31 in spanfft", "ok", f"a plan of {n} points counts {expected} bytes a message")
    else:
        yield Finding(
            "2^31 in spanfft",
            "bad",
            f"a plan of {n} points counts {sent['sent_bytes']} bytes a message, not {expected}",
            "report it",
            InternalError,
        )
    if job.comm is None or job.size < 2:
        return
    # Between two ranks a message of 2^31 bytes and more is a quarter of the array; four arrays, with room for copies.
    shape = (2 * 8209, 32768)
    need = 8 * 16 * math.prod(shape) // 4 * 3
    free = min(job.everywhere(available_bytes()))
    if not job.large:
        yield Finding(
            "2^31 on the wire", "skipped", f"--large sends such messages between two ranks, in {bytes_string(need)}"
        )
        return
    if free < need:
        yield Finding(
            "2^31 on the wire",
            "warning",
            f"{bytes_string(free)} are free, {bytes_string(need)} are needed",
            "run it on nodes with more memory",
            OutOfMemory,
        )
        return
    pair = job.comm.Split(0 if job.rank < 2 else 1, job.rank)
    try:
        error = 0.0
        if job.rank < 2:
            with Plan(shape, "complex128", comm=pair, exchange="alltoallv", output="exchanged", threads=1) as plan:
                error = max(_line_error(plan, pair))
    finally:
        pair.Free()
    error = max(job.everywhere(error))
    if error <= limit("float64", math.prod(shape)):
        yield Finding("2^31 on the wire", "ok", "messages above 2^31 bytes between two ranks are right")
    else:
        yield Finding(
            "2^31 on the wire",
            "bad",
            f"messages above 2^31 bytes: relative error {error:.1e}",
            "try exchange=oneplane, whose messages are small, and report it",
            InternalError,
        )


def _line_error(plan: Plan, comm: Comm) -> tuple[float, float]:
    """As `errors` for one impulse, in place of long doubles for the whole array: exp(-2 pi i (j k / n + ...))."""
    place = [n // 3 for n in plan.shape]
    given = plan.input_array()
    inside = [p - s.start for p, s in zip(place, plan.input_slices, strict=True)]
    if all(0 <= i < n for i, n in zip(inside, given.shape, strict=True)):
        given[tuple(inside)] = 1
    found = plan.forward(given)
    factors = [
        roots(np.array([p]), np.arange(s.start, s.stop), n)[0].astype(complex)
        for p, s, n in zip(place, plan.output_slices, plan.shape, strict=True)
    ]
    squares = sum(square_norm(row - factor * factors[1]) for row, factor in zip(found, factors[0], strict=True))
    squares, points = np.sum(comm.allgather((squares, found.size)), axis=0)
    back = plan.backward(found)
    worst = float(np.abs(back - given).max()) if back.size else 0.0
    return math.sqrt(squares / points), max(comm.allgather(worst))


def check_refusals(job: Job) -> Iterator[Finding]:
    """What is wrong on purpose must be refused, on all ranks."""

    def ask() -> None:
        if job.comm is None:  # as the command line has it for one rank too
            with Plan((8, 8)) as plan:
                plan.forward(np.zeros((8, 9), complex))
        else:
            Plan((8, 8 + (job.rank == job.size - 1)), comm=job.comm).free()

    said = job.everywhere(sentence(ask))
    what = "an array of a wrong shape" if job.comm is None else "another shape on one rank"
    if all(said):
        yield Finding("refusals", "ok", f"{what} is refused on every rank")
    else:
        yield Finding("refusals", "bad", f"{what} is accepted on rank {said.index('')}", "report it", InternalError)
