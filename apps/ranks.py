"""What the applications share: one sentence for one mistake, the same on all ranks, and a command line that prints it.

A rank that raises alone leaves the others waiting in a collective. So each check ends in `agree`, in which the ranks
tell one another what is wrong; all raise the sentence of the lowest rank that has one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from spanfft import Error, InvalidArgument

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

_LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def world() -> Comm | None:
    """COMM_WORLD where mpiexec started several ranks, else None."""
    if not any(name in os.environ for name in _LAUNCHED):
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD if MPI.COMM_WORLD.size > 1 else None


def agree(comm: Comm | None, wrong: str | None) -> None:
    """Raises `InvalidArgument` on all ranks if something is wrong on one. Collective.

    Parameters
    ----------
    comm
        The ranks; None: this process alone.
    wrong
        A sentence, or None where this rank has found nothing wrong.
    """
    sentences = [wrong] if comm is None else comm.allgather(wrong)
    for sentence in sentences:
        if sentence is not None:
            raise InvalidArgument(sentence)


def total(comm: Comm | None, value: float) -> float:
    """The sum over the ranks, on all of them."""
    return value if comm is None else float(comm.allreduce(value))


def say(comm: Comm | None, text: str) -> None:
    """Prints on rank 0."""
    if comm is None or comm.rank == 0:
        print(text, flush=True)


def command_line(name: str, run: Callable[[Comm | None], None]) -> None:
    """Runs an application. An error of spanfft's, which all ranks have, becomes one line and exit code 2; any other
    exception ends all ranks."""
    comm = world()
    try:
        run(comm)
    except Error as error:
        if comm is None or comm.rank == 0:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None
    except Exception:
        if comm is None:
            raise
        import traceback

        traceback.print_exc()
        comm.Abort(1)
