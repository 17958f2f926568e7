"""Transforms of files that are killed or stopped at random moments, with bits flipped and journals cut in between; the
same call goes on, and the result is the oracle's or an error, never something else."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import tempfile
from pathlib import Path

from . import child, files
from .case import Case, Failed, chance, one_of


def dying(share: float):
    """Progress that ends its process where so much is done."""

    def progress(done: int, total: int) -> None:
        if done >= share * total:
            os.kill(os.getpid(), signal.SIGKILL)

    return progress


def stopping(share: float):
    return lambda done, total: done < share * total


def interrupt(rng, problem: files.FileProblem, case: Case) -> child.Answer:
    """One run that does not come to its end, or does."""
    how = one_of(rng, ["share", "share", "delay", "stop"])
    share, delay = float(rng.uniform(0.05, 1)), float(rng.uniform(0, 0.4))
    if how == "delay":
        answer = child.call(lambda: problem.transform(), kill_after=delay)
    else:
        progress = (dying if how == "share" else stopping)(share)
        answer = child.call(lambda: problem.transform(progress=progress))
    if answer.how == "killed" or answer.kind == "Interrupted":
        case.count("kills")
    return answer


def kept(problem: files.FileProblem, what: str) -> list[str]:
    folders = [str(problem.folder), *problem.options.get("scratch", [])]
    return sorted(path for folder in folders for path in glob.glob(f"{folder}/.*.spanfft-{what}*"))


def flip(rng, path: str) -> bool:
    """One bit; False where there is nothing to flip."""
    size = os.path.getsize(path)
    if not size:
        return False
    with open(path, "r+b") as file:
        at = int(rng.integers(size))
        file.seek(at)
        byte = file.read(1)[0] ^ (1 << int(rng.integers(8)))
        file.seek(at)
        file.write(bytes([byte]))
    return True


def damage(rng, problem: files.FileProblem, case: Case) -> bool:
    """A flipped bit of what sums protect, or a journal that lost its end as a crash may leave it."""
    if chance(rng, 0.5):
        return False
    paths = kept(problem, "journal")
    scratch = kept(problem, "kept-scratch") if problem.options["checksums"] else []
    how = one_of(rng, ["flip journal", "cut journal", "flip scratch", "flip scratch"])
    if how == "flip scratch" and scratch:
        damaged = flip(rng, one_of(rng, scratch))
    elif how == "flip journal" and paths:
        damaged = flip(rng, paths[0])
    elif how == "cut journal" and paths and os.path.getsize(paths[0]):
        size = os.path.getsize(paths[0])
        os.truncate(paths[0], max(0, size - int(rng.integers(1, min(size, 60) + 1))))
        damaged = True
    else:
        return False
    case.count("flips", int(damaged))
    case.text += f"; {how}"
    return damaged


def finish(problem: files.FileProblem, case: Case, damaged: bool) -> None:
    answer = child.call(lambda: problem.transform())
    if answer.how == "error" and damaged:
        files.check_input(problem)
        if problem.in_place:  # half overwritten, and what it was made of is spoiled: said, and nothing else is possible
            return
        answer = child.call(lambda: problem.transform(resume=False))
    if files.must(problem, case, answer, files.REFUSALS):
        files.check_result(problem)


def run(case: Case) -> None:
    rng = case.random
    folder = Path(tempfile.mkdtemp(prefix="spanfft-soak-"))
    try:
        problem = files.draw(rng, folder, least=0.93)
        case.text = problem.text()
        case.count("problems")
        damaged = False
        for _ in range(int(rng.integers(1, 5))):
            answer = interrupt(rng, problem, case)
            if answer.how == "ok":
                files.check_result(problem)
                return
            if answer.how == "error" and answer.kind != "Interrupted":
                if damaged:
                    break
                files.must(problem, case, answer, files.REFUSALS)
                return
            if answer.how not in ("killed", "error"):
                raise Failed(answer.how if answer.how in ("hung", "crashed") else "wrong", answer.text)
            files.check_input(problem)
            if not problem.in_place and os.path.exists(problem.output) and kept(problem, "journal") == []:
                break  # killed when all was done
            if (
                problem.in_place
                and not kept(problem, "in-place")
                and files.digest(problem.input) != problem.input_digest
            ):
                files.check_result(problem)  # killed when all was done: the same command would transform it once more
                return
            case.count("resumes", int(bool(kept(problem, "journal"))))
            damaged = damage(rng, problem, case) or damaged
        finish(problem, case, damaged)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
