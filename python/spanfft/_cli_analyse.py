"""The command spanfft analyse. See cli.py."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ._cli_arguments import amount, count, power_written_out, size
from ._errors import InvalidArgument

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._analyse import Figure8, Instance

__all__ = ["COMMANDS", "add_parser"]


def _points(text: str) -> int:
    """33554432 or 2^25."""
    return size(power_written_out(text))


def add_parser(commands: Any) -> None:
    """Adds the command to argparse's subparsers."""
    p = commands.add_parser(
        "analyse", help="what out-of-core transforms by several processors would send", allow_abbrev=False,
        description="Says for each of the four published methods of FFTs on parallel disks how many messages and bytes "
        "P processors send\nto transform N points. All numbers are powers of two; nothing is run:\n"
        "spanfft analyse 2^25 --memory 16MiB --processors 4 --disks 4 --sync",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.add_argument("points", nargs="?", type=_points, metavar="N", help="points, such as 2^25")
    p.add_argument("--memory", type=amount, metavar="M", help="of each processor, with its buffers, such as 16MiB")
    p.add_argument("--block-bytes", type=amount, default=4096, metavar="B", help="bytes of a block; default: 4096")
    p.add_argument("--disks", type=count, metavar="D", help="of all processors together; default: one each")
    p.add_argument("--processors", type=count, metavar="P", help="default: 4")
    p.add_argument("--record-bytes", type=count, metavar="R", help="bytes of a point; default: 16, complex128")
    p.add_argument("--sync", action="store_true", help="read, compute and write one after the other; memoryloads "
                   "are a quarter of memory, not an eighth")  # fmt: skip
    p.add_argument("--factoring", choices=("published", "shorter"), default="published", help="of permutations into "
                   "sweeps: as published (default), or spanfft's, which takes as many sweeps or fewer")  # fmt: skip
    p.add_argument("--figure8", metavar="PICTURE", help="instead: draw how often each method sends least in the 258 "
                   "instances of Cormen and Nicol's figure 8 (.svg, .png, .pdf)")  # fmt: skip
    p.add_argument("--json", action="store_true", help="print it as JSON")


def _figure8(options: argparse.Namespace) -> None:
    from ._analyse import METHODS, figure8
    from ._draw import draw_shares

    for name in ("points", "memory", "disks", "processors", "record_bytes"):
        if getattr(options, name) is not None:
            word = "N" if name == "points" else "--" + name.replace("_", "-")
            raise InvalidArgument(f"--figure8 has 258 instances of its own, and {word} is given; leave it out")
    if options.sync:
        raise InvalidArgument("--figure8 has instances of both ways of I/O, and --sync is given; leave it out")
    found = figure8(options.block_bytes, options.factoring == "shorter")
    draw_shares(found.shares(), found.instances, options.figure8)
    if options.json:
        print(json.dumps(asdict(found), indent=2))
        return
    print(_figure8_lines(METHODS, found))


def _figure8_lines(methods: tuple[str, ...], found: Figure8) -> str:
    heads = " ".join(f"{head:>16}" for head in ("fewest messages", "fewest bytes", "fewest of both"))
    lines = [f"of {found.instances} instances the method sends", f"{'':23} {heads}"]
    for method in methods:
        counts = (found.fewest_messages[method], found.fewest_bytes[method], found.fewest_of_both[method])
        lines.append(f"{method:23} " + " ".join(f"{n:>7} {found.percent(n):6.2f} %" for n in counts))
    return "\n".join(lines)


def _analyse(options: argparse.Namespace, comm: Comm | None) -> None:
    if options.figure8 is not None:
        _figure8(options)
        return
    from ._analyse import Instance, analyse, best_methods

    for name, word in (("points", "N, the number of points, such as 2^25"), ("memory", "--memory, such as 16MiB")):
        if getattr(options, name) is None:
            raise InvalidArgument(f"{word}, is not given; give it, or --figure8 PICTURE alone")
    processors = 4 if options.processors is None else options.processors
    instance = Instance(
        records=options.points,
        memory_bytes=options.memory,
        block_bytes=options.block_bytes,
        disks=processors if options.disks is None else options.disks,
        processors=processors,
        record_bytes=16 if options.record_bytes is None else options.record_bytes,
        synchronous=options.sync,
        shorter=options.factoring == "shorter",
    )
    found = analyse(instance)
    best = best_methods(found)
    if options.json:
        about = {"instance": asdict(instance), "methods": [asdict(each) for each in found], "best": best}
        print(json.dumps(about, indent=2))
        return
    print(_instance_line(instance, found[0].memoryload_records))
    print(f"{'':23} {'':>6} {'parallel':>12} {'mini-butterflies':>23} {'permutations':>23} {'in all':>23}")
    heads = f"{'messages':>9} {'MB':>13} "
    print(f"{'a processor sends':23} {'sweeps':>6} {'I/Os':>12} {heads}{heads}{heads}".rstrip())
    for each in found:
        pairs = (
            (each.butterfly_messages, each.butterfly_bytes),
            (each.bmmc_messages, each.bmmc_bytes),
            (each.butterfly_messages + each.bmmc_messages, each.butterfly_bytes + each.bmmc_bytes),
        )
        cells = " ".join(f"{messages:>9} {size / 1e6:>13.3f}" for messages, size in pairs)
        print(f"{each.method:23} {each.sweeps:>6} {each.parallel_ios:>12} {cells}{'' if each.alike else '  at most'}")
    print(f"fewest messages and bytes: {', '.join(best) or 'no method has both'}")


def _instance_line(instance: Instance, memoryload: int) -> str:
    how = "synchronous" if instance.synchronous else "asynchronous"
    return (f"N = {instance.records}, memoryload M = {memoryload} of all processors, B = "
            f"{instance.block_bytes // instance.record_bytes}, D = {instance.disks}, P = {instance.processors}, "
            f"{how}")  # fmt: skip


COMMANDS: dict[str, Callable[[argparse.Namespace, Comm | None], None]] = {"analyse": _analyse}
