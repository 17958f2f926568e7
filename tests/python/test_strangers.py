"""NumPy's and SciPy's own tests of their Fourier transforms, unedited, as their packages bring them, run on spanfft."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import TESTS, cli_environment

SUITES = {"numpy": ("numpy.fft.tests", 150), "scipy": ("scipy.fft.tests", 3300)}


@pytest.mark.parametrize("whose", SUITES)
def test_their_own_tests_pass(whose, tmp_path):
    package, least = SUITES[whose]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", package]
    environment = cli_environment(PYTHONPATH=str(TESTS / "strangers" / whose), OMP_NUM_THREADS="1")
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) >= least


def test_scipys_functions_call_spanfft(monkeypatch):
    """Else the suite above would judge SciPy."""
    called = []
    monkeypatch.setitem(spanfft.scipy._METHODS, "fft", lambda x, **options: called.append(options) or x)
    with scipy.fft.set_backend(spanfft.scipy, only=True):
        scipy.fft.fft(np.ones(4), n=4)
    assert called


def test_every_transform_of_scipy_is_there():
    theirs = {name for name in scipy.fft.__all__ if re.fullmatch(r"i?[rh]?(fft|dct|dst)[2n]?", name)}
    assert len(theirs) == 26
    assert theirs <= set(spanfft.scipy._METHODS)


def test_what_spanfft_has_not_is_handed_on():
    x = np.arange(1.0, 9)
    expected = scipy.fft.fht(x, 0.1, 0.5)
    with scipy.fft.set_backend(spanfft.scipy, only=True):
        np.testing.assert_allclose(scipy.fft.fht(x, 0.1, 0.5), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: scipy.fft.fft([1.0], workers=0), ValueError, "must not be zero"),
        (lambda: scipy.fft.fft(np.ones(4), plan="p"), NotImplementedError, "precomputed plan"),
        (lambda: scipy.fft.fftn(np.ones((2, 2)), axes=(0, 0)), ValueError, "unique"),
        (lambda: scipy.fft.rfft(np.ones(4, complex)), TypeError, "real sequence"),
        (lambda: scipy.fft.ifft(np.ones(4), norm="none"), ValueError, "Invalid norm"),
        (lambda: scipy.fft.fft(np.array(["a"])), (TypeError, ValueError), "x has dtype"),
        (lambda: scipy.fft.dctn(np.ones((2, 2)), s=(1, 2, 3)), ValueError, "more axes"),
    ],
)
def test_what_scipy_refuses_is_refused(call, kind, words):
    with scipy.fft.set_backend(spanfft.scipy, only=True), pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, spanfft.Error)
