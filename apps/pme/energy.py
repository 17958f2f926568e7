"""Pme: energy, forces and virial of charges in a periodic box, from the parts that the other modules compute.

Method: the Coulomb sum is short-ranged pairs (direct.py), a smooth part on a mesh (mesh.py), the energy of each charge
with its own Gaussian, and that of a background that neutralises a net charge. Atoms travel to the ranks of their
domains and forces travel back (domains.py), so each rank may hand in any of them.
Invariant: what is wrong on one rank is raised on all, before anything is sent that the others wait for.
Source: Essmann et al., J. Chem. Phys. 103, 8577 (1995).
"""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from spanfft import InvalidArgument

from ..ranks import agree
from . import splines
from .direct import Exclusions, PairPotential, short_ranged
from .domains import FRACTIONS, Domains
from .lattice import Lattice
from .mesh import Reciprocal, SpanfftTransform, Transform


@dataclass(frozen=True)
class Parameters:
    """What an Ewald sum on a mesh is made with. Lengths are in the box's unit, alpha in its inverse."""

    alpha: float
    cutoff: float
    mesh: tuple[int, int, int]
    order: int = 5

    def trouble(self, lattice: Lattice) -> str | None:
        """What is wrong with them in such a box."""
        if self.order not in splines.ORDERS:
            return f"the order is {self.order}; splines have order {splines.ORDERS[0]} to {splines.ORDERS[-1]}"
        if not (np.isfinite([self.alpha, self.cutoff]).all() and self.alpha > 0 and self.cutoff > 0):
            return f"alpha is {self.alpha} and the cutoff {self.cutoff}; both must be positive"
        if len(self.mesh) != 3 or min(self.mesh) < self.order:
            return f"the mesh is {self.mesh}; each edge needs at least {self.order} points for splines of that order"
        thin = int(np.argmin(lattice.heights))
        if self.cutoff > lattice.heights[thin] / 2:
            return (
                f"the cutoff is {self.cutoff:g}, but the box is {lattice.heights[thin]:g} thick along edge {thin}; "
                f"a cutoff is at most half of that, so repeat the box or take a shorter cutoff"
            )
        return None


@dataclass
class Energy:
    """What `Pme.compute` returns. All but `forces` are of the whole box, and the same on all ranks."""

    energy: float
    parts: dict[str, float]  # direct, reciprocal, self, background, pair potential
    forces: np.ndarray  # of the atoms that this rank handed in, in their order
    virial: np.ndarray  # minus the derivative of the energy by the strain: its trace / 3 V is a pressure
    pairs: int  # within the cutoff, each counted once from each side
    seconds: dict[str, float]  # processor time of this rank: direct, reciprocal


class Pme:
    """Smooth particle-mesh Ewald in one box, planned once and computed many times.

    Parameters
    ----------
    box
        Three lengths, or three edges as rows.
    parameters
        Ewald parameter, cutoff, mesh and order; `choose` finds them for an accuracy.
    comm
        mpi4py communicator; None: this process alone. Making a Pme, `compute` and `free` are collective.
    exclusions
        (pairs, 2) numbers of atoms that do not see one another, the same on all ranks. Atoms are numbered through,
        those of rank 0 first, in the order in which ranks hand them in.
    coulomb
        Energy of two unit charges at distance 1.
    wrap
        Atoms outside the box are put back by whole edges; False: they are refused.
    accuracy
        If given, parameters that are not expected to reach it (see `estimate`) are refused by `compute`.
    potential
        Energy of pairs and -dE/dr from distances and both atoms' numbers, added for pairs within the cutoff.
    transform
        Another library of transforms (a benchmark's); options go to spanfft.Plan.
    """

    def __init__(
        self, box: object, parameters: Parameters, comm: Any = None, *, exclusions: object = (), coulomb: float = 1.0,
        wrap: bool = False, accuracy: float | None = None, potential: PairPotential | None = None,
        transform: Transform | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.parameters, self.comm, self.coulomb, self.wrap = parameters, comm, coulomb, wrap
        self.accuracy, self.potential = accuracy, potential
        self.excluded = np.asarray(exclusions, dtype=np.int64).reshape(-1, 2)
        self._known_exclusions: Exclusions | None = None
        self._estimated: tuple[float, ...] | None = None
        self.lattice = self._agreed(box)
        self.transform = transform or SpanfftTransform(parameters.mesh, comm, **options)
        self.reciprocal = Reciprocal(parameters.mesh, parameters.alpha, parameters.order, self.transform)
        self.reciprocal.set_box(self.lattice)
        self.domains = Domains(parameters.mesh, self.transform.real_slices, comm)
        if self.domains.empty:
            warnings.warn(
                f"ranks {self.domains.empty} have no part of the mesh {parameters.mesh}: it has fewer planes than "
                f"there are ranks; they wait, so use fewer ranks or a finer mesh",
                stacklevel=2,
            )

    def compute(self, positions: np.ndarray, charges: np.ndarray) -> Energy:
        """Energy, forces and virial. Collective.

        `positions` (atoms, 3) and `charges` (atoms,) are this rank's own, which may be none."""
        positions, charges = np.asarray(positions, dtype=np.float64), np.asarray(charges, dtype=np.float64)
        fractions, trouble = self._fractions(positions, charges)
        agree(self.comm, trouble)
        counts = np.array([len(charges)] if self.comm is None else self.comm.allgather(len(charges)))
        first = int(counts[: self.domains.rank].sum())
        sums = self._sum(np.array([charges.sum(), (charges**2).sum(), (charges**4).sum(), np.abs(charges).sum()]))
        exclusions = self._check_whole(int(counts.sum()), sums)

        rows = np.column_stack([fractions, charges, first + np.arange(len(charges))])
        own, journey = self.domains.travel(rows)
        alpha, cutoff = self.parameters.alpha, self.parameters.cutoff
        ghosts = self.domains.ghosts(own, cutoff / self.lattice.heights)
        start = time.process_time()
        near = short_ranged(own, ghosts, self.lattice, alpha, cutoff, exclusions, self.coulomb, self.potential)
        middle = time.process_time()
        agree(self.comm, near.trouble)
        begin = time.process_time()
        smooth = self.reciprocal.sum(own[:, FRACTIONS], own[:, 3])
        seconds = {"direct": middle - start, "reciprocal": time.process_time() - begin}
        forces = near.forces + self.coulomb * own[:, 3, None] * smooth.field

        shares = [near.energy, self.coulomb * smooth.energy, near.other_energy, near.pairs]
        virial = near.virial + self.coulomb * smooth.virial
        total = self._sum(np.concatenate([shares, virial.ravel()]))
        alone = -self.coulomb * alpha / np.sqrt(np.pi) * sums[1]
        background = -self.coulomb * np.pi * sums[0] ** 2 / (2 * self.lattice.volume * alpha**2)
        parts = {
            "direct": total[0], "reciprocal": total[1], "self": alone, "background": background,
            "pair potential": total[2],
        }  # fmt: skip
        parts = {name: float(value) for name, value in parts.items()}
        whole_virial = total[4:].reshape(3, 3) + background * np.eye(3)
        return Energy(sum(parts.values()), parts, journey.back(forces), whole_virial, int(total[3]), seconds)

    def set_box(self, box: object) -> None:
        """The same mesh in another box, as a barostat wants it. Collective."""
        self.lattice = self._agreed(box)
        self.reciprocal.set_box(self.lattice)

    def free(self) -> None:
        """Frees plans. Collective."""
        self.transform.free()

    def _agreed(self, box: object) -> Lattice:
        """The box, if it and all else that was asked for fits, and is the same on all ranks. Collective."""
        lattice = None
        try:
            lattice = Lattice.of(box)
            trouble = self.parameters.trouble(lattice)
        except ValueError as error:
            trouble = str(error)
        agree(self.comm, trouble)
        assert lattice is not None
        if self.comm is not None:
            excluded = hashlib.sha256(self.excluded.tobytes()).hexdigest()
            asked = (lattice.rows.tolist(), self.parameters, self.coulomb, self.accuracy, excluded)
            for rank, other in enumerate(self.comm.allgather(asked)):
                if rank == 0:
                    first = other
                elif other != first:
                    raise InvalidArgument(
                        f"rank {rank} asks for another box, other parameters or other exclusions than rank 0; "
                        f"all ranks must ask for the same"
                    )
        return lattice

    def _fractions(self, positions: np.ndarray, charges: np.ndarray) -> tuple[np.ndarray, str | None]:
        nothing = np.zeros((0, 3))
        if charges.ndim != 1 or positions.shape != (len(charges), 3):
            shapes = f"{self._whose()}positions have shape {positions.shape} and charges {charges.shape}"
            return nothing, f"{shapes}; give (atoms, 3) and (atoms,)"
        bad = np.flatnonzero(~(np.isfinite(positions).all(axis=1) & np.isfinite(charges)))
        if bad.size:
            return (
                nothing,
                f"{self._whose()}atom {bad[0]} has position {positions[bad[0]].tolist()}, charge {charges[bad[0]]}",
            )
        fractions = positions @ self.lattice.inverse
        if self.wrap:
            fractions -= np.floor(fractions)
            fractions[fractions >= 1] = 0  # of -1e-17, say
        outside = np.flatnonzero(((fractions < 0) | (fractions >= 1)).any(axis=1))
        if outside.size:
            at = [round(float(f), 6) for f in fractions[outside[0]]]
            return nothing, (
                f"{self._whose()}atom {outside[0]} lies outside the box, at {at} of its edges, and {outside.size - 1} "
                f"more do; put them back by whole edges, which wrap=True does"
            )
        return fractions, None

    def _whose(self) -> str:
        return "" if self.comm is None or self.comm.size == 1 else f"rank {self.domains.rank}'s "

    def _check_whole(self, atoms: int, sums: np.ndarray) -> Exclusions:
        """What concerns all atoms together, so all ranks find the same. `sums`: of charges, squares, fourths, sizes."""
        if atoms == 0 or sums[1] == 0:
            raise InvalidArgument("there is no charge in the box; hand in at least one on some rank")
        if self.excluded.size and not 0 <= self.excluded.min() <= self.excluded.max() < atoms:
            raise InvalidArgument(f"an exclusion names atom {self.excluded.max()}; atoms have numbers 0 to {atoms - 1}")
        if (self.excluded[:, 0] == self.excluded[:, 1]).any():
            raise InvalidArgument("an exclusion names one atom twice; it takes two")
        if abs(sums[0]) > 1e-9 * sums[3]:
            warnings.warn(
                f"the net charge is {sums[0]:.6g}; a uniform background neutralises it, whose energy is counted",
                stacklevel=3,
            )
        if self.accuracy is not None and self._estimated != (atoms, *sums[1:3]):
            from .choose import Moments, estimate  # which needs this module

            found = estimate(self.lattice, self.parameters, Moments(atoms, *sums[1:3])).relative
            if found > self.accuracy:
                p = self.parameters
                raise InvalidArgument(
                    f"mesh {p.mesh} with alpha {p.alpha:.4g}, cutoff {p.cutoff:.4g} and order {p.order} gives forces "
                    f"to {found:.1e}, not to {self.accuracy:.1e}; take a finer mesh or what choose() says"
                )
            self._estimated = (atoms, *sums[1:3])
        if self._known_exclusions is None or self._known_exclusions.atoms != atoms:
            self._known_exclusions = Exclusions(self.excluded, atoms)
        return self._known_exclusions

    def _sum(self, values: np.ndarray) -> np.ndarray:
        """Over ranks, in their order, so that every rank has the same bits."""
        if self.comm is None:
            return values
        everyone = np.empty((self.comm.size, len(values)))
        self.comm.Allgather(np.ascontiguousarray(values), everyone)
        total: np.ndarray = everyone.sum(axis=0)
        return total
