"""Runs that are killed or stopped, and the ones that go on: the command line and transform() with a journal."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import spanfft
from conftest import cli, cli_environment

KiB = 1 << 10


@pytest.fixture
def source(rng, tmp_path):
    x = rng.standard_normal((96, 70, 50)) + 1j * rng.standard_normal((96, 70, 50))
    np.save(tmp_path / "in.npy", x)
    return x


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stop_after(share: float):
    return lambda done, total: done < share * total


def leave_unfinished(tmp_path: Path, share: float = 0.8, **options: object) -> None:
    with pytest.raises(spanfft.Interrupted, match="goes on from there"):
        spanfft.transform(
            tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB, progress=stop_after(share), **options
        )


def undisturbed(tmp_path: Path) -> str:
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "whole.npy", memory=1024 * KiB)
    assert result.resumed_bytes == 0
    whole = digest(tmp_path / "whole.npy")
    os.unlink(tmp_path / "whole.npy")
    return whole


@pytest.mark.parametrize("share", [0.3, 0.55, 0.8, 0.95])
def test_the_same_call_goes_on_to_the_same_bits(source, tmp_path, share):
    whole = undisturbed(tmp_path)
    leave_unfinished(tmp_path, share)
    assert not (tmp_path / "out.npy").exists()
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB)
    assert result.resumed_bytes > 0
    assert digest(tmp_path / "out.npy") == whole
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.fft.fftn(source), rtol=0, atol=1e-9)


def test_a_run_that_goes_on_takes_the_budget_of_the_one_that_began(source, tmp_path):
    whole = undisturbed(tmp_path)
    leave_unfinished(tmp_path)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", resume=True)
    assert result.memory_bytes == 1024 * KiB
    assert result.resumed_bytes > 0
    assert digest(tmp_path / "out.npy") == whole


def test_another_budget_is_refused_and_both_are_named(source, tmp_path):
    leave_unfinished(tmp_path)
    with pytest.raises(spanfft.InvalidArgument, match=r"memory=1048576.*memory=1572864.*restart"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=1536 * KiB)


def test_a_changed_input_is_refused_and_restart_begins_anew(source, tmp_path):
    leave_unfinished(tmp_path)
    np.save(tmp_path / "in.npy", 2 * source)
    with pytest.raises(spanfft.CorruptData, match=r"in\.npy has changed"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB, resume=False)
    assert result.resumed_bytes == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), 2 * np.fft.fftn(source), rtol=0, atol=1e-9)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def test_resume_is_refused_where_there_is_nothing_to_resume(source, tmp_path):
    with pytest.raises(spanfft.InvalidArgument, match="no unfinished run"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB, resume=True)
    with pytest.raises(spanfft.InvalidArgument, match="journal=True"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", resume=True, journal=False)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_without_a_journal_a_stopped_run_leaves_nothing(source, tmp_path):
    with pytest.raises(spanfft.Interrupted):
        spanfft.transform(
            tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB, progress=stop_after(0.8), journal=False
        )
    assert os.listdir(tmp_path) == ["in.npy"]


def test_plans_say_whether_they_can_have_a_journal(source, tmp_path):
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB)
    assert any("can be journalled" in note for note in result.report["notes"])
    assert "can be journalled" in result.explain
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="64MiB", method="file_in_memory")
    assert any("no journal" in note and "file_in_memory" in note for note in result.report["notes"])


# --- the command line ----------------------------------------------------------------------------------------------


def large_input(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1 << 22) * 2).astype("float32").view("complex64")
    x.tofile(tmp_path / "in.raw")
    return ["transform", "in.raw", "out.npy", "--dtype", "complex64", "--memory", "4MiB"]


def begun(arguments: list[str], tmp_path: Path) -> subprocess.Popen:
    """A run that has noted its first panels (or has ended)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "spanfft", *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=cli_environment(), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while process.poll() is None:
        journals = list(tmp_path.glob(".*spanfft-journal"))
        if journals and b"\npanels " in journals[0].read_bytes():
            break
        time.sleep(0.001)
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_signals_leave_what_the_same_command_goes_on_with(number, code, tmp_path):
    arguments = large_input(tmp_path)
    done = cli(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = digest(tmp_path / "out.npy")
    os.unlink(tmp_path / "out.npy")
    process = begun(arguments, tmp_path)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == code, stderr
    if number != signal.SIGKILL:
        assert "the same command goes on from there" in stderr
        assert stderr.count("\n") == 1
    assert not (tmp_path / "out.npy").exists()
    done = cli(*arguments, "--resume", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["resumed_bytes"] > 0
    assert digest(tmp_path / "out.npy") == whole
    assert sorted(os.listdir(tmp_path)) == ["in.raw", "out.npy"]


def test_two_commands_on_one_output_exclude_each_other(tmp_path):
    arguments = large_input(tmp_path)
    process = begun(arguments, tmp_path)
    process.send_signal(signal.SIGSTOP)
    try:
        assert process.poll() is None
        done = cli(*arguments, cwd=tmp_path)
        assert done.returncode != 0
        assert f"process {process.pid}" in done.stderr
    finally:
        process.kill()
        process.communicate()
    done = cli(*arguments, "--restart", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["resumed_bytes"] == 0


def test_no_journal_and_resume_exclude_each_other(tmp_path):
    done = cli("transform", "in.npy", "out.npy", "--resume", "--no-journal", cwd=tmp_path)
    assert done.returncode == 2
    assert "not allowed with" in done.stderr


@pytest.mark.parametrize("name", ["ducc0", "xxhash"])
def test_licences_of_what_is_compiled_in_are_shipped(name):
    text = files("spanfft").joinpath("licenses", f"LICENSE.{name}").read_text()
    assert "Copyright" in text or "copyright" in text
