"""fluidfft's method ``fft3d.mpi_with_spanfft``: three axes in slabs, z divided in real space and y in the spectrum."""

from __future__ import annotations

from fluidfft.fft3d.base import BaseFFTMPI

from ._common import Lengths, WithSpanfft

__all__ = ["FFT3DMPIWithSpanfft", "FFTclass"]


class FFT3DMPIWithSpanfft(WithSpanfft, BaseFFTMPI):  # type: ignore[misc]
    """Real transforms of arrays of n0 x n1 x n2 elements, the last axis halved."""

    def __init__(self, n0: int, n1: int, n2: int) -> None:
        self._make((n0, n1, n2))
        super().__init__(n0, n1, n2)

    def get_dimX_K(self) -> Lengths:
        """Which axis of real space each axis of the spectrum is."""
        return 0, 1, 2


FFTclass = FFT3DMPIWithSpanfft
