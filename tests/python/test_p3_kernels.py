"""P3's five kernels as a script: rows with the paper's numbers of calls, and drawings from them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import p3_kernels  # noqa: E402

MPIEXEC = os.environ.get("SPANFFT_MPIEXEC") or shutil.which("mpiexec")


def test_calls_are_the_papers():
    # 16^3 on 4 ranks: 4 planes each, 3 peers; two transforms.
    wanted = {"replace": 2 * 3 * 4, "standard": 2 * 6 * 4, "overlap": 2 * 6 * 4, "oneplane": 2 * 4, "allplanes": 2}
    assert {kernel: p3_kernels.calls_per_step(kernel, 16, 4) for kernel in p3_kernels.KERNELS} == wanted
    assert all(p3_kernels.calls_per_step(kernel, 16, 1) == 0 for kernel in p3_kernels.KERNELS)


def test_profile_counts_the_ranks_inside_mpi():
    steps = p3_kernels.profile([[(1_000_000, 3_000_000)], [(2_000_000, 4_000_000)], []])
    assert steps == [(0.0, 1), (1.0, 2), (2.0, 1), (3.0, 0)]
    assert p3_kernels.profile([[], []]) == []


@pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")
def test_every_kernel_makes_the_papers_calls(tmp_path):
    command = [sys.executable, str(BENCH / "p3_kernels.py"), "--n", "16", "--ranks", "1,2,4", "--repeats", "5"]
    command += ["--loaded", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "p3_kernels.json").read_text())["rows"]
    assert [(row["ranks"], row["kernel"]) for row in rows] == [(p, k) for p in (1, 2, 4) for k in p3_kernels.KERNELS]
    for row in rows:
        assert row["counted"]["calls"] == row["paper_calls"], row
        assert len(row["seconds"]) == 5
        if row["ranks"] > 1:
            assert row["counted"]["sent_bytes"] == 2 * 16**3 * 16 // row["ranks"] * (row["ranks"] - 1) // row["ranks"]
    assert (tmp_path / "p3-times.svg").exists() or "matplotlib" not in sys.modules


def test_ranks_that_do_not_divide_the_planes_are_refused():
    command = [sys.executable, str(BENCH / "p3_kernels.py"), "--n", "16", "--ranks", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "3 ranks do not divide 16 planes" in done.stderr
