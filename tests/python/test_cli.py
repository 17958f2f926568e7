"""The command line as a child process: output, exit codes, signals, killed runs, memory, ranks."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import spanfft
from conftest import assert_within_rule, cli, cli_environment, cli_on_ranks, reference, relative_error
from soak import oracle
from spanfft._native import core

MiB = 1 << 20


@pytest.fixture
def array(rng, tmp_path):
    x = rng.standard_normal((48, 30, 20)).astype("float32")
    np.save(tmp_path / "in.npy", x)
    return x


def test_transform(array, tmp_path):
    done = cli("transform", tmp_path / "in.npy", tmp_path / "out.npy")
    assert (done.returncode, done.stderr) == (0, "")
    assert "48x30x11 complex64" in done.stdout
    out = np.load(tmp_path / "out.npy")
    assert_within_rule(out, reference("rfftn", array))
    done = cli("transform", "out.npy", "back.npy", "--kind", "c2r", "--real-length", 20, "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert_within_rule(np.load(tmp_path / "back.npy"), array, transforms=2)


def test_a_dry_run_prints_the_plan_and_writes_nothing(array, tmp_path):
    options = ("transform", "in.npy", "out.npy", "--memory", "2MiB", "--threads", 1)
    done = cli(*options, "--dry-run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("problem  r2c 48x30x20 forward float memory=2097152 threads=1")
    assert "counted" not in done.stdout
    assert os.listdir(tmp_path) == ["in.npy"]
    said = json.loads(cli(*options, "--dry-run", "--json", cwd=tmp_path).stdout)
    ran = json.loads(cli(*options, "--json", cwd=tmp_path).stdout)
    assert said["ranks"][0]["predicted"] == ran["ranks"][0]["predicted"]


def test_options(array, tmp_path):
    (tmp_path / "raw").write_bytes(b"12345678" + array.astype("complex128").tobytes())
    (tmp_path / "scratch").mkdir()
    done = cli(
        "transform", "raw", "out.raw", "--dtype", "complex128", "--shape", "48x30x20", "--offset", 8, "--axes", "-1,0",
        "--norm", "ortho", "--backward", "--kind", "c2c", "--memory", "64MiB", "--scratch", "scratch", "--threads", 1,
        "--engine", "ducc0", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["memory_bytes"] == 64 * MiB
    assert "ducc0" in found["ranks"][0]["engines"]
    out = np.fromfile(tmp_path / "out.raw", complex).reshape(48, 30, 20)
    exact = oracle.backward(array.astype(complex), "c2c", (2, 0), array.shape, "ortho")
    assert relative_error(out, exact) <= oracle.rule((20, 48), complex)


def test_scratch_folders_and_io(tmp_path, rng):
    np.save(tmp_path / "in.npy", rng.standard_normal(1 << 18).astype("float32"))
    for name in ("a", "b", "c,d"):
        (tmp_path / name).mkdir()
    run = ("transform", "in.npy", "out.npy", "--memory", "1MiB", "--explain", "--scratch")
    for scratch in ("a,b", "a", "c,d"):
        done = cli(*run, scratch, "--io", "threads", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.search(r"^io +16 threads$", done.stdout, re.M), done.stdout
        assert "io=threads" in done.stdout
    done = cli(*run, "a,c", cwd=tmp_path)
    assert done.returncode != 0
    assert "no folder c:" in done.stderr


def test_no_progress_bar_in_a_pipe_and_json_parses(array, tmp_path):
    done = cli("transform", "in.npy", "out.npy", "--json", "--explain", cwd=tmp_path)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["output_shape"] == [48, 30, 11]
    assert found["input_dtype"] == "float32"
    assert found["seconds"] > 0
    assert found["ranks"][0]["steps"]
    assert found["ranks"][0]["counted"]["disk_read_bytes"] == found["ranks"][0]["predicted"]["disk_read_bytes"]
    done = cli("transform", "in.npy", "out.npy", "--explain", cwd=tmp_path)
    assert done.stderr == ""
    assert "predicted" in done.stdout
    assert "counted" in done.stdout


def test_progress_bar_on_a_terminal(tmp_path, rng):
    pytest.importorskip("tqdm")
    np.save(tmp_path / "in.npy", rng.standard_normal((1 << 21,)).astype("complex64"))
    main, child = pty.openpty()
    command = [sys.executable, "-m", "spanfft", "transform", "in.npy", "out.npy", "--memory", "2MiB"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=child, stdout=subprocess.PIPE, env=cli_environment(COLUMNS="100", TERM="xterm")
    )
    os.close(child)
    shown = b""
    while True:
        ready, _, _ = select.select([main], [], [], 60)
        assert ready
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(main)
    process.communicate(timeout=60)
    assert process.returncode == 0
    # Percentage, time left, and a rate.
    assert re.search(rb"\d+%", shown), shown
    assert re.search(rb"<", shown), shown
    assert re.search(rb"B/s", shown), shown


def test_a_file_of_2_tb_is_planned_for_at_once(tmp_path):
    with open(tmp_path / "in.raw", "wb") as file:
        try:
            file.truncate(2 << 40)  # of holes
        except OSError as error:
            pytest.skip(f"no file of 2 TiB here: {error}")
    arguments = ["transform", "in.raw", "out.npy", "--dtype", "complex64", "--memory", "16MiB", "--dry-run"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = cli(*arguments, cwd=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "274877906944" in done.stdout + done.stderr
    assert after.ru_utime - before.ru_utime < 4  # of the interpreter's start, too


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_planning_is_ended_by_a_signal(number, code):
    """It took minutes, and kill -9, once. A signal may come before the command has a handler, or too late."""
    command = [sys.executable, "-m", "spanfft", "plan", "c2c 963761198400 memory=16MiB"]
    refused = subprocess.run(command, capture_output=True, env=cli_environment(), timeout=60).returncode
    assert refused == 4
    ended = set()
    for turn in range(40):  # from 0.1 to 8 s: machines differ, and so does their load
        # A shell's background job ignores SIGINT, and so would all that this test starts in one.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=cli_environment(),
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip
        time.sleep(0.1 * 1.12**turn)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=20)
        assert process.returncode in (refused, code, -number), stderr
        assert process.returncode != code or re.fullmatch(r"spanfft: (interrupted|terminated)[^\n]*\n", stderr), stderr
        ended.add(process.returncode)
        if code in ended:
            break
    assert code in ended


def test_plan_says_which_nodes_it_imagines_and_takes_others():
    def messages(*options):
        done = cli("plan", "c2c 256x256x256", "--ranks", 64, *options)
        assert (done.returncode, done.stderr) == (0, "")
        found = re.search(r"all 64 ranks: .*?([0-9]+) messages", done.stdout)
        return int(found[1]), next(line for line in done.stdout.splitlines() if "nodes imagined" in line)

    count, note = messages()
    assert "1 node of 64 ranks; --ranks-per-node" in note
    count_of_eights, note = messages("--ranks-per-node", 8)
    assert "8 nodes of up to 8 ranks" in note
    assert count_of_eights > count
    done = cli("plan", "c2c 8x8", "--ranks-per-node", "0")
    assert (done.returncode, "--ranks-per-node" in done.stderr) == (2, True)
    assert "nodes imagined" not in cli("plan", "c2c 8x8").stdout


def test_plan():
    done = cli("plan", "r2c", "64x64x64", "forward", "float", "--ranks", 4)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("predicted", "messages", "flop", "memory", "all 4 ranks"):
        assert word in done.stdout
    done = cli("plan", "r2c 64x64x64 ranks=4 exchange=alltoallv", "--json")
    found = json.loads(done.stdout)
    assert found["ranks"] == 4
    assert found["predicted"]["messages"] > 0
    assert found["predicted"]["sent_bytes"] > 0
    assert found["all_ranks"]["messages"] >= found["predicted"]["messages"]
    done = cli("plan", "c2c 4194304 float", "--memory", "8MiB", "--json")
    found = json.loads(done.stdout)
    assert found["sweeps"] >= 2
    assert found["predicted"]["disk_read_bytes"] >= 2 * 8 * 4194304
    assert found["peak_memory_bytes"] <= 8 * MiB


def test_plan_says_what_the_run_counts(array, tmp_path):
    done = cli("transform", "in.npy", "out.npy", "--memory", "32MiB", "--json", cwd=tmp_path)
    run = json.loads(done.stdout)["ranks"][0]
    planned = json.loads(cli("plan", run["problem"], "--json").stdout)
    for key in ("flops", "messages", "sent_bytes", "disk_read_bytes", "disk_written_bytes", "disk_reads"):
        assert planned["predicted"][key] == run["counted"][key], key
    assert planned["sweeps"] == run["sweeps"]


def test_info():
    done = cli("info")
    assert done.returncode == 0, done.stderr
    for word in ("spanfft", "python", "MPI", "engine", "ducc0", "processor", "memory", "disk I/O"):
        assert word in done.stdout
    found = json.loads(cli("info", "--json").stdout)
    assert found["version"] == spanfft.__version__
    assert found["memory_bytes"] >= found["available_bytes"] > 0
    assert cli("--version").stdout.strip() == f"spanfft {spanfft.__version__}"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "command"),
        (["fly"], 2, "fly"),
        (["transform"], 2, "INPUT"),
        (["transform", "in.npy"], 2, "OUTPUT"),
        (["transform", "in.npy", "out.npy", "--what"], 2, "--what"),
        (["transform", "in.npy", "out.npy", "--memory", "many"], 2, "many"),
        (["transform", "in.npy", "out.npy", "--axes", "a"], 2, "'a'"),
        (["transform", "in.npy", "out.npy", "--axes", "9"], 2, "out of bounds"),
        (["transform", "in.npy", "out.npy", "--kind", "c2c"], 2, "r2c"),
        (["transform", "in.npy", "in.npy"], 2, "never overwritten"),
        (["transform", "missing.npy", "out.npy"], 5, "missing.npy"),
        (["transform", "in.npy", "nowhere/out.npy"], 5, "nowhere"),
        (["transform", "in.npy", "out.npy", "--memory", "1000"], 4, "1000"),
        (["transform", "bad.npy", "out.npy"], 7, "truncated"),
        (["transform", "text.npy", "out.npy"], 2, "astype"),
        (["plan", "c2c"], 2, ""),
        (["plan", "c2c", "4x4", "sideways"], 2, "sideways"),
        (["plan", "c2c", "4x4", "--ranks", "0"], 2, "--ranks"),
        (["plan", "c2c", "4x4", "--ranks", "9999999999"], 2, "9999999999"),
        (["transform", "in.npy", "out.npy", "--threads", "3000000000"], 2, "3000000000"),
        (["transform", "in.npy", "out.npy", "--memory", "99999999T"], 2, "99999999T"),
        (["transform", "in.npy", "out.npy", "--grid", "99999999999999999999"], 2, "larger"),
        (["transform", "in.npy", "out.npy", "--real-length", "99999999999999999999"], 2, "larger"),
        (["transform", "in.npy", "out.npy", "--threads", "two"], 2, "'two' is no whole number"),
        (["permute", "in.npy", "out.npy", "--kind", "bit-reversal", "--threads", "3000000000"], 2, "larger"),
        (["permute", "in.npy", "out.npy", "--kind", "bit-reversal", "--memory", "many"], 2, "many"),
    ],
)
def test_exit_codes_and_sentences(arguments, code, words, tmp_path):
    np.save(tmp_path / "in.npy", np.ones((4, 4)))
    np.save(tmp_path / "text.npy", np.array(["ab", "cd"]))
    (tmp_path / "bad.npy").write_bytes((tmp_path / "in.npy").read_bytes()[:-8])
    done = cli(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert re.fullmatch(r"spanfft: [^\n]+\n", done.stderr), done.stderr
    assert words in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["bad.npy", "in.npy", "text.npy"]


def test_help_has_the_exit_codes():
    for arguments in (["--help"], ["transform", "--help"]):
        done = cli(*arguments)
        assert done.returncode == 0
        assert "130 interrupted" in done.stdout


def test_help_of_plan_has_every_key_of_a_problem():
    done = cli("plan", "--help")
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    for name, values, default, sentence in core.problem_keys():
        entry = f"{name}={values} {sentence} (default: {default})" if values else f"{name} {sentence}"
        assert f" {entry}" in said
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_a_closed_pipe_is_no_error():
    script = f"{sys.executable} -m spanfft info | true"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=cli_environment())
    assert done.stderr == ""


def large_input(tmp_path):
    """Big enough that a run can be caught in the middle: 256 MiB, with a budget of 16 MiB."""
    with open(tmp_path / "in.raw", "wb") as file:
        for i in range(32):
            file.write(np.full(MiB, i + 1, "complex64").tobytes())
    return ["transform", "in.raw", "out.npy", "--dtype", "complex64", "--memory", "16MiB"]


def start_and_catch(arguments, tmp_path):
    """Starts a run and returns it when it has begun to write (or ended)."""
    command = [sys.executable, "-m", "spanfft", *arguments]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=cli_environment()
    )
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/io") as file:
                written = int(re.search(r"write_bytes: (\d+)", file.read())[1])
        except OSError:
            break
        if written > 48 * MiB:
            break
        time.sleep(0.002)
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_nothing_behind_without_a_journal(number, code, tmp_path):
    process = start_and_catch([*large_input(tmp_path), "--no-journal"], tmp_path)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("it was done before the signal came")
    assert process.returncode == code, stderr
    assert re.fullmatch(r"spanfft: (interrupted|terminated)[^\n]*\n", stderr)
    assert os.listdir(tmp_path) == ["in.raw"]


@pytest.mark.parametrize("journal", [[], ["--no-journal"]])
def test_killed_runs_leave_nothing_after_the_next(journal, tmp_path):
    arguments = [*large_input(tmp_path), *journal]
    process = start_and_catch(arguments, tmp_path)
    process.kill()
    process.communicate()
    assert not (tmp_path / "out.npy").exists() or process.returncode == 0
    done = cli(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["in.raw", "out.npy"]
    out = np.load(tmp_path / "out.npy", mmap_mode="r")
    assert abs(out[0] - MiB * 32 * 33 / 2) <= 1e-5 * MiB * 32 * 33 / 2


def test_start_up_is_light(array, tmp_path):
    script = (
        "import sys, spanfft.cli\n"
        "code = spanfft.cli.main(['transform', 'in.npy', 'out.npy', '--quiet'])\n"
        "print(code, sorted({'numpy', 'scipy', 'matplotlib', 'mpi4py', 'tqdm'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=cli_environment()
    )
    assert done.stdout == "0 []\n", done.stderr


# A command that transforms next to nothing, with the same libraries, says what these take: some 20 MiB, and 30 more
# where MKL has kernels of its own for the processor.
def test_memory_stays_within_the_budget(tmp_path):
    arguments = large_input(tmp_path)
    np.save(tmp_path / "small.npy", np.zeros(4096, "complex64"))
    small = cli("transform", "small.npy", "small-out.npy", "--memory", "16MiB", "--json", cwd=tmp_path)
    done = cli(*arguments, "--json", cwd=tmp_path)
    assert small.returncode == done.returncode == 0, small.stderr + done.stderr
    found, libraries = json.loads(done.stdout), json.loads(small.stdout)["peak_resident_bytes"]
    grown = found["peak_resident_bytes"] - libraries
    assert 4 * MiB <= grown <= 16 * MiB, (grown / MiB, libraries / MiB)
    assert found["peak_resident_bytes"] <= (16 + 64) * MiB, found["peak_resident_bytes"] / MiB
    assert found["peak_resident_bytes"] >= 8 * MiB
    assert found["ranks"][0]["peak_memory_bytes"] <= 16 * MiB


@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_on_ranks(ranks, array, tmp_path):
    done = cli_on_ranks(ranks, "transform", tmp_path / "in.npy", tmp_path / "out.npy")
    assert done.returncode == 0, done.stderr
    # One line, from one rank.
    assert done.stdout.count("\n") == 1
    assert f"on {ranks} ranks" in done.stdout
    assert_within_rule(np.load(tmp_path / "out.npy"), reference("rfftn", array))
    options = ["--kind", "c2r", "--json", "--memory", "64MiB"]
    done = cli_on_ranks(ranks, "transform", tmp_path / "out.npy", tmp_path / "back.npy", *options)
    found = json.loads(done.stdout)
    assert len(found["ranks"]) == ranks
    assert [report["rank"] for report in found["ranks"]] == list(range(ranks))
    for report in found["ranks"]:
        for key in ("messages", "sent_bytes", "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"):
            assert report["counted"][key] == report["predicted"][key], key
    read = sum(report["counted"]["disk_read_bytes"] for report in found["ranks"])
    assert read >= 48 * 30 * 11 * 8
    assert_within_rule(np.load(tmp_path / "back.npy"), array, transforms=2)
    assert sorted(os.listdir(tmp_path)) == ["back.npy", "in.npy", "out.npy"]


def test_errors_on_ranks(array, tmp_path):
    for arguments, code, words in [
        (["transform", tmp_path / "missing.npy", tmp_path / "out.npy"], 5, "missing.npy"),
        (["transform", tmp_path / "in.npy", tmp_path / "out.npy", "--kind", "c2c"], 2, "r2c"),
        (["transform", tmp_path / "in.npy"], 2, "OUTPUT"),
        (["transform", tmp_path / "in.npy", tmp_path / "out.npy", "--grid", "7x1x1"], 2, "7"),
    ]:
        done = cli_on_ranks(3, *arguments)
        assert done.returncode == code, (done.returncode, done.stderr)
        assert done.stderr.count("spanfft: ") == 1, done.stderr
        assert words in done.stderr
    assert os.listdir(tmp_path) == ["in.npy"]


def test_tuning_results_that_rank_0_cannot_read_are_an_error_on_all(tmp_path):
    done = cli_on_ranks(2, "tune", "c2c 8x8", "--import", tmp_path / "nothing", timeout=60)
    assert done.returncode == 5, (done.returncode, done.stderr)
    assert done.stderr.count("spanfft: ") == 1, done.stderr
    assert "nothing" in done.stderr


def test_plan_and_info_on_ranks_print_once():
    done = cli_on_ranks(2, "plan", "c2c 8x8")
    assert done.returncode == 0
    assert done.stdout.count("problem ") == 1
