"""Arrays that know which part of a global array they are: mpi4py-fft's `DistArray` and `newDistArray`.

A `DistArray` is this rank's part as a numpy array, with a `Pencil` that says where it lies. A tensor has further axes
in front (`rank` of them), which are not divided. Moving to another layout is one exchange for each component.
Source: the documented interface of mpi4py-fft 2.0.6.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from .._arguments import wholes
from .._errors import InvalidArgument, InvalidType
from .fftw import aligned
from .io import FileBase, HDF5File, NCFile
from .io.file_base import common_part
from .pencil import Pencil, Subcomm, Transfer

AnyArray = npt.NDArray[Any]

__all__ = ["DistArray", "Function", "newDistArray"]


def _layout(shape: tuple[int, ...], subcomm: Any, alignment: int | None) -> Pencil:
    """The pencil that the arguments of `DistArray` describe. Collective where communicators are made."""
    ndim = len(shape)
    if subcomm is None:
        whole_axis = ndim - 1 if alignment is None else int(alignment) % ndim
        comms = Subcomm(MPI.COMM_WORLD, [int(axis == whole_axis) for axis in range(ndim)])
        return Pencil(comms, shape, whole_axis)
    if not isinstance(subcomm, Subcomm):
        items = list(subcomm)
        given = all(isinstance(item, MPI.Comm) for item in items)
        comms = Subcomm(items) if given else Subcomm(MPI.COMM_WORLD, wholes(items, "subcomm"))
    else:
        comms = subcomm
    if len(comms) != ndim:
        raise InvalidArgument(f"subcomm has {len(comms)} entries for shape {shape}; give one for each axis")
    if alignment is None:
        candidates = [axis for axis, parts in enumerate(comms.grid) if parts == 1]
        if not candidates:
            raise InvalidArgument(f"subcomm divides all axes of shape {shape}, by {comms.grid}; one must be whole (1)")
        alignment = candidates[-1]
    return Pencil(comms, shape, alignment)


class _Memory(np.ndarray[Any, Any]):
    """An array of another type than its views, so that numpy counts a DistArray, not this, as the base of a view."""


class DistArray(np.ndarray[Any, Any]):
    """This rank's part of a global array.

    Parameters
    ----------
    global_shape
        With the tensor's axes in front.
    subcomm
        A `Subcomm`, or its `dims` over COMM_WORLD: 0 where an axis is divided, 1 where it is whole. None: all axes
        but `alignment` are divided.
    val
        Initial value, where it is a number and there is no buffer; else undefined.
    dtype
        Element type.
    buffer
        Memory for the part; what it holds is kept.
    strides
        Of the part in the buffer.
    alignment
        The axis that is whole, not counting the tensor's; by default the last one that can be.
    rank
        How many tensor axes there are in front: 0 scalar, 1 vector, 2 matrix.
    """

    _p0: Pencil | None
    _rank: int

    def __new__(
        cls, global_shape: Sequence[int], subcomm: Any = None, val: Any = None, dtype: npt.DTypeLike = float,
        buffer: Any = None, strides: Any = None, alignment: int | None = None, rank: int = 0,
    ) -> DistArray:  # fmt: skip
        shape = wholes(global_shape, "global_shape")
        if not 0 <= rank < len(shape):
            raise InvalidArgument(f"rank is {rank} for global_shape {shape}; at least one axis is not the tensor's")
        # One axis alone is not divided: every rank has the whole of it.
        pencil = _layout(shape[rank:], subcomm, alignment) if len(shape) - rank > 1 else None
        local = (*shape[:rank], *(shape[rank:] if pencil is None else pencil.subshape))
        memory = aligned(local, dtype=dtype).view(_Memory) if buffer is None else buffer
        try:
            made: DistArray = np.ndarray.__new__(cls, local, dtype=np.dtype(dtype), buffer=memory, strides=strides)
        except TypeError as error:
            raise InvalidType(
                f"buffer does not hold this rank's part, {local} of {np.dtype(dtype)} ({error})"
            ) from None
        if buffer is None and isinstance(val, Number):  # as there: what a caller brings is kept
            made.fill(val)
        made._p0, made._rank = pencil, rank
        return made

    def __array_finalize__(self, obj: Any) -> None:
        self._p0 = getattr(obj, "_p0", None)
        self._rank = getattr(obj, "_rank", 0)

    @property
    def pencil(self) -> Pencil:
        """How the array is divided, without the tensor's axes."""
        if self._p0 is None:
            raise InvalidArgument(f"an array of shape {self.shape} with one axis is not divided, so it has no pencil")
        return self._p0

    @property
    def alignment(self) -> int:
        """The axis that is whole, not counting the tensor's."""
        return self.pencil.axis

    @property
    def rank(self) -> int:
        """How many tensor axes there are in front."""
        return self._rank

    @property
    def dimensions(self) -> int:
        """Number of axes without the tensor's."""
        return 1 if self._p0 is None else len(self._p0.shape)

    @property
    def global_shape(self) -> tuple[int, ...]:
        """Shape of the global array, with the tensor's axes."""
        return self.shape if self._p0 is None else (*self.shape[: self._rank], *self._p0.shape)

    @property
    def substart(self) -> tuple[int, ...]:
        """Where this rank's part begins, with the tensor's axes."""
        return (0,) * self.ndim if self._p0 is None else (0,) * self._rank + self._p0.substart

    @property
    def subcomm(self) -> Subcomm:
        """The communicators of the axes, without the tensor's."""
        return self.pencil.subcomm

    @property
    def commsizes(self) -> list[int]:
        """Among how many ranks each axis is divided, with the tensor's axes."""
        return [1] * self.ndim if self._p0 is None else [1] * self._rank + list(self._p0.subcomm.grid)

    @property
    def v(self) -> AnyArray:
        """This rank's part as a plain numpy array of the same memory."""
        return self.view(np.ndarray)

    def local_slice(self) -> tuple[slice, ...]:
        """This rank's part as slices of the global array."""
        parts = zip(self.substart, self.shape, strict=True)
        return tuple(slice(start, start + n) for start, n in parts)

    def __getitem__(self, i: Any) -> Any:
        """A component of a tensor is a DistArray of lower rank; other parts of an array are plain."""
        found = self.v[i]
        if not isinstance(found, np.ndarray) or self._p0 is None:
            return found
        lost = self.ndim - found.ndim
        if found.shape[found.ndim - self.dimensions :] != self._p0.subshape or not 0 <= lost <= self._rank:
            return found
        part = found.view(type(self))
        part._p0, part._rank = self._p0, self._rank - lost
        return part

    def get(self, gslice: Sequence[int | slice]) -> AnyArray | None:
        """A part of the global array, on rank 0 of COMM_WORLD; None on the others. Collective.

        Parameters
        ----------
        gslice
            A number or slice(None) for each axis, with the tensor's.
        """
        chosen = tuple(gslice)
        if len(chosen) != self.ndim:
            raise InvalidArgument(f"gslice is {chosen}; give a number or slice(None) for each of {self.ndim} axes")
        take, put = common_part(chosen, self.local_slice(), self.global_shape)
        mine = None if take is None else (put, np.ascontiguousarray(self.v[take]))
        everyone = MPI.COMM_WORLD.gather(mine, root=0)
        if everyone is None:
            return None
        ranges = zip(chosen, self.global_shape, strict=True)
        shape = [len(range(*s.indices(n))) for s, n in ranges if isinstance(s, slice)]
        result: AnyArray = np.empty(shape, self.dtype)
        for entry in everyone:
            if entry is not None:
                result[entry[0]] = entry[1]
        return result

    def get_pencil_and_transfer(self, axis: int) -> tuple[Pencil, Transfer]:
        """The layout with another axis whole, and the exchange that leads to it."""
        pencil = self.pencil.pencil(axis)
        return pencil, self.pencil.transfer(pencil, self.dtype)

    def redistribute(self, axis: int | None = None, out: DistArray | None = None) -> DistArray:
        """The array with another axis whole. Collective.

        Parameters
        ----------
        axis
            That axis, not counting the tensor's. If it is whole already and there is no `out`, the array itself is
            returned. Default: that of `out`.
        out
            Where the result goes; by default a new array.
        """
        if axis is None and out is None:
            raise InvalidArgument("redistribute: give the axis that is to be whole, or out=")
        wanted = out.alignment if axis is None and out is not None else axis
        assert wanted is not None
        pencil = self.pencil.pencil(wanted)
        if out is None:
            if pencil.axis == self.alignment:
                return self
            shape = (*self.shape[: self.rank], *pencil.shape)
            out = DistArray(shape, pencil.subcomm, None, self.dtype, alignment=pencil.axis, rank=self.rank)
        if out.global_shape != self.global_shape or out.dtype != self.dtype or out.rank != self.rank:
            raise InvalidArgument(
                f"redistribute: out has global shape {out.global_shape}, {out.dtype} and rank {out.rank}; the array "
                f"has {self.global_shape}, {self.dtype} and {self.rank}"
            )
        if self.pencil.divides_like(out.pencil):
            out[...] = self
            return out
        transfer = self.pencil.transfer(out.pencil, self.dtype)
        for component in np.ndindex(self.shape[: self.rank]):
            transfer.forward(self.v[component], out.v[component])
        transfer.destroy()
        return out

    def write(
        self, filename: str | os.PathLike[str] | FileBase, name: str = "darray", step: int = 0,
        global_slice: Any = None, domain: Any = None, as_scalar: bool = False,
    ) -> None:  # fmt: skip
        """Writes the array, or `global_slice` of it, to a file as snapshot `step` of `name`. Collective.

        A name that ends in .h5 is an HDF5 file, one in .nc a NetCDF file; it is made if it is not there.
        """
        file = _file(filename, domain)
        file.write(step, {name: [self if global_slice is None else (self, global_slice)]}, as_scalar=as_scalar)

    def read(self, filename: str | os.PathLike[str] | FileBase, name: str = "darray", step: int = 0) -> None:
        """Reads snapshot `step` of `name` from a file into the array. Collective."""
        _file(filename, None, mode="r").read(self, name, step=step)


def _file(filename: str | os.PathLike[str] | FileBase, domain: Any, mode: str = "a") -> FileBase:
    if isinstance(filename, FileBase):
        return filename
    name = os.fspath(filename)
    kinds: dict[str, type[HDF5File] | type[NCFile]] = {".h5": HDF5File, ".hdf5": HDF5File, ".nc": NCFile}
    kind: type[HDF5File] | type[NCFile] | None = kinds.get(os.path.splitext(name)[1])
    if kind is None:
        raise InvalidArgument(f"filename is {name!r}; it ends in one of {', '.join(kinds)}")
    return kind(name, domain=domain, mode=mode)


def newDistArray(
    pfft: Any, forward_output: bool = True, val: complex = 0, rank: int = 0, view: bool = False
) -> DistArray | AnyArray:
    """A new array for a `PFFT`. Not collective.

    Parameters
    ----------
    pfft
        The transform.
    forward_output
        True: for the spectrum. False: for real space.
    val
        Initial value.
    rank
        Of a tensor, whose components are as many as the array has axes.
    view
        Return the plain numpy array, whose `base` is the DistArray.
    """
    pencil = pfft.pencil[1 if forward_output else 0]
    shape = (len(pencil.shape),) * rank + tuple(pencil.shape)
    dtype = pfft.dtype(forward_output)
    array = DistArray(shape, pencil.subcomm, val, dtype, alignment=pencil.axis, rank=rank)
    return array.v if view else array


def Function(*args: Any, **kwargs: Any) -> DistArray | AnyArray:
    """The older name of `newDistArray`; ``tensor=`` stands for rank 1."""
    warnings.warn("Function() is deprecated; use newDistArray().", FutureWarning, stacklevel=2)
    if "tensor" in kwargs:
        kwargs["rank"] = 1
        del kwargs["tensor"]
    return newDistArray(*args, **kwargs)
