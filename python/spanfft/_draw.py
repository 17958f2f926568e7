"""Pictures of traces and of model fits, as PNG, SVG or PDF by the file's suffix. Needs matplotlib: spanfft[plots].

The profile is P3's (figures 3 and 4): how many ranks are in communication, against time. The bars are P1's (figure 7):
what each rank spent its time on. The shares are P1's figure 8. The fit is P3's figures 5 to 7: a curve over the points
that it was fitted to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import InvalidArgument, IOFailure, Unsupported
from ._trace import SHARES, TraceFile
from ._whole_files import replaced

if TYPE_CHECKING:
    from ._fit import ModelFit

__all__ = ["draw_bars", "draw_fit", "draw_profile", "draw_shares", "shares_figure"]

_SUFFIXES = (".png", ".svg", ".pdf")
# Okabe and Ito's colours, which the colour-blind tell apart.
_COLOURS = {"compute": "#009e73", "communication": "#0072b2", "wait": "#e69f00", "disk": "#cc79a7", "other": "#bbbbbb"}
_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "µs"))


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Unsupported(
            f"pictures need matplotlib, which can't be imported ({error}); pip install matplotlib"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    target = os.fspath(path)
    if not target.endswith(_SUFFIXES):
        raise InvalidArgument(f"{target} must end in {', '.join(_SUFFIXES)}, which says what it shall be")
    try:
        with replaced(target) as file:
            figure.savefig(file, format=target.rpartition(".")[2], dpi=150)
    except OSError as error:
        raise IOFailure(f"{target} can't be written: {error.strerror}") from error


def _unit(seconds: float) -> tuple[float, str]:
    """A factor and a unit in which this many seconds are a readable number."""
    return next((unit for unit in _UNITS if seconds * unit[0] >= 1), _UNITS[-1])


def _title(trace: TraceFile) -> str:
    more = len(trace.problems) - 1
    return trace.problems[0] + (f" and {more} more" if more > 0 else "") if trace.problems else trace.path


def draw_profile(trace: TraceFile, path: str | os.PathLike[str]) -> None:
    """P3's profile: ranks in communication against time; those that only wait for others above the others."""
    steps = trace.profile()
    first_ns = min(events[0].start_ns for events in trace.ranks.values())
    last_ns = max(event.end_ns for events in trace.ranks.values() for event in events)
    factor, unit = _unit((last_ns - first_ns) / 1e9)
    steps = [step for step in steps if step[0] >= first_ns]
    times = [first_ns, *(time_ns for time_ns, _, _ in steps), last_ns]
    levels = [(0, 0), *((communicating, waiting) for _, communicating, waiting in steps), (0, 0)]
    x = [(time_ns - first_ns) / 1e9 * factor for time_ns in times]
    communicating = [level[0] for level in levels]
    both = [sum(level) for level in levels]
    figure = _figure(8, 3.5)
    axes = figure.add_subplot()
    axes.fill_between(x, communicating, step="post", color=_COLOURS["communication"], linewidth=0,
                      label="packing, posting, unpacking")  # fmt: skip
    axes.fill_between(x, communicating, both, step="post", color=_COLOURS["wait"], linewidth=0,
                      label="waiting for messages")  # fmt: skip
    axes.set(xlabel=f"time ({unit})", ylabel="ranks in communication", xlim=(x[0], x[-1]),
             ylim=(0, len(trace.ranks) * 1.05))  # fmt: skip
    axes.yaxis.get_major_locator().set_params(integer=True)
    figure.suptitle(_title(trace), fontsize="small")
    figure.legend(fontsize="small", loc="outside lower center", ncols=2, frameon=False)
    _save(figure, path)


def draw_bars(trace: TraceFile, path: str | os.PathLike[str]) -> None:
    """P1's stacked bars: for each rank the time of its runs, by what it was doing."""
    shares = trace.shares()
    longest = max(sum(spent.values()) for spent in shares.values()) / 1e9
    factor, unit = _unit(longest)
    figure = _figure(max(4.5, 2.5 + 0.5 * len(shares)), 4)
    axes = figure.add_subplot()
    ranks = list(shares)
    floor = [0.0] * len(ranks)
    for name in SHARES:
        heights = [shares[rank][name] / 1e9 * factor for rank in ranks]
        if any(heights):
            axes.bar(range(len(ranks)), heights, bottom=floor, color=_COLOURS[name], label=name, width=0.8)
            floor = [low + height for low, height in zip(floor, heights, strict=True)]
    axes.set(xlabel="rank", ylabel=f"time ({unit})")
    axes.set_xticks(range(len(ranks)), [str(rank) for rank in ranks])
    figure.suptitle(_title(trace), fontsize="small", wrap=True)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    _save(figure, path)


def draw_fit(
    processors: Sequence[float], times: Sequence[float], fits: Sequence[ModelFit], path: str | os.PathLike[str]
) -> None:
    """The measured points with the fitted curves over them."""
    figure = _figure(6, 4)
    axes = figure.add_subplot()
    low, high = min(processors), max(processors)
    # Evenly in the logarithm, as numbers of processors mostly are.
    curve = [low * (high / low) ** (i / 400) for i in range(401)]
    for fit, style in zip(fits, ("-", "--"), strict=False):
        axes.plot(curve, fit(curve), style, color="black", linewidth=1, label=fit.formula())
    axes.plot(processors, times, "o", color=_COLOURS["communication"], label="measured", zorder=3)
    axes.set(xlabel="processors (np)", ylabel="time")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    _save(figure, path)


def shares_figure(shares: Mapping[str, Mapping[str, int]], instances: int) -> Any:
    """P1's figure 8: for each count a group of bars, which say in how many instances each method is among the best."""
    figure = _figure(8, 4)
    axes = figure.add_subplot()
    methods = list(next(iter(shares.values())))
    colours = list(_COLOURS.values())
    width = 0.8 / len(methods)
    for at, method in enumerate(methods):
        heights = [100 * counts[method] / instances for counts in shares.values()]
        places = [group + (at - (len(methods) - 1) / 2) * width for group in range(len(shares))]
        bars = axes.bar(places, heights, width=0.95 * width, color=colours[at % len(colours)], label=method)
        axes.bar_label(bars, [f"{height:.1f}" for height in heights], fontsize="x-small")
    axes.set(ylabel=f"percent of {instances} instances", ylim=(0, 108))
    axes.set_xticks(range(len(shares)), list(shares))
    figure.legend(fontsize="small", loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_shares(shares: Mapping[str, Mapping[str, int]], instances: int, path: str | os.PathLike[str]) -> None:
    """As shares_figure, into a file."""
    _save(shares_figure(shares, instances), path)
