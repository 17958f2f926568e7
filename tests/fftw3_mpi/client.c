/* A client of FFTW's MPI interface, which knows nothing of spanfft: random problems of every kind, compared with FFTW's
 * serial transforms of the whole array. It must pass with FFTW's own MPI library, and so it shows that a library that
 * stands in for it has the same layouts and results. It runs its plans by plain fftw_execute and on other arrays,
 * beside serial plans, and frees them in random order, as clients do.
 *
 *     client RANKS SEED PROBLEMS        compiled with -DPREFIX=fftw_, -DREAL=double, -DEPSILON=DBL_EPSILON, ...
 */
#include <fftw3-mpi.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define FFTW(name) JOIN(PREFIX, name)

enum { MAX_AXES = 4, KEPT = 4 };
enum kind { C2C, R2C, C2R, R2R, TRANSPOSE, KINDS };
static const char* const kind_names[] = {"c2c", "r2c", "c2r", "r2r", "transpose"};

typedef struct {
    enum kind kind;
    int axes, sign, in_place, tin, tout; /* tin, tout: transposed */
    ptrdiff_t n[MAX_AXES], howmany, block0, block1;
    FFTW(r2r_kind) kinds[MAX_AXES];
} problem;

/* One side of a problem on this rank, as FFTW stores it. */
typedef struct {
    int numbers, swapped, divided, padded; /* numbers: reals in an element */
    ptrdiff_t n[MAX_AXES], start, count;   /* n: of the whole array */
} side;

static unsigned long long state;
static unsigned long long next_random(void) { /* xorshift64* (Vigna 2016) */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 2685821657736338717ULL) >> 33;
}
static ptrdiff_t between(ptrdiff_t low, ptrdiff_t high) {
    return low + (ptrdiff_t)(next_random() % (unsigned long long)(high - low + 1));
}
static REAL number(void) { return (REAL)next_random() / (REAL)(1ULL << 30) - 1; }

static ptrdiff_t elements(const problem* p, const ptrdiff_t* n) {
    ptrdiff_t count = p->howmany;
    for (int i = 0; i < p->axes; ++i) count *= n[i];
    return count;
}

/* Whether FFTW's shorter forms, without `many`, can say it. */
static int simple(const problem* p) { return p->howmany == 1 && p->block0 == 0 && p->block1 == 0; }

static problem draw(int ranks) {
    problem p = {0};
    p.kind = (enum kind)between(0, KINDS - 1);
    p.axes = (int)between(p.kind == C2C ? 1 : 2, p.kind == TRANSPOSE ? 2 : MAX_AXES);
    p.sign = between(0, 1) ? FFTW_FORWARD : FFTW_BACKWARD;
    for (int i = 0; i < p.axes; ++i) {
        p.n[i] = between(1, p.axes == 1 ? 200 : p.axes == 2 ? 24 : 10);
        p.kinds[i] = (FFTW(r2r_kind))between(FFTW_REDFT00, FFTW_RODFT11);
        if (p.kinds[i] == FFTW_REDFT00 && p.n[i] == 1) p.kinds[i] = FFTW_REDFT10;
    }
    p.howmany = between(0, 2) ? 1 : between(2, 3);
    p.in_place = (int)between(0, 1);
    p.tin = p.axes > 1 && p.kind != R2C && between(0, 1);
    p.tout = p.axes > 1 && p.kind != C2R && between(0, 1);
    /* FFTW 3.3.10 drops axes of one point, and then takes the next for the one that TRANSPOSED means. */
    if (p.tin || p.tout)
        for (int i = 0; i < 2; ++i) p.n[i] += p.n[i] == 1;
    if (p.axes > 1 && between(0, 1)) { /* blocks of its own, that leave no rank out of the count */
        const ptrdiff_t n1 = p.axes == 2 && (p.kind == R2C || p.kind == C2R) ? p.n[1] / 2 + 1 : p.n[1];
        const ptrdiff_t least0 = (p.n[0] + ranks - 1) / ranks, least1 = (n1 + ranks - 1) / ranks;
        p.block0 = between(least0, p.n[0]);
        if (least1 < n1) p.block1 = between(least1, n1 - 1);
    }
    return p;
}

/* The forms for clients that transpose nothing: they must give the same first blocks, and not the whole array. */
static void check_plain_sizes(const problem* p, const ptrdiff_t* stored, int ranks, ptrdiff_t count0,
                              ptrdiff_t start0) {
    ptrdiff_t room, count = -1, start = -1;
    if (!simple(p)) {
        room = FFTW(mpi_local_size_many)(p->axes, stored, p->howmany, p->block0, MPI_COMM_WORLD, &count, &start);
    } else if (p->axes == 2) {
        room = FFTW(mpi_local_size_2d)(stored[0], stored[1], MPI_COMM_WORLD, &count, &start);
    } else if (p->axes == 3) {
        room = FFTW(mpi_local_size_3d)(stored[0], stored[1], stored[2], MPI_COMM_WORLD, &count, &start);
    } else {
        room = FFTW(mpi_local_size)(p->axes, stored, MPI_COMM_WORLD, &count, &start);
    }
    const int shared = ranks > 1 && p->block0 == 0 && stored[0] >= 2 * ranks && stored[1] >= 2 * ranks;
    if (count != count0 || start != start0 || (shared && room >= elements(p, stored))) MPI_Abort(MPI_COMM_WORLD, 4);
}

/* The sides, and the reals that an array must have room for. */
static ptrdiff_t layout(const problem* p, side* in, side* out) {
    ptrdiff_t stored[MAX_AXES], room;
    memset(in, 0, sizeof(*in));
    memset(out, 0, sizeof(*out));
    memcpy(in->n, p->n, sizeof(p->n));
    memcpy(out->n, p->n, sizeof(p->n));
    memcpy(stored, p->n, sizeof(p->n));
    const int halved = p->kind == R2C || p->kind == C2R, real = p->kind == R2R || p->kind == TRANSPOSE;
    in->numbers = real || p->kind == R2C ? 1 : 2;
    out->numbers = real || p->kind == C2R ? 1 : 2;
    if (halved) {
        stored[p->axes - 1] = p->n[p->axes - 1] / 2 + 1;
        side* const half = p->kind == R2C ? out : in;
        half->n[p->axes - 1] = stored[p->axes - 1];
        (p->kind == R2C ? in : out)->padded = 1;
    }
    if (p->axes == 1 && p->howmany == 1) {
        room = FFTW(mpi_local_size_1d)(p->n[0], MPI_COMM_WORLD, p->sign, FFTW_ESTIMATE, &in->count, &in->start,
                                       &out->count, &out->start);
        return 2 * room;
    }
    if (p->axes == 1) {
        room = FFTW(mpi_local_size_many_1d)(p->n[0], p->howmany, MPI_COMM_WORLD, p->sign, FFTW_ESTIMATE, &in->count,
                                            &in->start, &out->count, &out->start);
        return 2 * room;
    }
    ptrdiff_t count0, start0, count1, start1;
    if (!simple(p)) {
        room = FFTW(mpi_local_size_many_transposed)(p->axes, stored, p->howmany, p->block0, p->block1, MPI_COMM_WORLD,
                                                    &count0, &start0, &count1, &start1);
    } else if (p->axes == 2) {
        room = FFTW(mpi_local_size_2d_transposed)(stored[0], stored[1], MPI_COMM_WORLD, &count0, &start0, &count1,
                                                  &start1);
    } else if (p->axes == 3) {
        room = FFTW(mpi_local_size_3d_transposed)(stored[0], stored[1], stored[2], MPI_COMM_WORLD, &count0, &start0,
                                                  &count1, &start1);
    } else {
        room = FFTW(mpi_local_size_transposed)(p->axes, stored, MPI_COMM_WORLD, &count0, &start0, &count1, &start1);
    }
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_plain_sizes(p, stored, ranks, count0, start0);
    in->swapped = p->tin;
    in->divided = p->kind == TRANSPOSE ? 0 : p->tin;
    out->swapped = p->kind == TRANSPOSE ? !p->tout : p->tout;
    out->divided = p->kind == TRANSPOSE ? 1 : p->tout;
    in->count = in->divided ? count1 : count0;
    in->start = in->divided ? start1 : start0;
    out->count = out->divided ? count1 : count0;
    out->start = out->divided ? start1 : start0;
    return 2 * room;
}

/* Copies this rank's part of a whole array, in C order, into FFTW's layout; or (`local` to `whole` differing) adds up
 * the squares of the differences between the two, and of the whole's. */
static void visit(const problem* p, const side* s, REAL* local, const REAL* whole, int compare, double* sums) {
    ptrdiff_t first[MAX_AXES] = {0}, last[MAX_AXES], step[MAX_AXES], index[MAX_AXES], next = p->howmany * s->numbers;
    int order[MAX_AXES] = {0, 1, 2, 3};
    if (s->swapped) order[0] = 1, order[1] = 0;
    memcpy(last, s->n, sizeof(last));
    first[s->divided] = s->start;
    last[s->divided] = s->start + s->count;
    for (int i = p->axes - 1; i >= 0; --i) {
        const int axis = order[i];
        step[axis] = next;
        next *= s->padded && axis == p->axes - 1 ? 2 * (s->n[axis] / 2 + 1) : last[axis] - first[axis];
    }
    for (ptrdiff_t at = 0, end = elements(p, s->n) / p->howmany; at < end; ++at) {
        ptrdiff_t rest = at, place = 0;
        int mine = 1;
        for (int i = p->axes - 1; i >= 0; --i) {
            index[i] = rest % s->n[i];
            rest /= s->n[i];
            mine = mine && index[i] >= first[i] && index[i] < last[i];
            place += (index[i] - first[i]) * step[i];
        }
        for (ptrdiff_t k = 0; mine && k < p->howmany * s->numbers; ++k) {
            const REAL expected = whole[at * p->howmany * s->numbers + k];
            if (!compare) {
                local[place + k] = expected;
            } else {
                const double difference = (double)(local[place + k] - expected);
                sums[0] += difference * difference;
                sums[1] += (double)(expected * expected);
            }
        }
    }
}

/* FFTW's serial plan of the whole array. */
static FFTW(plan) serial_plan(const problem* p, REAL* in, REAL* out, enum kind kind) {
    int n[MAX_AXES];
    const int many = (int)p->howmany;
    for (int i = 0; i < p->axes; ++i) n[i] = (int)p->n[i];
    FFTW(complex)*const cin = (FFTW(complex)*)in, *const cout = (FFTW(complex)*)out;
    switch (kind) {
        case C2C:
            return FFTW(plan_many_dft)(p->axes, n, many, cin, 0, many, 1, cout, 0, many, 1, p->sign, FFTW_ESTIMATE);
        case R2C:
            return FFTW(plan_many_dft_r2c)(p->axes, n, many, in, 0, many, 1, cout, 0, many, 1, FFTW_ESTIMATE);
        case C2R:
            return FFTW(plan_many_dft_c2r)(p->axes, n, many, cin, 0, many, 1, out, 0, many, 1, FFTW_ESTIMATE);
        default:
            return FFTW(plan_many_r2r)(p->axes, n, many, in, 0, many, 1, out, 0, many, 1, p->kinds, FFTW_ESTIMATE);
    }
}

static void run_serial(const problem* p, REAL* in, REAL* out, enum kind kind) {
    FFTW(plan) plan = serial_plan(p, in, out, kind);
    if (!plan) MPI_Abort(MPI_COMM_WORLD, 2);
    FFTW(execute)(plan);
    FFTW(destroy_plan)(plan);
}

/* Random input of the whole array, which all ranks draw alike, and what must come out. */
static void whole_arrays(const problem* p, const side* in, const side* out, REAL* given, REAL* expected) {
    const ptrdiff_t count = elements(p, in->n) * in->numbers;
    if (p->kind == C2R) { /* a spectrum of something real; c2r destroys its copy */
        const ptrdiff_t reals = elements(p, out->n);
        for (ptrdiff_t i = 0; i < reals; ++i) expected[i] = number();
        run_serial(p, expected, given, R2C);
        REAL* const copy = FFTW(alloc_real)((size_t)count);
        memcpy(copy, given, (size_t)count * sizeof(REAL));
        run_serial(p, copy, expected, C2R);
        FFTW(free)(copy);
        return;
    }
    for (ptrdiff_t i = 0; i < count; ++i) given[i] = number();
    if (p->kind == TRANSPOSE) {
        memcpy(expected, given, (size_t)count * sizeof(REAL));
    } else {
        run_serial(p, given, expected, p->kind);
    }
}

/* By the shorter forms, which have no blocks and one number a point. */
static FFTW(plan) simple_plan(const problem* p, REAL* in, REAL* out, unsigned flags) {
    FFTW(complex)*const cin = (FFTW(complex)*)in, *const cout = (FFTW(complex)*)out;
    const MPI_Comm world = MPI_COMM_WORLD;
    const ptrdiff_t* const n = p->n;
    const FFTW(r2r_kind)* const k = p->kinds;
    switch (p->kind * 10 + p->axes) {
        case C2C * 10 + 1:
            return FFTW(mpi_plan_dft_1d)(n[0], cin, cout, world, p->sign, flags);
        case C2C * 10 + 2:
            return FFTW(mpi_plan_dft_2d)(n[0], n[1], cin, cout, world, p->sign, flags);
        case C2C * 10 + 3:
            return FFTW(mpi_plan_dft_3d)(n[0], n[1], n[2], cin, cout, world, p->sign, flags);
        case C2C * 10 + 4:
            return FFTW(mpi_plan_dft)(4, n, cin, cout, world, p->sign, flags);
        case R2C * 10 + 2:
            return FFTW(mpi_plan_dft_r2c_2d)(n[0], n[1], in, cout, world, flags);
        case R2C * 10 + 3:
            return FFTW(mpi_plan_dft_r2c_3d)(n[0], n[1], n[2], in, cout, world, flags);
        case R2C * 10 + 4:
            return FFTW(mpi_plan_dft_r2c)(4, n, in, cout, world, flags);
        case C2R * 10 + 2:
            return FFTW(mpi_plan_dft_c2r_2d)(n[0], n[1], cin, out, world, flags);
        case C2R * 10 + 3:
            return FFTW(mpi_plan_dft_c2r_3d)(n[0], n[1], n[2], cin, out, world, flags);
        case C2R * 10 + 4:
            return FFTW(mpi_plan_dft_c2r)(4, n, cin, out, world, flags);
        case R2R * 10 + 2:
            return FFTW(mpi_plan_r2r_2d)(n[0], n[1], in, out, world, k[0], k[1], flags);
        case R2R * 10 + 3:
            return FFTW(mpi_plan_r2r_3d)(n[0], n[1], n[2], in, out, world, k[0], k[1], k[2], flags);
        case R2R * 10 + 4:
            return FFTW(mpi_plan_r2r)(4, n, in, out, world, k, flags);
        default:
            return FFTW(mpi_plan_transpose)(n[0], n[1], in, out, world, flags);
    }
}

static FFTW(plan) plan_for(const problem* p, REAL* in, REAL* out) {
    const unsigned sides = (p->tin ? FFTW_MPI_TRANSPOSED_IN : 0) | (p->tout ? FFTW_MPI_TRANSPOSED_OUT : 0);
    const unsigned flags = FFTW_ESTIMATE | sides;
    if (simple(p)) return simple_plan(p, in, out, flags);
    const ptrdiff_t iblock = p->tin ? p->block1 : p->block0, oblock = p->tout ? p->block1 : p->block0;
    const ptrdiff_t *const n = p->n, many = p->howmany;
    const MPI_Comm world = MPI_COMM_WORLD;
    FFTW(complex)*const cin = (FFTW(complex)*)in, *const cout = (FFTW(complex)*)out;
    switch (p->kind) {
        case C2C:
            return FFTW(mpi_plan_many_dft)(p->axes, n, many, iblock, oblock, cin, cout, world, p->sign, flags);
        case R2C:
            return FFTW(mpi_plan_many_dft_r2c)(p->axes, n, many, iblock, oblock, in, cout, world, flags);
        case C2R:
            return FFTW(mpi_plan_many_dft_c2r)(p->axes, n, many, iblock, oblock, cin, out, world, flags);
        case R2R:
            return FFTW(mpi_plan_many_r2r)(p->axes, n, many, iblock, oblock, in, out, world, p->kinds, flags);
        default:
            return FFTW(mpi_plan_many_transpose)(n[0], n[1], many, p->block0, p->block1, in, out, world, flags);
    }
}

static void run_on(const problem* p, FFTW(plan) plan, REAL* in, REAL* out) {
    switch (p->kind) {
        case C2C:
            FFTW(mpi_execute_dft)(plan, (FFTW(complex)*)in, (FFTW(complex)*)out);
            break;
        case R2C:
            FFTW(mpi_execute_dft_r2c)(plan, in, (FFTW(complex)*)out);
            break;
        case C2R:
            FFTW(mpi_execute_dft_c2r)(plan, (FFTW(complex)*)in, out);
            break;
        default:
            FFTW(mpi_execute_r2r)(plan, in, out);
            break;
    }
}

static double error_of(const problem* p, const side* out, REAL* local, const REAL* expected) {
    double sums[2] = {0, 0};
    visit(p, out, local, expected, 1, sums);
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sums[1] > 0 ? sqrt(sums[0] / sums[1]) : sqrt(sums[0]);
}

/* Runs it on the arrays that it was planned for and on others; returns the larger error over what two transforms may
 * differ by, and keeps the plan. -1: there is no plan. */
static double run(const problem* p, FFTW(plan) * plan) {
    side in, out;
    /* FFTW 3.3.10's own plans sometimes write past the room that it asks for (c2c 5x8x7x5 transposed on both sides, in
     * blocks of 5, on 3 ranks: by 910 numbers), so there is more here than a client would allocate. */
    const size_t room = (size_t)layout(p, &in, &out) + 4 * (size_t)elements(p, p->n);
    const size_t whole = 2 * (size_t)elements(p, p->n) + 4 * (size_t)(p->howmany * elements(p, p->n));
    REAL *given = FFTW(alloc_real)(whole), *expected = FFTW(alloc_real)(whole);
    REAL *a = FFTW(alloc_real)(room), *b = p->in_place ? a : FFTW(alloc_real)(room);
    whole_arrays(p, &in, &out, given, expected);
    double worst = -1;
    *plan = plan_for(p, a, b);
    if (*plan) {
        visit(p, &in, a, given, 0, NULL);
        FFTW(execute)(*plan);
        worst = error_of(p, &out, b, expected);
        REAL *c = FFTW(alloc_real)(room), *d = p->in_place ? c : FFTW(alloc_real)(room);
        visit(p, &in, c, given, 0, NULL);
        run_on(p, *plan, c, d);
        worst = fmax(worst, error_of(p, &out, d, expected));
        worst /= 3 * (double)EPSILON * sqrt(log2((double)elements(p, p->n) + 2)); /* docs/accuracy.md, for each */
        if (d != c) FFTW(free)(d);
        FFTW(free)(c);
    }
    if (b != a) FFTW(free)(b);
    FFTW(free)(a);
    FFTW(free)(expected);
    FFTW(free)(given);
    return worst;
}

static void multiply(FFTW(complex) * a, FFTW(complex) * b, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; ++i) {
        const REAL real = a[i][0] * b[i][0] - a[i][1] * b[i][1];
        a[i][1] = a[i][0] * b[i][1] + a[i][1] * b[i][0];
        a[i][0] = real;
    }
}

/* A cyclic convolution of two lines by spectra in whichever order SCRAMBLED leaves them, beside FFTW's serial one. All
 * ranks draw the same lines. -1: there is no plan. */
static double convolve(ptrdiff_t n) {
    const MPI_Comm world = MPI_COMM_WORLD;
    const unsigned out_flags = FFTW_ESTIMATE | FFTW_MPI_SCRAMBLED_OUT, in_flags = FFTW_ESTIMATE | FFTW_MPI_SCRAMBLED_IN;
    ptrdiff_t count, start, spectrum, unused, room;
    room = FFTW(mpi_local_size_1d)(n, world, FFTW_FORWARD, out_flags, &count, &start, &spectrum, &unused);
    FFTW(complex)* a = FFTW(alloc_complex)((size_t)room), *b = FFTW(alloc_complex)((size_t)room);
    FFTW(complex) * x[2] = {FFTW(alloc_complex)((size_t)n), FFTW(alloc_complex)((size_t)n)};
    problem line = {.kind = C2C, .axes = 1, .howmany = 1, .n = {n}};
    FFTW(plan) there = FFTW(mpi_plan_dft_1d)(n, a, a, world, FFTW_FORWARD, out_flags);
    FFTW(plan) back = FFTW(mpi_plan_dft_1d)(n, a, a, world, FFTW_BACKWARD, in_flags);
    double sums[2] = {0, 0}, worst = -1;
    for (ptrdiff_t i = 0; i < 2 * n; ++i) ((REAL*)x[0])[i] = number(), ((REAL*)x[1])[i] = number();
    if (there && back) {
        memcpy(a, x[0] + start, (size_t)count * sizeof(*a));
        memcpy(b, x[1] + start, (size_t)count * sizeof(*b));
        FFTW(execute)(there);
        FFTW(mpi_execute_dft)(there, b, b);
        multiply(a, b, spectrum);
        FFTW(execute)(back);
        for (int i = 0; i < 2; ++i) line.sign = FFTW_FORWARD, run_serial(&line, (REAL*)x[i], (REAL*)x[i], C2C);
        multiply(x[0], x[1], n);
        line.sign = FFTW_BACKWARD, run_serial(&line, (REAL*)x[0], (REAL*)x[0], C2C);
        for (ptrdiff_t i = 0; i < 2 * count; ++i) {
            const REAL expected = ((REAL*)(x[0] + start))[i];
            const double difference = (double)(((REAL*)a)[i] - expected);
            sums[0] += difference * difference;
            sums[1] += (double)(expected * expected);
        }
        MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, world);
        worst = sqrt(sums[0] / sums[1]) / (9 * (double)EPSILON * sqrt(log2((double)n))); /* three transforms each */
    }
    FFTW(destroy_plan)(there);
    FFTW(destroy_plan)(back);
    FFTW(free)(x[1]);
    FFTW(free)(x[0]);
    FFTW(free)(b);
    FFTW(free)(a);
    return worst;
}

int main(int argc, char** argv) {
    int rank, ranks, failed = 0, without = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks != atoi(argv[1])) MPI_Abort(MPI_COMM_WORLD, 3);
    state = strtoull(argv[2], NULL, 10) * 2654435761ULL + 1;
    FFTW(mpi_init)();
    FFTW(plan) kept[KEPT] = {0};
    const int problems = atoi(argv[3]);
    for (int i = 0; i < problems; ++i) {
        const problem p = draw(ranks);
        FFTW(plan)* const place = &kept[between(0, KEPT - 1)];
        if (*place) FFTW(destroy_plan)(*place);
        const double worst = run(&p, place);
        without += worst < 0;
        failed += !(worst <= 1);
        if (rank == 0 && !(worst >= 0 && worst <= 1))
            printf("problem %d: %s %tdx%tdx%tdx%td x%td sign %d in_place %d transposed %d %d blocks %td %td: %g\n", i,
                   kind_names[p.kind], p.n[0], p.n[1], p.n[2], p.n[3], p.howmany, p.sign, p.in_place, p.tin, p.tout,
                   p.block0, p.block1, worst);
    }
    for (int i = 0; i < KEPT; ++i) FFTW(destroy_plan)(kept[i]);
    for (ptrdiff_t n = 144; n <= 288; n *= 2) {
        const double worst = convolve(n);
        without += worst < 0;
        failed += !(worst <= 1);
        if (rank == 0 && !(worst >= 0 && worst <= 1)) printf("convolution of %td: %g\n", n, worst);
    }
    FFTW(mpi_cleanup)();
    if (rank == 0) printf("%d problems, %d failed, %d without a plan\n", problems, failed, without);
    MPI_Finalize();
    return failed != 0;
}
