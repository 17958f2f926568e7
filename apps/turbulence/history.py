"""A run of the Taylor-Green vortex as a value that JSON can hold, its peak, and the published history beside it.

The peak is that of the parabola through the highest of the recorded points and its neighbours.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from apps.turbulence.flow import Budget, Flow
from apps.turbulence.transforms import Real

REFERENCE = Path(__file__).with_name("reference.json")
History = dict[str, Any]


def reference() -> History:
    """The published run of 512^3 points at Reynolds number 1600: rows of time, energy, dissipation, enstrophy."""
    found: History = json.loads(REFERENCE.read_text())
    return found


def peak(times: list[float], values: list[float]) -> tuple[float, float]:
    """Time and height of the maximum, between the points."""
    i = int(np.argmax(values))
    if not 0 < i < len(values) - 1:
        return times[i], values[i]
    middle = times[i]
    fit = np.polyfit(np.array(times[i - 1 : i + 2]) - middle, values[i - 1 : i + 2], 2)
    return middle - fit[1] / (2 * fit[0]), float(fit[2] - fit[1] ** 2 / (4 * fit[0]))


def vorticity_plane(flow: Flow) -> Real:
    """The size of the vorticity on the plane x = 0, whole, on all ranks."""
    x, y, z = flow.transforms.real_slices
    whole = np.zeros((flow.size, flow.size))
    w = flow.vorticity()
    if x.start == 0 and x.stop > 0:
        whole[y, z] = np.sqrt((w[:, 0] ** 2).sum(axis=0))
    return whole if flow.comm is None else flow.comm.allreduce(whole)


def packed(plane: Real) -> History:
    """An array of numbers that are not negative as bytes, to 1/255 of the largest."""
    most = float(plane.max())
    levels = np.round(plane * (255 / most if most else 0)).astype(np.uint8)
    return {"shape": list(plane.shape), "largest": most, "bytes": base64.b64encode(levels.tobytes()).decode()}


def unpacked(value: History) -> Real:
    """The array again."""
    levels = np.frombuffer(base64.b64decode(value["bytes"]), np.uint8).reshape(value["shape"])
    result: Real = levels * (value["largest"] / 255)
    return result


def record(
    flow: Flow,
    reynolds: float,
    until: float,
    dt: float,
    every: int,
    tell: Callable[[float, Budget], None],
    coarse: tuple[Flow, float] | None = None,
) -> History:
    """Runs the Taylor-Green vortex. Collective.

    With `coarse`, that flow goes first, to the time beside it, and `flow` goes on from there. Spectra are taken at each
    whole unit of time, and the plane of vorticity when the dissipation has been highest.
    """
    rows: list[list[float]] = []
    spectra: dict[str, list[float]] = {}
    plane, highest = np.zeros((1, 1)), 0.0
    start = time.perf_counter()
    (coarse[0] if coarse else flow).taylor_green()
    for one, end in [coarse, (flow, until)] if coarse else [(flow, until)]:
        if coarse and rows:
            flow.continue_from(coarse[0])
        for now, budget in one.run(end, dt, every):
            if rows and rows[-1][0] == round(now, 9):
                continue  # the coarse flow's last row
            rows.append([round(now, 9), budget.energy, budget.enstrophy])
            if budget.enstrophy > highest:
                highest, plane = budget.enstrophy, vorticity_plane(one)
            if abs(now - round(now)) < dt / 2:
                spectra[str(round(now))] = [float(f"{each:.6g}") for each in one.spectrum()]
            tell(now, budget)
    history: History = {
        "size": flow.size,
        "cutoff": flow.cutoff,
        "coarse": {"size": coarse[0].size, "until": coarse[1]} if coarse else None,
        "reynolds": reynolds,
        "step": dt,
        "ranks": 1 if flow.comm is None else flow.comm.size,
        "library": flow.transforms.name,
        "seconds": round(time.perf_counter() - start, 1),
        "columns": ["time", "energy", "enstrophy"],
        "rows": rows,
        "spectra": spectra,
        "plane": packed(plane),
    }
    return {**history, "imbalance": imbalance(history)}


def dissipation(history: History) -> tuple[list[float], list[float]]:
    """Times, and 2 nu Z."""
    return [row[0] for row in history["rows"]], [2 / history["reynolds"] * row[2] for row in history["rows"]]


def imbalance(history: History) -> float:
    """The largest difference between the energy that was lost and the integral of 2 nu Z, relative to the energy at
    first. The integral is by the trapezoidal rule with its end correction, so it is off by the fourth power of the
    rows' distance."""
    times, lost = (np.array(each) for each in dissipation(history))
    energy = np.array([row[1] for row in history["rows"]])
    if len(times) < 3:
        return 0.0
    slope = np.gradient(lost, times, edge_order=2)
    width = np.diff(times)
    pieces = width * (lost[1:] + lost[:-1]) / 2 + width**2 * (slope[:-1] - slope[1:]) / 12
    integral = np.concatenate([[0], np.cumsum(pieces)])
    return float(np.abs(energy[0] - energy - integral).max() / energy[0])


def compared(history: History) -> list[str]:
    """The peak beside the published one, in lines; only where the Reynolds number is the same."""
    when, height = peak(*dissipation(history))
    lines = [f"largest dissipation {height:.6f} at time {when:.3f}"]
    if history["reynolds"] == 1600:
        their_when, _, their_height, _ = reference()["peak"]
        lines.append(
            f"published, 512^3:   {their_height:.6f} at time {their_when:.3f}; "
            f"ours is off by {height / their_height - 1:+.2%} and {when / their_when - 1:+.2%}"
        )
    off = history["imbalance"]
    lines.append(f"energy lost differs from the integral of the dissipation by {off:.1e} of the energy")
    return lines
