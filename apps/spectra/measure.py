"""Measures both programs on arrays beyond their budgets, beside SciPy, which holds the arrays in memory: rows.json.

Each run is a process of its own, whose most memory the system tells (VmHWM; what a program is before it begins, Python
and its packages, counts). The series is known: noise x_i = a x_(i-1) + e_i, whose density is 2 / |1 - a exp(-i w)|^2.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LENGTH, SEGMENT, MEMORY = 1 << 27, 1 << 16, "64MiB"
IMAGE, KERNEL = (8192, 8192), 1025
CORRELATION = 0.95
_CHUNK = 1 << 20
_POINTS = 160  # of the density that is drawn


def make_series(path: Path) -> None:
    """float32, chunk by chunk; the recursion is a filter."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(1)
    series = np.lib.format.open_memmap(path, "w+", np.float32, (LENGTH,))
    state = np.zeros(1)
    for start in range(0, LENGTH, _CHUNK):
        series[start : start + _CHUNK], state = lfilter([1], [1, -CORRELATION], rng.standard_normal(_CHUNK), zi=state)
    series.flush()


def make_image(path: Path, kernel: Path) -> None:
    """Random points, and a Gaussian of a width of 200 points, cut off."""
    rng = np.random.default_rng(2)
    image = np.lib.format.open_memmap(path, "w+", np.float32, IMAGE)
    for row in range(0, IMAGE[0], 256):
        image[row : row + 256] = rng.random((256, IMAGE[1]), np.float32) ** 32
    image.flush()
    x = (np.arange(KERNEL) - KERNEL // 2) / 200
    bell = np.exp(-(x**2) / 2)
    np.save(kernel, np.outer(bell, bell) / bell.sum() ** 2)


def _welch_ours(folder: Path) -> None:
    from apps.spectra.welch import Welch

    Welch(folder / "series.npy", folder / "ours.npy", SEGMENT, memory=MEMORY).run()


def _welch_scipy(folder: Path) -> None:
    from scipy.signal import welch

    np.save(folder / "scipy.npy", welch(np.load(folder / "series.npy").astype(np.float64), nperseg=SEGMENT)[1])


def _convolve_ours(folder: Path) -> None:
    from apps.spectra.convolve import Convolution

    Convolution(folder / "image.npy", folder / "kernel.npy", folder / "ours.npy", "zero", MEMORY).run()


def _convolve_scipy(folder: Path) -> None:
    from scipy.signal import oaconvolve

    image = np.load(folder / "image.npy").astype(np.float64)
    np.save(folder / "scipy.npy", oaconvolve(image, np.load(folder / "kernel.npy")))


_TASKS: dict[str, Callable[[Path], None]] = {
    "welch ours": _welch_ours,
    "welch scipy": _welch_scipy,
    "convolve ours": _convolve_ours,
    "convolve scipy": _convolve_scipy,
}


def _child(task: str, folder: Path) -> dict[str, Any]:
    """Runs a task alone."""
    command = [sys.executable, "-m", "apps.spectra.measure", task, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _run_alone(task: str, folder: Path) -> None:
    start = time.perf_counter()
    _TASKS[task](folder)
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"task": task, "seconds": round(seconds, 1), "peak_memory_bytes": peak}))


def _difference(folder: Path) -> float:
    """Largest difference of both results, relative to the largest value, block by block."""
    ours, theirs = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("ours", "scipy"))
    if ours.shape != theirs.shape:
        raise SystemExit(f"shapes {ours.shape} and {theirs.shape} differ")
    step = max(1, _CHUNK // max(1, ours[0].size))
    most = most_difference = 0.0
    for i in range(0, len(ours), step):
        most = max(most, float(np.abs(theirs[i : i + step]).max()))
        most_difference = max(most_difference, float(np.abs(ours[i : i + step] - theirs[i : i + step]).max()))
    return most_difference / most


def measure(folder: Path, rows: Path) -> None:
    """All of it; the folder gets 4 GiB of files, which are removed."""
    folder.mkdir(exist_ok=True)
    table: dict[str, Any] = {"memory": MEMORY, "correlation": CORRELATION, "segment": SEGMENT, "runs": []}
    make_series(folder / "series.npy")
    make_image(folder / "image.npy", folder / "kernel.npy")
    for name, source in (("welch", "series.npy"), ("convolve", "image.npy")):
        for who in ("ours", "scipy"):
            row = {**_child(f"{name} {who}", folder), "input_bytes": (folder / source).stat().st_size}
            table["runs"].append(row)
            print(row, flush=True)
        table[f"{name}_difference"] = _difference(folder)
        print(f"{name}: largest difference {table[f'{name}_difference']:.1e} of the largest value", flush=True)
        if name == "welch":
            density = np.load(folder / "ours.npy")
            edges = np.unique(np.geomspace(1, len(density), _POINTS).astype(int))
            means = np.add.reduceat(density, edges[:-1])[:-1] / np.diff(edges)[:-1]
            middle = (edges[:-2] + edges[1:-1] - 1) / 2 / SEGMENT
            table["density"] = [[float(f"{a:.6g}"), float(f"{b:.6g}")] for a, b in zip(middle, means, strict=True)]
    for path in folder.glob("*.npy"):
        path.unlink()
    runs = ",\n  ".join(json.dumps(row) for row in table.pop("runs"))
    head = json.dumps(table)[:-1]
    rows.write_text(f'{head},\n "runs": [\n  {runs}\n ]}}\n')


if __name__ == "__main__":
    _run_alone(sys.argv[1], Path(sys.argv[2]))
