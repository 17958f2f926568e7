"""Draws docs/images/app-spectra.svg from committed rows: a density the true one, and memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from apps.drawing import BLUE, GREY, RED, panels, save

MIB = 1 << 20


def draw(rows: Path, picture: Path) -> None:
    """Left: the density of the measured series. Right: peak memory."""
    table = json.loads(rows.read_text())
    figure, (left, right) = panels(2)
    f, density = np.array(table["density"]).T
    true = 2 / np.abs(1 - table["correlation"] * np.exp(-2j * np.pi * f)) ** 2
    left.loglog(f, true, color=GREY, lw=3, label="the noise's true density")
    left.loglog(f, density, color=BLUE, lw=1, label=f"Welch, segments of {table['segment']}")
    left.set(title="A series of 512 MiB within 64 MiB", xlabel="frequency / rate", ylabel="power density")
    left.legend()

    runs = table["runs"]
    names = [row["task"].replace("ours", "spanfft").replace("scipy", "SciPy") for row in runs]
    sizes = [row["peak_memory_bytes"] / MIB for row in runs]
    right.barh(names, sizes, color=[BLUE if "ours" in row["task"] else RED for row in runs])
    for i, size in enumerate(sizes):
        right.annotate(f"{size:.0f}", (size, i), xytext=(3, 0), textcoords="offset points", va="center")
    right.invert_yaxis()
    right.set(title="Most memory of the process", xlabel="MiB, with Python's own")
    save(figure, picture)
