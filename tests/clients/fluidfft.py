"""fluidfft's complete tests and its benchmark, which find our plugin by its entry points.

On ranks the benchmark times each method that is installed: ours, and those of fluidfft-mpi-with-fftw, which are FFTW's
1-D transforms with MPI between them. The medians of fft_as_arg and ifft_as_arg are in the rows, the fastest first.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from clients import suites
from clients.result import Result

PACKAGE = "fluidfft"
SIZE = "64"
TIMES = "20"


def bench(work: Path, dimensions: int, ranks: int) -> Result:
    """fluidfft-bench as it is; a pass for each method that it timed, of which ours must be one."""
    folder = work / f"bench-{dimensions}d-{ranks}"
    shutil.rmtree(folder, ignore_errors=True)
    program = Path(sys.executable).with_name("fluidfft-bench")
    command = [os.environ["SPANFFT_MPIEXEC"], "-n", str(ranks), sys.executable, str(program)]
    size = SIZE if dimensions == 3 else str(16 * int(SIZE))
    command += [size, "-d", str(dimensions), "-n", TIMES, "-o", str(folder)]
    done = subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
    rows = [row for path in folder.glob("*.json") for row in json.loads(path.read_text())["benchmarks_classes"]]
    rows.sort(key=lambda row: row["t_fft_as_arg"] + row["t_ifft_as_arg"])
    times = [f"{row['name']} {1e3 * row['t_fft_as_arg']:.2f} + {1e3 * row['t_ifft_as_arg']:.2f} ms" for row in rows]
    good = done.returncode == 0 and any("spanfft" in row["name"] for row in rows)
    if not good:
        times.append(f"exit code {done.returncode}, ours not timed: {done.stderr.strip()[-200:]}")
    client = f"fluidfft-bench {'x'.join([size] * dimensions)}, {ranks} ranks"
    return Result(client, suites.pinned(PACKAGE), len(rows) + (not good), len(rows), int(not good), times)


def whole(work: Path) -> list[Result]:
    suite = Path(__file__).with_name("fluidfft_suite.py")
    results = [suites.run(PACKAGE, suites.pinned(PACKAGE), ranks, [suite], work) for ranks in (1, 2, 4)]
    return results + [bench(work, dimensions, 2) for dimensions in (3, 2)]
