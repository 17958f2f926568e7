"""The commands that measure and look at measurements: spanfft bench, trace and fit. See cli.py."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cli_arguments import count, size
from ._errors import EngineError, InvalidArgument, IOFailure

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._fit import ModelFit

__all__ = ["COMMANDS", "add_parsers"]


def add_parsers(commands: Any) -> None:
    """Adds the three commands to argparse's subparsers."""
    b = commands.add_parser(
        "bench", help="time transforms in memory", allow_abbrev=False,
        description="Times each PROBLEM, such as 'c2c 256x256x256', on the ranks that it is started with, candidates "
        "in turn, and prints median and least time beside the predicted one:\n"
        "mpiexec -n 4 spanfft bench 'c2c 128x128x128' --exchange alltoallv,alltoallw\n"
        "'gfft' stands for the G-FFT of HPC Challenge: one transform of --points complex doubles, checked.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    b.add_argument("problem", nargs="+", metavar="PROBLEM")
    b.add_argument("--repeats", type=count, default=5, metavar="N", help="timed rounds (default: 5)")
    b.add_argument("--exchange", metavar="A,B", help="time each problem with each of these strategies")
    b.add_argument("--points", type=size, metavar="N", help="of gfft (default: 2^22 a rank)")
    b.add_argument("--trace", metavar="FILE", help="record one more run of each as Perfetto JSON")
    b.add_argument("--json", action="store_true", help="print rows as JSON")

    t = commands.add_parser(
        "trace", help="what each rank spent its time on", allow_abbrev=False,
        description="Sums up FILE, which --trace or spanfft.write_trace wrote, and draws it. To look at single events, "
        "open FILE at https://ui.perfetto.dev",
    )  # fmt: skip
    t.add_argument("file", metavar="FILE")
    t.add_argument("--run", type=count, metavar="N", help="only execution N, from 0; -1 is the last (default: all)")
    t.add_argument("--profile", metavar="PICTURE", help="draw how many ranks communicate against time (.svg, .png)")
    t.add_argument("--bars", metavar="PICTURE", help="draw a stacked bar for each rank (.svg, .png)")
    t.add_argument("--json", action="store_true", help="print the sums as JSON")

    f = commands.add_parser(
        "fit", help="fit a model of time against processors", allow_abbrev=False,
        description="Fits a0+a1/(a2+np) to the rows of a CSV file with a header, or of a JSON list of objects.",
    )  # fmt: skip
    f.add_argument("rows", metavar="ROWS")
    f.add_argument("--form", default="a0+a1/(a2+np)", help="a0+a1/(a2+np) (default) or a0+a1/np")
    f.add_argument("--np", metavar="COLUMN", help="with numbers of processors; default: np, ranks or processors")
    f.add_argument("--time", metavar="COLUMN", help="with times; default: time, seconds, median_seconds or ms")
    f.add_argument("--machine-line", metavar="PART:N:UNIT", help="print the line of a machine file (docs/foresight.md) "
                   "instead: PART is communication or computation of a forward and an inverse transform of N points an "
                   "axis, UNIT s or ms")  # fmt: skip
    f.add_argument("--sheet", metavar="FILE", help="print a whole machine file instead: this one, with the figures "
                   "that it lacks, or has '?' for, fitted to ROWS with a problem, ranks and seconds each")  # fmt: skip
    f.add_argument("--output", metavar="FILE", help="with --sheet: where the machine file goes (default: printed)")
    f.add_argument("--absolute", action="store_true", help="minimise differences, not differences relative to the time")
    f.add_argument("--plot", metavar="PICTURE", help="draw the curve over the points (.svg, .png)")
    f.add_argument("--json", action="store_true", help="print parameters as JSON")


def _bench(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._bench import bench

    if options.problem == ["gfft"]:
        return _gfft(options, comm)
    if options.points is not None:
        raise InvalidArgument("--points is for gfft; a PROBLEM says its shape")
    exchanges = [] if options.exchange is None else options.exchange.split(",")
    rows = bench(options.problem, exchanges, options.repeats, comm, options.trace)
    if comm is not None and comm.Get_rank() != 0:
        return
    if options.json:
        print(json.dumps({"rows": rows}, indent=2))
        return
    print(f"{'median':>10} {'least':>10} {'predicted':>10}  milliseconds; {rows[0]['ranks']} ranks, "
          f"{options.repeats} rounds")  # fmt: skip
    for row in rows:
        print(f"{row['median_seconds'] * 1e3:10.3f} {row['min_seconds'] * 1e3:10.3f} "
              f"{row['predicted_seconds'] * 1e3:10.3f}  {row['problem']}")  # fmt: skip


def _gfft(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._gfft import RESIDUAL_LIMIT, gfft

    if options.exchange is not None or options.trace is not None:
        raise InvalidArgument("gfft takes neither --exchange nor --trace; give its plan as a PROBLEM for those")
    ranks = 1 if comm is None else comm.Get_size()
    result = gfft(options.points or ranks << 22, options.repeats, comm)
    if comm is None or comm.Get_rank() == 0:
        if options.json:
            print(json.dumps(result, indent=2))
        else:
            print(f"G-FFT     {result['gflops']:.3f} GF/s, median of {options.repeats}: {result['points']} points, "
                  f"{ranks} ranks, {result['median_seconds'] * 1e3:.3f} ms")  # fmt: skip
            print(f"residual  {result['residual']:.3f}, less than {RESIDUAL_LIMIT:.0f} is asked")
            print(f"error     {result['error']:.2f} of the accuracy rule, at frequencies summed by definition")
            print("passed" if result["passed"] else "FAILED")
    if not result["passed"]:
        raise EngineError("G-FFT's result is not right; see the lines above")


def _trace(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._trace import SHARES, read_trace, summary

    trace = read_trace(options.file)
    if options.run is not None:
        trace = trace.only_run(options.run)
    if options.profile or options.bars:
        from ._draw import draw_bars, draw_profile

        if options.profile:
            draw_profile(trace, options.profile)
        if options.bars:
            draw_bars(trace, options.bars)
    rows = summary(trace)
    if options.json:
        about = {"problems": trace.problems, "runs": trace.runs(), "dropped_events": trace.dropped_events,
                 "clock_accuracy_ns": trace.clock_accuracy_ns, "ranks": rows}  # fmt: skip
        print(json.dumps(about, indent=2))
        return
    for problem in trace.problems:
        print(f"problem  {problem}")
    print("milliseconds of " + (f"{trace.runs()} runs" if trace.runs() != 1 else "1 run"))
    print(f"{'rank':>6} " + " ".join(f"{name:>13}" for name in (*SHARES, "in all")))
    for row in rows:
        times = [row[f"{name}_seconds"] for name in SHARES] + [row["seconds"]]
        print(f"{row['rank']:6} " + " ".join(f"{seconds * 1e3:13.3f}" for seconds in times))
    if trace.dropped_events:
        print(f"note  {trace.dropped_events} events were dropped: there was no room for more")


def _fit(options: argparse.Namespace, comm: Comm | None) -> None:
    if options.sheet is not None:
        return _fit_sheet(options)
    if options.output is not None:
        raise InvalidArgument("--output is for --sheet; leave it out")
    from ._fit import FORMS, fit_model, read_rows

    form = options.form.replace(" ", "")
    if form not in FORMS:
        raise InvalidArgument(f"--form is {options.form!r}; it can be {' or '.join(FORMS)}")
    processors, times = read_rows(options.rows, options.np, options.time)
    fit = fit_model(processors, times, form, relative=not options.absolute)
    if options.machine_line is not None:
        print(_machine_line(options.machine_line, fit, processors, options.rows))
        return
    if options.plot:
        from ._draw import draw_fit

        draw_fit(processors, times, [fit], options.plot)
    if options.json:
        print(json.dumps(fit.as_dict(), indent=2))
        return
    print(f"time = {fit.formula()}, from {fit.rows} rows")
    parameters = {"a0": fit.a0, "a1": fit.a1, "a2": fit.a2}
    for (name, value), error in zip(parameters.items(), fit.standard_errors, strict=False):
        print(f"{name:9} {value:14.6g} +- {error:.2g}")
    unit = " of the time" if fit.relative else ""
    print(f"residual  {fit.rms_residual:14.3g} root mean square, {fit.worst_residual:.3g} at most{unit}")
    print(f"condition {fit.condition:14.3g}")


def _fit_sheet(options: argparse.Namespace) -> None:
    from ._fit_machine import fit_machine

    if options.plot or options.absolute or options.machine_line is not None or options.np is not None:
        raise InvalidArgument("--sheet takes --time, --output and --json only; leave the other options out")
    found = fit_machine(options.rows, options.sheet, time_name=options.time)
    if options.output is not None:
        try:
            Path(options.output).write_text(found.machine, encoding="utf-8")
        except OSError as error:
            raise IOFailure(f"{options.output} can't be written: {error.strerror}") from None
    if options.json:
        print(json.dumps(asdict(found), indent=2))
    elif options.output is None:
        print(found.machine, end="")
    else:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in found.figures.items())
        print(f"{options.output}: {figures}; from {found.rows} rows, {100 * found.rms_residual:.1f} % root mean "
              f"square, {100 * found.worst_residual:.1f} % at most")  # fmt: skip


def _machine_line(asked: str, fit: ModelFit, processors: Sequence[float], rows: str) -> str:
    """The fit as a machine file has it: times in ms, on the numbers of processors that were measured."""
    found = re.fullmatch(r"(communication|computation):([1-9][0-9]{0,4}):(s|ms)", asked)
    if found is None:
        raise InvalidArgument(f"--machine-line is {asked!r}; write PART:N:UNIT, such as communication:256:s")
    scale = 1e3 if found[3] == "s" else 1
    return (f"fit {found[1]} {found[2]} {fit.a0 * scale:.9g} {fit.a1 * scale:.9g} {fit.a2:.9g} "
            f"{min(processors):.0f} {max(processors):.0f}  # spanfft fit of {' '.join(rows.split())}")  # fmt: skip


COMMANDS: dict[str, Callable[[argparse.Namespace, Any], None]] = {"bench": _bench, "trace": _trace, "fit": _fit}
