"""One long axis over two ranks, natural order, beside FFTW-MPI's and MKL's and beside one process with two threads.

FFTW-MPI and MKL's cluster FFT have c2c only. spanfft runs from the caller's arrays and into its own (own_output), and
by messages alone (alltoallv), as it would between nodes. The local peers run on rank 0 while rank 1 sleeps.
"""

from __future__ import annotations

from . import Case, Target

_PEERS = (
    "spanfft",
    "spanfft-shared",
    "spanfft-messages",
    "fftw-mpi",
    "fftw-mpi-patient",
    "mkl-cluster",
    "fftw",
    "mkl",
    "scipy",
)
_REAL = ("spanfft", "spanfft-shared", "spanfft-messages", "fftw", "mkl", "scipy")


def _targets(kind: str) -> tuple[Target, ...]:
    threads = (
        Target("own arrays, within 1.05x of the better of FFTW and MKL with 2 threads", "spanfft-shared",
               ("fftw", "mkl"), 1.05),
        Target("the caller's arrays, within 1.2x of the better of FFTW and MKL with 2 threads", "spanfft",
               ("fftw", "mkl"), 1.2),
    )  # fmt: skip
    if kind == "r2c":
        return threads
    return (
        *threads,
        Target("3 times as fast as FFTW-MPI, natural order", "spanfft", ("fftw-mpi", "fftw-mpi-patient"), 1 / 3),
        Target("3 times as fast as MKL's cluster FFT", "spanfft", "mkl-cluster", 1 / 3),
    )


CASES = [
    Case(f"{kind}-1d-{lg}-2", kind, (2**lg,), 2, _PEERS if kind == "c2c" else _REAL, (2**16,), repeats=9,
         plan_limit_seconds=120, targets=_targets(kind))
    for kind in ("c2c", "r2c")
    for lg in (20, 22, 24, 26)
] + [
    # The largest prime below 2^22, and 2^24 in exchanged order.
    Case("c2c-1d-prime-2", "c2c", (4194301,), 2, ("spanfft", "spanfft-messages", "fftw", "mkl", "scipy"), (65521,),
         repeats=9, plan_limit_seconds=120,
         targets=(Target("a prime near 2^22 within 6x of 2^22", "spanfft", "spanfft", 6.0, of_case="c2c-1d-22-2"),)),
    Case("c2c-1d-exchanged-24-2", "c2c", (2**24,), 2,
         ("spanfft-messages", "spanfft-messages-exchanged", "spanfft-exchanged"), (2**16,), repeats=9),
]  # fmt: skip
