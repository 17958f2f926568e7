"""Models of time against number of processors, fitted to measured rows: P3, section 5.

Method: variable projection. For a given a2 the model a0 + a1 / (a2 + np) is linear in a0 and a1, whose best values come
from least squares; what is left is a search over one number. It is searched on a logarithmic grid of a2 + min(np),
which must be positive for the model to be finite, then between the neighbours of the best grid point by golden
section. By default residuals are relative, (model - time) / time, because timings scatter in proportion to themselves.
Condition: of the Jacobian at the solution with its columns scaled to length one; the larger, the less the rows tell
the parameters apart (each can then be far off, though the curve is not). Standard errors come from the same matrix.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import CorruptData, InvalidArgument, IOFailure

__all__ = ["FORMS", "ModelFit", "column_of", "fit_model", "read_rows", "read_table"]

FORMS = ("a0+a1/(a2+np)", "a0+a1/np")
_NP_NAMES = ("np", "ranks", "processors")
_TIME_NAMES = ("time", "seconds", "median_seconds", "ms", "milliseconds")
_GRID_POINTS = 400
_GOLDEN = (math.sqrt(5) - 1) / 2
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ModelFit:
    """What was found. Parameters are in the unit of the times that were given."""

    form: str
    """One of `FORMS`."""
    a0: float
    a1: float
    a2: float
    """0 in the form that has none."""
    standard_errors: tuple[float, ...]
    """Of a0, a1 (and a2): from the scatter of the residuals; nan with no more rows than parameters."""
    relative: bool
    """Whether residuals were divided by the times."""
    rms_residual: float
    """Root mean square of what was minimised: a fraction if relative, else in the unit of the times."""
    worst_residual: float
    """The largest of them, absolute."""
    condition: float
    """Of the scaled Jacobian: scatter comes back in the parameters up to about this many times larger."""
    rows: int

    def __call__(self, processors: npt.ArrayLike) -> _Floats:
        """The model's time for these numbers of processors."""
        return np.asarray(self.a0 + self.a1 / (self.a2 + np.asarray(processors, np.float64)))

    def formula(self) -> str:
        """With the numbers in: "-1.28 + 2.58e+04 / np"."""
        below = "np" if self.form == FORMS[1] else f"({self.a2:.4g} + np)"
        return f"{self.a0:.4g} + {self.a1:.4g} / {below}"

    def as_dict(self) -> dict[str, Any]:
        """For json, which knows no nan: null."""
        found = asdict(self)
        found["standard_errors"] = [None if math.isnan(e) else e for e in self.standard_errors]
        return found


def fit_model(
    processors: npt.ArrayLike, times: npt.ArrayLike, form: str = FORMS[0], *, relative: bool = True
) -> ModelFit:
    """Fits a model of P3 to times on numbers of processors.

    Parameters
    ----------
    processors, times
        One of each a row; several rows for one number of processors are welcome.
    form
        One of `FORMS`.
    relative
        Minimise (model - time) / time, for which times must be positive; False: model - time.

    Raises
    ------
    InvalidArgument
        Too few different numbers of processors, or values that can't be used.
    """
    np_values, t = _checked(processors, times, form, relative)
    weights = 1 / t if relative else np.ones_like(t)
    a2 = 0.0 if form == FORMS[1] else _search(np_values, t, weights)
    a0, a1 = _linear(np_values, t, weights, a2)
    residuals = weights * (a0 + a1 / (a2 + np_values) - t)
    columns = [np.ones_like(t), 1 / (a2 + np_values)]
    if form == FORMS[0]:
        columns.append(-a1 / (a2 + np_values) ** 2)
    condition, errors = _spread(np.stack(columns, 1) * weights[:, None], residuals)
    return ModelFit(
        form,
        float(a0),
        float(a1),
        float(a2),
        errors,
        relative,
        float(np.sqrt(np.mean(residuals**2))),
        float(np.max(np.abs(residuals))),
        condition,
        len(t),
    )


def _checked(processors: npt.ArrayLike, times: npt.ArrayLike, form: str, relative: bool) -> tuple[_Floats, _Floats]:
    if form not in FORMS:
        raise InvalidArgument(f"form is {form!r}; it can be {' or '.join(repr(f) for f in FORMS)}")
    np_values, t = np.asarray(processors, np.float64), np.asarray(times, np.float64)
    if np_values.ndim != 1 or np_values.shape != t.shape:
        raise InvalidArgument(
            f"processors and times have shapes {np_values.shape} and {t.shape}; give one of each a row"
        )
    if not (np.isfinite(np_values).all() and np.isfinite(t).all()) or (np_values <= 0).any():
        raise InvalidArgument("numbers of processors must be positive and times finite")
    if relative and (t <= 0).any():
        raise InvalidArgument("relative residuals need times above 0; fit absolute ones")
    needed = 3 if form == FORMS[0] else 2
    different = len(np.unique(np_values))
    if different < needed:
        raise InvalidArgument(f"{form} has {needed} parameters, but the rows have {different} numbers of processors")
    return np_values, t


def _linear(np_values: _Floats, t: _Floats, weights: _Floats, a2: float) -> tuple[float, float]:
    """The best a0 and a1 for this a2."""
    # The second column is scaled to the size of the first, or a large a2 would make it vanish beside it.
    scale = a2 + np_values.min()
    matrix = np.stack([np.ones_like(t), scale / (a2 + np_values)], 1) * weights[:, None]
    solution = np.linalg.lstsq(matrix, t * weights, rcond=None)[0]
    return float(solution[0]), float(solution[1] * scale)


def _search(np_values: _Floats, t: _Floats, weights: _Floats) -> float:
    """The a2 for which the best a0 and a1 leave least."""
    least = float(np_values.min())

    def left(log_shift: float) -> float:
        a2 = math.exp(log_shift) - least
        a0, a1 = _linear(np_values, t, weights, a2)
        return float(np.linalg.norm(weights * (a0 + a1 / (a2 + np_values) - t)))

    # From a pole just below the least np to a curve that is straight over all of them.
    grid = np.linspace(math.log(1e-4 * least), math.log(1e4 * float(np_values.max())), _GRID_POINTS)
    best = int(np.argmin([left(x) for x in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _GRID_POINTS - 1)])
    return math.exp(_golden(left, low, high)) - least


def _golden(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one minimum between low and high has it."""
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    values = [function(x) for x in inner]
    for _ in range(100):
        if values[0] <= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - _GOLDEN * (high - low)
            values[0] = function(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + _GOLDEN * (high - low)
            values[1] = function(inner[1])
    return (low + high) / 2


def _spread(jacobian: _Floats, residuals: _Floats) -> tuple[float, tuple[float, ...]]:
    """Condition of the scaled Jacobian, and standard errors of the parameters."""
    lengths = np.linalg.norm(jacobian, axis=0)
    lengths[lengths == 0] = 1
    _, singular, right = np.linalg.svd(jacobian / lengths, full_matrices=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf
    freedom = len(residuals) - jacobian.shape[1]
    if freedom < 1 or singular[-1] <= 0:
        return condition, (math.nan,) * jacobian.shape[1]
    variance = float(residuals @ residuals) / freedom
    diagonal = np.sum((right.T / singular) ** 2, axis=1)
    return condition, tuple(float(e) for e in np.sqrt(variance * diagonal) / lengths)


# --- rows ------------------------------------------------------------------------------------------------------------


def read_table(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The rows of a CSV file with a header, or of a JSON file: a list of objects, or an object whose "rows" are one."""
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8", newline="") as file:
            rows = (
                _json_rows(file.read()) if name.endswith(".json") else list(csv.DictReader(file, skipinitialspace=True))
            )
    except OSError as error:
        raise IOFailure(f"{name} can't be read: {error.strerror}") from error
    except (ValueError, KeyError) as error:
        raise CorruptData(f"{name} holds no rows: {error}") from error
    if not rows:
        raise CorruptData(f"{name} holds no rows; give a header line and one line each, or a list of objects")
    return rows


def column_of(name: str, rows: Sequence[dict[str, Any]], asked: str | None, usual: Sequence[str]) -> list[float]:
    """The numbers of the column that is asked for, or else of the first with a usual name."""
    column = asked if asked is not None else next((c for c in usual if c in rows[0]), None)
    if column is None or column not in rows[0]:
        raise InvalidArgument(f"{name} has no column {asked or ' or '.join(usual)}; it has {', '.join(rows[0])}")
    return _numbers(name, rows, column)


def read_rows(
    path: str | os.PathLike[str], np_name: str | None = None, time_name: str | None = None
) -> tuple[list[float], list[float]]:
    """Numbers of processors and times of a table, as read_table takes it.

    Columns are found by their usual names (np, ranks, processors; time, seconds, median_seconds, ms, milliseconds)
    unless they are named.
    """
    name, rows = os.fspath(path), read_table(path)
    return column_of(name, rows, np_name, _NP_NAMES), column_of(name, rows, time_name, _TIME_NAMES)


def _json_rows(text: str) -> list[dict[str, Any]]:
    found = json.loads(text)
    rows = found["rows"] if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("it must be a list of objects")
    return rows


def _numbers(name: str, rows: Sequence[dict[str, Any]], column: str) -> list[float]:
    numbers = []
    for index, row in enumerate(rows, 1):
        try:
            numbers.append(float(row[column]))
        except (KeyError, TypeError, ValueError):
            raise CorruptData(
                f"{name}: row {index} has {row.get(column)!r} for {column}; it must be a number"
            ) from None
    return numbers
