"""Power cuts in what Python and the command line write: every operation of HDF5, Zarr, PRESTO's files, traces, pictures
and stores is recorded below libc and cut off (power_cut_runs.py). tests/fault/power_cuts.cpp has the sweeps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import power_cut_runs
import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "fault"))
import mutations  # noqa: E402

RECORDER = TESTS.parent / "build" / f"release-{os.environ.get('SPANFFT_DEV_MPI', 'venv')}" / "tests" / "libpower_cut.so"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", power_cut_runs.RUNS)
def test_every_operation_cut_off_leaves_the_old_output_or_the_new_one(name, tmp_path):
    if "zarr" in name:
        pytest.importorskip("zarr")
    if "hdf5" in name:
        pytest.importorskip("h5py")
    if not RECORDER.exists():
        pytest.skip("the recorder is compiled with the C++ tests")
    folder = tmp_path / "files"
    folder.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(RECORDER), "SPANFFT_IO": "threads"}
    command = [sys.executable, power_cut_runs.__file__, name, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout.splitlines()[-1])
    print(name, counts)
    assert counts["operations"] > 3
    assert counts["states"] > 10  # equal states are tried once
    assert counts["old"] > 2
    assert counts["new"] > 0
    if power_cut_runs.RUNS[name].journal:
        assert counts["continued"] > counts["operations"] / 4


def test_mutations_are_of_the_sources_as_they_are():
    """So that tests/fault/mutations.py, which takes long, can be run at any time."""
    stale = [each.name for each in mutations.MUTATIONS if (mutations.ROOT / each.file).read_text().count(each.old) != 1]
    assert not stale
