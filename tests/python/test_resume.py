"""Runs that are killed or stopped, and the ones that go on: the command line and transform() with a journal."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import spanfft
from conftest import assert_transform, cli, cli_environment, cli_on_ranks

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
    assert_transform(np.load(tmp_path / "out.npy"), source)


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
    assert_transform(np.load(tmp_path / "out.npy"), 2 * source)
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


def test_a_run_goes_on_however_its_files_are_spelt(source, tmp_path, monkeypatch):
    whole = undisturbed(tmp_path)
    leave_unfinished(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = spanfft.transform("./in.npy", f"../{tmp_path.name}/out.npy", memory=1024 * KiB)
    assert result.resumed_bytes > 0
    assert digest(tmp_path / "out.npy") == whole
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def journal_of(tmp_path: Path) -> Path:
    (found,) = tmp_path.glob(".*spanfft-journal")
    return found


def test_a_run_without_a_journal_takes_away_what_one_left_that_had_not_begun(source, tmp_path):
    leave_unfinished(tmp_path)
    in_memory = {"memory": "64MiB", "method": "file_in_memory"}
    with pytest.raises(spanfft.InvalidArgument, match=r"unfinished run between these files.*writes it once"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", **in_memory)
    lines = journal_of(tmp_path).read_bytes().splitlines(keepends=True)
    begun = [line for line in lines if not line.startswith(b"panels ")]
    assert len(begun) < len(lines)
    journal_of(tmp_path).write_bytes(b"".join(begun))
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", **in_memory)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


@pytest.mark.parametrize("damage", [False, True])
def test_restart_without_a_journal_leaves_nothing_of_another_run(source, tmp_path, damage):
    leave_unfinished(tmp_path)
    if damage:
        journal_of(tmp_path).write_bytes(b"no journal\nat all\n" * 20)
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="64MiB", method="file_in_memory", resume=False)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def test_ranks_dont_pass_over_an_unfinished_run(source, tmp_path):
    leave_unfinished(tmp_path)
    command = ["transform", tmp_path / "in.npy", tmp_path / "out.npy", "--memory", "64MiB"]
    done = cli_on_ranks(2, *command)
    assert done.returncode == 2, done.stderr
    assert "unfinished run between these files" in done.stderr
    assert not (tmp_path / "out.npy").exists()
    done = cli_on_ranks(2, *command, "--restart")
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


# --- chunked arrays, packed spectra, callbacks -----------------------------------------------------------------------

CALLBACKS = """
import json, sys
import numpy as np
import spanfft

def shift(block, index):
    block += (index + np.arange(len(block))) % 7

result = spanfft.transform("in.raw", "out.npy", dtype="complex64", memory="4MiB", on_input=shift, on_output=shift,
                           callback_name="shift 1", resume=True if "--resume" in sys.argv else None)
print(json.dumps({"resumed_bytes": result.resumed_bytes}))
"""
SPANFFT = ["-m", "spanfft", "transform", "--memory", "4MiB", "--json"]
# Of each kind the words behind python, and the output.
RUNS = {
    "zarr": ([*SPANFFT, "in.zarr", "out.zarr"], "out.zarr"),
    "hdf5": ([*SPANFFT, "in.h5:/x", "out.h5:/y", "--chunks", "100x300", "--compression", "lzf"], "out.h5"),
    "presto": ([*SPANFFT, "in.dat", "out.fft"], "out.fft"),
    "callbacks": (["run.py"], "out.npy"),
}


def make_input(kind: str, tmp_path: Path, rows: int = 2048) -> None:
    rng = np.random.default_rng(7)
    if kind == "presto":
        rng.standard_normal(rows * 4096).astype("float32").tofile(tmp_path / "in.dat")
        (tmp_path / "in.inf").write_text(f" Number of bins in the time series      =  {rows * 4096}\n")
        return
    x = rng.standard_normal((rows, 4096)).astype("float32").view("complex64")
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.create_array(store=tmp_path / "in.zarr", data=x, chunks=(256, 200), compressors=None)
    elif kind == "hdf5":
        with pytest.importorskip("h5py").File(tmp_path / "in.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=(128, 200))
    else:
        x.tofile(tmp_path / "in.raw")
        (tmp_path / "run.py").write_text(CALLBACKS)


def digest_of(path: Path) -> str:
    """Of a file's or a folder's content; of HDF5 the numbers, as LZF packs the same ones differently each time."""
    if path.suffix == ".h5":
        import h5py

        with h5py.File(path) as file:
            (name,) = file
            return hashlib.sha256(file[name][()].tobytes()).hexdigest()
    if path.is_file():
        return digest(path)
    files = sorted(each for each in path.rglob("*") if each.is_file())
    return hashlib.sha256(b"".join(str(f.relative_to(path)).encode() + f.read_bytes() for f in files)).hexdigest()


def killed(words: list[str], tmp_path: Path, delay: float) -> bool:
    """SIGKILL so long after the first panels were on the disk, unless the run ended before."""
    process = begun_with(words, tmp_path)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay)
    process.kill()
    _, stderr = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), stderr
    return process.returncode != 0


@pytest.mark.parametrize("kind", RUNS)
def test_killed_at_random_moments_they_go_on_to_the_same_bits(kind, tmp_path):
    make_input(kind, tmp_path)
    words, output = RUNS[kind]
    before = set(os.listdir(tmp_path))
    process = begun_with(words, tmp_path)
    start = time.perf_counter()
    _, stderr = process.communicate()
    seconds = time.perf_counter() - start
    assert process.returncode == 0, stderr
    whole, after = digest_of(tmp_path / output), set(os.listdir(tmp_path))
    assert not [name for name in after if name.startswith(".")]
    seed = 20261122
    random = np.random.default_rng(seed)
    kills = resumptions = 0
    for _ in range(3):
        for name in after - before:
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            (tmp_path / name).unlink(missing_ok=True)
        whole_before = False
        for _ in range(2):  # the run that goes on is killed too
            if not killed(words, tmp_path, random.uniform(0, 0.6) * seconds):
                break
            kills += 1
            whole_before = (tmp_path / output).exists()  # killed at its very end
            if whole_before:
                break
        if not (tmp_path / output).exists():
            done = subprocess.run([sys.executable, *words, "--resume"], cwd=tmp_path, capture_output=True, text=True,
                                  env=cli_environment(), timeout=300)  # fmt: skip
            assert done.returncode == 0, (seed, done.stderr)
            assert json.loads(done.stdout)["resumed_bytes"] > 0, seed
            resumptions += 1
        assert digest_of(tmp_path / output) == whole, seed
        assert whole_before or set(os.listdir(tmp_path)) == after, seed  # else the next run cleans up
    assert kills >= 2
    assert resumptions >= 1


def stopped(kind: str, tmp_path: Path, share: float, **options: object) -> tuple[str, str, dict[str, object]]:
    """Leaves an unfinished run of a small array, and says how to go on."""
    make_input(kind, tmp_path, 192)
    source, target = ("in.zarr", "out.zarr") if kind == "zarr" else ("in.h5", "out.h5")
    memory = {"memory": 3 << 20, "chunks": (128, 100)} | options
    with pytest.raises(spanfft.Interrupted, match="goes on from there"):
        spanfft.transform(tmp_path / source, tmp_path / target, progress=stop_after(share), **memory)
    return str(tmp_path / source), str(tmp_path / target), memory


@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("kind", ["zarr", "hdf5"])
def test_chunked_arrays_go_on_and_take_the_budget_of_the_run_that_began(kind, share, tmp_path):
    source, target, options = stopped(kind, tmp_path, share)
    result = spanfft.transform(source, target, resume=True, chunks=(128, 100))
    assert result.resumed_bytes > 0
    assert result.memory_bytes == options["memory"]
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, (source, target)))
    whole = str(tmp_path / ("whole" + os.path.splitext(target)[1]))
    spanfft.transform(source, whole, **options)
    assert digest_of(Path(target)) == digest_of(Path(whole))


@pytest.mark.parametrize("kind", ["zarr", "hdf5"])
def test_a_chunk_that_changed_is_noticed(kind, tmp_path):
    source, target, options = stopped(kind, tmp_path, 0.6)
    if kind == "zarr":
        import zarr

        zarr.open_array(source, mode="r+")[0, 0] = 5
    else:
        import h5py

        with h5py.File(source, "r+") as file:
            file["x"][0, 0] = 5
    with pytest.raises(spanfft.CorruptData, match=r"in\.\w+ has changed since.*restart"):
        spanfft.transform(source, target, **options)
    result = spanfft.transform(source, target, **options, resume=False)
    assert result.resumed_bytes == 0
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, (source, target)))


@pytest.mark.parametrize("kind", ["zarr", "hdf5"])
def test_another_way_to_store_the_output_is_refused(kind, tmp_path):
    source, target, options = stopped(kind, tmp_path, 0.6)
    with pytest.raises(spanfft.InvalidArgument, match=r"output_chunk=128x100.*output_chunk=64x100.*restart"):
        spanfft.transform(source, target, **options | {"chunks": (64, 100)})
    with pytest.raises(spanfft.InvalidArgument, match=r"was to store its output otherwise.*gzip.*restart"):
        spanfft.transform(source, target, **options, compression="gzip")
    if kind == "hdf5":
        with pytest.raises(spanfft.InvalidArgument, match=r"was to store its output otherwise.*/data.*/other"):
            spanfft.transform(source, f"{target}:/other", **options)
    assert spanfft.transform(source, target, **options).resumed_bytes > 0


@pytest.mark.parametrize("kind", ["zarr", "hdf5"])
def test_restart_leaves_nothing_of_what_it_throws_away(kind, tmp_path):
    scratch = [tmp_path / "a", tmp_path / "b"]
    for each in scratch:
        each.mkdir()
    source, target, options = stopped(kind, tmp_path, 0.6, scratch=scratch)
    assert any(".spanfft-kept-input" in name for name in os.listdir(scratch[1]))
    result = spanfft.transform(source, target, **options | {"scratch": scratch[:1]}, resume=False)
    assert result.resumed_bytes == 0
    assert os.listdir(scratch[0]) == os.listdir(scratch[1]) == []
    assert sorted(os.listdir(tmp_path)) == sorted(["a", "b", *map(os.path.basename, (source, target))])


def test_an_output_that_cant_be_published_is_when_it_can(tmp_path, monkeypatch):
    """The last thing that can fail: what the output is made of is still there."""
    from spanfft._formats import zarr as format

    make_input("zarr", tmp_path, 192)

    def fail(new: str, path: str) -> None:
        raise OSError(28, "No space left on device")

    options = {"memory": 3 << 20, "chunks": (128, 100)}
    with monkeypatch.context() as patched:
        patched.setattr(format, "_exchange", fail)
        with pytest.raises(spanfft.NoSpace, match="No space left"):
            spanfft.transform(tmp_path / "in.zarr", tmp_path / "out.zarr", **options)
    assert not (tmp_path / "out.zarr").exists()
    assert not [name for name in os.listdir(tmp_path) if name.endswith("partial")]
    assert spanfft.transform(tmp_path / "in.zarr", tmp_path / "out.zarr", **options, resume=True).resumed_bytes > 0
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]


def test_callbacks_need_a_name_and_the_same_one(source, tmp_path):
    calls = []

    def negate(block, index):
        calls.append(len(block))
        block *= -1

    def go(**options: object) -> spanfft.TransformResult:
        return spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=1024 * KiB, **options)

    result = go(on_input=negate)
    assert any("no journal of this run: its callbacks have no name" in note for note in result.report["notes"])
    with pytest.raises(spanfft.InvalidArgument, match="callback_name is 'negate'"):
        go(callback_name="negate")
    whole = digest(tmp_path / "out.npy")
    os.unlink(tmp_path / "out.npy")
    leave_unfinished(tmp_path, on_input=negate, callback_name="negate")
    for options in ({}, {"on_input": negate}, {"on_input": negate, "callback_name": "negate twice"}):
        with pytest.raises(spanfft.InvalidArgument, match=r"unfinished run.*restart"):
            go(**options)
    calls.clear()
    result = go(on_input=negate, callback_name="negate", resume=True)
    assert result.resumed_bytes > 0
    assert sum(calls) < source.size
    assert digest(tmp_path / "out.npy") == whole
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


# --- the command line ----------------------------------------------------------------------------------------------


def large_input(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1 << 22) * 2).astype("float32").view("complex64")
    x.tofile(tmp_path / "in.raw")
    return ["transform", "in.raw", "out.npy", "--dtype", "complex64", "--memory", "4MiB"]


def large_permutation(tmp_path: Path) -> list[str]:
    large_input(tmp_path)
    return ["permute", "in.raw", "out.npy", "--kind", "bit-reversal", "--dtype", "complex64", "--memory", "1MiB"]


def begun(arguments: list[str], tmp_path: Path) -> subprocess.Popen:
    return begun_with(["-m", "spanfft", *arguments], tmp_path)


def begun_with(words: list[str], tmp_path: Path) -> subprocess.Popen:
    """A run that has noted its first panels (or has ended)."""
    process = subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=cli_environment(), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while process.poll() is None:
        journals = list(tmp_path.glob(".*spanfft-journal"))
        if journals and b"\npanels " in journals[0].read_bytes():
            break
        time.sleep(0.001)
    return process


@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        (large_input, signal.SIGINT, 130),
        (large_input, signal.SIGTERM, 143),
        (large_input, signal.SIGKILL, -signal.SIGKILL),
        (large_permutation, signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_signals_leave_what_the_same_command_goes_on_with(command, number, code, tmp_path):
    arguments = command(tmp_path)
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
