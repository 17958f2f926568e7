"""Times mpi4py-fft and spanfft's stand-in for it in turns, forward and backward, and holds their results together.

mpiexec -n K python -m clients.mpi4py_fft_speed N
"""

from __future__ import annotations

import json
import os
import statistics
import sys

import mpi4py_fft
import numpy as np
import spanfft.mpi4py_fft
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
ROUNDS = 9


def timed(fft, u) -> float:
    """Seconds of a pair, of the slowest rank."""
    WORLD.Barrier()
    start = MPI.Wtime()
    fft.backward(fft.forward(u))
    return WORLD.allreduce(MPI.Wtime() - start, op=MPI.MAX)


def main(n: int) -> dict[str, object]:
    found: dict[str, object] = {"load": os.getloadavg()[0]}
    for kind, dtype in (("c2c", "D"), ("r2c", "d")):
        both = [module.PFFT(WORLD, [n] * 3, dtype=dtype, grid=(-1,)) for module in (mpi4py_fft, spanfft.mpi4py_fft)]
        u = np.random.default_rng(WORLD.rank).random(both[0].shape(False)).astype(dtype)
        theirs, ours = (fft.forward(u).copy() for fft in both)
        assert np.allclose(theirs, ours, rtol=0, atol=1e-13)
        seconds: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for fft, each in zip(both, seconds, strict=True):
                each.append(timed(fft, u))
        medians = [statistics.median(each) for each in seconds]
        found[kind] = {"mpi4py-fft": medians[0], "spanfft": medians[1]}
        for fft in both:
            fft.destroy()
    return found


if __name__ == "__main__":
    result = main(int(sys.argv[1]))
    if WORLD.rank == 0:
        print(json.dumps(result))
