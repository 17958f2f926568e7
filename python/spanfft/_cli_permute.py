"""The command spanfft permute. See cli.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ._cli_arguments import amount, count, folders, size, sizes
from ._cli_runs import add_journal_options, left_behind, progress_bar
from ._cli_streams import print_json
from ._errors import InvalidArgument
from ._memory import bytes_string

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["COMMANDS", "add_parser"]


def _complement(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number such as 5, 0x1f or 0b101") from None


def add_parser(commands: Any) -> None:
    """Adds the command to argparse's subparsers."""
    p = commands.add_parser(
        "permute", help="permute an array in a file by the bits of its indices", allow_abbrev=False,
        description="Moves element x of INPUT (.npy, or raw with --dtype) to place z = Hx xor c of OUTPUT, for a "
        "matrix H over GF(2), in few\nsweeps over the disks. INPUT may be larger than memory; its number of elements "
        "is a power of two.", formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.add_argument("input", metavar="INPUT")
    p.add_argument("output", metavar="OUTPUT", help="gets a .npy header if it ends in .npy, else none")
    p.add_argument("--kind", required=True, help="bit-reversal, bit-reversal:K, rotation:K, transpose, transpose:RxC, "
                   "band:P,STRIPE,FROM,TO, matrix:FILE (a row a line, lowest bits first), random:SEED")  # fmt: skip
    p.add_argument("--complement", type=_complement, default=0, metavar="C", help="xor of every target; default: 0")
    p.add_argument("--memory", type=amount, metavar="M", help="memory for buffers, such as 256MiB; default: that of "
                   "a run that goes on, else half of the free memory")  # fmt: skip
    p.add_argument("--scratch", "--disks", dest="scratch", type=folders, metavar="DIR,DIR",
                   help="folders for intermediate data, a disk each: 1, 2, 4, ...; default: the output's")  # fmt: skip
    p.add_argument("--block-bytes", type=amount, default=0, metavar="B", help="bytes of a block; default: chosen")
    p.add_argument("--sync", action="store_true", help="read, permute, write one after the other")
    p.add_argument("--threads", type=count, default=0, metavar="T", help="threads; default: all cores")
    add_journal_options(p)
    p.add_argument("--dtype", help="of a raw input: float32, float64, complex64, complex128, ...")
    p.add_argument("--shape", type=sizes, metavar="NxM", help="of a raw input; default: one axis")
    p.add_argument("--offset", type=size, metavar="BYTES", help="of the array in a raw input")
    p.add_argument("--explain", action="store_true", help="print the plan afterwards, predicted beside counted")
    p.add_argument("--trace", metavar="FILE", help="record what is done when, as Perfetto JSON")
    p.add_argument("--json", action="store_true", help="print what was done as JSON, the plan too")
    p.add_argument("--quiet", action="store_true", help="print nothing; not with --explain or --json")


def _permute(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._permute import permute

    for asked in ("explain", "json"):
        if options.quiet and getattr(options, asked):
            raise InvalidArgument(f"--quiet prints nothing, --{asked} prints; leave one of both out")
    bar = progress_bar(options, 0)
    arguments = {name: getattr(options, name) for name in (
        "kind", "complement", "memory", "scratch", "block_bytes", "threads", "dtype", "shape", "offset", "trace",
        "journal", "resume", "checksums")}  # fmt: skip
    try:
        done = permute(options.input, options.output, synchronous=options.sync, progress=bar, **arguments)
    finally:
        if bar is not None:
            bar.close()
    if options.json:
        print_json(asdict(done))
        return
    if options.quiet:
        return
    for note in left_behind(done.report["notes"]):
        print(note, file=sys.stderr)
    shape = "x".join(str(n) for n in done.shape)
    before = f", {bytes_string(done.resumed_bytes)} moved before" if done.resumed_bytes else ""
    print(f"{done.output}: {shape} {done.dtype} in {done.seconds:.3g} s{before}\n{done.plan}")
    print(f"counted {done.counted_parallel_ios} parallel I/Os")
    if options.explain:
        print(done.explain.rstrip("\n"))


COMMANDS: dict[str, Callable[[argparse.Namespace, Comm | None], None]] = {"permute": _permute}
