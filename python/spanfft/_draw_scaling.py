"""Pictures of predicted scaling: time against ranks, both in the logarithm, with the bounds and the regimes.

A regime is a range of ranks in which the same thing limits the time; its name stands above it. Needs matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._draw import _COLOURS, _figure, _save

if TYPE_CHECKING:
    from ._predict import Forecast

__all__ = ["draw_scaling", "regimes", "scaling_axes"]

_BOUND_COLOURS = dict(zip(("bisection", "injection", "memory", "flops"), list(_COLOURS.values()), strict=False))


def regimes(forecasts: Sequence[Forecast]) -> list[tuple[str, int, int]]:
    """What limits the time, and from how many ranks to how many."""
    found: list[tuple[str, int, int]] = []
    for each in forecasts:
        if found and found[-1][0] == each.limit:
            found[-1] = (each.limit, found[-1][1], each.ranks)
        else:
            found.append((each.limit, each.ranks, each.ranks))
    return found


def scaling_axes(axes: Any, forecasts: Sequence[Forecast]) -> None:
    """The curves, on axes of matplotlib."""
    ranks = [each.ranks for each in forecasts]
    for name, colour in _BOUND_COLOURS.items():
        values = [each.bounds[name] for each in forecasts]
        if any(value > 0 for value in values):
            seen = [(r, v) for r, v in zip(ranks, values, strict=True) if v > 0]
            axes.plot(*zip(*seen, strict=True), "--", color=colour, linewidth=1, label=f"at least, by {name}")
    axes.plot(ranks, [each.seconds for each in forecasts], "-o", color="black", markersize=3, label="predicted")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="ranks", ylabel="seconds")
    top = axes.get_ylim()[1]
    for limit, first, last in regimes(forecasts):
        axes.axvline(last * 2**0.5, color="#dddddd", linewidth=0.8, zorder=0)
        axes.text((first * last) ** 0.5, top, limit, ha="center", va="bottom", fontsize="x-small", rotation=20)


def draw_scaling(forecasts: Sequence[Forecast], title: str, path: str | os.PathLike[str]) -> None:
    """Time against ranks, as a picture."""
    figure = _figure(7, 4.5)
    axes = figure.add_subplot()
    scaling_axes(axes, forecasts)
    axes.legend(fontsize="small")
    figure.suptitle(title, fontsize="small", wrap=True)
    _save(figure, path)
