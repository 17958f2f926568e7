"""Relative L2 error against long double: at most 0.6 eps sqrt(log2 N) for prime factors up to 13, else 1.5."""

from __future__ import annotations

import numpy as np
import pytest
import spanfft
from conftest import error_limit, reference, relative_error

SMOOTH = [
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    11,
    12,
    13,
    26,
    60,
    64,
    91,
    100,
    143,
    243,
    625,
    1001,
    1024,
    2310,
    4096,
    9009,
    65536,
    180180,
]
# The last ones are m * p, where one engine is known to lose 1e-12.
OTHER = [17, 19, 34, 97, 101, 211, 1009, 2 * 1009, 4099, 65537, 74273, 140077, 458759]


@pytest.mark.parametrize("n", SMOOTH + OTHER)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_one_axis(n, dtype, rng):
    x = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)
    limit = error_limit((n,), dtype)
    assert relative_error(spanfft.fft(x), reference("fft", x)) <= limit
    assert relative_error(spanfft.ifft(x), reference("ifft", x)) <= limit
    assert relative_error(spanfft.rfft(x.real), reference("rfft", x.real)) <= limit
    half = reference("rfft", x.real).astype(dtype)
    assert relative_error(spanfft.irfft(half, n=n), reference("irfft", half, n=n)) <= limit


@pytest.mark.parametrize("shape", [(64, 64), (5, 7, 11), (16, 17, 18), (197, 233), (2, 3, 4, 5, 6), (128, 1, 128)])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_several_axes(shape, dtype, rng):
    x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    limit = error_limit(shape, dtype)
    assert relative_error(spanfft.fftn(x), reference("fftn", x)) <= limit
    assert relative_error(spanfft.ifftn(x), reference("ifftn", x)) <= limit
    assert relative_error(spanfft.rfftn(x.real), reference("rfftn", x.real)) <= limit
    half = reference("rfftn", x.real).astype(dtype)
    assert relative_error(spanfft.irfftn(half, s=shape, axes=range(len(shape))), x.real) <= 2 * limit


@pytest.mark.parametrize("n", [8, 30, 97, 1024])
def test_long_double(n, rng):
    x = rng.standard_normal(n).astype(np.longdouble) + 1j * rng.standard_normal(n).astype(np.longdouble)
    turns = (np.outer(np.arange(n), np.arange(n)) % n).astype(np.longdouble) / n
    exact = np.exp(-2j * np.arccos(np.longdouble(-1)) * turns) @ x
    # The direct sum in the same precision is no better than a few eps sqrt(n) itself.
    assert relative_error(spanfft.fft(x), exact) <= 5 * np.finfo(np.longdouble).eps * np.sqrt(n)
