/* Three FFTs that leave their memory to demand paging (P1, section 3): what an out-of-core transform spares its user.
 *
 *     paged_fft METHOD FILE LG_N SECONDS ADVICE
 *
 * FILE holds 2^LG_N complex doubles from its first byte on and is mapped, shared; the kernel brings pages in and out.
 * METHOD: cooley-tukey (bit reversal, then radix-2 butterflies), stockham (no reversal; FILE.work is as large again),
 * swarztrauber (sqrt(N) transforms of sqrt(N) points, twice; LG_N even) or bit-reversal alone. ADVICE: normal (the
 * kernel reads ahead) or random (one page for each fault). Sign -1, natural order, unscaled. After SECONDS it stops
 * and says how far it was. One line of JSON tells seconds, faults (getrusage) and progress of every phase; "in_work"
 * says that the result is in FILE.work. Twiddles come from two tables of about sqrt(N) entries, so memory is the
 * data's.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef double complex point;

typedef struct {
    const char* name;
    double seconds;
    long major, minor;
    uint64_t done, of;
} phase;

static phase phases[4];
static int phase_count;
static double limit_seconds, begin;
static int stopped;
static point *fine, *coarse;
static int fine_bits, table_bits;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char* what) {
    perror(what);
    exit(1);
}

/* Opens a phase of `of` units. */
static void enter(const char* name, uint64_t of) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    phases[phase_count++] = (phase){name, -now(), -usage.ru_majflt, -usage.ru_minflt, 0, of};
}

static void leave(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    phase* p = &phases[phase_count - 1];
    p->seconds += now();
    p->major += usage.ru_majflt;
    p->minor += usage.ru_minflt;
}

/* Counts `units` of the open phase; true when the time is up. */
static int advance(uint64_t units) {
    phases[phase_count - 1].done += units;
    stopped = now() - begin > limit_seconds;
    return stopped;
}

/* exp(-2 pi i j / 2^table_bits) */
static point root(uint64_t j) { return coarse[j >> fine_bits] * fine[j & (((uint64_t)1 << fine_bits) - 1)]; }

static void make_roots(int bits) {
    table_bits = bits;
    fine_bits = bits / 2;
    uint64_t fines = (uint64_t)1 << fine_bits, coarses = (uint64_t)1 << (bits - fine_bits);
    fine = malloc(fines * sizeof(point));
    coarse = malloc(coarses * sizeof(point));
    if (!fine || !coarse) fail("twiddles");
    for (uint64_t j = 0; j < fines; ++j) fine[j] = cexp(-2 * M_PI * I * ((double)j / (double)((uint64_t)1 << bits)));
    for (uint64_t j = 0; j < coarses; ++j) coarse[j] = cexp(-2 * M_PI * I * ((double)j / (double)coarses));
}

static uint64_t reversed(uint64_t j, int bits) {
    uint64_t result = 0;
    for (int i = 0; i < bits; ++i) result |= ((j >> i) & 1) << (bits - 1 - i);
    return result;
}

/* The code of Theorem 1. It asks for the time once in 256 indices. */
static void bit_reversal(point* a, int bits) {
    uint64_t n = (uint64_t)1 << bits;
    enter("bit reversal", n);
    for (uint64_t j = 0; j < n && !stopped; ++j) {
        uint64_t k = reversed(j, bits);
        if (j < k) {
            point other = a[j];
            a[j] = a[k];
            a[k] = other;
        }
        if (j % 256 == 255) advance(256);
    }
    if (n < 256) advance(n);
    leave();
}

/* Stages of butterflies on bit-reversed points. Returns when the time is up if the phase is its caller's to time. */
static void butterflies(point* a, int bits, int timed) {
    uint64_t n = (uint64_t)1 << bits;
    for (int s = 1; s <= bits; ++s) {
        uint64_t half = (uint64_t)1 << (s - 1), undone = 0;
        for (uint64_t first = 0; first < n; first += 2 * half)
            for (uint64_t j = 0; j < half; ++j) {
                point *low = a + first + j, *high = low + half;
                point turned = *high * root(j << (table_bits - s));
                *high = *low - turned;
                *low += turned;
                if (timed && ++undone == 1024) {
                    undone = 0;
                    if (advance(1024)) return;
                }
            }
        if (timed && advance(undone)) return;
    }
}

static void cooley_tukey(point* a, int bits) {
    bit_reversal(a, bits);
    if (stopped) return;
    enter("butterflies", ((uint64_t)1 << bits) / 2 * (uint64_t)bits);
    butterflies(a, bits, 1);
    leave();
}

/* Returns where the result is. */
static point* stockham(point* x, point* y, int bits) {
    uint64_t n = (uint64_t)1 << bits;
    enter("butterflies", n / 2 * (uint64_t)bits);
    uint64_t stride = 1;
    for (int s = 0; s < bits && !stopped; ++s, stride *= 2) {
        uint64_t half = n >> (s + 1), undone = 0;
        for (uint64_t p = 0; p < half && !stopped; ++p) {
            point turn = root(p << s);
            for (uint64_t q = 0; q < stride; ++q) {
                point a = x[q + stride * p], b = x[q + stride * (p + half)];
                y[q + stride * 2 * p] = a + b;
                y[q + stride * (2 * p + 1)] = (a - b) * turn;
                if (++undone == 1024) {
                    undone = 0;
                    if (advance(1024)) break;
                }
            }
        }
        if (!stopped) advance(undone);
        point* other = x;
        x = y;
        y = other;
    }
    leave();
    return x;
}

/* A transform that fits the cache; its table of roots is that of 2^table_bits points. */
static void in_core(point* a, int bits) {
    uint64_t n = (uint64_t)1 << bits;
    for (uint64_t j = 0; j < n; ++j) {
        uint64_t k = reversed(j, bits);
        if (j < k) {
            point other = a[j];
            a[j] = a[k];
            a[k] = other;
        }
    }
    butterflies(a, bits, 0);
}

/* x[j1 R + j2]: columns over j1 in a buffer, twiddles, rows over j2, and the transposition that natural order needs. */
static void swarztrauber(point* x, int bits) {
    int half_bits = bits / 2;
    uint64_t rows = (uint64_t)1 << half_bits;
    point* buffer = malloc(rows * sizeof(point));
    if (!buffer) fail("buffer");
    enter("columns", rows);
    for (uint64_t column = 0; column < rows && !stopped; ++column) {
        for (uint64_t i = 0; i < rows; ++i) buffer[i] = x[i * rows + column];
        in_core(buffer, half_bits);
        for (uint64_t i = 0; i < rows; ++i) x[i * rows + column] = buffer[i] * root(i * column);
        advance(1);
    }
    leave();
    if (!stopped) {
        enter("rows", rows);
        for (uint64_t row = 0; row < rows && !stopped; ++row) {
            in_core(x + row * rows, half_bits);
            advance(1);
        }
        leave();
    }
    if (!stopped) {
        enter("transposition", rows);
        for (uint64_t i = 0; i < rows && !stopped; ++i) {
            for (uint64_t j = i + 1; j < rows; ++j) {
                point other = x[i * rows + j];
                x[i * rows + j] = x[j * rows + i];
                x[j * rows + i] = other;
            }
            advance(1);
        }
        leave();
    }
    free(buffer);
}

static point* map(const char* path, size_t bytes, int advice, int flags) {
    int file = open(path, O_RDWR | flags, 0600);
    if (file < 0) fail(path);
    if ((flags & O_CREAT) && ftruncate(file, (off_t)bytes)) fail(path);
    if (lseek(file, 0, SEEK_END) != (off_t)bytes) {
        fprintf(stderr, "%s: its length is not the %zu bytes of LG_N\n", path, bytes);
        exit(2);
    }
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED || madvise(memory, bytes, advice)) fail(path);
    close(file);
    return memory;
}

int main(int argc, char** argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: paged_fft METHOD FILE LG_N SECONDS normal|random\n");
        return 2;
    }
    const char* method = argv[1];
    int bits = atoi(argv[3]), is_stockham = !strcmp(method, "stockham"), is_square = !strcmp(method, "swarztrauber");
    int advice = !strcmp(argv[5], "random") ? MADV_RANDOM : MADV_NORMAL;
    limit_seconds = atof(argv[4]);
    if (bits < 1 || bits > 40 || (is_square && bits % 2)) {
        fprintf(stderr, "LG_N is %s; it must be 1 to 40, and even for swarztrauber\n", argv[3]);
        return 2;
    }
    size_t bytes = sizeof(point) << bits;
    make_roots(bits);
    point *x = map(argv[2], bytes, advice, 0), *y = NULL, *result = x;
    if (is_stockham) {
        char* name;
        if (asprintf(&name, "%s.work", argv[2]) < 0) fail("name");
        y = map(name, bytes, advice, O_CREAT);
        free(name);
    }
    begin = now();
    if (is_stockham)
        result = stockham(x, y, bits);
    else if (is_square)
        swarztrauber(x, bits);
    else if (!strcmp(method, "cooley-tukey"))
        cooley_tukey(x, bits);
    else if (!strcmp(method, "bit-reversal"))
        bit_reversal(x, bits);
    else {
        fprintf(stderr, "METHOD is %s; cooley-tukey, stockham, swarztrauber and bit-reversal are known\n", method);
        return 2;
    }
    if (!stopped && msync(result, bytes, MS_SYNC)) fail("msync");
    printf("{\"method\": \"%s\", \"seconds\": %.6f, \"stopped\": %s, \"in_work\": %s, \"phases\": [", method,
           now() - begin, stopped ? "true" : "false", result != x ? "true" : "false");
    for (int i = 0; i < phase_count; ++i)
        printf(
            "%s{\"name\": \"%s\", \"seconds\": %.6f, \"major_faults\": %ld, \"minor_faults\": %ld, \"done\": %llu, "
            "\"of\": %llu}",
            i ? ", " : "", phases[i].name, phases[i].seconds, phases[i].major, phases[i].minor,
            (unsigned long long)phases[i].done, (unsigned long long)phases[i].of);
    printf("]}\n");
    return 0;
}
