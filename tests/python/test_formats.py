"""HDF5, Zarr, PRESTO and raw files: round trips, files written and read by the formats' own libraries, and mistakes."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import spanfft
from conftest import assert_transform, cli, reference, relative_error
from soak import oracle

h5py = pytest.importorskip("h5py")

needs_zarr = pytest.mark.skipif(sys.version_info < (3, 11), reason="zarr 3 has no release for Python 3.10")
if sys.version_info >= (3, 11):
    import zarr

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1,), (1000,), (37, 53), (7, 11, 13), (3, 1, 4, 5)]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def odd_chunks(shape, pieces=3):
    """Chunks that don't divide the shape, where an axis is long enough."""
    return tuple(n // pieces + 1 if n > pieces else n for n in shape)


def save_hdf5(path, x, chunks=None, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/x", data=x, chunks=chunks, **options)
        file["other"] = np.arange(3)
    return f"{path}:/group/x"


def save_zarr(path, x, chunks=None, **options):
    array = zarr.create_array(store=str(path), shape=x.shape, dtype=x.dtype, chunks=chunks or odd_chunks(x.shape),
                              **options)  # fmt: skip
    array[...] = x
    return str(path)


def load(name):
    """As the library of the format reads it."""
    name = str(name)
    if ".h5" in name:
        path, dataset = name.split(":")
        with h5py.File(path, "r") as file:
            return file[dataset][...]
    return zarr.open_array(name, mode="r")[...] if ".zarr" in name else np.load(name)


def saved(folder, kind, x, pieces=3):
    if kind == "hdf5":
        return save_hdf5(folder / "in.h5", x)
    if kind == "hdf5 chunked":
        return save_hdf5(folder / "in.h5", x, odd_chunks(x.shape, pieces), compression="gzip", shuffle=True)
    if kind == "hdf5 big-endian":
        return save_hdf5(folder / "in.h5", x.astype(x.dtype.newbyteorder(">")))
    if kind == "zarr":
        return save_zarr(folder / "in.zarr", x, odd_chunks(x.shape, pieces))
    np.save(folder / "in.npy", x)
    return str(folder / "in.npy")


HDF5S = ["hdf5", "hdf5 chunked", "hdf5 big-endian"]
INPUTS = [*HDF5S, pytest.param("zarr", marks=needs_zarr)]
OUTPUTS = ["out.h5:/a/b", "chunked.h5:/spectrum", pytest.param("out.zarr", marks=needs_zarr)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", INPUTS)
def test_arrays_of_a_library_are_read_and_left_as_they_were(kind, shape, dtype, rng, tmp_path):
    x = numbers(rng, shape, dtype)
    source = saved(tmp_path, kind, x)
    result = spanfft.transform(source, tmp_path / "out.npy", memory="16MiB")
    assert result.input == source
    exact = reference("rfftn" if x.dtype.kind == "f" else "fftn", x)
    assert relative_error(load(tmp_path / "out.npy"), exact) <= oracle.rule(shape, x.dtype)
    np.testing.assert_array_equal(load(source), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_library_of_the_format_reads_what_was_written_and_the_way_back_gives_the_input(
    output, shape, dtype, rng, tmp_path
):
    x = numbers(rng, shape, dtype)
    np.save(tmp_path / "in.npy", x)
    real = x.dtype.kind == "f"
    there = str(tmp_path / output)
    out_shape = (*shape[:-1], shape[-1] // 2 + 1) if real else shape
    chunks = odd_chunks(out_shape) if "chunked" in output else None
    result = spanfft.transform(tmp_path / "in.npy", there, memory="16MiB", chunks=chunks)
    assert result.output == there
    spectrum = load(there)
    exact = reference("rfftn" if real else "fftn", x)
    assert spectrum.dtype == np.result_type(x.dtype, 1j)
    assert spectrum.shape == exact.shape
    assert relative_error(spectrum, exact) <= oracle.rule(shape, x.dtype)
    back = str(tmp_path / output.replace("out", "back").replace("chunked", "back_chunked"))
    way = {"kind": "c2r", "real_length": shape[-1]} if real else {"backward": True}
    spanfft.transform(there, back, memory="16MiB", chunks=odd_chunks(shape) if chunks else None, **way)
    assert load(back).dtype == x.dtype
    assert relative_error(load(back), x) <= 2 * oracle.rule(shape, x.dtype)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("shape", [(1 << 19,), (700, 900), (90, 100, 70)])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("kind", ["hdf5", "hdf5 chunked", pytest.param("zarr", marks=needs_zarr)])
def test_arrays_that_memory_does_not_hold(kind, dtype, shape, rng, tmp_path):
    x = numbers(rng, shape, dtype)
    source = saved(tmp_path, kind, x, 20 if len(shape) == 1 else 7)
    out = str(tmp_path / ("out.zarr" if kind == "zarr" else "out.h5:/y"))
    real = x.dtype.kind == "f"
    out_shape = (*shape[:-1], shape[-1] // 2 + 1) if real else shape
    chunks = None if kind == "hdf5" else odd_chunks(out_shape, 15)
    result = spanfft.transform(source, out, memory=max(1 << 20, 2 * x.nbytes // 3), chunks=chunks)
    assert result.report["peak_memory_bytes"] <= result.memory_bytes
    assert ("chunked output" in result.explain) == (chunks is not None)
    assert ("chunked input" in result.explain) == (kind != "hdf5")
    exact = reference("rfftn" if real else "fftn", x)
    assert relative_error(load(out), exact) <= oracle.rule(shape, x.dtype)
    for key in ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"):
        assert result.report["counted"][key] == result.report["predicted"][key], key
    names = {"in.h5" if "hdf5" in kind else "in.zarr", "out.h5" if "hdf5" in kind else "out.zarr"}
    assert set(os.listdir(tmp_path)) == names


@pytest.mark.parametrize(
    ("kind", "dtype", "name"),
    [("dct2", "float64", "dctn"), ("dst1", "float64", "dstn"), ("c2c", "complex64", "fftn")],
)
def test_other_kinds_and_axes(kind, dtype, name, rng, tmp_path):
    x = numbers(rng, (20, 30), dtype)
    source = save_hdf5(tmp_path / "in.h5", x, (7, 9))
    out = str(tmp_path / "out.h5:/y")
    spanfft.transform(source, out, kind=kind, axes=(1,), memory="4MiB", chunks=(3, 30))
    options = {} if kind == "c2c" else {"type": int(kind[-1])}
    exact = reference(name, x, axes=(1,), **options)
    logical = {"c2c": 30, "dct2": 60, "dst1": 62}[kind]
    assert relative_error(load(out), exact) <= oracle.rule((logical,), dtype)


@needs_zarr
@pytest.mark.parametrize("share", [3, 1 / 3])
@pytest.mark.parametrize("shape", [(600, 500), (60, 70, 80)])
def test_each_chunk_of_a_zarr_store_is_read_once_and_written_once(share, shape, rng, tmp_path, monkeypatch):
    x = numbers(rng, shape, "complex64")
    chunks = tuple(n // 5 + 1 for n in shape)
    source = save_zarr(tmp_path / "in.zarr", x, chunks)
    gets, sets = {}, {}
    get, put = zarr.storage.LocalStore.get, zarr.storage.LocalStore.set

    async def counted_get(self, key, prototype=None, byte_range=None):
        if "in.zarr" in str(self.root):
            gets[key] = gets.get(key, 0) + 1
        return await get(self, key, prototype, byte_range)

    async def counted_set(self, key, value):
        sets[key] = sets.get(key, 0) + 1
        return await put(self, key, value)

    monkeypatch.setattr(zarr.storage.LocalStore, "get", counted_get)
    monkeypatch.setattr(zarr.storage.LocalStore, "set", counted_set)
    spanfft.transform(source, tmp_path / "out.zarr", memory=max(1 << 20, int(x.nbytes * share)))
    number = np.prod([-(-n // c) for n, c in zip(shape, chunks, strict=True)])
    for counts in (gets, sets):
        pieces = [times for key, times in counts.items() if key.startswith("c/")]
        assert pieces == [1] * number
    assert zarr.open_array(tmp_path / "out.zarr").chunks == chunks
    exact = reference("fftn", x)
    assert relative_error(load(tmp_path / "out.zarr"), exact) <= oracle.rule(shape, x.dtype)


COMPRESSIONS = [
    ("out.h5:/y", "gzip", None),
    ("out.h5:/y", "gzip:9", (7, 9)),
    ("out.h5:/y", "lzf", None),
    pytest.param("out.zarr", "gzip:1", (7, 9), marks=needs_zarr),
    pytest.param("out.zarr", "zstd", None, marks=needs_zarr),
    pytest.param("out.zarr", "zstd:-3", None, marks=needs_zarr),
    pytest.param("out.zarr", "blosc:2", None, marks=needs_zarr),
]


@pytest.mark.parametrize("memory", ["16MiB", "1MiB"])  # straight from memory, and through scratch
@pytest.mark.parametrize(("output", "compression", "chunks"), COMPRESSIONS)
def test_compressed_output_is_that_of_the_formats_library(output, compression, chunks, memory, rng, tmp_path):
    x = np.zeros((300, 310), "complex128")
    x[0] = 1  # so the spectrum is 310 in column 0, else 0
    np.save(tmp_path / "in.npy", x)
    there, back = str(tmp_path / output), tmp_path / "back.npy"
    chunks = (30, 31) if chunks is None and memory == "1MiB" else chunks
    spanfft.transform(tmp_path / "in.npy", there, memory=memory, chunks=chunks, compression=compression)
    exact = np.zeros((300, 310))
    exact[:, 0] = 310
    assert relative_error(load(there), exact) <= oracle.rule((300, 310), complex)
    name, _, level = compression.partition(":")
    if ".h5" in output:
        with h5py.File(tmp_path / "out.h5") as file:
            assert (file["y"].compression, file["y"].chunks) == (name, chunks or (300, 310))
            assert level == "" or file["y"].compression_opts == int(level)
            stored = file["y"].id.get_storage_size()
    else:
        array = zarr.open_array(there)
        (codec,) = [c.to_dict() for c in array.compressors]
        assert codec["name"] == name
        assert level == "" or codec["configuration"]["clevel" if name == "blosc" else "level"] == int(level)
        stored = array.nbytes_stored()
    assert stored < x.nbytes / 4
    spanfft.transform(there, back, memory=memory, backward=True)
    assert relative_error(np.load(back), x) <= 2 * oracle.rule(x.shape, "complex128")
    assert not [entry for entry in os.listdir(tmp_path) if entry.startswith(".")]


@pytest.mark.parametrize(
    ("output", "compression"),
    [("out.h5:/y", "lzf"), ("out.h5:/y", "gzip"), pytest.param("out.zarr", "blosc", marks=needs_zarr)],
)
def test_libraries_have_the_stack_that_they_are_used_to(output, compression, rng, tmp_path):
    """LZF has tables of a MiB there: with numbers like these it touches all of them."""
    x = numbers(rng, (512, 1024), "complex64")
    np.save(tmp_path / "in.npy", x)
    words = ["transform", "in.npy", output, "--chunks", "100x300", "--compression", compression, "--memory", "2MiB"]
    done = cli(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_transform(load(str(tmp_path / output)), x)


def test_compressions_that_a_format_lacks_are_refused_before_anything_is_written(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (8, 6), "float64"))
    source, h5 = tmp_path / "in.npy", str(tmp_path / "out.h5:/y")
    for wrong in ("zip", "gzip:10", "gzip:-1", "gzip:", "gzip:x", "lzf:3", "", "zstd"):
        refused(spanfft.InvalidArgument, f"compression is '{wrong}'.*gzip or gzip:0 to gzip:9, lzf", source, h5,
                compression=wrong)  # fmt: skip
    refused(spanfft.InvalidArgument, "can't be compressed", source, tmp_path / "out.npy", compression="gzip")
    if sys.version_info >= (3, 11):
        for wrong in ("lzf", "zstd:23", "blosc:10"):
            refused(spanfft.InvalidArgument, f"compression is '{wrong}'.*zstd:22", source, tmp_path / "out.zarr",
                    compression=wrong)  # fmt: skip
    assert os.listdir(tmp_path) == ["in.npy"]


@needs_zarr
def test_shards_are_read_whole(rng, tmp_path):
    x = numbers(rng, (60, 50), "float64")
    source = save_zarr(tmp_path / "in.zarr", x, (5, 5), shards=(20, 25))
    spanfft.transform(source, tmp_path / "out.npy", memory="4MiB")
    assert relative_error(np.load(tmp_path / "out.npy"), reference("rfftn", x)) <= oracle.rule(x.shape, x.dtype)


@needs_zarr
def test_an_array_in_a_zarr_group_and_a_name_that_is_replaced(rng, tmp_path):
    x = numbers(rng, (40, 30), "complex128")
    zarr.open_group(tmp_path / "all.zarr", mode="w").create_array("deep/x", data=x, chunks=(11, 7))
    for scale in (1, 2):
        spanfft.transform(tmp_path / "all.zarr/deep/x", tmp_path / "out.zarr", memory="4MiB",
                          norm="backward" if scale == 1 else "forward")  # fmt: skip
    assert_transform(load(tmp_path / "out.zarr"), x, norm="forward")
    assert sorted(os.listdir(tmp_path)) == ["all.zarr", "out.zarr"]
    with pytest.raises(spanfft.InvalidArgument, match="group"):
        spanfft.transform(tmp_path / "all.zarr", tmp_path / "out.zarr")
    with pytest.raises(spanfft.InvalidArgument, match="holds other things"):
        spanfft.transform(tmp_path / "out.zarr", tmp_path / "all.zarr")


def write_inf(path, samples):
    path.write_text(
        f" Data file name without suffix          =  {path.stem}\n"
        " Telescope used                         =  GBT\n"
        f" Number of bins in the time series      =  {samples}\n"
        " Width of each time series bin (sec)    =  6.4e-05\n"
    )


def packed(x):
    """As PRESTO's realfft writes it."""
    spectrum = np.fft.rfft(x)
    spectrum[0] = complex(spectrum[0].real, spectrum[-1].real)
    return spectrum[:-1]


@pytest.mark.parametrize("memory", ["64MiB", "1MiB"])
@pytest.mark.parametrize("n", [2, 6, 1000, 1 << 20])
def test_presto_there_and_back(n, memory, rng, tmp_path):
    x = rng.standard_normal(n).astype("float32") + np.float32(3)
    x.tofile(tmp_path / "s.dat")
    write_inf(tmp_path / "s.inf", n)
    (tmp_path / "out").mkdir()
    result = spanfft.transform(tmp_path / "s.dat", tmp_path / "out" / "t.fft", memory=memory)
    found = np.fromfile(tmp_path / "out" / "t.fft", "complex64")
    exact = packed(x.astype("float64"))
    assert found.shape == (n // 2,)
    assert relative_error(found, exact) <= oracle.rule((n,), "float32")
    assert abs(found[0].imag - exact[0].imag) <= oracle.rule((n,), "float32") * np.linalg.norm(exact)
    assert (tmp_path / "out" / "t.inf").read_text() == (tmp_path / "s.inf").read_text()
    assert (result.report["sweeps"] > 1) == (n == 1 << 20 and memory == "1MiB")
    spanfft.transform(tmp_path / "out" / "t.fft", tmp_path / "back.dat", memory=memory)
    back = np.fromfile(tmp_path / "back.dat", "float32")
    assert relative_error(back, x) <= 2 * oracle.rule((n,), "float32")
    assert (tmp_path / "back.inf").exists()
    assert sorted(os.listdir(tmp_path)) == ["back.dat", "back.inf", "out", "s.dat", "s.inf"]


def test_a_presto_spectrum_is_unpacked_into_other_formats_and_packed_from_them(rng, tmp_path):
    x = rng.standard_normal(512).astype("float32")
    np.save(tmp_path / "x.npy", x)
    spanfft.transform(tmp_path / "x.npy", tmp_path / "x.fft", memory="2MiB")
    found = np.fromfile(tmp_path / "x.fft", "complex64")
    assert relative_error(found, packed(x.astype("float64"))) <= oracle.rule((512,), "float32")
    spanfft.transform(tmp_path / "x.fft", tmp_path / "back.h5:/x", memory="2MiB")
    assert relative_error(load(tmp_path / "back.h5:/x"), x) <= 2 * oracle.rule((512,), "float32")


@pytest.mark.parametrize("dtype", DTYPES)
def test_raw_files_with_shape_dtype_and_offset(dtype, rng, tmp_path):
    x = numbers(rng, (9, 14), dtype)
    (tmp_path / "in.raw").write_bytes(b"sixteen bytes...")
    with open(tmp_path / "in.raw", "ab") as file:
        x.tofile(file)
    spanfft.transform(tmp_path / "in.raw", tmp_path / "out.raw", dtype=dtype, shape=(9, 14), offset=16)
    exact = reference("rfftn" if x.dtype.kind == "f" else "fftn", x)
    found = np.fromfile(tmp_path / "out.raw", np.result_type(x.dtype, 1j)).reshape(exact.shape)
    assert relative_error(found, exact) <= oracle.rule(x.shape, x.dtype)


def refused(error, match, *arguments, **options):
    with pytest.raises(error, match=match):
        spanfft.transform(*arguments, **options)


def test_hdf5_mistakes_are_named_before_anything_is_written(rng, tmp_path):
    x = numbers(rng, (8, 6), "float64")
    source = save_hdf5(tmp_path / "in.h5", x)
    with h5py.File(tmp_path / "in.h5", "a") as file:
        file["names"] = np.array([b"abc", b"def"])
        file["number"] = 1.0
    path, out = str(tmp_path / "in.h5"), tmp_path / "out.npy"
    refused(spanfft.InvalidArgument, r"/missing is not there; the datasets are: .*/group/x", f"{path}:/missing", out)
    refused(spanfft.InvalidArgument, "/group is a group", f"{path}:/group", out)
    refused(spanfft.InvalidArgument, "holds 4 datasets; name one", path, out)
    refused(spanfft.InvalidType, "dtype .S3.*int8 to int64.*no long double", f"{path}:/names", out)
    refused(spanfft.InvalidArgument, "nothing to transform", f"{path}:/number", out)
    refused(spanfft.InvalidArgument, "the option another one", source, out, dataset="/y")
    refused(spanfft.InvalidArgument, "leave out --dtype", source, out, shape=(48,))
    refused(spanfft.IOFailure, "No such file", tmp_path / "none.h5:/x", out)
    (tmp_path / "text.h5").write_text("no HDF5 at all")
    refused(spanfft.CorruptData, "no HDF5 file", tmp_path / "text.h5:/x", out)
    refused(spanfft.InvalidArgument, "holds other datasets", source, f"{path}:/y")
    refused(spanfft.InvalidArgument, "is the input too", save_only(tmp_path, x), tmp_path / "only.h5:/x")
    refused(spanfft.InvalidArgument, r"chunks are \(3,\)", source, tmp_path / "out.h5", chunks=(3,))
    refused(spanfft.InvalidArgument, "has no chunks", source, out, chunks=(3, 3))
    refused(spanfft.IOFailure, "no folder", source, tmp_path / "nowhere" / "out.h5:/x")
    assert sorted(os.listdir(tmp_path)) == ["in.h5", "only.h5", "text.h5"]


def save_only(folder, x):
    with h5py.File(folder / "only.h5", "w") as file:
        file["x"] = x
    return f"{folder / 'only.h5'}:/x"


def test_the_dataset_can_be_an_option_or_the_only_one(rng, tmp_path):
    x = numbers(rng, (12, 10), "float32")
    save_only(tmp_path, x)
    spanfft.transform(tmp_path / "only.h5", tmp_path / "out.h5")
    assert relative_error(load(tmp_path / "out.h5:/data"), reference("rfftn", x)) <= oracle.rule(x.shape, x.dtype)
    spanfft.transform(tmp_path / "only.h5", tmp_path / "named.h5", dataset="x", axes=(0,), kind="dct2")
    assert load(tmp_path / "named.h5:/x").shape == (12, 10)


def test_a_truncated_hdf5_dataset_is_an_error(rng, tmp_path):
    source = save_only(tmp_path, numbers(rng, (1000, 1000), "float64"))
    os.truncate(tmp_path / "only.h5", 4_000_000)
    refused((spanfft.CorruptData, spanfft.IOFailure), "only.h5", source, tmp_path / "out.npy")


@needs_zarr
def test_zarr_mistakes_are_named_before_anything_is_written(rng, tmp_path):
    x = numbers(rng, (8, 6), "float64")
    source = save_zarr(tmp_path / "in.zarr", x)
    save_zarr(tmp_path / "dates.zarr", np.zeros(12, "M8[s]"))
    out = tmp_path / "out.zarr"
    refused(spanfft.IOFailure, "not there", tmp_path / "none.zarr", out)
    refused(spanfft.InvalidType, "dtype .*int8 to int64", tmp_path / "dates.zarr", out)
    refused(spanfft.InvalidArgument, "leave out --dtype", source, out, offset=3)
    refused(spanfft.InvalidArgument, "is the input too", source, source)
    (tmp_path / "empty.zarr").mkdir()
    refused(spanfft.CorruptData, "no zarr.json", tmp_path / "empty.zarr", out)
    (tmp_path / "file.zarr").write_text("")
    refused(spanfft.InvalidArgument, "is a file", source, tmp_path / "file.zarr")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("dear")
    os.rename(tmp_path / "full", tmp_path / "full.zarr")
    refused(spanfft.InvalidArgument, "holds other things", source, tmp_path / "full.zarr")
    refused(spanfft.OutOfMemory, "a chunk has .* make the chunks smaller", save_big_chunk(tmp_path), out, memory="1MiB")
    assert not out.exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def save_big_chunk(folder):
    return save_zarr(folder / "big.zarr", np.zeros((1024, 1024), "complex64"), (512, 512))


@needs_zarr
def test_a_damaged_chunk_is_an_error_and_leaves_no_output(rng, tmp_path):
    source = save_zarr(tmp_path / "in.zarr", numbers(rng, (64, 64), "float64"), (16, 16))
    (tmp_path / "in.zarr" / "c" / "2" / "1").write_bytes(b"not zstd")
    refused((spanfft.IOFailure, spanfft.CorruptData), "in.zarr", source, tmp_path / "out.zarr", memory="2MiB")
    assert os.listdir(tmp_path) == ["in.zarr"]


def test_presto_mistakes_are_named(rng, tmp_path):
    x = rng.standard_normal(100).astype("float32")
    x.tofile(tmp_path / "s.dat")
    out = tmp_path / "s.fft"
    refused(spanfft.InvalidArgument, r"no .*s\.inf beside it.*--dtype", tmp_path / "s.dat", out)
    write_inf(tmp_path / "s.inf", 99)
    refused(spanfft.CorruptData, "99 samples, but .* holds 100", tmp_path / "s.dat", out)
    (tmp_path / "s.inf").write_text("a letter")
    refused(spanfft.CorruptData, "no .inf file", tmp_path / "s.dat", out)
    refused(spanfft.IOFailure, "No such file", tmp_path / "t.dat", out)
    x[:99].tofile(tmp_path / "odd.dat")
    write_inf(tmp_path / "odd.inf", 99)
    refused(spanfft.InvalidArgument, "even length", tmp_path / "odd.dat", tmp_path / "odd.fft")
    refused(spanfft.InvalidArgument, "even length", tmp_path / "odd.dat", tmp_path / "odd.fft", kind="dct2")
    packed(x).astype("complex64").tofile(tmp_path / "p.fft")
    refused(spanfft.InvalidArgument, "only go back", tmp_path / "p.fft", tmp_path / "p.npy", kind="c2c")
    refused(spanfft.InvalidArgument, "packed", tmp_path / "p.fft", tmp_path / "p.npy", real_length=101)
    assert not out.exists()


def test_presto_files_are_only_made_of_what_presto_has(rng, tmp_path):
    rng.standard_normal(100).astype("float32").tofile(tmp_path / "s.dat")
    write_inf(tmp_path / "s.inf", 100)
    source, packed_out = tmp_path / "s.dat", tmp_path / "s.fft"
    refused(spanfft.InvalidArgument, "complex64, of float32 .* it is float32", source, packed_out, power=True)
    refused(spanfft.InvalidArgument, "complex64", source, packed_out, output_dtype="float32", on_output=np.abs)
    refused(spanfft.InvalidArgument, "float32 on one axis; it is complex64", source, tmp_path / "t.dat")
    refused(spanfft.InvalidArgument, "100 samples; it is float32 .51,", source, tmp_path / "t.dat", power=True)
    np.save(tmp_path / "two.npy", np.zeros((4, 6), "float32"))
    refused(spanfft.InvalidArgument, "one axis", tmp_path / "two.npy", tmp_path / "t.dat", kind="dct2")
    assert sorted(os.listdir(tmp_path)) == ["s.dat", "s.inf", "two.npy"]


def test_an_hdf5_file_by_another_name_is_not_taken_for_raw(rng, tmp_path):
    import h5py

    with h5py.File(tmp_path / "cube.nc", "w") as file:
        file["x"] = rng.standard_normal(64)
    refused(spanfft.InvalidArgument, "HDF5 file; .*FILE.h5:/DATASET", tmp_path / "cube.nc", tmp_path / "out.npy")
    refused(spanfft.InvalidArgument, "HDF5 file", tmp_path / "cube.nc", tmp_path / "out.npy", dtype="float64")
    assert os.listdir(tmp_path) == ["cube.nc"]


def test_a_raw_file_whose_length_is_not_its_shape_is_refused(tmp_path):
    (tmp_path / "in.raw").write_bytes(bytes(100))
    refused(spanfft.CorruptData, "needs 96 bytes", tmp_path / "in.raw", tmp_path / "o", dtype="float32", shape=(4, 6))
    refused(spanfft.CorruptData, "needs 112 bytes", tmp_path / "in.raw", tmp_path / "o", dtype="float32", shape=(4, 7))
    refused(spanfft.InvalidArgument, "give --dtype", tmp_path / "in.raw", tmp_path / "o")
    assert os.listdir(tmp_path) == ["in.raw"]


@pytest.mark.parametrize(("module", "name"), [("h5py", "in.h5:/x"), ("zarr", "in.zarr")])
def test_without_its_library_a_format_says_what_to_install(module, name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "in.zarr").mkdir()
    (tmp_path / "in.zarr" / "zarr.json").write_text("{}")
    package = "h5py" if module == "h5py" else "'zarr>=3'"
    refused(spanfft.Unsupported, f"pip install {package}", tmp_path / name, tmp_path / "out.npy")
    np.save(tmp_path / "x.npy", np.zeros(4))
    refused(spanfft.Unsupported, "pip install", tmp_path / "x.npy", tmp_path / name)


@pytest.mark.parametrize("target", ["out.h5:/x", pytest.param("out.zarr", marks=needs_zarr)])
def test_a_run_that_is_stopped_leaves_the_old_output_and_nothing_else(target, rng, tmp_path):
    x = numbers(rng, (300, 400), "complex128")
    np.save(tmp_path / "in.npy", x)
    out, chunks = str(tmp_path / target), (50, 60)
    spanfft.transform(tmp_path / "in.npy", out, memory="1MiB", chunks=chunks)
    before = load(out)
    options = {"memory": "1MiB", "chunks": chunks, "norm": "ortho"}

    class Stop(Exception):
        pass

    for stop_at in (0.1, 0.9):

        def progress(done, total, stop_at=stop_at):
            if done >= stop_at * total:
                raise Stop

        with pytest.raises(Stop):
            spanfft.transform(tmp_path / "in.npy", out, **options, progress=progress, journal=False)
        np.testing.assert_array_equal(load(out), before)
        assert sorted(os.listdir(tmp_path)) == ["in.npy", target.split(":")[0]]


def test_a_chunked_dataset_is_locked_though_hdf5_locks_nothing(rng, tmp_path):
    """Clusters set HDF5_USE_FILE_LOCKING=FALSE; cleaning up after dead runs goes by the lock."""
    x = numbers(rng, (300, 400), "complex128")
    np.save(tmp_path / "in.npy", x)
    program = (
        "import sys, spanfft; spanfft.transform(sys.argv[1], sys.argv[2], axes=(1,), memory='1MiB', chunks=(50, 60))"
    )
    environment = dict(os.environ, HDF5_USE_FILE_LOCKING="FALSE")
    command = [sys.executable, "-c", program, tmp_path / "in.npy", f"{tmp_path}/out.h5:/x"]
    subprocess.run(command, check=True, timeout=60, env=environment)
    assert_transform(load(f"{tmp_path}/out.h5:/x"), x, axes=(1,))
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.h5"]


@needs_zarr
def test_an_array_is_replaced_where_names_cant_be_exchanged(rng, tmp_path, monkeypatch):
    """renameat2 with RENAME_EXCHANGE is EINVAL on NFS."""
    x = numbers(rng, (30, 40), "complex128")
    np.save(tmp_path / "in.npy", x)
    save_zarr(tmp_path / "out.zarr", x)

    class Nfs:
        @staticmethod
        def renameat2(*_):
            ctypes.set_errno(errno.EINVAL)
            return -1

    monkeypatch.setattr("spanfft._formats.zarr.ctypes.CDLL", lambda *_, **__: Nfs)
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.zarr")
    assert_transform(load(str(tmp_path / "out.zarr")), x)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.zarr"]


@pytest.mark.parametrize("target", ["out.h5:/x", pytest.param("out.zarr", marks=needs_zarr)])
def test_what_a_killed_run_left_is_removed_by_the_next(target, rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (700, 1024), "complex128"))
    program = (
        "import sys, time, spanfft\n"
        "def progress(done, total):\n"
        "    if done > 0.8 * total: print('there', flush=True); time.sleep(60)\n"
        "spanfft.transform(sys.argv[1], sys.argv[2], memory='2MiB', chunks=(70, 100), progress=progress)\n"
    )
    out = str(tmp_path / target)
    run = subprocess.Popen([sys.executable, "-c", program, tmp_path / "in.npy", out], stdout=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline().strip() == b"there"
    run.send_signal(signal.SIGKILL)
    run.wait(30)
    run.stdout.close()
    assert not (tmp_path / target.split(":")[0]).exists()
    deadline = time.monotonic() + 20
    while True:  # the kernel closes a killed process's files in its own time
        spanfft.transform(tmp_path / "in.npy", out, memory="16MiB", chunks=(70, 100), resume=False)
        left = [name for name in os.listdir(tmp_path) if name.startswith(".")]
        if not left or time.monotonic() > deadline:
            break
    assert not left


@needs_zarr
def test_memory_stays_within_the_budget_for_a_chunked_array_of_128_mib(tmp_path):
    array = zarr.create_array(store=tmp_path / "in.zarr", shape=(4096, 4096), dtype="complex64", chunks=(512, 512))
    rng = np.random.default_rng(5)
    for row in range(0, 4096, 512):
        array[row : row + 512] = rng.standard_normal((512, 4096)).astype("complex64")
    program = (
        "import sys, json, numpy, zarr, spanfft\n"
        "from spanfft._cli_transform import _peak_resident_bytes\n"
        "numpy.ones(4); zarr.create_array(store=zarr.storage.MemoryStore(), shape=(4,), dtype='c8')[:] = 1\n"
        "before = _peak_resident_bytes()\n"
        "r = spanfft.transform(sys.argv[1], sys.argv[2], memory='32MiB')\n"
        "print(json.dumps([_peak_resident_bytes() - before, r.report['sweeps']]))\n"
    )
    run = subprocess.run([sys.executable, "-c", program, tmp_path / "in.zarr", tmp_path / "out.zarr"],
                         capture_output=True, text=True, check=True, timeout=110)  # fmt: skip
    grown, sweeps = json.loads(run.stdout)
    assert sweeps == 4
    assert grown <= (32 + 64) << 20
    x = array[...].astype("complex128")
    column = np.fft.fft(x, axis=1)[:, 17]
    got = zarr.open_array(tmp_path / "out.zarr", mode="r")[:, 17]
    assert relative_error(got, np.fft.fft(column)) <= oracle.rule(array.shape, array.dtype)


def test_the_command_line_takes_a_dataset_and_chunks(rng, tmp_path):
    x = numbers(rng, (30, 20), "float64")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["a"], file["b"] = x, x + 1
    run = subprocess.run(
        [sys.executable, "-m", "spanfft", "transform", "in.h5", "out.h5", "--dataset", "b", "--chunks", "7x4",
         "--memory", "4MiB", "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["output"] == "out.h5:/b"
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["b"].chunks == (7, 4)
    assert_transform(load(tmp_path / "out.h5:/b"), x + 1, "r2c")
    run = subprocess.run(
        [sys.executable, "-m", "spanfft", "transform", "in.h5:/c", "o.npy"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert "in.h5:/c is not there; the datasets are: /a, /b" in run.stderr


@pytest.mark.parametrize("dataset", ["data", "some/group/data"])
def test_an_hdf5_output_is_gone_on_with_in_another_second(dataset, rng, tmp_path):
    """HDF5 writes times into what it makes unless told not to, and the unfinished run was then another's."""
    x = numbers(rng, (96, 70, 50), "complex128")
    np.save(tmp_path / "in.npy", x)
    output = f"{tmp_path}/out.h5:/{dataset}"
    with pytest.raises(spanfft.Interrupted):
        spanfft.transform(tmp_path / "in.npy", output, memory="1MiB", progress=lambda done, total: done < 0.8 * total)
    begun = int(time.time())
    while int(time.time()) == begun:
        time.sleep(0.05)
    assert spanfft.transform(tmp_path / "in.npy", output, memory="1MiB", resume=True).resumed_bytes > 0
    assert relative_error(load(output), reference("fftn", x)) <= oracle.rule(x.shape, x.dtype)


def test_the_inf_beside_a_new_file_is_no_more_readable_than_the_one_that_it_is_of(tmp_path):
    np.ones(8, "float32").tofile(tmp_path / "in.dat")
    (tmp_path / "in.inf").write_text(" Number of bins in the time series      =  8\n")
    (tmp_path / "in.inf").chmod(0o600)
    spanfft.transform(tmp_path / "in.dat", tmp_path / "out.fft")
    assert (tmp_path / "out.inf").stat().st_mode & 0o777 == 0o600
    (tmp_path / "in.inf").chmod(0o644)
    (tmp_path / "out.inf").chmod(0o640)
    spanfft.transform(tmp_path / "in.dat", tmp_path / "out.fft")
    assert (tmp_path / "out.inf").stat().st_mode & 0o777 == 0o640  # as it was
