"""Draws runs of the Taylor-Green vortex: dissipation against time, energy spectra, and the vorticity on a plane."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.ticker import NullFormatter

from apps.drawing import BLUE, GREEN, GREY, PURPLE, RED, SAND, panels, save
from apps.turbulence.history import dissipation, reference, unpacked

_COLOURS = (BLUE, SAND, GREEN, PURPLE)
_OF_TIMES = (1, 3, 5, 7, 9)


def draw(files: Sequence[Path], picture: Path) -> None:
    """The runs' rows; spectra and plane are those of the run with the most modes."""
    histories = sorted((json.loads(path.read_text()) for path in files), key=lambda history: history["cutoff"])
    finest = histories[-1]
    figure, (left, middle, right) = panels(3, 4.4, 3.8)

    if finest["reynolds"] == 1600:
        published = np.array(reference()["rows"])
        published = published[published[:, 0] <= finest["rows"][-1][0] + 1e-9]
        left.plot(published[:, 0], 1e3 * published[:, 2], color=GREY, lw=3, label="published, 512³ points")
    for history, colour in zip(histories, _COLOURS, strict=False):
        times, values = dissipation(history)
        name = f"{history['size']}³ points, modes to {history['cutoff']}"
        left.plot(times, 1e3 * np.array(values), color=colour, lw=1.2, label=name)
    left.set(title=f"Dissipation, Re {finest['reynolds']:g}", xlabel="time", ylabel="2 ν Z × 10³")
    left.legend(loc="upper left", fontsize=8)

    shown = [time for time in _OF_TIMES if str(time) in finest["spectra"]]
    for i, time in enumerate(shown):
        energy = np.array(finest["spectra"][str(time)])
        k = np.arange(len(energy))
        some = (k > 0) & (k <= finest["cutoff"]) & (energy > 1e-16)
        shade = 0.25 + 0.75 * i / max(1, len(shown) - 1)
        middle.loglog(k[some], energy[some], color=BLUE, alpha=shade, lw=1.2, label=f"time {time}")
    k = np.array([3.0, finest["cutoff"]])
    middle.loglog(k, 0.05 * k ** (-5 / 3), color=RED, lw=0.8, ls="--", label="slope -5/3")
    middle.set(title="Energy spectrum", xlabel="wave number", ylabel="energy of a shell")
    middle.set_ylim(1e-10, 1)
    middle.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    middle.xaxis.set_minor_formatter(NullFormatter())
    middle.set_xlim(1.8, 1.1 * finest["cutoff"])
    middle.legend(loc="lower left", fontsize=8)

    plane = unpacked(finest["plane"])
    half = plane.shape[0] // 2
    right.imshow(
        plane[:half, :half].T, origin="lower", cmap="magma", extent=(0, np.pi, 0, np.pi), vmax=0.8 * plane.max(),
        interpolation="bilinear",
    )  # fmt: skip
    right.set(title="Size of the vorticity on x = 0, at the peak", xlabel="y", ylabel="z")
    save(figure, picture)
