/* On n ranks: the job's size and the MPI library's version; the counterpart of two_ranks.py. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, size, rank;
    MPI_Init(&argc, &argv);
    MPI_Get_library_version(version, &length);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    version[strcspn(version, "\n")] = 0;
    if (rank == 0) printf("SIZES [%d]\nVERSION %s\n", size, version);
    MPI_Finalize();
    return 0;
}
