"""Transforms of files that are killed or stopped at random moments, by signals to the command line too, with bits
flipped and journals cut in between; the same call goes on, and the result is the oracle's or an error, never something
else."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import tempfile
from pathlib import Path

import numpy as np
from spanfft import cli

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


FLAGS = {"backward", "power", "in_place"}
NEGATED = {"checksums", "journal"}
# What the command line's exit codes are in Python.
KINDS = {2: "InvalidArgument", 3: "Unsupported", 4: "OutOfMemory", 5: "IOFailure", 6: "NoSpace", 7: "CorruptData",
         8: "MPIError", 9: "EngineError", 12: "CallbackFailed"}  # fmt: skip


def words_of(problem: files.FileProblem) -> list[str]:
    """The command that says what `problem.transform()` does."""
    words = ["transform", problem.input, *([] if problem.in_place else [problem.output]), "--quiet"]
    for name, value in problem.options.items():
        option = f"--{name.replace('_', '-')}"
        if name in FLAGS:
            words += [option] if value else []
        elif name in NEGATED:
            words += [] if value else [f"--no-{name}"]
        elif name == "shape":
            words.append(f"{option}={'x'.join(map(str, value))}")
        elif isinstance(value, (list, tuple)):
            words.append(f"{option}={','.join(map(str, value))}")
        else:
            words.append(f"{option}={np.dtype(value) if name == 'dtype' else value}")
    return words


def command(problem: files.FileProblem) -> tuple[int, str]:
    """The command in this process, which must be a child of its own: its exit code, and what it says."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        os.dup2(said.fileno(), 2)
        code = cli.main(words_of(problem))
        said.seek(0)
        return code, said.read()


def signalled(problem: files.FileProblem, delay: float, number: int) -> child.Answer:
    """The command, which is sent a signal: ended in order, as from Python, or killed before it began."""
    answer = child.call(lambda: command(problem), kill_after=delay, kill_with=number)
    if answer.kind == "KeyboardInterrupt":  # before the command was there to be told
        return child.Answer("killed", seconds=answer.seconds)
    if answer.how != "ok":
        return answer
    code, text = answer.value
    if code == 0:
        return answer
    if code == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]:
        return child.Answer("error", None, "Interrupted", text, answer.seconds)
    return child.Answer("error" if code in KINDS else "bug", None, KINDS.get(code, f"exit code {code}"), text)


def interrupt(rng, problem: files.FileProblem, case: Case) -> child.Answer:
    """One run that does not come to its end, or does."""
    how = one_of(rng, ["share", "share", "delay", "stop", "signal"])
    share, delay = float(rng.uniform(0.05, 1)), float(rng.uniform(0, 0.4))
    if how == "delay":
        answer = child.call(lambda: problem.transform(), kill_after=delay)
    elif how == "signal":
        answer = signalled(problem, delay, one_of(rng, [signal.SIGINT, signal.SIGTERM]))
    else:
        progress = (dying if how == "share" else stopping)(share)
        answer = child.call(lambda: problem.transform(progress=progress))
    if answer.how == "killed" or answer.kind == "Interrupted":
        case.count("kills")
    return answer


def kept(problem: files.FileProblem, what: str) -> list[str]:
    folders = [str(problem.folder), *problem.options.get("scratch", [])]
    return sorted(path for folder in folders for path in glob.glob(f"{folder}/.*.spanfft-{what}*"))


def journals(problem: files.FileProblem) -> list[str]:
    """Of a run in place it is beside the array, and has another name."""
    return kept(problem, "in-place" if problem.in_place else "journal")


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
    paths = journals(problem)
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
        answer = child.call(lambda: problem.transform(resume=False))
        if problem.in_place and answer.how == "error":
            return  # half overwritten, and what it was made of is spoiled: said, and nothing else is possible
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
            if not problem.in_place and os.path.exists(problem.output) and journals(problem) == []:
                break  # killed when all was done
            if problem.in_place and not journals(problem) and files.digest(problem.input) != problem.input_digest:
                files.check_result(problem)  # killed when all was done: the same command would transform it once more
                return
            case.count("resumes", int(bool(journals(problem))))
            damaged = damage(rng, problem, case) or damaged
        finish(problem, case, damaged)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
