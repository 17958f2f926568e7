"""A whole machine file from timings: the figures of its data sheet that nobody knows, fitted to what was measured.

Method: the sheet says what is known (nodes, cores, network, ...); the figures that it lacks, and those whose value is
"?", are those with which `predict` comes nearest to the rows: least squares of the logarithm of predicted over measured
time, in the logarithms of the figures, by Levenberg and Marquardt's method from the best few of many points (the model
is a sum of maxima, so it has kinks and local minima). A figure that no row depends on is an error, never a guess.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import CorruptData, InvalidArgument, IOFailure
from ._fit import column_of, read_table
from ._native import core
from ._predict import with_ranks

__all__ = ["MachineFit", "fit_machine"]

_HEADER = "spanfft-machine 1"
# What rows can tell: where the search begins, and what must be measured for it.
_START = {
    "core_fft_gflops": (2.0, "one rank"),
    "node_memory_gb_per_second": (20.0, "large arrays on as many ranks as a node has cores"),
    "link_gb_per_second": (1.0, "large arrays on several nodes"),
    "latency_us": (10.0, "small arrays on several nodes"),
    "injection_gb_per_second": (1.0, "large arrays on several nodes"),
    "message_us": (1.0, "small arrays on many ranks"),
    "alltoall_share": (0.7, "large arrays on many nodes"),
    "disk_mb_per_second": (500.0, "files, memory= in the problem"),
    "disk_request_ms": (0.1, "files with short runs"),
}
_NEEDED = ("core_fft_gflops", "node_memory_gb_per_second", "link_gb_per_second", "latency_us")
_LEAST_SENSITIVITY = 0.02  # root mean square over the rows of d log seconds / d log figure
_STEP = 0.02  # of logarithms, for derivatives
_REACH = math.log(30)  # of the search, around where it begins
_TRIED, _FOLLOWED = 60, 6  # points that are looked at, and those that are descended from
_ROUNDS = 30
_NEXT_TO_NOTHING = 1e-3  # root mean square of the residuals
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MachineFit:
    """What was found."""

    machine: str
    """The text of the machine file."""
    figures: dict[str, float]
    """Those that were fitted, in the file's units."""
    rms_residual: float
    """Root mean square of log(predicted / measured): 0.1 is about a tenth."""
    worst_residual: float
    rows: int


@dataclass(frozen=True)
class _Row:
    problem: str
    ranks: int
    per_node: int
    seconds: float


def _rows_of(path: str | os.PathLike[str], time_name: str | None) -> list[_Row]:
    name, table = os.fspath(path), read_table(path)
    seconds = column_of(name, table, time_name, ("seconds", "median_seconds", "time"))
    found = []
    for index, (row, value) in enumerate(zip(table, seconds, strict=True), 1):
        problem = str(row.get("problem") or "")
        told = re.search(r"\branks=(\d+)", problem)
        ranks = row.get("ranks") or (told[1] if told else None)
        if not problem or ranks is None:
            missing = "problem" if not problem else "number of ranks"
            raise CorruptData(
                f"{name}: row {index} has no {missing}; give columns problem, such as 'c2c 64x64x64', ranks and "
                f"seconds, as spanfft bench --json prints them"
            )
        try:
            found.append(_Row(with_ranks(problem, int(ranks)), int(ranks), int(row.get("ranks_per_node") or 0), value))
        except ValueError:
            raise CorruptData(f"{name}: row {index} has {ranks!r} for ranks; it must be a whole number") from None
        if not value > 0:
            raise CorruptData(f"{name}: row {index} takes {value} s; it must be more than 0")
    return found


@dataclass(frozen=True)
class _Sheet:
    lines: list[str]
    unknown: list[str]

    def text(self, logs: _Floats, source: str = "") -> str:
        values = {name: f"{math.exp(log):.6g}" for name, log in zip(self.unknown, logs, strict=True)}
        lines = []
        for line in self.lines:
            words = line.split("#")[0].split()
            if len(words) == 2 and words[1] == "?":
                line = f"{words[0]} {values.pop(words[0])}{source}"
            lines.append(line)
        lines += [f"{name} {value}{source}" for name, value in values.items()]
        return "\n".join(lines) + "\n"


def _sheet_of(path: str | os.PathLike[str]) -> _Sheet:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise IOFailure(f"can't read {os.fspath(path)}: {error}") from None
    if not lines or lines[0] != _HEADER:
        raise CorruptData(f"{os.fspath(path)} is no machine file; it must begin with '{_HEADER}'")
    told = {words[0]: words[1:] for line in lines if (words := line.split("#")[0].split())}
    unknown = [name for name, value in told.items() if value == ["?"]]
    for name in unknown:
        if name not in _START:
            raise InvalidArgument(
                f"{name} is '?', and rows can't tell it; give its value. They can tell {', '.join(_START)}"
            )
    unknown += [name for name in _NEEDED if name not in told]
    if not unknown:
        raise InvalidArgument(
            f"{os.fspath(path)} has every figure; write '?' for those that rows shall tell: {', '.join(_START)}"
        )
    return _Sheet(lines, unknown)


def _residuals(sheet: _Sheet, rows: Sequence[_Row], logs: _Floats) -> _Floats:
    text = sheet.text(logs)
    predicted = [core.foresee(row.problem, text, row.per_node)[0]["seconds"] for row in rows]
    found: _Floats = np.log(np.array(predicted) / np.array([row.seconds for row in rows]))
    return found


def _jacobian(sheet: _Sheet, rows: Sequence[_Row], logs: _Floats) -> _Floats:
    columns = []
    for i in range(len(logs)):
        shift = np.zeros_like(logs)
        shift[i] = _STEP
        columns.append((_residuals(sheet, rows, logs + shift) - _residuals(sheet, rows, logs - shift)) / (2 * _STEP))
    return np.stack(columns, 1)


def _starts(sheet: _Sheet, rows: Sequence[_Row]) -> list[_Floats]:
    """The best few of many points, spread by chance (the same each time) around where the search begins."""
    logs: _Floats = np.log([_START[name][0] for name in sheet.unknown])
    draw = np.random.default_rng(1)
    points = [logs, *(logs + draw.uniform(-_REACH, _REACH, len(logs)) for _ in range(_TRIED))]
    return sorted(points, key=lambda point: float(np.linalg.norm(_residuals(sheet, rows, point))))[:_FOLLOWED]


def _descend(sheet: _Sheet, rows: Sequence[_Row], logs: _Floats) -> tuple[_Floats, _Floats]:
    """From a point to the nearest minimum: the logarithms of the figures, and the residuals there."""
    residuals, damping = _residuals(sheet, rows, logs), 1e-2
    for _ in range(_ROUNDS):
        jacobian = _jacobian(sheet, rows, logs)
        normal, slope = jacobian.T @ jacobian, jacobian.T @ residuals
        step = np.clip(-np.linalg.solve(normal + damping * np.eye(len(logs)), slope), -1, 1)
        tried = _residuals(sheet, rows, logs + step)
        if np.linalg.norm(tried) < np.linalg.norm(residuals):
            logs, residuals, damping = logs + step, tried, damping / 5
            if np.max(np.abs(step)) < 1e-4:
                break
        else:
            damping *= 5
            if damping > 1e4:
                break
    return logs, residuals


def _search(sheet: _Sheet, rows: Sequence[_Row]) -> tuple[_Floats, _Floats]:
    """The best minimum that is found; the first that leaves next to nothing."""
    best: tuple[_Floats, _Floats] | None = None
    for start in _starts(sheet, rows):
        found = _descend(sheet, rows, start)
        if best is None or np.linalg.norm(found[1]) < np.linalg.norm(best[1]):
            best = found
        if np.sqrt(np.mean(best[1] ** 2)) < _NEXT_TO_NOTHING:
            break
    assert best is not None
    return best


def fit_machine(
    rows: str | os.PathLike[str], sheet: str | os.PathLike[str], *, time_name: str | None = None
) -> MachineFit:
    """Fits the figures that a data sheet lacks to timings.

    Parameters
    ----------
    rows
        A CSV or JSON file with a problem, ranks, seconds, and where they differ ranks_per_node, a row, such as
        `spanfft bench --json` prints.
    sheet
        A machine file with what is known. core_fft_gflops, node_memory_gb_per_second, link_gb_per_second and latency_us
        may be left out; "?" as a value asks for others.
    time_name
        The column with the times, in seconds; default: seconds, median_seconds or time.

    Raises
    ------
    InvalidArgument
        The sheet lacks what no row can tell, or no row depends on a figure; the message names both.
    CorruptData
        A row without a problem, ranks or a time; or a mistake in the sheet.
    """
    known = _sheet_of(sheet)
    measured = _rows_of(rows, time_name)
    if len(measured) < len(known.unknown):
        raise InvalidArgument(
            f"{len(measured)} rows can't tell {len(known.unknown)} figures ({', '.join(known.unknown)}); measure more"
        )
    logs, residuals = _search(known, measured)
    sensitivity = np.sqrt(np.mean(_jacobian(known, measured, logs) ** 2, axis=0))
    untold = [name for name, each in zip(known.unknown, sensitivity, strict=True) if each < _LEAST_SENSITIVITY]
    if untold:
        needed = "; ".join(f"{name} needs {_START[name][1]}" for name in untold)
        raise InvalidArgument(
            f"no row depends on {', '.join(untold)}: give it a value in the sheet, or measure: {needed}"
        )
    rms = float(np.sqrt(np.mean(residuals**2)))
    source = f"  # spanfft fit of {Path(rows).name}: {len(measured)} rows, {100 * rms:.1f} % root mean square"
    figures: dict[str, Any] = {
        name: float(f"{math.exp(log):.6g}") for name, log in zip(known.unknown, logs, strict=True)
    }
    return MachineFit(known.text(logs, source), figures, rms, float(np.max(np.abs(residuals))), len(measured))
