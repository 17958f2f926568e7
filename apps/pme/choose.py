"""Choosing Ewald parameter, cutoff, mesh and order for an accuracy, by predicted cost; and what error to expect.

Errors are root mean squares over the forces, in units of the force between two typical charges of the box at the mean
distance of neighbours: (sum of q^2 / N) / (V / N)^(2/3). Charges are taken as uncorrelated.
Method: a longer cutoff allows a smaller alpha, which a coarser mesh serves: work moves from the mesh to the pairs, as
in the Duke paper on a cluster FFT for particle-mesh Ewald. For each cutoff tried, alpha follows from the error of the
pairs and the mesh from that of the splines; the candidate of the fewest predicted seconds wins. A transform's seconds
are those that its plan predicts; those of a pair, a spline's point and a mesh's point are measured.
Sources: Kolafa, Perram, Mol. Simul. 9, 351 (1992), equation 18, for pairs. For the mesh, the mean square over both
positions of the difference of two sums of exp(i k_m x1 - i k_n x2), as in Hockney and Eastwood, Computer Simulation
Using Particles (1988), chapter 8, for a force that is the gradient of what splines read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import spanfft
from spanfft import InvalidArgument

from . import splines
from .direct import Exclusions, short_ranged
from .energy import Parameters
from .lattice import Lattice
from .mesh import Reciprocal, SpanfftTransform

ALIASES = np.arange(-2, 3)  # periods of the mesh whose frequencies are looked at; a spline's fall by their 2 n-th power
# A mesh has at most so many points an atom, but may always have the fewest, and never more than the most.
POINTS_AN_ATOM, FEWEST_POINTS, MOST_POINTS = 100, 1 << 22, 1 << 27
MARGIN = 0.9  # of the accuracy asked for is aimed at, as charges are not quite uncorrelated
PIECE_POINTS = 20  # a side, of the piece of a mesh whose error stands for the whole's


@dataclass(frozen=True)
class Estimate:
    """Expected errors of forces, for a Coulomb constant of 1."""

    direct: float
    reciprocal: float
    unit: float

    @property
    def relative(self) -> float:
        return float(np.hypot(self.direct, self.reciprocal) / self.unit)


@dataclass(frozen=True)
class Moments:
    """What errors depend on of the charges: how many, the sums of their squares and of the fourth powers."""

    atoms: float
    squares: float
    fourths: float

    @staticmethod
    def of(charges: np.ndarray) -> Moments:
        """Of all charges of the box."""
        return Moments(len(charges), float((charges**2).sum()), float((charges**4).sum()))

    def scaled(self, part: float) -> Moments:
        return Moments(self.atoms * part, self.squares * part, self.fourths * part)


def unit_force(lattice: Lattice, moments: Moments) -> float:
    return moments.squares / moments.atoms / (lattice.volume / moments.atoms) ** (2 / 3)


def estimate(lattice: Lattice, parameters: Parameters, moments: Moments) -> Estimate:
    """Of a box with such charges."""
    p = parameters
    root = np.sqrt(moments.atoms * p.cutoff * lattice.volume)
    direct = 2 * moments.squares * np.exp(-((p.alpha * p.cutoff) ** 2)) / root
    reciprocal = mesh_error(lattice, p.mesh, p.alpha, p.order, moments)
    return Estimate(float(direct), reciprocal, unit_force(lattice, moments))


def mesh_error(lattice: Lattice, mesh: tuple[int, ...], alpha: float, order: int, moments: Moments) -> float:
    """Root mean square error of the smooth part of a force: of the pairs, and of the force on an atom by itself.

    The latter should be 0. Its frequencies are those of the mesh; of axis a it has the amplitude
    2 pi K_a |a*| / V times the sum over k of the influence, W(k), and W(k + K_a a*), W being the splines' transform."""
    frequencies, sums, inverse, crossed = [], [], [], []
    for axis, n in enumerate(mesh):
        indices = np.arange(n // 2 + 1 if axis == 2 else n)
        m = splines.signed(indices, n).astype(float)
        aliases = m[:, None] + ALIASES * n
        square = np.sinc(aliases / n) ** (2 * order)
        sums.append([(square * aliases**power).sum(axis=1) for power in range(3)])
        b = 1 / splines.moduli(n, order)
        b[2 * np.arange(n) == n] = 0
        frequencies.append(m)
        itself = np.sinc(m / n) ** order
        crossed.append(itself * (np.sinc(m / n + 1) ** order + np.sinc(m / n - 1) ** order) / 2)
        inverse.append(b[indices])
    m = np.ix_(*frequencies)
    zero, one, two = (np.ix_(*(s[power] for s in sums)) for power in range(3))
    product = zero[0] * zero[1] * zero[2]
    weighed = np.zeros(())  # sum over aliases of |k|^2 times the square of the spline's transform
    for i in range(3):
        for j in range(3):
            factors = [two[a] if i == j == a else one[a] if a in (i, j) else zero[a] for a in range(3)]
            if lattice.metric[i, j]:
                weighed = weighed + lattice.metric[i, j] * (factors[0] * factors[1] * factors[2])
    weighed = (2 * np.pi) ** 2 * weighed
    squared = [np.sinc(f / n) ** (2 * order) for f, n in zip(frequencies, mesh, strict=True)]
    w0, w1, w2 = np.ix_(*squared)
    k2 = (2 * np.pi) ** 2 * lattice.square(m)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.where(k2 > 0, 4 * np.pi / k2 * np.exp(-k2 / (4 * alpha**2)), 0)
    b0, b1, b2 = np.ix_(*inverse)
    used = exact * (b0 * b1 * b2)
    error = used * used * product * weighed
    error -= 2 * used * exact * k2 * (w0 * w1 * w2)
    error += exact * exact * k2
    last = np.arange(mesh[2] // 2 + 1)
    copies = np.where((last == 0) | (2 * last == mesh[2]), 1, 2)
    of_pairs = moments.squares**2 / moments.atoms * max(float((error * copies).sum()), 0)
    of_itself = 0.0
    for axis, n in enumerate(mesh):
        along = [crossed[a] if a == axis else squared[a] for a in range(3)]
        x, y, z = np.ix_(*along)
        amplitude = 2 * np.pi * n * np.sqrt(lattice.metric[axis, axis]) * float((used * copies * (x * y * z)).sum())
        of_itself += 2 * moments.fourths / moments.atoms * amplitude**2
    return float(np.sqrt(of_pairs + of_itself) / lattice.volume)


# --- choosing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rates:
    """Processor seconds of one rank: for a pair within the cutoff, for a mesh point of an atom, both ways, and for what
    is done with a point of the mesh beside transforms."""

    pair: float
    point: float
    mesh: float

    @staticmethod
    def measure(comm: Any = None) -> Rates:
        """On rank 0, for all: 3,000 atoms, about 0.2 s."""
        found = _measured() if comm is None or comm.rank == 0 else None
        return found if comm is None else comm.bcast(found)


def _measured() -> Rates:
    atoms, order, n = 3000, 5, 24
    lattice = Lattice.of((1, 1, 1))
    rows = np.column_stack([np.random.default_rng(1).random((atoms, 3)), np.ones(atoms), np.arange(atoms)])
    none = Exclusions(np.zeros((0, 2), np.int64), atoms)
    transform = SpanfftTransform((n, n, n))
    reciprocal = Reciprocal((n, n, n), 8.0, order, transform)
    reciprocal.set_box(lattice)
    scaled = rows[:, :3] * n
    corner = np.floor(scaled).astype(np.int64)
    pairs = 0

    def direct() -> None:
        nonlocal pairs
        pairs = short_ranged(rows, rows[:0], lattice, 8.0, 0.2, none).pairs

    def splines_both_ways() -> None:
        reciprocal.spread(corner, scaled - corner, rows[:, 3])
        reciprocal.read(corner, scaled - corner)

    def mesh() -> None:
        reciprocal.halo.add_back(reciprocal.padded, out=transform.real)
        reciprocal.convolve()
        reciprocal.halo.exchange(transform.backward(), out=reciprocal.padded)

    def transforms() -> None:
        transform.forward()
        transform.backward()

    seconds = [_seconds(work) for work in (direct, splines_both_ways, mesh, transforms)]
    transform.free()
    beside = max(seconds[2] - seconds[3], 0.0)
    return Rates(seconds[0] / pairs, seconds[1] / (atoms * order**3), beside / n**3)


def _seconds(work: Callable[[], None]) -> float:
    """The shorter of two, as the first call makes what is kept."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


@dataclass(frozen=True)
class Choice:
    """A candidate with its predicted seconds for one computation."""

    parameters: Parameters
    direct_seconds: float
    reciprocal_seconds: float

    @property
    def seconds(self) -> float:
        return self.direct_seconds + self.reciprocal_seconds


def choose(
    box: object, moments: Moments, accuracy: float, comm: Any = None, *, orders: tuple[int, ...] = (4, 5, 6, 8),
    cutoffs: int = 9, rates: Rates | None = None, **options: Any,
) -> list[Choice]:  # fmt: skip
    """Candidates, the cheapest first, which is expected to reach the accuracy. Collective.

    Tried are so many cutoffs with each order. Raises InvalidArgument where none does. `options` go to spanfft.Plan."""
    lattice = Lattice.of(box)
    if not 1e-14 < accuracy < 1:
        raise InvalidArgument(f"the accuracy is {accuracy}; it must lie between 1e-14 and 1")
    rates = rates or Rates.measure(comm)
    share = MARGIN * accuracy * unit_force(lattice, moments) / np.sqrt(2)
    atoms = moments.atoms
    ranks = 1 if comm is None else comm.size
    candidates, seconds = [], {}
    for cutoff in _cutoffs(lattice, atoms, cutoffs):
        missing = np.log(max(2 * moments.squares / (share * np.sqrt(atoms * cutoff * lattice.volume)), 1.1))
        alpha = float(np.sqrt(missing) / cutoff)
        for order in orders:
            mesh = _mesh(lattice, alpha, order, share, moments)
            if mesh is None:
                continue
            if mesh not in seconds:
                seconds[mesh] = transform_seconds(mesh, comm, **options)
            pairs = atoms / ranks * atoms / lattice.volume * 4 / 3 * np.pi * cutoff**3
            points = atoms / ranks * order**3 * rates.point + np.prod(mesh) / ranks * rates.mesh
            parameters = Parameters(alpha, cutoff, mesh, order)
            candidates.append(Choice(parameters, float(pairs * rates.pair), float(points + seconds[mesh])))
    candidates.sort(key=lambda c: c.seconds)
    while candidates and estimate(lattice, candidates[0].parameters, moments).relative > accuracy:
        del candidates[0]
    if not candidates:
        raise InvalidArgument(
            f"no mesh of up to {_most(moments)} points reaches {accuracy:.1e} in this box; ask for less"
        )
    return candidates


def transform_seconds(mesh: tuple[int, ...], comm: Any, **options: Any) -> float:
    """What the plans predict for there and back; the slowest rank's."""
    transform = SpanfftTransform(mesh, comm, **options)
    own = sum(transform.plan.predicted(direction)["seconds"] for direction in ("forward", "backward"))
    transform.free()
    return float(own if comm is None else max(comm.allgather(own)))


def _cutoffs(lattice: Lattice, atoms: float, count: int) -> list[float]:
    """From the mean distance of neighbours to half of the box, or eight distances."""
    longest = float(lattice.heights.min()) / 2
    shortest = min((lattice.volume / atoms) ** (1 / 3), longest)
    return sorted(set(np.geomspace(shortest, min(longest, 8 * shortest), count).tolist()))


def _mesh(lattice: Lattice, alpha: float, order: int, share: float, moments: Moments) -> tuple[int, int, int] | None:
    """The coarsest of a series of meshes whose error is small enough, by bisection; None where none is.

    The error is that of a piece of the box, of the same densities and as fine a mesh: it differs from the whole's only
    as a sum over k does from its integral."""
    edges = np.linalg.norm(lattice.rows, axis=1)

    def piece_error(spacing: float) -> float:
        piece = Lattice(lattice.rows * (PIECE_POINTS * spacing / edges)[:, None])
        part = moments.scaled(piece.volume / lattice.volume)
        return mesh_error(piece, (PIECE_POINTS,) * 3, alpha, order, part)

    spacings = np.geomspace(2, 0.01, 80) / alpha
    low, high = 0, len(spacings)
    while low < high:
        middle = (low + high) // 2
        if piece_error(float(spacings[middle])) <= share:
            high = middle
        else:
            low = middle + 1
    if low == len(spacings):
        return None
    x, y, z = (spanfft.next_fast_len(max(order, int(np.ceil(edge / spacings[low])))) for edge in edges)
    return (x, y, z) if x * y * z <= _most(moments) else None


def _most(moments: Moments) -> int:
    return min(MOST_POINTS, max(FEWEST_POINTS, int(POINTS_AN_ATOM * moments.atoms)))
