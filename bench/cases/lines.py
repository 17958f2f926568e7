"""One long axis over two ranks, beside FFTW-MPI, MKL and HPC Challenge's FFTE, and beside one process with two threads.

The others have c2c only. spanfft runs from the caller's arrays (`spanfft`) and into its own (`spanfft-own`), and by
messages alone (alltoallv), as it would between nodes. The local peers, `spanfft-threads` too, run on rank 0 while rank
1 sleeps. In exchanged order two exchanges do, as for FFTW-MPI's scrambled order.
"""

from __future__ import annotations

from . import Case, Target

_THREADS = ("spanfft-threads", "fftw", "mkl", "scipy")
_REAL = ("spanfft", "spanfft-own", "spanfft-messages", *_THREADS)
_COMPLEX = ("spanfft", "spanfft-own", "spanfft-messages", "fftw-mpi", "fftw-mpi-patient", "mkl-cluster", "hpcc",
            *_THREADS)  # fmt: skip
_EXCHANGED = ("spanfft-exchanged", "spanfft-messages", "spanfft-messages-exchanged", "fftw-mpi-transposed",
              "fftw-mpi-transposed-patient")  # fmt: skip
_AS_THREADS = (
    Target("own arrays, within 1.05x of spanfft's own two threads", "spanfft-own", "spanfft-threads", 1.05),
    Target("the caller's arrays, within 1.2x of spanfft's own two threads", "spanfft", "spanfft-threads", 1.2),
)
_AS_OTHERS = (
    Target("3 times as fast as FFTW-MPI, natural order", "spanfft", ("fftw-mpi", "fftw-mpi-patient"), 1 / 3),
    Target("3 times as fast as MKL's cluster FFT", "spanfft", "mkl-cluster", 1 / 3),
    Target("3 times as fast as HPC Challenge's FFTE", "spanfft", "hpcc", 1 / 3),
)
_SCRAMBLED = Target("exchanged order, 3 times as fast as FFTW-MPI, scrambled", "spanfft-exchanged",
                    ("fftw-mpi-transposed", "fftw-mpi-transposed-patient"), 1 / 3)  # fmt: skip

CASES = [
    Case(f"{kind}-1d-{lg}-2", kind, (2**lg,), 2, peers, (2**16,), repeats=9, plan_limit_seconds=120, targets=targets)
    for kind, peers, targets in (
        ("c2c", _COMPLEX, (*_AS_THREADS, *_AS_OTHERS)),
        ("r2c", _REAL, _AS_THREADS),
    )
    for lg in (20, 22, 24, 26)
] + [
    # The largest prime below 2^22.
    Case("c2c-1d-prime-2", "c2c", (4194301,), 2, ("spanfft", "spanfft-messages", *_THREADS), (65521,),
         repeats=9, plan_limit_seconds=120,
         targets=(Target("a prime near 2^22 within 6x of 2^22", "spanfft", "spanfft", 6.0, of_case="c2c-1d-22-2"),)),
    *(Case(f"c2c-1d-exchanged-{lg}-2", "c2c", (2**lg,), 2, _EXCHANGED, (2**16,), repeats=9, plan_limit_seconds=120,
           targets=(_SCRAMBLED,)) for lg in (22, 24)),
]  # fmt: skip
