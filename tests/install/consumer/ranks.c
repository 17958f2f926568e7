/* An impulse at the origin of an 8 x 6 array spread over ranks has a spectrum of ones, everywhere. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <spanfft/spanfft_mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int good, const char* what) {
    if (good) return;
    printf("%s: %s\n", what, spanfft_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    const int64_t shape[] = {8, 6};
    int ranks = 0;
    spanfft_comm* comm = NULL;
    spanfft_plan* plan = NULL;
    spanfft_problem problem;
    spanfft_box box;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(argc == 2 && ranks == atoi(argv[1]), "the job has not the size that it was started with");
    check(spanfft_comm_from_mpi(MPI_COMM_WORLD, &comm) == SPANFFT_OK, "communicator");
    spanfft_problem_init(&problem, 2, shape);
    check(spanfft_plan_create(&problem, comm, &plan) == SPANFFT_OK, "plan");

    double complex* in = calloc(1, (size_t)spanfft_plan_input_bytes(plan) + 1);
    double complex* out = calloc(1, (size_t)spanfft_plan_output_bytes(plan) + 1);
    check(spanfft_plan_input_box(plan, &box) == SPANFFT_OK, "input box");
    if (box.count[0] * box.count[1] > 0 && box.start[0] == 0 && box.start[1] == 0) in[0] = 1;
    check(spanfft_execute(plan, in, out) == SPANFFT_OK, "execute");

    long count = spanfft_plan_output_bytes(plan) / (long)sizeof(double complex), total = 0;
    double difference = 0, squares = 0;
    for (long i = 0; i < count; ++i) difference += creal((out[i] - 1) * conj(out[i] - 1));
    MPI_Allreduce(&difference, &squares, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    /* docs/accuracy.md: a relative L2 error of 0.6 eps sqrt(log2 N) at most, for N = 48, and the norm is sqrt(48) */
    check(sqrt(squares / 48) <= 0.6 * DBL_EPSILON * sqrt(log2(48)), "spectrum");
    MPI_Allreduce(&count, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check(total == 48, "the ranks do not hold the whole spectrum");

    spanfft_plan_free(plan);
    spanfft_comm_free(comm);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
