"""The Ewald sum itself, term by term in both spaces: the reference of tests. O(N^2) and more, for some hundred charges.

Invariant: both sums are taken until what is left out is below rounding, so nothing depends on alpha.
Source: Essmann et al., J. Chem. Phys. 103, 8577 (1995), equations 2.1 to 2.5.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import erfc

from .lattice import Lattice
from .systems import System

NOTHING = 6.0  # exp(-36) and erfc(6) are 2e-16


def ewald(system: System) -> tuple[float, np.ndarray]:
    """Energy and forces, Coulomb constant 1. Excluded pairs lose 1 / r of their nearest images."""
    lattice, q = Lattice.of(system.box), system.charges
    alpha = float(np.sqrt(np.pi) * len(q) ** (1 / 6) / lattice.volume ** (1 / 3))
    energy = -alpha / np.sqrt(np.pi) * (q @ q) - np.pi * q.sum() ** 2 / (2 * lattice.volume * alpha**2)
    forces = np.zeros((len(q), 3))

    fractions = system.positions @ lattice.inverse
    apart = fractions[:, None] - fractions[None]
    apart -= np.rint(apart)
    reach = [int(n) for n in np.ceil(NOTHING / alpha / lattice.heights + 0.5)]
    for shift in itertools.product(*(range(-n, n + 1) for n in reach)):
        d = (apart + shift) @ lattice.rows
        r = np.linalg.norm(d, axis=-1)
        r[r == 0] = np.inf
        product = np.outer(q, q)
        energy += 0.5 * float((product * erfc(alpha * r) / r).sum())
        bell = 2 * alpha / np.sqrt(np.pi) * np.exp(-((alpha * r) ** 2))
        forces += np.einsum("ij,ijx->ix", product * (erfc(alpha * r) / r + bell) / r**2, d)

    reach = [int(n) for n in np.ceil(NOTHING * alpha / np.pi * np.linalg.norm(lattice.rows, axis=1))]
    m = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in reach), indexing="ij"), axis=-1).reshape(-1, 3)
    vectors = m @ lattice.inverse.T
    square = np.einsum("mx,mx->m", vectors, vectors)
    kept = (square > 0) & (square < (NOTHING * alpha / np.pi) ** 2)
    vectors, square, m = vectors[kept], square[kept], m[kept]
    influence = np.exp(-((np.pi / alpha) ** 2) * square) / (np.pi * lattice.volume * square)
    waves = np.exp(2j * np.pi * fractions @ m.T)
    structure = q @ waves
    energy += 0.5 * float((influence * np.abs(structure) ** 2).sum())
    turned = (waves * (influence * structure.conj())).imag
    forces += 2 * np.pi * q[:, None] * (turned @ vectors)

    for i, j in system.exclusions:
        d = apart[i, j] @ lattice.rows
        r = float(np.linalg.norm(d))
        energy -= q[i] * q[j] / r
        forces[i] -= q[i] * q[j] * d / r**3
        forces[j] += q[i] * q[j] * d / r**3
    return energy, forces
