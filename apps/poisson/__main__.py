"""Solves Poisson's equation for a known solution and says how far off the result is; measures and draws convergence.

python -m apps.poisson --shape 48x40x64 --sides periodic,neumann,dirichlet
mpiexec -n 4 python -m apps.poisson --shape 64x64 --sides neumann-dirichlet,periodic
python -m apps.poisson --measure apps/poisson/rows.json       errors against points, for every kind of sides
python -m apps.poisson --draw docs/images/app-poisson.svg     the picture of docs/apps/poisson.md, from these rows
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps import ranks
from apps.poisson.manufactured import error
from apps.poisson.solver import SIDES, Poisson

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

ROWS = Path(__file__).with_name("rows.json")
_SIZES = (4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 64)


def solve_one(shape: tuple[int, ...], sides: list[str], project: bool, comm: Comm | None) -> None:
    """Solves once, and says how exactly."""
    box = Poisson(shape, sides, comm=comm)
    found = error(box, project)
    text = f"{'x'.join(map(str, shape))}, sides {', '.join(sides)}, {box.plan.ranks} rank(s), {box.plan.solver}"
    ranks.say(comm, f"{text}: relative L2 error {found:.2e}")
    box.free()


def measure(path: Path, comm: Comm | None) -> None:
    """Errors of every pair of sides in two axes, for several numbers of points."""
    rows: list[dict[str, Any]] = []
    for pair in itertools.combinations_with_replacement(SIDES, 2):
        for n in _SIZES:
            box = Poisson((n, n), pair, comm=comm)
            # The samples of f of a coarse grid have a mean, though f has none.
            rows.append({"sides": pair, "points": n, "error": error(box, project=not box.fixes_mean)})
            box.free()
    if comm is None or comm.rank == 0:
        path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    ranks.say(comm, f"{len(rows)} rows in {path}; largest error at {_SIZES[-1]} points: "
                    f"{max(row['error'] for row in rows if row['points'] == _SIZES[-1]):.2e}")  # fmt: skip


def main(comm: Comm | None) -> None:
    parser = argparse.ArgumentParser(prog="python -m apps.poisson", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--shape", default="48x40x64", help="grid points an axis, such as 64x64")
    parser.add_argument("--sides", default="periodic,neumann,dirichlet", help=f"one an axis: {', '.join(SIDES)}")
    parser.add_argument("--project", action="store_true", help="take the mean of the right-hand side away")
    parser.add_argument("--measure", type=Path, metavar="JSON", help="write errors against points")
    parser.add_argument("--draw", type=Path, metavar="SVG", help="draw the committed rows")
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, comm)
    elif options.draw:
        from apps.poisson.draw import draw

        if comm is None or comm.rank == 0:
            draw(ROWS, options.draw)
    else:
        try:
            shape = tuple(int(n) for n in options.shape.split("x"))
        except ValueError:
            parser.error(f"--shape is {options.shape!r}; give lengths such as 64x64")
        solve_one(shape, options.sides.split(","), options.project, comm)


if __name__ == "__main__":
    ranks.command_line("poisson", main)
