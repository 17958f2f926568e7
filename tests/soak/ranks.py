"""Random plans on MPI ranks: grids, boxes, layouts, strategies, imagined nodes, misuse by one rank, plans that nobody
frees. Every rank draws the same case (on_ranks.py)."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import sys
from pathlib import Path

import numpy as np
import spanfft

from . import oracle
from .case import Case, Failed, chance, numbers, one_of
from .memory import random_problem, strided
from .on_ranks import agreed, wire

STRATEGIES = ("alltoallv", "alltoallw", "oneplane", "oneplane:2", "standard", "replace", "overlap", "overlap:2",
              "blockvector", "blockvector:2", "phased", "persistent", "hierarchical", "shared",
              "compressed")  # fmt: skip
BAD_ARRAYS = (None, [1], np.zeros((9, 9, 2), complex), np.zeros((), complex), np.zeros(3, object), "array", 5)


def grid_of(rng, ndim: int, ranks: int) -> tuple[int, ...]:
    """A random factorisation of the number of ranks."""
    grid, left = [1] * ndim, ranks
    while left > 1:
        p = next(p for p in range(2, left + 1) if left % p == 0)
        grid[int(rng.integers(ndim))] *= p
        left //= p
    return tuple(grid)


def tiling(rng, shape, ranks: int) -> list[tuple[slice, ...]]:
    """Boxes, some empty, that tile the array: cut in two again and again."""
    boxes = [tuple(slice(0, n) for n in shape)]
    while len(boxes) < ranks:
        box = boxes.pop(int(rng.integers(len(boxes))))
        axis = int(rng.integers(len(shape)))
        cut = int(rng.integers(box[axis].start, box[axis].stop + 1))
        for part in (slice(box[axis].start, cut), slice(cut, box[axis].stop)):
            boxes.append((*box[:axis], part, *box[axis + 1 :]))
    rng.shuffle(boxes)
    return [tuple(box) for box in boxes]


def random_options(rng, problem: dict, ranks: int) -> dict:
    shape = problem["shape"]
    halves = "r2c" in problem["kind"]
    options: dict = {"threads": int(rng.choice([0, 1, 1, 2]))}
    if chance(rng, 0.6):
        options["exchange"] = one_of(rng, STRATEGIES)
    if chance(rng, 0.3):
        options["engine"] = one_of(rng, ["fftw", "mkl", "ducc0"])
    if chance(rng, 0.25):
        options["batch"] = int(rng.integers(1, 4))
    if chance(rng, 0.5):
        options["grid"] = grid_of(rng, len(shape), ranks)
        if chance(rng, 0.2):
            options["layout"] = "cyclic"
    elif chance(rng, 0.3):
        options["real_slices"] = tiling(rng, shape, ranks)
    if chance(rng, 0.25):
        options["output"] = "exchanged"
    elif not halves and chance(rng, 0.2):
        options["in_place"] = True
    elif chance(rng, 0.25):
        options["own_output"] = True
    if not options.get("in_place") and chance(rng, 0.25):
        options["own_input"] = True
    return options


# --- misuse by one rank -----------------------------------------------------------------------------------------------


def other_argument(rng) -> dict:
    """What one rank says otherwise than the others."""
    return one_of(rng, [{"shape": (3, 5)}, {"shape": (0, 4)}, {"dtype": "int8"}, {"axes": (9,)}, {"kind": "c3c"},
                        {"norm": "orthodox"}, {"exchange": "pigeon"}, {"threads": -1}, {"grid": (7, 7)},
                        {"engine": "steam"}, {"batch": 0}, {"output": "sideways"}, {"shape": (4, 4, 1)}])  # fmt: skip


@functools.cache
def table():
    """The tests' own table of bad values of every argument, for plans of GOOD."""
    sys.path.append(str(Path(__file__).parents[1] / "mpi"))
    return importlib.import_module("test_ranks_misuse")


def bad_value(rng) -> tuple[dict, dict]:
    """A problem, and a bad value of an argument of its plan."""
    name = one_of(rng, sorted(table().BAD))
    return table().GOOD, {name: one_of(rng, table().BAD[name])}


def misuse_plan(case: Case, rng, problem: dict, options: dict, comm) -> None:
    if chance(rng, 0.6):
        good, wrong = bad_value(rng)
        options = {
            key: options[key] for key in ("threads", "exchange", "engine", "own_output", "own_input") if key in options
        }
        options.update(good)
    else:
        wrong = other_argument(rng)
    culprit = int(rng.integers(comm.size))
    said = {name: f"{value:#x}" if isinstance(value, int) else type(value).__name__ for name, value in wrong.items()}
    case.text += f"; rank {culprit} says {said}"  # not the value: Python prints no number of 5,000 digits
    mine = {**options, **wrong} if comm.rank == culprit else options
    if not agreed(comm, lambda: spanfft.Plan(**mine, comm=comm))[1]:
        raise Failed("wrong", "one rank's other argument was taken")
    case.count("refused")


def misuse_array(case: Case, rng, plan: spanfft.Plan, comm) -> None:
    """One rank gives what is no array of the plan, or takes the result where it can't be; all hear of it."""
    culprit, bad = int(rng.integers(comm.size)), one_of(rng, BAD_ARRAYS)
    forward, as_output = chance(rng, 0.5), chance(rng, 0.3)
    case.text += f"; rank {culprit} gives {'out=' if as_output else ''}{bad!r}"
    if as_output and bad is None:
        return
    good = plan.input_array() if forward else plan.output_array()
    run = plan.forward if forward else plan.backward
    odd = comm.rank == culprit
    case.count("faults")
    if as_output:
        error = agreed(comm, lambda: run(good, out=bad if odd else None))[1]
    else:
        error = agreed(comm, lambda: run(bad if odd else good))[1]
    if not error:
        raise Failed("wrong", "one rank's bad array was taken")
    case.count("refused")


# --- what a plan gives ------------------------------------------------------------------------------------------------


class Watched:
    """Executions of a plan, with its own counts held against the layer between it and MPI, where that is loaded."""

    def __init__(self, case: Case, plan: spanfft.Plan) -> None:
        self.case, self.plan, self.different = case, plan, []
        for direction in ("forward", "backward"):
            plan.predicted(direction)  # planned now, so that an execution is all that follows

    def run(self, direction: str, u: np.ndarray) -> np.ndarray:
        before = wire()
        v = getattr(self.plan, direction)(u)
        after = wire()
        predicted, counted = self.plan.predicted(direction), self.plan.counted(direction)
        for key in ("messages", "sent_bytes"):
            if predicted[key] != counted[key]:
                self.different.append(f"{direction}: {key} predicted {predicted[key]}, counted {counted[key]}")
        if before is not None:
            self.case.count("compared")
            seen = tuple(b - a for a, b in zip(before, after, strict=True))
            ours = (counted["messages"], counted["sent_bytes"], counted["calls"])
            if seen != ours:
                self.different.append(f"{direction}: messages, bytes, calls counted {ours}, MPI saw {seen}")
        return v

    def judge(self) -> None:
        if self.different:
            raise Failed("wrong", self.different[0])


def judge(comm, what: str, squares, bound: float) -> None:
    parts = comm.allgather(squares)
    error = oracle.error_of(list(itertools.chain.from_iterable(parts)))
    if not error <= bound:
        raise Failed("wrong", f"{what}: relative error {error:.3g}, allowed {bound:.3g}")


def transforms(case: Case, rng, problem: dict, options: dict, plan: spanfft.Plan, comm) -> None:
    shape, kind, norm = problem["shape"], problem["kind"], problem["norm"]
    first = int("batch" in options)
    axes = [a + first for a in (range(len(shape)) if problem["axes"] is None else problem["axes"])]
    real = (*([options["batch"]] if first else []), *shape)
    bound = oracle.limit(kind, axes, real, problem["dtype"], norm)
    if (options.get("exchange") or "").startswith("compressed") or "compressed" in plan.problem:
        bound += oracle.COMPRESSED
    whole = (slice(None),) * first
    ins, outs = whole + plan.input_slices, whole + plan.output_slices
    there, back, watched = [], [], Watched(case, plan)
    for _ in range(1 + oracle.FEW // max(1, int(np.prod(real)))):
        u = numbers(rng, real, problem["dtype"])
        exact = oracle.forward(u, kind, axes, norm)
        how = np.random.default_rng(rng.integers(2**31))  # of its own: ranks without elements draw less
        local = strided(how, np.ascontiguousarray(u[ins])) if u[ins].size else np.ascontiguousarray(u[ins])
        kept = local.copy()
        v = watched.run("forward", local)
        if not options.get("in_place") and not np.array_equal(local, kept):
            raise Failed("wrong", "forward changed its input")
        there.append(oracle.squared_error(v, exact[outs]))
        given = exact.astype(plan.spectrum_dtype)
        exact = oracle.backward(given, kind, axes, real, norm)
        back.append(oracle.squared_error(watched.run("backward", np.ascontiguousarray(given[outs])), exact[ins]))
    judge(comm, "forward", there, bound)
    judge(comm, "backward", back, bound)
    watched.judge()


def run(case: Case, comm) -> None:
    rng = case.random
    problem = random_problem(rng, 4000)
    options = {**problem, **random_options(rng, problem, comm.size)}
    os.environ.pop("SPANFFT_RANKS_PER_NODE", None)
    if chance(rng, 0.3):
        os.environ["SPANFFT_RANKS_PER_NODE"] = str(int(rng.integers(1, 5)))
    case.text = f"on {comm.size} ranks, {os.environ.get('SPANFFT_RANKS_PER_NODE', 'all')} a node: Plan({options})"
    case.count("problems")
    mine = dict(options)
    if "real_slices" in mine:
        mine["real_slices"] = mine["real_slices"][comm.rank]
    misuse = comm.size > 1 and chance(rng, 0.15)
    if misuse and chance(rng, 0.6):
        case.count("faults")
        return misuse_plan(case, rng, problem, mine, comm)
    plan, error = agreed(comm, lambda: spanfft.Plan(**mine, comm=comm))
    if error:
        case.count("refused")
        return None
    if misuse:
        misuse_array(case, rng, plan, comm)
    transforms(case, rng, problem, options, plan, comm)
    if case.seed % 3:
        plan.free()
    return None
