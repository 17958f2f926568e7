"""apps/pme on ranks: the same energies and forces as in one process to rounding, and sentences on all ranks."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI
from ranks_support import agrees
from spanfft import InvalidArgument

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from apps.pme import Moments, Parameters, Pme, Rates, choose
from apps.pme.nve import molten_salt
from apps.pme.systems import MADELUNG, System, crystal, random_charges

SKEW = np.array([[3.0, 0, 0], [0.9, 2.7, 0], [-0.5, 0.7, 2.5]])
PARAMETERS = Parameters(3.5, 1.1, (18, 20, 15), 5)


def system_of(seed: int) -> System:
    """With exclusions of neighbours, most of which some ranks do not hand in."""
    system = random_charges(60, SKEW, seed)
    fractions = system.positions @ np.linalg.inv(SKEW)
    apart = fractions[:, None] - fractions
    near = np.argwhere(np.linalg.norm((apart - np.rint(apart)) @ SKEW, axis=-1) < 0.5)
    system.exclusions = near[near[:, 0] < near[:, 1]]
    return system


def assert_same(comm: MPI.Comm, system: System, pme: Pme, shared_out: bool = True) -> None:
    """As in one process, whether all ranks hand in atoms or the first one all of them."""
    first, count = (comm.rank, comm.size) if shared_out else (min(comm.rank, 1), 1)
    positions, charges = system.share(first, count)
    alone = Pme(SKEW, pme.parameters, exclusions=system.exclusions)
    found = pme.compute(positions, charges)
    expected = alone.compute(system.positions, system.charges)
    forces = np.concatenate(comm.allgather(found.forces))
    scale = np.abs(expected.forces).max()
    np.testing.assert_allclose(forces, expected.forces, atol=1e-12 * scale)
    np.testing.assert_allclose(found.virial, expected.virial, atol=1e-12 * np.abs(expected.virial).max())
    assert found.energy == pytest.approx(expected.energy, rel=1e-12)
    assert found.pairs == expected.pairs
    assert (
        comm.allgather((found.energy, found.virial.tobytes())) == [(found.energy, found.virial.tobytes())] * comm.size
    )


def test_as_in_one_process(comm: MPI.Comm):
    """By the paper's exchange; the other tests take the planner's."""
    system = system_of(1)
    pme = Pme(SKEW, PARAMETERS, comm, exclusions=system.exclusions, exchange="overlap:2")
    assert_same(comm, system, pme)
    pme.free()


def test_one_rank_has_all_atoms_another_all_of_the_mesh(comm: MPI.Comm):
    """Ranks without atoms, and ranks without a part of the mesh, of which all are warned."""
    system = system_of(2)
    slices = [slice(0, n) if comm.rank == comm.size - 1 else slice(0, 0) for n in PARAMETERS.mesh]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pme = Pme(SKEW, PARAMETERS, comm, exclusions=system.exclusions, real_slices=slices, output="natural")
    told = any("have no part of the mesh" in str(w.message) for w in caught)
    assert comm.allgather(told) == [comm.size > 1] * comm.size
    assert_same(comm, system, pme, shared_out=False)
    pme.free()


def test_more_ranks_than_planes(comm: MPI.Comm):
    """Slabs of a mesh of four planes: from five ranks on some have none, which is said, and the result is the same."""
    system = system_of(3)
    few = Parameters(1.5, 1.1, (4, 8, 8), 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pme = Pme(SKEW, few, comm, exclusions=system.exclusions, grid=(comm.size, 1, 1))
    assert any("fewer planes than there are ranks" in str(w.message) for w in caught) == (comm.size > 4)
    assert_same(comm, system, pme)
    pme.free()


def test_madelung_constant_and_energy_in_time(comm: MPI.Comm):
    system, distance = crystal("CsCl", 2)
    pme = Pme(system.box, Parameters(4.0, 0.98, (20, 20, 20), 8), comm)
    found = pme.compute(*system.share(comm.rank, comm.size))
    assert -found.energy * distance / (len(system.charges) / 2) == pytest.approx(MADELUNG["CsCl"], abs=1e-6)
    pme.free()
    melt = Parameters(0.5, 6.6, (16, 16, 16), 5)
    here, alone = (molten_salt(2, c, cells=2, parameters=melt) for c in (comm, None))
    np.testing.assert_allclose(here.total, alone.total, rtol=1e-12)


def test_all_ranks_choose_the_same(comm: MPI.Comm):
    rates = None if comm.size > 1 else Rates(1e-7, 1e-8, 1e-8)  # None: rank 0 measures them
    found = choose((3, 3, 3), Moments(500, 500, 500), 1e-2, comm, orders=(4,), cutoffs=2, rates=rates)
    assert comm.allgather(found) == [found] * comm.size


def test_mistakes_of_one_rank_are_told_on_all(comm: MPI.Comm):
    pme = Pme((2, 2, 2), Parameters(3.0, 0.9, (16, 16, 16), 5), comm)
    last = comm.rank == comm.size - 1
    positions = np.array([[0.1 + 1.8 * comm.rank / comm.size, 0.1, 0.1], [0.5, 0.5, 1.5 * (comm.rank + 1) / comm.size]])
    charges = np.array([1.0, -1.0])

    def changed(**changes: object) -> tuple[np.ndarray, np.ndarray]:
        p, q = positions.copy(), charges.copy()
        if last and "position" in changes:
            p[1, 2] = changes["position"]
        if last and "charge" in changes:
            q[1] = changes["charge"]
        return p, q

    whose = f"rank {comm.size - 1}'s " if comm.size > 1 else ""
    agrees(comm, lambda: pme.compute(*changed(position=-0.3)), InvalidArgument, f"{whose}atom 1 lies outside the box")
    agrees(comm, lambda: pme.compute(*changed(position=np.nan)), InvalidArgument, f"{whose}atom 1 has position")
    agrees(comm, lambda: pme.compute(*changed(charge=np.inf)), InvalidArgument, f"{whose}atom 1 has .* charge inf")
    agrees(
        comm,
        lambda: pme.compute(positions[:1] if last else positions, charges),
        InvalidArgument,
        "positions have shape",
    )
    agrees(comm, lambda: pme.compute(0 * positions + 0.3, charges), InvalidArgument, "atoms 0 and 1 lie on one another")
    agrees(comm, lambda: pme.compute(positions, 0 * charges), InvalidArgument, "no charge in the box")
    with pytest.warns(UserWarning, match="net charge"):
        pme.compute(*changed(charge=-0.5))
    assert np.isfinite(pme.compute(positions, charges).energy)  # and it still works
    pme.free()
    agrees(
        comm, lambda: Pme((2, 2, 2), Parameters(3.0, 1.2, (16, 16, 16)), comm), InvalidArgument, "at most half of that"
    )
    if comm.size > 1:
        alpha = 3.1 if last else 3.0
        other = f"rank {comm.size - 1} asks for another box"
        agrees(comm, lambda: Pme((2, 2, 2), Parameters(alpha, 0.9, (16, 16, 16)), comm), InvalidArgument, other)
