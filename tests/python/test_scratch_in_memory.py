"""Memory that holds the array once: the disk is read once and written once.

In place (`file_in_memory`), or by two sweeps that hand on in memory what they would hand on by a disk
(`scratch_in_memory`).
"""

from __future__ import annotations

import numpy as np
import pytest
import spanfft
from conftest import assert_transform, cli
from spanfft._native import core

CASES = [
    ((1 << 18,), "c2c", "complex64", None),
    ((1 << 19,), "r2c", "float32", None),
    ((300_000,), "r2c", "float64", None),
    ((98_175,), "c2c", "complex128", None),
    ((300_000,), "dct2", "float64", None),
    ((3, 100_000), "c2c", "complex64", (1,)),
    ((600, 512), "c2c", "complex64", None),
    ((601, 509), "r2c", "float32", None),
    ((6000, 51), "r2c", "float32", (0,)),
    ((40, 70, 101), "r2c", "float64", None),
    ((40, 70, 101), "c2c", "complex64", (2, 0)),
    ((40, 70, 101), "dst3", "float64", None),
]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def assert_counts(result, *, read_bytes, written_bytes):
    counted, predicted = result.report["counted"], result.report["predicted"]
    for key in ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes", "memory_bytes"):
        assert counted[key] == predicted[key], key
    assert (counted["disk_read_bytes"], counted["disk_written_bytes"]) == (read_bytes, written_bytes)


@pytest.mark.parametrize(("shape", "kind", "dtype", "axes"), CASES)
@pytest.mark.parametrize("io", ["uring", "threads"])
def test_the_disk_is_read_once_and_written_once(shape, kind, dtype, axes, io, rng, tmp_path):
    x = numbers(rng, shape, dtype)
    np.save(tmp_path / "in.npy", x)
    memory = int((3 if kind == "dct2" else 1.7) * x.nbytes)  # dct2 hands on numbers of twice the length
    how = {"axes": axes, "memory": memory, "method": "scratch_in_memory", "io": io}
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind=kind, **how)
    y = np.load(tmp_path / "out.npy")
    assert result.report["solver"].startswith("scratch_in_memory + ")
    assert result.report["sweeps"] == 1
    assert result.report["peak_memory_bytes"] <= memory
    assert_transform(y, x, kind, axes)
    assert_counts(result, read_bytes=x.nbytes, written_bytes=y.nbytes)
    back = "c2r" if kind == "r2c" else kind
    length = {"real_length": shape[-1 if axes is None else axes[-1]]} if kind == "r2c" else {}
    returned = spanfft.transform(tmp_path / "out.npy", tmp_path / "back.npy", kind=back, backward=True, **length, **how)
    assert returned.report["sweeps"] == 1
    scale = max(1.0, float(np.abs(x).max()))
    assert np.abs(np.load(tmp_path / "back.npy") - x).max() <= 40 * np.finfo(dtype).eps * scale
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.npy", "in.npy", "out.npy"]


# What one array can be made into where it lies, with the budget as a multiple of its bytes.
IN_PLACE = [
    ((1 << 20,), "c2c", "complex64", None, 1.4),
    ((9 << 16,), "c2c", "complex128", None, 1.4),
    ((1 << 21,), "r2c", "float32", None, 1.4),
    ((25 << 15,), "r2c", "float64", None, 1.6),
    ((700, 1024), "c2c", "complex64", None, 1.2),
    ((40, 70, 101), "c2c", "complex128", (2, 0), 1.2),
    ((700, 1021), "dct2", "float64", None, 1.2),
    ((6, 300, 401), "dst3", "float32", (1,), 1.2),
]


@pytest.mark.parametrize(("shape", "kind", "dtype", "axes", "times"), IN_PLACE)
@pytest.mark.parametrize("engine", ["ducc0", "fftw"])
def test_in_place_in_memory_the_disk_is_read_once_and_written_once(
    shape, kind, dtype, axes, times, engine, rng, tmp_path
):
    if engine not in {each["name"] for each in core.engines()}:
        pytest.skip(f"there is no {engine} here")
    x = numbers(rng, shape, dtype)
    np.save(tmp_path / "in.npy", x)
    memory = int(times * x.nbytes)
    how = {"axes": axes, "memory": memory, "method": "file_in_memory", "engine": engine}
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind=kind, **how)
    y = np.load(tmp_path / "out.npy")
    assert " output -> output" in result.explain, result.explain
    assert result.report["sweeps"] == 1
    assert max(x.nbytes, y.nbytes) <= result.report["peak_memory_bytes"] <= memory < x.nbytes + y.nbytes
    assert_transform(y, x, kind, axes)
    assert_counts(result, read_bytes=x.nbytes, written_bytes=y.nbytes)
    back = "c2r" if kind == "r2c" else kind
    length = {"real_length": shape[-1 if axes is None else axes[-1]]} if kind == "r2c" else {}
    returned = spanfft.transform(tmp_path / "out.npy", tmp_path / "back.npy", kind=back, backward=True, **length, **how)
    assert " output -> output" in returned.explain
    assert returned.report["peak_memory_bytes"] <= memory
    scale = max(1.0, float(np.abs(x).max()))
    assert np.abs(np.load(tmp_path / "back.npy") - x).max() <= 40 * np.finfo(dtype).eps * scale


def test_the_planner_takes_what_reads_once_where_memory_holds_the_array_once():
    def solver(problem):
        return core.imagine(problem).solver

    assert solver("c2c 8192x8192 forward float memory=600MiB") == "file_in_memory + local"
    assert solver("r2c 134217728 forward float memory=600MiB") == "file_in_memory + local"
    assert solver("r2c 134217728 backward float memory=600MiB") == "file_in_memory + local"
    # Rows of half a spectrum are longer than those of the reals that they are made of.
    assert solver("r2c 512x512x512 forward float memory=800MiB") == "scratch_in_memory + axis_sweeps"
    assert solver("c2c 8192x8192 forward float memory=1100MiB") == "file_in_memory + local"
    assert solver("c2c 8192x8192 forward float memory=500MiB") == "two_sweeps"
    assert solver("c2c 8192x8192 forward float memory=600MiB method=two_sweeps") == "two_sweeps"


@pytest.mark.parametrize(
    ("problem", "needed"),
    [
        ("c2c 8192x8192 forward float memory=500MiB", "more than 512 MiB"),
        ("c2c 67108864 forward float memory=513MiB", "1.00 GiB"),  # tiles and tables don't fit, nor does an engine
        ("c2c 65000000 forward float memory=600MiB", "992 MiB"),  # 2^6 5^7 13 has no square factor near it
        ("r2c 512x512x512 forward float memory=800MiB", "1.00 GiB"),
    ],
)
def test_without_room_for_the_array_in_place_file_in_memory_says_what_it_needs(problem, needed):
    with pytest.raises(spanfft.Unsupported, match=rf"file_in_memory needs .*{needed} a process, the budget is"):
        core.imagine(f"{problem} method=file_in_memory")


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ("c2c 8192x8192 forward float memory=500MiB", "512.* and more for what a sweep hands.*budget is 500"),
        ("c2c 8192x8192 forward float memory=513MiB", "512.* and more for what a sweep hands.*budget is 513"),
        ("c2c 8192x8192 forward float memory=600MiB ranks=2", "works in one process, not on 2 ranks"),
        ("c2c 67108864 forward float memory=900MiB output=exchanged", "has its output in natural order"),
        ("c2c 8192x8192 forward float", "is for problems of another sort; leave method= out"),
    ],
)
def test_it_says_what_it_does_not_do(problem, words):
    with pytest.raises(spanfft.Unsupported, match=rf"scratch_in_memory (needs )?{words}"):
        core.imagine(f"{problem} method=scratch_in_memory")


def test_in_place_the_output_is_copied_over_the_input_in_the_end(rng, tmp_path):
    x = numbers(rng, (600, 512), "complex64")
    np.save(tmp_path / "x.npy", x)
    how = {"memory": int(1.7 * x.nbytes), "method": "scratch_in_memory"}
    spanfft.transform(tmp_path / "x.npy", in_place=True, **how)
    assert_transform(np.load(tmp_path / "x.npy"), x, "c2c", None)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_run_that_is_stopped_leaves_nothing_and_cannot_be_resumed(rng, tmp_path):
    x = numbers(rng, (600, 512), "complex64")
    np.save(tmp_path / "in.npy", x)
    how = {"memory": int(1.7 * x.nbytes), "method": "scratch_in_memory"}
    shares = []

    def stop(done, total):
        shares.append(done / total)
        return done < total / 2

    with pytest.raises(spanfft.Interrupted):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", progress=stop, **how)
    assert 0.5 <= shares[-1] <= 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]
    with pytest.raises(spanfft.InvalidArgument, match=r"no journal to resume from: .* keeps in memory what its sweeps"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", resume=True, **how)


def test_explain_says_that_it_has_no_journal(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (600, 512), "complex64"))
    run = cli("transform", tmp_path / "in.npy", tmp_path / "out.npy", "--memory", "4MiB", "--method",
              "scratch_in_memory", "--explain")  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "no journal, so a run that is killed begins anew: scratch_in_memory" in run.stdout
    assert "writes memory (" in run.stdout
    assert "reads memory (" in run.stdout
