"""The demo's two pictures. Needs matplotlib; no display."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from PIL import Image
from pulsar_search import Candidate, Period, Stage, gaussian_sigma, log10_chance
from pulsar_series import NOISE, SAMPLING_S, BlockReader, Pulsar

matplotlib.use("Agg")
from matplotlib import pyplot as plt

_INK, _GREY, _BLUE, _RED = "#222222", "#9aa0a6", "#1f5fa8", "#d1495b"
_COLUMNS = ("sagittal", "coronal", "axial", "spectrum, log scale")
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _GREY,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.color": _INK,
    "legend.frameon": False,
}


def draw_pulsar(
    path: Path,
    series: BlockReader,
    truth: Pulsar,
    stages: Sequence[Stage],
    best: Candidate,
    period: Period,
    profile: npt.NDArray[np.float64],
    profile_error: float,
) -> None:
    """Series, single harmonics, harmonic sums and the folded pulse."""
    duration_s = series.elems * SAMPLING_S
    with plt.rc_context(_STYLE):
        figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(11, 6.6), layout="constrained")

        count = min(series.elems, round(8 * truth.period_s / SAMPLING_S))
        t = np.arange(count) * SAMPLING_S * 1e3
        a.plot(t, series.read(0, count), color=_GREY, lw=0.4, rasterized=True)
        a.plot(t, truth.pulses(0, count) * NOISE, color=_RED, lw=1.4, label="the pulsar hidden in it, to scale")
        a.set(title=f"The series: {duration_s / 3600:.3g} h, of which {t[-1]:.0f} ms", xlabel="time / ms")
        a.set_ylabel("signal / noise level")
        a.margins(x=0)
        a.set_ylim(-5.5, 5.5)
        a.legend(loc="upper right", fontsize=8)

        single = stages[0]
        f = single.profile_bins / duration_s
        b.plot(f, single.profile, ".", color=_GREY, ms=2.5, rasterized=True)
        here = int(np.argmin(np.abs(single.profile_bins - period.bin)))
        b.annotate(
            "the pulsar is here",
            (1 / truth.period_s, single.profile[here]),
            xytext=(0.06, 0.93),
            textcoords="axes fraction",
            color=_RED,
            arrowprops={"arrowstyle": "->", "color": _RED},
        )
        b.set(title="Power spectrum: no line stands out", xlabel="frequency / Hz")
        b.set_ylabel("highest power / noise mean")
        b.set_ylim(0, 1.35 * float(single.profile.max()))
        b.set_xlim(0, f.max())

        summed = next(stage for stage in stages if stage.harmonics == best.harmonics)
        f = summed.profile_bins / duration_s
        c.plot(f, summed.profile, ".", color=_GREY, ms=2.5, rasterized=True)
        c.plot([best.bin / duration_s], [best.sum], "o", color=_RED, ms=5)
        c.annotate(
            f"{gaussian_sigma(best.log10_chance):.1f} sigma at {period.bin / duration_s:.6f} Hz",
            (best.bin / duration_s, best.sum),
            xytext=(10, -3),
            textcoords="offset points",
            color=_RED,
        )
        half = int(np.argmin(np.abs(summed.profile_bins - best.bin / 2)))
        if abs(summed.profile_bins[half] - best.bin / 2) < 0.5:
            c.annotate(
                "half its frequency",
                (f[half], summed.profile[half]),
                xytext=(10, -3),
                textcoords="offset points",
                color=_GREY,
                fontsize=8,
            )
        _threshold(c, summed)
        c.set(title=f"Sums of {best.harmonics} harmonics: one does", xlabel="frequency of the fundamental / Hz")
        c.set_ylabel("highest sum of powers / noise mean")
        c.set_xlim(0, f.max())
        c.set_ylim(0, 1.12 * max(best.sum, float(summed.profile.max())))

        phases = len(profile)
        centres = (np.arange(2 * phases) + 0.5) / phases
        d.stairs(np.tile(profile, 2) / NOISE * 1e3, np.arange(2 * phases + 1) / phases, color=_BLUE, lw=1)
        shape = truth.amplitude * truth.profile(centres - truth.phase) * 1e3
        d.plot(centres, shape, color=_RED, lw=1.4, label="truth")
        bar = 1e3 * profile_error / NOISE
        d.errorbar([0.72], [0.8e3 * truth.amplitude], yerr=bar, color=_BLUE, capsize=2, lw=1)
        d.annotate("standard error", (0.75, 0.8e3 * truth.amplitude), va="center", color=_BLUE, fontsize=8)
        d.set(title=f"Folded at {period.seconds * 1e3:.7f} ms", xlabel="turns")
        d.set_ylabel("mean signal / noise level, × $10^{-3}$")
        d.set_xlim(0, 2)
        d.legend(loc="upper center", bbox_to_anchor=(0.45, 1), fontsize=8)

        _save(figure, path, 100)
        plt.close(figure)


def _save(figure: Any, path: Path, dpi: int) -> None:
    """As a PNG of 256 colours, which is a third of the size."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi, facecolor=figure.get_facecolor())
    drawn.seek(0)
    Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def _threshold(axes: Any, stage: Stage) -> None:
    """A line at the sum that noise reaches in one search of a thousand."""
    low, high = 0.0, 1000.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if log10_chance(middle, stage.harmonics, stage.sums) > -3 else (low, middle)
    axes.axhline(low, color=_INK, lw=0.8, ls=":")
    axes.annotate(
        "noise gets above this in 1 search of 1000",
        (1, low),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        fontsize=8,
    )


def draw_brain(
    path: Path,
    before: npt.NDArray[np.float64],
    after: npt.NDArray[np.float64],
    planes: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
    sigma_mm: float,
    note: str,
) -> None:
    """Three slices through the middle and the plane k2 = 0 of the spectrum, before and after the low-pass.

    `planes` holds |F| at k2 = 0, axes 0 and 1, in FFT order.
    """
    middle = [n // 2 for n in before.shape]
    dark: dict[Any, Any] = {"text.color": "#eeeeee", "axes.labelcolor": "#eeeeee", "axes.titleweight": "normal"}
    with plt.rc_context({**_STYLE, **dark}):
        figure, axes = plt.subplots(2, 4, figsize=(11, 5.9), facecolor="black")
        figure.subplots_adjust(left=0.035, right=0.985, top=0.94, bottom=0.055, wspace=0.03, hspace=0.05)
        top, side = float(planes[0].max()), max(before.shape)
        for row, (volume, plane) in enumerate(zip((before, after), planes, strict=True)):
            spectrum = np.log10(np.maximum(np.fft.fftshift(plane), 1e-9 * top) / top)
            slices = (volume[middle[0]], volume[:, middle[1]], volume[:, :, middle[2]], spectrum)
            for column, (image, name) in enumerate(zip(slices, _COLUMNS, strict=True)):
                each = axes[row, column]
                scale = (-7, 0) if column == 3 else (0, float(before.max()))
                colours = "magma" if column == 3 else "gray"
                each.imshow(image.T, cmap=colours, origin="lower", vmin=scale[0], vmax=scale[1])
                # All frames alike, each image in the middle of its own.
                each.set_xlim((image.shape[0] - side) / 2, (image.shape[0] + side) / 2)
                each.set_ylim((image.shape[1] - side) / 2, (image.shape[1] + side) / 2)
                each.set(xticks=[], yticks=[], facecolor="black")
                each.spines[:].set_visible(False)
                if row == 0:
                    each.set_title(name, loc="center")
        axes[0, 0].set_ylabel("before")
        axes[1, 0].set_ylabel(f"after a low-pass, sigma {sigma_mm:g} mm")
        figure.text(0.5, 0.02, note, ha="center", fontsize=8, color="#aaaaaa")
        _save(figure, path, 90)
        plt.close(figure)
