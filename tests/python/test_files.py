"""spanfft.transform: .npy and raw files, every kind, budgets, and files that can't be transformed as they are."""

from __future__ import annotations

import hashlib
import io
import os
import struct

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import assert_transform, assert_within_rule, cli, reference, relative_error
from soak import oracle
from spanfft._files import ELEMENTS, describe, npy_header


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def assert_clean(folder, *names):
    assert sorted(os.listdir(folder)) == sorted(names)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1,), (100,), (64, 48), (7, 11, 13), (1, 40, 1), (3, 4, 5, 6, 2, 7), (20011,)])
def test_there_and_back(shape, dtype, rng, tmp_path):
    x = numbers(rng, shape, dtype)
    np.save(tmp_path / "in.npy", x)
    before = digest(tmp_path / "in.npy")
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="16MiB")
    assert digest(tmp_path / "in.npy") == before
    spectrum = np.load(tmp_path / "out.npy")
    name = "rfftn" if x.dtype.kind == "f" else "fftn"
    exact = reference(name, x)
    assert spectrum.shape == exact.shape == result.output_shape
    assert spectrum.dtype == np.result_type(x.dtype, 1j)
    assert str(spectrum.dtype) == result.output_dtype
    assert relative_error(spectrum, exact) <= oracle.rule(shape, x.dtype)
    if x.dtype.kind == "f":
        spanfft.transform(
            tmp_path / "out.npy", tmp_path / "back.npy", kind="c2r", real_length=shape[-1], memory="16MiB"
        )
    else:
        spanfft.transform(tmp_path / "out.npy", tmp_path / "back.npy", backward=True, memory="16MiB")
    back = np.load(tmp_path / "back.npy")
    assert back.dtype == x.dtype
    assert relative_error(back, x) <= 2 * oracle.rule(shape, x.dtype)
    assert_clean(tmp_path, "in.npy", "out.npy", "back.npy")


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("axes", [(0,), (1,), (-1,), (0, 2), (2, 0), (1, 0)])
def test_axes_and_norms(axes, norm, rng, tmp_path):
    x = numbers(rng, (12, 9, 10), "float64")
    np.save(tmp_path / "in.npy", x)
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", axes=axes, norm=norm, memory="8MiB")
    assert_transform(np.load(tmp_path / "out.npy"), x, "r2c", axes, norm)


@pytest.mark.parametrize("shape", [(1 << 20,), (1024, 1500), (128, 96, 100)])
def test_more_than_the_budget(shape, rng, tmp_path):
    x = numbers(rng, shape, "complex64")
    np.save(tmp_path / "in.npy", x)
    budget = x.nbytes * 2 // 3
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=budget)
    assert result.memory_bytes == budget
    assert result.report["peak_memory_bytes"] <= budget
    assert result.report["sweeps"] >= 2
    limit = oracle.rule(shape, np.float32)
    assert relative_error(np.load(tmp_path / "out.npy"), reference("fftn", x)) <= limit
    for key in ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes", "messages", "sent_bytes"):
        assert result.report["counted"][key] == result.report["predicted"][key], key
    assert_clean(tmp_path, "in.npy", "out.npy")


IN_GROUPS = [(0,), (1,), (2, 0), (2, 1, 0), (0, 2, 1), (1, 0, 2)]
IN_ROWS = [(0, 2, 1), (1, 0, 2)]  # on the way, where another axis comes first


@pytest.mark.parametrize(
    ("method", "axes"), [*(("axis_sweeps", axes) for axes in IN_GROUPS), *(("two_sweeps", axes) for axes in IN_ROWS)]
)
def test_any_axis_is_halved_in_little_memory(method, axes, rng, tmp_path):
    x = numbers(rng, (150, 90, 101), "float32")
    np.save(tmp_path / "in.npy", x)
    memory = x.nbytes // 4
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", axes=axes, memory=memory, method=method)
    assert result.report["solver"] == method
    assert result.report["peak_memory_bytes"] <= memory
    spectrum = np.load(tmp_path / "out.npy")
    assert spectrum.dtype == np.complex64
    assert_transform(spectrum, x, "r2c", axes)
    assert relative_error(np.fft.rfftn(x.astype(float), axes=axes), spectrum) <= oracle.rule(x.shape, x.dtype)
    back = spanfft.transform(
        tmp_path / "out.npy",
        tmp_path / "back.npy",
        kind="c2r",
        axes=axes,
        real_length=x.shape[axes[-1]],
        memory=memory,
    )
    assert relative_error(np.load(tmp_path / "back.npy"), x) <= 2 * oracle.rule(x.shape, x.dtype)
    for run in (result, back):
        for key in ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"):
            assert run.report["counted"][key] == run.report["predicted"][key], key
    assert_clean(tmp_path, "in.npy", "out.npy", "back.npy")


def test_the_first_axis_is_halved_by_the_command_line(rng, tmp_path):
    x = numbers(rng, (150, 90, 101), "float64")
    np.save(tmp_path / "in.npy", x)
    little = ("--axes", "0", "--memory", "1MiB")
    run = cli("transform", tmp_path / "in.npy", tmp_path / "out.npy", "--kind", "r2c", *little)
    assert run.returncode == 0, run.stderr
    spectrum = np.load(tmp_path / "out.npy")
    assert relative_error(spectrum, np.fft.rfft(x, axis=0)) <= 2 * oracle.rule((150,), x.dtype)
    run = cli(
        "transform", tmp_path / "out.npy", tmp_path / "back.npy", "--kind", "c2r", "--real-length", "150", *little
    )
    assert run.returncode == 0, run.stderr
    assert relative_error(np.load(tmp_path / "back.npy"), x) <= 2 * oracle.rule((150,), x.dtype)


@pytest.mark.parametrize(
    ("shape", "sweeps", "method"),
    [((4000, 250), 1, None), ((3, 2, 65536), 1, None), ((5, 150000), 2, "two_sweeps"), ((2, 100003), 3, None)],
)
def test_batches_of_series(shape, sweeps, method, rng, tmp_path):
    x = numbers(rng, shape, "complex64")
    np.save(tmp_path / "in.npy", x)
    memory = x.nbytes // (2 * len(x)) + (1 << 21)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", axes=(-1,), memory=memory, method=method)
    assert result.report["sweeps"] == sweeps
    limit = oracle.rule(shape[-1:], np.float32)
    assert relative_error(np.load(tmp_path / "out.npy"), reference("fftn", x, axes=(-1,))) <= limit
    assert_clean(tmp_path, "in.npy", "out.npy")


@pytest.mark.parametrize(("kind", "dtype"), [("c2c", "complex64"), ("r2c", "float64")])
def test_a_prime_length_that_memory_does_not_hold(kind, dtype, rng, tmp_path):
    n = 524309
    x = numbers(rng, (n,), dtype)
    np.save(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind=kind, memory="3MiB")
    assert result.report["solver"] == "chirp_sweeps"
    assert result.report["peak_memory_bytes"] <= 3 << 20
    name = "fft" if kind == "c2c" else "rfft"
    limit = oracle.rule((n,), np.float32 if dtype == "complex64" else np.float64)
    assert relative_error(np.load(tmp_path / "out.npy"), reference(name, x)) <= limit
    spanfft.transform(
        tmp_path / "out.npy",
        tmp_path / "back.npy",
        kind="c2c" if kind == "c2c" else "c2r",
        backward=True,
        real_length=None if kind == "c2c" else n,
        memory="3MiB",
    )
    assert relative_error(np.load(tmp_path / "back.npy"), x) <= 2 * limit


@pytest.mark.parametrize("kind", ["dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4"])
@pytest.mark.parametrize("n", [300000, 300007])
def test_a_cosine_or_sine_transform_that_memory_does_not_hold(kind, n, rng, tmp_path):
    x = numbers(rng, (n,), "float64")
    np.save(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind=kind, memory="2MiB")
    assert result.report["sweeps"] >= 2
    exact = getattr(scipy.fft, kind[:3])(x.astype(np.longdouble), type=int(kind[3]))
    assert relative_error(np.load(tmp_path / "out.npy"), exact) <= 1.5 * 2.0**-52 * np.sqrt(np.log2(2 * n))
    for key in ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"):
        assert result.report["counted"][key] == result.report["predicted"][key], key


def test_exchanged_order(rng, tmp_path):
    n = 1 << 19
    x = numbers(rng, (n,), "complex64")
    np.save(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", order="exchanged", memory="2MiB")
    note = next(text for text in result.report["notes"] if "exchanged order" in text)
    n1, n2 = (int(note.split(f"{name} = ")[1].split(",")[0]) for name in ("n1", "n2"))
    natural = np.load(tmp_path / "out.npy").reshape(n1, n2).T.ravel()
    assert relative_error(natural, reference("fft", x)) <= oracle.rule((n,), np.float32)


def test_the_smallest_budget_is_named(rng, tmp_path):
    x = numbers(rng, (3 << 18,), "complex64")
    np.save(tmp_path / "in.npy", x)
    with pytest.raises(
        spanfft.OutOfMemory, match=r"smallest memory= that any solver can do with is .* \(\d+ bytes\)"
    ) as caught:
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB", threads=64)
    smallest = int(str(caught.value).rpartition("(")[2].split()[0])
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=smallest, threads=64)
    assert result.report["peak_memory_bytes"] <= smallest
    assert_clean(tmp_path, "in.npy", "out.npy")


@pytest.mark.parametrize("kind", ["dct2", "dst3"])
def test_cosine_and_sine(kind, rng, tmp_path):
    x = numbers(rng, (30, 20), "float64")
    np.save(tmp_path / "in.npy", x)
    try:
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind=kind, memory="8MiB")
    except spanfft.Unsupported:
        pytest.skip("not on disk yet, and it says so")
    assert_transform(np.load(tmp_path / "out.npy"), x, kind)


def test_raw_files(rng, tmp_path):
    x = numbers(rng, (6, 8), "complex64")
    (tmp_path / "in.raw").write_bytes(b"header!" + x.tobytes())
    options = dict(dtype="complex64", offset=7, memory="8MiB")
    spanfft.transform(tmp_path / "in.raw", tmp_path / "out.raw", shape=(6, 8), **options)
    out = np.fromfile(tmp_path / "out.raw", "complex64").reshape(6, 8)
    assert_within_rule(out, reference("fftn", x))
    spanfft.transform(tmp_path / "in.raw", tmp_path / "line.npy", **options)
    assert_within_rule(np.load(tmp_path / "line.npy"), reference("fft", x.ravel()))
    for dtype in (np.complex64, np.dtype("complex64"), "<c8", "c8"):
        assert describe(tmp_path / "in.raw", dtype, None, 7).element.name == "complex64"


def test_output_is_aligned_and_mappable(rng, tmp_path):
    x = numbers(rng, (6, 8), "float32")
    np.save(tmp_path / "in.npy", x)
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy")
    mapped = np.load(tmp_path / "out.npy", mmap_mode="r")
    assert mapped.offset == 4096
    assert_within_rule(mapped, reference("rfftn", x))


def test_output_replaces_what_was_there(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (6, 8), "float32"))
    (tmp_path / "out.npy").write_bytes(b"old")
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").shape == (6, 5)


def test_scratch_folder(rng, tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data/in.npy", numbers(rng, (1 << 18,), "complex64"))
    options = dict(memory="1MiB", scratch=tmp_path / "scratch")
    spanfft.transform(tmp_path / "data/in.npy", tmp_path / "data/out.npy", **options)
    assert_clean(tmp_path / "scratch")
    assert_clean(tmp_path / "data", "in.npy", "out.npy")
    with pytest.raises(spanfft.Error, match="nowhere"):
        spanfft.transform(
            tmp_path / "data/in.npy", tmp_path / "data/o2.npy", memory="1MiB", scratch=tmp_path / "nowhere"
        )
    assert_clean(tmp_path / "data", "in.npy", "out.npy")


@pytest.mark.parametrize("io", [None, "threads", "auto"])
def test_striped_scratch_gives_the_same_file(io, rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (1 << 18,), "float32"))
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    # The planner counts on scratch at three times the rate, and might take another solver for it.
    how = {"memory": "1MiB", "io": io, "method": "two_sweeps"}
    one = spanfft.transform(tmp_path / "in.npy", tmp_path / "one.npy", **how)
    many = spanfft.transform(tmp_path / "in.npy", tmp_path / "many.npy", scratch=folders, **how)
    assert one.report["scratch_bytes"] > 0
    assert many.report["counted"]["disk_reads"] == one.report["counted"]["disk_reads"]
    assert many.report["counted"]["disk_reads"] == many.report["predicted"]["disk_reads"]
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "many.npy").read_bytes()
    assert ("threads" in many.explain.split("\nio ")[1].split("\n")[0]) or io != "threads"
    for folder in folders:
        assert_clean(folder)


def test_scratch_and_io_that_wont_do(rng, tmp_path, monkeypatch):
    np.save(tmp_path / "in.npy", numbers(rng, (1 << 18,), "float32"))
    (tmp_path / "a").mkdir()
    paths = (tmp_path / "in.npy", tmp_path / "out.npy")
    with pytest.raises(spanfft.Error, match=r"nowhere.*make it, or name another"):
        spanfft.transform(*paths, memory="1MiB", scratch=[tmp_path / "a", tmp_path / "nowhere"])
    with pytest.raises(spanfft.InvalidArgument, match="name each once"):
        spanfft.transform(*paths, memory="1MiB", scratch=[tmp_path / "a", f"{tmp_path}/./a"])
    with pytest.raises(spanfft.InvalidArgument, match="auto, uring or threads"):
        spanfft.transform(*paths, memory="1MiB", io="carrier pigeon")
    monkeypatch.setenv("SPANFFT_IO", "smoke")
    with pytest.raises(spanfft.InvalidArgument, match="SPANFFT_IO: io is 'smoke'"):
        spanfft.transform(*paths, memory="1MiB")
    assert_clean(tmp_path / "a")
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("options", [{"io": "threads"}, {"scratch": 3}], ids=str)
def test_io_and_scratch_folders_are_taken_where_the_array_fits(options, rng, tmp_path):
    """As a script gives them for every file, small ones among them."""
    if "scratch" in options:
        options = {"scratch": [tmp_path / f"disk{i}" for i in range(options["scratch"])]}
        for folder in options["scratch"]:
            folder.mkdir()
    x = numbers(rng, (7, 6, 10), "complex128")
    np.save(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="16MiB", **options)
    assert "file_in_memory" in result.explain
    assert_within_rule(np.load(tmp_path / "out.npy"), reference("fftn", x))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_header_versions(version, rng, tmp_path):
    x = numbers(rng, (5, 6), "complex128")
    with open(tmp_path / "in.npy", "wb") as file:
        np.lib.format.write_array(file, x, version=version)
    found = describe(tmp_path / "in.npy")
    assert (found.shape, found.element.name) == ((5, 6), "complex128")
    assert np.fromfile(tmp_path / "in.npy", "complex128", offset=found.offset_bytes)[0] == x[0, 0]


def test_our_headers_are_numpys():
    for element in ELEMENTS.values():
        for shape in [(5,), (3, 4), (1 << 40, 2), (2,) * 6]:
            text = npy_header(element, shape)
            assert len(text) == 4096
            file = io.BytesIO(text)
            assert np.lib.format.read_magic(file) == (1, 0)
            assert np.lib.format.read_array_header_1_0(file) == (shape, False, np.dtype(element.descr))
            assert file.tell() == 4096


def test_fortran_order_that_is_c_order(rng, tmp_path):
    x = np.asfortranarray(numbers(rng, (9, 1), "complex128"))
    with open(tmp_path / "in.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<c16", "fortran_order": True, "shape": (9, 1)})
        file.write(x.tobytes())
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy")
    assert_transform(np.load(tmp_path / "out.npy"), x)


def npy_bytes(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


GOOD = npy_bytes(np.arange(48, dtype="f4").reshape(6, 8))


def header_with(text, version=1):
    body = text.encode("latin1")
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(body)) + body


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", spanfft.CorruptData, "does not begin"),
        (b"\x93NUM", spanfft.CorruptData, "does not begin"),
        (b"\x93NUMPY", spanfft.CorruptData, "truncated"),
        (b"\x93NUMPY\x01\x00\x76", spanfft.CorruptData, "truncated"),
        (GOOD[:40], spanfft.CorruptData, "truncated"),
        (b"PK\x03\x04" + bytes(200), spanfft.CorruptData, "does not begin"),
        (b"\x93NUMPY\x09\x00" + GOOD[8:], spanfft.CorruptData, "9.0"),
        (b"\x93NUMPY\x01\x07" + GOOD[8:], spanfft.CorruptData, "1.7"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + bytes(200), spanfft.CorruptData, "2147483647"),
        (GOOD[:-1], spanfft.CorruptData, "320 bytes, the file has 319"),
        (GOOD[:130], spanfft.CorruptData, "truncated"),
        (GOOD + b"x", spanfft.CorruptData, "too long"),
        (GOOD + GOOD, spanfft.CorruptData, "several arrays"),
        (header_with("{'descr': '<f4', 'fortran_order': False}"), spanfft.CorruptData, "damaged"),
        (header_with("{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}"), spanfft.CorruptData, "damaged"),
        (header_with("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}"), spanfft.CorruptData, "damaged"),
        (header_with("{'descr': '<f4', 'fortran_order': False, 'shape': (4.0,)}"), spanfft.CorruptData, "damaged"),
        (header_with("__import__('os').abort()"), spanfft.CorruptData, "damaged"),
        (header_with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}\v"), spanfft.CorruptData, "damaged"),
        (header_with("(" * 5000), spanfft.CorruptData, "damaged"),
        (header_with("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4)}"), ValueError, r"\(0, 4\)"),
        (
            header_with("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 9999999999)}"),
            spanfft.CorruptData,
            "9999999999",
        ),
        (npy_bytes(np.zeros(4, "M8[ns]")), TypeError, r"M8\[ns\].*int8 to int64.*astype"),
        (npy_bytes(np.zeros(4, "V3")), TypeError, "V3"),
        (npy_bytes(np.array([None]), allow_pickle=True), TypeError, "objects"),
        (npy_bytes(np.array(["ab"])), TypeError, "U2"),
        (npy_bytes(np.zeros(3, [("a", "f4"), ("b", "f4")])), TypeError, "records"),
        (npy_bytes(np.float64(3)), ValueError, r"\(\)"),
        (npy_bytes(np.zeros((1,) * 7)), spanfft.Unsupported, "7 axes"),
    ],
)
def test_files_that_are_refused(content, kind, words, tmp_path):
    path = tmp_path / "bad.npy"
    path.write_bytes(content)
    with pytest.raises(kind, match=words) as caught:
        spanfft.transform(path, tmp_path / "out.npy")
    assert isinstance(caught.value, spanfft.Error)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert_clean(tmp_path, "bad.npy")


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        (dict(kind="c2c"), ValueError, "float32.*r2c"),
        (dict(kind="c2r"), ValueError, "float32"),
        (dict(backward=True), ValueError, "complex"),
        (dict(kind="fft"), ValueError, "'fft'"),
        (dict(kind="dct2,dct2,dct2"), ValueError, "3 transforms for 2 axes"),
        (dict(axes=(5,)), IndexError, "out of bounds"),
        (dict(axes=(0, 0)), ValueError, "twice"),
        (dict(axes=()), ValueError, "at least one"),
        (dict(norm="no"), ValueError, "'no'"),
        (dict(memory="lots"), ValueError, "lots"),
        (dict(memory="0"), ValueError, "no memory"),
        (dict(memory=5), MemoryError, "memory is 5"),
        (dict(shape=(6, 8)), ValueError, "npy"),
        (dict(offset=3), ValueError, "npy"),
        (dict(dtype="int24"), ValueError, "int24.*float16.*int8 to int64.*'>i2'"),
        (dict(dtype="int"), ValueError, "did you mean 'int64'"),
        (dict(output_dtype="int8"), ValueError, "int8.*it can be float32"),
        (dict(precision="half"), ValueError, "half.*single.*double"),
        (dict(dtype="float32"), ValueError, "is a .npy file, .* leave out --dtype"),
        (dict(dtype="float32", shape=(6, 8)), ValueError, "is a .npy file"),
        (dict(dtype="float32", shape=(9, 9), offset=0), spanfft.CorruptData, "truncated"),
        (dict(dtype="float32", shape=(6, 8), offset=10**9), spanfft.CorruptData, "truncated"),
        (dict(dtype="float32", shape=(2, 2), offset=0), spanfft.CorruptData, "too long"),
        (dict(dtype="complex128", offset=0), spanfft.CorruptData, "whole number"),
        (dict(dtype="float32", offset=-4), ValueError, "offset"),
        (dict(real_length=8), ValueError, "c2r"),
        (dict(engine="abacus"), spanfft.Error, "abacus"),
    ],
)
def test_bad_arguments(options, kind, words, tmp_path):
    path = tmp_path / "in.npy"
    # 200 bytes are no whole number of complex128.
    path.write_bytes(npy_bytes(np.ones((3, 6), "f4")) if options.get("dtype") == "complex128" else GOOD)
    with pytest.raises(kind, match=words) as caught:
        spanfft.transform(path, tmp_path / "out.npy", **options)
    assert isinstance(caught.value, spanfft.Error)
    assert_clean(tmp_path, "in.npy")


def test_bad_paths(tmp_path):
    path = tmp_path / "in.npy"
    path.write_bytes(GOOD)
    with pytest.raises(OSError, match="missing"):
        spanfft.transform(tmp_path / "missing.npy", tmp_path / "out.npy")
    with pytest.raises(OSError, match="no folder"):
        spanfft.transform(path, tmp_path / "no" / "out.npy")
    with pytest.raises(ValueError, match="never overwritten"):
        spanfft.transform(path, path)
    (tmp_path / "link.npy").symlink_to(path)
    with pytest.raises(ValueError, match="never overwritten"):
        spanfft.transform(path, tmp_path / "link.npy")
    with pytest.raises(ValueError, match="folder"):
        spanfft.transform(path, tmp_path)
    with pytest.raises(OSError, match="directory"):
        spanfft.transform(tmp_path, tmp_path / "out.npy")
    assert path.read_bytes() == GOOD


@pytest.mark.parametrize("length", [7, 10, 0, -2])
def test_c2r_length(length, tmp_path):
    np.save(tmp_path / "in.npy", np.ones((4, 5), complex))
    with pytest.raises(ValueError, match="8 or 9"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind="c2r", real_length=length)


def test_progress_and_stopping(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (1 << 20,), "complex64"))
    seen = []
    spanfft.transform(
        tmp_path / "in.npy",
        tmp_path / "out.npy",
        memory="2MiB",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]
    os.remove(tmp_path / "out.npy")
    with pytest.raises(spanfft.Interrupted):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="2MiB", progress=lambda done, total: False)

    def fails(done, total):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="2MiB", progress=fails)
    assert_clean(tmp_path, "in.npy")


def test_full_disk_is_found_out_before_writing(tmp_path):
    # A sparse input of 1 PiB of complex64 costs nothing; its result would not fit anywhere.
    path = tmp_path / "in.raw"
    try:
        with open(path, "wb") as file:
            file.truncate(1 << 43)
    except OSError:
        pytest.skip("no sparse files of 8 TiB here")
    with pytest.raises(spanfft.Error) as caught:
        spanfft.transform(path, tmp_path / "out.npy", dtype="complex64", shape=(1 << 20, 1 << 20), memory="256MiB")
    assert isinstance(caught.value, (spanfft.NoSpace, spanfft.OutOfMemory)), caught.value
    assert_clean(tmp_path, "in.raw")
