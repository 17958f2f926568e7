"""bench/figures/draw.py: pictures are drawn from plans, and what they show is what the plans say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def draw() -> Any:
    spec = importlib.util.spec_from_file_location("draw", ROOT / "bench" / "figures" / "draw.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts_of(path: Path) -> list[str]:
    """What can be read in a drawing."""
    return sorted(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text()))


@pytest.mark.parametrize("name", ["flow", "two_sweeps", "ranks", "pdm", "superlevels", "bands", "figure8"])
def test_a_picture_is_drawn_from_its_plan_and_small(draw: Any, name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(draw, "IMAGES", tmp_path)
    getattr(draw, f"draw_{name}")()
    (made,) = tmp_path.glob("*.svg")
    assert made.stat().st_size < 100_000
    committed = ROOT / "docs" / "images" / made.name
    assert committed.exists()
    if name == "flow":  # of solvers, not of a machine's figures
        assert texts_of(committed) == texts_of(made), "draw it anew: ./spanfft-dev run python bench/figures/draw.py"


@pytest.mark.parametrize(("name", "pictures"), [("foresight", 5), ("simulated", 2)])
def test_pictures_of_predictions_are_as_committed(
    draw: Any, name: str, pictures: int, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(draw, "IMAGES", tmp_path)
    getattr(draw, f"draw_{name}")()
    made = sorted(tmp_path.glob("*.svg"))
    assert len(made) == pictures
    for each in made:
        assert each.stat().st_size < 100_000
        committed = ROOT / "docs" / "images" / each.name
        # Of data sheets alone: everybody draws the same.
        assert texts_of(committed) == texts_of(each), "draw it anew: ./spanfft-dev run python bench/figures/draw.py"


def test_the_factors_that_are_drawn_multiply_to_the_permutation(draw: Any) -> None:
    n, m, *_ = map(int, draw.BMMC[:4])
    found = draw.factorings()
    assert [each["kind"] for each in found] == list(draw.BMMC[4:])

    def matrix(rows: list[str]) -> Any:
        return np.array([[int(digit) for digit in row] for row in rows])

    for each in found:
        product = np.eye(n, dtype=int)
        for factor in each["factors"]:
            product = matrix(factor["matrix"]) @ product % 2
        assert (product == matrix(each["matrix"])).all()
    assert (matrix(found[0]["matrix"]) == np.eye(n, dtype=int)[::-1]).all()
    # phi of the bit reversal is an antidiagonal of min(m, n - m) ones.
    assert found[0]["rank_phi"] == min(m, n - m)


def test_the_committed_pictures_are_there_and_small() -> None:
    for name in ("flow", "ooc-two-sweeps", "ooc-pdm", "ooc-bmmc", "ooc-superlevels", "ooc-choice"):
        path = ROOT / "docs" / "images" / f"{name}.svg"
        assert 1000 < path.stat().st_size < 100_000
        assert str(ROOT) not in path.read_text()
