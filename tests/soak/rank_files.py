"""Files transformed by MPI ranks, each its own box of them: formats, kinds, budgets, grids; one rank that has no room,
that asks for something else or to stop. Every rank draws the same case (on_ranks.py); the files are rank 0's."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import tempfile
from pathlib import Path

import spanfft

from . import files, oracle
from .case import Case, Failed, chance, one_of
from .on_ranks import agreed
from .ranks import STRATEGIES, grid_of

COUNTS = ("messages", "sent_bytes", "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes")


def draw(rng, comm, root: Path) -> files.FileProblem:
    """One problem for all: each rank draws it in a folder of its own, and those of all but rank 0 go."""
    mine = root if comm.rank == 0 else Path(tempfile.mkdtemp(prefix="spanfft-soak-"))
    usual = chance(rng, 0.8)  # what ranks don't do is asked for now and then
    problem = files.draw(rng, mine, 60_000, 0.5)
    if mine != root:
        shutil.rmtree(mine)
    options = problem.options
    there = {path: str(root / os.path.basename(path)) for path in
             (problem.input, problem.output, *options.get("scratch", []))}  # fmt: skip
    problem.folder, problem.input, problem.output = root, there[problem.input], there[problem.output]
    if "scratch" in options:
        options["scratch"] = [there[path] for path in options["scratch"]]
    options["memory"] = one_of(rng, [1, 2, 4, 16, 64]) * files.MiB
    if usual:
        options.pop("method", None)
        if options.pop("in_place", False):
            problem.output = str(root / "out.npy")
    options["journal"] = chance(rng, 0.5) or problem.in_place
    if chance(rng, 0.4):
        options["exchange"] = one_of(rng, STRATEGIES)
        problem.bound += oracle.COMPRESSED if options["exchange"] == "compressed" else 0
    if chance(rng, 0.3):
        options["grid"] = grid_of(rng, len(problem.exact.shape), comm.size)
    return problem


@contextlib.contextmanager
def room(limit: int | None):
    """Files of this process are at most so long."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def only_on_rank_0(comm, check) -> None:
    """A look at the files, which ends the case on all ranks when it shows a failure."""
    failure = None
    if comm.rank == 0:
        try:
            check()
        except Failed as found:
            failure = (found.how, str(found))
    failure = comm.bcast(failure)
    if failure:
        raise Failed(*failure)


def check_nothing(problem: files.FileProblem, alone: bool, error: str) -> None:
    """An error touches nothing and leaves nothing but a run to go on with, of which, on several ranks, it speaks."""
    files.check_input(problem)
    if problem.in_place:
        return
    if os.path.exists(problem.output):
        raise Failed("wrong", f"an output after: {error}")
    may_go_on = problem.options["journal"] and (alone or "goes on from there" in error)
    kept = [name for name in files.left_over(problem) if not (may_go_on and ".spanfft-" in name)]
    if kept:
        raise Failed("lost", f"left behind: {kept} after: {error}")


def transform(problem: files.FileProblem, comm, **more: object) -> tuple[object, str]:
    output = None if problem.in_place else problem.output
    options = {**problem.options, **more}
    return agreed(comm, lambda: spanfft.transform(problem.input, output, comm=comm, **options))


def trouble(rng, problem: files.FileProblem, comm, case: Case) -> str:
    """A run in which one rank differs; the error of all."""
    case.count("faults")
    culprit, how = int(rng.integers(comm.size)), one_of(rng, ["full", "other", "stop"])
    odd = comm.rank == culprit
    share, size = float(rng.uniform(0, 1)), int(problem.exact.nbytes * rng.uniform(0.02, 1))
    other = one_of(rng, [{"kind": "c3c"}, {"axes": [9]}, {"norm": "loud"}, {"memory": 1}, {"engine": "steam"},
                         {"method": "magic"}, {"exchange": "pigeon"}, {"threads": -1}])  # fmt: skip
    case.text += f"; rank {culprit}: {how} {other if how == 'other' else ''}"
    if how == "full":
        with room(size if odd else None):
            return transform(problem, comm)[1]
    if how == "other":
        error = transform(problem, comm, **(other if odd else {}))[1]
        if not error:
            raise Failed("wrong", "one rank's other argument was taken")
        return error
    return transform(problem, comm, progress=lambda done, total: not odd or done < share * total)[1]


def judge(problem: files.FileProblem, result, comm) -> None:
    predicted, counted = result.report["predicted"], result.report["counted"]
    resumed = any(comm.allgather(result.resumed_bytes))  # a rank that had done nothing may be in a run that goes on
    if counted is None and not resumed:  # None: an earlier run was stopped after its last panel
        raise Failed("wrong", "a whole run, and nothing was counted")
    different = [f"{key} predicted {predicted[key]}, counted {counted[key]}" for key in COUNTS
                 if counted and predicted[key] != counted[key]]  # fmt: skip
    different = [text for texts in comm.allgather(different) for text in texts]
    only_on_rank_0(comm, lambda: files.check_result(problem))
    if different and not resumed:
        raise Failed("wrong", different[0])


def work(case: Case, comm, root: Path) -> None:
    rng = case.random
    problem = draw(rng, comm, root)
    case.text = f"on {comm.size} ranks: {problem.text()}"
    case.count("problems")
    comm.Barrier()
    if chance(rng, 0.3):
        error = trouble(rng, problem, comm, case)
        if not error:  # there was room, or it was done before it was stopped
            only_on_rank_0(comm, lambda: files.check_result(problem))
            return
        only_on_rank_0(comm, lambda: check_nothing(problem, comm.size == 1, error))
    result, error = transform(problem, comm)
    refusals = (*files.REFUSALS, *(["InvalidArgument"] if "grid" in problem.options else []))  # it may divide all axes
    if error and error.partition(":")[0] not in refusals and "planes a message would be" not in error:
        raise Failed("wrong", error)
    if error:
        case.count("refused")
        case.text += f"; refused: {error}"
        only_on_rank_0(comm, lambda: check_nothing(problem, comm.size == 1, error))
        return
    judge(problem, result, comm)


def run(case: Case, comm) -> None:
    root = Path(comm.bcast(tempfile.mkdtemp(prefix="spanfft-soak-") if comm.rank == 0 else None))
    try:
        work(case, comm, root)
    finally:
        comm.Barrier()
        if comm.rank == 0:
            shutil.rmtree(root, ignore_errors=True)
