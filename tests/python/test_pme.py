"""apps/pme in one process: Madelung constants, forces against the Ewald sum itself, virial, exclusions, bad input."""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
pytest.importorskip("scipy")

from spanfft import InvalidArgument

from apps.pme import Moments, Parameters, Pme, Rates, checks, choose, estimate
from apps.pme.direct import Exclusions, pairs_within
from apps.pme.ewald import ewald
from apps.pme.lattice import Lattice
from apps.pme.nve import molten_salt
from apps.pme.splines import ORDERS, moduli, weights
from apps.pme.systems import MADELUNG, WATER_ANGLE, WATER_BOND_NM, System, crystal, random_charges, water

SKEW = np.array([[3.0, 0, 0], [0.9, 2.7, 0], [-0.5, 0.7, 2.5]])
RATES = Rates(pair=1e-7, point=1e-8, mesh=1e-8)


@pytest.fixture(scope="module")
def skew() -> tuple[System, float, np.ndarray]:
    """A system in a skew box, some of whose neighbours do not see one another, with its energy and forces."""
    system = random_charges(70, SKEW)
    fractions = system.positions @ np.linalg.inv(SKEW)
    apart = fractions[:, None] - fractions
    distance = np.linalg.norm((apart - np.rint(apart)) @ SKEW, axis=-1)
    near = np.argwhere(distance < 0.5)
    system.exclusions = near[near[:, 0] < near[:, 1]]
    assert len(system.exclusions) > 10
    return system, *ewald(system)


def rms(forces: np.ndarray) -> float:
    return float(np.sqrt((forces**2).sum(axis=1).mean()))


# --- parts ---


@pytest.mark.parametrize("order", ORDERS)
def test_splines_are_those_of_the_definition(order: int) -> None:
    """M_n(x) = 1 / (n - 1)! times the sum over k of (-1)^k C(n, k) (x - k)_+^(n - 1): Essmann's equation 4.1."""
    from math import comb, factorial

    within = np.array([0.0, 0.1, 0.5, 0.9])
    values, slopes = weights(within, order)
    for j, w in itertools.product(range(order), range(len(within))):
        x = within[w] + j
        terms = (((-1) ** k) * comb(order, k) * max(x - k, 0) ** (order - 1) for k in range(order + 1))
        assert values[j, w] == pytest.approx(sum(terms) / factorial(order - 1), abs=1e-12)
    step = 1e-6
    after, before = (weights(within[1:] + s, order)[0] for s in (step, -step))
    np.testing.assert_allclose(slopes[:, 1:], (after - before) / (2 * step), atol=1e-9)
    np.testing.assert_allclose(values.sum(axis=0), 1)
    assert moduli(16, order)[0] == pytest.approx(1)
    assert (moduli(16, order)[8] < 1e-20) == (order % 2 == 1)


def test_cell_lists_find_every_pair() -> None:
    rng = np.random.default_rng(3)
    fractions = rng.uniform(-0.3, 1.3, (150, 3))
    lattice, cutoff, own = Lattice.of(SKEW), 0.7, 60
    positions = fractions @ SKEW
    distance = np.linalg.norm(positions[:own, None] - positions, axis=-1)
    expected = {(int(i), int(j)) for i, j in np.argwhere(distance < cutoff) if i != j}
    groups = list(pairs_within(fractions, own, lattice, cutoff))
    found = [(int(i), int(j)) for group in groups for i, j in zip(group[0], group[1], strict=True)]
    assert len(found) == len(expected) > 100
    assert set(found) == expected


def test_exclusions_are_looked_up() -> None:
    known = Exclusions(np.array([[0, 5], [5, 2], [7, 8]]), 9)
    first, second = np.array([0, 5, 5, 2, 8, 3, 0]), np.array([5, 0, 2, 7, 7, 4, 8])
    assert known.hold(first, second).tolist() == [True, True, True, False, True, False, False]
    assert known.count(np.array([5, 7, 1])) == 3
    assert not Exclusions(np.zeros((0, 2), np.int64), 9).hold(first, second).any()


# --- sums ---


@pytest.mark.parametrize("name", MADELUNG)
def test_madelung_constants(name: str) -> None:
    system, distance = crystal(name, 2)
    pme = Pme(system.box, Parameters(4.5, 0.98, (24, 24, 24), 8))
    found = pme.compute(system.positions, system.charges)
    assert -found.energy * distance / (len(system.charges) / 2) == pytest.approx(MADELUNG[name], abs=1e-6)
    assert np.abs(found.forces).max() < 1e-12


@pytest.mark.parametrize(("order", "accuracy"), [(4, 1e-2), (5, 1e-3), (6, 1e-4), (7, 1e-5), (8, 1e-6)])
def test_forces_are_as_accurate_as_was_asked(skew: tuple, order: int, accuracy: float) -> None:
    """And not much more: the error that is foreseen is the one that is found."""
    system, energy, forces = skew
    moments, lattice = Moments.of(system.charges), Lattice.of(system.box)
    choice = choose(system.box, moments, accuracy, orders=(order,), rates=RATES)[0]
    pme = Pme(system.box, choice.parameters, exclusions=system.exclusions, accuracy=accuracy)
    found = pme.compute(system.positions, system.charges)
    foreseen = estimate(lattice, choice.parameters, moments)
    error = rms(found.forces - forces) / foreseen.unit
    assert error <= accuracy
    assert foreseen.relative / 2 < error < foreseen.relative * 1.5
    assert found.energy == pytest.approx(energy, abs=30 * accuracy * foreseen.unit)


@pytest.mark.parametrize("mesh", [(24, 20, 20), (21, 20, 25)])
def test_virial_is_the_derivative_by_strain(skew: tuple, mesh: tuple[int, int, int]) -> None:
    system, *_ = skew
    parameters = Parameters(3.0, 1.2, mesh, 6)
    charges = system.charges + 0.02  # with a background, whose energy depends on the volume
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pme = Pme(SKEW, parameters, exclusions=system.exclusions)
        virial = pme.compute(system.positions, charges).virial
        step, found = 1e-5, np.zeros((3, 3))
        for i, j in itertools.product(range(3), repeat=2):
            energies = []
            for sign in (1, -1):
                strain = np.eye(3)
                strain[i, j] += sign * step
                pme.set_box(SKEW @ strain)
                energies.append(pme.compute(system.positions @ strain, charges).energy)
            found[i, j] = -(energies[0] - energies[1]) / (2 * step)
    np.testing.assert_allclose(virial, found, atol=3e-8 * np.abs(virial).max())


def test_forces_are_the_derivative_of_the_energy(skew: tuple) -> None:
    system, *_ = skew
    pme = Pme(SKEW, Parameters(3.0, 1.2, (20, 20, 20), 5), exclusions=system.exclusions, wrap=True)
    forces = pme.compute(system.positions, system.charges).forces
    for atom, axis in ((0, 0), (13, 1), (69, 2)):
        step, energies = 1e-5, []
        for sign in (1, -1):
            moved = system.positions.copy()
            moved[atom, axis] += sign * step
            energies.append(pme.compute(moved, system.charges).energy)
        assert forces[atom, axis] == pytest.approx(-(energies[0] - energies[1]) / (2 * step), abs=1e-6)


def test_excluded_atoms_may_lie_on_one_another() -> None:
    """Two charges that exclude one another at one place are one charge."""
    apart = random_charges(20, np.eye(3) * 2)
    parameters = Parameters(3.0, 0.9, (20, 20, 20), 6)
    one = Pme(apart.box, parameters).compute(apart.positions, apart.charges)
    twice = np.concatenate([apart.positions, apart.positions[:1]])
    charges = np.concatenate([apart.charges, [0.3]])
    charges[0] -= 0.3
    two = Pme(apart.box, parameters, exclusions=[(0, 20)]).compute(twice, charges)
    smooth_alone = 3.0 / np.sqrt(np.pi) * (apart.charges[0] ** 2 - charges[0] ** 2 - 0.3**2)
    between = 2 * 3.0 / np.sqrt(np.pi) * charges[0] * 0.3  # erf(alpha r) / r at r = 0
    assert smooth_alone == pytest.approx(between)
    assert two.energy == pytest.approx(one.energy, abs=1e-10)
    np.testing.assert_allclose(two.forces[0] + two.forces[20], one.forces[0], atol=1e-10)


def test_energy_stays_in_time() -> None:
    run = molten_salt(40, cells=2, parameters=Parameters(0.55, 6.6, (20, 20, 20), 6))
    assert run.ripple < 1e-3
    assert abs(run.drift) < 1e-3
    assert np.ptp(run.kinetic) > 0.1 * run.kinetic.mean()  # something happens meanwhile


def test_water_has_the_right_shape() -> None:
    system = water(30)
    edge = system.box[0, 0]
    apart = system.positions[system.exclusions[:, 0]] - system.positions[system.exclusions[:, 1]]
    bonds = np.linalg.norm(apart - edge * np.rint(apart / edge), axis=1).reshape(-1, 3)
    between = 2 * WATER_BOND_NM * np.sin(WATER_ANGLE / 2)
    exact = np.broadcast_to([WATER_BOND_NM, WATER_BOND_NM, between], (30, 3))
    np.testing.assert_allclose(bonds, exact, rtol=1e-13)
    assert abs(system.charges.sum()) < 1e-12
    assert 30 / edge**3 == pytest.approx(33.33)


def test_work_moves_from_the_mesh_to_the_pairs_as_pairs_become_cheaper() -> None:
    moments = Moments(1000, 1000, 1000)
    few, many = (
        choose((3, 3, 3), moments, 1e-4, orders=(5,), rates=Rates(pair, 1e-8, 1e-8))[0] for pair in (1e-5, 1e-10)
    )
    assert few.parameters.cutoff < many.parameters.cutoff
    assert few.parameters.alpha > many.parameters.alpha
    assert np.prod(few.parameters.mesh) > np.prod(many.parameters.mesh)


def test_the_page_has_the_table_of_the_committed_rows() -> None:
    root = Path(__file__).resolve().parents[2]
    table = checks.table(json.loads((root / "apps/pme/rows.json").read_text()))
    assert len(table.splitlines()) == len(checks.TABLE)
    assert table in (root / "docs/apps/pme.md").read_text()


# --- bad input ---

BOX = (2.0, 2.0, 2.0)
GOOD = Parameters(3.0, 0.9, (16, 16, 16), 5)


@pytest.mark.parametrize(
    ("box", "parameters", "words"),
    [
        (BOX, Parameters(3.0, 1.1, (16, 16, 16)), "the box is 2 thick along edge 0; a cutoff is at most half"),
        (((2, 0, 0), (0, 2, 0), (0, 1.9, 0.5)), GOOD, "thick along edge"),
        (BOX, Parameters(3.0, 0.9, (16, 4, 16)), "at least 5 points"),
        (BOX, Parameters(3.0, 0.9, (16, 16, 16), 3), "order 4 to 8"),
        (BOX, Parameters(-1.0, 0.9, (16, 16, 16)), "both must be positive"),
        ((2, 2), GOOD, "three lengths, or three edges"),
        ((2, 2, float("nan")), GOOD, "three lengths, or three edges"),
        (((2, 0, 0), (4, 0, 0), (0, 0, 2)), GOOD, "lie in one plane"),
    ],
)
def test_bad_boxes_and_parameters(box: object, parameters: Parameters, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Pme(box, parameters)


@pytest.mark.parametrize(
    ("positions", "charges", "options", "words"),
    [
        ([[0.1, 0, 0], [2.5, 0, 0]], [1, -1], {}, r"atom 1 lies outside the box, at \[1.25, 0.0, 0.0\]"),
        ([[0.1, 0, 0], [np.nan, 0, 0]], [1, -1], {}, r"atom 1 has position \[nan"),
        ([[0.1, 0, 0], [1, 0, 0]], [1, np.inf], {}, "charge inf"),
        ([[0.1, 0, 0], [0.1, 0, 0]], [1, -1], {}, "atoms 0 and 1 lie on one another"),
        ([[0.1, 0, 0]], [1, -1], {}, r"\(atoms, 3\) and \(atoms,\)"),
        ([[0.1, 0, 0], [1, 0, 0]], [0, 0], {}, "no charge in the box"),
        ([[0.1, 0, 0], [1, 0, 0]], [1, -1], {"exclusions": [(0, 2)]}, "names atom 2; atoms have numbers 0 to 1"),
        ([[0.1, 0, 0], [1, 0, 0]], [1, -1], {"exclusions": [(1, 1)]}, "one atom twice"),
        ([[0.1, 0, 0], [1.05, 0, 0]], [1, -1], {"exclusions": [(0, 1)]}, "farther apart than the cutoff"),
        ([[0.1, 0, 0], [1, 0, 0]], [1, -1], {"accuracy": 1e-7}, "take a finer mesh"),
    ],
)
def test_bad_atoms(positions: list, charges: list, options: dict, words: str) -> None:
    pme = Pme(BOX, GOOD, **options)
    with pytest.raises(InvalidArgument, match=words):
        pme.compute(np.array(positions), np.array(charges))


def test_no_mesh_is_fine_enough() -> None:
    with pytest.raises(InvalidArgument, match="no mesh of up to"):
        choose((1000, 1000, 1000), Moments(10, 10, 10), 1e-12, orders=(4,), rates=RATES)
    with pytest.raises(InvalidArgument, match="must lie between"):
        choose(BOX, Moments(10, 10, 10), 2.0)


def test_a_net_charge_is_neutralised_with_a_warning() -> None:
    """A single charge in a cube: its energy with the background is -1.4186487 q^2 / L (Cichocki et al. 1989)."""
    pme = Pme(BOX, Parameters(4.0, 0.99, (32, 32, 32), 8))
    with pytest.warns(UserWarning, match="net charge is 1; a uniform background"):
        found = pme.compute(np.array([[0.3, 1.2, 0.7]]), np.ones(1))
    assert 2 * found.energy == pytest.approx(-1.4186487, abs=1e-6)


def test_atoms_outside_are_put_back_if_asked() -> None:
    system = random_charges(20, np.eye(3) * 2)
    inside = Pme(BOX, GOOD).compute(system.positions, system.charges)
    moved = system.positions + 2.0 * np.random.default_rng(1).integers(-2, 3, (20, 3))
    outside = Pme(BOX, GOOD, wrap=True).compute(moved, system.charges)
    assert outside.energy == pytest.approx(inside.energy, rel=1e-12)
    np.testing.assert_allclose(outside.forces, inside.forces, atol=1e-11)
