"""A quarter of a minute of soak on ranks, under the MPI of this run; `./spanfft-dev test` has MPICH, then Open MPI."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
from test_soak import soak


@pytest.mark.timeout(400)
def test_fifteen_seconds_on_ranks_find_nothing():
    pytest.importorskip("mpi4py")
    seed = 16
    campaigns = ["ranks", "killed_ranks", *(["rank_files"] if find_spec("h5py") else [])]  # which draws formats
    done = soak("--minutes", 0.25, "--seed", seed, "--only", ",".join(campaigns), timeout=360)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert "0 wrong, 0 lost, 0 hung, 0 crashed" in last
    assert int(re.search(r"(\d+) problems", last)[1]) > 0
    assert int(re.search(r"(\d+) kills", last)[1]) > 0
