# Copyright (c) 2026, The spanfft developers. Licence: BSD-3-Clause.
"""Spack's package of the Python package, which has a library of its own: docs/howto/package.md says how to use it."""

import os

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PySpanfft(PythonPackage):
    """Fourier transforms that span cores, nodes and disks, for Python."""

    # As for the package spanfft.
    manual_download = True
    url = f"file://{os.getcwd()}/spanfft-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0")

    variant("mpi", default=True, description="Transform arrays that MPI ranks share")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("mpi", when="+mpi")
    depends_on("py-mpi4py@4:", type="run", when="+mpi")

    conflicts("%gcc@:11", msg="spanfft is written in C++20, as GCC 12 has it")

    import_modules = ["spanfft", "spanfft.scipy"]

    def config_settings(self, spec, prefix):
        """Words for scikit-build-core, which compiles the library and the modules."""
        if spec.satisfies("~mpi"):
            return {"cmake.define.SPANFFT_MPI": "OFF"}
        return {"cmake.define.SPANFFT_MPI": "ON", "cmake.define.MPI_C_COMPILER": spec["mpi"].mpicc}
