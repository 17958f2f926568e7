"""Tuning and probing: what was measured on this machine, kept for later plans."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from ._arguments import file_name, number, text
from ._errors import InvalidArgument, InvalidType
from ._files import folder_list
from ._native import core

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["ProbeFigures", "Tuned", "forget_tuning", "probe", "read_machine", "tune", "tuning_records", "tuning_store"]


class Tuned(TypedDict):
    """A record of the tuning store, or what `tune` found."""

    problem: str
    choice: str
    seconds: float
    notes: list[str]


class ProbeFigures(TypedDict):
    """A machine file as a dictionary. `exchanges` has, for each strategy and way ("near", "far"), the latency in
    seconds and points of (bytes a message, seconds a byte). `engines` has a row for each rate that was measured: of n
    points a transform, in a batch of batch_points together (0: alone), of several axes with their lengths as `box`."""

    name: str
    library: str
    measured: str
    numbers: dict[str, float]
    exchanges: dict[str, dict[str, dict[str, object]]]
    engines: list[dict[str, object]]


def _handle(comm: Comm | None) -> int:
    if comm is None:
        return 0
    from ._mpi import ranks_of

    return ranks_of(comm).handle


def tune(problem: str, *, seconds: float = 0, comm: Comm | None = None) -> Tuned:
    """Times the best candidates for a problem and stores the fastest one. Collective if there is a communicator.

    Parameters
    ----------
    problem
        A problem string, such as "c2c 256x256x256"; what it forces (``grid=2x2``) is kept.
    seconds
        About how long it may take; 0: 5 seconds, or what the string says with ``measure_seconds=``.
    comm
        mpi4py communicator; None: this process alone.

    Returns
    -------
    dict
        The problem with the choices filled in, the choice, the seconds of an execution, and notes on each candidate.
    """
    if not text(problem, "problem"):
        raise InvalidType("problem is None; it must be a problem string, such as 'c2c 256x256x256'")
    seconds = number(seconds, "seconds")
    words = [word for word in problem.split() if not word.startswith("effort=")]
    if seconds:
        words = [word for word in words if not word.startswith("measure_seconds=")] + [f"measure_seconds={seconds:g}"]
    plan = core.plan(" ".join([*words, "effort=tune"]), _handle(comm))
    chosen, notes = plan.problem, plan.notes
    plan.free()
    keys = ("grid", "exchange", "engine", "threads")
    choice = " ".join(w for w in chosen.split() if w.split("=")[0] in keys)
    best = next((note for note in notes if note.startswith("measured, chosen: ")), "")
    return {"problem": chosen, "choice": choice, "seconds": _seconds_of(best), "notes": notes}


def _seconds_of(note: str) -> float:
    """ "measured, chosen: grid 2x1 with alltoallv: 3.21 ms (median of 7)" -> 0.00321"""
    words = note.split()
    return float(words[words.index("ms") - 1]) / 1e3 if "ms" in words else 0.0


def tuning_store() -> str:
    """The path of the file in which results of tuning are kept: $SPANFFT_HOME, or the cache folder of the user."""
    return core.tuning_path()


def tuning_records() -> list[dict[str, object]]:
    """What was tuned so far: machine, library, ranks, nodes, problem, choice, seconds, date."""
    records: list[dict[str, object]] = []
    for line in core.tuning_export().splitlines():
        fields = line.split("\t")
        if len(fields) == 9 and fields[0] == "tuned":
            records.append(
                {
                    "machine": fields[1],
                    "library": fields[2],
                    "ranks": int(fields[3]),
                    "nodes": int(fields[4]),
                    "problem": fields[5],
                    "choice": fields[6],
                    "seconds": float(fields[7]),
                    "date": fields[8],
                }
            )
    return records


def forget_tuning(problem: str | None = None) -> int:
    """Removes the records of a problem from the store, or all of them and FFTW's kept wisdom.

    Nothing else removes records.

    Returns
    -------
    int
        How many there were.
    """
    return core.tuning_forget(text(problem, "problem"))


def probe(
    *,
    comm: Comm | None = None,
    seconds: float = 0,
    quick: bool = False,
    store: bool = True,
    disk: str | os.PathLike[str] | None = None,
    scratch: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
) -> str:
    """Measures this machine for the planner. Collective if there is a communicator.

    Parameters
    ----------
    comm
        mpi4py communicator; None: this process alone, which measures memory and engines only.
    seconds
        About the longest time that engines, exchanges and steps take; 0: 120. Memory takes a second on top, a disk its
        own time.
    quick
        Two message sizes, few runs, no engines: rough figures in a second or two.
    store
        Keep the figures for later plans.
    disk
        A folder on the disk that transforms of files will use: it is measured too, by rank 0, with two scratch files of
        together 256 MiB (quick: 128 MiB), which it removes. None: built-in figures of a disk.
    scratch
        The folder or folders that `spanfft.transform` will be given for scratch, if their disks are not the one of
        input and output, as node-local disks are; "{rank}" and "{node}" in a name stand for the numbers of the rank and
        of its node. All ranks measure theirs at once, each with 128 MiB (quick: 32 MiB). None: what an earlier probe
        found, or else plans take scratch to be part of the disk of input and output, which all ranks share.

    Returns
    -------
    str
        The machine's figures, as text; `read_machine` makes a dictionary of it.
    """
    folder = "" if disk is None else file_name(disk, "disk")
    seconds = number(seconds, "seconds")
    return core.probe(
        comm=_handle(comm), seconds=seconds, quick=quick, store=store, disk=folder, scratch=folder_list(scratch)
    )


def read_machine(text: str) -> ProbeFigures:
    """The figures of a machine's text."""
    lines = str(text).splitlines()
    if not lines or lines[0] != "spanfft-machine 1":
        raise InvalidArgument("a machine file starts with 'spanfft-machine 1'")
    found: ProbeFigures = {
        "name": "",
        "library": "",
        "measured": "",
        "numbers": {},
        "exchanges": {},
        "engines": [],
    }
    for line in lines[1:]:
        name, _, rest = line.partition(" ")
        words = rest.split()
        if name == "name":
            found["name"] = rest
        elif name == "library":
            found["library"] = rest
        elif name == "measured":
            found["measured"] = rest
        elif name == "exchange" and len(words) >= 4:
            _take_exchange(found["exchanges"], words)
        elif name == "engine" and len(words) >= 6:
            found["engines"].append(_engine(words))
        elif len(words) == 1:
            found["numbers"][name] = float(words[0])
    return found


def _engine(words: Sequence[str]) -> dict[str, object]:
    """Files of earlier versions end before the kernel, or before the box."""
    engine, precision, shape, threads, n, rate = words[:6]
    kernel, batch, box = [*words[6:9], *("c2c", "0", "")[len(words) - 6 :]]
    return {"engine": engine, "precision": precision, "shape": shape, "threads": int(threads), "n": float(n),
            "gflops": float(rate), "kernel": kernel, "batch_points": float(batch),
            "box": tuple(map(int, box.split("x"))) if box else ()}  # fmt: skip


def _take_exchange(exchanges: dict[str, dict[str, dict[str, object]]], words: Sequence[str]) -> None:
    strategy, way, what = words[:3]
    figures = exchanges.setdefault(strategy, {}).setdefault(way, {"latency_seconds": 0.0, "points": []})
    if what == "point":
        points = figures["points"]
        assert isinstance(points, list)
        points.append((float(words[3]), float(words[4])))
    else:
        figures[what] = float(words[3])
