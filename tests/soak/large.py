"""Long transforms of files, all bins: 2^24 random numbers held against scipy's long double, which is itself held
against the definition; 2^28, and powers between, of impulses and tones, whose spectra are known (exact_signals.py)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.fft
import spanfft

from . import child, oracle
from .case import Case, Failed, one_of
from .patience import output_of

PROGRAM = Path(__file__).parents[1] / "python" / "exact_signals.py"
LIMIT_SECONDS = 3500  # six minutes of a core for 2^28, and a disk that others use too
LOG2_ORACLE = 24
BYTES = 9 << 30  # of free disk, for 2^28: an input and an output of 2 GiB, and what lies between


def exact_signals():
    sys.path.append(str(PROGRAM.parent))
    import exact_signals

    return exact_signals


def against_scipy(folder: str, seed: int, method: str | None) -> tuple[float, float]:
    """The worst of the forward and backward errors, and that of the reference in 8 bins."""
    rng, n = np.random.default_rng(seed), 1 << LOG2_ORACLE
    x = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(np.complex64)
    np.save(f"{folder}/in.npy", x)
    spanfft.transform(f"{folder}/in.npy", f"{folder}/out.npy", memory="32MiB", method=method)
    spanfft.transform(f"{folder}/out.npy", f"{folder}/back.npy", memory="32MiB", method=method, backward=True)
    exact = scipy.fft.fft(x.astype(np.clongdouble), overwrite_x=True)
    bins = np.array([0, 1, n - 1, *rng.integers(0, n, 5)])
    sums = exact_signals().sums_by_definition(x, bins)
    doubt = float(np.linalg.norm((exact[bins] - sums).astype(complex)) / np.linalg.norm(sums.astype(complex)))
    forward = oracle.error_of([oracle.squared_error(np.load(f"{folder}/out.npy"), exact)])
    del exact
    # Of what the forward transform wrote: its error and the backward one's.
    both = oracle.error_of([oracle.squared_error(np.load(f"{folder}/back.npy"), oracle.wide(x))])
    return max(forward, both / 2), doubt


def oracle_case(case: Case, rng, folder: str) -> None:
    method = one_of(rng, [None, "two_sweeps", "superlevels", "many_sweeps"])
    case.text = f"2^{LOG2_ORACLE} random numbers, {method or 'default'}"
    answer = child.call(lambda: against_scipy(folder, case.seed, method), seconds=LIMIT_SECONDS)
    if answer.how != "ok":
        raise Failed(answer.how if answer.how in ("hung", "crashed") else "wrong", f"{answer.kind} {answer.text}")
    error, doubt = answer.value
    allowed = exact_signals().allowed(1 << LOG2_ORACLE, np.complex64)
    case.text += f": error {error:.3g}, allowed {allowed:.3g}; the reference's {doubt:.3g}"
    if not doubt <= 1e-16:
        raise Failed("wrong", f"scipy's long double is off by {doubt:.3g} in 8 bins: no reference")
    if not error <= allowed:
        raise Failed("wrong", f"relative error {error:.3g}, allowed {allowed:.3g}")


def signals_case(case: Case, log2: int, folder: str) -> None:
    case.text = f"2^{log2} points: impulses and tones"
    command = [sys.executable, PROGRAM, "--log2", str(log2), "--seed", str(case.seed), "--folder", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said = output_of(process, LIMIT_SECONDS)
        if said is None:
            process.kill()
            raise Failed("hung", f"after {LIMIT_SECONDS} s")
    case.text = "; ".join(said[0].splitlines()) or case.text
    if process.returncode:
        raise Failed("wrong" if process.returncode == 1 and not said[1] else "crashed",
                     f"exit code {process.returncode}: {said[1][-1500:]}")  # fmt: skip


def run(case: Case) -> None:
    case.count("problems")
    folder = tempfile.mkdtemp(prefix="spanfft-soak-")
    try:
        if shutil.disk_usage(folder).free < BYTES:
            case.count("skipped")
            return
        turn = case.seed % 3
        if turn == 0:
            oracle_case(case, case.random, folder)
        else:
            signals_case(case, 28 if turn == 1 else one_of(case.random, [25, 26, 27]), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
