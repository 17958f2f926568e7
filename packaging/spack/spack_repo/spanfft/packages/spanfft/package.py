# Copyright (c) 2026, The spanfft developers. Licence: BSD-3-Clause.
"""Spack's package of the library, for C, C++ and Fortran: docs/howto/package.md says how to use it."""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Spanfft(CMakePackage):
    """Fourier transforms that span cores, nodes and disks."""

    # Until a registry has it, the sdist lies in the folder where spack is called (dist/ after spanfft-dev package).
    manual_download = True
    url = f"file://{os.getcwd()}/spanfft-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0")

    variant("mpi", default=True, description="Transform arrays that MPI ranks share")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    # CMake fetches the sources of ducc0 and xxhash by pip and checks their digests.
    depends_on("python@3.10:", type="build")
    depends_on("py-pip", type="build")
    depends_on("mpi", when="+mpi")

    conflicts("%gcc@:11", msg="spanfft is written in C++20, as GCC 12 has it")

    def cmake_args(self):
        args = [
            self.define("SPANFFT_PYTHON", False),
            self.define_from_variant("SPANFFT_MPI", "mpi"),
            self.define("Python_EXECUTABLE", self.spec["python"].command.path),
        ]
        if self.spec.satisfies("+mpi"):
            args.append(self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc))
        return args
