"""NVE: molten sodium chloride in a box of its own energy, by velocity Verlet: does energy stay what it is?

Method: Coulomb forces by Pme, the repulsion of Tosi and Fumi (without their dispersion terms, which are of no use for
the check) for pairs within the cutoff. Each rank keeps its atoms; the domains follow them by themselves.
Units: Angstrom, eV, unified atomic mass; so time is in 10.18 fs.
Source of the repulsion: Tosi, Fumi, J. Phys. Chem. Solids 25, 45 (1964).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .choose import Moments, choose
from .energy import Parameters, Pme
from .systems import COULOMB_EV_ANGSTROM, crystal

FEMTOSECOND = 1 / 10.180506  # sqrt(u / eV) Angstrom is 10.18 fs
BOLTZMANN = 8.617333e-5  # eV / K
MASSES = (22.98977, 35.453)
STEEPNESS = 3.15  # of the repulsion, per Angstrom
# Na+ Na+, Na+ Cl-, Cl- Cl-: strength in eV, and sum of radii in Angstrom.
STRENGTHS, RADII = np.array([0.2637, 0.2110, 0.1582]), np.array([2.340, 2.755, 3.170])
EDGE = 6.7  # of a cubic cell with four pairs: molten, 1.5 times as roomy as the crystal's 5.64 Angstrom


@dataclass
class Run:
    """Energies in eV at each step, the same on all ranks."""

    times_fs: np.ndarray
    potential: np.ndarray
    kinetic: np.ndarray
    ions: int

    @property
    def total(self) -> np.ndarray:
        return self.potential + self.kinetic

    @property
    def drift(self) -> float:
        """Of a straight line through the total energy, over the whole run, in units of the mean kinetic energy."""
        slope = float(np.polyfit(self.times_fs, self.total, 1)[0])
        return slope * float(self.times_fs[-1] - self.times_fs[0]) / float(self.kinetic.mean())

    @property
    def ripple(self) -> float:
        """Standard deviation of the total energy over that of the kinetic energy."""
        return float(self.total.std() / self.kinetic.std())

    @property
    def temperature(self) -> float:
        return float(2 * self.kinetic[len(self.kinetic) // 2 :].mean() / (3 * self.ions * BOLTZMANN))


def molten_salt(
    steps: int, comm: Any = None, *, cells: int = 3, step_fs: float = 1.0, kelvin: float = 2400, accuracy: float = 1e-5,
    parameters: Parameters | None = None,
) -> Run:  # fmt: skip
    """8 ions a cell. From the crystal, which has half of the kinetic energy when it has melted. Collective."""
    salt, _ = crystal("NaCl", cells)
    box, positions = salt.box * EDGE, salt.positions * EDGE
    kinds = (salt.charges < 0).astype(np.int64)
    rank, ranks = (0, 1) if comm is None else (comm.rank, comm.size)
    mine = slice(*(len(kinds) * r // ranks for r in (rank, rank + 1)))
    masses = np.array(MASSES)[kinds]
    rng = np.random.default_rng(7)  # the same on all ranks
    speeds = rng.standard_normal(positions.shape) * np.sqrt(BOLTZMANN * kelvin / masses)[:, None]
    speeds -= (masses[:, None] * speeds).sum(axis=0) / masses.sum()

    def repulsion(r: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pair = kinds[first] + kinds[second]
        energy = STRENGTHS[pair] * np.exp(STEEPNESS * (RADII[pair] - r))
        return energy, STEEPNESS * energy

    if parameters is None:
        parameters = choose(box, Moments.of(salt.charges), accuracy, comm, orders=(6,))[0].parameters
    pme = Pme(box, parameters, comm, coulomb=COULOMB_EV_ANGSTROM, wrap=True, potential=repulsion)
    x, v, charges, mass = positions[mine], speeds[mine], salt.charges[mine], masses[mine, None]
    step = step_fs * FEMTOSECOND
    energy = pme.compute(x, charges)
    rows = []
    for number in range(steps + 1):
        kinetic = 0.5 * float((mass * v**2).sum())
        rows.append((number * step_fs, energy.energy, kinetic if comm is None else sum(comm.allgather(kinetic))))
        if number == steps:
            break
        v = v + 0.5 * step * energy.forces / mass
        x = x + step * v
        energy = pme.compute(x, charges)
        v = v + 0.5 * step * energy.forces / mass
    pme.free()
    return Run(*np.array(rows).T, ions=len(kinds))
