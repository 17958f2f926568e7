"""Runs pytest on every rank of mpiexec and leaves each rank's report in a folder.

mpiexec -n K python -m clients.on_ranks FOLDER PYTEST-ARGUMENT...
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mpi4py import MPI

from clients.suites import report_options

if __name__ == "__main__":
    folder, *arguments = sys.argv[1:]
    sys.exit(pytest.main([*report_options(Path(folder), MPI.COMM_WORLD.Get_rank()), *arguments]))
