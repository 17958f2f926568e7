"""mpi4py-fft's names, done by spanfft: programs that import mpi4py_fft run on it when they import this instead.

`from spanfft.mpi4py_fft import PFFT, newDistArray`, and the submodules `fftw`, `libfft`, `mpifft`, `pencil`,
`distarray` and `io`. Layouts, arguments and results are those of mpi4py-fft 2.0.6 (docs/howto/from-mpi4py-fft.md).
"""

from . import distarray, fftw, io, libfft, mpifft, pencil
from .distarray import DistArray, Function, newDistArray
from .fftw import fftlib
from .io import HDF5File, NCFile, generate_xdmf
from .libfft import FFT
from .mpifft import PFFT
from .pencil import Pencil, Subcomm, Transfer

__version__ = "2.0.6"

__all__ = [
    "FFT",
    "PFFT",
    "DistArray",
    "Function",
    "HDF5File",
    "NCFile",
    "Pencil",
    "Subcomm",
    "Transfer",
    "distarray",
    "fftlib",
    "fftw",
    "generate_xdmf",
    "io",
    "libfft",
    "mpifft",
    "newDistArray",
    "pencil",
]
