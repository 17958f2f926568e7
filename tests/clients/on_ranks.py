"""Runs pytest on every rank of mpiexec, or in one process without MPI, and leaves each rank's report in a folder.

mpiexec -n K python -m clients.on_ranks FOLDER PYTEST-ARGUMENT...
"""

from __future__ import annotations

import os
import sys

import pytest

if __name__ == "__main__":
    folder, *arguments = sys.argv[1:]
    rank = 0
    if any(name.startswith(("PMI", "OMPI_COMM_WORLD")) for name in os.environ):
        from mpi4py import MPI

        rank = MPI.COMM_WORLD.Get_rank()
    ours = ["-c", os.devnull, f"--rootdir={folder}", "-p", "no:cacheprovider", "-q", f"--junitxml={folder}/{rank}.xml"]
    sys.exit(pytest.main([*ours, *arguments]))
