"""Series of 2^28 points and more against spectra that are known exactly: impulses, whose spectrum is a sum of tones.

Slow and large (about 20 GB of disk at 2^28), so only where SPANFFT_SLOW_TESTS is the exponent to test, such as 28.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
import spanfft
from soak import oracle

EXPONENT = int(os.environ.get("SPANFFT_SLOW_TESTS", "0"))
pytestmark = [
    pytest.mark.skipif(EXPONENT == 0, reason="set SPANFFT_SLOW_TESTS=28 to test 2^28 points"),
    pytest.mark.timeout(3600),
]
CHUNK = 1 << 18


def next_prime(n):
    while oracle.largest_prime(n) < n:
        n += 1
    return n


@pytest.mark.parametrize("length", ["power", "prime"])
def test_impulses(length, rng, tmp_path):
    n = 1 << EXPONENT if length == "power" else next_prime(1 << EXPONENT)
    places = [*sorted(int(p) for p in rng.integers(0, n, 5)), n - 1]
    heights = rng.standard_normal(len(places)).astype(np.float32)
    x = np.lib.format.open_memmap(tmp_path / "in.npy", "w+", np.complex64, (n,))  # sparse: the rest is a hole
    for place, height in zip(places, heights, strict=True):
        x[place] += height
    del x
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=max(1 << 20, n // 2))
    assert (result.report["solver"] == "chirp_sweeps") == (length == "prime")
    spectrum = np.load(tmp_path / "out.npy", mmap_mode="r")
    error = norm = 0.0
    for start in range(0, n, max(CHUNK, n // 64 // CHUNK * CHUNK)):  # 64 pieces from everywhere
        k = np.arange(start, min(n, start + CHUNK))
        # k * place stays below 2^63 and is reduced exactly.
        exact = sum(h * np.exp(-2j * np.pi * ((k * p) % n / n)) for p, h in zip(places, heights.tolist(), strict=True))
        error += float(np.sum(np.abs(spectrum[start : start + CHUNK] - exact) ** 2))
        norm += float(np.sum(np.abs(exact) ** 2))
    factor = 0.6 if length == "power" else 1.5
    assert np.sqrt(error / norm) <= factor * np.finfo(np.float32).eps * np.sqrt(np.log2(n))
