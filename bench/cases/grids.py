"""256^3 and 512^3, complex and real, on one rank with all cores and on two ranks with one core each.

On two ranks the local peers (FFTW, MKL and SciPy with two threads) run on rank 0 while rank 1 sleeps: the same
cores without MPI. mpi4py-fft leaves its spectrum divided along another axis than its input, so what is like for
like is spanfft with the same engine and output=exchanged; its natural order is timed as well.
512^3 complex is 2 GiB an array, so fewer peers fit there (the shared arrays, spanfft's work space and mpi4py-fft's take
18 GiB), and FFTW's planner gets 150 s a plan.
"""

from __future__ import annotations

from . import Case, Target

_LOCAL = ("spanfft", "spanfft-fftw", "fftw", "mkl", "scipy", "mpi4py-fft")
_RANKS = ("spanfft", "spanfft-exchanged", "spanfft-fftw", "spanfft-fftw-exchanged", "mpi4py-fft", "fftw-mpi",
          "fftw-mpi-transposed", "fftw", "mkl", "scipy")  # fmt: skip
_LOCAL_BIG = ("spanfft", "fftw", "mkl", "scipy")
_RANKS_BIG = ("spanfft", "mpi4py-fft", "fftw-mpi-transposed")
_NOT_SLOWER = Target(
    "not slower than mpi4py-fft at 256^3 on 2 ranks, same MPI, same engine, same layouts",
    "spanfft-fftw-exchanged",
    "mpi4py-fft",
    1.0,
)

CASES = [
    Case(
        f"{kind}-{n}-{ranks}",
        kind,
        (n, n, n),
        ranks,
        peers,
        small_shape=(32, 32, 32),
        repeats=repeats,
        plan_limit_seconds=limit,
        target=_NOT_SLOWER if n == 256 and ranks == 2 else None,
    )
    for n, ranks, peers, repeats, limit in (
        (256, 1, _LOCAL, 9, 300),
        (256, 2, _RANKS, 9, 300),
        (512, 1, _LOCAL_BIG, 5, 150),
        (512, 2, _RANKS_BIG, 5, 150),
    )
    for kind in ("c2c", "r2c")
]
