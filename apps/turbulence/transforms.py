"""The transforms that the solver needs, by spanfft, and by mpi4py-fft to compare with: three fields at a time.

Both give Fourier coefficients: forward carries the factor 1 / N. The spectrum is left where the last exchange puts it,
as the solver only multiplies it ("exchanged" in spanfft, the only order of mpi4py-fft).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import spanfft

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

Real = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]


class Transforms(Protocol):
    """Of three real fields on a grid of size^3, divided over ranks."""

    name: str
    modes: int
    """The spectrum has the modes of so many points an axis, in numpy's order."""
    real_slices: tuple[slice, ...]
    spectrum_slices: tuple[slice, ...]

    def forward(self, u: Real, out: Complex) -> None:
        """Grid values, (3, *box), to Fourier coefficients."""

    def backward(self, u_hat: Complex, out: Real) -> None:
        """Fourier coefficients to grid values. `u_hat` is left as it is."""


class Spanfft:
    """One plan transforms the three fields in one execution: a batch. It pads: only modes up to the cutoff are stored,
    transformed along the later axes, and exchanged."""

    _how = ""

    def __init__(self, size: int, cutoff: int, comm: Comm | None) -> None:
        self.modes = self._modes(size, cutoff)
        self.plan = spanfft.Plan(
            (size,) * 3, "float64", kind="r2c", comm=comm, kept=(self.modes,) * 3, output="exchanged", norm="forward",
            batch=3,
        )  # fmt: skip
        self.name = f"spanfft {spanfft.__version__}{self._how}, {self.plan.solver}, {self.plan.engines}"
        self.real_slices, self.spectrum_slices = self.plan.input_slices, self.plan.output_slices

    def _modes(self, size: int, cutoff: int) -> int:
        return 2 * cutoff + 1

    def forward(self, u: Real, out: Complex) -> None:
        self.plan.forward(u, out)

    def backward(self, u_hat: Complex, out: Real) -> None:
        self.plan.backward(u_hat, out)


class SpanfftWhole(Spanfft):
    """The same with all modes of the grid, those beyond the cutoff as zeros: what padding saves is the difference."""

    _how = " with all modes"

    def _modes(self, size: int, cutoff: int) -> int:
        return size


class Mpi4pyFft:
    """mpi4py-fft in slabs, as in its own demonstration of this solver: FFTW with FFTW_MEASURE, a field at a time, with
    all modes of the grid."""

    def __init__(self, size: int, cutoff: int, comm: Comm | None) -> None:
        import mpi4py_fft
        from mpi4py import MPI

        self._fft: Any = mpi4py_fft.PFFT(comm or MPI.COMM_SELF, (size,) * 3, dtype=np.float64, grid=(-1,))
        self.modes = size
        self.name = f"mpi4py-fft {mpi4py_fft.__version__}, slabs, FFTW"
        self.real_slices, self.spectrum_slices = self._fft.local_slice(False), self._fft.local_slice(True)

    def forward(self, u: Real, out: Complex) -> None:
        for field, spectrum in zip(u, out, strict=True):
            self._fft.forward(field, spectrum)

    def backward(self, u_hat: Complex, out: Real) -> None:
        for spectrum, field in zip(u_hat, out, strict=True):
            self._fft.backward(spectrum, field)


def preload(names: Iterable[str]) -> None:
    """Loads what links FFTW before spanfft loads MKL, whose own fftw_* functions it would otherwise be bound to."""
    if "mpi4py-fft" in names:
        import mpi4py_fft.fftw  # noqa: F401


LIBRARIES: dict[str, Any] = {"spanfft": Spanfft, "spanfft-whole": SpanfftWhole, "mpi4py-fft": Mpi4pyFft}
