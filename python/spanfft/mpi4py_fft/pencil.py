"""Which part of a global array lies on which rank, and the exchanges that make another axis whole: mpi4py-fft's names.

Method: the ranks form a Cartesian grid with a communicator for each axis (`Subcomm`). A `Pencil` is a shape with one
such communicator for each axis, of which that of its `axis` has one rank; another axis becomes whole when the two swap
communicators. A `Transfer` does so for the data, by one MPI_Alltoallw whose datatypes are subarrays.
Invariant: an axis of n on p ranks is divided into blocks of n // p, the first n % p of them longer by 1.
Source: L. Dalcin, M. Mortensen, D. Keyes, Fast parallel multidimensional FFT using advanced MPI (P4), and the
documented interface and local shapes of mpi4py-fft 2.0.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from .._arguments import whole, wholes
from .._errors import InvalidArgument, InvalidType, MPIError

AnyArray = npt.NDArray[Any]

__all__ = ["Pencil", "Subcomm", "Transfer", "block_of"]


def block_of(n: int, parts: int, part: int) -> tuple[int, int]:
    """Length and start of a balanced block: 7 in 3 parts are 3, 2, 2."""
    length, more = divmod(n, parts)
    return length + (part < more), part * length + min(part, more)


def _completed(dims: Sequence[int], size: int) -> list[int]:
    """The grid with its free entries (0) filled in, as even as MPI makes it."""
    free = [d for d in dims if d == 0]
    fixed = math.prod(d for d in dims if d)
    if min(dims, default=0) < 0 or not dims or size % fixed or (not free and fixed != size):
        raise InvalidArgument(
            f"a grid of {tuple(dims)} can't be made of {size} ranks: its product must be {size}, where 0 stands for a "
            "number that is free"
        )
    filled: list[int] = MPI.Compute_dims(size, list(dims))
    return filled


class Subcomm(tuple[Any, ...]):
    """A tuple of communicators, one for each axis of a grid of ranks.

    Parameters
    ----------
    comm
        A communicator, a Cartesian one (then its grid is taken), or a sequence of communicators, one for each axis.
    dims
        None: one axis. A number: that many axes. A sequence: ranks along each axis, where 0 is free. (0, 0, 1) divides
        the first two axes and leaves the third whole.
    reorder
        Whether MPI may number the ranks anew.
    """

    base: Any
    """The communicator whose ranks these are, in the same order; None where communicators were given."""
    grid: tuple[int, ...]
    """Ranks along each axis."""
    _cart: Any

    def __new__(cls, comm: Any, dims: int | Sequence[int] | None = None, reorder: bool = True) -> Subcomm:
        if isinstance(comm, Subcomm):
            return comm
        if isinstance(comm, (tuple, list)):
            return cls.of(tuple(comm), None)
        if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
            raise MPIError(f"comm is {comm!r}; give an intracommunicator of which this process is a member")
        if comm.Get_topology() == MPI.CART:
            if dims is not None:
                raise InvalidArgument(f"dims is {dims!r}, but comm is Cartesian and has its grid; leave dims out")
            return cls._rows(comm, comm, None)
        given = [0] if dims is None else [0] * dims if isinstance(dims, int) else list(wholes(dims, "dims"))
        cart = comm.Create_cart(_completed(given, comm.Get_size()), reorder=reorder)
        same = MPI.Comm.Compare(cart, comm) in (MPI.IDENT, MPI.CONGRUENT)
        return cls._rows(cart, comm if same else cart, cart)

    @classmethod
    def _rows(cls, cart: Any, base: Any, owned: Any) -> Subcomm:
        ndim = cart.Get_dim()
        made = cls.of(tuple(cart.Sub([k == axis for k in range(ndim)]) for axis in range(ndim)), base)
        made._cart = owned
        return made

    @classmethod
    def of(cls, comms: tuple[Any, ...], base: Any) -> Subcomm:
        """These very communicators, of which nothing is made or freed here."""
        for comm in comms:
            if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL:
                raise MPIError(f"comm holds {comm!r}; give communicators of which this process is a member")
        made = tuple.__new__(cls, comms)
        made.base, made._cart = base, None
        made.grid = tuple(comm.Get_size() for comm in comms)
        return made

    def destroy(self) -> None:
        """Frees the communicators. Collective."""
        for comm in self:
            if comm != MPI.COMM_NULL and comm not in (MPI.COMM_SELF, MPI.COMM_WORLD):
                comm.Free()
        if self._cart is not None and self._cart != MPI.COMM_NULL:
            self._cart.Free()


class Transfer:
    """Moves an array whose axis A is whole into one whose axis B is whole, and back. Collective in `comm`.

    Parameters
    ----------
    comm
        The ranks among which the array is divided.
    shape
        What they have together.
    dtype
        Element type, any that MPI knows.
    subshapeA, axisA
        Shape of this rank's array with axis A whole.
    subshapeB, axisB
        Shape of this rank's array with axis B whole.
    """

    def __init__(
        self, comm: Any, shape: Sequence[int], dtype: npt.DTypeLike, subshapeA: Sequence[int], axisA: int,
        subshapeB: Sequence[int], axisB: int,
    ) -> None:  # fmt: skip
        self.comm, self.dtype = comm, np.dtype(dtype)
        self.shape, self.axisA, self.axisB = tuple(shape), axisA, axisB
        self.subshapeA, self.subshapeB = tuple(subshapeA), tuple(subshapeB)
        self._typesA = self._types(self.subshapeA, axisA)
        self._typesB = self._types(self.subshapeB, axisB)
        size = comm.Get_size()
        self._counts = ([1] * size, [0] * size)

    def _types(self, subshape: tuple[int, ...], axis: int) -> list[Any]:
        """What of this rank's array belongs to each rank: its block along the whole axis."""
        size = self.comm.Get_size()
        if size == 1:
            return []
        if self.dtype.char not in MPI._typedict:
            raise InvalidType(f"dtype is {self.dtype}, which MPI has no type for; view it as one that it has")
        element = MPI._typedict[self.dtype.char]
        found = []
        for rank in range(size):
            count, start = list(subshape), [0] * len(subshape)
            count[axis], start[axis] = block_of(self.shape[axis], size, rank)
            found.append(element.Create_subarray(subshape, count, start).Commit())
        return found

    def _move(
        self, name: str, source: AnyArray, target: AnyArray, ways: tuple[list[Any], list[Any]],
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> None:  # fmt: skip
        for array, shape in zip((source, target), shapes, strict=True):
            if array.shape != shape or array.dtype != self.dtype:
                raise InvalidArgument(f"{name}: an array has shape {array.shape} and dtype {array.dtype}; the transfer "
                                      f"has {shape} and {self.dtype}")  # fmt: skip
        if not ways[0]:
            target[...] = source
            return
        into = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
        there = [np.ascontiguousarray(source), self._counts, ways[0]]
        self.comm.Alltoallw(there, [into, self._counts, ways[1]])
        if into is not target:
            target[...] = into

    def forward(self, arrayA: AnyArray, arrayB: AnyArray) -> None:
        """From an array of `subshapeA` into one of `subshapeB`."""
        shapes = (self.subshapeA, self.subshapeB)
        self._move("forward", arrayA, arrayB, (self._typesA, self._typesB), shapes)

    def backward(self, arrayB: AnyArray, arrayA: AnyArray) -> None:
        """From an array of `subshapeB` into one of `subshapeA`."""
        shapes = (self.subshapeB, self.subshapeA)
        self._move("backward", arrayB, arrayA, (self._typesB, self._typesA), shapes)

    def destroy(self) -> None:
        """Frees the datatypes."""
        for each in (*self._typesA, *self._typesB):
            if each != MPI.DATATYPE_NULL:
                each.Free()
        self._typesA, self._typesB = [], []


class Pencil:
    """How a global array is divided: one axis, at least, is whole on every rank.

    Parameters
    ----------
    subcomm
        Communicators of the axes. Where there are fewer than axes, whole axes are added: `axis` first, others last.
    shape
        Global shape, at least two axes.
    axis
        The axis that is whole here.
    """

    def __init__(self, subcomm: Any, shape: Sequence[int], axis: int = -1) -> None:
        self.shape: tuple[int, ...] = tuple(whole(n, "shape") for n in shape)
        ndim = len(self.shape)
        if ndim < 2 or min(self.shape) < 1:
            raise InvalidArgument(f"shape is {self.shape}; a pencil has at least two axes, none of them empty")
        if not -ndim <= axis < ndim:
            raise InvalidArgument(f"axis is {axis}; {ndim} axes are {-ndim} to {ndim - 1}")
        self.axis = int(axis) % ndim
        comms = [subcomm] if isinstance(subcomm, MPI.Comm) else list(subcomm)
        if len(comms) > ndim:
            raise InvalidArgument(f"subcomm has {len(comms)} communicators for {ndim} axes of shape {self.shape}")
        if len(comms) < ndim:
            comms.insert(self.axis, MPI.COMM_SELF)
        comms += [MPI.COMM_SELF] * (ndim - len(comms))
        self.subcomm: Subcomm = Subcomm.of(tuple(comms), getattr(subcomm, "base", None))
        """The communicators, one for each axis."""
        grid = self.subcomm.grid
        if grid[self.axis] != 1:
            raise InvalidArgument(f"axis {self.axis} is divided among {grid[self.axis]} ranks of the grid {grid}, but "
                                  "a pencil's axis is whole; give another axis or grid")  # fmt: skip
        for n, parts in zip(self.shape, grid, strict=True):
            if n < parts:
                raise InvalidArgument(f"an axis of {n} can't be divided among {parts} ranks (shape {self.shape}, grid "
                                      f"{grid}); use fewer ranks or a grid that divides longer axes")  # fmt: skip
        blocks = [block_of(n, c.Get_size(), c.Get_rank()) for n, c in zip(self.shape, comms, strict=True)]
        self.subshape: tuple[int, ...] = tuple(length for length, _ in blocks)
        """Shape of this rank's part."""
        self.substart: tuple[int, ...] = tuple(start for _, start in blocks)
        """Where this rank's part begins."""

    def pencil(self, axis: int) -> Pencil:
        """The pencil in which `axis` is whole: it swaps communicators with this one's axis."""
        ndim = len(self.shape)
        if not -ndim <= axis < ndim:
            raise InvalidArgument(f"axis is {axis}; {ndim} axes are {-ndim} to {ndim - 1}")
        comms, other = list(self.subcomm), int(axis) % ndim
        comms[self.axis], comms[other] = comms[other], comms[self.axis]
        return Pencil(Subcomm.of(tuple(comms), self.subcomm.base), self.shape, other)

    def transfer(self, pencil: Pencil, dtype: npt.DTypeLike) -> Transfer:
        """The exchange from this pencil to one whose other axis is whole."""
        mine = self.subcomm
        if not self.pencil(pencil.axis).divides_like(pencil):
            raise InvalidArgument(
                f"from shape {self.shape} on the grid {mine.grid}, axis {self.axis} whole, no single exchange leads to "
                f"{pencil.shape} on {pencil.subcomm.grid}, axis {pencil.axis} whole; make the other pencil by "
                "pencil(axis)"
            )
        shape = list(self.subshape)
        shape[pencil.axis] = self.shape[pencil.axis]
        comm = mine[pencil.axis]
        return Transfer(comm, shape, dtype, self.subshape, self.axis, pencil.subshape, pencil.axis)

    def divides_like(self, other: Pencil) -> bool:
        """Whether both divide the same array alike, on all ranks. Not collective, and the same answer on all."""
        pairs = zip(self.subcomm, other.subcomm, strict=True)
        alike = (MPI.IDENT, MPI.CONGRUENT)
        return (
            self.shape == other.shape
            and self.subcomm.grid == other.subcomm.grid
            and all(a.Get_size() == 1 or MPI.Comm.Compare(a, b) in alike for a, b in pairs)
        )

    def slices(self) -> tuple[slice, ...]:
        """This rank's part, as slices of the global array."""
        return tuple(slice(a, a + n) for a, n in zip(self.substart, self.subshape, strict=True))
