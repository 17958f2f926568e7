"""The command line: spanfft transform, permute, plan, bench, trace, fit, probe, tune and info.

Errors are one sentence on standard error. Exit codes: 0 done; 2 a bad argument; 3 unsupported; 4 out of memory;
5 a file operation failed; 6 no space on disk; 7 corrupt data; 8 MPI; 9 no engine; 11 a bug in spanfft;
12 a callback failed; 130 interrupted (Ctrl-C), 143 terminated. They are the C interface's codes plus one.

Started by mpiexec with several ranks, `transform`, `bench`, `probe` and `tune` run on all of them. Imports are kept
few, because what Python occupies comes on top of the memory budget: there is no numpy here, and no mpi4py without
mpiexec.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from . import _cli_measure, _cli_permute, _cli_streams
from ._arguments import did_you_mean
from ._cli_arguments import amount, axes, count, folders, problem_keys_help, size, sizes
from ._errors import Error, InternalError, InvalidArgument, IOFailure, MPIError, NoSpace, OutOfMemory, exit_code
from ._memory import bytes_string
from ._whole_files import replaced

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Plan as CorePlan
    from ._file_runs import TransformResult

__all__ = ["main"]

_TERMINATED = 143
_BUSIEST_OF = 1024  # ranks to look at for totals; beyond, the plan of rank 0 must do


class _Terminated(BaseException):
    """SIGTERM, as an exception, so that what is half-done is removed."""


def _rank() -> int:
    for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK"):
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return 0


# --- arguments -----------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Errors as exceptions, with the nearest known word. `of_command` has the parsers of the commands."""

    of_command: Mapping[str, _Parser]
    more_help: Callable[[], str] | None = None  # what help ends with; asked for only then

    def format_help(self) -> str:
        return super().format_help() + ("" if self.more_help is None else f"\n{self.more_help()}")

    def error(self, message: str) -> NoReturn:
        raise InvalidArgument(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action, f"{value!r} is not known; use one of {', '.join(known)}{did_you_mean(str(value), known)}"
            )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """As parse_args, but what a command does not know is that command's error."""
        options, unknown = self.parse_known_args(arguments)
        if not unknown:
            return options
        parser = self.of_command.get(options.command or "", self)
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is None:
            parser.error(f"{unknown[0]!r} is one word more than the command takes")
        known = parser._option_string_actions
        if option in known:
            parser.error(f"{option} stands before the command; write it behind {options.command}")
        parser.error(f"{option} is no option{did_you_mean(option, known)}")


def _parser() -> _Parser:
    codes = (__doc__ or "").split("\n\n")[1]
    formatter = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="spanfft", description="Fourier transforms that span cores, nodes and disks.",
                     epilog=codes, formatter_class=formatter, allow_abbrev=False)  # fmt: skip
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    parser.of_command = commands.choices

    t = commands.add_parser(
        "transform", help="transform an array in a file", allow_abbrev=False, epilog=codes, formatter_class=formatter,
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
    t.add_argument("--scratch", type=folders, metavar="DIR,DIR", help="folder for intermediate data, or several on "
                   "different disks, over which it is striped; default: the output's (in place: input's)")  # fmt: skip
    t.add_argument("--window", metavar="W", help="multiply the input by it along the last of the axes: hann, hamming, "
                   "blackman, nuttall, blackmanharris, flattop, kaiser:BETA")  # fmt: skip
    t.add_argument("--scale", type=float, default=1.0, metavar="X", help="multiply the output also by X")
    t.add_argument("--power", action="store_true", help="write |x|^2 of the output, as real numbers")
    t.add_argument("--output-dtype", metavar="TYPE", help="type of the output, if not the computed one: float32 "
                   "with --power, complex64 instead of complex128, ...")  # fmt: skip
    t.add_argument(
        "--io", choices=("auto", "uring", "threads"), help="who reads and writes; default: SPANFFT_IO, else chosen"
    )
    journal = t.add_mutually_exclusive_group()
    journal.add_argument("--resume", action="store_const", const=True, default=None, help="go on with the unfinished "
                         "run between these files; without it, do so if there is one")  # fmt: skip
    journal.add_argument("--restart", action="store_const", const=False, dest="resume",
                         help="throw an unfinished run away and begin anew")  # fmt: skip
    journal.add_argument("--no-journal", action="store_false", dest="journal",
                         help="a run that is killed can't go on, and leaves nothing")  # fmt: skip
    t.add_argument("--no-checksums", action="store_false", dest="checksums",
                   help="don't verify the data that one sweep writes and the next reads")  # fmt: skip
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
    t.add_argument("--method", help="two_pass, superlevels:sync, ... (docs/out-of-core.md); default: chosen")
    t.add_argument("--grid", type=sizes, metavar="PxQ", help="blocks of each axis on ranks; default: chosen")
    t.add_argument("--explain", action="store_true", help="print the plan afterwards, predicted beside counted")
    t.add_argument("--dry-run", action="store_true", help="print the plan alone: nothing is written")
    t.add_argument("--trace", metavar="FILE", help="record what each rank does when, as Perfetto JSON")
    t.add_argument("--json", action="store_true", help="print what was done as JSON, the plan too")
    t.add_argument("--quiet", action="store_true", help="print nothing; not with --explain, --dry-run or --json")

    _cli_permute.add_parser(commands)
    p = commands.add_parser(
        "plan", help="say what a transform would cost", allow_abbrev=False,
        description="Prints the steps of the plan for PROBLEM, such as: r2c 256x256x256 forward double, with "
        "predicted flops, messages and bytes between ranks, bytes read and written, sweeps and peak memory.",
    )  # fmt: skip
    p.more_help = problem_keys_help
    p.add_argument("problem", nargs="+", metavar="PROBLEM")
    p.add_argument("--ranks", type=count, metavar="P", help="plan for P ranks")
    p.add_argument(
        "--ranks-per-node",
        type=count,
        metavar="R",
        help="ranks on each node, in order of their numbers; default: as --machine says, else 128",
    )
    p.add_argument("--memory", type=amount, metavar="M", help="plan for a file, with this budget for each process")
    p.add_argument(
        "--machine", metavar="FILE", help="plan for the machine that FILE describes, as probe --output writes"
    )
    p.add_argument("--json", action="store_true", help="print it as JSON")

    _cli_measure.add_parsers(commands)
    b = commands.add_parser(
        "probe", help="measure this machine for the planner", allow_abbrev=False,
        description="Measures memory, local engines and, under mpiexec, every exchange strategy over message sizes, in "
        "under a minute.\nPlans on as many ranks use the figures from then on.", formatter_class=formatter,
    )  # fmt: skip
    b.add_argument("--seconds", type=float, default=0, metavar="S", help="about the longest time; default: 40")
    b.add_argument("--quick", action="store_true", help="rough figures in a second or two")
    b.add_argument(
        "--disk",
        metavar="DIR",
        help="measure the disk of this folder too, with 1 GiB there "
        "for some seconds (--quick: 128 MiB); transforms of files use it",
    )
    b.add_argument("--output", metavar="FILE", help="write the figures to FILE too")
    b.add_argument("--no-store", action="store_true", help="leave what is stored as it is")
    b.add_argument("--json", action="store_true", help="print them as JSON")

    u = commands.add_parser(
        "tune", help="time the best ways to do a transform, and remember the fastest", allow_abbrev=False,
        description="Times candidates (grids, strategies, engines) for each PROBLEM and stores the winner, which plans "
        "use from then on.\nUnder mpiexec on all ranks. Only --forget removes results from the store.",
        formatter_class=formatter,
    )  # fmt: skip
    u.add_argument(
        "problem", nargs="*", metavar="PROBLEM", help="a problem string in quotes, such as 'c2c 256x256x256'"
    )
    u.add_argument("--cap", type=float, default=0, metavar="S", help="seconds for each problem; default: 5")
    u.add_argument("--list", action="store_true", help="print what is stored")
    u.add_argument("--export", metavar="FILE", help="write what is stored to FILE")
    u.add_argument("--import", metavar="FILE", dest="import_", help="add what FILE holds")
    u.add_argument("--forget", metavar="PROBLEM", help="remove a problem's results; all: everything, FFTW's wisdom too")
    u.add_argument("--json", action="store_true", help="print results as JSON")

    i = commands.add_parser("info", help="versions, MPI, engines, processor, memory", allow_abbrev=False)
    i.add_argument("--json", action="store_true", help="print it as JSON")
    return parser


def _join_negative(arguments: Sequence[str]) -> list[str]:
    """["--axes", "-2,-1"] -> ["--axes=-2,-1"]: argparse takes -2,-1 for an option."""
    joined: list[str] = []
    for word in arguments:
        if joined and joined[-1] == "--axes" and word[:1] == "-" and word[1:2].isdecimal():
            joined[-1] = f"--axes={word}"
        else:
            joined.append(word)
    return joined


# --- transform -----------------------------------------------------------------------------------------------------


def _world() -> Comm | None:
    """COMM_WORLD if mpiexec started several ranks, else None. Imports mpi4py only then."""
    from ._mpi import launched_ranks

    launched = launched_ranks()
    if launched == 1:
        return None
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        if launched == 0:
            return None
        raise MPIError(f"mpiexec started {launched} ranks, but mpi4py can't be imported ({error}); "
                       f"pip install mpi4py") from None  # fmt: skip
    world = MPI.COMM_WORLD
    if launched > 1 and world.Get_size() != launched:
        raise MPIError(
            f"mpiexec started {launched} ranks, but mpi4py sees {world.Get_size()}: it uses another MPI "
            f"({MPI.Get_library_version().splitlines()[0]}) than mpiexec; install mpi4py for mpiexec's MPI"
        )
    return world if world.Get_size() > 1 else None


class _Bar:
    """A progress bar with rate and time left, on a terminal; nothing in a pipe."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + 0.1
        if self._bar is None:
            from tqdm import tqdm

            # A terminal that doesn't know its size says 0 by 0, for which tqdm would print nothing.
            known = os.get_terminal_size(sys.stderr.fileno()).columns > 0
            size: dict[str, Any] = {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24}
            self._bar = tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, leave=False,
                             initial=done, mininterval=0, **size)  # fmt: skip
        self._bar.update(done - self._bar.n)

    def clear(self) -> None:
        """Makes room for a line, and shows again with the next call."""
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _progress_bar(options: argparse.Namespace, rank: int) -> _Bar | None:
    if rank != 0 or options.quiet or options.json or not sys.stderr.isatty():
        return None
    from importlib.util import find_spec

    return None if find_spec("tqdm") is None else _Bar()


def _transform(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._transform import transform, transform_files

    for asked in ("explain", "dry_run", "json"):
        if options.quiet and getattr(options, asked):
            raise InvalidArgument(f"--quiet prints nothing, --{asked.replace('_', '-')} prints; leave one of both out")
    _check_files(options)
    rank = 0 if comm is None else comm.Get_rank()
    bar = _progress_bar(options, rank)
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
        _print_json(each[0] if options.into is None else _many_json(each))
    elif options.into is not None and not options.quiet and not options.dry_run:
        print(f"{len(files)} files in {sum(result.seconds for result, _ in files):.3g} s")


def _written(options: argparse.Namespace) -> str:
    """What a command that says nothing any more has written, with the verb."""
    if getattr(options, "into", None) is not None:
        return f"outputs that are in {options.into} are"
    output = options.output[0] if isinstance(options.output, list) and options.output else options.output
    return f"{output or options.input} is"


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
        for note in result.report["notes"]:
            if note.startswith("left behind: "):
                print(f"spanfft: {note}", file=sys.stderr)
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


# --- plan and info -------------------------------------------------------------------------------------------------


def _plan(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._native import core
    from ._report import report_of

    words = " ".join(options.problem).split()
    for name, value in (("ranks", options.ranks), ("memory", options.memory)):
        if value is not None:
            if name == "ranks" and value < 1:
                raise InvalidArgument(f"--ranks is {value}; it must be at least 1")
            words = [word for word in words if not word.startswith(f"{name}=")] + [f"{name}={value}"]
    if options.ranks_per_node is not None and options.ranks_per_node < 1:
        raise InvalidArgument(f"--ranks-per-node is {options.ranks_per_node}; it must be at least 1")
    machine = None if options.machine is None else _read(options.machine)
    plan = core.imagine(" ".join(words), machine, options.ranks_per_node or 0)
    busiest, totals = _over_ranks(plan)
    if options.json:
        _print_json({**report_of(plan, busiest), "all_ranks": totals})
        return
    print(plan.explain().rstrip("\n"))
    if totals is not None and plan.ranks > 1:
        print(
            f"all {plan.ranks} ranks: {totals['flops']:.3g} flops, {totals['messages']} messages, "
            f"{bytes_string(totals['sent_bytes'])} sent, {bytes_string(totals['disk_read_bytes'])} read, "
            f"{bytes_string(totals['disk_written_bytes'])} written; most memory: "
            f"{bytes_string(plan.peak_memory_bytes(busiest))} on rank {busiest}"
        )


def _over_ranks(plan: CorePlan) -> tuple[int, dict[str, float] | None]:
    """The rank that needs most memory, and sums over all."""
    if plan.ranks > _BUSIEST_OF:
        return 0, None
    sums: dict[str, float] = {}
    busiest = 0
    for rank in range(plan.ranks):
        for name, value in plan.predicted(-1, rank).items():
            if name != "seconds":
                sums[name] = sums.get(name, 0) + value  # type: ignore[operator]
        if plan.peak_memory_bytes(rank) > plan.peak_memory_bytes(busiest):
            busiest = rank
    return busiest, sums


# --- probe and tune -------------------------------------------------------------------------------------------------


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise IOFailure(f"can't read {path}: {error}") from None


def _write(path: str, text: str) -> None:
    try:
        with replaced(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise IOFailure(f"can't write {path}: {error}") from None


def _probe(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._tune import probe, read_machine

    text = probe(comm=comm, seconds=options.seconds, quick=options.quick, store=not options.no_store, disk=options.disk)
    rank = 0 if comm is None else comm.Get_rank()
    _together(comm, lambda: _write(options.output, text) if options.output and rank == 0 else None)
    if rank != 0:
        return
    figures = read_machine(text)
    if options.json:
        _print_json(figures)
        return
    numbers = figures["numbers"]
    print(f"machine   {figures['name']}, {numbers['cores']:g} for the ranks of a node")
    print(f"ranks     {numbers['measured_ranks']:g}, MPI: {figures['library']}")
    print(f"memory    {numbers['memory_bytes_per_second'] / 1e9:.1f} GB/s copied by one thread, "
          f"{numbers['shared_memory_bytes_per_second'] / 1e9:.1f} by each while every rank copies")  # fmt: skip
    if options.disk:
        request_seconds = numbers["disk_request_seconds"] / numbers["disk_queue_depth"]
        print(
            f"disk      {numbers['disk_read_bytes_per_second'] / 1e9:.2f} GB/s read, "
            f"{numbers['disk_write_bytes_per_second'] / 1e9:.2f} written; "
            f"a small request takes {request_seconds * 1e6:.1f} us more than its bytes"
        )
    for row in figures["engines"]:
        print(f"engine    {row['engine']} {row['shape']} of {row['n']:g} points, {row['threads']} thread(s): "
              f"{row['gflops']:.1f} GF/s")  # fmt: skip
    for strategy, ways in sorted(figures["exchanges"].items()):
        for way in ("near", "far"):
            points = ways.get(way, {}).get("points")
            if not isinstance(points, list) or not points:
                continue
            rates = ", ".join(f"{bytes_string(size)} {1e-9 / rate:.2f}" for size, rate in points)
            where = "in a node" if way == "near" else "between nodes"
            latency = ways[way]["latency_seconds"]
            print(
                f"exchange  {strategy} {where}: {float(str(latency)) * 1e6:.1f} us a message; GB/s by message: {rates}"
            )


def _together(comm: Comm | None, work: Callable[[], None]) -> None:
    """Does it on each rank; an error of one is raised on all."""
    if comm is None:
        work()
    else:
        from ._mpi import ranks_of

        ranks_of(comm).agree(work)


def _tune(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._native import core
    from ._tune import forget_tuning, tune, tuning_records, tuning_store

    rank = 0 if comm is None else comm.Get_rank()
    if not (options.problem or options.list or options.export or options.import_ or options.forget):
        raise InvalidArgument("name a PROBLEM to tune, or --list, --export, --import or --forget")

    def change_store() -> None:
        if rank == 0 and options.import_:
            print(f"{core.tuning_import(_read(options.import_))} new results from {options.import_}")
        if rank == 0 and options.forget:
            removed = forget_tuning(None if options.forget == "all" else options.forget)
            print(f"{removed} results forgotten")

    _together(comm, change_store)
    found = []
    for problem in options.problem:
        tuned = tune(problem, seconds=options.cap, comm=comm)
        found.append(tuned)
        if rank == 0 and not options.json:
            print(f"{tuned['problem']}\n  {tuned['choice']}: {tuned['seconds'] * 1e3:.3g} ms")
            for note in tuned["notes"]:
                if note.startswith(("measured", "dropped")) or "not measured" in note:
                    print(f"  {note}")
    _together(comm, lambda: _write(options.export, core.tuning_export()) if options.export and rank == 0 else None)
    if rank != 0:
        return
    if options.json:
        _print_json({"tuned": found, "stored": tuning_records() if options.list else []})
    elif options.list:
        print(f"{tuning_store()}: {len(tuning_records())} results")
        for record in tuning_records():
            print(f"{record['problem']}\n  {record['choice']}: {float(str(record['seconds'])) * 1e3:.3g} ms on "
                  f"{record['date']}, {record['machine']}, {record['library']}")  # fmt: skip


def _info(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._info import info, info_text

    found = info()
    if options.json:
        _print_json(found)
    else:
        print(info_text(found))


def _print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2)
    print()


# --- main ----------------------------------------------------------------------------------------------------------


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def _report(message: str, rank: int) -> None:
    if rank == 0:
        _cli_streams.say_error(f"spanfft: {' '.join(message.split())}")


def _output_lost(error: OSError, options: argparse.Namespace | None) -> Error:
    """What to tell when standard output is closed or full."""
    kind = NoSpace if error.errno in (errno.ENOSPC, errno.EDQUOT) else IOFailure
    remedy = "send it elsewhere"
    if options is not None and options.command in ("transform", "permute") and not getattr(options, "dry_run", False):
        remedy = f"{_written(options)} whole all the same (--quiet prints nothing)"
    return kind(f"standard output can't be written ({error.strerror}); {remedy}")


def _run(arguments: Sequence[str], rank: int) -> int:
    comm: Comm | None = None
    options: argparse.Namespace | None = None
    try:
        try:
            options = _parser().parse(_join_negative(arguments))
        except SystemExit:  # argparse's, after --help
            sys.stdout.flush()
            return 0
        if options.version:
            from ._native import core

            print(f"spanfft {core.version()}", flush=True)
            return 0
        if options.command is None:
            raise InvalidArgument(
                "name a command: transform, permute, plan, bench, trace, fit, probe, tune or info (see spanfft --help)"
            )
        commands: dict[str, Callable[[argparse.Namespace, Comm | None], None]] = {
            "transform": _transform,
            "plan": _plan,
            **_cli_measure.COMMANDS,
            **_cli_permute.COMMANDS,
            "probe": _probe,
            "tune": _tune,
            "info": _info,
        }
        if options.command in ("transform", "bench", "probe", "tune"):
            comm = _world()
        elif rank != 0:
            return 0
        commands[options.command](options, comm)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt as stop:
        _report(f"interrupted; {_what_is_left(stop)}", rank)
        return 130
    except _Terminated as stop:
        _report(f"terminated; {_what_is_left(stop)}", rank)
        return _TERMINATED
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody to tell.
        _cli_streams.drop_output()
        return 0
    except _cli_streams.OutputLost as error:
        _cli_streams.drop_output()
        told = _output_lost(error, options)
        _report(str(told), rank)
        return exit_code(told.code)
    except Error as error:
        _report(str(error), rank)
        return exit_code(error.code)
    except MemoryError as error:
        _report(f"memory ran out: {error}", 0)  # on this rank alone, maybe
        if comm is not None:
            comm.Abort(exit_code(OutOfMemory.code))
        return exit_code(OutOfMemory.code)
    except Exception as error:
        if os.environ.get("SPANFFT_DEBUG"):
            raise
        # On this rank alone, so whichever it is reports it, and the others must not wait for it.
        _report(f"bug: {type(error).__name__}: {error} (SPANFFT_DEBUG=1 shows where)", 0)
        if comm is not None:
            comm.Abort(exit_code(InternalError.code))
        return exit_code(InternalError.code)


def _what_is_left(stop: BaseException) -> str:
    """The library's sentence on the run that a signal stopped, if it had begun to work."""
    return getattr(stop, "spanfft_message", "nothing half-done was left behind")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code. Collective under mpiexec."""
    _cli_streams.prepare()
    rank = _rank()
    signal.signal(signal.SIGTERM, _terminate)
    return _run(sys.argv[1:] if arguments is None else arguments, rank)


if __name__ == "__main__":
    sys.exit(main())
