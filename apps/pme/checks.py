"""Checks: each computes rows, which say what was found and what is allowed. `report` prints them.

A row has `what`, `found` and, where it is a check, `limit`, which `found` may reach; other entries are for the picture.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from spanfft import InvalidArgument

from .choose import Moments, Rates, choose, estimate
from .energy import Parameters, Pme
from .ewald import ewald
from .lattice import Lattice
from .nve import molten_salt
from .systems import MADELUNG, System, crystal, random_charges, water

Row = dict[str, Any]
SKEW = np.array([[3.0, 0, 0], [0.9, 2.7, 0], [-0.5, 0.7, 2.5]])
ROUNDING = 1e-12  # relative, of sums of some thousand terms in another order


def madelung(small: bool) -> list[Row]:
    """Of 2 x 2 x 2 cells, against tables."""
    rows = []
    for name, constant in MADELUNG.items():
        system, distance = crystal(name, 2)
        energy = (
            Pme(system.box, Parameters(4.5, 0.98, (24, 24, 24), 8)).compute(system.positions, system.charges).energy
        )
        found = -energy * distance / (len(system.charges) / 2)
        rows.append({"what": f"{name}: {found:.7f}, tables {constant}", "found": abs(found - constant), "limit": 1e-6})
    return rows


def rms(vectors: np.ndarray) -> float:
    return float(np.sqrt((vectors**2).sum(axis=1).mean()))


def forces(small: bool) -> list[Row]:
    """Random charges in a skew box against the Ewald sum itself, for each order and accuracy."""
    system = random_charges(100 if small else 300, SKEW)
    _, exact = ewald(system)
    moments, lattice = Moments.of(system.charges), Lattice.of(SKEW)
    rows = []
    for order in (4, 6, 8) if small else (4, 5, 6, 7, 8):
        for accuracy in (1e-2, 1e-3) if small else (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
            try:
                p = choose(SKEW, moments, accuracy, orders=(order,), rates=Rates(1e-7, 1e-8, 1e-8))[0].parameters
            except InvalidArgument as error:
                rows.append({"what": f"order {order}, {accuracy:.0e}: {error}"})
                continue
            found = rms(Pme(SKEW, p).compute(system.positions, system.charges).forces - exact)
            foreseen = estimate(lattice, p, moments)
            rows.append({
                "what": f"order {order}, alpha {p.alpha:.2f}, cutoff {p.cutoff:.2f}, mesh {p.mesh}",
                "order": order, "found": found / foreseen.unit, "limit": accuracy, "foreseen": foreseen.relative,
            })  # fmt: skip
    return rows


def nve(small: bool) -> list[Row]:
    """Molten sodium chloride for 1,000 steps of a femtosecond."""
    run = molten_salt(100 if small else 1000, cells=2 if small else 3)
    what = f"{run.ions} ions, {len(run.times_fs) - 1} steps of 1 fs, {run.temperature:.0f} K"
    drift = f"{what}: drift over the run, of the kinetic energy"
    every = max(1, len(run.times_fs) // 200)
    series = {name: getattr(run, name)[::every].tolist() for name in ("times_fs", "potential", "kinetic", "total")}
    return [
        {"what": drift, "found": abs(run.drift), "limit": 1e-3, **series},
        {"what": "standard deviation of the total energy, of the kinetic energy's", "found": run.ripple, "limit": 1e-2},
    ]  # fmt: skip


def water_against_openmm(small: bool, molecules: int = 6700) -> list[Row]:
    """Rigid water, turned at random on a lattice, at OpenMM's order of splines and the same alpha and mesh."""
    from . import openmm

    system = water(molecules)
    edge = float(system.box[0, 0])
    points = 4 * int(np.ceil(edge * 10.9 / 4))  # 0.092 nm apart
    parameters = Parameters(3.1, min(0.9, edge / 2), (points, points, points), 5)
    constant = openmm.coulomb()
    pme = Pme(system.box, parameters, exclusions=system.exclusions, coulomb=constant)
    found = pme.compute(system.positions, system.charges)
    energy, exact = openmm.compute(system, parameters)
    what = f"{len(system.charges)} atoms, alpha 3.1 / nm, cutoff {parameters.cutoff:.2f} nm, mesh {points}^3, order 5"
    return [
        {"what": f"{what}: energy {found.energy:.4f} kJ/mol, OpenMM {energy:.4f}; relative difference",
         "found": abs(found.energy / energy - 1), "limit": 1e-9},
        {"what": "forces: root mean square difference over root mean square",
         "found": rms(found.forces - exact) / rms(exact), "limit": 1e-9},
        {"what": "forces: largest difference over root mean square",
         "found": float(np.abs(found.forces - exact).max()) / rms(exact), "limit": 1e-9},
    ]  # fmt: skip


def differences(system: System, parameters: Parameters, comm: Any) -> dict[str, float]:
    """Of energy, forces and virial on ranks from those of this process alone, relative. Collective."""
    here = Pme(system.box, parameters, comm, exclusions=system.exclusions)
    found = here.compute(*system.share(comm.rank, comm.size))
    exact = Pme(system.box, parameters, exclusions=system.exclusions).compute(system.positions, system.charges)
    forces = np.concatenate(comm.allgather(found.forces))
    here.free()
    return {
        "energy": abs(found.energy / exact.energy - 1),
        "forces": float(np.abs(forces - exact.forces).max()) / rms(exact.forces),
        "virial": float(np.abs(found.virial - exact.virial).max() / np.abs(exact.virial).max()),
    }


def same() -> bool:
    """What `ranks` runs on each number of them; rank 0 prints a line."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    found = differences(water(216), Parameters(3.5, 0.9, (24, 24, 24), 5), comm)
    if comm.rank == 0:
        print(comm.size, *(repr(value) for value in found.values()))
    return max(found.values()) <= ROUNDING


def ranks(small: bool) -> list[Row]:
    """216 molecules of water on 1 to 8 ranks against one process."""
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = os.environ.get("SPANFFT_MPIEXEC") or (str(beside) if beside.exists() else shutil.which("mpiexec"))
    if mpiexec is None:
        raise OSError("no mpiexec was found; run this by ./spanfft-dev run")
    root = Path(__file__).resolve().parents[2]
    rows = []
    for count in (1, 2) if small else range(1, 9):
        command = [mpiexec, "-n", str(count), sys.executable, "-m", "apps.pme", "same"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        words = done.stdout.split()
        if len(words) != 4 or int(words[0]) != count:
            raise OSError(f"mpiexec -n {count}: {done.stdout}{done.stderr}")
        largest = max(map(float, words[1:]))
        what = f"{count} rank{'s' if count > 1 else ''}: energy, forces and virial differ by at most"
        rows.append({"what": what, "found": largest, "limit": ROUNDING})
    return rows


def balance(small: bool) -> list[Row]:
    """Processor seconds of pairs and of the mesh for one accuracy, as the cutoff grows: predicted, and taken here."""
    system = water(100 if small else 1000)
    moments = Moments.of(system.charges)
    found = choose(system.box, moments, 1e-3, orders=(5,), threads=1)
    rows = []
    for choice in sorted(found, key=lambda c: c.parameters.cutoff):
        p = choice.parameters
        pme = Pme(system.box, p, exclusions=system.exclusions, threads=1)
        taken = [pme.compute(system.positions, system.charges).seconds for _ in range(2 if small else 4)]
        seconds = {name: min(turn[name] for turn in taken) for name in taken[0]}
        pme.free()
        rows.append({
            "what": f"cutoff {p.cutoff:.2f} nm, alpha {p.alpha:.2f} / nm, mesh {p.mesh}: seconds",
            "found": sum(seconds.values()), "cutoff": p.cutoff, "predicted": choice.seconds,
            "predicted_direct": choice.direct_seconds, "predicted_reciprocal": choice.reciprocal_seconds, **seconds,
            "chosen": choice is found[0],
        })  # fmt: skip
    return rows


CHECKS: dict[str, Callable[..., list[Row]]] = {
    "madelung": madelung, "forces": forces, "nve": nve, "ranks": ranks, "balance": balance,
    "water": water_against_openmm,
}  # fmt: skip


def report(name: str, rows: list[Row]) -> bool:
    """Prints rows; whether all are within their limits."""
    print(f"== {name}: {(CHECKS[name].__doc__ or '').strip()}")
    good = True
    for row in rows:
        found = f"{row['found']:.3g}" if "found" in row else "-"
        limit, verdict = "", ""
        if "limit" in row:
            passed = row["found"] <= row["limit"]
            limit, verdict = f"<= {row['limit']:.0e}", "ok" if passed else "FAILED"
            good &= passed
        print(f"   {row['what']:<100} {found:>10} {limit:<9} {verdict}".rstrip(), flush=True)
    return good


def table(rows: dict[str, list[Row]]) -> str:
    """The largest of each kind of check, for the page."""
    lines = []
    for name, what, key in TABLE:
        chosen = [row for row in rows.get(name, []) if "limit" in row and key in row["what"]]
        if chosen:
            worst = max(chosen, key=lambda row: row["found"] / row["limit"])
            lines.append(f"| {what} | {worst['limit']:.0e} | {worst['found']:.1e} |")
    return "\n".join(lines)


# Rows of a check whose `what` has a word, and what the page calls them.
TABLE = (
    *(("madelung", f"Madelung constant of {name}, {constant}", f"{name}:") for name, constant in MADELUNG.items()),
    ("forces", "forces in a skew box against the Ewald sum, orders 4 to 8, the nearest to what was asked for", "order"),
    ("nve", "molten NaCl, 216 ions, 1,000 steps of 1 fs: drift of the total energy, of the kinetic energy", "drift"),
    ("nve", "the same: its standard deviation, of the kinetic energy's", "deviation"),
    ("ranks", "1 to 8 ranks against one process: energy, forces, virial", "rank"),
    ("water", "20,100 atoms of water against OpenMM: energy, relative", "energy"),
    ("water", "the same: forces, root mean square", "root mean square difference"),
    ("water", "the same: forces, the largest difference over the root mean square", "largest"),
)
