"""The tuning store and the probe: what is kept, what concurrent and killed writers do to it, the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import spanfft
from conftest import TESTS, cli, cli_environment, cli_on_ranks
from spanfft._native import core


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SPANFFT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def record(problem: str, seconds: float = 0.5, exchange: str = "alltoallv") -> str:
    fields = ("tuned", "a processor", "an MPI", "2", "1", problem, f"grid=2 exchange={exchange} threads=1",
              f"{seconds:g}", "2026-11-22T00:00:00Z")  # fmt: skip
    return "\t".join(fields)


def test_the_store_is_where_the_user_says(home):
    assert spanfft.tuning_store() == str(home / "tuning.txt")
    assert spanfft.tuning_records() == []


def test_tune_stores_and_later_plans_use_it(home):
    found = spanfft.tune("c2c 24x20", seconds=0.3)
    assert found["seconds"] > 0
    assert any(note.startswith("measured, chosen") for note in found["notes"])
    (kept,) = spanfft.tuning_records()
    assert kept["problem"] == "c2c 24x20 forward double"
    plan = spanfft.Plan((24, 20))
    assert any(note.startswith(f"tuned: {kept['choice']}") for note in plan.report()["notes"])
    assert "tuned: " in plan.explain()
    plan = spanfft.Plan((24, 20), engine="ducc0", threads=1)
    assert "engine=ducc0" in plan.problem
    assert spanfft.forget_tuning("c2c 24x20 norm=ortho") == 1  # the same key
    assert not any(note.startswith("tuned:") for note in spanfft.Plan((24, 20)).report()["notes"])


def test_measure_uses_the_store_and_tune_measures_again(home):
    first = spanfft.Plan((30, 8), effort="measure", measure_seconds=0.2)
    assert any(note.startswith("measured") for note in first.report()["notes"])
    second = spanfft.Plan((30, 8), effort="measure", measure_seconds=0.2)
    assert not any(note.startswith("measured") for note in second.report()["notes"])
    assert any(note.startswith("tuned:") for note in second.report()["notes"])
    third = spanfft.Plan((30, 8), effort="tune", measure_seconds=0.2)
    assert any(note.startswith("measured") for note in third.report()["notes"])


def test_a_forced_exchange_wins_over_the_store(home):
    spanfft.tune("c2c 4x4", seconds=0.1)
    machine = spanfft.tuning_records()[0]["machine"]
    line = record("c2c 64x64 forward double ranks=2", exchange="alltoallw").replace("a processor", str(machine))
    assert core.tuning_import(line) == 1
    assert "exchange=alltoallw" in core.imagine("c2c 64x64 ranks=2").problem
    assert "exchange=alltoallv" in core.imagine("c2c 64x64 ranks=2 exchange=alltoallv").problem


@pytest.mark.parametrize("value", [-1, float("nan"), "soon", 1e9])
def test_bad_caps_are_refused(home, value):
    with pytest.raises(spanfft.InvalidArgument, match="measure_seconds"):
        spanfft.Plan((4, 4), effort="tune", measure_seconds=value)


WRITER = """
import sys
from spanfft._native import core
who, count = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for i in range(count):
    problem = f"c2c {who}x{i + 1} forward double ranks=2"
    core.tuning_import("\\t".join(["tuned", "a processor", "an MPI", "2", "1", problem,
                                  "grid=2 exchange=alltoallv threads=1", "0.5", "2026-11-22T00:00:00Z"]))
"""


def start_writers(home, count: int, records: int) -> list[subprocess.Popen]:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(1000 + who), str(records)], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=cli_environment(SPANFFT_HOME=str(home)))
        for who in range(count)
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    return writers


def test_concurrent_writers_lose_nothing(home):
    writers = start_writers(home, 8, 40)
    for writer in writers:
        assert writer.wait(timeout=90) == 0
    kept = {str(r["problem"]) for r in spanfft.tuning_records()}
    assert kept == {f"c2c {1000 + who}x{i + 1} forward double ranks=2" for who in range(8) for i in range(40)}


def test_a_killed_writer_leaves_a_readable_store(home):
    (home).mkdir()
    core.tuning_import(record("c2c 7x7 forward double ranks=2"))
    for attempt in range(3):
        victims = start_writers(home, 2, 100000)
        time.sleep(0.2 + 0.05 * attempt)
        for victim in victims:
            os.kill(victim.pid, signal.SIGKILL)
            victim.wait()
        before = {str(r["problem"]) for r in spanfft.tuning_records()}
        assert "c2c 7x7 forward double ranks=2" in before
        assert len(before) > 1
        # Nobody holds the lock, and what was there stays.
        assert core.tuning_import(record(f"c2c 5x{attempt + 1} forward double ranks=2")) == 1
        assert before < {str(r["problem"]) for r in spanfft.tuning_records()}
        for line in (home / "tuning.txt").read_text().splitlines()[1:]:
            assert len(line.split("\t")) == 9


def test_export_and_import_round_trip(home, tmp_path):
    core.tuning_import(record("c2c 7x7 forward double ranks=2") + "\n" + record("c2c 8x8 forward double ranks=2"))
    done = cli("tune", "--export", tmp_path / "out.txt", SPANFFT_HOME=str(home))
    assert (done.returncode, done.stderr) == (0, "")
    other = str(tmp_path / "other")
    done = cli("tune", "--import", tmp_path / "out.txt", "--list", SPANFFT_HOME=other)
    assert "2 new results" in done.stdout
    assert "c2c 8x8" in done.stdout
    assert (tmp_path / "other" / "tuning.txt").read_text() == (home / "tuning.txt").read_text()
    done = cli("tune", "--import", tmp_path / "out.txt", SPANFFT_HOME=other)
    assert "0 new results" in done.stdout
    done = cli("tune", "--forget", "all", SPANFFT_HOME=other)
    assert "2 results forgotten" in done.stdout


def test_without_a_folder_results_live_as_long_as_the_process():
    script = """
import spanfft
assert spanfft.tuning_store() == ""
spanfft.tune("c2c 12x10", seconds=0.1)
assert any(n.startswith("tuned:") for n in spanfft.Plan((12, 10)).report()["notes"])
"""
    env = {k: v for k, v in cli_environment().items() if k not in ("SPANFFT_HOME", "XDG_CACHE_HOME", "HOME")}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


# A measured plan of a length that nothing else here has, and what it notes.
MEASURED = """
import json, numpy as np, spanfft
from soak import oracle
plan = spanfft.Plan((1716,), engine="fftw", effort="measure", measure_seconds=0.5)
x = np.random.default_rng(1).standard_normal(1716) + 0j
assert oracle.keeps_rule(plan.forward(x), oracle.forward(x, "c2c", (0,)))
print(json.dumps(plan.report()["notes"]))
"""


def measured_notes(**environment: str) -> list[str]:
    env = {k: v for k, v in cli_environment().items() if k not in ("SPANFFT_HOME", "XDG_CACHE_HOME", "HOME")}
    env.update(environment, PYTHONPATH=str(TESTS))
    done = subprocess.run([sys.executable, "-c", MEASURED], env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


needs_fftw = pytest.mark.skipif(all(e["name"] != "fftw" for e in core.engines()), reason="there is no libfftw3")


@needs_fftw
def test_wisdom_is_kept_beside_the_store_and_used_without_measuring(home):
    assert not any("wisdom" in note for note in measured_notes(SPANFFT_HOME=str(home)))
    file = home / "wisdom.txt"
    lines = file.read_text().splitlines()
    assert lines[0] == "spanfft-wisdom 1"
    assert all(line.split("\t")[0] == "fftw" and len(line.split("\t")) == 6 for line in lines[1:])
    before = file.stat()
    for _ in range(2):  # by the store's record, with the measured plan if that was chosen
        assert not any("wisdom" in note for note in measured_notes(SPANFFT_HOME=str(home)))
    (home / "tuning.txt").unlink()
    measured_notes(SPANFFT_HOME=str(home))  # timed anew, and FFTW measures nothing: the file is not written
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@needs_fftw
def test_forgetting_all_forgets_wisdom_and_leaves_a_foreign_file_alone(home):
    measured_notes(SPANFFT_HOME=str(home))
    file = home / "wisdom.txt"
    assert len(file.read_text().splitlines()) > 1
    done = cli("tune", "--forget", "c2c 8x8", SPANFFT_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert len(file.read_text().splitlines()) > 1
    done = cli("tune", "--forget", "all", SPANFFT_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert file.read_text().splitlines() == ["spanfft-wisdom 1"]
    file.write_text("spanfft-wisdom 2\n")
    assert cli("tune", "--forget", "all", SPANFFT_HOME=str(home)).returncode == 0
    assert file.read_text() == "spanfft-wisdom 2\n"


@needs_fftw
def test_damaged_and_foreign_wisdom_is_noted_and_not_used(home):
    measured_notes(SPANFFT_HOME=str(home))
    file = home / "wisdom.txt"
    (home / "tuning.txt").unlink()
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], *(line[:-1] + "g" for line in lines[1:])]) + "\n")
    assert any("damaged lines" in note for note in measured_notes(SPANFFT_HOME=str(home)))
    assert file.read_text().splitlines()[0] == lines[0]
    assert not any("damaged" in note for note in measured_notes(SPANFFT_HOME=str(home)))
    file.write_text("spanfft-wisdom 2\n")
    (home / "tuning.txt").unlink()
    notes = measured_notes(SPANFFT_HOME=str(home))
    assert any("does not begin with 'spanfft-wisdom 1'" in note for note in notes)
    assert any(note.startswith("wisdom is not stored") for note in notes)
    assert file.read_text() == "spanfft-wisdom 2\n"


@needs_fftw
def test_without_a_folder_wisdom_is_not_kept():
    assert not any("wisdom" in note for note in measured_notes())


@needs_fftw
def test_an_estimated_plan_keeps_no_wisdom(home):
    spanfft.Plan((1716,), engine="fftw").free()
    assert not home.exists()


def test_tune_on_the_command_line(home):
    done = cli("tune", "c2c 16x12", "r2c 16x12 float", "--cap", "0.2", "--json", "--list", SPANFFT_HOME=str(home))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [len(found["tuned"]), len(found["stored"])] == [2, 2]
    done = cli("tune", SPANFFT_HOME=str(home))
    assert done.returncode == 2
    done = cli("tune", "--import", home / "nothing", SPANFFT_HOME=str(home))
    assert done.returncode == 5
    done = cli("tune", "c2q 8", SPANFFT_HOME=str(home))
    assert done.returncode == 2


def test_probe_alone_measures_memory_and_plans_say_so(home, tmp_path):
    done = cli("probe", "--quick", "--output", tmp_path / "machine.txt", "--json", SPANFFT_HOME=str(home))
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["numbers"]["memory_bytes_per_second"] > 1e8
    assert spanfft.read_machine((tmp_path / "machine.txt").read_text())["name"] == figures["name"]
    notes = spanfft.Plan((6, 6)).report()["notes"]
    assert f"figures: measured by probe on {figures['measured']} with 1 rank" in notes
    spanfft.probe(quick=True, store=False)
    assert notes == spanfft.Plan((6, 6)).report()["notes"]


def test_probe_of_a_disk_is_kept_and_decides_how_files_are_swept(home, tmp_path):
    done = cli("probe", "--quick", "--disk", tmp_path, SPANFFT_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert "a small request takes" in done.stdout
    assert list(tmp_path.iterdir()) == [home]  # no file is left
    first = spanfft.read_machine(spanfft.probe(quick=True, disk=tmp_path))["numbers"]
    figures = (
        *("disk_read_bytes_per_second", "disk_write_bytes_per_second", "disk_rewrite_bytes_per_second"),
        *("disk_read_alone_bytes_per_second", "disk_write_alone_bytes_per_second"),
        *("disk_request_seconds", "disk_write_request_seconds", "page_cache_bytes"),
        *("disk_cached_seconds", "disk_cached_seconds_per_byte", "disk_start_seconds", "memory_touch_seconds_per_byte"),
    )
    assert all(first[key] > 0 for key in figures)
    again = spanfft.read_machine(spanfft.probe(quick=True))["numbers"]  # another probe leaves the disk as it was found
    for key in figures:
        assert again[key] == first[key]
    # Where a request costs much, three sweeps with long runs beat two with short ones; where nothing, two with any.
    figures = spanfft.probe(quick=True, store=False)
    for seconds, solver in (("0.01", "many_sweeps"), ("0", "two_sweeps")):
        machine = re.sub(r"(?m)^(disk_(?:write_)?request_seconds) .*", rf"\1 {seconds}", figures)
        assert core.imagine("r2c 268435456 float memory=64MiB", machine).solver == solver


def test_probe_of_a_disk_names_what_is_wrong(home, tmp_path):
    with pytest.raises(spanfft.IOFailure, match="no folder"):
        spanfft.probe(quick=True, disk=tmp_path / "nowhere")


def test_probe_of_scratch_is_kept_and_decides_how_files_are_swept(home, tmp_path):
    folders = [tmp_path / "disk0", tmp_path / "disk1"]
    for folder in folders:
        folder.mkdir()
    done = cli("probe", "--quick", "--scratch", f"{tmp_path}/disk{{rank}},{folders[1]}", SPANFFT_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert "read by each rank" in done.stdout
    assert not [file for folder in folders for file in folder.iterdir()]  # no file is left
    keys = ("scratch_read_bytes_per_second", "scratch_write_bytes_per_second")
    first = spanfft.read_machine(spanfft.probe(quick=True, scratch=folders))["numbers"]
    assert all(first[key] > 0 for key in keys)
    again = spanfft.read_machine(spanfft.probe(quick=True))["numbers"]  # another probe leaves scratch as it was found
    assert all(again[key] == first[key] for key in keys)


def test_scratch_disks_of_a_machine_file_decide_what_is_predicted():
    fast = "spanfft-machine 1\n"
    slow = fast + "scratch_read_bytes_per_second 1e6\nscratch_write_bytes_per_second 2e6\n"
    problem, array_bytes = "r2c 16777216 float memory=8MiB", 4 * 16777216

    def foreseen(text: str, machine: str) -> float:
        return core.imagine(text, machine).predicted()["seconds"]

    by_scratch = array_bytes / 1e6 + array_bytes / 2e6  # which is written once and read once
    assert by_scratch <= foreseen(f"{problem} disks=1", slow) < 1.01 * by_scratch
    assert foreseen(problem, slow) == foreseen(problem, fast)  # scratch has no disks of its own


def test_probe_of_scratch_names_what_is_wrong(home, tmp_path):
    with pytest.raises(spanfft.IOFailure, match="no folder"):
        spanfft.probe(quick=True, scratch=tmp_path / "nowhere")
    with pytest.raises(spanfft.InvalidArgument, match="scratch"):
        spanfft.probe(quick=True, scratch="")


def test_rates_of_a_machine_file_are_read_whole_and_those_of_earlier_versions_too():
    rows = (
        "mkl double plane 2 4096 21.5 half 0 64x64",
        "fftw float line 1 60 24.6 c2c 16384",
        "ducc0 double line 1 8 3",
    )
    read = spanfft.read_machine("\n".join(["spanfft-machine 1", *(f"engine {row}" for row in rows)]))["engines"]
    assert [(row["kernel"], row["batch_points"], row["box"]) for row in read] == [
        ("half", 0, (64, 64)), ("c2c", 16384, ()), ("c2c", 0, ())]  # fmt: skip
    assert [(row["n"], row["gflops"]) for row in read] == [(4096, 21.5), (60, 24.6), (8, 3)]


def test_probe_with_engines(home):
    figures = spanfft.read_machine(spanfft.probe(seconds=3))
    assert {"ducc0"} <= {row["engine"] for row in figures["engines"]} <= {"fftw", "mkl", "ducc0"}
    assert all(float(str(row["gflops"])) > 0 for row in figures["engines"])
    done = cli("probe", "--seconds", 1, SPANFFT_HOME=str(home))
    assert len(re.findall(r"^engine    ducc0: \d+ rates, up to [\d.]+ GF/s", done.stdout, re.MULTILINE)) == 1
    rows = [tuple(row[name] for name in row if name != "gflops") for row in figures["engines"]]
    assert len(set(rows)) == len(rows)  # one row a sort of work, however many rounds it had


def test_probe_on_ranks_measures_every_strategy(home, monkeypatch):
    done = cli_on_ranks(2, "probe", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {"alltoallv", "alltoallw"} <= set(figures["exchanges"])
    for ways in figures["exchanges"].values():
        assert ways["near"]["latency_seconds"] > 0
        assert all(rate > 0 for _, rate in ways["near"]["points"])
    done = cli_on_ranks(2, "tune", "c2c 16x16x16", "--cap", "0.5", "--list")
    assert done.returncode == 0, done.stderr
    assert "grid=2" in done.stdout
    assert "c2c 16x16x16 forward double ranks=2" in done.stdout
    assert "figures: measured by probe" in core.imagine("c2c 64x64 ranks=2").explain()


def test_plans_for_a_machine_that_is_described(tmp_path):
    text = "spanfft-machine 1\nname a cluster\nranks_per_node 4\ncores 8\nmemory_bytes_per_second 1e10\n"
    (tmp_path / "cluster.txt").write_text(text)
    done = cli("plan", "c2c 64x64x64 ranks=16", "--machine", tmp_path / "cluster.txt", "--json")
    assert done.returncode == 0, done.stderr
    assert "threads=2" in json.loads(done.stdout)["problem"]
    (tmp_path / "wrong.txt").write_text("no machine")
    assert cli("plan", "c2c 8x8", "--machine", tmp_path / "wrong.txt").returncode == 7


@pytest.mark.parametrize("problem", ["c2c 512x512x512 ranks=64", "c2c 512x512x512 ranks=1024",
                                     "r2c 2048x2048x2048 float ranks=4096"])  # fmt: skip
def test_estimated_plans_say_why_the_runners_up_lost(problem):
    plan = core.imagine(problem)
    lost = [note for note in plan.notes if note.startswith("not chosen: ")]
    assert lost
    for note in lost:
        assert " ms predicted, " in note
        assert "x: " in note
    assert any(note.startswith("figures: ") for note in plan.notes)
