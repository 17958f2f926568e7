"""Journals and tuning stores that were damaged anywhere: a right result, or an error with a sentence and a restart."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import spanfft

from . import child, files, kills, oracle
from .case import Case, Failed, chance, numbers, one_of
from .headers import mutated


def changed_lines(rng, text: bytes) -> bytes:
    """Whole lines lost, doubled or in another order: each is good by its own checksum."""
    lines = text.splitlines(keepends=True)
    for _ in range(int(rng.integers(1, 4))):
        if not lines:
            break
        at = int(rng.integers(len(lines)))
        how = int(rng.integers(4))
        if how == 0:
            del lines[at:]
        elif how == 1:
            del lines[at]
        elif how == 2:
            lines.insert(at, one_of(rng, lines))
        else:
            other = int(rng.integers(len(lines)))
            lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def journal(case: Case, rng) -> None:
    folder = Path(tempfile.mkdtemp(prefix="spanfft-soak-"))
    try:
        problem = files.draw(rng, folder, least=0.93)
        case.text = problem.text()
        share = float(rng.uniform(0.4, 1))
        answer = child.call(lambda: problem.transform(progress=kills.dying(share)))
        found = kills.journals(problem)
        if answer.how != "killed" or not found:
            if answer.how not in ("ok", "error", "killed"):
                raise Failed(answer.how if answer.how in ("hung", "crashed") else "wrong", answer.text)
            return
        case.count("kills")
        path = Path(found[0])
        text = path.read_bytes()
        lines = chance(rng, 0.6)
        path.write_bytes(changed_lines(rng, text) if lines else mutated(rng, text, len(text)))
        case.count("flips")
        case.count("resumes")
        case.text += "; lines changed" if lines else "; bytes changed"
        kills.finish(problem, case, True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tune(home: str) -> None:
    """A store that this version writes, for the damage to begin from."""
    os.environ["SPANFFT_HOME"] = home
    spanfft.Plan((12, 10), "complex128", effort="tune", measure_seconds=0.05).free()
    spanfft.Plan((30,), "complex128", effort="tune", measure_seconds=0.05).free()


_stores: dict[str, bytes] = {}


def store(case: Case, rng) -> None:
    if not _stores:
        home = tempfile.mkdtemp(prefix="spanfft-soak-")
        answer = child.call(lambda: tune(home))
        if answer.how != "ok":
            raise Failed("crashed", f"no store was tuned: {answer.text}")
        for path in Path(home).iterdir():
            if path.is_file() and path.stat().st_size:
                _stores[path.name] = path.read_bytes()
        shutil.rmtree(home)
    home = tempfile.mkdtemp(prefix="spanfft-soak-")
    try:
        damaged = {}
        for name, text in _stores.items():
            damaged[name] = changed_lines(rng, text) if chance(rng, 0.2) else mutated(rng, text, len(text))
            Path(home, name).write_bytes(damaged[name])
        case.text = repr(damaged)[:600]
        case.count("flips")
        shape = one_of(rng, [(12, 10), (30,)])
        u = numbers(rng, shape, "complex128")

        def work() -> np.ndarray:
            os.environ["SPANFFT_HOME"] = home
            return spanfft.Plan(shape, "complex128").forward(u)

        answer = child.call(work, cpu_seconds=20)
        if answer.how == "error":
            if len(answer.text) < 20:
                raise Failed("wrong", f"an error without a sentence: {answer.text}")
            case.count("refused")
            return
        if answer.how != "ok":
            raise Failed(answer.how if answer.how in ("hung", "crashed") else "wrong", f"{answer.kind} {answer.text}")
        exact = oracle.forward(u, "c2c", range(len(shape)))
        error = oracle.error_of([oracle.squared_error(answer.value, exact)])
        if not error <= 2 * oracle.limit("c2c", range(len(shape)), shape, "complex128"):
            raise Failed("wrong", f"relative error {error:.3g}")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def run(case: Case) -> None:
    case.count("problems")
    rng = case.random
    (journal if case.seed % 2 else store)(case, rng)
