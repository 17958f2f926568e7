"""The Navier-Stokes equations of an incompressible fluid in a periodic box of side 2 pi, by a pseudo-spectral method.

The unknowns are the Fourier coefficients u_k of the velocity. In rotational form, with the vorticity w = curl u,

    d u_k / dt = P_k (u x w)_k - nu k^2 u_k,      P_k a = a - k (k . a) / k^2,

where P_k takes the pressure away (C. Canuto et al., "Spectral Methods", 2007, section 3.3). The product u x w is taken
on the grid: three fields go there for u, three for w, and three come back. Coefficients beyond a cutoff in any
direction are zero. A cutoff below size / 3 leaves no aliasing errors (S. A. Orszag's 2/3 rule, J. Atmos. Sci. 28,
1971); it is the same as padding the modes up to the cutoff to a grid of 3/2 as many points, which the plan does on
the way: it stores and exchanges no others. Time steps are the classical Runge-Kutta scheme of order 4.

Invariant: u_k . k = 0 and u_k = 0 beyond the cutoff, after every step. So the energy E and the enstrophy Z obey
dE/dt = -2 nu Z exactly, but for the error of the time steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from spanfft import Error

from apps.ranks import agree, total
from apps.turbulence.transforms import Complex, Real, Spanfft, Transforms

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

# Arithmetic goes block by block through the arrays, so that what it makes stays in the cache.
_BLOCK_BYTES = 1 << 18
_RUNGE_KUTTA = ((1 / 2, 1 / 6), (1 / 2, 1 / 3), (1, 1 / 3), (0, 1 / 6))  # how far the next stage is, and its weight


class Budget(NamedTuple):
    """Means over the box."""

    energy: float
    """Half the mean square of the velocity."""
    enstrophy: float
    """Half the mean square of the vorticity; times 2 nu it is the dissipation."""


class BlownUp(Error):
    """The numbers are no longer finite."""


class Flow:
    """A velocity field, and how it goes on. Everything is collective if `comm` is given.

    Parameters
    ----------
    size
        Grid points along each axis.
    viscosity
        nu, at least 0.
    comm
        mpi4py communicator; None: this process alone.
    cutoff
        The largest wave number along an axis that is kept; by default the largest below size / 3.
    transforms
        Makes the transforms from `size`, `cutoff` and `comm`.
    """

    def __init__(
        self,
        size: int,
        viscosity: float,
        comm: Comm | None = None,
        cutoff: int | None = None,
        transforms: Callable[[int, int, Comm | None], Transforms] = Spanfft,
    ) -> None:
        self.size, self.viscosity, self.comm, self.time = size, viscosity, comm, 0.0
        self.cutoff = (size - 1) // 3 if cutoff is None else cutoff
        agree(comm, self._wrong())
        self.transforms = transforms(size, self.cutoff, comm)
        n = self.transforms.modes
        modes = np.fft.fftfreq(n, 1 / n), np.fft.fftfreq(n, 1 / n), np.fft.rfftfreq(n, 1 / n)
        parts = [k[part] for k, part in zip(modes, self.transforms.spectrum_slices, strict=True)]
        self._k = np.meshgrid(*parts, indexing="ij", sparse=True)
        self._k2 = np.asarray(self._k[0] ** 2 + self._k[1] ** 2 + self._k[2] ** 2)
        self._inverse_k2 = 1 / np.where(self._k2 == 0, 1, self._k2)
        kept = [abs(k) <= self.cutoff for k in self._k]
        # None: the transforms have no modes beyond the cutoff.
        self._kept = kept[0] & kept[1] & kept[2] if n > 2 * self.cutoff + 1 else None
        # The half of the spectrum that r2c leaves out has the same energy as its mirror image.
        self._weight = np.where((self._k[2] == 0) | (2 * self._k[2] == size), 1.0, 2.0)
        box = tuple(part.stop - part.start for part in self.transforms.real_slices)
        self.velocity_hat: Complex = np.zeros((3, *self._k2.shape), np.complex128)
        self._sum, self._start, self._rate, self._curl = (np.zeros_like(self.velocity_hat) for _ in range(4))
        self._u: Real = np.zeros((3, *box))
        self._w: Real = np.zeros((3, *box))

    def _wrong(self) -> str | None:
        if not 4 <= self.size <= 1 << 14:
            return f"the grid has {self.size} points an axis; it needs 4 to {1 << 14}"
        if not (np.isfinite(self.viscosity) and self.viscosity >= 0):
            return f"the viscosity is {self.viscosity}; it must be a finite number that is not negative"
        if not 1 <= self.cutoff < self.size / 3:
            return (
                f"the cutoff is {self.cutoff}; on {self.size} points an axis it can be 1 to {(self.size - 1) // 3}, so "
                f"that products have no aliasing errors (the 2/3 rule)"
            )
        return None

    # --- setting and asking -------------------------------------------------------------------------------------------

    def points(self) -> list[Real]:
        """The coordinates of this rank's grid points along each axis, shaped to broadcast."""
        x = 2 * np.pi * np.arange(self.size) / self.size
        return list(np.meshgrid(*(x[part] for part in self.transforms.real_slices), indexing="ij", sparse=True))

    def set_velocity(self, u: Real) -> None:
        """Starts from this rank's box of grid values, (3, *box): its divergence is taken away, and what lies beyond the
        cutoff."""
        wrong = None
        if u.shape != self._u.shape or u.dtype != np.float64:
            wrong = f"the velocity is {u.dtype} {u.shape}; this rank's box is float64 {self._u.shape}"
        elif not np.isfinite(u).all():
            wrong = f"the velocity is not finite at {int((~np.isfinite(u)).sum())} grid points of a rank"
        agree(self.comm, wrong)
        self.transforms.forward(u, self.velocity_hat)
        for block in self._blocks(self._k2.shape):
            self._project(self.velocity_hat, block)
        self.time = 0.0

    def taylor_green(self) -> None:
        """Starts the vortex of G. I. Taylor and A. E. Green (Proc. R. Soc. A 158, 1937)."""
        x, y, z = self.points()
        u = np.zeros_like(self._u)
        u[0] = np.sin(x) * np.cos(y) * np.cos(z)
        u[1] = -np.cos(x) * np.sin(y) * np.cos(z)
        self.set_velocity(u)

    def continue_from(self, other: Flow) -> None:
        """Starts from the modes of a flow on another grid, over the same ranks, and from its time."""
        n = other.transforms.modes
        wanted = np.zeros((3, n, n, n // 2 + 1), np.complex128)
        part = (slice(None), *other.transforms.spectrum_slices)
        wanted[part] = other.velocity_hat
        if self.comm is not None:
            wanted = self.comm.allreduce(wanted)
        most = min(self.cutoff, other.cutoff)
        modes = [np.asarray(k).ravel().astype(np.int64) for k in self._k]
        mine = [np.flatnonzero(abs(k) <= most) for k in modes]
        theirs = [k[i] % n for k, i in zip(modes, mine, strict=True)]
        self.velocity_hat[:] = 0
        fields = np.arange(3)
        self.velocity_hat[np.ix_(fields, *mine)] = wanted[np.ix_(fields, *theirs)]
        self.time = other.time

    def velocity(self) -> Real:
        """Grid values of this rank's box, (3, *box). The array is overwritten by the next call or step."""
        self.transforms.backward(self.velocity_hat, self._u)
        return self._u

    def vorticity(self) -> Real:
        """Likewise."""
        self._make_curl()
        self.transforms.backward(self._curl, self._w)
        return self._w

    def _squares(self) -> Real:
        """Of each mode |u_k|^2 / 2, with its mirror image."""
        u = self.velocity_hat
        square: Real = sum(each.real**2 + each.imag**2 for each in u) * (0.5 * self._weight)
        return square

    def budget(self) -> Budget:
        """Energy and enstrophy, the same on all ranks."""
        square = self._squares()
        return Budget(total(self.comm, float(square.sum())), total(self.comm, float((square * self._k2).sum())))

    def spectrum(self) -> Real:
        """The energy in shells of wave numbers: entry K has those with K - 1/2 <= |k| < K + 1/2."""
        shell = np.floor(np.sqrt(self._k2) + 0.5).astype(np.int64).ravel()
        count = int(np.sqrt(3) * self.size / 2) + 2
        energy: Real = np.bincount(shell, self._squares().ravel(), count).astype(np.float64)
        if self.comm is not None:
            energy = self.comm.allreduce(energy)
        last = int(np.sqrt(3) * self.cutoff) + 1
        return energy[: last + 1]

    # --- going on -----------------------------------------------------------------------------------------------------

    def _blocks(self, shape: tuple[int, ...]) -> Iterator[slice]:
        """Planes of the first axis whose fields are about `_BLOCK_BYTES`."""
        planes = max(1, _BLOCK_BYTES // max(1, 16 * shape[1] * shape[2]))
        for start in range(0, shape[0], planes):
            yield slice(start, start + planes)

    def _waves(self, block: slice) -> tuple[Real, Real, Real]:
        return self._k[0][block], self._k[1], self._k[2]

    def _make_curl(self) -> None:
        """The vorticity's coefficients, i k x u_k."""
        for block in self._blocks(self._k2.shape):
            kx, ky, kz = self._waves(block)
            u, v, w = 1j * self.velocity_hat[:, block]
            self._curl[0, block] = ky * w - kz * v
            self._curl[1, block] = kz * u - kx * w
            self._curl[2, block] = kx * v - ky * u

    def _project(self, a: Complex, block: slice) -> None:
        """P_k a, and nothing beyond the cutoff."""
        kx, ky, kz = self._waves(block)
        part = a[:, block]
        if self._kept is not None:
            part *= self._kept[block]
        divergence = (kx * part[0] + ky * part[1] + kz * part[2]) * self._inverse_k2[block]
        part[0] -= kx * divergence
        part[1] -= ky * divergence
        part[2] -= kz * divergence

    def _make_rate(self) -> None:
        """d u_k / dt of the present velocity."""
        u, w = self.velocity(), self.vorticity()
        for block in self._blocks(self._u.shape[1:]):
            (ux, uy, uz), (wx, wy, wz) = u[:, block], w[:, block]
            x, y, z = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
            ux[:], uy[:], uz[:] = x, y, z
        self.transforms.forward(u, self._rate)
        for block in self._blocks(self._k2.shape):
            self._project(self._rate, block)
            self._rate[:, block] -= self.viscosity * self._k2[block] * self.velocity_hat[:, block]

    def step(self, dt: float) -> None:
        """Goes on by a time step."""
        self._start[:] = self.velocity_hat
        self._sum[:] = self.velocity_hat
        for ahead, weight in _RUNGE_KUTTA:
            self._make_rate()
            for block in self._blocks(self._k2.shape):
                rate = self._rate[:, block]
                self._sum[:, block] += (weight * dt) * rate
                if ahead:
                    self.velocity_hat[:, block] = self._start[:, block] + (ahead * dt) * rate
        self.velocity_hat, self._sum = self._sum, self.velocity_hat
        self.time += dt

    def run(self, until: float, dt: float, every: int = 1) -> Iterator[tuple[float, Budget]]:
        """Goes on to a time in equal steps of at most dt, and yields the budget now, after each `every` steps, and at
        the end.

        Raises
        ------
        BlownUp
            On all ranks, when the energy is not finite or has grown to twice its size: dt is too large.
        """
        positive = np.isfinite(dt) and dt > 0 and np.isfinite(until) and until >= self.time and every >= 1
        sentence = f"to go from time {self.time} to {until} in steps of {dt}, asking every {every}, makes no sense"
        agree(self.comm, None if positive else sentence)
        steps = int(np.ceil((until - self.time) / dt * (1 - 1e-12)))
        dt = (until - self.time) / max(1, steps)
        first = self.budget()
        yield self.time, first
        for done in range(1, steps + 1):
            with np.errstate(over="ignore", invalid="ignore"):  # said below, in words
                self.step(dt)
            if done % every == 0 or done == steps:
                with np.errstate(over="ignore", invalid="ignore"):
                    now = self.budget()
                if not (np.isfinite(now.energy) and now.energy <= 2 * first.energy):
                    raise BlownUp(
                        f"the flow has blown up at time {self.time:.4g}: its energy is {now.energy:.3g}, "
                        f"{first.energy:.3g} at first; take steps shorter than {dt:.3g}"
                    )
                yield self.time, now
