"""Reciprocal: the smooth part of the Ewald sum, on a mesh that is divided over ranks.

Method: charges are spread by B-splines onto this rank's part with a halo below it, halos are added back, one r2c
transform leaves the spectrum where its last exchange puts it, the influence function multiplies it there, c2r goes
back, a halo exchange gives the potential around the part, and splines read potential and field from it.
Invariant: an atom is here if the mesh point below it is; its n^3 points then lie in the part and its halo.
Source: Essmann et al., J. Chem. Phys. 103, 8577 (1995), section II to IV; what they number is cited below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import spanfft

from . import splines
from .lattice import Lattice

CHUNK_POINTS = 1 << 20  # mesh points of a group of atoms, of which there are some arrays at a time


class Transform(Protocol):
    """What is needed of a library of transforms. Arrays are this rank's parts; they are filled where they lie."""

    real: np.ndarray
    real_slices: tuple[slice, ...]
    spectrum_slices: tuple[slice, ...]
    scale: float  # backward(forward(u)) is scale * u

    def forward(self) -> np.ndarray:
        """The spectrum of `real`, which may be changed where it lies before `backward`."""

    def backward(self) -> np.ndarray:
        """Real space, of the spectrum where it lies."""

    def halo(self, width: spanfft.Width) -> spanfft.Halo: ...

    def free(self) -> None: ...


class SpanfftTransform:
    """The plan owns both arrays, so that nothing is copied in or out."""

    scale = 1.0

    def __init__(self, mesh: tuple[int, ...], comm: Any = None, **options: Any) -> None:
        options = {"output": "exchanged", **options}
        self.plan = spanfft.Plan(mesh, kind="r2c", comm=comm, own_input=True, own_output=True, **options)
        self.real = self.plan.input_array()
        self.real_slices, self.spectrum_slices = self.plan.input_slices, self.plan.output_slices
        self._spectrum = self.plan.output_array()
        self.halo = self.plan.halo

    def forward(self) -> np.ndarray:
        self._spectrum = self.plan.forward(self.real)
        return self._spectrum

    def backward(self) -> np.ndarray:
        return self.plan.backward(self._spectrum)

    def free(self) -> None:
        self.plan.free()


@dataclass
class Smooth:
    """This rank's share of energy and virial, and potential and field at its atoms."""

    energy: float
    virial: np.ndarray
    potential: np.ndarray
    field: np.ndarray


class Reciprocal:
    """The reciprocal sum of one mesh, Ewald parameter and order of splines."""

    def __init__(self, mesh: tuple[int, ...], alpha: float, order: int, transform: Transform) -> None:
        self.mesh, self.alpha, self.order, self.transform = mesh, alpha, order, transform
        self.halo = transform.halo(((order - 1, 0),) * 3)
        self.padded = np.zeros(self.halo.shape)
        self.first = np.array([line.start for line in self.halo.ranges])

    def set_box(self, lattice: Lattice) -> None:
        """The influence function on this rank's part of the spectrum: equation 4.7 without the charges."""
        self.lattice = lattice
        lines = [np.arange(*part.indices(n)) for part, n in zip(self.transform.spectrum_slices, self.mesh, strict=True)]
        self.m = np.ix_(*(splines.signed(line, n).astype(float) for line, n in zip(lines, self.mesh, strict=True)))
        square = lattice.square(self.m)
        with np.errstate(divide="ignore", invalid="ignore"):
            influence = np.exp(-((np.pi / self.alpha) ** 2) * square) / (np.pi * lattice.volume * square)
            for axis, (line, n) in enumerate(zip(lines, self.mesh, strict=True)):
                b = 1 / splines.moduli(n, self.order)[line]
                # K / 2 stands for -K / 2 as well, which in a skew box is another length; and for odd orders it has no
                # b (equation 4.4). Where a mesh is fine enough, the Gaussian has left nothing there.
                b[2 * line == n] = 0
                influence = influence * b.reshape([-1 if i == axis else 1 for i in range(3)])
            self.slope = 2 * (1 / square + (np.pi / self.alpha) ** 2)  # of the logarithm, for the virial
        self.influence = np.where(square > 0, influence, 0)  # m = 0 is the background's
        self.slope = np.where(square > 0, self.slope, 0)
        # Of the halved last axis, every plane but the first and (even lengths) the last stands for two.
        self.copies = np.where((lines[2] == 0) | (2 * lines[2] == self.mesh[2]), 1.0, 2.0)

    def sum(self, fractions: np.ndarray, charges: np.ndarray) -> Smooth:
        """Collective. `fractions` (atoms, 3) lie in this rank's part of the mesh."""
        scaled = fractions * self.mesh
        below = np.minimum(np.floor(scaled), np.array(self.mesh) - 1).astype(np.int64)
        within = scaled - below
        corner = below - self.first - (self.order - 1)  # the lowest of an atom's mesh points, in the padded part
        self.spread(corner, within, charges)
        self.halo.add_back(self.padded, out=self.transform.real)
        energy, virial = self.convolve()
        self.halo.exchange(self.transform.backward(), out=self.padded)
        potential, field = self.read(corner, within)
        return Smooth(energy, virial, potential, field)

    def convolve(self) -> tuple[float, np.ndarray]:
        """Charges to potential in frequency space, with this rank's share of energy (4.7) and virial (2.7)."""
        spectrum = self.transform.forward()
        share = 0.5 * self.influence * self.copies * (spectrum.real**2 + spectrum.imag**2)
        spectrum *= self.influence * (np.prod(self.mesh) / self.transform.scale)
        energy = float(share.sum())
        share *= self.slope
        moments = self.moments(share)
        return energy, energy * np.eye(3) - self.lattice.inverse @ moments @ self.lattice.inverse.T

    def moments(self, share: np.ndarray) -> np.ndarray:
        """The sums of share * m_i * m_j, each from a sum along the third axis."""
        lines = [m.ravel() for m in self.m]
        found = np.zeros((3, 3))
        for i, j in ((0, 1), (1, 2), (0, 2)):
            plane = share.sum(axis=3 - i - j)
            found[i, j] = found[j, i] = lines[i] @ plane @ lines[j]
            if (i, j) != (0, 2):
                found[i, i] = (lines[i] ** 2) @ plane.sum(axis=1)
                found[j, j] = plane.sum(axis=0) @ lines[j] ** 2
        return found

    def groups(self, atoms: int) -> list[slice]:
        step = max(1, CHUNK_POINTS // self.order**3)
        return [slice(first, first + step) for first in range(0, atoms, step)]

    def points(self, corner: np.ndarray) -> np.ndarray:
        """Places of each atom's n^3 mesh points in the padded part as one line: (atoms, n, n, n)."""
        steps = np.arange(self.order)
        i, j, k = (corner[:, axis, None] + steps for axis in range(3))
        _, rows, columns = self.padded.shape
        return (i[:, :, None, None] * rows + j[:, None, :, None]) * columns + k[:, None, None, :]

    def weights(self, within: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each axis, weights and slopes (atoms, n), from the lowest mesh point up."""
        both = (splines.weights(within[:, axis], self.order) for axis in range(3))
        return [(values[::-1].T, slopes[::-1].T) for values, slopes in both]

    def spread(self, corner: np.ndarray, within: np.ndarray, charges: np.ndarray) -> None:
        """Q of equation 4.6, on the padded part."""
        line = self.padded.reshape(-1)
        line[:] = 0
        for group in self.groups(len(charges)):
            (x, _), (y, _), (z, _) = self.weights(within[group])
            x = x * charges[group, None]
            values = x[:, :, None, None] * (y[:, :, None] * z[:, None, :])[:, None]
            line += np.bincount(self.points(corner[group]).ravel(), values.ravel(), minlength=line.size)

    def read(self, corner: np.ndarray, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Potential at each atom, and field, which is minus its gradient (4.9)."""
        potential, gradient = np.empty(len(corner)), np.empty((len(corner), 3))
        line = self.padded.reshape(-1)
        for group in self.groups(len(corner)):
            (x, dx), (y, dy), (z, dz) = self.weights(within[group])
            block = line[self.points(corner[group])]
            of_z = np.einsum("aijk,ak->aij", block, z)
            of_yz = np.einsum("aij,aj->ai", of_z, y)
            potential[group] = np.einsum("ai,ai->a", of_yz, x)
            gradient[group, 0] = np.einsum("ai,ai->a", of_yz, dx)
            gradient[group, 1] = np.einsum("aij,ai,aj->a", of_z, x, dy)
            gradient[group, 2] = np.einsum("aijk,ai,aj,ak->a", block, x, y, dz)
        return potential, -(gradient * self.mesh) @ self.lattice.inverse.T
