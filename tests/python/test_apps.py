"""apps/poisson, apps/turbulence and apps/spectra in one process: known solutions, published rows, SciPy, mistakes.

tests/mpi/test_ranks_apps.py holds ranks to one process.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import spanfft

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from apps.poisson.manufactured import error
from apps.poisson.solver import SIDES, Poisson

ROOT = Path(__file__).resolve().parents[2]


def app(name: str, *arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """python -m apps.NAME ARGUMENTS"""
    command = [sys.executable, "-m", f"apps.{name}", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=folder or ROOT, env=environment)


# --- poisson ---


@pytest.mark.parametrize("sides", list(itertools.product(SIDES, SIDES)), ids="-".join)
def test_poisson_solves_to_rounding(sides: tuple[str, str]) -> None:
    assert error(Poisson((46, 44), sides, (1.0, 0.8))) < 1e-13


def test_poisson_converges_to_rounding_as_committed() -> None:
    """Faster than any power: each error is far below the third power of a smaller grid's."""
    rows = json.loads((ROOT / "apps/poisson/rows.json").read_text())
    assert {tuple(row["sides"]) for row in rows} == set(itertools.combinations_with_replacement(SIDES, 2))
    for sides in itertools.combinations_with_replacement(SIDES, 2):
        mine = {row["points"]: row["error"] for row in rows if tuple(row["sides"]) == sides}
        assert mine[64] < 1e-14
        assert mine[24] < mine[8] / 3**8
        box = Poisson((8, 8), sides)
        assert error(box, project=not box.fixes_mean) == pytest.approx(mine[8], rel=1e-6)


def test_poisson_in_one_and_three_axes_and_an_odd_box() -> None:
    assert error(Poisson((61,), ("dirichlet",), (2.5,))) < 1e-13
    assert error(Poisson((40, 37, 41), ("periodic", "neumann", "periodic"), (1.0, 2.0, 0.5))) < 1e-13


def test_poisson_says_what_is_wrong() -> None:
    for shape, sides, lengths, words in (
        ((8, 8, 8, 8), ("periodic",) * 4, None, "has 4 axes; a box has 1 to 3"),
        ((8, 0), ("periodic",) * 2, None, "at least one grid point"),
        ((8, 8), ("periodic",), None, "sides for 1"),
        ((8,), ("robin",), None, "sides are 'robin'; an axis can be periodic, neumann"),
        ((8,), ("periodic",), (0.0,), "must be a positive number"),
    ):
        with pytest.raises(spanfft.InvalidArgument, match=words):
            Poisson(shape, sides, lengths)
    box = Poisson((8, 8), ("periodic", "neumann"))
    with pytest.raises(spanfft.InvalidArgument, match="there is no solution unless it vanishes"):
        box.solve(np.ones((8, 8)))
    with pytest.raises(spanfft.InvalidArgument, match=r"box is float64 \(8, 8\)"):
        box.solve(np.ones((8, 9)))
    f = np.zeros((8, 8))
    f[2, 5] = np.inf
    with pytest.raises(spanfft.InvalidArgument, match=r"not finite at grid point \(2, 5\)"):
        box.solve(f)


def test_poisson_on_the_command_line() -> None:
    done = app("poisson", "--shape", "40x40", "--sides", "dirichlet,periodic")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 1e-13
    done = app("poisson", "--sides", "open,open,open")
    assert done.returncode == 2
    assert done.stderr.startswith("poisson: sides are 'open'")


def test_pictures_are_drawn_from_committed_rows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from apps.poisson import __main__ as poisson
    from apps.poisson.draw import draw as draw_poisson

    draw_poisson(poisson.ROWS, tmp_path / "app-poisson.svg")
    for made in tmp_path.iterdir():
        committed = (ROOT / "docs/images" / made.name).read_text()
        assert texts_of(made.read_text()) == texts_of(committed), f"draw {made.name} anew"
        assert made.stat().st_size < 200_000


def texts_of(drawing: str) -> list[str]:
    """What can be read in an SVG."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
