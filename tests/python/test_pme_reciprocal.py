"""The benchmark of apps/pme: every transform gives the same energy, and rows become a table and a drawing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
MPIEXEC = os.environ.get("SPANFFT_MPIEXEC") or shutil.which("mpiexec")


@pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")
def test_rows_table_and_drawing(tmp_path: Path) -> None:
    """A rank's rows are checked by the program itself, which ends where an energy differs."""
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(BENCH / "pme_reciprocal.py"), "--n", "12", "--ranks", "1,2", "--repeats", "1"]
    command += ["--rates", "", "--loaded", "--no-build", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "PME.json").read_text())["rows"]
    there = [(row["ranks"], row["peer"]) for row in rows if "absent" not in row]
    planes = [f"spanfft, overlap:{p}" for p in (1, 2, 4)]
    assert [(p, name) for p, name in there if name.startswith("spanfft")] == [
        (1, "spanfft"), *((2, name) for name in ("spanfft", *planes))
    ]  # fmt: skip
    assert all(row["energy_off"] < 1e-9 for row in rows if "absent" not in row)
    assert {row["peer"] for row in rows} >= {"mpi4py-fft", "fftw-mpi-transposed"}  # there, or with a reason
    assert all(row["peer"] in done.stdout for row in rows)
    assert (tmp_path / "pme-reciprocal.svg").stat().st_size > 1000


def test_too_few_turns_are_refused() -> None:
    command = [sys.executable, str(BENCH / "pme_reciprocal.py"), "--repeats", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "a median needs at least 5" in done.stderr
