/* Starts the Fortran client in wave.f90, so that no MPI's Fortran bindings are needed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void wave(MPI_Fint comm, double* wrong);

int main(int argc, char** argv) {
    int ranks;
    double wrong = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2 || ranks != atoi(argv[1])) MPI_Abort(MPI_COMM_WORLD, 3);
    wave(MPI_Comm_c2f(MPI_COMM_WORLD), &wrong);
    MPI_Finalize();
    if (!(wrong < 1e-12)) fprintf(stderr, "differs by %g\n", wrong);
    return !(wrong < 1e-12);
}
