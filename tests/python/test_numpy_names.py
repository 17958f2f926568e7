"""numpy.fft's names: the same results, shapes, types and errors as numpy's, over grids of arguments."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import spanfft

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn"]
REAL_INPUT = {"rfft", "ihfft", "rfft2", "rfftn"}
NORMS = [None, "backward", "ortho", "forward"]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    if np.dtype(dtype).kind in "iu":
        x = 10 * abs(x)
    return x.astype(dtype)


def same(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    eps = np.finfo(theirs.dtype).eps
    scale = np.linalg.norm(theirs.astype(np.clongdouble).ravel()) or 1.0
    difference = np.linalg.norm((ours.astype(np.clongdouble) - theirs).ravel())
    assert difference <= 20 * eps * scale


def same_outcome(name, x, **options):
    try:
        theirs = getattr(np.fft, name)(x, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            getattr(spanfft, name)(x, **options)
    else:
        same(getattr(spanfft, name)(x, **options), theirs)


def test_every_public_name_is_there():
    for name in np.fft.__all__:
        assert callable(getattr(spanfft, name)), name
        assert name in spanfft.__all__
        assert name in dir(spanfft)
        theirs = list(inspect.signature(getattr(np.fft, name)).parameters)
        ours = list(inspect.signature(getattr(spanfft, name)).parameters)
        assert ours[: len(theirs)] == theirs
        assert getattr(spanfft, name).__doc__


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name, norm, rng):
    for shape in [(1,), (2,), (7,), (16,), (30, 11), (3, 1, 5), (2, 3, 4, 5), (101,)]:
        for axis in range(-len(shape), len(shape)):
            x = numbers(rng, shape, float if name in REAL_INPUT else complex)
            own = shape[axis]
            for n in (None, 1, own, own + 3, max(1, own - 2), 2 * own):
                if name in ("irfft", "hfft") and n is None and own == 1:
                    continue
                mine = getattr(spanfft, name)(x, n=n, axis=axis, norm=norm)
                same(mine, getattr(np.fft, name)(x, n=n, axis=axis, norm=norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", TWO + MANY)
def test_several_axes(name, norm, rng):
    for shape in [(6, 5), (8, 8), (3, 4, 5), (2, 1, 7, 4), (2, 3, 2, 3, 4)]:
        ndim = len(shape)
        x = numbers(rng, shape, float if name in REAL_INPUT else complex)
        for axes in [(0, 1), (1, 0), (-1, 0), (-2, -1), (ndim - 1,), tuple(range(ndim))[::-1], (0, 0)]:
            for s in [None, tuple(4 + i for i in range(len(axes))), (-1,) * len(axes), (3,) * len(axes)]:
                same_outcome(name, x, s=s, axes=axes, norm=norm)
        same_outcome(name, x, norm=norm)


@pytest.mark.parametrize("name", ONE + TWO + MANY)
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f2", "f4", "f8", "g", "F", "D", "G", ">f4", ">c16"])
def test_element_types(name, dtype, rng):
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("numpy 1 computes all in double")
    if name in REAL_INPUT and np.dtype(dtype).kind == "c":
        with pytest.raises(TypeError, match="real"):
            getattr(spanfft, name)(numbers(rng, (4, 6), dtype))
        return
    x = numbers(rng, (4, 6), dtype)
    theirs = getattr(np.fft, name)(x)
    mine = getattr(spanfft, name)(x)
    assert mine.dtype == theirs.dtype
    wide = getattr(np.fft, name)(x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble))
    eps = max(np.finfo(theirs.dtype).eps, np.finfo(np.float32).eps * (x.dtype == np.float16))
    assert np.linalg.norm((mine - wide).ravel()) <= 5 * eps * np.linalg.norm(wide.ravel())


def test_lists_scalars_and_s_without_axes(rng):
    same(spanfft.fft([1, 2, 3]), np.fft.fft([1, 2, 3]))
    x = numbers(rng, (3, 4, 5), complex)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        same(spanfft.fftn(x, s=(2, 6)), np.fft.fftn(x, s=(2, 6)))
        same(spanfft.irfftn(x, s=(2, 6)), np.fft.irfftn(x, s=(2, 6)))
    with pytest.warns(DeprecationWarning, match="axes"):
        spanfft.fftn(x, s=(2, 6))


@pytest.mark.parametrize("name", ONE + MANY)
def test_strides(name, rng):
    base = numbers(rng, (12, 10, 8), float if name in REAL_INPUT else complex)
    read_only = base.copy()
    read_only.flags.writeable = False
    for x in [
        base[::2, ::-1, 1:7],
        base.T,
        np.asfortranarray(base),
        base[:, 3],
        np.broadcast_to(base[:1], (4, 10, 8)),
        read_only,
    ]:
        before = x.copy()
        same(getattr(spanfft, name)(x), getattr(np.fft, name)(x))
        assert np.array_equal(before, x)
    # A field of records: neither contiguous nor a multiple of its size apart.
    records = np.zeros(9, dtype=[("pad", "i1"), ("value", base.dtype)])
    records["value"] = base[0, 0, 0] + np.arange(9)
    if name in ONE:
        same(getattr(spanfft, name)(records["value"]), getattr(np.fft, name)(records["value"]))


def test_more_axes_than_a_plan_has(rng):
    x = numbers(rng, (2, 3, 2, 1, 2, 3, 2, 2), complex)
    same(spanfft.fftn(x), np.fft.fftn(x))
    same(spanfft.rfftn(x.real), np.fft.rfftn(x.real))
    same(spanfft.irfftn(x), np.fft.irfftn(x))
    same(spanfft.fft(x, axis=4), np.fft.fft(x, axis=4))
    same(spanfft.ifftn(x, axes=(0, 3, 7)), np.fft.ifftn(x, axes=(0, 3, 7)))


def test_empty_batches():
    same(spanfft.fft(np.zeros((0, 5))), np.fft.fft(np.zeros((0, 5))))
    same(spanfft.irfft(np.zeros((3, 0, 5), complex)), np.fft.irfft(np.zeros((3, 0, 5), complex)))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "ihfft", "fftn", "irfftn", "fft2"])
def test_out(name, rng):
    x = numbers(rng, (6, 8), float if name in REAL_INPUT else complex)
    expected = getattr(np.fft, name)(x)
    out = np.empty_like(expected)
    assert getattr(spanfft, name)(x, out=out) is out
    same(out, expected)
    strided = np.zeros((expected.shape[0], 2 * expected.shape[1]), expected.dtype)[:, ::2]
    assert getattr(spanfft, name)(x, out=strided) is strided
    same(strided, expected)
    with pytest.raises(ValueError, match="shape"):
        getattr(spanfft, name)(x, out=np.empty((3, 3), expected.dtype))
    with pytest.raises(TypeError, match="dtype"):
        getattr(spanfft, name)(x, out=np.empty(expected.shape, int))
    with pytest.raises(TypeError, match="array"):
        getattr(spanfft, name)(x, out=[0])
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        getattr(spanfft, name)(x, out=out)


def test_out_is_the_input(rng):
    x = numbers(rng, (6, 8), complex)
    expected = np.fft.fftn(x)
    assert spanfft.fftn(x, out=x) is x
    same(x, expected)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda f: f.fft(np.zeros(4), n=0), ValueError, "Invalid number of FFT data points"),
        (lambda f: f.fft(np.zeros(4), n=-3), ValueError, "Invalid number of FFT data points"),
        (lambda f: f.irfft(np.zeros(1)), ValueError, "Invalid number of FFT data points"),
        (lambda f: f.fft(np.zeros((5, 0))), ValueError, "Invalid number of FFT data points"),
        (lambda f: f.fft(np.zeros(4), axis=1), IndexError, "axis 1 is out of bounds for array of dimension 1"),
        (lambda f: f.fftn(np.zeros((4, 4)), axes=(0, 2)), IndexError, "out of bounds"),
        (lambda f: f.fftn(np.zeros((4, 4)), s=(4,), axes=(0, 1)), ValueError, "Shape and axes have different lengths"),
        (lambda f: f.fft(np.zeros(4), norm="wrong"), ValueError, "norm"),
        (lambda f: f.fft(np.zeros(4), n=2.5), TypeError, "2.5"),
        (lambda f: f.fft(np.array(["a"])), TypeError, "dtype"),
        (lambda f: f.fft(np.array([object()])), TypeError, "dtype"),
        (lambda f: f.rfft(np.zeros(4, complex)), TypeError, "dtype"),
    ],
)
def test_errors_are_numpys(call, kind, words):
    with pytest.raises(kind):
        call(np.fft)
    with pytest.raises(kind, match=words):
        call(spanfft)
    with pytest.raises(spanfft.Error):
        call(spanfft)


def test_empty_axes_and_grid_without_comm():
    for name in ("rfftn", "irfftn", "rfft2"):
        for kind in (ValueError, IndexError):  # scipy's, numpy's
            with pytest.raises(kind, match="axes is empty"):
                getattr(spanfft, name)(np.zeros((2, 2)), axes=())
    for name in ("fftn", "ifftn", "fft2"):
        for dtype in ("f4", "i2", "F"):
            x = np.ones((2, 2), dtype)
            ours, theirs = (getattr(each, name)(x, axes=()) for each in (spanfft, np.fft))
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
    with pytest.raises(ValueError, match="comm"):
        spanfft.fftn(np.zeros((2, 2)), grid=(1, 1))


def test_frequencies_and_shifts():
    assert np.array_equal(spanfft.fftfreq(7, 0.5), np.fft.fftfreq(7, 0.5))
    assert np.array_equal(spanfft.rfftfreq(8, 0.1), np.fft.rfftfreq(8, 0.1))
    x = np.arange(15).reshape(3, 5)
    assert np.array_equal(spanfft.fftshift(x), np.fft.fftshift(x))
    assert np.array_equal(spanfft.ifftshift(x, axes=1), np.fft.ifftshift(x, axes=1))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_have_the_array_apis_arguments(name):
    found = getattr(spanfft, name)(9, d=0.5, dtype=np.float32, device="cpu")
    assert found.dtype == np.float32
    assert np.array_equal(found, getattr(np.fft, name)(9, 0.5).astype(np.float32))
    with pytest.raises(spanfft.InvalidType, match="int64"):
        getattr(spanfft, name)(9, dtype=np.int64)
    with pytest.raises(spanfft.InvalidArgument, match="'gpu'"):
        getattr(spanfft, name)(9, device="gpu")


def test_many_shapes_do_not_pile_up(rng):
    for n in range(1, 200):
        spanfft.fft(np.ones(n))
    from spanfft._calls import _pool

    assert len(_pool._idle) <= _pool._max_plans
    assert _pool._bytes <= _pool._max_bytes
    spanfft.clear_cache()
    assert not _pool._idle
