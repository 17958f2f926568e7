"""Checks of the particle-mesh Ewald, each a command; docs/apps/pme.md shows what they found.

    ./spanfft-dev run python -m apps.pme check [--rows FILE]     all of the following but water; a minute or two
    ... apps.pme madelung | forces | nve | ranks | balance       one of them
    ... apps.pme water [--molecules 6700]                        against OpenMM, which is installed if it is not there
    mpiexec -n 4 ... apps.pme same                               energy and forces on ranks against those of one process
    ... apps.pme draw ROWS PICTURE.svg | table ROWS              picture and table of the page, from rows

The exit code is 0 if every check passed, 1 if one did not, 2 if one could not run.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import spanfft
from spanfft import Error

from . import checks


def main() -> int:
    first, _, rest = (__doc__ or "").partition("\n\n")
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="apps.pme", description=first, epilog=rest, formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("check", *checks.CHECKS):
        command = commands.add_parser(name)
        command.add_argument("--rows", type=Path, help="a file of rows, in which these are replaced")
        command.add_argument("--small", action="store_true", help="quicker, for tests and the demo")
        if name == "water":
            command.add_argument("--molecules", type=int, default=6700)
    commands.add_parser("same")
    draw = commands.add_parser("draw")
    draw.add_argument("rows", type=Path)
    draw.add_argument("picture", type=Path)
    commands.add_parser("table").add_argument("rows", type=Path)
    options = parser.parse_args()
    if options.command == "table":
        print(checks.table(json.loads(options.rows.read_text())))
        return 0
    if options.command == "draw":
        from .draw import draw as draw_picture

        draw_picture(json.loads(options.rows.read_text()), options.picture)
        return 0
    if options.command == "same":
        return 0 if checks.same() else 1
    names = [n for n in checks.CHECKS if n != "water"] if options.command == "check" else [options.command]
    rows: dict[str, Any] = json.loads(options.rows.read_text()) if options.rows and options.rows.exists() else {}
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    about = f"{found[1] if found else platform.machine()}, spanfft {spanfft.__version__}, {date.today()}"
    good = True
    for name in names:
        more = {"molecules": options.molecules} if name == "water" else {}
        rows[name] = checks.CHECKS[name](options.small, **more)
        good &= checks.report(name, rows[name])
    if options.rows:
        rows["about"] = [{"what": about}]
        options.rows.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Error, OSError, ImportError) as error:
        print(f"apps.pme: {error}", file=sys.stderr)
        sys.exit(2)
