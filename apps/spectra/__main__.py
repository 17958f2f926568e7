"""Power spectra of an array on disk by Welch's method, and its convolution with a kernel on disk.

    python -m apps.spectra welch movie.zarr psd.npy --segment 1024 --axis 0 --rate 500 --memory 256MiB
    python -m apps.spectra convolve volume.npy kernel.npy out.npy --boundary periodic --memory 256MiB
    mpiexec -n 4 python -m apps.spectra welch series.h5:/x psd.npy --segment 65536
    python -m apps.spectra measure FOLDER                         both at a size beyond their budgets, beside SciPy
    python -m apps.spectra draw docs/images/app-spectra.svg       from the committed rows

Each says beforehand what it will do. The same call goes on with a run that was stopped or killed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from apps import ranks
from apps.spectra.convolve import BOUNDARIES, Convolution
from apps.spectra.welch import WINDOWS, Welch

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

ROWS = Path(__file__).with_name("rows.json")


def welch(options: argparse.Namespace, comm: Comm | None) -> None:
    """From an array to its power spectral density."""
    work = Welch(
        options.input, options.output, options.segment, options.overlap, options.window, options.rate, options.axis,
        not options.keep_mean, options.memory, comm,
    )  # fmt: skip
    ranks.say(comm, work.describe())
    if not options.dry_run:
        work.run()
        ranks.say(comm, f"{work.output_shape} float64 in {options.output}")


def convolve(options: argparse.Namespace, comm: Comm | None) -> None:
    """From an array and a kernel to their convolution."""
    work = Convolution(options.input, options.kernel, options.output, options.boundary, options.memory, comm)
    for line in work.describe():
        ranks.say(comm, line)
    if not options.dry_run:
        work.run(lambda text: ranks.say(comm, text))
        ranks.say(comm, f"{work.output_shape} float64 in {options.output}")


def main(comm: Comm | None) -> None:
    parser = argparse.ArgumentParser(prog="python -m apps.spectra", description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("welch", help="power spectral density along an axis")
    command.add_argument("input", help="a .npy file, file.h5:/dataset, or a folder with a Zarr array")
    command.add_argument("output", help="a .npy file")
    command.add_argument("--segment", type=int, required=True, metavar="N", help="elements of a segment")
    command.add_argument("--overlap", type=int, metavar="N", help="of segments, by default half")
    command.add_argument("--window", default="hann", help=", ".join(WINDOWS))
    command.add_argument("--rate", type=float, default=1.0, help="samples in a unit of time")
    command.add_argument("--axis", type=int, default=-1)
    command.add_argument("--keep-mean", action="store_true", help="do not take the mean of each segment away")
    command.add_argument("--memory", default="256MiB", help="budget of each process (256MiB)")
    command.add_argument("--dry-run", action="store_true", help="only say what would be done")
    command = commands.add_parser("convolve", help="convolution with a large kernel")
    command.add_argument("input")
    command.add_argument("kernel")
    command.add_argument("output", help="a .npy file")
    command.add_argument("--boundary", default="zero", help=" or ".join(BOUNDARIES))
    command.add_argument("--memory", default="256MiB", help="budget of each process (256MiB)")
    command.add_argument("--dry-run", action="store_true", help="only say what would be done")
    command = commands.add_parser("measure", help="both at a size beyond their budgets, beside SciPy")
    command.add_argument("folder", type=Path, help="with 6 GiB of disk")
    command = commands.add_parser("draw", help="draw the committed rows")
    command.add_argument("picture", type=Path)
    options = parser.parse_args()
    if options.command == "welch":
        welch(options, comm)
    elif options.command == "convolve":
        convolve(options, comm)
    elif options.command == "measure":
        from apps.spectra.measure import measure

        measure(options.folder, ROWS)
    elif comm is None or comm.rank == 0:
        from apps.spectra.draw import draw

        draw(ROWS, options.picture)


if __name__ == "__main__":
    ranks.command_line("spectra", main)
