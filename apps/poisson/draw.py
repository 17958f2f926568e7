"""Draws docs/images/app-poisson.svg: errors against points from committed rows, and the field of two charges."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from matplotlib import colormaps

from apps.drawing import BLUE, GREEN, GREY, PURPLE, RED, SAND, panels, save
from apps.poisson.solver import SIDES, Poisson

_COLOURS = dict(zip(SIDES, (BLUE, GREEN, RED, SAND, PURPLE), strict=True))
_POINTS = 64  # of the field


def draw(rows: Path, picture: Path) -> None:
    """Left: error against points, the same sides in both axes. Right: lines of equal potential."""
    table = json.loads(rows.read_text())
    figure, (left, right) = panels(2, height=4)
    for name, colour in _COLOURS.items():
        mine = [(row["points"], row["error"]) for row in table if row["sides"] == [name, name]]
        left.semilogy(*zip(*mine, strict=True), "o-", ms=3, lw=1, color=colour, label=name)
    eps = np.finfo(np.float64).eps
    left.axhline(eps, color=GREY, lw=0.8, ls=":")
    left.annotate("rounding unit", (64, eps), xytext=(0, -11), textcoords="offset points", color=GREY, ha="right")
    left.set_ylim(eps / 10, 2)
    left.set(title="Error of the solution, two axes", xlabel="points along each axis", ylabel="relative L2 error")
    left.legend()

    box = Poisson((_POINTS, _POINTS), ("dirichlet", "neumann-dirichlet"))
    x, y = box.points(0), box.points(1)
    width = 0.05
    charges = [((0.3, 0.35), 1), ((0.7, 0.35), -1)]
    f = sum(sign * np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2)) for (a, b), sign in charges)
    u = box.solve(np.ascontiguousarray(-f))
    levels = np.abs(u).max() * 2.0 ** np.arange(-7, 0)
    levels = np.concatenate([-levels[::-1], levels])
    lines = np.linspace(0, 1, len(levels))
    right.contour(x.ravel(), y.ravel(), u.T, levels, colors=colormaps["coolwarm"](lines), linewidths=1)
    right.set_aspect("equal")
    right.set(title="Two charges: no field across the lower side", xlabel="x: u = 0 at both ends")
    right.set_ylabel("y: normal derivative 0 below, u = 0 above")
    save(figure, picture)
