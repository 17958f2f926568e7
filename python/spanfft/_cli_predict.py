"""The command spanfft predict. See cli.py."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ._cli_arguments import count, power_written_out, problem_keys_help
from ._cli_streams import print_json
from ._errors import InvalidArgument
from ._memory import bytes_string

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._predict import Forecast

__all__ = ["COMMANDS", "add_parser"]

_RUNNERS_UP = 4


def _rank_counts(text: str) -> list[int]:
    """128,256 or 2^16."""
    found = []
    for word in text.split(","):
        number = count(power_written_out(word))
        if number < 1:
            raise argparse.ArgumentTypeError(f"{word!r} is no number of ranks; give 1 or more")
        found.append(number)
    return found


def add_parser(commands: Any) -> None:
    """Adds the command to argparse's subparsers."""
    p = commands.add_parser(
        "predict", help="say what a transform would take on a machine that is not here", allow_abbrev=False,
        description="Predicts seconds, grid, exchange and what limits them for PROBLEM, such as 'c2c 4096x4096x4096', "
        "on P ranks of a\nmachine, from its data sheet. Nothing is run:\n"
        "spanfft predict 'c2c 274877906944' --machine blue-gene-l --ranks 65536",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.more_help = problem_keys_help
    p.add_argument("problem", nargs="*", metavar="PROBLEM")
    p.add_argument(
        "--machine", metavar="M", help="the name of a machine that is shipped, or a file (docs/foresight.md)"
    )
    p.add_argument("--ranks", type=_rank_counts, metavar="P[,P...]", help="numbers of ranks, such as 128,2^10")
    p.add_argument("--ranks-per-node", type=count, metavar="R", help="default: one for each core")
    p.add_argument("--strong", action="store_true", help="instead: PROBLEM on 1, 2, 4, ... ranks of the machine")
    p.add_argument("--weak", action="store_true", help="instead: PROBLEM on one rank, twice its points on two, ...")
    p.add_argument("--check", type=count, nargs="?", const=20, metavar="N", help="instead: time N random problems here "
                   "(default: 20), on the ranks of mpiexec, beside what plans predict")  # fmt: skip
    p.add_argument("--seed", type=count, metavar="S", help="of the random problems (default: 1)")
    p.add_argument("--folder", metavar="DIR", help="with --check: a quarter of them are files there, a few hundred MiB")
    p.add_argument("--benchmarks", action="store_true", help="with --check: problems like the benchmarks' too")
    p.add_argument("--plot", metavar="PICTURE", help="draw seconds against ranks, with the bounds (.svg, .png, .pdf)")
    p.add_argument("--json", action="store_true", help="print it as JSON")


def _check(options: argparse.Namespace, comm: Comm | None) -> None:
    """Predicted beside measured, on this machine."""
    for name in ("machine", "ranks", "ranks_per_node", "plot"):
        if getattr(options, name) is not None:
            raise InvalidArgument(f"--check is of this machine, and --{name.replace('_', '-')} is given; leave it out")
    if options.problem or options.strong or options.weak:
        raise InvalidArgument("--check has problems of its own; leave out PROBLEM, --strong and --weak")
    from ._predict_check import check

    found = check(
        options.check, 1 if options.seed is None else options.seed, comm,
        folder=options.folder, benchmarks=options.benchmarks,
    )  # fmt: skip
    if found is None:
        return
    if options.json:
        print_json(found)
        return
    if found["machine"]:
        print("before each round and at the end, beside the time when the machine was probed:")
        print("  transforms took     ", *(f"{beside['transforms']:6.2f}" for beside in found["machine"]))
        waits = (f"{beside['handover']:6.2f}" if beside["handover"] else "     ?" for beside in found["machine"])
        print("  one processor waited", *waits, "for another")
    else:
        print("no probe of transforms is kept, so rates are built in (spanfft probe measures them)")
    print(f"{len(found['rows'])} problems: predicted and measured seconds differ by "
          f"{100 * found['median_deviation']:.0f} % in the median, {100 * found['p95_deviation']:.0f} % in the 95th "
          f"percentile; worst:")  # fmt: skip
    for row in found["rows"][:_RUNNERS_UP]:
        print(f"{100 * row['deviation']:>+6.0f} %  {_seconds(row['predicted_seconds']):>9} predicted, "
              f"{_seconds(row['measured_seconds']):>9} measured: {row['problem']}; {row['step']} "
              f"{_seconds(row['step_predicted_seconds'])} predicted, "
              f"{_seconds(row['step_measured_seconds'])} counted")  # fmt: skip


def _checked(options: argparse.Namespace) -> str:
    for name in ("seed", "folder", "benchmarks"):
        if getattr(options, name) not in (None, False):
            raise InvalidArgument(f"--{name} is for --check; leave it out")
    if not options.problem:
        raise InvalidArgument("no PROBLEM is given, such as 'c2c 4096x4096x4096'; give one, or --check")
    if options.machine is None:
        from ._predict import machines

        raise InvalidArgument(f"--machine is not given; name a file or one of {', '.join(machines())}")
    given = [options.ranks is not None, options.strong, options.weak]
    if sum(given) != 1:
        raise InvalidArgument("give --ranks P[,P...], or --strong, or --weak: one of them")
    if options.ranks_per_node is not None and options.ranks_per_node < 1:
        raise InvalidArgument(f"--ranks-per-node is {options.ranks_per_node}; it must be at least 1")
    return str(options.machine)


def _predict(options: argparse.Namespace, comm: Comm | None) -> None:
    if options.check is not None:
        return _check(options, comm)
    machine = _checked(options)
    from ._native import core
    from ._predict import largest_useful, machine_text, predict, strong, weak

    problem = " ".join(options.problem)
    per_node = options.ranks_per_node
    name = core.machine_read(machine_text(machine))["name"]
    if options.strong or options.weak:
        forecasts = (strong if options.strong else weak)(problem, machine, per_node)
    else:
        forecasts = predict(problem, machine, options.ranks, ranks_per_node=per_node)
    useful = None if options.weak else largest_useful(strong(problem, machine, per_node))
    if options.plot is not None:
        from ._draw_scaling import draw_scaling

        draw_scaling(forecasts, f"{problem} on {name}", options.plot)
    if options.json:
        print_json({
            "machine": name,
            "predictions": [asdict(each) for each in forecasts],
            "largest_useful": None if useful is None else asdict(useful),
        })  # fmt: skip
        return
    print(f"{name}: {problem}")
    print(_table(forecasts))
    if len(forecasts) == 1:
        print(_details(forecasts[0]))
    if useful is not None:
        print(f"largest useful number of ranks: {useful.ranks}, {_seconds(useful.seconds)}; {useful.why}")


def _seconds(value: float) -> str:
    factor, unit = (1, "s") if value >= 1 else (1e3, "ms") if value >= 1e-3 else (1e6, "us")
    return f"{value * factor:.3g} {unit}"


def _table(forecasts: Sequence[Forecast]) -> str:
    wide = max(len(each.grid) for each in forecasts)
    lines = [f"{'ranks':>8} {'time':>9} {'Gflop/s':>9} {'compute':>9} {'memory':>9} {'wire':>9} {'disk':>9} "
             f"{'barriers':>9}  {'limit':<12} {'grid':<{wide}} exchange"]  # fmt: skip
    for each in forecasts:
        parts = " ".join(
            f"{_seconds(each.parts[name]):>9}" for name in ("compute", "memory", "wire", "disk", "barriers")
        )
        lines.append(f"{each.ranks:>8} {_seconds(each.seconds):>9} {each.gflops:>9.4g} {parts}  {each.limit:<12} "
                     f"{each.grid:<{wide}} {each.exchange}{' (as fitted)' if each.fitted else ''}")  # fmt: skip
    return "\n".join(line.rstrip() for line in lines)


def _details(forecast: Forecast) -> str:
    lines = ["at least: " + ", ".join(f"{_seconds(value)} by {name}" for name, value in forecast.bounds.items())]
    for number, each in enumerate(forecast.exchanges, 1):
        size = each["sent_bytes"] / each["messages"] if each["messages"] else 0
        hidden = f", {_seconds(each['hidden'])} hidden" if each["hidden"] else ""
        lines.append(
            f"exchange {number}: {each['exchange']} among {each['group_ranks']} ranks, {each['messages']} messages of "
            f"{bytes_string(size)}: {_seconds(each['wire'])} on the wire ({each['limit']}), "
            f"{_seconds(each['copies'])} of copies{hidden}"
        )
    lines.append(f"memory: {bytes_string(forecast.node_memory_bytes)} a node")
    for other in forecast.runners_up[:_RUNNERS_UP]:
        lines.append(
            f"not chosen: grid {other['grid']} with {other['exchange'] or 'no exchange'}: "
            f"{_seconds(other['seconds'])}, {other['seconds'] / forecast.seconds:.2f}x, {other['limit']}"
        )
    return "\n".join(lines)


COMMANDS: dict[str, Callable[[argparse.Namespace, Comm | None], None]] = {"predict": _predict}
