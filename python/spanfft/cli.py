"""The command line: spanfft transform, permute, plan, predict, analyse, bench, trace, fit, probe, tune, info and
doctor.

Errors are one sentence on standard error. Exit codes: 0 done; 2 a bad argument; 3 unsupported; 4 out of memory;
5 a file operation failed; 6 no space on disk; 7 corrupt data; 8 MPI; 9 no engine; 11 a bug in spanfft;
12 a callback failed; 130 interrupted (Ctrl-C), 143 terminated. They are the C interface's codes plus one.

Started by mpiexec with several ranks, `transform`, `bench`, `probe`, `tune`, `doctor` and `predict --check` run on all
of them.
Imports are kept few, because what Python occupies comes on top of the memory budget: there is no numpy here, and no
mpi4py without mpiexec.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from . import _cli_analyse, _cli_doctor, _cli_measure, _cli_permute, _cli_predict, _cli_streams, _cli_transform
from ._arguments import did_you_mean
from ._cli_arguments import amount, count, folders, problem_keys_help
from ._cli_streams import print_json
from ._errors import Error, InternalError, InvalidArgument, IOFailure, NoSpace, OutOfMemory, exit_code
from ._memory import bytes_string
from ._whole_files import replaced

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Plan as CorePlan

__all__ = ["main"]

_TERMINATED = 143
_BUSIEST_OF = 1024  # ranks to look at for totals; beyond, the plan of rank 0 must do


class _Terminated(BaseException):
    """SIGTERM, as an exception, so that what is half-done is removed."""


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

    _cli_transform.add_parser(commands, epilog=codes)
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
        "--machine",
        metavar="FILE",
        help="plan for the machine that FILE describes, as probe --output writes, or that is shipped (see predict)",
    )
    p.add_argument("--json", action="store_true", help="print it as JSON")

    _cli_predict.add_parser(commands)
    _cli_analyse.add_parser(commands)
    _cli_doctor.add_parser(commands)
    _cli_measure.add_parsers(commands)
    b = commands.add_parser(
        "probe", help="measure this machine for the planner", allow_abbrev=False,
        description="Measures memory, local engines and, under mpiexec, every exchange strategy over message sizes and "
        "whole plans, in about two minutes.\nPlans on as many ranks use the figures from then on.",
        formatter_class=formatter,
    )  # fmt: skip
    b.add_argument(
        "--seconds",
        type=float,
        default=0,
        metavar="S",
        help="about the longest time of engines, exchanges and steps; default: 120",
    )
    b.add_argument("--quick", action="store_true", help="rough figures in a second or two")
    b.add_argument(
        "--disk",
        metavar="DIR",
        help="measure the disk of this folder too, with 256 MiB there "
        "for some seconds (--quick: 128 MiB); transforms of files use it",
    )
    b.add_argument(
        "--scratch",
        type=folders,
        metavar="DIR,DIR",
        help="measure the disks of the folders that transform --scratch will name, if they are not the disk of input "
        "and output, with 128 MiB a rank there (--quick: 32 MiB); {rank} and {node} are their numbers",
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
    machine = None if options.machine is None else _machine(options.machine)
    plan = core.imagine(" ".join(words), machine, options.ranks_per_node or 0)
    busiest, totals = _over_ranks(plan)
    if options.json:
        print_json({**report_of(plan, busiest), "all_ranks": totals})
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


def _machine(name: str) -> str:
    from ._predict import machine_text

    return machine_text(name)


def _write(path: str, text: str) -> None:
    try:
        with replaced(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise IOFailure(f"can't write {path}: {error}") from None


def _probe(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._tune import probe, read_machine

    text = probe(
        comm=comm,
        seconds=options.seconds,
        quick=options.quick,
        store=not options.no_store,
        disk=options.disk,
        scratch=options.scratch,
    )
    rank = 0 if comm is None else comm.Get_rank()
    _together(comm, lambda: _write(options.output, text) if options.output and rank == 0 else None)
    if rank != 0:
        return
    figures = read_machine(text)
    if options.json:
        print_json(figures)
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
    if options.scratch:
        print(
            f"scratch   {numbers['scratch_read_bytes_per_second'] / 1e9:.2f} GB/s read by each rank, "
            f"{numbers['scratch_write_bytes_per_second'] / 1e9:.2f} written, while every rank does"
        )
    for engine in sorted({str(row["engine"]) for row in figures["engines"]}):
        rows = [row for row in figures["engines"] if row["engine"] == engine]
        best = max(rows, key=lambda row: float(str(row["gflops"])))
        print(f"engine    {engine}: {len(rows)} rates, up to {best['gflops']:.1f} GF/s ({best['precision']}, "
              f"{best['shape']} of {best['n']:g} points, {best['threads']} thread(s))")  # fmt: skip
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
        print_json({"tuned": found, "stored": tuning_records() if options.list else []})
    elif options.list:
        print(f"{tuning_store()}: {len(tuning_records())} results")
        for record in tuning_records():
            print(f"{record['problem']}\n  {record['choice']}: {float(str(record['seconds'])) * 1e3:.3g} ms on "
                  f"{record['date']}, {record['machine']}, {record['library']}")  # fmt: skip


def _info(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._info import info, info_text

    found = info()
    if options.json:
        print_json(found)
    else:
        print(info_text(found))


# --- main ----------------------------------------------------------------------------------------------------------


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def _report(message: str, rank: int) -> None:
    if rank == 0:
        _cli_streams.say_error(f"spanfft: {' '.join(message.split())}")


def _written(options: argparse.Namespace) -> str:
    """What a command that says nothing any more has written, with the verb."""
    if getattr(options, "into", None) is not None:
        return f"outputs that are in {options.into} are"
    output = options.output[0] if isinstance(options.output, list) and options.output else options.output
    return f"{output or options.input} is"


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
                "name a command: transform, permute, plan, predict, analyse, bench, trace, fit, probe, tune, info or "
                "doctor (see spanfft --help)"
            )
        commands: dict[str, Callable[[argparse.Namespace, Comm | None], None]] = {
            **_cli_transform.COMMANDS,
            "plan": _plan,
            **_cli_measure.COMMANDS,
            **_cli_permute.COMMANDS,
            **_cli_predict.COMMANDS,
            **_cli_analyse.COMMANDS,
            **_cli_doctor.COMMANDS,
            "probe": _probe,
            "tune": _tune,
            "info": _info,
        }
        measures = options.command == "predict" and options.check is not None
        if measures or options.command in ("transform", "bench", "probe", "tune"):
            from ._mpi import world

            comm = world()
        elif options.command != "doctor" and rank != 0:
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
    rank = _cli_streams.launched_rank()
    signal.signal(signal.SIGTERM, _terminate)
    return _run(sys.argv[1:] if arguments is None else arguments, rank)


if __name__ == "__main__":
    sys.exit(main())
