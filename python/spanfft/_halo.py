"""Halo: a rank's part of real space with its periodic surroundings, and the adjoint, which adds surroundings back.

The library does both (src/exec/halo.hpp); here arguments are checked, arrays made, and non-contiguous ones copied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import whole
from ._arrays import AnyArray, listed
from ._errors import Error, InvalidArgument, InvalidType, OutOfMemory
from ._native import core

if TYPE_CHECKING:
    from ._core import Counts
    from ._core import Plan as CorePlan
    from ._mpi import Ranks

__all__ = ["Halo", "Width", "widths_of"]

Width = int | Sequence[int | tuple[int, int]]
_CALLS = {("exchange", False): 0, ("exchange", True): 1, ("add_back", False): 2, ("add_back", True): 2}


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


class Halo:
    """A rank's part of real space with its surroundings, which are periodic. `Plan.halo` makes it.

    It is planned once, with its buffers, and used many times. `exchange` and `add_back` are collective if the plan has
    a communicator. The surroundings may be wider than a part, and wider than the whole array.
    """

    def __init__(
        self, plan: CorePlan, batch: int | None, dtype: np.dtype[Any], ranks: Ranks | None, width: Width
    ) -> None:
        self._ranks, self._dtype = ranks, dtype
        _, part, _ = plan.input_part
        start = plan.input_part[0]

        def check() -> tuple[tuple[int, int], ...]:
            return widths_of(width, len(part))

        self.width: tuple[tuple[int, int], ...] = check() if ranks is None else ranks.agree(check)[ranks.rank]
        """Elements before and after this rank's part, for each axis."""
        before, after = ([pair[side] for pair in self.width] for side in (0, 1))
        self._core = core.Halo(plan, before, after)
        self._serial = 0 if ranks is None else ranks.next_serial()
        empty = 0 in part
        self.ranges: tuple[range, ...] = tuple(
            range(first, first) if empty else range(first - b, first + count + a)
            for first, count, (b, a) in zip(start, part, self.width, strict=True)
        )
        """The indices that the extended part has along each axis; they run on beyond 0 and the length of the axis."""
        batched = () if batch is None else (batch,)
        self._part_shape = (*batched, *part)
        self.shape: tuple[int, ...] = (*batched, *map(len, self.ranges))
        """Shape of the extended part, with the batch. A part without elements has no surroundings either."""

    @property
    def sent_elems(self) -> int:
        """Elements that `exchange` sends from this rank to others, and `add_back` receives. 0 where ranks of a node see
        the plan's own array (`Plan(..., own_input=True)`): then nothing is sent."""
        return self.predicted()["sent_bytes"] // self._dtype.itemsize

    def exchange(self, u: AnyArray, out: AnyArray | None = None) -> AnyArray:
        """This rank's part with its surroundings, as the other ranks have them. Collective on ranks.

        Parameters
        ----------
        u
            This rank's box of real space: the plan's `input_shape` and `dtype`. With own_input, the plan's
            `input_array` is read by the other ranks of the node where it lies.
        out
            Where the result goes: shape `shape`, the plan's `dtype`. By default a new array.
        """
        return self._run("exchange", self._core.exchange, u, self._part_shape, out, self.shape)

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
        return self._run("add_back", self._core.add, extended, self.shape, out, self._part_shape)

    def predicted(self, call: str = "exchange", own: bool = False) -> Counts:
        """What a call costs this rank: "exchange", or "add_back". `own`: with the plan's own array on all ranks."""
        number = _CALLS.get((call, bool(own)))
        if number is None:
            raise InvalidArgument(f"call is {call!r}; it can be 'exchange' or 'add_back'")
        return self._core.predicted(number)

    def counted(self) -> Counts:
        """What the last call counted on this rank."""
        return self._core.counted()

    def free(self) -> None:
        """Frees the buffers. Collective on ranks. The halo is then unusable. One that is garbage-collected instead is
        freed when the next plan is made on its communicator."""
        self._core.free()
        self._serial = 0

    def __del__(self) -> None:
        ranks, serial = getattr(self, "_ranks", None), getattr(self, "_serial", 0)
        if ranks is not None and serial and not sys.is_finalizing():
            ranks.drop(serial, self._core)

    def _run(
        self, name: str, call: Callable[[AnyArray, AnyArray], None], u: AnyArray, shape: tuple[int, ...],
        out: AnyArray | None, target: tuple[int, ...],
    ) -> AnyArray:  # fmt: skip
        def check() -> tuple[AnyArray, AnyArray]:
            self._check(name, u, shape, out, target)
            result = out if out is not None and out.flags.c_contiguous else np.empty(target, self._dtype)
            return np.require(u, requirements=["C", "A"]), result

        source: AnyArray
        result: AnyArray
        source, result = self._together(check)
        call(source, result)
        if out is None or out is result:
            return result
        out[...] = result
        return out

    def _check(
        self, call: str, u: AnyArray, shape: tuple[int, ...], out: AnyArray | None, target: tuple[int, ...]
    ) -> None:
        for name, a, wanted in (("the array", u, shape), ("out", out, target)):
            if a is None and name == "out":
                continue
            if not isinstance(a, np.ndarray):
                raise InvalidType(f"halo.{call}: {name} is a {type(a).__name__}; give a numpy array")
            if a.shape != wanted:
                raise InvalidArgument(f"halo.{call}: {name} has shape {a.shape}; here it has shape {wanted}")
            if a.dtype != self._dtype:
                raise InvalidType(f"halo.{call}: {name} has dtype {a.dtype}; the plan has {self._dtype}")
        if out is not None and (not out.flags.writeable or np.may_share_memory(u, out)):
            raise InvalidArgument(f"halo.{call}: out is read-only or the same memory as the array")

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
