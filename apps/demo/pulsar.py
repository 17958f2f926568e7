"""The pulsar search of the demo, as two programs that demo.py runs and measures.

    python apps/demo/pulsar.py record FOLDER --size N       series.npy (N float32 samples) and truth.json
    spanfft transform FOLDER/series.npy FOLDER/spectrum.npy --memory 128MiB
    python apps/demo/pulsar.py examine FOLDER --png FILE    checks the spectrum, searches it, prints JSON

Both keep within about 300 MiB at any N. `examine` writes the whitened power, 2 N bytes, into FOLDER too.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from common import Progress, grouped, peak_resident_bytes, unit_error
from pulsar_check import bins_to_check, direct_bins, parseval, relative_error
from pulsar_search import fold, gaussian_sigma, refine, search, search_size, write_power
from pulsar_series import NOISE, SAMPLING_S, BlockReader, Pulsar, write_series

# Of the fundamental, in units of the noise's mean. Among the 2^27 bins of the full-size spectrum, noise alone reaches
# about ln 2^27 = 19, so one harmonic can't be told from noise; 16 together can.
FUNDAMENTAL_POWER = 15.0


def record(folder: Path, elems: int) -> dict[str, Any]:
    """Makes the series."""
    pulsar = Pulsar.of_power(FUNDAMENTAL_POWER, elems)
    pulsar.write(folder / "truth.json")
    with Progress(f"recording {grouped(elems)} samples", elems) as progress:
        write_series(folder / "series.npy", elems, pulsar, progress=progress.advance)
    return {"peak_resident_bytes": peak_resident_bytes()}


def examine(folder: Path, png: Path | None) -> dict[str, Any]:
    """Checks the spectrum, finds the pulsar, draws it."""
    truth = Pulsar.read(folder / "truth.json")
    series, spectrum = BlockReader(folder / "series.npy"), BlockReader(folder / "spectrum.npy")
    n = series.elems
    if spectrum.elems != n // 2 + 1 or spectrum.dtype != np.dtype(np.complex64):
        raise SystemExit(f"spectrum.npy holds {spectrum.elems} {spectrum.dtype}; {n // 2 + 1} complex64 were expected")
    true_bin = n * SAMPLING_S / truth.period_s

    bins = bins_to_check(n, [round(k * true_bin) for k in (1, 2, 4, 8, 16)])
    with Progress(f"{len(bins)} bins by the defining sum", n) as progress:
        reference, energy = direct_bins(series, bins, progress.advance)
    found = np.concatenate([spectrum.read(k, 1) for k in bins])
    error = relative_error(found, reference, math.sqrt(energy)) / unit_error((n,), "float32")

    with Progress("power, whitened", spectrum.elems) as progress:
        spectrum_energy = write_power(spectrum, n, folder / "power.npy", progress.advance)
    power = BlockReader(folder / "power.npy")
    with Progress("harmonic sums", search_size(n)) as progress:
        stages = search(power, n, progress.advance)
    best = min((stage.best for stage in stages), key=lambda candidate: candidate.log10_chance)
    period = refine(spectrum, n, best)
    with Progress("folding", n) as progress:
        profile, profile_error = fold(series, period.seconds, progress=progress.advance)

    if png is not None:
        from pictures import draw_pulsar

        draw_pulsar(png, series, truth, stages, best, period, profile, float(profile_error.mean()))
    return {
        "elems": n,
        "sampling_s": SAMPLING_S,
        "duration_s": n * SAMPLING_S,
        "noise": NOISE,
        "amplitude": truth.amplitude,
        "duty_cycle": truth.duty_cycle,
        "true_period_s": truth.period_s,
        "true_bin": true_bin,
        "bins_checked": len(bins),
        "error_units": error,
        "parseval": parseval(energy, spectrum_energy, n),
        "fundamental_power": float(power.read(round(true_bin), 1)[0]),
        "stages": [
            {
                "harmonics": stage.harmonics,
                "sums": stage.sums,
                "best_bin": stage.best.bin,
                "best_sum": stage.best.sum,
                "log10_chance": stage.best.log10_chance,
                "sigma": gaussian_sigma(stage.best.log10_chance),
            }
            for stage in stages
        ],
        "harmonics": best.harmonics,
        "sigma": gaussian_sigma(best.log10_chance),
        "log10_chance": best.log10_chance,
        "period_s": period.seconds,
        "period_error_s": period.error_s,
        "peak_resident_bytes": peak_resident_bytes(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("record", help="make the series")
    command.add_argument("folder", type=Path)
    command.add_argument("--size", type=int, required=True, metavar="N", help="samples")
    command = commands.add_parser("examine", help="check and search the spectrum")
    command.add_argument("folder", type=Path)
    command.add_argument("--png", type=Path, help="draw it")
    options = parser.parse_args()
    if options.command == "record":
        result = record(options.folder, options.size)
    else:
        result = examine(options.folder, options.png)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
