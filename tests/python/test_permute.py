"""spanfft permute and spanfft.permute against numpy, and method=superlevels through the command line."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import assert_within_rule, cli, relative_error
from soak import oracle

DTYPES = ["float32", "complex64", "complex128"]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def reversed_bits(n):
    return np.array([int(f"{x:0{n}b}"[::-1], 2) for x in range(1 << n)])


def permuted(x, targets):
    out = np.empty_like(x)
    out[targets] = x
    return out


def saved(tmp_path, x, name="in.npy"):
    np.save(tmp_path / name, x)
    return tmp_path / name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("disks", [1, 2, 4])
@pytest.mark.parametrize("synchronous", [False, True])
def test_named_permutations_are_numpys(dtype, disks, synchronous, rng, tmp_path):
    x = numbers(rng, 1 << 14, dtype)
    source, target = saved(tmp_path, x), tmp_path / "out.npy"
    folders = [tmp_path / f"disk{k}" for k in range(disks)]
    for folder in folders:
        folder.mkdir()
    index = np.arange(x.size)
    wanted = {
        "bit-reversal": permuted(x, reversed_bits(14)),
        "rotation:5": permuted(x, (index >> 5) | (index & 31) << 9),
        "transpose:64x256": x.reshape(64, 256).T.ravel(),
        "identity": x,
    }
    for kind, expected in wanted.items():
        done = spanfft.permute(
            source, target, kind=kind, memory="32KiB", block_bytes=512, scratch=folders, synchronous=synchronous
        )
        assert np.array_equal(np.load(target), expected), kind
        assert done.counted_parallel_ios == done.predicted_parallel_ios <= done.bound
        assert done.disks == disks
        assert done.memory_bytes <= 32 << 10
        assert all(os.listdir(folder) == [] for folder in folders)
    assert np.array_equal(np.load(source), x)
    assert sorted(os.listdir(tmp_path)) == sorted(["in.npy", "out.npy", *(folder.name for folder in folders)])


def test_a_matrix_from_a_file_with_a_complement(rng, tmp_path):
    n = 12
    x = numbers(rng, (8, 512), "complex64")
    source = saved(tmp_path, x)
    rows = np.triu(rng.integers(0, 2, (n, n)), 1) + np.eye(n, dtype=int)  # upper triangular: not singular
    rows = rows[rng.permutation(n)]
    (tmp_path / "h.txt").write_text("# H\n" + "\n".join(" ".join(map(str, row)) for row in rows) + "\n")
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    targets = ((bits @ rows.T % 2) << np.arange(n)).sum(axis=1) ^ 0b101
    done = cli("permute", source, "out.npy", "--kind", "matrix:h.txt", "--complement", "0b101", "--memory", "16KiB",
               "--block-bytes", "64", "--json", cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["counted_parallel_ios"] == report["predicted_parallel_ios"] <= report["bound"]
    out = np.load(tmp_path / "out.npy")
    assert out.shape == (8, 512)
    assert np.array_equal(out.ravel(), permuted(x.ravel(), targets))


def test_transposing_a_matrix_turns_its_shape(rng, tmp_path):
    x = numbers(rng, (32, 128), "complex128")
    done = cli("permute", saved(tmp_path, x), "out.npy", "--kind", "transpose", "--memory", "8KiB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "128x32 complex128" in done.stdout
    assert np.array_equal(np.load(tmp_path / "out.npy"), x.T)


def test_raw_files_and_more_memory_than_there_is_data(rng, tmp_path):
    x = numbers(rng, 1 << 10, "float64")
    (tmp_path / "in.raw").write_bytes(b"head" * 3 + x.tobytes())
    done = cli("permute", "in.raw", "out.raw", "--kind", "bit-reversal", "--dtype", "float64", "--offset", 12,
               "--memory", "1MiB", "--sync", "--quiet", cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert np.array_equal(np.fromfile(tmp_path / "out.raw"), permuted(x, reversed_bits(10)))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--kind", "bit-reversal", "--memory", "24"), 4, "too small"),
        (("--kind", "rotate:3"), 2, "not known; use one of identity, bit-reversal"),
        (("--kind", "rotation:11"), 2, "not between 0 and the 10 bits"),
        (("--kind", "transpose:10x100"), 2, "10 is no power of two"),
        (("--kind", "transpose:16x32"), 2, "has 2^9 records, but there are 2^10"),
        (("--kind", "transpose"), 2, "not two axes"),
        (("--kind", "matrix:no.txt"), 5, "can't read the matrix no.txt"),
        (("--kind", "matrix:singular.txt"), 2, "singular: its rank is 9"),
        (("--kind", "matrix:small.txt"), 2, "has 2 rows, but indices of 1024 records have 10 bits"),
        (("--kind", "matrix:ragged.txt"), 2, "row 1 of the matrix"),
        (("--kind", "bit-reversal", "--complement", "1024"), 2, "it can be 0 to 1023"),
        (("--kind", "bit-reversal", "--block-bytes", "100"), 2, "use 64"),
        (("--kind", "bit-reversal", "--scratch", "a,b,c"), 2, "3 disks are no power of two"),
        (("--kind", "bit-reversal", "--scratch", "nowhere", "--memory", "4KiB", "--block-bytes", "64"), 5, "nowhere"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_left(arguments, code, words, rng, tmp_path):
    saved(tmp_path, numbers(rng, 1 << 10, "complex64"))
    identity = np.eye(10, dtype=int)
    identity[3] = identity[4]
    np.savetxt(tmp_path / "singular.txt", identity, "%d")
    (tmp_path / "small.txt").write_text("10\n01\n")
    (tmp_path / "ragged.txt").write_text("10\n0\n")
    before = sorted(os.listdir(tmp_path))
    done = cli("permute", "in.npy", "out.npy", *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr, done.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_lengths_and_paths_that_cannot_be(rng, tmp_path):
    saved(tmp_path, numbers(rng, 1000, "complex64"), "thousand.npy")
    done = cli("permute", "thousand.npy", "out.npy", "--kind", "bit-reversal", cwd=tmp_path)
    assert done.returncode == 2
    assert "1000 elements" in done.stderr
    assert "512 or 1024" in done.stderr
    saved(tmp_path, numbers(rng, 64, "complex64"))
    done = cli("permute", "in.npy", "in.npy", "--kind", "bit-reversal", cwd=tmp_path)
    assert done.returncode == 2
    assert "never overwritten" in done.stderr


def test_one_scratch_folder_can_be_given_by_its_name(rng, tmp_path):
    (tmp_path / "disk").mkdir()
    x = numbers(rng, 1 << 12, "float32")
    for scratch in (str(tmp_path / "disk"), tmp_path / "disk"):
        spanfft.permute(saved(tmp_path, x), tmp_path / "out.npy", kind="bit-reversal", memory="4KiB", scratch=scratch)
        assert np.array_equal(np.load(tmp_path / "out.npy"), x[reversed_bits(12)])


@pytest.mark.parametrize("name", ["out.h5", "out.h5:/x", "out.zarr", "out.fft"])
def test_other_formats_are_refused_by_name(name, rng, tmp_path):
    path = saved(tmp_path, numbers(rng, 64, "complex64"))
    with pytest.raises(spanfft.InvalidArgument, match="npy and raw files"):
        spanfft.permute(path, tmp_path / name, kind="bit-reversal")
    assert os.listdir(tmp_path) == ["in.npy"]


def test_progress_may_stop_it(rng, tmp_path):
    source = saved(tmp_path, numbers(rng, 1 << 14, "complex64"))
    with pytest.raises(spanfft.Interrupted):
        spanfft.permute(
            source, tmp_path / "out.npy", kind="bit-reversal", memory="32KiB", progress=lambda done, total: False
        )
    assert os.listdir(tmp_path) == ["in.npy"]


# --- runs that go on, as transforms do (the command line, with signals: test_resume.py) ------------------------------


def leave_unfinished(tmp_path, share=0.6, **options):
    with pytest.raises(spanfft.Interrupted, match="goes on from there"):
        spanfft.permute(
            tmp_path / "in.npy", tmp_path / "out.npy", memory="32KiB", progress=lambda done, all: done < share * all,
            **{"kind": "bit-reversal", **options},
        )  # fmt: skip


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("disks", [0, 2])
def test_a_stopped_permutation_goes_on_to_the_same_bits(share, disks, rng, tmp_path):
    x = numbers(rng, 1 << 14, "complex64")
    source, target = saved(tmp_path, x), tmp_path / "out.npy"
    folders = [tmp_path / f"disk{k}" for k in range(disks)]
    for folder in folders:
        folder.mkdir()
    leave_unfinished(tmp_path, share, scratch=folders or None)
    assert not target.exists()
    done = spanfft.permute(source, target, kind="bit-reversal", scratch=folders or None, resume=True)
    assert done.resumed_bytes > 0
    assert done.report["problem"].endswith(f"memory={32 << 10}")  # the budget of the run that began
    assert np.array_equal(np.load(target), permuted(x, reversed_bits(14)))
    assert not any(os.listdir(folder) for folder in folders)
    assert sorted(os.listdir(tmp_path)) == sorted(["in.npy", "out.npy", *(folder.name for folder in folders)])


def test_another_permutation_is_refused_and_restart_begins_anew(rng, tmp_path):
    x = numbers(rng, 1 << 14, "complex64")
    saved(tmp_path, x)
    leave_unfinished(tmp_path)
    arguments = ("permute", "in.npy", "out.npy", "--kind", "rotation:5", "--memory", "32KiB")
    refused = cli(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert "unfinished run" in refused.stderr
    assert "restart" in refused.stderr
    transformed = cli("transform", "in.npy", "out.npy", "--memory", "1MiB", cwd=tmp_path)
    assert transformed.returncode == 2
    assert "unfinished run" in transformed.stderr
    done = cli(*arguments, "--restart", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["resumed_bytes"] == 0
    index = np.arange(x.size)
    assert np.array_equal(np.load(tmp_path / "out.npy"), permuted(x, (index >> 5) | (index & 31) << 9))
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]
    nothing = cli(*arguments, "--resume", cwd=tmp_path)
    assert nothing.returncode == 2
    assert "no unfinished run" in nothing.stderr


def test_without_a_journal_nothing_is_left(rng, tmp_path):
    source = saved(tmp_path, numbers(rng, 1 << 14, "complex64"))
    with pytest.raises(spanfft.Interrupted):
        spanfft.permute(
            source, tmp_path / "out.npy", kind="bit-reversal", memory="32KiB", journal=False,
            progress=lambda done, all: done < 0.6 * all,
        )  # fmt: skip
    assert os.listdir(tmp_path) == ["in.npy"]


def test_damaged_scratch_is_named(rng, tmp_path):
    saved(tmp_path, numbers(rng, 1 << 14, "complex64"))
    leave_unfinished(tmp_path, 0.5)
    kept = next(tmp_path.glob(".*spanfft-kept-scratch"))
    with kept.open("r+b") as file:
        content = bytearray(file.read())
        for place in range(0, 2 << 17, 4096):
            content[place] ^= 1
        file.seek(0)
        file.write(content)
    with pytest.raises(spanfft.CorruptData, match=f"checksum.*{kept.name}"):
        spanfft.permute(tmp_path / "in.npy", tmp_path / "out.npy", kind="bit-reversal")
    assert os.listdir(tmp_path) == ["in.npy"]


def test_it_explains_and_traces_what_it_did(rng, tmp_path):
    saved(tmp_path, numbers(rng, 1 << 12, "complex64"))
    done = cli("permute", "in.npy", "out.npy", "--kind", "bit-reversal", "--memory", "8KiB", "--explain", "--trace",
               "t.json", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "4096] records of 8 bytes" in done.stdout
    assert "Permute  permutation: " in done.stdout
    trace = spanfft.read_trace(tmp_path / "t.json")
    assert trace.problems[0].startswith("permute 4096 record=8 columns=")
    names = [event.name for event in trace.ranks[0]]
    assert names.count("Permute") == 1
    assert any(event.track == "reads" for event in trace.ranks[0])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("method", ["superlevels", "superlevels:sync,block=4KiB", "superlevels:disks=2"])
def test_superlevels_from_file_to_file(dtype, method, rng, tmp_path):
    x = numbers(rng, 1 << 18, dtype)
    saved(tmp_path, x)
    for backward in (False, True):
        done = cli("transform", "in.npy", "out.npy", "--method", method, "--memory", "1MiB", "--json",
                   *(["--backward"] if backward else []), cwd=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)["ranks"][0]
        assert report["solver"] == "superlevels"
        for key in ("disk_reads", "disk_writes", "disk_read_bytes", "disk_written_bytes", "parallel_ios"):
            assert report["counted"][key] == report["predicted"][key] > 0, key
        wide = x.astype("clongdouble")
        exact = scipy.fft.ifft(wide) if backward else scipy.fft.fft(wide)
        assert relative_error(np.load(tmp_path / "out.npy"), exact) <= oracle.rule((x.size,), dtype)
    explained = cli("plan", f"c2c {1 << 18} memory=1MiB method={method}").stdout
    assert "parallel I/Os" in explained
    assert "by P1's analysis" in explained
    assert_within_rule(np.load(tmp_path / "out.npy"), scipy.fft.ifft(x.astype("clongdouble")))


def test_superlevels_on_scratch_folders_as_p1_lays_disks_out(rng, tmp_path):
    x = numbers(rng, 1 << 16, "complex128")
    saved(tmp_path, x)
    folders = [tmp_path / name for name in ("a", "b", "c", "d")]
    for folder in folders:
        folder.mkdir()
    for count, lg_disks in ((1, 0), (2, 1), (3, 0), (4, 2)):
        done = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", method="superlevels", memory="1MiB",
                                 scratch=folders[:count])  # fmt: skip
        report = done.report
        assert report["counted"]["parallel_ios"] == report["predicted"]["parallel_ios"] > 0
        assert f"D=2^{lg_disks}," in done.explain
        assert ("disks=" in report["problem"]) == (count > 1)
        assert_within_rule(np.load(tmp_path / "out.npy"), scipy.fft.fft(x.astype("clongdouble")))
        assert not any(os.listdir(folder) for folder in folders)


def test_a_forced_method_that_cannot_says_why(rng, tmp_path):
    saved(tmp_path, numbers(rng, 1000, "complex64"))
    done = cli("transform", "in.npy", "out.npy", "--method", "superlevels", cwd=tmp_path)
    assert done.returncode == 3
    assert "1000 is none" in done.stderr
    done = cli("transform", "in.npy", "out.npy", "--method", "magic", cwd=tmp_path)
    assert done.returncode == 2
    assert "superlevels" in done.stderr
