"""The short-ranged part of the Ewald sum: pairs within the cutoff, found by cell lists, and what exclusions change.

Method: own atoms and ghosts are sorted into cells of half the cutoff; the 5 x 5 x 5 cells around an atom are 25 runs of
the sorted list. Each rank computes the whole force on its own atoms, and half of the energy of their pairs, so nothing
is sent back. An excluded pair counts nothing here, but the mesh counts its smooth part, erf(alpha r) / r, which is
subtracted.
Invariant: an atom's pairs do not depend on which rank has it.
Source: Essmann et al., J. Chem. Phys. 103, 8577 (1995), equations 2.1 to 2.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, erfc

from .domains import CHARGE, FRACTIONS, NUMBER
from .lattice import Lattice

CHUNK_PAIRS = 1 << 20
REACH = 2  # cells on either side, of half the cutoff
OVERLAP = 1e-6  # of the cutoff: closer atoms lie on one another

# Energy of pairs and -dE/dr, of their distances and the numbers of both atoms.
PairPotential = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Exclusions:
    """Pairs of atoms that do not see one another, looked up by their numbers."""

    def __init__(self, pairs: np.ndarray, atoms: int) -> None:
        both = np.concatenate([pairs, pairs[:, ::-1]])
        self.atoms = atoms
        self.keys = np.unique(both[:, 0] * atoms + both[:, 1])
        self.span = int(np.abs(pairs[:, 0] - pairs[:, 1]).max(initial=0))  # no numbers are farther apart

    def hold(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Which of the pairs are excluded."""
        found = np.zeros(len(first), bool)
        near = np.flatnonzero(np.abs(first - second) <= self.span) if len(self.keys) else np.empty(0, np.int64)
        keys = first[near] * self.atoms + second[near]
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        if len(near):
            found[near] = self.keys[place] == keys
        return found

    def count(self, numbers: np.ndarray) -> int:
        """How many excluded pairs atoms of such numbers have, each atom counting its own."""
        low, high = (np.searchsorted(self.keys, (numbers + more) * self.atoms) for more in (0, 1))
        return int((high - low).sum())


def pairs_within(fractions: np.ndarray, own: int, lattice: Lattice, cutoff: float) -> Iterator[tuple[np.ndarray, ...]]:
    """Pairs (i, j, r_i - r_j, r^2), i one of the first `own` atoms, j any other, in groups that fit the cache."""
    if own == 0:
        return
    size = cutoff / lattice.heights / REACH
    low = fractions.min(axis=0)
    cells = ((fractions - low) / size).astype(np.int64) + REACH
    dims = cells.max(axis=0) + REACH + 1
    line = (cells[:, 0] * dims[1] + cells[:, 1]) * dims[2] + cells[:, 2]
    order = np.argsort(line, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=int(np.prod(dims))))])
    positions = fractions @ lattice.rows
    sorted_positions = positions[order]
    around = np.arange(-REACH, REACH + 1)
    runs = line[:own, None] + ((around[:, None] * dims[1] + around[None, :]) * dims[2]).reshape(-1)
    first, stop = starts[runs - REACH], starts[runs + REACH + 1]
    candidates = np.cumsum((stop - first).sum(axis=1))
    group = 0
    while group < own:
        done = candidates[group - 1] if group else 0
        end = max(group + 1, int(np.searchsorted(candidates, done + CHUNK_PAIRS)))
        counts = (stop[group:end] - first[group:end]).ravel()
        ends = np.cumsum(counts)
        i = np.repeat(np.arange(group, min(end, own)), (stop[group:end] - first[group:end]).sum(axis=1))
        place = np.arange(ends[-1]) + np.repeat(first[group:end].ravel() - (ends - counts), counts)
        apart = positions[i] - sorted_positions[place]
        square = np.einsum("pi,pi->p", apart, apart)
        j = order[place]
        kept = np.flatnonzero((square < cutoff * cutoff) & (i != j))
        yield i[kept], j[kept], apart[kept], square[kept]
        group = end


@dataclass
class ShortRanged:
    """This rank's share of energy and virial, and the forces on its atoms."""

    energy: float
    other_energy: float  # of the pair potential
    virial: np.ndarray
    forces: np.ndarray
    pairs: int
    trouble: str | None = None


def short_ranged(
    own: np.ndarray, ghosts: np.ndarray, lattice: Lattice, alpha: float, cutoff: float, exclusions: Exclusions,
    coulomb: float = 1.0, potential: PairPotential | None = None,
) -> ShortRanged:  # fmt: skip
    """Of rows of atoms and ghosts. `trouble` says what is wrong with the atoms of this rank."""
    rows = np.concatenate([own, ghosts])
    charges, numbers = rows[:, CHARGE], rows[:, NUMBER].astype(np.int64)
    forces, virial = np.zeros((len(own), 3)), np.zeros((3, 3))
    energy = other = 0.0
    pairs = excluded_pairs = 0
    trouble = None
    for i, j, apart, square in pairs_within(rows[:, FRACTIONS], len(own), lattice, cutoff):
        excluded = exclusions.hold(numbers[i], numbers[j])
        excluded_pairs += int(excluded.sum())
        close = np.flatnonzero((square < (OVERLAP * cutoff) ** 2) & ~excluded)
        if close.size:
            a, b = sorted((numbers[i[close[0]]], numbers[j[close[0]]]))
            trouble = f"atoms {a} and {b} lie on one another; move one, or exclude the pair"
            break
        r = np.sqrt(square)
        product = coulomb * charges[i] * charges[j]
        part, pull = _coulomb(r, alpha, excluded)
        energy += float(product @ part)
        pull = product * pull
        if potential is not None:
            seen = np.flatnonzero(~excluded)
            value, slope = potential(r[seen], numbers[i[seen]], numbers[j[seen]])
            other += float(value.sum())
            pull[seen] += slope / r[seen]
        pushed = pull[:, None] * apart
        for axis in range(3):
            forces[:, axis] += np.bincount(i, pushed[:, axis], minlength=len(own))
        virial += pushed.T @ apart
        pairs += len(i)
    missing = exclusions.count(numbers[: len(own)]) - excluded_pairs
    if trouble is None and missing:
        trouble = f"{missing} excluded pairs are farther apart than the cutoff, {cutoff:g}; exclude bonded atoms only"
    return ShortRanged(energy / 2, other / 2, virial / 2, forces, pairs, trouble)


def _coulomb(r: np.ndarray, alpha: float, excluded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Energy of a pair of unit charges, and its force over r: erfc(alpha r) / r, or for excluded ones -erf / r."""
    bell = 2 * alpha / np.sqrt(np.pi) * np.exp(-((alpha * r) ** 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        part = erfc(alpha * r) / r
        pull = (part + bell) / (r * r)
        if excluded.any():
            x = alpha * r[excluded]
            tiny = x < 1e-3  # where -erf / r and its derivative are differences of equal numbers
            part[excluded] = np.where(tiny, -2 * alpha / np.sqrt(np.pi) * (1 - x * x / 3), -erf(x) / r[excluded])
            exact = (part[excluded] + bell[excluded]) / r[excluded] ** 2
            pull[excluded] = np.where(tiny, -4 * alpha**3 / (3 * np.sqrt(np.pi)) * (1 - 0.6 * x * x), exact)
    return part, pull
