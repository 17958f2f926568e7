"""Work in the same run as a transform of a file: windows, power, stored types and callbacks."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import scipy.signal
import spanfft
from conftest import cli, reference, relative_error
from soak import oracle
from spanfft._native import core

COUNTED = ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes")

CASES = [
    ("file_in_memory", (30, 21, 9), "r2c", "float64", None, "8MiB"),
    ("two_sweeps", (262144,), "c2c", "complex64", (-1,), "1MiB"),
    ("two_sweeps", (3, 150_000), "r2c", "float64", (-1,), "2MiB"),
    ("two_sweeps", (2, 99_001), "c2r", "complex128", (-1,), "2MiB"),
    ("two_sweeps", (300_000,), "dct2", "float64", (-1,), "2MiB"),
    ("many_sweeps", (2, 131_072), "r2c", "float64", (-1,), "1MiB"),
    ("chirp_sweeps", (2, 100_003), "r2c", "float32", (-1,), "2MiB"),
    ("superlevels", (262144,), "c2c", "complex128", (-1,), "1MiB"),
    ("axis_sweeps", (61, 62, 63), "c2c", "complex128", None, "1MiB"),
    ("axis_sweeps", (40, 50, 101), "r2c", "float32", (0, 2), "1MiB"),
    ("axis_sweeps", (101, 50, 80), "r2c", "float64", (2, 1, 0), "1MiB"),
    ("scratch_in_memory", (3, 150_000), "r2c", "float64", (-1,), "5MiB"),
    ("scratch_in_memory", (2, 99_001), "c2r", "complex128", (-1,), "5MiB"),
    ("scratch_in_memory", (61, 62, 63), "c2c", "complex128", None, "5MiB"),
]
IDS = [f"{method}-{kind}-{'x'.join(map(str, shape))}" for method, shape, kind, *_ in CASES]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def exact_transform(x, kind, axes):
    if kind == "c2r":
        return reference("irfft", x)
    if kind == "dct2":
        import scipy.fft

        return scipy.fft.dct(x.astype(np.longdouble), type=2)
    return reference({"c2c": "fftn", "r2c": "rfftn"}[kind], x, axes=axes)


def limit(case):
    """The accuracy rule for a case: by the logical lengths of its transformed axes, in the type that is computed."""
    _, shape, kind, dtype, axes, _ = case
    lengths = [shape[axis] for axis in (range(len(shape)) if axes is None else axes)]
    if kind == "c2r":
        lengths[-1] = 2 * (lengths[-1] - 1)
    if kind == "dct2":
        lengths[-1] *= 2
    return oracle.rule(tuple(lengths), dtype)


def assert_counted(result):
    for key in COUNTED:
        assert result.report["counted"][key] == result.report["predicted"][key], key


def run(case, folder, x, **options):
    method, _, kind, _, axes, memory = case
    np.save(folder / "in.npy", x)
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", kind=kind, axes=axes, memory=memory, method=method, **options
    )
    assert result.report["solver"].startswith(method)
    assert_counted(result)
    assert sorted(os.listdir(folder)) == ["in.npy", "out.npy"]
    return result, np.load(folder / "out.npy")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_power_of_windowed_input(case, rng, tmp_path):
    _, shape, kind, dtype, axes, _ = case
    x = numbers(rng, shape, dtype)
    windowed = x
    options = {}
    if kind != "c2r":
        axis = -1 if axes is None else axes[-1]
        window = scipy.signal.get_window(("kaiser", 8.6), shape[axis])
        windowed = x * window.astype(np.longdouble).reshape([-1 if n == axis % x.ndim else 1 for n in range(x.ndim)])
        options["window"] = "kaiser:8.6"
    result, power = run(case, tmp_path, x, power=True, **options)
    exact = np.abs(exact_transform(windowed, kind, axes)) ** 2
    assert power.dtype == np.zeros(1, dtype).real.dtype
    assert result.output_dtype == str(power.dtype)
    assert power.shape == exact.shape == result.output_shape
    # A square has twice its root's relative error; the window, its product and the square are rounded besides.
    assert relative_error(power, exact) <= 2 * limit(case) + 2 * np.finfo(dtype).eps
    assert result.report["counted"]["disk_written_bytes"] >= power.nbytes


DOUBLES = [(case, name) for case, name in zip(CASES, IDS, strict=True) if case[3] in ("float64", "complex128")]


@pytest.mark.parametrize("case", [case for case, _ in DOUBLES], ids=[name for _, name in DOUBLES])
def test_a_smaller_type_is_the_output_rounded_once(case, rng, tmp_path):
    _, shape, kind, dtype, axes, _ = case
    x = numbers(rng, shape, dtype)
    smaller = "complex64" if kind in ("c2c", "r2c") else "float32"
    result, out = run(case, tmp_path, x, output_dtype=smaller, scale=0.25)
    exact = 0.25 * exact_transform(x, kind, axes)
    assert str(out.dtype) == result.output_dtype == smaller
    # Each element is within half a unit of float32 of what was computed, which is within double's accuracy.
    assert relative_error(out, exact) <= 2.0**-24 + limit(case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_callbacks_have_each_element_once_and_change_it(case, rng, tmp_path):
    _, shape, kind, dtype, axes, _ = case
    x = numbers(rng, shape, dtype)
    exact = exact_transform(x, kind, axes)
    seen_in, seen_out = np.zeros(x.size, int), np.zeros(exact.size, int)
    gain = 1 + np.arange(x.size) % 5

    def on_input(block, index):
        seen_in[index : index + block.size] += 1
        assert np.array_equal(block, x.ravel()[index : index + block.size])
        block *= gain[index : index + block.size].astype(block.real.dtype)

    def on_output(block, index):
        seen_out[index : index + block.size] += 1
        block *= 2

    _, out = run(case, tmp_path, x, on_input=on_input, on_output=on_output)
    assert (seen_in == 1).all()
    assert (seen_out == 1).all()
    exact = 2 * exact_transform((x.ravel() * gain).reshape(shape).astype(dtype), kind, axes)
    assert relative_error(out, exact) <= limit(case)


@pytest.mark.parametrize("case", CASES[:4], ids=IDS[:4])
def test_an_array_that_a_callback_returns_is_stored(case, rng, tmp_path):
    _, shape, kind, dtype, axes, _ = case
    x = numbers(rng, shape, dtype)
    real = "float32"
    _, out = run(case, tmp_path, x, output_dtype=real, on_output=lambda block, index: np.log1p(abs(block)))
    magnitude = np.abs(exact_transform(x, kind, axes))
    exact = np.log1p(magnitude)
    assert out.dtype == np.float32
    # log1p passes on no more than the magnitude's own error, and half a unit of rounding comes to each element; where
    # it is computed in float32, a unit each for magnitude and logarithm.
    rounding = (2.5 if dtype == "complex64" else 0.5) * np.finfo(real).eps
    allowed = limit(case) * np.linalg.norm(magnitude) + rounding * np.linalg.norm(exact)
    assert np.linalg.norm(out - exact) <= allowed


def bessel_i0(x):
    """In long double, by its power series, which has no cancellation."""
    total = term = np.ones_like(x)
    for k in range(1, 60):
        term = term * (x / (2 * k)) ** 2
        total = total + term
    return total


def exact_window(name, length):
    """As SciPy has it, to long double where SciPy's Kaiser window is off by more (2.5 eps at beta 14)."""
    kind, _, beta = name.partition(":")
    scipys = scipy.signal.get_window((kind, float(beta)) if beta else kind, length).astype(np.longdouble)
    if not beta:
        return scipys
    x = 2 * np.arange(length, dtype=np.longdouble) / length - 1
    exact = bessel_i0(float(beta) * np.sqrt(1 - x**2)) / bessel_i0(np.longdouble(beta))
    assert np.abs(exact / scipys - 1).max() < 1e-14
    return exact


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop", "kaiser:14"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_windows_are_scipys_along_the_last_transformed_axis(name, axes, rng, tmp_path):
    x = numbers(rng, (90, 77), "float64")
    np.save(tmp_path / "in.npy", x)
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind="r2c", axes=axes, window=name, memory="4MiB")
    window = exact_window(name, x.shape[axes[-1]])
    windowed = x * (window[:, None] if axes[-1] == 0 else window)
    exact = reference("rfftn", windowed, axes=axes)
    lengths = tuple(x.shape[axis] for axis in axes)
    # The window and its product are rounded besides.
    assert relative_error(np.load(tmp_path / "out.npy"), exact) <= oracle.rule(lengths, "float64") + np.finfo(float).eps


@pytest.mark.parametrize("side", ["on_input", "on_output"])
@pytest.mark.parametrize(("shape", "memory"), [((64, 65), "4MiB"), ((1 << 18,), "1MiB")])
def test_an_exception_ends_the_run(side, shape, memory, rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, shape, "complex64"))
    calls = []

    def fails(block, index):
        calls.append(index)
        raise LookupError(f"no calibration for {shape}")

    with pytest.raises(spanfft.CallbackFailed, match=r"LookupError: 'no calibration|no calibration") as raised:
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=memory, **{side: fails})
    assert isinstance(raised.value, RuntimeError)
    assert isinstance(raised.value.__cause__, LookupError)
    assert raised.value.code == 11
    assert calls
    assert os.listdir(tmp_path) == ["in.npy"]


def test_what_a_callback_must_not_do(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (64, 65), "float64"))
    kept = []

    def transform(**options):
        return spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="4MiB", **options)

    for side in ("on_input", "on_output"):
        with pytest.raises(spanfft.CallbackFailed, match=f"{side} kept its block"):
            transform(**{side: lambda block, index: kept.append(block[1:])})
    with pytest.raises(spanfft.CallbackFailed, match="changes its block in place"):
        transform(on_input=lambda block, index: block + 1)
    with pytest.raises(spanfft.CallbackFailed, match="shape"):
        transform(on_output=lambda block, index: block[1:].copy())
    with pytest.raises(spanfft.CallbackFailed, match="must fill"):
        transform(output_dtype="float32", on_output=lambda block, index: None)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_what_makes_no_sense_is_refused_before_anything_is_touched(rng, tmp_path):
    np.save(tmp_path / "real.npy", numbers(rng, (64, 65), "float32"))
    np.save(tmp_path / "complex.npy", numbers(rng, (64, 65), "complex64"))

    def transform(name="real", **options):
        return spanfft.transform(tmp_path / f"{name}.npy", tmp_path / "out.npy", memory="4MiB", **options)

    with pytest.raises(spanfft.InvalidArgument, match=r"window=foo is not known; use one of hann, .*kaiser:BETA"):
        transform(window="foo")
    with pytest.raises(spanfft.InvalidArgument, match="it can be float32"):
        transform(output_dtype="int8")
    with pytest.raises(spanfft.InvalidArgument, match="leaves something out: say power"):
        transform(output_dtype="float32")
    with pytest.raises(spanfft.InvalidArgument, match="holds more than the complex64"):
        transform(output_dtype="complex128")
    with pytest.raises(spanfft.InvalidArgument, match="use float32"):
        transform(power=True, output_dtype="complex64")
    with pytest.raises(spanfft.Unsupported, match="half of a spectrum"):
        transform("complex", kind="c2r", window="hann")
    with pytest.raises(spanfft.InvalidArgument, match="scale is 0"):
        transform(scale=0.0)
    assert sorted(os.listdir(tmp_path)) == ["complex.npy", "real.npy"]
    transform(power=True, output_dtype="float64")  # the square of a float fits
    assert np.load(tmp_path / "out.npy").dtype == np.float64


def test_io_uring_is_refused_where_threads_must_work(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (1 << 18,), "complex64"))
    with pytest.raises(spanfft.Unsupported, match="work on blocks is done by the threads"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory="1MiB", io="uring", power=True)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_c2r_in_many_sweeps_takes_no_input_callback(rng, tmp_path):
    np.save(tmp_path / "in.npy", numbers(rng, (2, 65_537), "complex128"))

    def transform(**options):
        return spanfft.transform(
            tmp_path / "in.npy",
            tmp_path / "out.npy",
            kind="c2r",
            axes=(-1,),
            memory="1MiB",
            method="many_sweeps",
            **options,
        )

    with pytest.raises(spanfft.Unsupported, match="method=two_sweeps"):
        transform(on_input=lambda block, index: None)
    transform(on_output=lambda block, index: None)


@pytest.mark.parametrize("memory", ["1MiB", "2MiB"])
def test_reads_once_leaves_out_the_solver_that_reads_half_a_spectrum_twice(memory):
    problem = f"c2r 4194304 memory={memory}"
    assert core.imagine(problem).solver == "many_sweeps"
    assert core.imagine(f"{problem} reads_once").solver == "two_sweeps"
    # A chunked array is read once, into a file, and forward nothing is read twice.
    assert core.imagine(f"{problem} reads_once input_chunk=4096 method=many_sweeps").solver.endswith("many_sweeps")
    assert core.imagine(f"r2c 4194304 memory={memory} reads_once").solver == "many_sweeps"
    with pytest.raises(spanfft.Unsupported, match="reads_once"):
        core.imagine(f"{problem} reads_once method=many_sweeps")
    with pytest.raises(spanfft.InvalidArgument, match="give memory="):
        core.imagine("c2r 4194304 reads_once")


def test_command_line(rng, tmp_path):
    x = rng.standard_normal((4, 30_000))
    np.save(tmp_path / "in.npy", x)
    done = cli(
        "transform", "in.npy", "power.npy", "--axes", -1, "--kind", "r2c", "--memory", "1MiB", "--window", "hann",
        "--power", "--output-dtype", "float32", "--scale", 2, "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["output_dtype"] == "float32"
    power = np.load(tmp_path / "power.npy")
    exact = np.abs(2 * np.fft.rfft(x * scipy.signal.get_window("hann", 30_000))) ** 2
    # A square of double's accuracy, rounded once to float32.
    assert relative_error(power, exact) <= 2.0**-24 + 2 * oracle.rule((30_000,), "float64") + 2 * np.finfo(float).eps
    counted = said["ranks"][0]["counted"]
    assert counted["disk_written_bytes"] == said["ranks"][0]["predicted"]["disk_written_bytes"]
    for options, code, words in (
        (("--window", "foo"), 2, "hamming"),
        (("--output-dtype", "foo"), 2, "complex64"),
        (("--output-dtype", "float32"), 2, "power"),
        (("--scale", "0"), 2, "scale is 0"),
    ):
        done = cli("transform", "in.npy", "out.npy", "--memory", "2MiB", *options, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert words in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "power.npy"]
    done = cli("plan", "r2c 1073741824 float window=hann power", "--memory", "256MiB")
    assert done.returncode == 0, done.stderr
    assert "window=hann power" in done.stdout


@pytest.mark.parametrize("kind", ["c2c", "c2r"])
def test_a_chunked_input_has_its_work_done_once_on_its_way_into_scratch(kind, rng, tmp_path):
    h5py = pytest.importorskip("h5py")
    n = 1 << 18
    x = rng.standard_normal(n // (2 if kind == "c2r" else 1) + 1) + 0j
    x[1:-1] += 1j * rng.standard_normal(len(x) - 2)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("x", data=x[:n], chunks=(1000,))
    calls = []

    def shift(block, index):
        calls.append((index, len(block)))
        block += (index + np.arange(len(block))) % 7

    options = {"window": "hann"} if kind == "c2c" else {"method": "many_sweeps"}  # which reads some of it twice
    result = spanfft.transform(
        tmp_path / "in.h5", tmp_path / "out.npy", kind=kind, memory="1MiB", on_input=shift, **options
    )
    assert "chunked input" in result.explain
    seen = np.zeros(len(x[:n]), int)
    for first, count in calls:
        seen[first : first + count] += 1
    assert (seen == 1).all()
    shifted, allowed = x[:n] + np.arange(len(x[:n])) % 7, oracle.rule((n,), "float64")
    if kind == "c2c":
        exact = oracle.forward(shifted * exact_window("hann", n), kind, (0,))
        allowed += np.finfo(float).eps  # of the product with the window
    else:
        exact = oracle.backward(shifted, "r2c", (0,), (n,))
    assert relative_error(np.load(tmp_path / "out.npy"), exact) <= allowed


CHUNKED = [
    ("hdf5", "file_in_memory", (30, 21, 9), "r2c", None, "8MiB"),
    ("hdf5", "axis_sweeps", (61, 62, 63), "c2c", None, "1MiB"),
    ("hdf5", "two_sweeps", (262144,), "r2c", None, "1MiB"),
    ("zarr", "axis_sweeps", (40, 50, 101), "r2c", (0, 2), "1MiB"),
    ("zarr", "file_in_memory", (90, 41), "c2c", None, "8MiB"),
]


def chunked_output(form, name, shape):
    """An output of odd chunks, and how it is read back."""
    if form == "hdf5":
        h5py = pytest.importorskip("h5py")

        def load():
            with h5py.File(f"{name}.h5") as file:
                assert file["y"].chunks is not None
                return file["y"][...]

        return f"{name}.h5:/y", load
    zarr = pytest.importorskip("zarr")
    return f"{name}.zarr", lambda: zarr.open_array(f"{name}.zarr", mode="r")[...]


@pytest.mark.parametrize(("form", "method", "shape", "kind", "axes", "memory"), CHUNKED)
def test_chunked_output_of_power_smaller_types_and_callbacks(
    form, method, shape, kind, axes, memory, rng, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    dtype = "complex128" if kind == "c2c" else "float64"
    x = numbers(rng, shape, dtype)
    np.save("in.npy", x)
    exact = exact_transform(x, kind, axes)
    chunks = tuple(min(4001, max(1, n // 3 - 1)) for n in exact.shape)
    seen = np.zeros(exact.size, int)

    def imaginary(block, index):
        seen[index : index + block.size] += 1
        return block.imag.copy()

    rule = limit((method, shape, kind, dtype, axes, memory))
    for number, (options, expected, tolerance) in enumerate(
        (
            ({"power": True}, np.abs(exact) ** 2, 2 * rule + 2 * np.finfo(float).eps),
            ({"power": True, "output_dtype": "float32"}, np.abs(exact) ** 2, 2 * rule + 2.0**-24 + 1e-15),
            ({"output_dtype": "complex64"}, exact, rule + 2.0**-24),
            ({"on_output": imaginary, "output_dtype": "float64"}, exact.imag, 2 * rule),
        )
    ):
        name, load = chunked_output(form, f"out{number}", exact.shape)
        result = spanfft.transform(
            "in.npy", name, kind=kind, axes=axes, memory=memory, chunks=chunks, method=method, **options
        )
        assert result.report["solver"].startswith(method)
        assert_counted(result)
        y = load()
        assert y.shape == exact.shape
        assert str(y.dtype) == result.output_dtype
        assert relative_error(y, expected) <= tolerance
    assert (seen == 1).all()
    assert not [name for name in os.listdir() if name.startswith(".")]
