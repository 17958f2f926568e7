"""Poisson's equation, the Laplacian of u = f, in a box of one to three axes, on any number of ranks.

The functions that satisfy the boundary conditions of an axis and are eigenfunctions of the second derivative are the
basis of one discrete transform each (G. Strang, "The Discrete Cosine Transform", SIAM Review 41, 1999):

    sides of the axis      functions on [0, L]               transform  grid points
    periodic               exp(2 pi i k x / L)               r2c, c2c   x_j = j L / n
    neumann                cos(pi k x / L)                   DCT-II     x_j = (j + 1/2) L / n
    dirichlet              sin(pi (k + 1) x / L)             DST-II     the same
    neumann-dirichlet      cos(pi (k + 1/2) x / L)           DCT-IV     the same
    dirichlet-neumann      sin(pi (k + 1/2) x / L)           DST-IV     the same

So one plan with a kind for each axis turns the equation into a division by minus the sum of squared wave numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import spanfft

from apps.ranks import agree, total

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

Array = npt.NDArray[np.float64]
# A right-hand side whose mean is larger than this times its root mean square has no solution without Dirichlet sides.
MEAN_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Sides:
    """The boundary conditions at both ends of an axis."""

    kind: str
    """The transform of a real axis."""
    first: float
    """The wave number of mode k is pi (k + first) / L; periodic: 2 pi k / L."""
    fixes_mean: bool
    """Whether u is given on a side, so that no constant can be added to it."""


SIDES = {
    "periodic": Sides("r2c", 0, False),
    "neumann": Sides("dct2", 0, False),
    "dirichlet": Sides("dst2", 1, True),
    "neumann-dirichlet": Sides("dct4", 0.5, True),
    "dirichlet-neumann": Sides("dst4", 0.5, True),
}


class Poisson:
    """A box, its boundary conditions and its plan; `solve` may be called many times. Collective if `comm` is given.

    Parameters
    ----------
    shape
        Grid points along each of 1 to 3 axes.
    sides
        For each axis a name of `SIDES`. Derivatives and values on the sides are zero.
    lengths
        Of the axes; 1 by default.
    comm
        mpi4py communicator; None: this process alone.
    """

    def __init__(
        self,
        shape: Sequence[int],
        sides: Sequence[str],
        lengths: Sequence[float] | None = None,
        comm: Comm | None = None,
    ) -> None:
        self.comm = comm
        self.shape = tuple(shape)
        self.sides = tuple(sides)
        self.lengths = (1.0,) * len(self.shape) if lengths is None else tuple(lengths)
        agree(comm, self._wrong())
        # Only the last of the transformed axes can be halved, so a periodic one comes last. The other periodic axes
        # are c2c; cosine and sine transforms of complex numbers transform both parts.
        periodic = [axis for axis, name in enumerate(self.sides) if name == "periodic"]
        axes = [axis for axis in range(len(self.shape)) if axis not in periodic] + periodic
        self._halved = periodic[-1] if periodic else None
        kinds = ["c2c" if axis in periodic[:-1] else SIDES[self.sides[axis]].kind for axis in axes]
        self.plan = spanfft.Plan(self.shape, "float64", axes=axes, kind=kinds, comm=comm, output="exchanged")
        self.fixes_mean = any(SIDES[name].fixes_mean for name in self.sides)
        self._minus_squares = self._laplacian()

    def _wrong(self) -> str | None:
        """What makes no sense, as a sentence."""
        if not 1 <= len(self.shape) <= 3:
            return f"shape {self.shape} has {len(self.shape)} axes; a box has 1 to 3"
        if min(self.shape) < 1:
            return f"shape is {self.shape}; each axis needs at least one grid point"
        if len(self.sides) != len(self.shape) or len(self.lengths) != len(self.shape):
            return (
                f"shape {self.shape} has {len(self.shape)} axes, but there are sides for {len(self.sides)} and lengths "
                f"of {len(self.lengths)}; give one of each an axis"
            )
        for name in self.sides:
            if name not in SIDES:
                return f"sides are {name!r}; an axis can be {', '.join(SIDES)}"
        if not all(np.isfinite(length) and length > 0 for length in self.lengths):
            return f"lengths are {self.lengths}; each must be a positive number"
        return None

    def _laplacian(self) -> Array:
        """Of each mode of this rank's part of the spectrum, minus the sum of its squared wave numbers."""
        result = np.zeros((1,) * len(self.shape))
        for axis, (n, length, name) in enumerate(zip(self.shape, self.lengths, self.sides, strict=True)):
            if name == "periodic":
                modes = np.fft.rfftfreq(n, 1 / n) if axis == self._halved else np.fft.fftfreq(n, 1 / n)
                wave = 2 * np.pi * modes / length
            else:
                wave = np.pi * (np.arange(n) + SIDES[name].first) / length
            along = [1] * len(self.shape)
            along[axis] = -1
            result = result - wave[self.plan.output_slices[axis]].reshape(along) ** 2
        return result

    def points(self, axis: int) -> Array:
        """The coordinates of this rank's grid points along an axis, shaped to broadcast against its box."""
        n, length = self.shape[axis], self.lengths[axis]
        whole = (np.arange(n) + (0 if self.sides[axis] == "periodic" else 0.5)) * length / n
        along = [1] * len(self.shape)
        along[axis] = -1
        return whole[self.plan.input_slices[axis]].reshape(along)

    def solve(self, f: Array, project: bool = False) -> Array:
        """This rank's box of u. Where no side fixes it, the mean of u is zero. Collective.

        Parameters
        ----------
        f
            This rank's box of the right-hand side, float64.
        project
            Without Dirichlet sides there is only a solution if the mean of f vanishes. True: take the mean away;
            False: refuse an f with another mean.
        """
        wrong = None
        if not isinstance(f, np.ndarray) or f.dtype != np.float64 or f.shape != self.plan.input_shape:
            what = f"{f.dtype} {f.shape}" if isinstance(f, np.ndarray) else type(f).__name__
            wrong = f"the right-hand side is {what}; this rank's box is float64 {self.plan.input_shape}"
        elif not np.isfinite(f).all():
            where = np.argwhere(~np.isfinite(f))[0] + [part.start for part in self.plan.input_slices]
            wrong = f"the right-hand side is not finite at grid point {tuple(map(int, where))}"
        agree(self.comm, wrong)
        if not self.fixes_mean and not project:
            count = float(np.prod(self.shape))
            mean = total(self.comm, float(f.sum())) / count
            rms = (total(self.comm, float(np.vdot(f, f))) / count) ** 0.5
            if abs(mean) > MEAN_TOLERANCE * rms:  # the same numbers on all ranks
                agree(
                    self.comm,
                    f"the mean of the right-hand side is {mean:.3g} beside a root mean square of {rms:.3g}: without a "
                    f"Dirichlet side there is no solution unless it vanishes; project=True (--project) takes it away",
                )
        spectrum = self.plan.forward(f)
        if not self.fixes_mean:
            constant = self._minus_squares == 0
            spectrum[np.broadcast_to(constant, spectrum.shape)] = 0
            spectrum /= np.where(constant, 1, self._minus_squares)
        else:
            spectrum /= self._minus_squares
        return self.plan.backward(spectrum)

    def free(self) -> None:
        """Frees the plan. Collective."""
        self.plan.free()
