"""What holds for every Fourier transform: linearity, impulse, shift, Parseval, round trip, conjugate symmetry."""

from __future__ import annotations

import numpy as np
import spanfft
from hypothesis import given
from hypothesis import strategies as st

shapes = st.lists(st.integers(1, 24), min_size=1, max_size=4).filter(lambda s: np.prod(s) <= 20000).map(tuple)
lengths = st.one_of(st.integers(1, 300), st.sampled_from([512, 1000, 1009, 2187, 4099, 8192]))
seeds = st.integers(0, 2**32 - 1)
dtypes = st.sampled_from([np.complex64, np.complex128, np.clongdouble])


def noise(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def close(a, b, n):
    eps = np.finfo(a.dtype).eps
    assert np.linalg.norm((a - b).ravel()) <= 10 * eps * np.sqrt(np.log2(n + 2)) * (np.linalg.norm(b.ravel()) + eps)


@given(shapes, seeds, dtypes)
def test_linear(shape, seed, dtype):
    x, y = noise(seed, shape, dtype), noise(seed + 1, shape, dtype)
    a, b = dtype(2.5 - 1j), dtype(-0.5j)
    close(spanfft.fftn(a * x + b * y), a * spanfft.fftn(x) + b * spanfft.fftn(y), x.size)


@given(shapes, st.data(), dtypes)
def test_impulse(shape, data, dtype):
    at = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    x = np.zeros(shape, dtype)
    x[at] = 1
    expected = np.ones((), np.clongdouble)
    for axis, (n, place) in enumerate(zip(shape, at, strict=True)):
        turns = (np.arange(n) * place % n).astype(np.longdouble) / n
        wave = np.exp(-2j * np.arccos(np.longdouble(-1)) * turns)
        expected = expected * wave.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    close(spanfft.fftn(x), expected.astype(dtype), x.size)


@given(lengths, st.integers(-1000, 1000), seeds, dtypes)
def test_shift(n, by, seed, dtype):
    x = noise(seed, n, dtype)
    turns = (np.arange(n) * (by % n) % n).astype(np.longdouble) / n
    wave = np.exp(-2j * np.arccos(np.longdouble(-1)) * turns).astype(dtype)
    close(spanfft.fft(np.roll(x, by)), wave * spanfft.fft(x), n)


@given(shapes, seeds, dtypes, st.sampled_from(["backward", "ortho", "forward"]))
def test_parseval_and_round_trip(shape, seed, dtype, norm):
    x = noise(seed, shape, dtype)
    spectrum = spanfft.fftn(x, norm=norm)
    scale = np.sqrt(np.longdouble(x.size)) ** {"backward": -1, "ortho": 0, "forward": 1}[norm]
    energy, theirs = np.linalg.norm(x.ravel()), np.linalg.norm(spectrum.ravel()) * scale
    assert abs(energy - theirs) <= 50 * np.finfo(dtype).eps * energy
    close(spanfft.ifftn(spectrum, norm=norm), x, x.size)


@given(shapes, seeds, st.sampled_from([np.float32, np.float64, np.longdouble]), st.data())
def test_real(shape, seed, dtype, data):
    naxes = data.draw(st.integers(1, len(shape)))
    axes = tuple(data.draw(st.permutations(range(len(shape))))[:naxes])
    x = noise(seed, shape, np.clongdouble).real.astype(dtype)
    half = spanfft.rfftn(x, axes=axes)
    full = spanfft.fftn(x, axes=axes)
    kept = [slice(None)] * len(shape)
    kept[axes[-1]] = slice(0, shape[axes[-1]] // 2 + 1)
    close(half, full[tuple(kept)], x.size)
    close(spanfft.irfftn(half, s=[shape[a] for a in axes], axes=axes), x, x.size)


@given(lengths, seeds)
def test_conjugate_symmetry(n, seed):
    spectrum = spanfft.fft(noise(seed, n, np.complex128).real)
    close(spectrum, np.conj(np.roll(spectrum[::-1], 1)), n)


@given(lengths.filter(lambda n: n > 1), seeds, st.sampled_from([1, 2, 3, 4]), st.sampled_from(["dct", "dst"]))
def test_cosine_and_sine_round_trip(n, seed, type_, name):
    x = noise(seed, n, np.complex128).real
    there = getattr(spanfft, name)(x, type=type_)
    close(getattr(spanfft, "i" + name)(there, type=type_), x, n)


@given(st.integers(1, 40), seeds)
def test_direct_sum(n, seed):
    x = noise(seed, n, np.clongdouble)
    turns = (np.outer(np.arange(n), np.arange(n)) % n).astype(np.longdouble) / n
    matrix = np.exp(-2j * np.arccos(np.longdouble(-1)) * turns)
    close(spanfft.fft(x), matrix @ x, n)
