"""Traces in one process: what a file holds, that times add up exactly, P3's profile and P1's bars, bench, refusals.

Oracle: a trace of two ranks made by hand, whose profile and shares are counted on paper; in real ones only what logic
asks for (every event inside a run, shares that add up to the runs to the nanosecond), never a time.
"""

from __future__ import annotations

import itertools
import json
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import cli, cli_on_ranks
from spanfft import CorruptData, InvalidArgument, IOFailure, Plan, TraceEvent, Unsupported, read_trace, write_trace
from spanfft._draw import draw_bars, draw_profile
from spanfft._trace import TRACKS, TraceFile, segments

MiB = 1 << 20


def check_file(path, runs):
    """What must hold in any trace, in the JSON and in what is read from it."""
    document = json.loads(path.read_text())
    for event in document["traceEvents"]:
        assert event["ph"] in "XM"
        assert {"name", "pid", "tid", "args"} <= event.keys()
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in document["traceEvents"] if e["name"] == "thread_name"}
    tracks = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    assert tracks.keys() == names.keys()
    assert min(event["ts"] for events in tracks.values() for event in events) == 0
    trace = read_trace(path)
    for rank, events in trace.ranks.items():
        whole = [event for event in events if event.category == "run"]
        assert len(whole) == runs
        for event in events:
            assert any(run.start_ns <= event.start_ns and event.end_ns <= run.end_ns for run in whole), event
        assert sum(trace.shares()[rank].values()) == sum(run.end_ns - run.start_ns for run in whole)
        check_nested([event for event in events if event.track == "steps"])
    for (rank, track), events in tracks.items():
        if names[rank, track].split()[0] in TRACKS[1:]:
            for one, next_one in itertools.pairwise(events):
                assert round((one["ts"] + one["dur"]) * 1000) <= round(next_one["ts"] * 1000), names[rank, track]
    return trace


def check_nested(events):
    stack = []
    for event in events:  # outer first
        while stack and stack[-1].end_ns <= event.start_ns:
            stack.pop()
        if stack:
            assert event.end_ns <= stack[-1].end_ns, (event, stack[-1])
            assert event.category != "run"
        stack.append(event)


# --- plans -----------------------------------------------------------------------------------------------------------


def test_events_of_a_plan(rng):
    with Plan((12, 10, 9), kind="r2c") as plan:
        u = rng.standard_normal((12, 10, 9))
        with plan.trace():
            v = plan.forward(u)
            plan.forward(u)
            plan.backward(v)
        plan.forward(u)
        events = plan.trace_events()
        assert [event.category for event in events].count("run") == 3
        steps = [event for event in events if event.category == "step"]
        forward, backward = plan.report(), plan.report("backward")
        assert len(steps) == 2 * len(forward["steps"]) + len(backward["steps"])
        for event in steps:
            assert any(event.description.endswith(s["description"]) for s in forward["steps"] + backward["steps"])
        assert {event.category for event in events} >= {"run", "step", "compute"}
        check_nested(events)
        with plan.trace():
            pass
        assert plan.trace_events() == []


def test_events_that_do_not_fit_are_counted(rng, tmp_path):
    with Plan((8, 8)) as plan:
        with plan.trace(max_events=8):
            for _ in range(10):
                plan.forward(plan.input_array())
        assert len(plan.trace_events()) == 8
        write_trace(tmp_path / "t.json", plan)
    trace = read_trace(tmp_path / "t.json")
    assert trace.dropped_events > 0
    assert "events were dropped" in cli("trace", tmp_path / "t.json").stdout


def test_file_of_two_plans(tmp_path, rng):
    with Plan((16, 6)) as one, Plan((5, 7), kind="dct2") as two:
        with one.trace(), two.trace():
            one.backward(one.forward(one.input_array()))
            two.forward(two.input_array())
        write_trace(tmp_path / "t.json", one, two)
    trace = check_file(tmp_path / "t.json", 3)
    assert len(trace.problems) == 3
    assert (trace.clock_accuracy_ns, trace.dropped_events, list(trace.ranks)) == (0, 0, [0])
    assert trace.runs() == 3
    last = trace.only_run(-1)
    assert last.runs() == 1
    assert last.ranks[0][0].description.startswith("dct2 5x7")
    with pytest.raises(InvalidArgument, match="run 3 does not exist"):
        trace.only_run(3)


def test_refusals(tmp_path):
    with Plan((4,)) as plan:
        with pytest.raises(InvalidArgument, match="-1 events"), plan.trace(max_events=-1):
            pass
        with pytest.raises(InvalidArgument, match="at least one plan"):
            write_trace(tmp_path / "t.json")
        with plan.trace():
            plan.forward(plan.input_array())
        with pytest.raises(IOFailure, match="there is no folder"):
            write_trace(tmp_path / "absent" / "t.json", plan)
        with pytest.raises(InvalidArgument, match="is a folder"):
            write_trace(tmp_path, plan)
    for name, text in [("a", "{"), ("b", "[]"), ("c", '{"traceEvents": [], "otherData": {"writer": "other"}}')]:
        (tmp_path / name).write_text(text)
        with pytest.raises(CorruptData, match=r"is no trace of spanfft"):
            read_trace(tmp_path / name)
    with pytest.raises(IOFailure, match="can't be read"):
        read_trace(tmp_path / "absent")


# --- a trace made by hand --------------------------------------------------------------------------------------------


def event(category, start, end, track="steps"):
    return TraceEvent(category, category, track, None, start, end, None, "")


@pytest.fixture
def by_hand():
    """
    rank 0   run 0...........................100
             step   10.....................90
             comm      20............60           wait 30..50 inside; messages 25..50 behind it
             compute                    70.80
    rank 1   run   5......................95
             wait    10..........40
             disk                   50...60
    """
    rank0 = [event("run", 0, 100), event("step", 10, 90), event("communication", 20, 60),
             event("communication", 25, 50, "messages"), event("wait", 30, 50), event("compute", 70, 80)]  # fmt: skip
    rank1 = [event("run", 5, 95), event("wait", 10, 40), event("disk", 50, 60)]
    return TraceFile("by hand", ["c2c 8"], 0, 0, {0: rank0, 1: rank1})


def test_segments_by_hand(by_hand):
    assert segments(by_hand.ranks[0]) == [
        (0, 10, "run"), (10, 20, "step"), (20, 30, "communication"), (30, 50, "wait"), (50, 60, "communication"),
        (60, 70, "step"), (70, 80, "compute"), (80, 90, "step"), (90, 100, "run"),
    ]  # fmt: skip
    assert segments([]) == []
    assert segments([event("run", 0, 10), event("compute", 3, 3), event("wait", 3, 3)]) == [
        (0, 3, "run"), (3, 10, "run"),
    ]  # fmt: skip
    assert segments([event("run", 0, 10), event("run", 20, 30)]) == [(0, 10, "run"), (20, 30, "run")]


def test_shares_by_hand(by_hand):
    assert by_hand.shares() == {
        0: {"compute": 10, "communication": 20, "wait": 20, "disk": 0, "other": 50},
        1: {"compute": 0, "communication": 0, "wait": 30, "disk": 10, "other": 50},
    }


def test_profile_by_hand(by_hand):
    # communicating, waiting: rank 0 communicates 20-30 and 50-60, waits 30-50; rank 1 waits 10-40.
    assert by_hand.profile() == [(0, 0, 0), (10, 0, 1), (20, 1, 1), (30, 0, 2), (40, 0, 1), (50, 1, 0), (60, 0, 0)]


def test_pictures_by_hand(by_hand, tmp_path):
    for draw in (draw_profile, draw_bars):
        for suffix, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            draw(by_hand, tmp_path / f"picture.{suffix}")
            assert (tmp_path / f"picture.{suffix}").read_bytes().startswith(start)
        ElementTree.parse(tmp_path / "picture.svg")
        with pytest.raises(InvalidArgument, match=r"must end in \.png, \.svg"):
            draw(by_hand, tmp_path / "picture.jpg")


def test_without_matplotlib_a_picture_names_what_to_install(by_hand, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(Unsupported, match="pip install matplotlib"):
        draw_profile(by_hand, tmp_path / "picture.png")


# --- the command line ------------------------------------------------------------------------------------------------


def test_transform_of_a_file_in_sweeps(tmp_path, rng):
    x = rng.standard_normal(1 << 20).astype("complex64")
    np.save(tmp_path / "in.npy", x)
    done = cli("transform", "in.npy", "out.npy", "--memory", "4MiB", "--trace", "t.json", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)["ranks"][0]
    trace = check_file(tmp_path / "t.json", 1)
    for kind, key in (("reads", "disk_read_bytes"), ("writes", "disk_written_bytes")):
        moved = [event for event in trace.ranks[0] if event.track == kind]
        assert len(moved) > 2
        for index, step in enumerate(report["steps"]):
            assert sum(event.bytes for event in moved if event.step == index) == step["counted"][key]
    names = {event.name for event in trace.ranks[0]}
    assert names >= {"transform_file", "open", "Sweep", "start reads", "wait for read", "compute", "wait for write",
                     "publish"}  # fmt: skip
    # Without --trace the result is the same.
    assert cli("transform", "in.npy", "again.npy", "--memory", "4MiB", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out.npy").read_bytes() == (tmp_path / "again.npy").read_bytes()


def test_transform_refuses_a_trace_that_would_overwrite_an_array(tmp_path):
    np.save(tmp_path / "in.npy", np.ones(8))
    for name, words in (("in.npy", "give the trace another name"), ("out.npy", "give the trace another name"),
                        ("absent/t.json", "there is no folder"), (".", "is a folder")):  # fmt: skip
        done = cli("transform", "in.npy", "out.npy", "--trace", name, cwd=tmp_path)
        assert done.returncode in (2, 5)
        assert words in done.stderr
        assert not (tmp_path / "out.npy").exists()
    assert np.array_equal(np.load(tmp_path / "in.npy"), np.ones(8))


def test_transform_on_ranks(tmp_path, rng):
    np.save(tmp_path / "in.npy", rng.standard_normal((24, 10, 6)))
    done = cli_on_ranks(3, "transform", tmp_path / "in.npy", tmp_path / "out.npy", "--trace", tmp_path / "t.json")
    assert (done.returncode, done.stderr) == (0, "")
    trace = check_file(tmp_path / "t.json", 1)
    assert list(trace.ranks) == [0, 1, 2]
    for events in trace.ranks.values():
        assert {"ReadBox", "WriteBox", "read", "write"} <= {event.name for event in events}


def test_trace_command(tmp_path):
    with Plan((64, 64)) as plan:
        with plan.trace():
            for _ in range(3):
                plan.forward(plan.input_array())
        write_trace(tmp_path / "t.json", plan)
    done = cli("trace", "t.json", "--profile", "p.svg", "--bars", "b.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "c2c 64x64" in done.stdout
    assert "milliseconds of 3 runs" in done.stdout
    assert (tmp_path / "p.svg").exists()
    assert (tmp_path / "b.png").exists()
    done = cli("trace", "t.json", "--run", "-1", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["runs"] == 1
    (row,) = found["ranks"]
    assert row["seconds"] == pytest.approx(
        sum(row[f"{name}_seconds"] for name in ("compute", "communication", "wait", "disk", "other"))
    )
    assert cli("trace", "absent.json", cwd=tmp_path).returncode == 5
    assert cli("trace", "b.png", cwd=tmp_path).returncode == 7
    assert cli("trace", "t.json", "--run", "3", cwd=tmp_path).returncode == 2


def test_bench_command(tmp_path):
    done = cli("bench", "r2c 16x12 engine=ducc0", "c2c 16x12 in_place engine=ducc0 longdouble", "--repeats", 2,
               "--json", "--trace", "t.json", cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)["rows"]
    assert [row["problem"].split()[0] for row in rows] == ["r2c", "c2c"]
    for row in rows:
        assert (row["ranks"], row["engines"], len(row["seconds"])) == (1, "ducc0", 2)
        assert min(row["seconds"]) == row["min_seconds"] <= row["median_seconds"] <= max(row["seconds"])
        assert row["predicted_seconds"] > 0
    assert check_file(tmp_path / "t.json", 2).problems == [row["problem"] for row in rows]
    for arguments, code, words in (
        (["c2c 16 memory=1MiB"], 3, "leave memory= out"),
        (["c2c 16", "--repeats", "0"], 2, "repeats is 0"),
        (["c2c flat"], 2, "flat"),
    ):
        done = cli("bench", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert words in done.stderr


def test_bench_command_on_ranks(tmp_path):
    done = cli_on_ranks(3, "bench", "c2c 12x9x8", "--exchange", "alltoallw,alltoallv", "--repeats", 2, "--trace",
                        tmp_path / "t.json")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "3 ranks, 2 rounds" in lines[0]
    assert [line.split("exchange=")[1] for line in lines[1:]] == ["alltoallw", "alltoallv"]
    trace = check_file(tmp_path / "t.json", 2)
    assert list(trace.ranks) == [0, 1, 2]
    done = cli_on_ranks(3, "bench", "r2c 12x9x8 own_output own_input", "dct2 7x5 in_place", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert ["own_output" in row["problem"] for row in json.loads(done.stdout)["rows"]] == [True, False]
    done = cli_on_ranks(3, "bench", "c2c 12x9x8", "--exchange", "carrier_pigeon", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "carrier_pigeon" in done.stderr
