"""Random plans on MPI ranks: grids, boxes, layouts, strategies, misuse by one rank, plans that are dropped.

python -m soak.ranks FIRST SECONDS COUNT under mpiexec -n N: seeds FIRST, FIRST + 9, ... so that a seed says how many
ranks it is for, 1 + SEED % 9. Every rank draws the same case; the verdict is all ranks'.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import traceback

import numpy as np

MOST_RANKS = 9
STRATEGIES = ("alltoallv", "alltoallw", "oneplane", "oneplane:2", "standard", "replace", "overlap", "overlap:2",
              "blockvector", "blockvector:2", "phased", "persistent", "hierarchical", "shared",
              "compressed")  # fmt: skip


def ranks_of(seed: int) -> int:
    return 1 + seed % MOST_RANKS


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
    from .case import chance, one_of

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
    return options


def misused(rng, options: dict, rank: int, size: int) -> dict:
    """What one rank says otherwise than the others: an error, the same on all."""
    from .case import one_of

    wrong = one_of(rng, [{"shape": (3, 5)}, {"shape": (0, 4)}, {"dtype": "int8"}, {"axes": (9,)}, {"kind": "c3c"},
                         {"norm": "orthodox"}, {"exchange": "pigeon"}, {"threads": -1}, {"grid": (7, 7)},
                         {"engine": "steam"}, {"batch": 0}, {"output": "sideways"}, {"shape": (4, 4, 1)}])  # fmt: skip
    culprit = int(rng.integers(size))
    return {**options, **wrong} if rank == culprit else options


class Batch:
    """Cases on one communicator, and the verdicts of all its ranks."""

    def __init__(self, comm) -> None:
        self.comm = comm
        self.kept: list = []  # plans that nobody freed

    def errors(self, text: str) -> list[str]:
        return self.comm.allgather(text)

    def plan(self, case, options: dict):
        """The plan, or None where all ranks refuse it with one sentence."""
        import spanfft

        from .case import Failed

        plan, error = None, ""
        try:
            plan = spanfft.Plan(**options, comm=self.comm)
        except spanfft.InternalError:
            raise
        except spanfft.Error as e:
            error = f"{type(e).__name__}: {e}"
        errors = self.errors(error)
        if not any(errors):
            return plan
        if len(set(errors)) > 1:
            raise Failed("wrong", f"ranks say different things: {sorted(set(errors))}")
        case.count("refused")
        return None

    def judge(self, what: str, squares, bound: float) -> None:
        from . import oracle
        from .case import Failed

        parts = self.comm.allgather(squares)
        error = oracle.error_of(list(itertools.chain.from_iterable(parts)))
        if not error <= bound:
            raise Failed("wrong", f"{what}: relative error {error:.3g}, allowed {bound:.3g}")

    def counts(self, plan, direction: str) -> None:
        from .case import Failed

        predicted, counted = plan.predicted(direction), plan.counted(direction)
        for key in ("messages", "sent_bytes"):
            if predicted[key] != counted[key]:
                raise Failed("wrong", f"{direction}: {key} predicted {predicted[key]}, counted {counted[key]}")

    def run(self, case) -> None:
        from . import oracle
        from .case import Failed, chance, numbers
        from .memory import random_problem, strided

        rng = case.random
        problem = random_problem(rng, 4000)
        options = {**problem, **random_options(rng, problem, self.comm.size)}
        case.text = f"on {self.comm.size} ranks: Plan({options})"
        case.count("problems")
        mine = dict(options)
        if "real_slices" in mine:
            mine["real_slices"] = mine["real_slices"][self.comm.rank]
        misuse = self.comm.size > 1 and chance(rng, 0.1)
        if misuse:
            case.count("faults")
            if self.plan(case, misused(rng, mine, self.comm.rank, self.comm.size)) is not None:
                raise Failed("wrong", "one rank's other argument was taken")
            return
        plan = self.plan(case, mine)
        if plan is None:
            return
        shape, kind, norm = problem["shape"], problem["kind"], problem["norm"]
        first = int("batch" in options)
        axes = [a + first for a in (range(len(shape)) if problem["axes"] is None else problem["axes"])]
        real = (*([options["batch"]] if first else []), *shape)
        bound = oracle.limit(kind, axes, real, problem["dtype"])
        if (options.get("exchange") or "").startswith("compressed") or "compressed" in plan.problem:
            bound += 2.0**-23
        whole = (slice(None),) * first
        ins, outs = whole + plan.input_slices, whole + plan.output_slices
        there, back = [], []
        for _ in range(1 + min(8, oracle.FEW // max(1, int(np.prod(real))))):
            u = numbers(rng, real, problem["dtype"])
            exact = oracle.forward(u, kind, axes, norm)
            how = np.random.default_rng(rng.integers(2**31))  # of its own: ranks without elements draw less
            local = strided(how, np.ascontiguousarray(u[ins])) if u[ins].size else np.ascontiguousarray(u[ins])
            kept = local.copy()
            v = plan.forward(local)
            if not options.get("in_place") and not np.array_equal(local, kept):
                raise Failed("wrong", "forward changed its input")
            there.append(oracle.squared_error(v, exact[outs]))
            given = exact.astype(plan.spectrum_dtype)
            exact = oracle.backward(given, kind, axes, real, norm)
            back.append(oracle.squared_error(plan.backward(np.ascontiguousarray(given[outs])), exact[ins]))
        self.judge("forward", there, bound)
        self.judge("backward", back, bound)
        self.counts(plan, "forward")
        self.counts(plan, "backward")
        if case.seed % 3:
            plan.free()


def main() -> None:
    first, seconds, count = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    os.environ.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")
    from mpi4py import MPI

    from .case import Case
    from .worker import judged, say

    world = MPI.COMM_WORLD
    batch, end = Batch(world), time.monotonic() + seconds
    if world.size != ranks_of(first):
        raise SystemExit(f"seed {first} is for {ranks_of(first)} ranks, these are {world.size}: two MPIs?")
    for seed in range(first, first + MOST_RANKS * count, MOST_RANKS):
        if world.bcast(time.monotonic() >= end):
            break
        if world.rank == 0:
            say(begin=seed)
        case = Case("ranks", seed)
        failure = judged(case, batch.run)
        if failure:  # before the others are asked, who may wait inside the case for this rank
            print(f"rank {world.rank}: {case.text}: {failure}", file=sys.stderr, flush=True)
        failures = world.gather(failure)
        if world.rank == 0:
            found = next((f for f in failures if f), None)
            say(end=seed, counts=case.counts, text=case.text, failure=found)
        if any(world.allgather(failure is not None)):
            break  # ranks may be apart


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
