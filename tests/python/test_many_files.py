"""Many files in one command: each into one of its own, all checked first, with one plan where they are alike."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import spanfft
from conftest import assert_transform, cli, relative_error
from soak import oracle
from spanfft import _file_runs

COUNTED = ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes")


def series(folder, names, rng, n=3000, dtype="float32"):
    """Files of noise by name."""
    made = {}
    for name in names:
        made[name] = rng.standard_normal(n).astype(dtype)
        if name.endswith(".npy"):
            np.save(folder / name, made[name])
            continue
        made[name].tofile(folder / name)
        inf = (folder / name).with_suffix(".inf")
        inf.write_text(f" Data file name without suffix          =  {inf.stem}\n"
                       f" Number of bins in the time series      =  {n}\n")  # fmt: skip
    (folder / "out").mkdir()
    return made


@pytest.fixture
def plans(monkeypatch):
    """The problems that are planned, in order."""
    seen = []
    make = _file_runs.core.plan
    monkeypatch.setattr(_file_runs.core, "plan", lambda problem, *rest: (seen.append(problem), make(problem, *rest))[1])
    return seen


@pytest.mark.parametrize("memory", ["1MiB", "8MiB"])
def test_each_file_has_its_own_output_and_alike_ones_share_a_plan(memory, rng, tmp_path, plans):
    n = 300_000
    made = series(tmp_path, [f"s{i}.npy" for i in range(5)], rng, n)
    told, seen = [], []
    results = spanfft.transform_files(
        [tmp_path / name for name in made],
        tmp_path / "out",
        memory=memory,
        progress=lambda done, total: told.append((done, total)),
        on_result=seen.append,
    )
    assert len(plans) == 1
    assert seen == results
    assert sorted(os.listdir(tmp_path / "out")) == sorted(made)
    for (name, x), result in zip(made.items(), results, strict=True):
        assert (result.input, result.output) == (str(tmp_path / name), str(tmp_path / "out" / name))
        assert_transform(np.load(tmp_path / "out" / name), x, "r2c")
        for key in COUNTED:
            assert result.report["counted"][key] == result.report["predicted"][key], key
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]
    assert len({total for _, total in told}) == 1


def test_unlike_files_are_planned_apart(rng, tmp_path, plans):
    made = series(tmp_path, ["a.npy", "b.npy", "c.npy"], rng)
    np.save(tmp_path / "b.npy", rng.integers(-9, 9, (40, 50)).astype(">i2"))
    spanfft.transform_files([tmp_path / name for name in made], tmp_path / "out", memory="1MiB", axes=-1)
    assert len(plans) == 3
    assert_transform(np.load(tmp_path / "out" / "b.npy"), np.load(tmp_path / "b.npy").astype(float), "r2c", (1,))
    assert_transform(np.load(tmp_path / "out" / "c.npy"), made["c.npy"], "r2c")


def test_presto_series_go_there_and_back_with_their_inf_files(rng, tmp_path):
    made = series(tmp_path, ["a.dat", "b.dat"], rng)
    done = cli("transform", "a.dat", "b.dat", "--into", "out", "--memory", "1MiB", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("2 files in ")
    assert sorted(os.listdir(tmp_path / "out")) == ["a.fft", "a.inf", "b.fft", "b.inf"]
    for name, x in made.items():
        stem = name[:-4]
        assert (tmp_path / "out" / f"{stem}.inf").read_text() == (tmp_path / f"{stem}.inf").read_text()
        packed = np.fromfile(tmp_path / "out" / f"{stem}.fft", np.complex64)
        whole = np.append(packed, packed[0].imag)
        whole[0] = whole[0].real
        assert_transform(whole, x, "r2c")
    (tmp_path / "back").mkdir()
    spanfft.transform_files([tmp_path / "out/a.fft", tmp_path / "out/b.fft"], tmp_path / "back", memory="1MiB")
    assert sorted(os.listdir(tmp_path / "back")) == ["a.dat", "a.inf", "b.dat", "b.inf"]
    for name, x in made.items():
        y = np.fromfile(tmp_path / "back" / name, np.float32)
        assert relative_error(y, x.astype(np.longdouble)) <= 2 * oracle.rule(x.shape, "float32")  # there and back


def test_the_counts_of_all_files_are_the_sums_of_each(rng, tmp_path):
    made = series(tmp_path, ["a.npy", "b.npy", "c.npy"], rng, 70_000, "int16")
    done = cli("transform", *made, "--into", "out", "--memory", "1MiB", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert [file["output"] for file in said["files"]] == [f"out/{name}" for name in made]
    for key in COUNTED:
        assert said["counted"][key] == sum(file["ranks"][0]["counted"][key] for file in said["files"]) > 0
    assert said["counted"]["disk_read_bytes"] >= 3 * 140_000
    assert said["seconds"] == pytest.approx(sum(file["seconds"] for file in said["files"]))


def test_another_suffix_is_another_format_and_a_plan_is_explained_once(rng, tmp_path):
    made = series(tmp_path, ["a.dat", "b.dat"], rng)
    options = ("--into", "out", "--suffix", ".npy", "--power", "--memory", "1MiB", "--explain")
    done = cli("transform", *made, *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\nproblem  ") == 1
    assert sorted(os.listdir(tmp_path / "out")) == ["a.npy", "b.npy"]
    assert np.load(tmp_path / "out" / "b.npy").shape == (1501,)


def test_all_files_are_checked_before_the_first_is_transformed(rng, tmp_path):
    series(tmp_path, ["a.npy", "b.npy"], rng)
    np.save(tmp_path / "b.npy", np.array(["no", "numbers"]))
    with pytest.raises(spanfft.InvalidType, match=r"b\.npy"):
        spanfft.transform_files([tmp_path / "a.npy", tmp_path / "b.npy"], tmp_path / "out", memory="1MiB")
    assert os.listdir(tmp_path / "out") == []


def test_what_was_whole_before_a_failure_stays(rng, tmp_path):
    made = series(tmp_path, ["a.npy", "b.npy", "c.npy"], rng)
    calls = []

    def fail(block, index):
        calls.append(index)
        if len(calls) == 2:
            raise ValueError("enough")

    with pytest.raises(spanfft.CallbackFailed):
        spanfft.transform_files([tmp_path / n for n in made], tmp_path / "out", memory="1MiB", on_output=fail)
    assert os.listdir(tmp_path / "out") == ["a.npy"]
    assert_transform(np.load(tmp_path / "out" / "a.npy"), made["a.npy"], "r2c")


def test_what_makes_no_sense_is_refused_by_name(rng, tmp_path):
    series(tmp_path, ["a.npy"], rng)
    (tmp_path / "other").mkdir()
    np.save(tmp_path / "other" / "a.npy", np.ones(8))
    inputs = [tmp_path / "a.npy"]
    for files, folder, options, words in (
        ([], tmp_path / "out", {}, "no input"),
        (str(inputs[0]), tmp_path / "out", {}, "list of files"),
        (inputs, tmp_path / "nowhere", {}, "nowhere is no folder"),
        ([*inputs, tmp_path / "other" / "a.npy"], tmp_path / "out", {}, r"would both become .*out.a\.npy"),
        (inputs, tmp_path / "out", {"suffix": "npy"}, "begins with a dot"),
        (inputs, tmp_path / "out", {"axis": 0}, "did you mean 'axes'"),
        (inputs, tmp_path / "out", {"trace": "t.json"}, "takes no 'trace'"),
        (inputs, tmp_path, {}, "is the input too"),
    ):
        with pytest.raises(spanfft.InvalidArgument, match=words):
            spanfft.transform_files(files, folder, **options)
    for arguments, words in (
        (("a.npy", "b.npy", "c.npy"), "3 files are named"),
        (("a.npy", "b.npy", "--suffix", ".npy"), "--suffix is for"),
        (("a.npy", "--into", "out", "--in-place"), "--in-place is for one file"),
        (("a.npy", "--into", "out", "--trace", "t.json"), "--trace is for one file"),
    ):
        done = cli("transform", *arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr
    assert os.listdir(tmp_path / "out") == []
