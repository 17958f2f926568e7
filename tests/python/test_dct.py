"""scipy.fft's cosine and sine transforms: the same results over grids of arguments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import reference, relative_error
from soak import oracle

ONE = ["dct", "idct", "dst", "idst"]


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("type_", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ONE)
def test_against_scipy(name, type_, norm, rng):
    ratios = []  # of errors to their limits; the rule speaks of the mean, and arrays as small as these have few numbers

    def check(function, x, over, **options):
        found, exact = getattr(spanfft, function)(x, **options), reference(function, x, **options)
        assert found.shape == exact.shape
        weighs = "ortho" if options["orthogonalize"] or norm == "ortho" else norm
        limit = oracle.limit(name.removeprefix("i") + str(type_), over, exact.shape, float, weighs)
        ratios.append(relative_error(found, exact) / limit)

    for orthogonalize in (None, True, False):
        for shape in [(2,), (9,), (16,), (4, 7), (3, 6, 5)]:
            x = rng.standard_normal(shape)
            for axis in range(-len(shape), len(shape)):
                for n in (None, shape[axis] + 2, max(2, shape[axis] - 1)):
                    options = dict(type=type_, n=n, axis=axis, norm=norm, orthogonalize=orthogonalize)
                    check(name, x, (axis,), **options)
        x = rng.standard_normal((4, 5, 6))
        for axes, s in [(None, None), ((0, 2), None), ((2, 0), (3, 8)), (None, (5, 7)), (1, None)]:
            options = dict(type=type_, s=s, axes=axes, norm=norm, orthogonalize=orthogonalize)
            last = range(3 - len(s), 3) if s else range(3)
            check(name + "n", x, last if axes is None else np.atleast_1d(axes), **options)
    assert np.sqrt(np.mean(np.square(ratios))) <= 1


@pytest.mark.parametrize("name", [*ONE, "dctn", "idctn", "dstn", "idstn"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "F", "D", "i4"])
def test_element_types(name, dtype, rng):
    x = (10 * rng.standard_normal((4, 6))).astype(dtype)
    if x.dtype.kind == "c":
        x = x + x.dtype.type(1j) * x[::-1]
    theirs = getattr(scipy.fft, name)(x, norm="ortho")
    mine = getattr(spanfft, name)(x, norm="ortho")
    assert mine.dtype == theirs.dtype
    axes = (0, 1) if name.endswith("n") else (1,)
    exact = getattr(scipy.fft, name)(x.astype("G" if x.dtype.kind == "c" else "g"), norm="ortho")
    kind = name.removeprefix("i")[:3] + "2"
    assert relative_error(mine, exact) <= oracle.limit(kind, axes, x.shape, mine.dtype, "ortho")


@pytest.mark.parametrize("n", [2, 8, 15, 64, 97, 1000, 1009, 4096])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("type_", [1, 2, 3, 4])
def test_accuracy(n, dtype, type_, rng):
    x = rng.standard_normal(n).astype(dtype)
    for name in ONE:
        shift = {"dct1": -1, "dst1": 1}.get(name[-3:] + str(type_), 0)
        exact = reference(name, x, type=type_)
        assert relative_error(getattr(spanfft, name)(x, type=type_), exact) <= oracle.rule((2 * (n + shift),), dtype)


def test_errors():
    for call, kind in [
        (lambda: spanfft.dct(np.zeros(4), type=5), ValueError),
        (lambda: spanfft.dct(np.zeros(1), type=1), ValueError),
        (lambda: spanfft.dct(np.zeros(4), n=0), ValueError),
        (lambda: spanfft.dct(np.zeros(4), axis=3), IndexError),
        (lambda: spanfft.dctn(np.zeros((4, 4)), axes=(0, 0)), ValueError),
        (lambda: spanfft.dct(np.zeros(4), norm="x"), ValueError),
        (lambda: spanfft.dct(np.array([None])), TypeError),
    ]:
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, spanfft.Error)
