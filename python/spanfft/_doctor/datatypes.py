"""Checks of MPI alone: nothing of spanfft is called, so that a fault of MPI is told from one of spanfft."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np

from .._errors import MPIError
from .findings import Finding, Job

__all__ = ["check_datatypes"]


def check_datatypes(job: Job) -> Iterator[Finding]:
    """Subarrays by MPI_Alltoallw, and places beyond 2^31: nothing of spanfft is called."""
    if job.comm is None:
        return
    wrong = _alltoallw(job)
    remedy = "it is MPI's fault: use another version of it, or exchange=alltoallv, which needs no datatypes"
    if any(job.everywhere(wrong)):
        yield Finding(
            "MPI datatypes",
            "bad",
            f"{wrong or 'another rank got wrong'} of an MPI_Alltoallw of subarrays",
            remedy,
            MPIError,
        )
    else:
        yield Finding("MPI datatypes", "ok", "an MPI_Alltoallw of subarrays is right")
    wrong = _far_places(job)
    if any(job.everywhere(wrong)):
        yield Finding(
            "2^31 in MPI",
            "bad",
            f"{wrong or 'another rank got wrong'} from a datatype that reaches beyond 2^31 bytes",
            remedy,
            MPIError,
        )
    else:
        yield Finding("2^31 in MPI", "ok", "a datatype that reaches beyond 2^31 bytes and 2^31 numbers is right")


def _alltoallw(job: Job) -> str:
    from mpi4py import MPI

    comm, ranks = job.comm, job.size
    assert comm is not None
    rows, columns = 3, 2
    sent = np.arange(rows * columns * ranks, dtype="float64").reshape(rows, columns * ranks) + 1000 * job.rank
    received = np.full((rows * ranks, columns), -1.0)
    types = []
    for rank in range(ranks):
        types.append(MPI.DOUBLE.Create_subarray(sent.shape, (rows, columns), (0, columns * rank)).Commit())
    for rank in range(ranks):
        types.append(MPI.DOUBLE.Create_subarray(received.shape, (rows, columns), (rows * rank, 0)).Commit())
    one, zero = [1] * ranks, [0] * ranks
    comm.Alltoallw([sent, (one, zero), types[:ranks]], [received, (one, zero), types[ranks:]])
    for made in types:
        made.Free()
    first = np.arange(rows * columns * ranks, dtype="float64").reshape(rows, columns * ranks)
    first = first[:, columns * job.rank : columns * (job.rank + 1)]
    expected = np.concatenate([first + 1000 * rank for rank in range(ranks)])
    return "" if np.array_equal(received, expected) else "wrong numbers"


def _far_places(job: Job) -> str:
    """The last column of 2^17 columns in a few rows, and a row 2^31 numbers away, of memory that is never touched."""
    from mpi4py import MPI

    comm = job.comm
    assert comm is not None
    stride, rows = 1 << 31, 3  # numbers of 8 bytes: 16 GiB from one to the next
    size = 8 * (stride * (rows - 1) + 1)
    try:
        memory = mmap.mmap(
            -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        )
    except (OSError, ValueError, OverflowError):
        memory = None
    if not all(job.everywhere(memory is not None)) or memory is None:
        return ""  # address space is limited; nothing can lie so far away then
    far = np.frombuffer(memory, "float64")
    far[::stride] = np.arange(rows) + 10.0 * job.rank
    places = MPI.DOUBLE.Create_hvector(rows, 1, 8 * stride).Commit()
    got = np.full(rows, -1.0)
    left, right = (job.rank - 1) % job.size, (job.rank + 1) % job.size
    comm.Sendrecv([far, 1, places], right, 7, got, left, 7)
    far[::stride] = -1.0
    comm.Sendrecv(got, left, 8, [far, 1, places], right, 8)
    back = far[::stride].copy()
    places.Free()
    right_ones = np.arange(rows) + 10.0 * left
    if not np.array_equal(got, right_ones) or not np.array_equal(back, np.arange(rows) + 10.0 * job.rank):
        return f"{got.tolist()} and {back.tolist()}"
    return ""
