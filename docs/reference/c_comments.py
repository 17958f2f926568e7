"""Doxygen's input filter: makes documentation comments of a C header's plain ones.

A comment on lines of its own documents the declaration below it, one behind code documents that code, and the first of
a file documents the file.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ALONE = re.compile(r"^\s*/\*(?!\*)")
_BEHIND = re.compile(r"^(.*[;,{}\w])\s*/\*(?!\*)\s?(.*)$")


def filtered(lines: list[str], name: str) -> list[str]:
    """The lines with /** and /**< where Doxygen wants them."""
    result: list[str] = []
    inside, seen = False, False
    for line in lines:
        if inside:
            result.append(line)
            inside = "*/" not in line
        elif _ALONE.match(line):
            result += line.replace("/*", "/**" if seen else f"/** @file {name}\n *", 1).split("\n")
            inside, seen = "*/" not in line, True
        elif behind := _BEHIND.match(line):
            result.append(f"{behind[1]} /**< {behind[2]}")
            inside = "*/" not in line
        else:
            result.append(line)
    return result


def main() -> int:
    path = Path(sys.argv[1])
    print("\n".join(filtered(path.read_text().splitlines(), path.name)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
