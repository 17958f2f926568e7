"""On n ranks: the job's size, the MPI library files that this process holds after importing mpi4py, the version.

spanfft-dev compares this with two_ranks.c, compiled with the MPI in use.
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD
with open("/proc/self/maps") as maps:
    files = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
names = ("libmpi.so", "libmpich.so", "libmpi_abi.so")
libraries = sorted(f for f in files if f.rsplit("/", 1)[-1].startswith(names))
found = comm.gather((comm.size, libraries))
if found:
    print("SIZES", sorted({size for size, _ in found}))
    print("LIBRARIES", *sorted({library for _, each in found for library in each}))
    print("VERSION", MPI.Get_library_version().splitlines()[0].strip("\0"))
