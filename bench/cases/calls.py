"""Short transforms called in the manner of numpy.fft, one thread: what a call costs beside the transform.

A turn is thousands of calls (peers/many_calls.py), so its time is no single transform's.
"""

from __future__ import annotations

from . import Case, Target

_PEERS = ("spanfft-calls", "numpy-calls", "scipy-calls")

CASES = [
    Case(f"calls-{n}", "c2c", (n,), 1, _PEERS, (n,), repeats=15, targets=(
        Target(f"within {factor}x of the faster of NumPy and SciPy", "spanfft-calls", _PEERS[1:], factor),))
    for n, factor in ((64, 1.3), (256, 1.1), (1024, 0.9), (4096, 0.9))
]  # fmt: skip
