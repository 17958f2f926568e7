"""Snapshots of distributed arrays in files, under mpi4py-fft's names: HDF5 by h5py, NetCDF by netCDF4."""

from .file_base import FileBase
from .generate_xdmf import generate_xdmf
from .h5py_file import HDF5File
from .nc_file import NCFile

__all__ = ["FileBase", "HDF5File", "NCFile", "generate_xdmf"]
