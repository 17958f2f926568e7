"""The command spanfft transform. See cli.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ._cli_arguments import amount, axes, count, folders, size, sizes
from ._cli_runs import add_journal_options, left_behind, progress_bar
from ._cli_streams import print_json
from ._errors import InvalidArgument
from ._memory import bytes_string

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._file_runs import TransformResult

__all__ = ["COMMANDS", "add_parser"]


def add_parser(commands: Any, epilog: str) -> None:
    """Adds the command to argparse's subparsers."""
    t = commands.add_parser(
        "transform", help="transform an array in a file", allow_abbrev=False, epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Transforms the array in INPUT into OUTPUT, which appears only when it is whole. Names say the "
        "format: .npy; FILE.h5:/DATASET (HDF5, needs h5py); .zarr (a folder; needs zarr 3); PRESTO's .dat and .fft; "
        "with --dtype raw.\nUnder mpiexec, ranks share the work: mpiexec -n 4 spanfft transform in.npy out.npy",
    )  # fmt: skip
    t.add_argument("input", metavar="INPUT")
    t.add_argument("output", metavar="OUTPUT", nargs="*", help="the file to write, in the format of its name, else "
                   "raw; with --into: more inputs")  # fmt: skip
    t.add_argument("--into", metavar="FOLDER", help="transform every file named into one of the same name in FOLDER "
                   "(PRESTO's .dat into .fft, and back)")  # fmt: skip
    t.add_argument("--suffix", metavar=".X", help="with --into: of the files in FOLDER, and so their format")
    t.add_argument("--in-place", action="store_true", help="instead of an output: overwrite the array in INPUT, "
                   "for kinds with output of that size; needs as much scratch or more, and a journal")  # fmt: skip
    t.add_argument("--kind", help="c2c, r2c, c2r, dct1..dct4, dst1..dst4, or a comma list; default: r2c for real "
                   "input, c2c for complex")  # fmt: skip
    t.add_argument("--backward", action="store_true", help="the inverse transform")
    t.add_argument("--axes", type=axes, metavar="A,B", help="axes to transform; default: all")
    t.add_argument("--norm", choices=("backward", "ortho", "forward"), default="backward",
                   help="which direction carries 1/N; ortho makes DCT, DST orthogonal (default: backward)")  # fmt: skip
    t.add_argument("--order", choices=("natural", "exchanged"), default="natural", help="exchanged: leave a long c2c "
                   "transposed, as its last sweep computes it, and say how (default: natural)")  # fmt: skip
    t.add_argument("--memory", type=amount, metavar="M", help="the budget of each process, such as 256MiB; default: "
                   "that of a run that goes on, else half of the free memory")  # fmt: skip
    t.add_argument("--scratch", type=folders, metavar="DIR,DIR", help="folder for intermediate data, best on another "
                   "disk than the output, or several, over which it is striped; on ranks each has its own: {rank} and "
                   "{node} are their numbers; default: the output's (in place: input's)")  # fmt: skip
    t.add_argument("--window", metavar="W", help="multiply the input by it along the last of the axes: hann, hamming, "
                   "blackman, nuttall, blackmanharris, flattop, kaiser:BETA")  # fmt: skip
    t.add_argument("--scale", type=float, default=1.0, metavar="X", help="multiply the output also by X")
    t.add_argument("--power", action="store_true", help="write |x|^2 of the output, as real numbers")
    t.add_argument("--output-dtype", metavar="TYPE", help="type of the output, if not the computed one: float32 "
                   "with --power, complex64 instead of complex128, ...")  # fmt: skip
    t.add_argument(
        "--io", choices=("auto", "uring", "threads"), help="who reads and writes; default: SPANFFT_IO, else chosen"
    )
    add_journal_options(t)
    t.add_argument("--dtype", help="of a raw input: float32, complex64, int16, '>f4' (big-endian), ...")
    t.add_argument("--precision", choices=("single", "double", "longdouble"), help="in which it is computed; default: "
                   "that of the input, of integers double, of float16 single")  # fmt: skip
    t.add_argument("--shape", type=sizes, metavar="NxM", help="of a raw input; default: one axis")
    t.add_argument("--offset", type=size, metavar="BYTES", help="of the array in a raw input")
    t.add_argument("--dataset", metavar="NAME", help="dataset, if no HDF5 name gives one; default: the input's only "
                   "one, /data of the output")  # fmt: skip
    t.add_argument("--chunks", type=sizes, metavar="NxM", help="of a Zarr or HDF5 output; default: Zarr the "
                   "input's, else 16 MiB; HDF5 none, or with --compression 16 MiB")  # fmt: skip
    t.add_argument("--compression", metavar="NAME[:LEVEL]", help="of a Zarr or HDF5 output: gzip, zstd:5, ...; "
                   "default: none")  # fmt: skip
    t.add_argument("--real-length", type=size, metavar="N",
                   help="for c2r: length of the last axis of the result; default: the even one")  # fmt: skip
    t.add_argument("--threads", type=count, default=0, metavar="T", help="in each process; default: chosen")
    t.add_argument("--engine", help="fftw, mkl or ducc0; default: chosen")
    t.add_argument(
        "--exchange",
        help="between ranks: shared, alltoallv, overlap:4, ...; default: chosen",
    )
    t.add_argument("--method", help="two_sweeps, superlevels:sync, ... (docs/out-of-core.md); default: chosen")
    t.add_argument("--grid", type=sizes, metavar="PxQ", help="blocks of each axis on ranks; default: chosen")
    t.add_argument("--explain", action="store_true", help="print the plan afterwards, predicted beside counted")
    t.add_argument("--dry-run", action="store_true", help="print the plan alone: nothing is written")
    t.add_argument("--trace", metavar="FILE", help="record what each rank does when, as Perfetto JSON")
    t.add_argument("--json", action="store_true", help="print what was done as JSON, the plan too")
    t.add_argument("--quiet", action="store_true", help="print nothing; not with --explain, --dry-run or --json")


def _transform(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._transform import transform, transform_files

    for asked in ("explain", "dry_run", "json"):
        if options.quiet and getattr(options, asked):
            raise InvalidArgument(f"--quiet prints nothing, --{asked.replace('_', '-')} prints; leave one of both out")
    _check_files(options)
    rank = 0 if comm is None else comm.Get_rank()
    bar = progress_bar(options, rank)
    arguments: dict[str, Any] = {name: getattr(options, name) for name in (
        "kind", "backward", "axes", "norm", "memory", "scratch", "io", "dtype", "precision", "shape", "offset",
        "real_length", "threads", "engine", "exchange", "method", "grid", "order", "dataset", "chunks", "compression",
        "window", "scale", "power", "output_dtype", "journal", "resume", "checksums", "dry_run")}  # fmt: skip
    arguments |= {"comm": comm, "progress": bar}
    files: list[tuple[TransformResult, list[Any]]] = []  # on rank 0 with the reports of all ranks
    said: set[str] = set()  # plans that were explained

    def tell(result: TransformResult) -> None:
        reports = [result.report] if comm is None else comm.gather(result.report)
        if reports is None:
            return
        files.append((result, reports))
        if bar is not None:
            bar.clear()
        if not options.json:
            _print_result(result, reports, options, said)

    try:
        if options.into is not None:
            inputs = [options.input, *options.output]
            transform_files(inputs, options.into, suffix=options.suffix, on_result=tell, **arguments)
        else:
            output = options.output[0] if options.output else None
            tell(transform(options.input, output, in_place=options.in_place, trace=options.trace, **arguments))
    finally:
        if bar is not None:
            bar.close()
    if rank != 0:
        return
    if options.json:
        each = [_transform_json(result, reports) for result, reports in files]
        print_json(each[0] if options.into is None else _many_json(each))
    elif options.into is not None and not options.quiet and not options.dry_run:
        print(f"{len(files)} files in {sum(result.seconds for result, _ in files):.3g} s")


def _check_files(options: argparse.Namespace) -> None:
    if options.into is None:
        if options.suffix is not None:
            raise InvalidArgument("--suffix is for the files that --into makes; name the output, or give --into")
        if len(options.output) > 1:
            raise InvalidArgument(
                f"{1 + len(options.output)} files are named, and one input has one output; to transform all of them, "
                f"give --into FOLDER"
            )
        return
    for name, given in (("--in-place", options.in_place), ("--trace", options.trace)):
        if given:
            raise InvalidArgument(f"{name} is for one file, --into for many; leave one of both out")


def _print_result(result: TransformResult, reports: Sequence[Any], options: argparse.Namespace, said: set[str]) -> None:
    """One file's lines."""
    if not options.quiet:
        for note in left_behind(result.report["notes"]):
            print(note, file=sys.stderr)
    if not options.quiet and not options.dry_run:
        shape = "x".join(str(n) for n in result.output_shape)
        ranks, each = (f" on {len(reports)} ranks", " a process") if len(reports) > 1 else ("", "")
        before = f", {bytes_string(result.resumed_bytes)} moved before" if result.resumed_bytes else ""
        needed = bytes_string(max(report["peak_memory_bytes"] for report in reports))
        print(f"{result.output}: {shape} {result.output_dtype} in {result.seconds:.3g} s{ranks}, {needed} of "
              f"{bytes_string(result.memory_bytes)} of memory{each}{before}", flush=True)  # fmt: skip
    if (options.explain or options.dry_run) and result.report["problem"] not in said:
        said.add(result.report["problem"])
        print(result.explain.rstrip("\n"))


def _peak_resident_bytes() -> int:
    """The most that this process has had in memory. (Not ru_maxrss: that keeps its parent's from before exec.)"""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _transform_json(result: TransformResult, reports: Sequence[Any]) -> dict[str, Any]:
    return {
        "input": result.input,
        "output": result.output,
        "input_shape": result.input_shape,
        "input_dtype": result.input_dtype,
        "output_shape": result.output_shape,
        "output_dtype": result.output_dtype,
        "memory_bytes": result.memory_bytes,
        "seconds": result.seconds,
        "resumed_bytes": result.resumed_bytes,
        "peak_resident_bytes": _peak_resident_bytes(),
        "explain": result.explain,
        "ranks": list(reports),
    }


def _many_json(files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of each file, and what all of them took: counts are sums over files and ranks."""
    counted: dict[str, float] = {}
    for file in files:
        for report in file["ranks"]:
            for name, value in (report["counted"] or {}).items():
                counted[name] = counted.get(name, 0) + value
    return {"files": list(files), "seconds": sum(file["seconds"] for file in files), "counted": counted}


COMMANDS: dict[str, Callable[[argparse.Namespace, Comm | None], None]] = {"transform": _transform}
