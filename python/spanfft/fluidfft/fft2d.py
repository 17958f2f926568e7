"""fluidfft's method ``fft2d.mpi_with_spanfft``: y is divided in real space, and x in the spectrum, where it leads.

fluidfft's operators on ranks want a spectrum of two axes transposed: (kx, ky). The plan writes it so through a view.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fluiddyn.util import mpi
from fluidfft.fft3d.base import BaseFFTMPI, compute_k_adim_seq

from ._common import Field, Lengths, Spectrum, WithSpanfft

__all__ = ["FFT2DMPIWithSpanfft", "FFTclass"]


class FFT2DMPIWithSpanfft(WithSpanfft, BaseFFTMPI):  # type: ignore[misc]
    """Real transforms of arrays of n0 x n1 elements, the last axis halved."""

    _numpy_api = np

    def __init__(self, n0: int, n1: int) -> None:
        self._make((n0, n1))
        self._is_mpi_lib = mpi.nb_proc > 1
        self.nb_proc, self.rank = mpi.nb_proc, mpi.rank
        if self._is_mpi_lib:
            self.comm = mpi.comm

    def _stored(self, of_plan: Lengths) -> Lengths:
        return of_plan[::-1]

    def _as_in_plan(self, spectrum: Spectrum) -> Spectrum:
        turned: Spectrum = spectrum.T
        return turned

    def get_is_transposed(self) -> bool:
        return True

    def get_dimX_K(self) -> Lengths:
        return 1, 0

    def get_local_size_X(self) -> int:
        return int(np.prod(self.get_shapeX_loc()))

    def get_x_adim_loc(self) -> tuple[Any, ...]:
        """Indices of this rank's points along y and x."""
        parts = zip(self.get_seq_indices_first_X(), self.get_shapeX_loc(), strict=True)
        return tuple(np.arange(first, first + n) for first, n in parts)

    def get_k_adim_loc(self) -> tuple[Any, ...]:
        """Wave numbers of this rank's points along kx and ky."""
        found = []
        for axis, (first, n) in enumerate(zip(self.get_seq_indices_first_K(), self.get_shapeK_loc(), strict=True)):
            every = compute_k_adim_seq(self.get_shapeK_seq()[axis], 1 - axis, dim_first_fft=1)
            found.append(every[first : first + n])
        return tuple(found)

    def sum_wavenumbers(self, fieldK: Any) -> Any:
        """The sum over all wave numbers, of which the spectrum has those with kx >= 0."""
        first, count = self.get_seq_indices_first_K()[0], self.get_shapeK_loc()[0]
        n = self.get_shapeX_seq()[1]
        # The lines kx = 0 and, where n is even, kx = n/2 have no other half.
        once = {0, n // 2} if n % 2 == 0 else {0}
        weights = np.array([1.0 if kx in once else 2.0 for kx in range(first, first + count)])
        return self._over_ranks((weights[:, None] * fieldK).sum())

    def _over_ranks(self, value: Any) -> Any:
        return mpi.comm.allreduce(value) if self._is_mpi_lib else value

    def compute_energy_from_X(self, fieldX: Field) -> Any:
        return self._over_ranks((fieldX**2).sum()) / (2 * np.prod(self.get_shapeX_seq()))

    def compute_energy_from_K(self, fieldK: Spectrum) -> Any:
        return self.sum_wavenumbers(abs(fieldK) ** 2) / 2

    compute_energy_from_spatial = compute_energy_from_X
    compute_energy_from_Fourier = compute_energy_from_K

    def gather_Xspace(self, field: Field, root: int | None = 0) -> Field | None:
        """The whole of real space on one rank, or (root None) on all."""
        if not self._is_mpi_lib:
            return field
        parts = mpi.comm.gather(field, root=root) if root is not None else mpi.comm.allgather(field)
        return None if parts is None else np.concatenate(parts)

    def scatter_Xspace(self, whole: Field | None, root: int = 0) -> Field:
        """This rank's part of what one rank has whole."""
        if not self._is_mpi_lib:
            assert whole is not None
            return whole
        firsts = mpi.comm.gather(self.get_seq_indices_first_X()[0], root=root)
        parts = None if firsts is None or whole is None else np.split(whole, firsts[1:])
        part: Field = np.ascontiguousarray(mpi.comm.scatter(parts, root=root))
        return part


FFTclass = FFT2DMPIWithSpanfft
