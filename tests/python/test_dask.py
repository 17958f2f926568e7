"""spanfft.dask and spanfft.xr beside numpy.fft: values, chunks, names and coordinates; the life of what lies in the
scratch folder; and what a run takes at most, in a process of its own."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import spanfft
from conftest import cli_environment

da = pytest.importorskip("dask.array")
pytest.importorskip("zarr")
xr = pytest.importorskip("xarray")

import spanfft.dask  # noqa: E402
import spanfft.xr  # noqa: E402

ALLOWANCE = 64 << 20  # as docs/howto/limit-memory.md says
X = np.random.default_rng(1).standard_normal((12, 15, 10))


@pytest.fixture
def where(tmp_path):
    return {"memory": "8MiB", "scratch": tmp_path}


def near(found, expected) -> None:
    computed = found.compute()
    assert found.shape == computed.shape == expected.shape
    assert found.dtype == computed.dtype == expected.dtype
    tolerance = 1e-13 if expected.dtype.itemsize // (1 + (expected.dtype.kind == "c")) == 8 else 1e-5
    np.testing.assert_allclose(computed, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize(("axis", "n"), [(0, None), (1, 7), (-3, 20), (2, None), (2, 13)])
def test_one_axis(name, axis, n, where):
    a = da.from_array(X, chunks=(5, 4, 10))  # axis 2 is whole
    near(getattr(spanfft.dask, name)(a, n, axis, "ortho", **where), getattr(np.fft, name)(X, n, axis, "ortho"))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize(("s", "axes"), [(None, None), (None, (2, 0)), ((8, 9), (0, 1)), ((6,), None)])
def test_several_axes(name, s, axes, where):
    a = da.from_array(X.astype(np.float32), chunks=((5, 3, 4), 15, (2, 6, 2)))  # chunks of unlike lengths
    if s is not None and axes is None:
        axes = (2,)  # NumPy wants it said
    near(getattr(spanfft.dask, name)(a, s, axes, **where), getattr(np.fft, name)(X.astype(np.float32), s, axes))


def test_there_and_back_in_the_chunks_of_the_array(where):
    a = da.from_array(X, chunks=(5, 4, 3))
    spectrum = spanfft.dask.rfftn(a, **where)
    assert spectrum.chunks == ((5, 5, 2), (4, 4, 4, 3), (3, 3))
    near(spanfft.dask.irfftn(spectrum, X.shape, **where), X)


def test_whole_numbers_and_single_precision(where):
    near(spanfft.dask.fft(da.arange(64, chunks=16), **where), np.fft.fft(np.arange(64)))
    x = X.astype(np.complex64)
    near(spanfft.dask.fft(da.from_array(x, chunks=4), axis=0, **where), np.fft.fft(x, axis=0))


def test_an_axis_of_one_chunk_needs_no_disk_and_is_computed_when_asked(monkeypatch):
    calls = []
    monkeypatch.setattr(spanfft.dask, "transform", lambda *args, **options: calls.append(args))
    a = da.from_array(X, chunks=(5, 4, 10))
    near(spanfft.dask.rfft(a), np.fft.rfft(X))
    assert not calls


def test_scratch_lives_as_long_as_something_needs_it(tmp_path, where):
    spectrum = spanfft.dask.fft(da.from_array(X, chunks=5), axis=0, **where)
    derived = (2 * spectrum[:3]).sum()
    (folder,) = tmp_path.iterdir()
    assert [each.name for each in folder.iterdir()] == ["transform.zarr"]
    del spectrum
    gc.collect()
    copy = pickle.loads(pickle.dumps(derived))  # as for another process, which has no say in it
    assert copy.compute() == derived.compute()
    del copy
    gc.collect()
    assert list(tmp_path.iterdir()) == [folder]
    del derived
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_a_run_that_fails(tmp_path):
    def fail(block):
        raise OSError("a chunk can't be read")

    a = da.from_array(X, chunks=5).map_blocks(fail, dtype=float, meta=np.empty((0, 0, 0)))
    with pytest.raises(OSError, match="a chunk can't be read"):
        spanfft.dask.fft(a, axis=0, scratch=tmp_path)
    with pytest.raises(spanfft.Error):
        spanfft.dask.fft(da.from_array(X, chunks=5), axis=0, memory="1kB", scratch=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda a: spanfft.dask.fft(a, axis=0), spanfft.InvalidArgument, "axis 0 has 3 chunks.*scratch="),
        (lambda a: spanfft.dask.fft(X), spanfft.InvalidType, "Dask array"),
        (lambda a: spanfft.dask.fft(a, axis=3), spanfft.InvalidArgument, "axes are"),
        (lambda a: spanfft.dask.fftn(a, axes=(0, -3)), spanfft.InvalidArgument, "each once"),
        (lambda a: spanfft.dask.fftn(a, s=(3,), axes=(0, 1)), spanfft.InvalidArgument, "one an axis"),
        (lambda a: spanfft.dask.fft(a, 0), spanfft.InvalidArgument, "at least 1"),
        (lambda a: spanfft.dask.rfft(a + 1j), spanfft.InvalidType, "use fft"),
        (lambda a: spanfft.dask.fft(a[a > 0]), spanfft.InvalidArgument, "compute_chunk_sizes"),
    ],
)
def test_what_is_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call(da.from_array(X, chunks=5))


MEMORY = """
import json, sys, tempfile
import dask.array as da, numpy as np, spanfft.dask
from spanfft._cli_transform import _peak_resident_bytes

def run(shape, chunks, scratch):
    a = da.random.default_rng(1).random(shape, chunks=chunks)
    spectrum = spanfft.dask.rfft(a, n=2 * shape[2] + 1, axis=2, memory="24MiB", scratch=scratch)
    return spectrum, a

run((8, 9, 10), (4, 5, 5), sys.argv[1])  # opens the libraries
before = _peak_resident_bytes()
spectrum, a = run((100, 100, 1000), (25, 25, 250), sys.argv[1])
grown = _peak_resident_bytes() - before
line = np.fft.rfft(a[3, 7].compute(), 2001)
print(json.dumps([grown, spectrum.nbytes, float(abs(spectrum[3, 7].compute() - line).max())]))
"""


def test_the_arrays_of_distributed_1760_in_the_memory_asked_for(tmp_path):
    """https://github.com/dask/distributed/issues/1760, smaller by 25 and divided along the axis too: a transform of
    153 MiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)], capture_output=True, text=True, timeout=100,
        env=cli_environment(OMP_NUM_THREADS="1"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    grown, size, error = json.loads(done.stdout)
    assert size > 150 << 20
    assert grown < (24 << 20) + ALLOWANCE
    assert error < 1e-11
    assert not os.listdir(tmp_path)


# --- xarray -----------------------------------------------------------------------------------------------------------


def weather(chunks=None):
    found = xr.DataArray(
        X, dims=("time", "lat", "lon"), name="wind",
        coords={
            "time": np.datetime64("2026-01-01T06", "ns") + np.arange(12) * np.timedelta64(3, "h"),
            "lat": np.linspace(-70, 70, 15),
            "height": 10.0,
            "day": ("time", np.arange(12) // 8),
            "area": ("lat", np.arange(15.0)),
        },
    )  # fmt: skip
    return found if chunks is None else found.chunk(chunks)


CHUNKS = [None, {"time": 5, "lat": 4}, {"lat": 4}]


@pytest.mark.parametrize("chunks", CHUNKS)
def test_names_and_coordinates_are_kept(chunks, where):
    wind = weather(chunks)
    spectrum = spanfft.xr.dft(wind, "time", **where)
    assert spectrum.dims == ("freq_time", "lat", "lon")
    assert spectrum.name == "wind"
    assert set(spectrum.coords) == {"freq_time", "lat", "height", "area"}
    np.testing.assert_array_equal(spectrum.freq_time, np.fft.fftfreq(12, 3 * 3600.0))
    xr.testing.assert_identical(spectrum.lat, wind.lat.drop_vars([]))
    np.testing.assert_allclose(spectrum, np.fft.fft(X, axis=0), atol=1e-13)
    assert (spectrum.chunks is None) == (chunks is None)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("real", [None, "time"])
@pytest.mark.parametrize("shift", [False, True])
def test_the_inverse_gives_the_array_back(chunks, real, shift, where):
    wind = weather(chunks)
    spectrum = spanfft.xr.dft(wind, ["time", "lat"], real=real, shift=shift, **where)
    if shift:
        assert (np.diff(spectrum.freq_lat) > 0).all()
    again = spanfft.xr.idft(spectrum, real=None if real is None else "freq_time", **where)
    again = again if real else again.real
    xr.testing.assert_allclose(again.drop_vars("height"), wind.drop_vars(["height", "day", "area"]), atol=1e-13)
    np.testing.assert_array_equal(again.time, wind.time)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("scaling", ["density", "spectrum"])
def test_the_powers_add_up_to_the_mean_square(chunks, scaling, where):
    power = spanfft.xr.power_spectrum(weather(chunks), ["lat", "time"], scaling=scaling, **where)
    cell = power.freq_lat.spacing * power.freq_time.spacing if scaling == "density" else 1
    np.testing.assert_allclose(power.sum(["freq_lat", "freq_time"]) * cell, (X**2).mean((0, 1)), rtol=1e-12)
    halved = spanfft.xr.power_spectrum(weather(chunks), "time", real="time", scaling=scaling, **where)
    both = spanfft.xr.power_spectrum(weather(chunks), "time", scaling=scaling, **where)
    np.testing.assert_allclose(halved, both[:7], rtol=1e-12)


def test_a_dimension_without_coordinate_counts_cycles_a_sample(where):
    spectrum = spanfft.xr.dft(weather({"lon": 3}), "lon", **where)
    np.testing.assert_array_equal(spectrum.freq_lon, np.fft.fftfreq(10))
    assert "lon" not in spanfft.xr.idft(spectrum, **where).coords


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda w: spanfft.xr.dft(w, "hour"), spanfft.InvalidArgument, "no dimension 'hour'.*'time'"),
        (lambda w: spanfft.xr.dft(w.to_dataset(), "time"), spanfft.InvalidType, "DataArray"),
        (lambda w: spanfft.xr.dft(w, "time", real="lat"), spanfft.InvalidArgument, "none of the transformed"),
        (lambda w: spanfft.xr.dft(w[[0, 1, 3]], "time"), spanfft.InvalidArgument, "not evenly spaced"),
        (lambda w: spanfft.xr.dft(w.assign_coords(lon=list("abcdefghij"))), spanfft.InvalidArgument, "must hold"),
        (lambda w: spanfft.xr.idft(w, "time"), spanfft.InvalidArgument, "no dimension that dft made"),
        (lambda w: spanfft.xr.idft(w), spanfft.InvalidArgument, "at least one"),
        (lambda w: spanfft.xr.power_spectrum(w, scaling="loud"), spanfft.InvalidArgument, "'density'"),
        (lambda w: spanfft.xr.dft(w.chunk(time=5), "time"), spanfft.InvalidArgument, "scratch="),
    ],
)
def test_what_xarray_calls_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call(weather())


@pytest.mark.parametrize("absent", ["dask.array", "zarr", "xarray"])
def test_without_the_packages_the_sentence_says_what_to_install(absent, monkeypatch, where):
    a = da.from_array(X, chunks=5)
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(spanfft.Unsupported, match="pip install"):
        spanfft.xr.dft(weather()) if absent == "xarray" else spanfft.dask.fft(a, **where)
