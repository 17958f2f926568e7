"""Runs pytest on every rank of mpiexec and leaves each rank's report in a folder.

mpiexec -n K python -m clients.on_ranks FOLDER PYTEST-ARGUMENT...
"""

from __future__ import annotations

import os
import sys

import pytest
from mpi4py import MPI

if __name__ == "__main__":
    folder, *arguments = sys.argv[1:]
    rank = MPI.COMM_WORLD.Get_rank()
    ours = ["-c", os.devnull, f"--rootdir={folder}", "-p", "no:cacheprovider", "-q", f"--junitxml={folder}/{rank}.xml"]
    sys.exit(pytest.main([*ours, *arguments]))
