"""256^3 and 512^3, complex and real, on one rank with all cores, on two ranks with one core each, on four that share.

On two ranks the local peers (FFTW, MKL and SciPy with two threads) run on rank 0 while rank 1 sleeps: the same
cores without MPI. mpi4py-fft leaves its spectrum divided along another axis than its input, so what is like for
like is spanfft with the same engine and output=exchanged; its natural order is timed as well.
512^3 complex is 2 GiB an array, so not all peers fit at once: those whose times are compared share a launch, which
takes 10 to 18 GiB: c2c-512-2 and the cases whose names begin with it.
Cases that end in -dtfft are those with dtFFT, under Debian's MPICH (`./spanfft-dev --mpi mpich bench`).
c2c-256-4 has more ranks than cores: what a pencil decomposition costs, against slabs of the same ranks and against the
two ranks of c2c-256-2.
"""

from __future__ import annotations

from . import HEFFTE, Case, Target

_LOCAL = ("spanfft", "spanfft-fftw", "fftw", "mkl", "scipy", "mpi4py-fft")
_SHARED = ("spanfft-shared", "spanfft-shared-mkl", "spanfft-shared-foreign")
_RANKS = ("spanfft", "spanfft-own", "spanfft-exchanged", "spanfft-fftw", "spanfft-fftw-exchanged", *_SHARED,
          "mpi4py-fft", "fftw-mpi", "fftw-mpi-patient", "fftw-mpi-in-place", "fftw-mpi-transposed", *HEFFTE, "fftw",
          "mkl", "scipy")  # fmt: skip
# Under Debian's MPICH, which dtFFT's wheel needs and for which nobody builds heFFTe here.
_RANKS_DTFFT = (*(peer for peer in _RANKS if peer not in HEFFTE), "dtfft")
_LOCAL_BIG = ("spanfft", "fftw", "mkl", "scipy")
_RANKS_BIG = ("spanfft", "spanfft-own", "mpi4py-fft", "fftw-mpi", "fftw-mpi-transposed", "fftw", "mkl")
_NOT_SLOWER = Target(
    "not slower than mpi4py-fft at 256^3 on 2 ranks, same MPI, same engine, same layouts",
    "spanfft-fftw-exchanged",
    "mpi4py-fft",
    1.0,
)
_AS_THREADS = "natural order on 2 ranks within 1.05x of the same engine with 2 threads"
_THREADS_FFTW = Target(f"{_AS_THREADS}, FFTW", "spanfft-shared", "fftw", 1.05)
_THREADS_MKL = Target(f"{_AS_THREADS}, MKL", "spanfft-shared-mkl", "mkl", 1.05)
_FFTW_MPI = Target("2.5x faster than FFTW-MPI, natural order", "spanfft-shared", "fftw-mpi", 1 / 2.5)
_MPI4PY_FFT = Target("2.5x faster than mpi4py-fft, slabs", "spanfft-shared", "mpi4py-fft", 1 / 2.5)
# Both in the caller's arrays, FFTW-MPI at its best.
_LIKE_FOR_LIKE = Target("faster than FFTW-MPI at its best, both in the caller's arrays", "spanfft-shared-foreign",
                        ("fftw-mpi-patient", "fftw-mpi-in-place"), 1.0)  # fmt: skip
# Each in memory of its own; dtFFT's spectrum stays transposed.
_DTFFT = Target("natural order 1.5x faster than dtFFT's transposed", "spanfft-shared", "dtfft", 1 / 1.5)
_HEFFTE = Target("2.2x faster than heFFTe with MKL, its best mode", "spanfft-shared-mkl", HEFFTE, 1 / 2.2)
_OF_REAL = (
    Target("real pair 2x faster than mpi4py-fft", "spanfft-shared", "mpi4py-fft", 1 / 2),
    Target("real pair 2x faster than FFTW-MPI, natural order", "spanfft-shared", "fftw-mpi", 1 / 2),
)
_FOUR_RANKS = (
    Target("4 ranks on 2 cores, pencils, within 1.3x of 2 ranks", "spanfft-shared", "spanfft-shared", 1.3,
           of_case="c2c-256-2"),
    Target("pencils within 1.3x of slabs on the same 4 ranks", "spanfft-shared", "spanfft-shared-slabs", 1.3),
    Target("the same from the caller's arrays", "spanfft", "spanfft-slabs", 1.3),
)  # fmt: skip
_BETTER = "0.85 of the better of FFTW measured and MKL with 2 threads"
_IN_ONE = Target(f"one process with 2 threads, {_BETTER}", "spanfft", ("fftw", "mkl"), 0.85)
_OWN = Target(f"own arrays, {_BETTER}", "spanfft-own", ("fftw", "mkl"), 0.85)
_OWN_MEASURED = Target(f"own arrays, on FFTW measured, {_BETTER}", "spanfft-shared", ("fftw", "mkl"), 0.85)


def _callers(ours: str, *names: str) -> tuple[Target, ...]:
    """From the caller's arrays against peers that have those too, or dtFFT, which has its own."""
    how = "measured" if ours == "spanfft-shared-foreign" else "as planned without measuring"
    text = f"the caller's arrays, {how}, 2.3 times as fast as"
    return tuple(Target(f"{text} {name}", ours, name, 1 / 2.3) for name in names)


def _both_callers(*names: str) -> tuple[Target, ...]:
    return (*_callers("spanfft", *names), *_callers("spanfft-shared-foreign", *names))


_TARGETS = {
    "c2c-256-1": (_IN_ONE,),
    "r2c-256-1": (_IN_ONE,),
    "c2c-512-1": (_IN_ONE,),
    "r2c-512-1": (_IN_ONE,),
    "c2c-256-2": (_NOT_SLOWER, _THREADS_FFTW, _THREADS_MKL, _FFTW_MPI, _LIKE_FOR_LIKE, _MPI4PY_FFT, _HEFFTE, _OWN,
                  _OWN_MEASURED, *_both_callers("fftw-mpi", "mpi4py-fft")),
    "r2c-256-2": (_NOT_SLOWER, *_OF_REAL, _LIKE_FOR_LIKE, _OWN, _OWN_MEASURED,
                  *_both_callers("fftw-mpi", "mpi4py-fft")),
    "r2c-512-2": (_OWN, *_callers("spanfft", "fftw-mpi", "mpi4py-fft")),
}  # fmt: skip


def _of_512(name: str, peers: tuple[str, ...], targets: tuple[Target, ...], kind: str = "c2c") -> Case:
    return Case(name, kind, (512,) * 3, 2, peers, (32,) * 3, repeats=5, plan_limit_seconds=150, targets=targets)


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
        targets=_TARGETS.get(f"{kind}-{n}-{ranks}", ()),
    )
    for n, ranks, peers, repeats, limit in (
        (256, 1, _LOCAL, 9, 300),
        (256, 2, _RANKS, 9, 300),
        (512, 1, _LOCAL_BIG, 5, 150),
        (512, 2, _RANKS_BIG, 5, 150),
    )
    for kind in ("c2c", "r2c")
    if (kind, n, ranks) != ("c2c", 512, 2)
] + [
    _of_512(
        "c2c-512-2",
        ("spanfft", "spanfft-shared", "fftw-mpi", "fftw-mpi-transposed", "fftw"),
        (_THREADS_FFTW, _FFTW_MPI, *_callers("spanfft", "fftw-mpi")),
    ),
    _of_512("c2c-512-2-own", ("spanfft-own", "fftw", "mkl"), (_OWN,)),
    _of_512("c2c-512-2-callers", ("spanfft", "mpi4py-fft"), _callers("spanfft", "mpi4py-fft")),
    _of_512("c2c-512-2-mpi4py", ("spanfft-shared", "mpi4py-fft"), (_MPI4PY_FFT,)),
    _of_512("c2c-512-2-mkl", ("spanfft-shared-mkl", *HEFFTE, "mkl"), (_THREADS_MKL, _HEFFTE)),
    Case(
        "c2c-256-2-dtfft",
        "c2c",
        (256,) * 3,
        2,
        _RANKS_DTFFT,
        small_shape=(32,) * 3,
        repeats=9,
        targets=(_DTFFT, _LIKE_FOR_LIKE, _THREADS_FFTW, _THREADS_MKL, _FFTW_MPI, _MPI4PY_FFT, *_both_callers("dtfft")),
    ),
    Case(
        "r2c-256-2-dtfft",
        "r2c",
        (256,) * 3,
        2,
        ("spanfft", "spanfft-shared", "spanfft-shared-foreign", "dtfft"),
        small_shape=(32,) * 3,
        repeats=9,
        targets=_both_callers("dtfft"),
    ),
    *(
        _of_512(f"{kind}-512-2-dtfft", ("spanfft", "dtfft"), _callers("spanfft", "dtfft"), kind)
        for kind in ("c2c", "r2c")
    ),
    Case(
        "c2c-256-4",
        "c2c",
        (256,) * 3,
        4,
        ("spanfft", "spanfft-slabs", "spanfft-shared", "spanfft-shared-slabs", "mpi4py-fft"),
        small_shape=(32,) * 3,
        repeats=9,
        grid=(2, 2),
        targets=_FOUR_RANKS,
    ),
]
