"""What files of snapshots have in common: which parts of which arrays are written, rank after rank.

Method: the file libraries of the Python registry are built without MPI, so rank 0 makes what is new in a file, writes
its part and closes the file, and the other ranks open it after one another. No array is gathered.
Invariant: a call returns on all ranks, or all ranks raise the error of the lowest one.
Source: the documented interface of mpi4py-fft 2.0.6.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from ..._errors import Error, InvalidArgument, InvalidType, IOFailure

AnyArray = npt.NDArray[Any]

__all__ = ["FileBase", "Snapshot", "common_part"]


def common_part(
    chosen: tuple[int | slice, ...], part: tuple[slice, ...], shape: tuple[int, ...]
) -> tuple[tuple[Any, ...] | None, tuple[slice, ...]]:
    """What of a chosen part of the global array lies here: the index in this rank's array, and in the chosen part."""
    take: list[Any] = []
    put: list[slice] = []
    for wanted, here, n in zip(chosen, part, shape, strict=True):
        if isinstance(wanted, (int, Integral)):
            index = int(wanted)
            if not -n <= index < n:
                raise InvalidArgument(f"the slice has {index} for an axis of {n}")
            index %= n
            if not here.start <= index < here.stop:
                return None, ()
            take.append(index - here.start)
            continue
        if not isinstance(wanted, slice):
            raise InvalidType(f"the slice has {wanted!r}; give numbers and slices")
        every = range(*wanted.indices(n))
        mine = [k for k, index in enumerate(every) if here.start <= index < here.stop]
        if not mine or every.step < 1:
            if every.step < 1:
                raise InvalidArgument(f"the slice has {wanted}; its steps go forward")
            return None, ()
        take.append(slice(every[mine[0]] - here.start, every[mine[-1]] - here.start + 1, every.step))
        put.append(slice(mine[0], mine[-1] + 1))
    return tuple(take), tuple(put)


@dataclass
class Snapshot:
    """One array of one step, as a file holds it."""

    name: str
    step: int
    shape: tuple[int, ...]  # global, without the tensor's axes
    tensor: tuple[int, ...]
    dtype: np.dtype[Any]
    chosen: tuple[int | slice, ...]  # along the axes of shape
    local: AnyArray
    part: tuple[slice, ...]

    @property
    def whole(self) -> bool:
        return all(isinstance(entry, slice) for entry in self.chosen)

    @property
    def slice_name(self) -> str:
        """[slice(None), 4] -> slice_4"""
        return "_".join("slice" if isinstance(entry, slice) else str(entry) for entry in self.chosen)

    @property
    def kept_axes(self) -> tuple[int, ...]:
        """Axes of shape that the file has."""
        return tuple(axis for axis, entry in enumerate(self.chosen) if isinstance(entry, slice))

    @property
    def kept_shape(self) -> tuple[int, ...]:
        """Shape in the file, with the tensor's axes."""
        return self.tensor + tuple(self.shape[axis] for axis in self.kept_axes)

    def store(self, target: Any, front: tuple[Any, ...] = ()) -> None:
        """Writes this rank's part into the file's array, below the indices `front`."""
        every = (slice(None),) * len(self.tensor)
        take, put = common_part((*every, *self.chosen), self.part, (*self.tensor, *self.shape))
        if take is not None:
            where: tuple[Any, ...] = (*front, *put)
            target[where] = self.local[take]


class FileBase:
    """A file of snapshots of distributed arrays. All its functions are collective in COMM_WORLD.

    Parameters
    ----------
    filename
        Its name.
    domain
        The extent of each axis: a pair, or an array of coordinates. Default: (0, 2 pi) for each.
    """

    def __init__(self, filename: str | os.PathLike[str] | None = None, domain: Sequence[Any] | None = None) -> None:
        if filename is None:
            raise InvalidArgument("filename is missing")
        self.filename = os.fspath(filename)
        self.domain = domain

    @staticmethod
    def backend() -> str:
        """The library that keeps the data."""
        raise NotImplementedError

    def _opened(self, mode: str) -> AbstractContextManager[Any]:
        """The library's file."""
        raise NotImplementedError

    def _prepare(self, file: Any, item: Snapshot) -> None:
        """Makes what the file has not yet. On rank 0."""
        raise NotImplementedError

    def _place(self, file: Any, item: Snapshot) -> tuple[Any, tuple[Any, ...]]:
        """The file's array for a snapshot, and the indices in front."""
        raise NotImplementedError

    def open(self, mode: str = "r+") -> None:
        """Accepted; the file is opened when it is used."""

    def close(self) -> None:
        """Accepted; the file is closed after each use."""

    def extents(self, ndim: int) -> list[AnyArray]:
        """The domain, one array for each axis: two numbers, or as many coordinates as there are points."""
        given = [(0, 2 * np.pi)] * ndim if self.domain is None else list(self.domain)
        if len(given) != ndim:
            raise InvalidArgument(f"domain has {len(given)} entries for {ndim} axes; give one for each")
        return [np.asarray(entry, float) for entry in given]

    def write(self, step: int, fields: dict[str, Sequence[Any]], **kw: Any) -> None:
        """Writes snapshot `step`.

        Parameters
        ----------
        fields
            From names to lists of arrays, or of pairs (array, slices): a number or slice(None) for each axis.
        as_scalar
            Keyword: components of tensors become arrays of their own, with their indices behind the name.
        """
        items = [
            item
            for name, entries in fields.items()
            for entry in entries
            for item in self._snapshots(name, step, entry, bool(kw.get("as_scalar", False)))
        ]

        def put(file: Any) -> None:
            for item in items:
                if MPI.COMM_WORLD.Get_rank() == 0:
                    self._prepare(file, item)
                item.store(*self._place(file, item))

        self._in_turns(lambda: self._with_file("r+", put))

    def read(self, u: Any, name: str, **kw: Any) -> None:
        """Reads snapshot ``step=`` (0) of `name` into the array, which must be whole there."""
        (item,) = self._snapshots(name, int(kw.get("step", 0)), u, False)

        def get(file: Any) -> None:
            source, front = self._place(file, item)
            found = source.shape[len(front) :]
            if tuple(found) != item.kept_shape:
                raise InvalidArgument(f"{self.filename} has {name} with shape {tuple(found)}; the array has "
                                      f"{item.kept_shape}")  # fmt: skip
            where: tuple[Any, ...] = (*front, *item.part)
            u[...] = source[where]

        self._in_turns(lambda: self._with_file("r", get))

    def _with_file(self, mode: str, work: Callable[[Any], None]) -> None:
        with self._opened(mode) as file:
            work(file)

    def _snapshots(self, name: str, step: int, entry: Any, as_scalar: bool) -> list[Snapshot]:
        u, slices = entry if isinstance(entry, (tuple, list)) else (entry, None)
        shape = tuple(u.global_shape[u.rank :])
        chosen: tuple[Any, ...] = (slice(None),) * len(shape) if slices is None else tuple(slices)
        chosen = chosen[u.rank :] if len(chosen) == u.rank + len(shape) else chosen
        good = all(isinstance(c, (int, Integral)) or c == slice(None) for c in chosen)
        if len(chosen) != len(shape) or not good:
            raise InvalidArgument(f"{name}: the slices are {chosen}; give a number or slice(None) for each of "
                                  f"{len(shape)} axes")  # fmt: skip
        rank = int(u.rank)
        if not as_scalar or not rank:
            local = np.asarray(u)
            return [Snapshot(name, step, shape, u.shape[:rank], u.dtype, chosen, local, u.local_slice())]
        indices = itertools.product(*map(range, u.shape[:rank]))
        part = u.local_slice()[rank:]
        return [
            Snapshot(name + "".join(map(str, k)), step, shape, (), u.dtype, chosen, np.asarray(u)[k], part)
            for k in indices
        ]

    def _in_turns(self, work: Callable[[], None], only_first: bool = False) -> None:
        """Does work on one rank after another, or on rank 0 alone; an error of one is raised on all."""
        world = MPI.COMM_WORLD
        error: Error | None = None
        world.Barrier()  # whatever the other ranks did to the file before, such as removing an old one, is done
        for rank in range(1 if only_first else world.Get_size()):
            if rank == world.Get_rank():
                try:
                    work()
                except Error as found:
                    error = found
                except (OSError, KeyError, IndexError, TypeError, ValueError) as found:
                    error = IOFailure(f"{self.filename}: {found}")
            world.Barrier()
        told = world.allgather(None if error is None else (type(error), str(error)))
        for entry in told:
            if entry is not None:
                raise entry[0](entry[1]) from error
