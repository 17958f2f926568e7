"""predict(): what a transform would take on a machine that is not here, from its data sheet.

Method: the library prices the routes of its solvers in closed form (`core.foresee`); here it is asked for several
numbers of ranks, of one problem (strong scaling) or of one that grows with them (weak scaling). Machines are text files
with a data sheet; some are shipped in the folder `machines`, each figure with its source.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._arguments import did_you_mean
from ._errors import Error, InvalidArgument, IOFailure
from ._native import core

__all__ = ["Forecast", "Useful", "largest_useful", "machine_text", "machines", "predict", "ranks_up_to", "weak_problem",
           "with_ranks"]  # fmt: skip

_FOLDER = Path(__file__).resolve().parent / "machines"
_GAIN = 0.9  # more ranks are useful as long as twice as many take at most this share of the time
_RANKS = re.compile(r"ranks=\S+")


@dataclass(frozen=True)
class Forecast:
    """The fastest plan on so many ranks. Times are seconds of one transform, by its slowest rank."""

    problem: str
    ranks: int
    seconds: float
    grid: str
    exchange: str
    """A strategy, or one for each exchange with "+" between them; "" on one rank."""
    limit: str
    """What most of the time is spent on."""
    parts: dict[str, float]
    """compute, memory, wire, disk and barriers: they add up to `seconds`."""
    bounds: dict[str, float]
    """bisection, injection, memory and flops: what each alone takes at its peak."""
    counts: dict[str, Any]
    """flops, memory_bytes, messages, sent_bytes and calls of rank 0, which has most."""
    exchanges: list[dict[str, Any]]
    """For each exchange its strategy, limit, group_ranks, messages, sent_bytes, and seconds: wire, copies, barriers,
    hidden."""
    solver: str
    node_memory_bytes: float
    fitted: bool
    """A fit that was published with the machine stands in for the model."""
    gflops: float
    """By 5 n log2 n operations for n complex points, half as many for real ones."""
    runners_up: list[dict[str, Any]] = field(default_factory=list)
    """seconds, grid, exchange and limit of plans that lost, the best first."""


@dataclass(frozen=True)
class Useful:
    """Up to how many ranks more of them help: as long as doubling them takes a tenth off the time."""

    ranks: int
    seconds: float
    next_ranks: int
    """The next number that was tried; 0: the machine has no more, or the array can't be divided further."""
    next_seconds: float | None
    why: str


def machines() -> list[str]:
    """Names of the machines that are shipped."""
    return sorted(path.stem for path in _FOLDER.glob("*.txt"))


def machine_text(machine: str | os.PathLike[str]) -> str:
    """The text of a machine that is shipped, by its name, or of a file."""
    name = os.fspath(machine)
    if name in machines():
        path = _FOLDER / f"{name}.txt"
    elif os.sep in name or os.path.exists(name):
        path = Path(name)
    else:
        known = machines()
        raise InvalidArgument(
            f"machine {name!r} is neither a file nor one of {', '.join(known)}{did_you_mean(name, known)}"
        )
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise IOFailure(f"can't read {name}: {error}") from None


def with_ranks(problem: str, ranks: int) -> str:
    """The problem string with this number of ranks."""
    return f"{' '.join(_RANKS.sub('', problem).split())} ranks={ranks}"


def _operations(problem: str) -> float:
    """5 n log2 n of the axes that are transformed, half as many if real."""
    words = core.canonical(problem).split()
    shape = [int(n) for n in words[1].split("x")]
    keys = dict(word.split("=", 1) for word in words[2:] if "=" in word)
    axes = [int(a) for a in keys["axes"].split(",")] if "axes" in keys else range(len(shape))
    points = math.prod(shape) * int(keys.get("batch", "1"))
    complex_share = 1.0 if words[0].startswith("c2c") else 0.5
    return 5 * complex_share * points * sum(math.log2(max(shape[axis], 1)) for axis in axes)


def _forecast(problem: str, ranks: int, text: str, ranks_per_node: int) -> Forecast:
    asked = with_ranks(problem, ranks)
    best, *others = core.foresee(asked, text, ranks_per_node)
    runners_up = [{key: other[key] for key in ("seconds", "grid", "exchange", "limit")} for other in others]
    gflops = _operations(asked) / best["seconds"] / 1e9 if best["seconds"] > 0 else math.inf
    return Forecast(problem=asked, ranks=ranks, gflops=gflops, runners_up=runners_up, **best)


def predict(
    problem: str,
    machine: str | os.PathLike[str],
    ranks: int | Sequence[int],
    *,
    ranks_per_node: int | None = None,
) -> list[Forecast]:
    """What a transform would take on a machine that is not here: of an array in memory or, with memory=, of a file.

    Parameters
    ----------
    problem
        A problem string, such as "c2c 4096x4096x4096". grid= and exchange= are kept to, ranks= is replaced.
    machine
        The name of a machine that is shipped (`machines()`), or the path of a file with a data sheet.
    ranks
        One number of MPI ranks or several.
    ranks_per_node
        Default: one for each core.

    Returns
    -------
    list of Forecast
        One for each number of ranks, in their order.

    Raises
    ------
    InvalidArgument
        No such machine; more ranks than it has room for; a problem that can't be divided so.
    CorruptData
        The machine's file has a mistake; the message has the line.
    """
    text = machine_text(machine)
    counts = [ranks] if isinstance(ranks, int) else list(ranks)
    if not counts:
        raise InvalidArgument("no number of ranks is given; give at least one")
    if ranks_per_node is not None and ranks_per_node < 1:
        raise InvalidArgument(f"ranks_per_node is {ranks_per_node}; it must be at least 1")
    return [_forecast(problem, _checked(count), text, ranks_per_node or 0) for count in counts]


def _checked(ranks: int) -> int:
    if not 1 <= ranks < 1 << 31:
        raise InvalidArgument(f"ranks are {ranks}; give a number from 1 to {(1 << 31) - 1}")
    return ranks


def ranks_up_to(machine: str | os.PathLike[str], ranks_per_node: int | None = None) -> list[int]:
    """1, 2, 4, ... up to all ranks of the machine, and all of them."""
    info = core.machine_read(machine_text(machine))
    most = int(info["nodes"]) * int(ranks_per_node or info["cores_per_node"])
    powers = [1 << i for i in range(most.bit_length()) if 1 << i <= most]
    return powers if powers[-1] == most else [*powers, most]


def strong(problem: str, machine: str | os.PathLike[str], ranks_per_node: int | None = None) -> list[Forecast]:
    """One problem on 1, 2, 4, ... ranks, as far as it can be divided and the nodes' memories hold it."""
    found = []
    for count in ranks_up_to(machine, ranks_per_node):
        try:
            found += predict(problem, machine, count, ranks_per_node=ranks_per_node)
        except Error:
            continue
    if not found:
        predict(problem, machine, 1, ranks_per_node=ranks_per_node)  # its error says why
    return found


def weak_problem(problem: str, ranks: int) -> str:
    """The problem that has as many points a rank on `ranks` ranks as the given one on one: axes are doubled in turn."""
    words = problem.split()
    shape = [int(n) for n in words[1].split("x")]
    for _ in range(max(ranks, 1).bit_length() - 1):
        shape[shape.index(min(shape))] *= 2
    return " ".join([words[0], "x".join(map(str, shape)), *words[2:]])


def weak(problem: str, machine: str | os.PathLike[str], ranks_per_node: int | None = None) -> list[Forecast]:
    """The problem on one rank, one of twice the points on two, and so on, over powers of two."""
    found = []
    for count in ranks_up_to(machine, ranks_per_node):
        if count & (count - 1):
            continue
        try:
            found += predict(weak_problem(problem, count), machine, count, ranks_per_node=ranks_per_node)
        except Error:
            continue
    return found


def largest_useful(forecasts: Sequence[Forecast]) -> Useful:
    """Of one problem on rising numbers of ranks: where more of them no longer pay, and what stops them."""
    if not forecasts:
        raise InvalidArgument("there are no forecasts; give at least one")
    best = forecasts[0]
    for now in forecasts[1:]:
        # Against the best so far, by the gain that so many doublings should have brought.
        if now.seconds <= best.seconds * _GAIN ** math.log2(now.ranks / best.ranks):
            best = now
    after = next((each for each in forecasts if each.ranks > best.ranks), None)
    if after is None:
        return Useful(best.ranks, best.seconds, 0, None, "no larger number of ranks is possible")
    parts = {name: after.parts[name] - best.parts[name] for name in after.parts}
    worst = max(parts, key=lambda name: parts[name])
    change = f"{after.ranks} ranks take {after.seconds / best.seconds:.2f} times as long, limited by {after.limit}"
    if parts[worst] > 0:
        change += f" ({worst} +{parts[worst]:.3g} s)"
    return Useful(best.ranks, best.seconds, after.ranks, after.seconds, change)
