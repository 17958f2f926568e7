"""How the applications draw: matplotlib without a display, and files that are the same when their rows are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

BLUE, SAND, RED, GREY, GREEN, PURPLE = "#1f6f8b", "#d99a2b", "#c2452d", "#8d989d", "#5aa469", "#7a5195"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "spanfft",
    "svg.fonttype": "none",  # text stays text: small files
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def panels(count: int, width: float = 5.2, height: float = 3.6) -> tuple[Any, Any]:
    """A figure with some panels side by side."""
    matplotlib.rcParams.update(_STYLE)
    return pyplot.subplots(1, count, figsize=(width * count, height), layout="constrained")


def save(figure: Any, path: Path) -> None:
    """As the suffix says."""
    options = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 100}
    figure.savefig(path, **options)
    pyplot.close(figure)
    print(f"{path}: {path.stat().st_size >> 10} KiB")
