"""What is kept for a communicator goes when the caller frees it, whatever else is kept there."""

from __future__ import annotations

import pytest
from conftest import python_on_ranks

# MPICH walks over freed attributes when a communicator that is being freed is asked for its topology, and crashes where
# its pool of attributes (32 at first) is full: so each fill of that pool is met, and a topology was made before.
PROGRAM = """
from mpi4py import MPI
import spanfft
from spanfft._mpi import ranks_of
world = MPI.COMM_WORLD
world.Create_cart([world.size]).Free()
fills = [MPI.Comm.Create_keyval() for _ in range(70)]
for i, key in enumerate(2 * fills):
    if i == len(fills):
        for each in fills:
            world.Delete_attr(each)
    world.Set_attr(key, 1)
    comm = world.Dup()
    spanfft.Plan((6, 5), comm=comm)  # which is only dropped
    kept = ranks_of(comm)
    assert ranks_of(comm) is kept and not kept.closed
    if i >= len(fills):
        comm.allreduce(1)  # mpi4py keeps something there too
    comm.Free()
    assert kept.closed
print("freed", flush=True)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_communicator_is_freed_however_many_attributes_there_are(ranks):
    done = python_on_ranks(ranks, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("freed") == ranks  # their lines may run into one another
