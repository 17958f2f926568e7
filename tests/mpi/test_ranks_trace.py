"""Traces on ranks: all ranks in one file, events nested, times that add up, bytes that were counted, errors on all."""

from __future__ import annotations

import json

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, exchange_names, numbers
from spanfft import Plan, read_trace, write_trace


def nested(events):
    """Brackets: outer first, nothing crosses."""
    stack = []
    for event in events:
        while stack and stack[-1].end_ns <= event.start_ns:
            stack.pop()
        if stack and event.end_ns > stack[-1].end_ns:
            return False
        stack.append(event)
    return True


@pytest.mark.parametrize("exchange", ["alltoallw", "alltoallv"])
@pytest.mark.parametrize("shape", [(16, 12, 10), (7, 11, 13), (2, 3, 20)])
def test_file_of_all_ranks(exchange, shape, comm, rng, folder):
    path = folder / "trace.json"
    with Plan(shape, comm=comm, exchange=exchange) as plan:
        u = numbers(rng, plan.input_shape, plan.dtype)
        with plan.trace():
            plan.backward(plan.forward(u))
        counted = {direction: plan.counted(direction) for direction in ("forward", "backward")}
        mine = plan.trace_events()
        write_trace(path, plan)
    trace = read_trace(path)
    assert list(trace.ranks) == list(range(comm.size))
    assert trace.dropped_events == 0
    assert trace.clock_accuracy_ns == 0  # one machine, one clock
    assert len(trace.problems) == 2
    first = comm.allreduce(mine[0].start_ns, min)
    events = trace.ranks[comm.rank]
    # The ranks' clocks are one: what the file has of this rank is what was recorded, from the first event on.
    assert events == [e._replace(start_ns=e.start_ns - first, end_ns=e.end_ns - first) for e in mine]
    assert nested([event for event in events if event.track == "steps"])
    runs = [event for event in events if event.category == "run"]
    assert [run.description for run in runs] == trace.problems
    for event in events:
        assert sum(run.start_ns <= event.start_ns and event.end_ns <= run.end_ns for run in runs) == 1
    assert sum(trace.shares()[comm.rank].values()) == sum(run.end_ns - run.start_ns for run in runs)
    for run, direction in zip(runs, ("forward", "backward"), strict=True):
        sent = sum(e.bytes for e in events if e.track == "messages" and run.start_ns <= e.start_ns <= run.end_ns)
        assert sent == counted[direction]["sent_bytes"]
    for _, communicating, waiting in trace.profile():
        assert 0 <= communicating + waiting <= comm.size


STRATEGIES = [*exchange_names(), "oneplane:2", "overlap:2", "blockvector:3", "blockvector:2,thread"]


def check_tracks(path):
    """On each track of each rank, as a viewer has them, events nest; what goes on behind the steps does not overlap."""
    tracks = {}
    names = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            at = spanfft.TraceEvent(event["name"], "", "", None, start, start + round(event["dur"] * 1000), None, "")
            tracks.setdefault((event["pid"], event["tid"]), []).append(at)
    assert tracks.keys() == names.keys()
    for events in tracks.values():
        assert nested(sorted(events, key=lambda e: (e.start_ns, -e.end_ns)))
    return set(names.values())


@pytest.mark.parametrize("exchange", STRATEGIES)
def test_every_strategy_nests_and_shows_its_chunks(exchange, comm, rng, folder):
    path = folder / "trace.json"
    try:
        plan = Plan((24, 20, 6), comm=comm, exchange=exchange, grid=(comm.size, 1, 1), engine="ducc0")
    except spanfft.Unsupported as error:
        if comm.size > 1 and exchange not in ("persistent", "blockvector:2,thread"):  # what an MPI may lack
            raise
        pytest.skip(str(error))
    with plan:
        u = numbers(rng, plan.input_shape, plan.dtype)
        with plan.trace():
            plan.forward(u)
        steps = plan.report()["steps"]
        write_trace(path, plan)
    names = check_tracks(path)
    trace = read_trace(path)
    events = trace.ranks[comm.rank]
    (run,) = [event for event in events if event.category == "run"]
    assert sum(trace.shares()[comm.rank].values()) == run.end_ns - run.start_ns
    calls = [event for event in events if event.track == "calls"]
    by_thread = exchange.endswith("thread") and comm.size > 1
    assert bool(calls) == by_thread
    assert ("communication thread" in names) == by_thread
    assert nested(calls)
    for index, step in enumerate(line for line in steps if line["depth"] == 0):
        if step["type"] != "TransformExchange":
            continue
        chunks = int(step["description"].split(" in ")[1].split()[0])
        for name in ("pack", "unpack"):
            assert [e.chunk for e in events if e.step == index and e.name == name] == list(range(chunks))
        transformed = [e.chunk for e in events if e.step == index and e.name == "transform"]
        assert transformed == sorted(set(transformed))
        assert set(transformed) <= set(range(chunks))
        if comm.size in (2, 4):  # as many rows on all ranks
            assert len(transformed) == chunks


def test_ranks_that_sweep_together_show_how_long_they_wait_for_one_anothers_word(comm, rng, folder):
    """One agreement a round, one at the end of the rounds and one at the end of the step: else that time would be in no
    phase of the step."""
    path, x = folder / "trace.json", numbers(rng, (1 << 16,), np.complex64)
    if comm.rank == 0:
        np.save(folder / "in.npy", x)
    comm.barrier()
    options = {"memory": "1MiB", "method": "two_sweeps", "trace": path, "scratch": folder, "comm": comm}
    spanfft.transform(folder / "in.npy", folder / "out.npy", **options)
    events = read_trace(path).ranks[comm.rank]
    rounds = agreements = 0
    for event in events:
        rounds += event.track == "messages"
        agreements += event.name == "agree"
    steps = sum(event.name == "Sweep" for event in events)
    exchanging = len({event.step for event in events if event.track == "messages"})
    assert steps == 2
    assert agreements == (rounds + exchanging + steps if comm.size > 1 else steps)
    assert (rounds > 0) == (comm.size > 1)


def test_errors_are_everybodys(comm, folder):
    with Plan((8, 6, 4), comm=comm) as plan:

        def start(max_events):
            with plan.trace(max_events):
                plan.forward(plan.input_array())

        last = comm.size - 1
        words = "-3 events" if comm.size == 1 else rf"rank {last}: a trace of -3 events"
        agrees(comm, lambda: start(-3 if comm.rank == last else 100), spanfft.InvalidArgument, words)
        kind = spanfft.InvalidArgument
        agrees(comm, lambda: start("many" if comm.rank == last else 100), kind, "max_events")
        start(100)
        absent = folder / "absent" / "trace.json"
        agrees(comm, lambda: write_trace(absent, plan), spanfft.IOFailure, "there is no folder")
        write_trace(folder / "trace.json", plan)
        assert list(read_trace(folder / "trace.json").ranks) == list(range(comm.size))


def test_a_traced_plan_gives_the_same_result(comm, rng):
    with Plan((6, 10, 9), kind="r2c", comm=comm) as plan:
        u = numbers(rng, plan.input_shape, plan.dtype)
        expected = plan.forward(u).copy()
        with plan.trace(max_events=3):  # too few, on purpose
            assert (plan.forward(u) == expected).all()
        assert len(plan.trace_events()) == 3
        assert (plan.forward(u) == expected).all()
