"""Lattice: the periodic box, any parallelepiped, and how it is seen in fractions of its edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Lattice:
    """`rows` are the three edges. A position r has the fractions r @ inverse, and r is fractions @ rows."""

    rows: np.ndarray

    @staticmethod
    def of(box: object) -> Lattice:
        """From three lengths, or from three edges as rows. Raises ValueError with a sentence."""
        given = np.array(box, dtype=np.float64)
        rows = np.diag(given) if given.shape == (3,) else given
        if rows.shape != (3, 3) or not np.isfinite(rows).all():
            raise ValueError(f"the box is {box!r}; it must be three lengths, or three edges as the rows of a matrix")
        if abs(np.linalg.det(rows)) <= 1e-9 * np.prod(np.linalg.norm(rows, axis=1)):
            raise ValueError(f"the box has edges {rows.tolist()}, which lie in one plane; it must have a volume")
        return Lattice(rows)

    @cached_property
    def inverse(self) -> np.ndarray:
        """Its columns are the reciprocal vectors: an edge times its own is 1, times another's 0."""
        return np.linalg.inv(self.rows)

    @cached_property
    def volume(self) -> float:
        return float(abs(np.linalg.det(self.rows)))

    @cached_property
    def heights(self) -> np.ndarray:
        """The distance between opposite faces, for each edge."""
        return 1 / np.linalg.norm(self.inverse, axis=0)

    @cached_property
    def metric(self) -> np.ndarray:
        """|m|^2 of the frequency m = m1 a1* + m2 a2* + m3 a3* is the sum of metric[i, j] m_i m_j."""
        return self.inverse.T @ self.inverse

    def square(self, m: tuple[np.ndarray, ...]) -> np.ndarray:
        """|m|^2, of three arrays that are broadcast."""
        total: np.ndarray = np.zeros(())
        for i in range(3):
            for j in range(3):
                if self.metric[i, j]:
                    total = total + self.metric[i, j] * (m[i] * m[j])
        return total
