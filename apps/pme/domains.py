"""Domains: which rank works on which atoms. A rank has the atoms that lie in its part of the mesh.

Method: a caller's atoms, wherever they are, travel to the ranks of their domains as rows of numbers (fractions, charge,
number of the atom), and what was found for them travels back the same way. `ghosts` brings, once more as rows, the
atoms of others, and periodic images of all, that lie within the cutoff of a domain, along each edge.
Invariant: every atom is in exactly one domain; images keep their number, and lie where they are seen.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

FRACTIONS, CHARGE, NUMBER = slice(0, 3), 3, 4  # columns of a row


def send_rows(rows: np.ndarray, counts: np.ndarray, comm: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows, sorted by the rank that gets them, `counts` for each: what this rank gets, and how many of each rank."""
    if comm is None:
        return rows, counts
    got = np.empty_like(counts)
    comm.Alltoall(counts, got)
    columns = rows.shape[1]
    received = np.empty((int(got.sum()), columns))
    sent = [np.ascontiguousarray(rows), (counts * columns).tolist()]
    comm.Alltoallv(sent, [received, (got * columns).tolist()])
    return received, got


@dataclass
class Journey:
    """How atoms travelled to their domains: the way back of what was found for them."""

    order: np.ndarray
    sent: np.ndarray
    got: np.ndarray
    comm: Any

    def back(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the order in which the caller gave the atoms."""
        returned, _ = send_rows(rows, self.got, self.comm)
        result = np.empty_like(returned)
        result[self.order] = returned
        return result


class Domains:
    """The parts of a mesh, seen as domains of space. Collective where a communicator is given."""

    def __init__(self, mesh: tuple[int, ...], part: tuple[slice, ...], comm: Any) -> None:
        self.mesh, self.comm = np.array(mesh), comm
        mine = np.array([s.indices(n)[:2] for s, n in zip(part, mesh, strict=True)])
        self.parts = np.array([mine] if comm is None else comm.allgather(mine))  # rank, axis, (start, stop)
        self.rank = 0 if comm is None else comm.rank
        full = [rank for rank, part in enumerate(self.parts) if (part[:, 0] < part[:, 1]).all()]
        self.starts = [np.unique(self.parts[full, axis, 0]) for axis in range(3)]
        self.table = np.full([len(starts) for starts in self.starts], -1)
        for rank in full:
            self.table[self.place(self.parts[rank, :, 0][None])] = rank
        self.empty = [rank for rank in range(len(self.parts)) if rank not in full]

    def place(self, cells: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(np.searchsorted(self.starts[axis], cells[:, axis], "right") - 1 for axis in range(3))

    def travel(self, rows: np.ndarray) -> tuple[np.ndarray, Journey]:
        """The atoms of this rank's domain."""
        cells = np.minimum((rows[:, FRACTIONS] * self.mesh).astype(np.int64), self.mesh - 1)
        owner = self.table[self.place(cells)]
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=len(self.parts)).astype(np.int64)
        here, got = send_rows(rows[order], counts, self.comm)
        return here, Journey(order, counts, got, self.comm)

    def ghosts(self, rows: np.ndarray, margin: np.ndarray) -> np.ndarray:
        """Atoms of others and images of all within `margin` (fractions of the edges) of this rank's domain."""
        groups, counts = [], np.zeros(len(self.parts), np.int64)
        for rank, part in enumerate(self.parts):
            if rank in self.empty:
                continue
            low, high = part[:, 0] / self.mesh - margin, part[:, 1] / self.mesh + margin
            # Along each axis: the atoms whose image in the period before, in this one, and in the next, are near.
            near = [(rows[:, FRACTIONS] + shift >= low) & (rows[:, FRACTIONS] + shift <= high) for shift in (-1, 0, 1)]
            for shift in itertools.product((-1, 0, 1), repeat=3):
                if rank == self.rank and shift == (0, 0, 0):
                    continue
                x, y, z = (near[s + 1][:, axis] for axis, s in enumerate(shift))
                images = rows[x & y & z]
                images[:, FRACTIONS] += shift
                groups.append(images)
                counts[rank] += len(images)
        return send_rows(np.concatenate(groups) if groups else rows[:0], counts, self.comm)[0]
