"""What the two plugins for fluidfft have in common: a plan of real arrays in slabs, scaled forward by 1/N.

Real space is divided along its first axis and the spectrum along its second, where the last exchange leaves it. Inputs
survive. fluidfft asks for shapes and first indices of this rank ("loc") and of the whole ("seq").
Source: the interface of fluidfft 0.4.5's BaseFFTMPI and what its operators call.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from fluiddyn.util import mpi

from .._plan import Plan

Field = npt.NDArray[np.float64]
Spectrum = npt.NDArray[np.complex128]
Lengths = tuple[int, ...]

__all__ = ["Field", "Lengths", "Spectrum", "WithSpanfft"]


class WithSpanfft:
    """The part of a plugin that does not depend on the number of axes."""

    _plan: Plan
    shapeX: Lengths
    shapeK: Lengths

    def _make(self, shape: Lengths) -> None:
        comm = mpi.comm if mpi.nb_proc > 1 else None
        grid = None if comm is None else (mpi.nb_proc, *(1 for _ in shape[1:]))
        self._plan = Plan(shape, "float64", kind="r2c", comm=comm, grid=grid, output="exchanged", norm="forward")
        self.shapeX = self.get_shapeX_loc()
        self.shapeK = self.get_shapeK_loc()

    def _stored(self, of_plan: Lengths) -> Lengths:
        """The order in which a spectrum's axes are stored."""
        return of_plan

    def _as_in_plan(self, spectrum: Spectrum) -> Spectrum:
        """A stored spectrum with the plan's order of axes: a view."""
        return spectrum

    def get_shapeX_loc(self) -> Lengths:
        return self._plan.input_shape

    def get_shapeX_seq(self) -> Lengths:
        return self._plan.shape

    def get_shapeK_loc(self) -> Lengths:
        return self._stored(self._plan.output_shape)

    def get_shapeK_seq(self) -> Lengths:
        return self._stored(self._plan.spectrum_shape)

    def get_seq_indices_first_X(self) -> Lengths:
        return tuple(part.start for part in self._plan.input_slices)

    def get_seq_indices_first_K(self) -> Lengths:
        return self._stored(tuple(part.start for part in self._plan.output_slices))

    def create_arrayX(self, value: float | None = None, shape: Lengths | str | None = None) -> Field:
        """A new array of real space; by default this rank's."""
        lengths = self._chosen(shape, self.get_shapeX_loc(), self.get_shapeX_seq())
        return np.empty(lengths) if value is None else np.full(lengths, value, np.float64)

    def create_arrayK(self, value: complex | None = None, shape: Lengths | str | None = None) -> Spectrum:
        """A new spectrum; by default this rank's."""
        lengths = self._chosen(shape, self.get_shapeK_loc(), self.get_shapeK_seq())
        return np.empty(lengths, np.complex128) if value is None else np.full(lengths, value, np.complex128)

    @staticmethod
    def _chosen(shape: Lengths | str | None, local: Lengths, whole: Lengths) -> Lengths:
        if shape is None or isinstance(shape, str):
            return whole if shape == "seq" else local
        return tuple(shape)

    def fft_as_arg(self, fieldX: Field, fieldK: Spectrum) -> None:
        self._plan.forward(fieldX, self._as_in_plan(fieldK))

    def ifft_as_arg(self, fieldK: Spectrum, fieldX: Field) -> None:
        self._plan.backward(self._as_in_plan(fieldK), fieldX)

    ifft_as_arg_destroy = ifft_as_arg

    def fft(self, fieldX: Field) -> Spectrum:
        fieldK = self.create_arrayK()
        self.fft_as_arg(fieldX, fieldK)
        return fieldK

    def ifft(self, fieldK: Spectrum) -> Field:
        fieldX = self.create_arrayX()
        self.ifft_as_arg(fieldK, fieldX)
        return fieldX
