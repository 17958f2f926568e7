"""Systems that are computed by tests, checks and the benchmark: crystals, water, molten salt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# Madelung constants of unit charges, for the distance of nearest neighbours: R. E. Crandall, J. P. Buhler, J. Phys. A
# 20, 5497 (1987), to six digits.
MADELUNG = {"NaCl": 1.747565, "CsCl": 1.762675, "zinc blende": 1.638055}
COULOMB_KJ_NM = 138.935456  # kJ/mol nm; OpenMM's is read from OpenMM
COULOMB_EV_ANGSTROM = 14.399645
WATER_CHARGES = (-0.834, 0.417, 0.417)  # TIP3P: Jorgensen et al., J. Chem. Phys. 79, 926 (1983)
WATER_BOND_NM, WATER_ANGLE = 0.09572, np.deg2rad(104.52)
WATER_PER_NM3 = 33.33


@dataclass
class System:
    """Charges in a box."""

    box: np.ndarray
    positions: np.ndarray
    charges: np.ndarray
    exclusions: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def share(self, rank: int, ranks: int) -> tuple[np.ndarray, np.ndarray]:
        """A rank's atoms: a stretch of the numbers."""
        first, stop = (len(self.charges) * r // ranks for r in (rank, rank + 1))
        return self.positions[first:stop], self.charges[first:stop]


_FACES = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
# Positions of cations and of anions in a cubic cell of edge 1, and the distance of nearest neighbours.
_CRYSTALS = {
    "NaCl": (_FACES, _FACES + 0.5, 0.5),
    "CsCl": (np.zeros((1, 3)), np.full((1, 3), 0.5), np.sqrt(3) / 2),
    "zinc blende": (_FACES, _FACES + 0.25, np.sqrt(3) / 4),
}


def crystal(name: str, cells: int) -> tuple[System, float]:
    """A crystal of unit charges, and the distance of nearest neighbours: its energy is -M / distance a pair of ions."""
    cations, anions, distance = _CRYSTALS[name]
    basis = np.concatenate([cations, anions]) % 1.0
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    positions = (corners + basis).reshape(-1, 3)
    charges = np.tile(np.repeat([1.0, -1.0], [len(cations), len(anions)]), cells**3)
    return System(np.eye(3) * cells, positions, charges), float(distance)


def random_charges(atoms: int, box: np.ndarray, seed: int = 1, least: float = 0.05) -> System:
    """Neutral, anywhere in the box, no two closer than `least` times the mean distance."""
    rng = np.random.default_rng(seed)
    closest = least * (abs(np.linalg.det(box)) / atoms) ** (1 / 3)
    inverse = np.linalg.inv(box)
    placed: list[np.ndarray] = []
    while len(placed) < atoms:
        trial = rng.random(3) @ box
        apart = (np.array(placed).reshape(-1, 3) - trial) @ inverse
        apart = (apart - np.rint(apart)) @ box
        if not len(placed) or np.linalg.norm(apart, axis=1).min() > closest:
            placed.append(trial)
    charges = rng.uniform(-1, 1, atoms)
    return System(box, np.array(placed), charges - charges.mean())


def water(molecules: int, seed: int = 1) -> System:
    """Rigid TIP3P molecules on a cubic lattice at the density of water, turned at random; nm and elementary charges.
    Atoms of a molecule do not see one another."""
    rng = np.random.default_rng(seed)
    across = int(np.ceil(round(molecules ** (1 / 3), 9)))
    edge = (molecules / WATER_PER_NM3) ** (1 / 3)
    sites = np.stack(np.meshgrid(*[np.arange(across)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    sites = sites[np.sort(rng.permutation(len(sites))[:molecules])] * (edge / across)
    half = WATER_ANGLE / 2
    shape = np.array([[0, 0, 0], [np.sin(half), np.cos(half), 0], [-np.sin(half), np.cos(half), 0]]) * WATER_BOND_NM
    turns, _ = np.linalg.qr(rng.standard_normal((molecules, 3, 3)))
    positions = (sites[:, None] + np.einsum("mij,aj->mai", turns, shape)).reshape(-1, 3) % edge
    base = 3 * np.arange(molecules)[:, None, None]
    exclusions = (base + np.array([[0, 1], [0, 2], [1, 2]])).reshape(-1, 2)
    return System(np.eye(3) * edge, positions, np.tile(WATER_CHARGES, molecules), exclusions)
