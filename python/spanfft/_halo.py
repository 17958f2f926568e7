"""Halo: a rank's part of real space with its periodic surroundings, and the adjoint, which adds surroundings back.

Method: along an axis the extended part has the indices first - before ... last + after of a line without end. Those of
them that a rank owns form pieces of consecutive indices, one for each period that is met; what two ranks exchange are
the products of their pieces of all axes, packed one after the other. All goes in one MPI_Alltoallv, whatever the width.
Invariant: every element of an extended part lies in exactly one piece of one owner, so `exchange` writes each once, and
no piece holds an element of its owner twice, so `add_back` may add a whole piece at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import whole
from ._arrays import AnyArray, listed
from ._errors import Error, InvalidArgument, InvalidType, OutOfMemory

if TYPE_CHECKING:
    from ._mpi import Ranks

__all__ = ["Halo", "Width", "widths_of"]

Width = int | Sequence[int | tuple[int, int]]
_Box = tuple[tuple[int, int], ...]  # start and count along each axis
_Slices = tuple[slice, ...]


def widths_of(width: Width, ndim: int) -> tuple[tuple[int, int], ...]:
    """Elements before and after, for each axis. 2 -> ((2, 2), (2, 2)); (1, (0, 3)) -> ((1, 1), (0, 3))."""
    each = [width] * ndim if isinstance(width, (int, np.integer)) else listed(width, "width")
    if len(each) != ndim:
        raise InvalidArgument(f"width is {width!r}; it must have one entry for each of {ndim} axes")
    pairs = []
    for entry in each:
        pair = (entry, entry) if isinstance(entry, (int, np.integer)) else tuple(listed(entry, "width"))
        if len(pair) != 2:
            raise InvalidArgument(f"width has the entry {entry!r}; it must be a number, or one before and one after")
        before, after = (whole(side, "width") for side in pair)
        if before < 0 or after < 0:
            raise InvalidArgument(f"width has the entry {entry!r}; a halo has at least 0 elements on each side")
        pairs.append((before, after))
    return tuple(pairs)


def _pieces(extended: range, length: int, start: int, count: int) -> list[tuple[slice, slice]]:
    """Where the extended part of an axis meets start ... start + count - 1 of any period: slices of both parts.

    range(-2, 5), length 4, start 3, count 1: index 3 at -1 and at 3, so [(1:2, 0:1), (5:6, 0:1)].
    """
    found = []
    for period in range(extended.start // length, -(-extended.stop // length)):
        shift = period * length + start
        first, stop = max(extended.start, shift), min(extended.stop, shift + count)
        if first < stop:
            found.append((slice(first - extended.start, stop - extended.start), slice(first - shift, stop - shift)))
    return found


def _blocks(extended: Sequence[range], shape: Sequence[int], owner: _Box) -> list[tuple[_Slices, _Slices]]:
    """What an extended part has of an owner's part, as slices of both; in the same order on both ranks."""
    each = [_pieces(line, n, *part) for line, n, part in zip(extended, shape, owner, strict=True)]
    return [(tuple(p[0] for p in block), tuple(p[1] for p in block)) for block in itertools.product(*each)]


def _elems(blocks: list[tuple[_Slices, _Slices]]) -> int:
    return sum(int(np.prod([s.stop - s.start for s in inner], dtype=object)) for inner, _ in blocks)


class _Traffic:
    """The blocks that this rank has in common with each rank, and a buffer that they fill one after another."""

    def __init__(self, blocks: list[list[_Slices]], counts: list[int], batch: tuple[int, ...], dtype: np.dtype[Any]):
        times = batch[0] if batch else 1
        self.blocks = [(slice(None),) * len(batch) + block for peer in blocks for block in peer]
        self.counts = [count * times for count in counts]
        self.places = [0, *itertools.accumulate(self.counts)][:-1]
        self.buffer = np.empty(sum(self.counts), dtype)

    def parts(self, u: AnyArray) -> list[tuple[AnyArray, AnyArray]]:
        """Each block as it lies in u, and as it lies in the buffer."""
        pairs, place = [], 0
        for block in self.blocks:
            view = u[block]
            pairs.append((view, self.buffer[place : place + view.size].reshape(view.shape)))
            place += view.size
        return pairs


class Halo:
    """A rank's part of real space with its surroundings, which are periodic. `Plan.halo` makes it.

    It is planned once, with its buffers, and used many times. `exchange` and `add_back` are collective if the plan has
    a communicator. The surroundings may be wider than a part, and wider than the whole array.
    """

    def __init__(
        self, shape: tuple[int, ...], box: _Box, batch: int | None, dtype: np.dtype[Any], ranks: Ranks | None,
        width: Width,
    ) -> None:  # fmt: skip
        self._ranks = ranks
        self._batch = () if batch is None else (batch,)
        self._dtype = dtype
        self._part_shape = (*self._batch, *(count for _, count in box))

        def look() -> tuple[tuple[tuple[int, int], ...], _Box]:
            return widths_of(width, len(shape)), box

        everyone = [look()] if ranks is None else ranks.agree(look, compare=lambda found: found[0])
        self.width: tuple[tuple[int, int], ...] = everyone[0][0]
        """Elements before and after this rank's part, for each axis."""
        lines = [self._extended(part) for _, part in everyone]
        me = 0 if ranks is None else ranks.rank
        self.ranges: tuple[range, ...] = lines[me]
        """The indices that the extended part has along each axis; they run on beyond 0 and the length of the axis."""
        self.shape: tuple[int, ...] = (*self._batch, *map(len, self.ranges))
        """Shape of the extended part, with the batch. A part without elements has no surroundings either."""
        self._own = _blocks(self.ranges, shape, box)
        others = [rank for rank in range(len(lines)) if rank != me]

        def allocate() -> tuple[_Traffic, _Traffic]:
            inner: list[list[tuple[_Slices, _Slices]]] = [[] for _ in lines]
            outer: list[list[tuple[_Slices, _Slices]]] = [[] for _ in lines]
            for rank in others:
                inner[rank] = _blocks(self.ranges, shape, everyone[rank][1])
                outer[rank] = _blocks(lines[rank], shape, box)
            halo = _Traffic([[b for b, _ in peer] for peer in inner], list(map(_elems, inner)), self._batch, dtype)
            part = _Traffic([[b for _, b in peer] for peer in outer], list(map(_elems, outer)), self._batch, dtype)
            return halo, part

        self._in_halo, self._in_part = self._together(allocate)
        """What lies in the halo and is others', and what lies in the part and is in others' halos."""

    def _extended(self, part: _Box) -> tuple[range, ...]:
        sides = zip(part, self.width, strict=True)
        return tuple(
            range(start - before, start + count + after) if count else range(start, start)
            for (start, count), (before, after) in sides
        )

    @property
    def sent_elems(self) -> int:
        """Elements that `exchange` sends from this rank to others, which `add_back` receives."""
        return len(self._in_part.buffer)

    def exchange(self, u: AnyArray, out: AnyArray | None = None) -> AnyArray:
        """This rank's part with its surroundings, as the other ranks have them. Collective on ranks.

        Parameters
        ----------
        u
            This rank's box of real space: the plan's `input_shape` and `dtype`.
        out
            Where the result goes: shape `shape`, the plan's `dtype`. By default a new array.
        """
        result = self._checked("exchange", u, self._part_shape, out, self.shape)
        for inner, outer in self._own:
            result[self._whole(inner)] = u[self._whole(outer)]
        for view, packed in self._in_part.parts(u):
            packed[...] = view
        self._send(self._in_part, self._in_halo)
        for view, packed in self._in_halo.parts(result):
            view[...] = packed
        return result

    def add_back(self, extended: AnyArray, out: AnyArray | None = None) -> AnyArray:
        """The adjoint of `exchange`: each element of this rank's part is the sum of all ranks' copies of it.

        Parameters
        ----------
        extended
            Shape `shape`, the plan's `dtype`.
        out
            Where the result goes: this rank's box of real space, the plan's `input_shape` and `dtype`. By default a
            new array.
        """
        result = self._checked("add_back", extended, self.shape, out, self._part_shape)
        result[...] = 0
        for inner, outer in self._own:
            result[self._whole(outer)] += extended[self._whole(inner)]
        for view, packed in self._in_halo.parts(extended):
            packed[...] = view
        self._send(self._in_halo, self._in_part)
        for view, packed in self._in_part.parts(result):
            view += packed
        return result

    def _whole(self, block: _Slices) -> _Slices:
        return (slice(None),) * len(self._batch) + block

    def _send(self, source: _Traffic, target: _Traffic) -> None:
        if self._ranks is not None:
            there = [source.buffer, (source.counts, source.places)]
            self._ranks.comm.Alltoallv(there, [target.buffer, (target.counts, target.places)])

    def _together(self, work: Callable[[], Any]) -> Any:
        """Does what may fail on one rank alone: then it fails on all. Costs one allgather of an int."""
        error: Error | None = None
        found = None
        try:
            found = work()
        except Error as e:
            error = e
        except MemoryError as e:
            error = OutOfMemory(f"halo: {e}")

        def tell() -> None:
            if error is not None:
                raise error

        if self._ranks is None:
            tell()
        elif self._ranks.any(error is not None):
            self._ranks.agree(tell)
        return found

    def _checked(
        self, call: str, u: AnyArray, shape: tuple[int, ...], out: AnyArray | None, target: tuple[int, ...]
    ) -> AnyArray:
        def check() -> AnyArray:
            for name, a, wanted in (("the array", u, shape), ("out", out, target)):
                if a is None and name == "out":
                    continue
                if not isinstance(a, np.ndarray):
                    raise InvalidType(f"halo.{call}: {name} is a {type(a).__name__}; give a numpy array")
                if a.shape != wanted:
                    raise InvalidArgument(f"halo.{call}: {name} has shape {a.shape}; here it has shape {wanted}")
                if a.dtype != self._dtype:
                    raise InvalidType(f"halo.{call}: {name} has dtype {a.dtype}; the plan has {self._dtype}")
            if out is None:
                return np.empty(target, self._dtype)
            if not out.flags.writeable or np.may_share_memory(u, out):
                raise InvalidArgument(f"halo.{call}: out is read-only or the same memory as the array")
            return out

        result: AnyArray = self._together(check)
        return result
