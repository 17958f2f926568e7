"""What is misspelt, misplaced, impossible or strange is refused by name, or works; nothing of it is a bug's exit."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
import spanfft
import spanfft.cli
from conftest import assert_transform, assert_within_rule, cli, cli_environment, reference, relative_error
from soak import oracle

STRANGE = os.fsdecode(b"na\xffme-\xc3\xa9")  # no UTF-8, and a letter beyond ASCII
TIMEOUT = 60


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "in.npy", np.arange(96, dtype="complex64").reshape(8, 12))
    return tmp_path


def shell(line, folder, **changes):
    """Through sh, which can close and redirect descriptors; standard error as bytes."""
    environment = cli_environment(SPANFFT=f"{sys.executable} -m spanfft", **changes)
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command line in this process, in the test's folder: its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def called(*arguments):
        code = spanfft.cli.main(list(arguments))
        return (code, *capsys.readouterr())

    yield called
    signal.signal(signal.SIGTERM, before)


# --- names of files --------------------------------------------------------------------------------------------------


def test_names_that_are_no_utf8_are_read_and_written(folder):
    os.rename(folder / "in.npy", folder / f"{STRANGE}.npy")
    os.mkdir(folder / f"{STRANGE}.d")
    out = f"{STRANGE}-out.npy"
    done = spanfft.transform(folder / f"{STRANGE}.npy", folder / out, scratch=folder / f"{STRANGE}.d")
    assert done.output == str(folder / out)
    assert spanfft.transform(os.fsencode(folder / f"{STRANGE}.npy"), os.fsencode(folder / out)).output == done.output
    assert_within_rule(np.load(folder / out), reference("fftn", np.load(folder / f"{STRANGE}.npy")))
    with pytest.raises(spanfft.IOFailure) as raised:
        spanfft.transform(folder / f"absent-{STRANGE}.npy", folder / "out.npy")
    assert STRANGE in str(raised.value)
    done = shell("$SPANFFT transform na*e-??.npy back.npy && $SPANFFT transform na*-out.npy again-$(ls -d na*.d).npy",
                 folder)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    # Names are said as they are, byte for byte; JSON spells out what is no text.
    assert os.fsencode(f"again-{STRANGE}.d.npy: 8x12") in done.stdout
    done = cli("transform", "back.npy", f"{STRANGE}.raw", "--json", cwd=folder)
    assert json.loads(done.stdout)["output"] == f"{STRANGE}.raw"
    done = shell("$SPANFFT transform back.npy $(ls -d na*.d)/absent/out.npy", folder)
    assert done.returncode == 5
    assert os.fsencode(STRANGE) in done.stderr


def test_a_run_between_names_that_are_no_utf8_goes_on_after_it_was_stopped(tmp_path):
    x = np.random.default_rng(5).standard_normal(1 << 20).astype("complex64")
    np.save(tmp_path / f"{STRANGE}.npy", x)

    def stop(done, total):
        return done < total // 2

    ends = (tmp_path / f"{STRANGE}.npy", tmp_path / f"{STRANGE}-out.npy")
    with pytest.raises(spanfft.Interrupted) as raised:
        spanfft.transform(*ends, memory="1MiB", progress=stop)
    assert isinstance(str(raised.value), str)
    done = spanfft.transform(*ends, memory="1MiB", resume=True)
    assert done.resumed_bytes > 0
    assert_transform(np.load(ends[1]), x)
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("o.nyp", "did you mean 'npy'"),
        ("o.NPY", "did you mean 'npy'"),
        ("o.np", "did you mean 'npy'"),
        ("o.zar", "did you mean 'zarr'"),
        ("o.hdf", "did you mean 'hdf5'"),
        ("o.5h", "did you mean 'h5'"),
        ("o.csv", ".csv, which is no format that is written here"),
        ("o.npz", ".npz, which"),
        ("o.npy.gz", ".gz, which"),
        ("-", "standard input and output"),
        ("", "empty name"),
    ],
)
@pytest.mark.parametrize("command", [("transform",), ("permute", "--kind", "bit-reversal")])
def test_outputs_that_say_no_format_we_write_are_refused(name, words, command, run, tmp_path):
    np.save(tmp_path / "in.npy", np.ones(64))
    code, _, errors = run(*command, "in.npy", name)
    assert code == 2, errors
    assert words in errors
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("name", ["o", "o.raw", "o.bin", "o.c64", "o.data", "o.0", ".hidden", "./-", "o.d/x", "o.dat2"])
def test_other_outputs_are_raw(name, folder):
    os.mkdir(folder / "o.d")
    spanfft.transform(folder / "in.npy", f"{folder}/{name}")
    assert os.path.getsize(f"{folder}/{name}") == 96 * 8


def test_pipes_and_devices_are_refused_at_once(folder):
    os.mkfifo(folder / "pipe.npy")
    for name in ("pipe.npy", "/dev/zero", "-"):
        for more in ([], ["--dtype", "complex64"]):
            done = cli("transform", name, "out.npy", *more, cwd=folder, timeout=20)
            assert done.returncode == (2 if name == "-" else 5), done.stderr
            assert name in done.stderr


# --- standard streams ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$SPANFFT transform absent.npy o.npy 2>&-", 5),
        ("$SPANFFT transform absent.npy o.npy 2>/dev/full", 5),
        ("$SPANFFT transform in.npy o.npy --what 2>&-", 2),
        ("$SPANFFT transform in.npy o.npy 2>&-", 0),
        ("$SPANFFT transform in.npy o.npy --quiet <&- >&- 2>&-", 0),
        ("$SPANFFT transform in.npy o.npy >&-", 5),
        ("$SPANFFT transform in.npy o.npy >/dev/full", 6),
        ("$SPANFFT transform in.npy o.npy --json >/dev/full", 6),
        ("$SPANFFT transform in.npy --into . --suffix .raw >/dev/full", 6),
        ("$SPANFFT plan c2c 8x8 --json >/dev/full", 6),
        ("$SPANFFT info >/dev/full", 6),
        ("$SPANFFT info >&-", 5),
        ("$SPANFFT info <&- >&- 2>&-", 5),
        ("$SPANFFT --version >/dev/full", 6),
        ("$SPANFFT --help >/dev/full", 6),
        ("$SPANFFT transform --help >&-", 5),
        ("$SPANFFT --help <&-", 0),
    ],
)
def test_closed_and_full_streams_end_with_a_code_and_a_sentence(line, code, folder):
    done = shell(line, folder)
    assert done.returncode == code, done.stderr
    if "in.npy o.npy" in line and "--what" not in line:
        assert np.load(folder / "o.npy").shape == (8, 12)
    if code in (5, 6) and "2>" not in line:
        assert re.fullmatch(rb"spanfft: standard output can't be written \([^\n]+\n", done.stderr), done.stderr
        assert (b"o.npy is whole all the same" in done.stderr) == ("o.npy" in line)
    else:
        assert done.stderr == b""


def test_a_closed_stream_does_not_become_an_output_file(folder):
    """A descriptor below 3 that is free would be given to the next file, into which any message could then go."""
    script = "import os, sys, spanfft.cli; spanfft.cli.main(['--version']); print(os.open('x', os.O_CREAT | os.O_RDWR))"
    line = f'{sys.executable} -c "{script}" 2>&- <&-'
    done = shell(line, folder)
    assert int(done.stdout.split()[-1]) > 2


# --- words and numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--memroy", "1MiB"], "--memroy is no option; did you mean '--memory'? (see spanfft transform --help)"),
        (["--Memory=1MiB"], "--Memory is no option; did you mean '--memory'? (see spanfft transform --help)"),
        (["--zzz"], "--zzz is no option (see spanfft transform --help)"),
        (
            ["third.npy"],
            "3 files are named, and one input has one output; to transform all of them, give --into FOLDER",
        ),
        (["--io", "uing"], "did you mean 'uring'?"),
        (["--norm", "orto"], "did you mean 'ortho'?"),
        (["--kind", "c2cc"], "did you mean 'c2c'?"),
        (["--kind", ""], "kind is ''"),
        (["--output-dtype", "complex12"], "did you mean 'complex128'?"),
        (["--axes", "0x1"], "'0x1' is no list of axes such as 0,1 or -1; did you mean 0,1?"),
        (["--axes", ""], "'' is no list of axes"),
        (["--axes", "0,0"], "none twice"),
        (["--axes", "1_0"], "'1_0' is no list of axes"),
        (["--shape", "8x-"], "'8x-' is no list of integers"),
        (["--method", "two_sweeps:foo"], "method 'two_sweeps:foo' has options, which two_sweeps does not take"),
        (["--method", "two_pass"], "method 'two_pass' is called two_sweeps now; write method=two_sweeps"),
        (["--method", "two_sweep"], "did you mean 'two_sweeps'?"),
        (["--method", ""], "method is an empty word"),
        (["--exchange", "overlp:4"], "did you mean 'overlap'?"),
        (["--engine", ""], "engine is an empty word"),
        (["--window", "han"], "did you mean 'hann'?"),
        (["--threads", "1000000"], "threads is 1000000; use at most 4096"),
        (["--threads", "9" * 5000], "larger than any number"),
        (["--quiet", "--explain"], "--quiet prints nothing, --explain prints; leave one of both out"),
        (["--quiet", "--json"], "--quiet prints nothing, --json prints"),
        (["--quiet", "--dry-run"], "--quiet prints nothing, --dry-run prints"),
        (["--scale", "0"], "scale is 0"),
        (["--grid", "5"], "grid 5"),
    ],
)
def test_the_sentence_names_the_word_and_the_remedy(arguments, words, folder, run):
    code, _, errors = run("transform", "in.npy", "o.npy", *arguments)
    assert code == 2, errors
    assert re.fullmatch(r"spanfft: [^\n]+\n", errors)
    assert words in errors
    assert os.listdir(folder) == ["in.npy"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["trasnform", "a", "b"], 2, "did you mean 'transform'?"),
        (["--json", "info"], 2, "--json stands before the command; write it behind info"),
        (["plan", "c2c", "8x8", "--rank", "2"], 2, "did you mean '--ranks'? (see spanfft plan --help)"),
        (["plan", "c2c", "8x8", "treads=2"], 2, "did you mean 'threads'?"),
        (["plan", "c2cc", "8x8"], 2, "did you mean 'c2c'?"),
        (["plan", "c2c", "8x8", "engine=fftww"], 9, "did you mean 'fftw'?"),
        (["plan", "c2c", "8x8", "exchange=overlp"], 2, "did you mean 'overlap'?"),
        (["permute", "in.npy", "o.npy", "--kind", "bit-reversed"], 2, "did you mean 'bit-reversal'?"),
        (["permute", "in.npy", "o.npy", "--kind", "bit-reversal", "--threads", "1000000"], 2, "threads is 1000000"),
        (["permute", "in.npy", "o.npy", "--kind", "bit-reversal", "--quiet", "--json"], 2, "--quiet prints nothing"),
    ],
)
def test_other_commands_do_so_too(arguments, code, words, tmp_path, run):
    np.save(tmp_path / "in.npy", np.ones(64))
    ended, _, errors = run(*arguments)
    assert ended == code, errors
    assert words in errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"axes": 0.5}, "axes is 0.5"),
        ({"axes": "01"}, "axes is '01'"),
        ({"axes": [0.5]}, "axes is 0.5"),
        ({"axes": 2**70}, "it can be -"),
        ({"axes": ()}, "name at least one"),
        ({"threads": "2"}, "threads is '2'"),
        ({"threads": 2**40}, "it can be -"),
        ({"threads": 10**6}, "use at most 4096"),
        ({"scale": "2"}, "scale is '2'"),
        ({"scale": None}, "scale is None"),
        ({"kind": 5}, "kind is 5"),
        ({"kind": b"c2c"}, "kind is b'c2c'"),
        ({"kind": "C2C"}, "did you mean 'c2c'"),
        ({"norm": []}, "norm is []"),
        ({"order": []}, "order is []"),
        ({"grid": [2**70, 1]}, "it can be -"),
        ({"grid": "2"}, "grid is '2'"),
        ({"io": 5}, "io is 5"),
        ({"method": 5}, "method is 5"),
        ({"engine": ""}, "engine is an empty word"),
        ({"scratch": 5}, "scratch is 5"),
        ({"scratch": [5]}, "scratch is 5"),
        ({"progress": 5}, "progress is 5"),
        ({"on_input": 5}, "on_input is 5"),
        ({"trace": 5}, "the trace is 5"),
        ({"chunks": "4"}, "chunks is '4'"),
        ({"offset": "0"}, "offset is '0'"),
        ({"real_length": 30.0, "kind": "c2r"}, "real_length is 30.0"),
        ({"compression": 5}, "compression is 5"),
        ({"memory": []}, "[] is no amount of memory"),
        ({"output_dtype": int}, "it can be float32"),
    ],
)
def test_arguments_of_transform_are_refused_by_name(options, words, folder):
    with pytest.raises(spanfft.InvalidArgument) as raised:
        spanfft.transform(folder / "in.npy", folder / "o.npy", **options)
    assert words in str(raised.value)
    assert os.listdir(folder) == ["in.npy"]


@pytest.mark.parametrize(
    "names", [(5, "o.npy"), (None, "o.npy"), (np.ones(3), "o.npy"), ("in\0.npy", "o.npy"), ("i", 5)]
)
def test_what_is_no_name_of_a_file_is_refused_by_name(names, folder, monkeypatch):
    monkeypatch.chdir(folder)
    os.rename("in.npy", "i")
    for function in (spanfft.transform, lambda *ends: spanfft.permute(*ends, kind="bit-reversal")):
        with pytest.raises(spanfft.InvalidArgument, match=r"the (in|out)put is "):
            function(*names)


def test_one_axis_is_taken_as_numpy_takes_it(folder):
    x = np.load(folder / "in.npy")
    for axes in (0, -1, np.int64(1), [0], np.array([1])):
        spanfft.transform(folder / "in.npy", folder / "o.npy", axes=axes)
        picked = [axes] if np.ndim(axes) == 0 else list(axes)
        exact = reference("fftn", x, axes=picked)
        limit = oracle.rule(tuple(x.shape[axis] for axis in picked), x.dtype)
        assert relative_error(np.load(folder / "o.npy"), exact) <= limit


def test_results_print_one_short_line(folder):
    done = spanfft.transform(folder / "in.npy", folder / "o.npy", trace=folder / "trace.json")
    spanfft.transform(folder / "in.npy", folder / "one.npy", axes=0)
    np.save(folder / "p.npy", np.ones(64))
    moved = spanfft.permute(folder / "p.npy", folder / "q.npy", kind="bit-reversal")
    for each in (done, moved, spanfft.read_trace(folder / "trace.json")):
        assert re.fullmatch(r"<\w+ [^\n]{1,200}>", repr(each))
    assert "8x12 complex64" in repr(done)
    assert len(done.explain) > 200  # it is there, and not in the repr


def test_the_last_line_says_what_was_needed_and_what_was_allowed(folder):
    done = cli("transform", "in.npy", "o.npy", "--memory", "10GiB", cwd=folder)
    needed = spanfft.transform(folder / "in.npy", folder / "o.npy", memory="10GiB").report["peak_memory_bytes"]
    assert needed < 1 << 20
    assert re.fullmatch(r"o.npy: 8x12 complex64 in \S+ s, [0-9.]+ (B|KiB) of 10 GiB of memory\n", done.stdout)


# --- limits of the process -------------------------------------------------------------------------------------------


def limited(kib, script, folder, **changes):
    """Python code in a process whose address space ends behind so many KiB."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))

    return subprocess.run([sys.executable, "-c", script], cwd=folder, env=cli_environment(**changes), text=True,
                          capture_output=True, timeout=TIMEOUT, preexec_fn=limit)  # fmt: skip


RUN = (
    "import spanfft.cli\n"
    "raise SystemExit(spanfft.cli.main(['transform', 'in.npy', 'o.npy', '--explain', '--threads', '1']))"
)


@pytest.mark.parametrize("mib", [200, 300, 400, 700])
def test_mkl_is_passed_over_where_the_address_space_is_too_small_for_it(mib, folder):
    """It would end the process, with its own message and code 2."""
    done = limited(mib << 10, RUN, folder, SPANFFT_FFTW_LIBRARY="none")
    assert done.returncode == 0, done.stderr
    assert np.load(folder / "o.npy").shape == (8, 12)
    if any(engine["name"] == "mkl" for engine in spanfft.info()["engines"]):
        assert "engine 'mkl' is passed over" in done.stdout
        assert "ulimit -v" in done.stdout
        forced = limited(mib << 10, RUN.replace("'--threads', '1'", "'--engine', 'mkl'"), folder)
        assert forced.returncode == 9, forced.stderr
        assert "ulimit -v" in forced.stderr


def test_the_default_budget_keeps_within_the_address_space(folder):
    script = "from spanfft._memory import available_bytes; print(available_bytes())"
    done = limited(1 << 20, script, folder)
    assert 0 < int(done.stdout) < 1 << 30
