"""On ranks, beside an installed wheel: whether spanfft takes the core that is named, and transforms over ranks.

mpiexec -n 2 python wheel_ranks.py _mpi_mpich
"""

import sys

import numpy as np
import spanfft
from mpi4py import MPI

comm = MPI.COMM_WORLD
assert comm.size == 2, f"a job of {comm.size}: mpiexec is of another MPI"
assert "site-packages" in spanfft.__file__, spanfft.__file__
pi = 4 * np.arctan(np.longdouble(1))


def matrix(n: int) -> np.ndarray:
    """The definition, in long double."""
    return np.exp(-2j * pi * (np.outer(range(n), range(n)) % n) / n)


x = np.random.default_rng(1).standard_normal((9, 10)) + 1j
exact = matrix(9) @ x @ matrix(10)
for exchange in ("alltoallw", "alltoallv", "overlap", "shared"):
    with spanfft.Plan(x.shape, comm=comm, exchange=exchange) as plan:
        spectrum = plan.forward(np.ascontiguousarray(x[plan.input_slices]))
        error = np.linalg.norm(spectrum - exact[plan.output_slices]) / np.linalg.norm(exact)
        assert error <= 0.6 * 2.0**-52 * np.log2(x.size) ** 0.5, error  # docs/accuracy.md
        back = plan.backward(spectrum)
        assert np.allclose(back, x[plan.input_slices], rtol=0, atol=1e-14)
taken = sorted(name for name in sys.modules if name.startswith("spanfft._mpi_"))
assert taken == [f"spanfft.{sys.argv[1]}"], taken
with open("/proc/self/maps") as maps:
    files = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
libraries = {f for f in files if f.rsplit("/", 1)[-1].startswith(("libmpi.so", "libmpich.so", "libmpi_abi.so"))}
assert len(libraries) == 1, libraries
if comm.rank == 0:
    print(f"{taken[0]} on {libraries.pop().rsplit('/', 1)[-1]}: {MPI.Get_library_version().splitlines()[0].strip()}")
