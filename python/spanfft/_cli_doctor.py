"""The command spanfft doctor. See cli.py."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._cli_streams import launched_rank, print_json
from ._errors import Error, InvalidArgument, MPIError

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._doctor import Finding

__all__ = ["COMMANDS", "add_parser"]

_COLOURS = {"ok": "32", "skipped": "2", "warning": "33", "bad": "31"}


def add_parser(commands: Any) -> None:
    """Adds the command to argparse's subparsers."""
    p = commands.add_parser(
        "doctor",
        help="say whether everything works here, and what to do where it doesn't",
        allow_abbrev=False,
        description="Checks versions, MPI, nodes and pinning, memory, engines, MPI's datatypes, every exchange and the "
        "disk, against exact\nnumbers: mpiexec -n 4 spanfft doctor --disk /scratch\nA line is ok, skipped, a warning or"
        " bad; with a bad one the exit code says whose fault it is (docs/howto/doctor.md).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--disk", metavar="DIR", help="try the disk of this folder, with 1 GiB there for some seconds")
    p.add_argument("--large", action="store_true", help="send messages above 2^31 bytes between two ranks")
    p.add_argument("--seconds", type=float, default=120, metavar="S", help="the longest time of a check; default: 120")
    p.add_argument("--json", action="store_true", help="print the findings as JSON")


def _line(finding: Finding, colours: bool) -> str:
    state = f"\033[{_COLOURS[finding.state]}m{finding.state:7}\033[0m" if colours else f"{finding.state:7}"
    remedy = f"\n{'':8}{finding.remedy}" if finding.remedy else ""
    return f"{state} {finding.check}: {finding.text}{remedy}"


def _doctor(options: argparse.Namespace, comm: Comm | None) -> None:
    from ._doctor import STATES, Finding, Job, examine
    from ._mpi import world

    if not 1 <= options.seconds <= 86400:
        raise InvalidArgument(f"--seconds is {options.seconds:g}; it must be 1 to 86400")
    found: list[Finding] = []
    prints = not options.json and launched_rank() == 0
    colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def tell(finding: Finding) -> None:
        if prints:
            print(_line(finding, colours), flush=True)

    try:
        comm = world()
    except Error as error:  # another MPI than mpiexec's is what a strange cluster has most often
        found.append(Finding("MPI", "bad", str(error), "install mpi4py for the MPI of mpiexec", MPIError))
        tell(found[-1])
    found += examine(Job(comm, options.disk, options.large), options.seconds, tell)
    if options.json and launched_rank() == 0:
        print_json({"findings": [finding.as_dict() for finding in found]})
    bad = [finding for finding in found if finding.state == STATES[-1]]
    if bad:
        raise bad[0].fault(f"{len(bad)} of {len(found)} findings are bad, the first: {bad[0].check}")
    if prints:
        warnings = sum(finding.state == "warning" for finding in found)
        print(f"all is well{f', with {warnings} warning(s)' if warnings else ''}")


COMMANDS: dict[str, Callable[[argparse.Namespace, Any], None]] = {"doctor": _doctor}
