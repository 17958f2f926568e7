"""Traces: which rank did what when, as Chrome/Perfetto JSON, and what can be read from such a file.

The library records events on each rank (spanfft_plan_trace_start in spanfft.h); here they are gathered on rank 0 and
written: one process for each rank, with a track for runs and steps, one for each of compute, communication, wait and
disk, and others for what goes on in the background. Times are of rank 0's clock, from the first event on.

Invariant: events of a rank's first track nest, so at each instant one is innermost; `segments` cuts the time of its
runs into pieces by that one's category, and their lengths add up to the runs exactly, in whole nanoseconds.
Source: the profile is P3's (figures 3 and 4), the shares are P1's stacked bars (figure 7).
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ._arguments import file_name
from ._errors import CorruptData, InvalidArgument, IOFailure
from ._native import core
from ._whole_files import replaced

if TYPE_CHECKING:
    from ._core import Plan as CorePlan
    from ._mpi import Ranks
    from ._plan import Plan

__all__ = [
    "TraceEvent",
    "TraceFile",
    "capture",
    "check_target",
    "check_trace",
    "read_trace",
    "write_captures",
    "write_trace",
]

CATEGORIES = ("run", "step", "compute", "communication", "wait", "disk")
TRACKS = ("steps", "messages", "reads", "writes", "calls")
SHARES = ("compute", "communication", "wait", "disk", "other")
"""What `TraceFile.shares` divides a rank's time into; other: in runs and steps but in no phase of theirs."""


class TraceEvent(NamedTuple):
    """Something that one rank did. `Plan.trace_events` has this rank's, `TraceFile.ranks` those of all."""

    name: str
    """"execute", "transform_file"; a step's type; a phase: "pack", "post", "wait", "transform", ..."""
    category: str
    """"run", "step", or of a phase "compute", "communication", "wait" (for other ranks) or "disk"."""
    track: str
    """"steps"; "calls": a communication thread's; or "messages", "reads", "writes": what goes on behind them."""
    step: int | None
    """Index of the step in its plan; None outside of steps."""
    start_ns: int
    """On rank 0's monotonic clock; in a `TraceFile` from the first event on."""
    end_ns: int
    """Likewise."""
    bytes: int | None
    """Sent to other ranks, read or written, or else moved through memory; None where it isn't said."""
    description: str
    """Of the step, or of the run: the problem string."""
    chunk: int | None = None
    """Of an exchange that goes chunk by chunk, from 0: what was transformed, packed, sent, waited for or unpacked."""


class _Capture(NamedTuple):
    """What one rank recorded of one C plan; picklable."""

    rank: int
    problem: str
    events: list[TraceEvent]
    dropped: int
    clock_accuracy_ns: int


def capture(plan: CorePlan) -> _Capture:
    """What this rank has recorded of a plan. Not collective."""
    info = plan.trace_info()
    problem = plan.problem
    steps = [f"{line['type']}  {line['description']}" for line in plan.steps() if line["depth"] == 0]
    events = [
        TraceEvent(
            name,
            CATEGORIES[category],
            TRACKS[track],
            None if step < 0 else step,
            start_ns,
            end_ns,
            None if moved_bytes < 0 else moved_bytes,
            problem if step < 0 else steps[step],
            None if chunk < 0 else chunk,
        )
        for name, category, track, step, start_ns, end_ns, moved_bytes, chunk in plan.trace_events()
    ]
    return _Capture(plan.rank, problem, events, info["dropped"], info["clock_accuracy_ns"])


# --- writing ---------------------------------------------------------------------------------------------------------


def check_target(path: str | os.PathLike[str]) -> str:
    """The path, if a trace can be written there; raises before hours of work are done for nothing."""
    target = file_name(path, "the trace")
    folder = os.path.dirname(target) or "."
    if os.path.isdir(target):
        raise InvalidArgument(f"{target} is a folder; give the name of a file in it")
    if not os.path.isdir(folder):
        raise IOFailure(f"{target} can't be written: there is no folder {folder}")
    return target


def check_trace(trace: str | os.PathLike[str], source: str, output: str | os.PathLike[str]) -> None:
    """Raises where the trace of a run can't be written, or would be written over one of its files."""
    target = check_target(trace)
    if os.path.abspath(target) == os.path.abspath(output) or (
        os.path.exists(target) and os.path.samefile(target, source)
    ):
        raise InvalidArgument(f"{target} is the trace and an array too; give the trace another name")


def write_trace(path: str | os.PathLike[str], *plans: Plan) -> None:
    """Writes what was traced (`Plan.trace`) on all ranks into one file. Collective if the plans are on ranks.

    The file is for https://ui.perfetto.dev or chrome://tracing, and for ``spanfft trace``.

    Parameters
    ----------
    path
        Of the JSON file, which rank 0 writes.
    plans
        One or more, all of one communicator.

    Raises
    ------
    InvalidArgument
        Nothing was traced.
    IOFailure
        The file can't be written; raised on all ranks.
    """
    if not plans:
        raise InvalidArgument("write_trace needs at least one plan")
    ranks = plans[0]._ranks
    if any(plan._ranks is not ranks for plan in plans):
        raise InvalidArgument("the plans are of different communicators; write a file for each")
    write_captures(path, [core_plan for plan in plans for core_plan in plan._traced_plans()], ranks)


def write_captures(path: str | os.PathLike[str], plans: Sequence[CorePlan], ranks: Ranks | None) -> None:
    """`write_trace` for C plans. Collective over ranks."""

    mine: list[_Capture] = []

    def capture_all() -> None:
        check_target(path)
        mine.extend(capture(plan) for plan in plans)

    if ranks is None:
        capture_all()
        _write(os.fspath(path), mine)
        return
    ranks.agree(capture_all)
    gathered = ranks.comm.gather(mine)

    def write() -> None:
        if gathered is not None:
            _write(os.fspath(path), [one for of_rank in gathered for one in of_rank])

    ranks.agree(write)


def _write(path: str, captures: Sequence[_Capture]) -> None:
    try:
        with replaced(path) as file:
            text = io.TextIOWrapper(file, "utf-8")
            json.dump(_document(captures), text, separators=(",", ":"))
            text.detach()
    except OSError as error:
        raise IOFailure(f"{path} can't be written: {error.strerror}") from error


def _document(captures: Sequence[_Capture]) -> dict[str, Any]:
    first_ns = min((event.start_ns for one in captures for event in one.events), default=0)
    written: list[dict[str, Any]] = []
    ranks = sorted({one.rank for one in captures})
    for rank in ranks:
        events = [event for one in captures if one.rank == rank for event in one.events]
        written += _process(rank, sorted(events, key=_outer_first), first_ns)
    return {
        "traceEvents": written,
        "displayTimeUnit": "ms",
        "otherData": {
            "writer": "spanfft",
            "version": core.version(),
            "ranks": len(ranks),
            "problems": list(dict.fromkeys(one.problem for one in captures)),
            "dropped_events": sum(one.dropped for one in captures),
            "clock_accuracy_ns": max((one.clock_accuracy_ns for one in captures), default=0),
        },
    }


def _outer_first(event: TraceEvent) -> tuple[int, int]:
    return event.start_ns, -event.end_ns


def _process(rank: int, events: Sequence[TraceEvent], first_ns: int) -> list[dict[str, Any]]:
    """One rank's events with names for its tracks.

    Process 0 and thread 0 mean something else to viewers, and some take a thread's number for unique: rank 2 is process
    3, and its tracks are threads 301, 302, ...
    """
    process = rank + 1
    tracks: dict[str, int] = {}
    written: list[dict[str, Any]] = [
        _about("process_name", process, 0, {"name": f"rank {rank}"}),
        _about("process_sort_index", process, 0, {"sort_index": rank}),
    ]
    for lane, event in zip(_lanes(events), events, strict=True):
        if lane not in tracks:
            tracks[lane] = 100 * process + 1 + len(tracks)
            written.append(_about("thread_name", process, tracks[lane], {"name": lane}))
            written.append(_about("thread_sort_index", process, tracks[lane], {"sort_index": tracks[lane]}))
        arguments: dict[str, Any] = {"description": event.description}
        if event.step is not None:
            arguments["step"] = event.step
        if event.chunk is not None:
            arguments["chunk"] = event.chunk
        if event.bytes is not None:
            arguments["bytes"] = event.bytes
        written.append({
            "ph": "X",
            "name": event.name,
            "cat": _written_category(event),
            "pid": process,
            "tid": tracks[lane],
            "ts": (event.start_ns - first_ns) / 1000,
            "dur": (event.end_ns - event.start_ns) / 1000,
            "args": arguments,
        })  # fmt: skip
    return written


def _written_category(event: TraceEvent) -> str:
    """What the file says for category and track: "wait", "messages", "calls,wait"."""
    if event.track == "steps":
        return event.category
    return f"calls,{event.category}" if event.track == "calls" else event.track


def _about(what: str, process: int, track: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": track, "args": arguments}


def _lanes(events: Iterable[TraceEvent]) -> list[str]:
    """The track of each event, which are sorted by start. What overlaps in the background gets one more track.

    On each track events nest: categories do as all steps do, and so does a communication thread.
    """
    busy_until: dict[str, int] = {}
    lanes = []
    for event in events:
        if event.track == "steps":
            lanes.append("steps" if event.category in ("run", "step") else event.category)
            continue
        if event.track == "calls":
            lanes.append("communication thread")
            continue
        number = 1
        while busy_until.get(lane := f"{event.track} {number}", event.start_ns) > event.start_ns:
            number += 1
        busy_until[lane] = event.end_ns
        lanes.append(lane)
    return lanes


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass
class TraceFile:
    """A trace that was read: `read_trace`."""

    path: str
    """Of the file."""
    problems: list[str]
    """Problem strings of the plans."""
    dropped_events: int
    """Not recorded, as there was no room."""
    clock_accuracy_ns: int
    """By how much times of different ranks can be wrong."""
    ranks: dict[int, list[TraceEvent]] = field(default_factory=dict)
    """Each rank's events, sorted by start, outer ones first."""

    def __repr__(self) -> str:
        return f"<TraceFile {self.path!r}: {self.runs()} runs on {len(self.ranks)} ranks>"

    def runs(self) -> int:
        """Number of executions, of the rank with most."""
        return max((sum(e.category == "run" for e in events) for events in self.ranks.values()), default=0)

    def only_run(self, number: int) -> TraceFile:
        """The same with one execution only: number 0 is the first, -1 the last."""
        if not -self.runs() <= number < self.runs():
            raise InvalidArgument(f"run {number} does not exist; {self.path} has {self.runs()}, counted from 0")
        kept = {}
        for rank, events in self.ranks.items():
            run = [event for event in events if event.category == "run"][number]
            kept[rank] = [e for e in events if run.start_ns <= e.start_ns and e.end_ns <= run.end_ns]
        return TraceFile(self.path, self.problems, self.dropped_events, self.clock_accuracy_ns, kept)

    def shares(self) -> dict[int, dict[str, int]]:
        """Nanoseconds of each rank by what it was doing (`SHARES`); they add up to the time of its runs."""
        found = {}
        for rank, events in self.ranks.items():
            spent = dict.fromkeys(SHARES, 0)
            for start_ns, end_ns, category in segments(events):
                spent[category if category in spent else "other"] += end_ns - start_ns
            found[rank] = spent
        return found

    def profile(self) -> list[tuple[int, int, int]]:
        """P3's profile: from each of these times (ns) on, how many ranks communicate, and how many wait for others."""
        changes: dict[int, list[int]] = {}
        for events in self.ranks.values():
            for start_ns, end_ns, category in segments(events):
                if category in ("communication", "wait") and end_ns > start_ns:
                    which = int(category == "wait")
                    changes.setdefault(start_ns, [0, 0])[which] += 1
                    changes.setdefault(end_ns, [0, 0])[which] -= 1
        steps = [(0, 0, 0)]
        for time_ns in sorted(changes):
            _, communicating, waiting = steps[-1]
            change = changes[time_ns]
            steps.append((time_ns, communicating + change[0], waiting + change[1]))
        return steps


def segments(events: Sequence[TraceEvent]) -> list[tuple[int, int, str]]:
    """(start, end, category of the innermost event) of one rank's runs, in order; `events` outer first."""
    pieces: list[tuple[int, int, str]] = []
    open_events: list[TraceEvent] = []
    at_ns = 0

    def until(end_ns: int) -> None:
        nonlocal at_ns
        if open_events and end_ns > at_ns:
            pieces.append((at_ns, end_ns, open_events[-1].category))
        at_ns = max(at_ns, end_ns)

    for event in events:
        if event.track != "steps":
            continue
        while open_events and open_events[-1].end_ns <= event.start_ns:
            until(open_events[-1].end_ns)
            open_events.pop()
        until(event.start_ns)
        at_ns = max(at_ns, event.start_ns)
        open_events.append(event)
    while open_events:
        until(open_events[-1].end_ns)
        open_events.pop()
    return pieces


def read_trace(path: str | os.PathLike[str]) -> TraceFile:
    """Reads what `write_trace` wrote.

    Raises
    ------
    IOFailure, CorruptData
        It can't be read, or is no trace of spanfft.
    """
    name = file_name(path, "the trace")
    try:
        with open(name, encoding="utf-8") as file:
            document = json.load(file)
        about = document["otherData"]
        if about["writer"] != "spanfft":
            raise KeyError("writer")
        found = TraceFile(name, about["problems"], about["dropped_events"], about["clock_accuracy_ns"])
        for event in document["traceEvents"]:
            if event["ph"] == "X":
                found.ranks.setdefault(event["pid"] - 1, []).append(_read_event(event))
    except OSError as error:
        raise IOFailure(f"{name} can't be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptData(f"{name} is no trace of spanfft ({type(error).__name__}: {error})") from error
    if not found.ranks:
        raise CorruptData(f"{name} holds no events")
    found.ranks = {rank: sorted(found.ranks[rank], key=_outer_first) for rank in sorted(found.ranks)}
    return found


def _read_event(event: dict[str, Any]) -> TraceEvent:
    kind, arguments = event["cat"].removeprefix("calls,"), event["args"]
    background = kind in TRACKS
    track = "calls" if kind != event["cat"] else kind if background else "steps"
    start_ns, length_ns = round(event["ts"] * 1000), round(event["dur"] * 1000)
    return TraceEvent(
        event["name"],
        ("communication" if kind == "messages" else "disk") if background else kind,
        track,
        arguments.get("step"),
        start_ns,
        start_ns + length_ns,
        arguments.get("bytes"),
        arguments["description"],
        arguments.get("chunk"),
    )


def summary(trace: TraceFile) -> list[dict[str, Any]]:
    """A row for each rank: seconds by `SHARES`, in all, and events."""
    rows = []
    for rank, spent in trace.shares().items():
        row: dict[str, Any] = {"rank": rank, **{f"{name}_seconds": ns / 1e9 for name, ns in spent.items()}}
        row["seconds"] = sum(spent.values()) / 1e9
        row["events"] = len(trace.ranks[rank])
        rows.append(row)
    return rows
