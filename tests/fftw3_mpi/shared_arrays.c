/* A client of FFTW's MPI interface that allocates its arrays by fftw_alloc_complex, large enough for the library to
 * give them pages that the ranks of a node share. What it checks holds for FFTW too: planning keeps contents, results
 * are those of a plan on memory of malloc, there and back returns the input, and an execution on other arrays leaves
 * alone the array for which the plan was made.
 *
 *     shared_arrays RANKS               checks
 *     shared_arrays RANKS N TURNS       then times N x N x N on memory of malloc and of fftw_malloc, in turns
 */
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef fftw_complex point;
enum { N0 = 56, N1 = 64, N2 = 66 }; /* products of small primes; N0 is 19, 19 and 18 planes of 3 ranks */
static int failures;

static void check(int good, const char* what) {
    int all;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) return;
    ++failures;
    if (!good) fprintf(stderr, "FAILED: %s\n", what);
}

/* The relative difference of two arrays in the 2-norm, of all ranks. */
static double difference(const point* a, const point* b, double factor, ptrdiff_t count) {
    double sums[2] = {0, 0};
    for (ptrdiff_t i = 0; i < count; ++i) {
        const double re = a[i][0] - factor * b[i][0], im = a[i][1] - factor * b[i][1];
        sums[0] += re * re + im * im;
        sums[1] += factor * factor * (b[i][0] * b[i][0] + b[i][1] * b[i][1]);
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(sums[0] / sums[1]);
}

static void fill(point* a, ptrdiff_t count, unsigned seed) {
    srand(seed);
    for (ptrdiff_t i = 0; i < count; ++i) {
        a[i][0] = rand() / (double)RAND_MAX - 0.5;
        a[i][1] = rand() / (double)RAND_MAX - 0.5;
    }
}

static fftw_plan planned(point* in, point* out, int sign) {
    fftw_plan plan = fftw_mpi_plan_dft_3d(N0, N1, N2, in, out, MPI_COMM_WORLD, sign, FFTW_ESTIMATE);
    if (!plan) MPI_Abort(MPI_COMM_WORLD, 2);
    return plan;
}

static void checks(int rank) {
    ptrdiff_t n0, start;
    const ptrdiff_t room = fftw_mpi_local_size_3d(N0, N1, N2, MPI_COMM_WORLD, &n0, &start);
    const ptrdiff_t count = n0 * N1 * N2;
    const size_t bytes = (size_t)room * sizeof(point);
    const double scale = (double)N0 * N1 * N2;
    const double rule = 2 * 0.6 * 2.22e-16 * sqrt(log2(scale)); /* of two transforms (docs/accuracy.md) */
    point *plain = malloc(bytes), *expected = malloc(bytes), *other = malloc(bytes), *before = malloc(bytes);
    point *a = fftw_alloc_complex((size_t)room), *b = fftw_alloc_complex((size_t)room);

    fill(plain, room, 7u + (unsigned)rank);
    fftw_plan reference = planned(plain, expected, FFTW_FORWARD);
    fftw_execute(reference);
    fftw_destroy_plan(reference);

    memcpy(a, plain, bytes);
    fill(b, room, 77u + (unsigned)rank);
    memcpy(before, b, bytes);
    fftw_plan there = planned(a, b, FFTW_FORWARD);
    check(memcmp(b, before, bytes) == 0, "planning keeps what the output holds");
    fftw_plan back = planned(b, a, FFTW_BACKWARD);
    check(memcmp(a, plain, bytes) == 0, "planning keeps what the input holds");
    for (int i = 0; i < 3; ++i) {
        memcpy(a, plain, bytes);
        fftw_execute(there);
        check(difference(b, expected, 1, count) <= rule, "the result of a plan on memory of malloc");
        check(memcmp(a, plain, bytes) == 0, "the input is left as it was");
        memset(a, 0, (size_t)count * sizeof(point));
        fftw_execute(back);
        check(difference(a, plain, scale, count) <= rule, "there and back");
    }
    fftw_plan again = planned(a, b, FFTW_FORWARD); /* a second plan of the same output */
    memcpy(a, plain, bytes);
    memset(b, 0, bytes);
    fftw_execute(again);
    check(difference(b, expected, 1, count) <= rule, "two plans of one output");

    fill(b, room, 777u + (unsigned)rank);
    memcpy(before, b, bytes);
    for (int i = 0; i < 2; ++i) {
        memset(other, 0, bytes);
        fftw_execute_dft(there, a, other);
        check(difference(other, expected, 1, count) <= rule, "an execution on another output");
        check(memcmp(b, before, bytes) == 0, "it leaves the first output alone");
    }
    fftw_execute(there);
    check(difference(b, expected, 1, count) <= rule, "and then again on the first");
    fftw_free(a); /* before the plan of which it is the output */
    point* c = fftw_alloc_complex((size_t)room);
    fftw_execute_dft(back, b, c);
    check(difference(c, plain, scale, count) <= rule, "the plan outlives its array");
    fftw_destroy_plan(again);
    fftw_destroy_plan(back);
    fftw_destroy_plan(there);
    fftw_free(b);
    fftw_free(c);
    free(plain);
    free(expected);
    free(other);
    free(before);
}

static int ascending(const void* a, const void* b) {
    return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

static void times(int rank, ptrdiff_t n, int turns) {
    ptrdiff_t n0, start;
    const ptrdiff_t room = fftw_mpi_local_size_3d(n, n, n, MPI_COMM_WORLD, &n0, &start);
    const size_t bytes = (size_t)room * sizeof(point);
    point* arrays[2][2] = {{malloc(bytes), malloc(bytes)},
                           {fftw_alloc_complex((size_t)room), fftw_alloc_complex((size_t)room)}};
    fftw_plan plans[2];
    double* seconds[2];
    for (int kind = 0; kind < 2; ++kind) {
        fill(arrays[kind][0], room, 7);
        plans[kind] =
            fftw_mpi_plan_dft_3d(n, n, n, arrays[kind][0], arrays[kind][1], MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE);
        seconds[kind] = malloc((size_t)turns * sizeof(double));
        fftw_execute(plans[kind]);
    }
    for (int turn = 0; turn < turns; ++turn) {
        for (int kind = 0; kind < 2; ++kind) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double from = MPI_Wtime();
            fftw_execute(plans[kind]);
            MPI_Barrier(MPI_COMM_WORLD);
            seconds[kind][turn] = MPI_Wtime() - from;
        }
    }
    for (int kind = 0; kind < 2; ++kind) qsort(seconds[kind], (size_t)turns, sizeof(double), ascending);
    if (rank == 0) {
        printf("c2c %td^3: malloc %.3f ms, fftw_malloc %.3f ms, medians of %d turns\n", n, 1e3 * seconds[0][turns / 2],
               1e3 * seconds[1][turns / 2], turns);
    }
    for (int kind = 0; kind < 2; ++kind) {
        fftw_destroy_plan(plans[kind]);
        free(seconds[kind]);
        for (int i = 0; i < 2; ++i) (kind ? fftw_free : free)(arrays[kind][i]);
    }
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || size != atoi(argv[1])) MPI_Abort(MPI_COMM_WORLD, 3);
    checks(rank);
    if (argc == 4) times(rank, atoi(argv[2]), atoi(argv[3]));
    if (rank == 0) printf("%d failures\n", failures);
    fftw_mpi_cleanup();
    MPI_Finalize();
    return failures != 0;
}
