"""Files of other types: integers, booleans, halves, other byte orders, Fortran order; converted as they are read."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import shutil

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import assert_transform, cli, relative_error
from soak import oracle
from spanfft._elements import element_named, input_element
from spanfft._files import describe

WHOLE = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8"]
REAL = [*WHOLE, "?", "f2", ">f2", ">f4", ">f8", ">f16"]
COMPLEX = [">c8", ">c16", ">c32"]
COUNTS = ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes")


def numbers(rng, shape, descr):
    """Of a type: all over what it holds, but no further than a sum of squares in long double goes."""
    dtype = np.dtype(descr)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        about = np.iinfo(dtype)
        return rng.integers(about.min, about.max, shape, dtype.newbyteorder("="), endpoint=True).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def computed(x):
    """The input as the documents say that it is converted: integers to double, halves to single."""
    if x.dtype.kind in "iub":
        return x.astype(np.float64)
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x.astype(x.dtype.newbyteorder("="))


def save(path, x, how, **options):
    """With what transform() needs to be told of it."""
    if how == "npy":
        np.save(path, x)
        return {}
    path.write_bytes(b"?" * how + x.tobytes())
    return {"dtype": x.dtype.str if x.dtype.kind != "b" else "bool", "shape": x.shape, "offset": how}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_counts(result):
    for key in COUNTS:
        assert result.report["counted"][key] == result.report["predicted"][key], key


def stop_after(share):
    return lambda done, total: done < share * total


# --- every type ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["npy", 0, 7, 64], ids=str)
@pytest.mark.parametrize("descr", REAL + COMPLEX)
def test_every_type_in_npy_and_raw_files(descr, how, rng, tmp_path):
    x = numbers(rng, (12, 35), descr)
    options = save(tmp_path / "in.npy", x, how)
    before = digest(tmp_path / "in.npy")
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="8MiB", **options)
    out = np.load(tmp_path / "out.npy")
    exact = computed(x)
    assert out.dtype == np.result_type(exact.dtype, 1j)
    assert_transform(out, exact, "r2c" if x.dtype.kind != "c" else "c2c")
    assert np.dtype(result.input_dtype) == x.dtype
    assert result.report["counted"]["disk_read_bytes"] == x.nbytes
    assert_counts(result)
    assert "converted from" in result.explain
    assert digest(tmp_path / "in.npy") == before
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


# 96 x 70 x 50 elements of any type are more than a budget of 1 MiB, in which the array has several panels.
@pytest.mark.parametrize("how", ["npy", 0, 4096 + 13], ids=str)
@pytest.mark.parametrize("descr", REAL + COMPLEX)
def test_every_type_in_panels(descr, how, rng, tmp_path):
    x = numbers(rng, (96, 70, 50), descr)
    options = save(tmp_path / "in.npy", x, how)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB", **options)
    assert result.report["sweeps"] > 1
    assert result.report["peak_memory_bytes"] <= 1 << 20
    assert_transform(np.load(tmp_path / "out.npy"), computed(x), "r2c" if x.dtype.kind != "c" else "c2c")
    assert_counts(result)
    first = result.report["steps"][0]["counted"]
    assert first["disk_read_bytes"] == x.nbytes


@pytest.mark.parametrize("precision", ["single", "double", "longdouble"])
@pytest.mark.parametrize("memory", ["1MiB", "16MiB"])
@pytest.mark.parametrize("descr", ["i1", ">i4", "u8", "f2", "<f4", "<f8", ">f8", "<f16", "<c8", "<c16", ">c8"])
def test_the_precision_is_the_callers(descr, memory, precision, rng, tmp_path):
    x = numbers(rng, (150000,), descr) if memory == "1MiB" else numbers(rng, (400, 25), descr)
    np.save(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=memory, precision=precision)
    real = {"single": np.float32, "double": np.float64, "longdouble": np.longdouble}[precision]
    exact = x.astype(real if x.dtype.kind != "c" else np.result_type(real, 1j))
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.result_type(real, 1j)
    assert_transform(out, exact, "r2c" if x.dtype.kind != "c" else "c2c")
    assert result.report["peak_memory_bytes"] <= result.memory_bytes
    assert_counts(result)


@pytest.mark.parametrize(("value", "nearest"), [(2**53 + 1, 2**53), (2**53 + 3, 2**53 + 4), (-(2**53) - 1, -(2**53)),
                                                (2**63 - 1, 2**63), (-(2**63), -(2**63))])  # fmt: skip
def test_integers_beyond_the_precision_are_rounded(value, nearest, tmp_path):
    np.save(tmp_path / "in.npy", np.array([value], "i8"))
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind="r2c", memory="8MiB")
    assert np.load(tmp_path / "out.npy")[0] == nearest


def test_types_are_said_in_many_ways():
    for said in ("int16", "i2", "<i2", np.int16, np.dtype("int16"), np.dtype("<i2")):
        assert input_element(said).descr == "<i2"
    for said in (">i2", np.dtype(">i2")):
        assert input_element(said).descr == ">i2"
    assert input_element(np.dtype(">f4")).descr == ">f4"
    assert input_element(">f4").name == ">f4"
    for said in ("uint8", "u1", "|u1", ">u1", np.uint8, np.dtype("u1")):
        assert input_element(said).name == "uint8"
    for said in ("bool", "?", np.bool_, bool, np.dtype(bool)):
        if said != "?":
            assert input_element(said).name == "bool"
    for said in (np.longdouble, "longdouble", "f16", np.dtype("longdouble")):
        assert input_element(said).name == "longdouble"
    assert element_named(np.dtype("c8")).name == "complex64"
    for said in ("int16", ">c8", np.dtype(">f4"), np.int8, bool):
        with pytest.raises(spanfft.InvalidArgument, match="it can be float32"):
            element_named(said)


# --- kinds and solvers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "shape", "kind", "descr", "memory"),
    [
        ("two_sweeps", (1 << 18,), "r2c", "i2", "1MiB"),
        ("two_sweeps", (3, 1 << 17), "c2c", ">c8", "1MiB"),
        ("two_sweeps", (300000,), "dct2", "u1", "1MiB"),
        ("many_sweeps", (1 << 18,), "r2c", ">i4", "1MiB"),
        ("many_sweeps", (1 << 17,), "c2c", ">c16", "1MiB"),
        ("two_sweeps of rows", (4096, 64), "c2c", ">c8", "1MiB"),
        ("two_sweeps of rows", (1 << 16, 30), "r2c", "i2", "1MiB"),
        ("chirp_sweeps", (100003,), "r2c", "f2", "2MiB"),
        ("chirp_sweeps", (100003,), "c2c", ">c16", "3MiB"),
        ("axis_sweeps", (96, 70, 50), "dst3", "i8", "1MiB"),
        ("axis_sweeps", (500, 4, 300), "r2c", "u2", "1MiB"),
        ("file_in_memory", (96, 70), "dct3", ">f4", "1MiB"),
        ("scratch_in_memory", (1 << 18,), "c2c", ">c8", "3MiB"),
        ("scratch_in_memory", (300, 4, 300), "r2c", "u2", "4MiB"),
    ],
)
def test_every_solver_of_files(method, shape, kind, descr, memory, rng, tmp_path):
    x = numbers(rng, shape, descr)
    np.save(tmp_path / "in.npy", x)
    axes = {"axis_sweeps": None, "two_sweeps of rows": (0,)}.get(method, (-1,))
    method = method.removesuffix(" of rows")
    how = dict(kind=kind, axes=axes, memory=memory, method=method)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", **how)
    assert result.report["solver"].startswith(method)
    assert_transform(np.load(tmp_path / "out.npy"), computed(x), kind, axes)
    assert result.report["peak_memory_bytes"] <= result.memory_bytes
    assert_counts(result)


def test_superlevels_declines(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (1 << 17,), ">c8"))
    with pytest.raises(spanfft.Unsupported, match=r"superlevels .*load=>c8.*two_sweeps"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB", method="superlevels")
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB")
    assert result.report["solver"] != "superlevels"


@pytest.mark.parametrize("memory", ["1MiB", "64MiB"])
@pytest.mark.parametrize("descr", [">c8", ">c16"])
def test_a_big_endian_spectrum_goes_back(descr, memory, rng, tmp_path):
    real = np.float32 if descr == ">c8" else np.float64
    x = rng.standard_normal((64, 5000)).astype(real)
    spectrum = oracle.forward(x, "r2c", (0, 1)).astype(descr)
    np.save(tmp_path / "in.npy", spectrum)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind="c2r", memory=memory)
    back = np.load(tmp_path / "out.npy")
    assert back.dtype == real
    assert relative_error(back, x.astype(np.longdouble)) <= 2 * oracle.rule(x.shape, real)
    assert_counts(result)


@pytest.mark.parametrize("memory", ["1MiB", "64MiB"])
def test_callbacks_windows_and_other_outputs(memory, rng, tmp_path):
    x = numbers(rng, (200000,), ">i2")
    np.save(tmp_path / "in.npy", x)
    seen = np.zeros(x.size, int)

    def shift(block, index):
        assert block.dtype == np.float32
        assert np.array_equal(block, x[index : index + block.size].astype(np.float32))
        seen[index : index + block.size] += 1
        block += 5

    how = dict(memory=memory, precision="single", window="hann", scale=0.5, power=True, output_dtype="float64")
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", on_input=shift, **how)
    assert (seen == 1).all()
    window = (1 - np.cos(2 * np.pi * np.arange(x.size, dtype=np.longdouble) / x.size)) / 2
    exact = abs(scipy.fft.rfft((x.astype(np.longdouble) + 5) * window) / 2) ** 2
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.float64
    assert relative_error(out, exact) <= 3 * oracle.rule(x.shape, np.float32) + 4 * 2.0**-23
    assert_counts(result)


def test_progress_ends_at_its_total(rng, tmp_path):
    for descr, precision in (("i1", None), ("f8", "single")):
        np.save(tmp_path / "in.npy", numbers(rng, (96, 70, 50), descr))
        for memory in ("1MiB", "64MiB"):
            told = []
            spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=memory, precision=precision,
                              progress=lambda done, total, told=told: told.append((done, total)))  # fmt: skip
            assert told[-1][0] == told[-1][1]
            assert all(a[0] <= b[0] for a, b in itertools.pairwise(told))


@pytest.mark.parametrize("io", ["threads", "auto", None])
def test_who_reads(io, rng, tmp_path):
    x = numbers(rng, (4000, 250), "i2")
    np.save(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", axes=-1, memory="1MiB", io=io)
    assert_transform(np.load(tmp_path / "out.npy"), computed(x), "r2c", (-1,))
    who = result.explain.split("\nio ")[1].split(";")[0]
    assert "16 threads" in who
    assert ("they convert what the file holds" in who) == (io != "threads")


# --- Fortran order ----------------------------------------------------------------------------------------------------


def fortran(path, x):
    np.save(path, np.asfortranarray(x))
    assert describe(path).fortran == (sum(n > 1 for n in x.shape) > 1)


@pytest.mark.parametrize("descr", ["f8", ">i2", "c16", ">c8"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((30,), None), ((30, 14), None), ((30, 14), (0,)), ((30, 14), (1,)), ((30, 14), (1, 0)), ((30, 14), (-1,)),
        ((8, 9, 10), None), ((8, 9, 10), (0,)), ((8, 9, 10), (1,)), ((8, 9, 10), (2,)), ((8, 9, 10), (0, 2)),
        ((8, 9, 10), (2, 0)), ((8, 9, 10), (1, 0)), ((1, 9, 1), (1,)), ((3, 1, 4), (0, 1)),
    ],
)  # fmt: skip
def test_fortran_order_in_memory(shape, axes, descr, rng, tmp_path):
    x = numbers(rng, shape, descr)
    fortran(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", axes=axes, memory="8MiB")
    out = np.load(tmp_path / "out.npy")
    kind = "c2c" if x.dtype.kind == "c" else "r2c"
    assert_transform(out, computed(x), kind, axes)
    assert out.shape == result.output_shape
    assert out.flags.f_contiguous
    mapped = np.load(tmp_path / "out.npy", mmap_mode="r")
    assert mapped.offset == 4096
    if kind == "r2c":
        last = (axes or range(x.ndim))[-1]
        spanfft.transform(tmp_path / "out.npy", tmp_path / "back.npy", axes=axes, kind="c2r", real_length=shape[last])
        back = np.load(tmp_path / "back.npy")
        assert back.flags.f_contiguous
        assert relative_error(back, computed(x).astype(np.longdouble)) <= 2 * oracle.rule(shape, back.dtype)


@pytest.mark.parametrize("axes", [None, (0,), (1,), (2,), (0, 1), (2, 0)])
@pytest.mark.parametrize(("kind", "descr"), [("c2c", "c16"), ("c2c", ">c8"), ("dct2", "u2"), ("dst3", "f2")])
def test_fortran_order_in_panels(kind, descr, axes, rng, tmp_path):
    x = numbers(rng, (96, 70, 50), descr)
    fortran(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind=kind, axes=axes, memory="1MiB")
    out = np.load(tmp_path / "out.npy")
    assert_transform(out, computed(x), kind, axes)
    assert out.flags.f_contiguous
    assert result.report["peak_memory_bytes"] <= 1 << 20
    assert_counts(result)


@pytest.mark.parametrize("axes", [None, (2,), (1, 0), (2, 1, 0), (0, 2, 1)])
def test_r2c_and_back_in_panels_of_whichever_axis_is_halved(axes, rng, tmp_path):
    """The last of axes, which in Fortran order may be any in memory."""
    shape = (96, 70, 50)
    x = numbers(rng, shape, "i4")
    fortran(tmp_path / "in.npy", x)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", axes=axes, memory="1MiB")
    halved = (axes or range(3))[-1]
    assert result.output_shape == tuple(n // 2 + 1 if axis == halved else n for axis, n in enumerate(shape))
    assert_transform(np.load(tmp_path / "out.npy"), computed(x), "r2c", axes)
    assert_counts(result)
    back = spanfft.transform(tmp_path / "out.npy", tmp_path / "back.npy", axes=axes, kind="c2r", memory="1MiB")
    assert max(each.report["peak_memory_bytes"] for each in (result, back)) <= 1 << 20
    y = np.load(tmp_path / "back.npy")
    assert y.flags.f_contiguous
    assert relative_error(y, x.astype(np.longdouble)) <= 2 * oracle.rule(shape, y.dtype)


def test_the_window_and_the_callbacks_of_an_array_in_fortran_order(rng, tmp_path):
    x = numbers(rng, (40, 60), "f4")
    fortran(tmp_path / "in.npy", x)

    def weigh(block, index):
        i, j = np.unravel_index(np.arange(index, index + block.size), x.shape, order="F")
        assert np.array_equal(block, x[i, j])
        block *= i - 2.0 * j

    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", window="hann", axes=(1, 0), on_input=weigh)
    i, j = np.indices(x.shape)
    window = (1 - np.cos(2 * np.pi * np.arange(40) / 40)) / 2
    exact = oracle.forward(x * (i - 2.0 * j) * window[:, None], "r2c", (1, 0))
    assert relative_error(np.load(tmp_path / "out.npy"), exact) <= 2 * oracle.rule(x.shape, np.float32)


def test_in_place_in_fortran_order(rng, tmp_path):
    x = numbers(rng, (96, 70, 50), "c16")
    fortran(tmp_path / "in.npy", x)
    spanfft.transform(tmp_path / "in.npy", in_place=True, axes=(0, 2), memory="1MiB")
    assert_transform(np.load(tmp_path / "in.npy"), x, "c2c", (0, 2))


@pytest.mark.parametrize("name", ["out.raw", "out", "out.h5:/x", "out.zarr"])
def test_other_formats_can_not_say_that_they_are_in_fortran_order(name, rng, tmp_path):
    fortran(tmp_path / "in.npy", numbers(rng, (6, 8), "f4"))
    with pytest.raises(spanfft.InvalidArgument, match=r"Fortran order.*\.npy.*ascontiguousarray"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / name)
    fortran(tmp_path / "line.npy", numbers(rng, (6, 1), "f4"))  # in both orders
    spanfft.transform(tmp_path / "line.npy", tmp_path / name, axes=0)


# --- journal ----------------------------------------------------------------------------------------------------


@pytest.fixture
def source(rng, tmp_path):
    x = numbers(rng, (96, 70, 50), ">i2")
    np.save(tmp_path / "in.npy", x)
    return x


def leave_unfinished(folder, share=0.8, **options):
    with pytest.raises(spanfft.Interrupted, match="goes on from there"):
        spanfft.transform(folder / "in.npy", folder / "out.npy", memory="1MiB", progress=stop_after(share), **options)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_stopped_run_goes_on_to_the_same_bits(source, share, precision, tmp_path):
    spanfft.transform(tmp_path / "in.npy", tmp_path / "whole.npy", memory="1MiB", precision=precision)
    leave_unfinished(tmp_path, share, precision=precision)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", resume=True, precision=precision)
    assert result.resumed_bytes > 0
    assert digest(tmp_path / "out.npy") == digest(tmp_path / "whole.npy")


def test_an_input_that_changed_is_noticed(source, tmp_path):
    leave_unfinished(tmp_path)
    about = (tmp_path / "in.npy").stat()
    with (tmp_path / "in.npy").open("r+b") as file:  # between two samples of the identity
        file.seek(128 + source.nbytes // 63 // 2 + 3000)
        file.write(b"\x7f" * 4)
    os.utime(tmp_path / "in.npy", ns=(about.st_atime_ns, about.st_mtime_ns))
    with pytest.raises(spanfft.CorruptData, match=r"in\.npy has changed"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB")


def test_an_input_that_only_looks_changed_is_read_again_and_the_run_goes_on(source, tmp_path):
    leave_unfinished(tmp_path)
    shutil.copyfile(tmp_path / "in.npy", tmp_path / "copy.npy")
    os.replace(tmp_path / "copy.npy", tmp_path / "in.npy")
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB")
    assert result.resumed_bytes > 0
    assert any("was read again, and is the same" in note for note in result.report["notes"])
    assert_transform(np.load(tmp_path / "out.npy"), computed(source), "r2c")


def test_another_type_is_another_run(source, tmp_path):
    """The same bytes as other numbers."""
    raw = (tmp_path / "in.npy").read_bytes()[-source.nbytes :]
    (tmp_path / "in.npy").write_bytes(raw)
    options = {"shape": source.shape, "offset": 0}
    leave_unfinished(tmp_path, dtype=">i2", **options)
    with pytest.raises(spanfft.InvalidArgument, match=r"load=>i2.*load=i2.*restart"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB", dtype="<i2", **options)


# --- other formats ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [None, "single", "double"])
@pytest.mark.parametrize("memory", ["1MiB", "64MiB"])
@pytest.mark.parametrize("chunks", [None, (10, 20, 30)], ids=["whole", "chunks"])
@pytest.mark.parametrize("descr", ["i1", ">i2", "u4", "i8", "?", "f2", ">f8", ">c8"])
def test_hdf5(descr, chunks, memory, precision, rng, tmp_path):
    h5py = pytest.importorskip("h5py")
    x = numbers(rng, (40, 70, 50), descr)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=chunks)
    result = spanfft.transform(f"{tmp_path}/in.h5:/x", tmp_path / "out.npy", memory=memory, precision=precision)
    exact = computed(x)
    if precision:
        real = np.dtype({"single": "f4", "double": "f8"}[precision])
        exact = exact.astype(real if x.dtype.kind != "c" else np.result_type(real, 1j))
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.result_type(exact.dtype, 1j)
    assert_transform(out, exact, "r2c" if x.dtype.kind != "c" else "c2c")
    if chunks is None:  # from the file itself, as it lies
        assert result.report["steps"][0]["counted"]["disk_read_bytes"] == x.nbytes
    assert_counts(result)


def test_hdf5_integers_of_an_unusual_width(rng, tmp_path):
    """12 bits in 16, which only HDF5 can take out."""
    h5py = pytest.importorskip("h5py")
    x = rng.integers(-2048, 2047, (60, 40)).astype("i2")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        kind = h5py.h5t.STD_I16LE.copy()
        kind.set_precision(12)
        kind.set_offset(2)
        made = h5py.h5d.create(file.id, b"x", kind, h5py.h5s.create_simple(x.shape))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, x)
        assert np.array_equal(file["x"][...], x)
    spanfft.transform(f"{tmp_path}/in.h5:/x", tmp_path / "out.npy")
    assert_transform(np.load(tmp_path / "out.npy"), computed(x), "r2c")


@pytest.mark.parametrize("precision", [None, "single"])
@pytest.mark.parametrize("memory", ["1MiB", "64MiB"])
@pytest.mark.parametrize("descr", ["u1", "i2", ">i4", "u8", "?", "f2", ">f4", "c8"])
def test_zarr(descr, memory, precision, rng, tmp_path):
    zarr = pytest.importorskip("zarr")
    x = numbers(rng, (40, 70, 50), descr)
    array = zarr.create_array(store=str(tmp_path / "in.zarr"), shape=x.shape, dtype=x.dtype, chunks=(10, 20, 30))
    array[...] = x
    result = spanfft.transform(tmp_path / "in.zarr", tmp_path / "out.npy", memory=memory, precision=precision)
    exact = computed(x)
    if precision:
        exact = exact.astype("f4" if x.dtype.kind != "c" else "c8")
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.result_type(exact.dtype, 1j)
    assert_transform(out, exact, "r2c" if x.dtype.kind != "c" else "c2c")
    assert_counts(result)


def test_an_hdf5_output_of_an_integer_file(rng, tmp_path):
    h5py = pytest.importorskip("h5py")
    x = numbers(rng, (40, 30), ">u2")
    np.save(tmp_path / "in.npy", x)
    spanfft.transform(tmp_path / "in.npy", f"{tmp_path}/out.h5:/x")
    with h5py.File(tmp_path / "out.h5") as file:
        assert_transform(file["x"][...], computed(x), "r2c")


# --- refusals ----------------------------------------------------------------------------------------------------


def test_in_place_is_for_the_types_that_are_written(rng, tmp_path):
    for descr, options in ((">c16", {}), ("i2", {"kind": "dct2"}), ("f4", {"kind": "dct2", "precision": "double"})):
        np.save(tmp_path / "in.npy", numbers(rng, (60, 40), descr))
        before = digest(tmp_path / "in.npy")
        name = np.dtype(descr).name if not descr.startswith(">") else descr
        with pytest.raises(spanfft.InvalidArgument, match=f"holds {name}, .*converted to .*give another output"):
            spanfft.transform(tmp_path / "in.npy", in_place=True, **options)
        assert digest(tmp_path / "in.npy") == before


@pytest.mark.parametrize(
    ("descr", "options", "kind", "words"),
    [
        ("i2", {"kind": "c2c"}, spanfft.InvalidArgument, "holds int16, which c2c can't transform; use r2c"),
        ("i2", {"kind": "c2r"}, spanfft.InvalidArgument, "holds int16, which c2r can't transform; use r2c"),
        ("i2", {"backward": True}, spanfft.InvalidArgument, "holds int16; backward needs the complex spectrum"),
        (">c8", {"kind": "r2c"}, spanfft.InvalidArgument, "holds >c8, which c2c,r2c can't transform; use c2c"),
        (">c8", {"kind": "dct2"}, spanfft.InvalidArgument, "holds >c8, which dct2 can't transform"),
        ("i2", {"io": "uring"}, spanfft.Unsupported, "uring.*convert load=i2; leave io= out"),
        ("i2", {"precision": "quad"}, spanfft.InvalidArgument, "precision is 'quad'.*single.*longdouble"),
        ("i2", {"precision": 1}, TypeError, "precision"),
        ("i2", {"output_dtype": "int16"}, spanfft.InvalidArgument, "int16.*it can be float32"),
        ("S3", {}, TypeError, r"dtype '\|S3'.*int8 to int64.*astype"),
        ("M8[s]", {}, TypeError, r"M8\[s\].*astype"),
        ("m8[s]", {}, TypeError, r"m8\[s\].*astype"),
        ([("a", "i2"), ("b", "f4")], {}, TypeError, "records.*one field"),
    ],
)
def test_what_can_not_be(descr, options, kind, words, tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((6, 8), descr))
    with pytest.raises(kind, match=words) as caught:
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", **options)
    assert isinstance(caught.value, spanfft.Error)
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("cut", [1, 1000])
def test_a_truncated_file_is_corrupt(cut, tmp_path):
    file = io.BytesIO()
    np.save(file, np.zeros((60, 40), ">u2"))
    (tmp_path / "in.npy").write_bytes(file.getvalue()[:-cut])
    with pytest.raises(spanfft.CorruptData, match=r"truncated: shape \(60, 40\) of >u2 at byte 128 needs 4928"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy")
    assert os.listdir(tmp_path) == ["in.npy"]


def test_a_permutation_moves_records_as_they_lie(rng, tmp_path):
    for x, words in ((numbers(rng, (64,), "i2"), "of int16"), (np.ones((8, 8), order="F"), "in Fortran order")):
        np.save(tmp_path / "in.npy", x)
        with pytest.raises(spanfft.InvalidType, match=f"{words}, and records are moved as they lie"):
            spanfft.permute(tmp_path / "in.npy", tmp_path / "out.npy", kind="bit-reversal")


def test_a_packed_spectrum_has_its_precision(rng, tmp_path):
    rng.standard_normal(64).astype("c8").tofile(tmp_path / "in.fft")
    with pytest.raises(spanfft.InvalidArgument, match=r"packed half spectrum.*leave the precision out"):
        spanfft.transform(tmp_path / "in.fft", tmp_path / "out.npy", precision="double")


# --- command line ----------------------------------------------------------------------------------------------------


def test_the_command_line(rng, tmp_path):
    x = numbers(rng, (30, 40), ">u2")
    (tmp_path / "in.raw").write_bytes(x.tobytes())
    done = cli("transform", "in.raw", "out.npy", "--dtype", ">u2", "--shape", "30x40", "--precision", "single",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.complex64
    assert_transform(out, x.astype("f4"), "r2c")
    done = cli("transform", "in.raw", "out.npy", "--dtype", ">u2", "--precision", "half", cwd=tmp_path)
    assert done.returncode == 2
    assert "--precision" in done.stderr
