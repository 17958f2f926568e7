"""OpenMM's particle-mesh Ewald at our parameters, in double precision on its Reference platform, for comparison."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from .energy import Parameters
from .systems import System

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "openmm.txt"


def load() -> ModuleType:
    """OpenMM, installed into this environment if it is not there."""
    try:
        import openmm
    except ImportError:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "-r", REQUIREMENTS], check=True)
        import openmm
    found: ModuleType = openmm
    return found


def _context(mm: ModuleType, force: object, box: np.ndarray, positions: np.ndarray) -> object:
    system = mm.System()
    system.setDefaultPeriodicBoxVectors(*box.tolist())
    for _ in positions:
        system.addParticle(1.0)
    system.addForce(force)
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    return context


def coulomb() -> float:
    """The energy that OpenMM gives two unit charges at 1 nm, in kJ/mol."""
    mm = load()
    force = mm.NonbondedForce()
    force.setNonbondedMethod(mm.NonbondedForce.NoCutoff)
    for _ in range(2):
        force.addParticle(1.0, 1.0, 0.0)
    context = _context(mm, force, 10 * np.eye(3), np.array([[0.0, 0, 0], [1.0, 0, 0]]))
    return float(context.getState(getEnergy=True).getPotentialEnergy()._value)


def compute(system: System, parameters: Parameters) -> tuple[float, np.ndarray]:
    """Energy in kJ/mol and forces in kJ/mol/nm. Excluded pairs are OpenMM's exceptions of strength 0."""
    if parameters.order != 5:
        raise ValueError(f"OpenMM's splines have order 5, not {parameters.order}")
    mm = load()
    force = mm.NonbondedForce()
    force.setNonbondedMethod(mm.NonbondedForce.PME)
    force.setCutoffDistance(parameters.cutoff)
    force.setPMEParameters(parameters.alpha, *parameters.mesh)
    force.setUseDispersionCorrection(False)
    force.setExceptionsUsePeriodicBoundaryConditions(True)  # molecules may lie across the faces of the box
    for charge in system.charges:
        force.addParticle(float(charge), 1.0, 0.0)
    for i, j in system.exclusions:
        force.addException(int(i), int(j), 0.0, 1.0, 0.0)
    state = _context(mm, force, system.box, system.positions).getState(getEnergy=True, getForces=True)
    return float(state.getPotentialEnergy()._value), np.array(state.getForces(asNumpy=True)._value)
