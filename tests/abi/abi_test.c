/* The C interface as a plain C11 program sees it: sizes, defaults, shorter structs of older headers, every error code
 * that can be had in one process, and a 3-D round trip. Prints each check that fails; exits with their number. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spanfft/spanfft.h"

static int failures = 0;

#define CHECK(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            ++failures;                                                                                \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, spanfft_last_error()); \
        }                                                                                              \
    } while (0)

/* The last error holds `word`. */
static int says(const char* word) { return strstr(spanfft_last_error(), word) != NULL; }

/* The relative L2 error in units of what docs/accuracy.md allows one transform of so many points. */
static double error_in_rules(const double* found, const long double* exact, int numbers, int points) {
    long double difference = 0, norm = 0;
    int i;
    for (i = 0; i < numbers; ++i) {
        difference += (found[i] - exact[i]) * (found[i] - exact[i]);
        norm += exact[i] * exact[i];
    }
    return (double)sqrtl(difference / norm) / (0.6 * DBL_EPSILON * sqrt(log2(points)));
}

static const long double pi = 3.14159265358979323846264338327950288L;

static spanfft_problem problem_of(int ndim, const int64_t* shape) {
    spanfft_problem problem;
    spanfft_problem_init(&problem, ndim, shape);
    return problem;
}

static void sizes_and_defaults(void) {
    const int64_t shape[3] = {4, 5, 6};
    spanfft_problem p;
    memset(&p, 0xFF, sizeof p);
    spanfft_problem_init(&p, 3, shape);
    CHECK(p.size == sizeof(spanfft_problem));
    CHECK(p.ndim == 3 && p.shape[0] == 4 && p.shape[2] == 6 && p.shape[3] == 0);
    CHECK(p.naxes == 0 && p.kinds[0] == SPANFFT_C2C && p.direction == SPANFFT_FORWARD);
    CHECK(p.precision == SPANFFT_DOUBLE && p.norm == SPANFFT_NORM_BACKWARD && p.batch == 1);
    CHECK(p.ngrid == 0 && p.output == SPANFFT_OUTPUT_NATURAL && !p.real_box && !p.spectrum_box);
    CHECK(p.threads == 0 && !p.engine && !p.exchange && p.effort == SPANFFT_ESTIMATE && !p.in_place &&
          p.memory_bytes == 0 && p.layout == SPANFFT_LAYOUT_BLOCK);
    spanfft_problem_init(NULL, 3, shape);
    spanfft_problem_init_bytes(NULL, sizeof p, 3, shape);
    spanfft_problem_init(&p, 2, NULL);
    CHECK(p.ndim == 2 && p.shape[0] == 0);
    CHECK(sizeof(spanfft_box) == 2 * SPANFFT_MAX_NDIM * sizeof(int64_t));
    CHECK(strcmp(spanfft_version(), SPANFFT_VERSION) == 0);
    /* The values are promised. */
    CHECK(SPANFFT_OK == 0 && SPANFFT_INTERNAL == 10 && SPANFFT_LONGDOUBLE == 2 && SPANFFT_DST4 == 9 &&
          SPANFFT_NORM_FORWARD == 2);
}

static void problem_strings(void) {
    const int64_t shape[2] = {8, 9};
    spanfft_problem p = problem_of(2, shape);
    char* text = NULL;
    p.kinds[1] = SPANFFT_R2C;
    CHECK(spanfft_problem_print(&p, 4, &text) == SPANFFT_OK);
    CHECK(text && strcmp(text, "r2c 8x9 forward double ranks=4") == 0);
    spanfft_free(text);
    text = NULL;
    CHECK(spanfft_problem_canonical("c2r   8x9 float", &text) == SPANFFT_OK);
    CHECK(text && strcmp(text, "r2c 8x9 backward float") == 0);
    spanfft_free(text);
    text = NULL;
    CHECK(spanfft_problem_canonical("c2r 8x9 flaot", &text) == SPANFFT_INVALID_ARGUMENT && says("'flaot'") &&
          text == NULL);
    CHECK(spanfft_problem_canonical(NULL, &text) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_problem_canonical("c2c 8", NULL) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_problem_print(&p, 4, NULL) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_problem_print(NULL, 4, &text) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_problem_print(&p, 0, &text) == SPANFFT_INVALID_ARGUMENT && says("ranks is 0"));
    spanfft_free(NULL);
}

/* A program built against an older header: its struct ends before fields that came later. */
static void older_structs(void) {
    const int64_t shape[1] = {8};
    spanfft_problem p = problem_of(1, shape);
    spanfft_plan* plan = NULL;
    p.size = offsetof(spanfft_problem, memory_bytes);
    p.memory_bytes = 12345; /* behind the end that the caller knows: not read */
    CHECK(spanfft_plan_create(&p, NULL, &plan) == SPANFFT_OK);
    CHECK(plan && spanfft_plan_sweeps(plan) == 0);
    spanfft_plan_free(plan);
    plan = NULL;
    p.memory_bytes = 0;
    p.size = offsetof(spanfft_problem, layout);
    p.layout = 77; /* likewise */
    CHECK(spanfft_plan_create(&p, NULL, &plan) == SPANFFT_OK);

    /* Its struct is initialised up to its own end, and not behind it. */
    union {
        spanfft_problem problem;
        unsigned char bytes[sizeof(spanfft_problem) + 64];
    } shorter;
    for (size_t own = offsetof(spanfft_problem, memory_bytes); own <= sizeof shorter; own += 8) {
        memset(&shorter, 0x5A, sizeof shorter);
        spanfft_problem_init_bytes(&shorter.problem, own, 1, shape);
        CHECK(shorter.problem.size == own && shorter.problem.ndim == 1 && shorter.problem.shape[0] == 8);
        CHECK(shorter.problem.batch == 1 && shorter.problem.precision == SPANFFT_DOUBLE && !shorter.problem.exchange);
        for (size_t i = offsetof(spanfft_problem, memory_bytes); i < sizeof shorter; ++i)
            CHECK(shorter.bytes[i] == (i < own ? 0 : 0x5A));
        spanfft_plan_free(plan);
        plan = NULL;
        CHECK(spanfft_plan_create(&shorter.problem, NULL, &plan) == SPANFFT_OK && plan);
    }

    struct {
        spanfft_counts counts;
        char behind[8];
    } older;
    memset(&older, 0x77, sizeof older);
    older.counts.size = offsetof(spanfft_counts, messages);
    CHECK(spanfft_plan_predicted(plan, -1, -1, &older.counts) == SPANFFT_OK);
    CHECK(older.counts.size == offsetof(spanfft_counts, messages) && older.counts.memory_bytes == 256);
    CHECK(older.counts.messages == 0x7777777777777777LL);

    /* A newer program: its struct is longer than ours, and stays as it was behind our end. */
    memset(&older, 0x77, sizeof older);
    older.counts.size = sizeof older;
    CHECK(spanfft_plan_predicted(plan, -1, -1, &older.counts) == SPANFFT_OK);
    CHECK(older.counts.messages == 0 && older.behind[0] == 0x77 && older.counts.size == sizeof older);
    older.counts.size = 0;
    CHECK(spanfft_plan_predicted(plan, -1, -1, &older.counts) == SPANFFT_INVALID_ARGUMENT && says("size field"));
    spanfft_plan_free(plan);

    p = problem_of(1, shape);
    p.size = 4;
    plan = NULL;
    CHECK(spanfft_plan_create(&p, NULL, &plan) == SPANFFT_INVALID_ARGUMENT && says("spanfft_problem_init") && !plan);
}

/* Parts say what boxes say, with a step; a plan in the cyclic layout is a plan. */
static void parts(void) {
    const int64_t shape[2] = {6, 5};
    spanfft_problem p = problem_of(2, shape);
    spanfft_plan* plan = NULL;
    spanfft_part part;
    p.layout = SPANFFT_LAYOUT_CYCLIC;
    CHECK(spanfft_plan_create(&p, NULL, &plan) == SPANFFT_OK);
    memset(&part, 0x77, sizeof part);
    part.size = sizeof part;
    CHECK(spanfft_plan_input_part(plan, &part) == SPANFFT_OK);
    CHECK(part.size == sizeof part && part.start[0] == 0 && part.count[0] == 6 && part.count[1] == 5);
    CHECK(part.step[0] == 1 && part.step[1] == 1 && part.count[2] == 0);
    part.size = 0;
    CHECK(spanfft_plan_output_part(plan, &part) == SPANFFT_INVALID_ARGUMENT && says("size field"));
    CHECK(spanfft_plan_output_part(plan, NULL) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_plan_output_part(NULL, &part) == SPANFFT_INVALID_ARGUMENT);
    spanfft_plan_free(plan);
    p.layout = 2;
    plan = NULL;
    CHECK(spanfft_plan_create(&p, NULL, &plan) == SPANFFT_INVALID_ARGUMENT && says("layout is 2") && !plan);
}

static void keys(void) {
    const int n = spanfft_problem_key_count();
    spanfft_problem_key key = {0};
    spanfft_plan* plan = NULL;
    spanfft_box whole = {{0, 0}, {4, 6}}, half = {{0, 0}, {2, 6}};
    const int64_t shape[1] = {64};
    spanfft_problem p = problem_of(1, shape);
    char* text = NULL;
    int i, flags = 0;

    CHECK(n >= 29);
    key.size = sizeof key;
    for (i = 0; i < n; ++i) {
        CHECK(spanfft_problem_key_info(i, &key) == SPANFFT_OK);
        CHECK(key.size == sizeof key && key.name[0] && key.fallback[0] && key.help[0]);
        flags += key.values[0] == 0;
    }
    CHECK(flags == 6);
    CHECK(spanfft_problem_key_info(-1, &key) == SPANFFT_INVALID_ARGUMENT && says("key -1"));
    CHECK(spanfft_problem_key_info(n, &key) == SPANFFT_INVALID_ARGUMENT && says("does not exist"));
    key.size = 0;
    CHECK(spanfft_problem_key_info(0, &key) == SPANFFT_INVALID_ARGUMENT && says("size field"));

    CHECK(spanfft_plan_parse_boxes("c2c 4x6", &whole, NULL, NULL, &plan) == SPANFFT_OK);
    CHECK(spanfft_plan_input_box(plan, &half) == SPANFFT_OK && half.count[0] == 4);
    spanfft_plan_free(plan);
    half.count[0] = 2;
    plan = NULL;
    CHECK(spanfft_plan_parse_boxes("c2c 4x6", &half, NULL, NULL, &plan) == SPANFFT_INVALID_ARGUMENT &&
          says("12 of the 24"));
    CHECK(spanfft_plan_parse_boxes("c2c 4x6 real_boxes=0:4x0:6", &whole, NULL, NULL, &plan) ==
              SPANFFT_INVALID_ARGUMENT &&
          says("twice") && !plan);

    p.reads_once = 1;
    CHECK(spanfft_problem_print(&p, 1, &text) == SPANFFT_INVALID_ARGUMENT && says("memory="));
    p.memory_bytes = 1 << 20;
    CHECK(spanfft_problem_print(&p, 1, &text) == SPANFFT_OK && strstr(text, " reads_once"));
    spanfft_free(text);
    p.load = "int16";
    CHECK(spanfft_problem_print(&p, 1, &text) == SPANFFT_INVALID_ARGUMENT && says("load=int16") && says("i2"));
    p.load = ">c8";
    CHECK(spanfft_problem_print(&p, 1, &text) == SPANFFT_OK && strstr(text, " load=>c8"));
    spanfft_free(text);
    p.size = offsetof(spanfft_problem, load); /* a program of before that knows nothing of it */
    CHECK(spanfft_problem_print(&p, 1, &text) == SPANFFT_OK && !strstr(text, "load="));
    spanfft_free(text);
}

/* A plan that owns its arrays, and the one that undoes it, which has the same two and outlives it. */
static void own_arrays(void) {
    spanfft_plan *there = NULL, *back = NULL;
    double mine[12] = {0}, *in, *out;
    long double impulse[12] = {0}, spectrum[12];
    int i;

    CHECK(spanfft_plan_parse("c2c 6 own_input own_output", NULL, &there) == SPANFFT_OK);
    in = spanfft_plan_input_array(there);
    out = spanfft_plan_output_array(there);
    CHECK(in && out && in != out);
    CHECK(spanfft_execute(there, mine, out) == SPANFFT_INVALID_ARGUMENT && says("owns its input"));
    CHECK(spanfft_plan_parse_undoing("c2c 6 backward own_input own_output", NULL, NULL, NULL, there, &back) ==
          SPANFFT_OK);
    CHECK(spanfft_plan_input_array(back) == out && spanfft_plan_output_array(back) == in);
    impulse[2] = 1; /* at 1: exp(-2 pi i k / 6) */
    for (i = 0; i < 12; ++i) {
        in[i] = i == 2;
        spectrum[i] = i % 2 ? -sinl(2 * pi * (i / 2) / 6) : cosl(2 * pi * (i / 2) / 6);
    }
    CHECK(spanfft_execute(there, in, out) == SPANFFT_OK && error_in_rules(out, spectrum, 12, 6) <= 1);
    spanfft_plan_free(there);
    CHECK(spanfft_execute(back, out, in) == SPANFFT_OK);
    CHECK(error_in_rules(in, impulse, 12, 6) <= 2);
    spanfft_plan_free(back);
    CHECK(spanfft_plan_parse_undoing("c2c 6 backward own_input", NULL, NULL, NULL, NULL, &back) == SPANFFT_OK);
    CHECK(spanfft_plan_input_array(back) && !spanfft_plan_output_array(back));
    spanfft_plan_free(back);
    CHECK(spanfft_plan_parse("c2c 6 own_input in_place", NULL, &there) == SPANFFT_INVALID_ARGUMENT &&
          says("own_input reads from"));
}

static void traces(void) {
    spanfft_plan* plan = NULL;
    spanfft_trace_info info = {0};
    spanfft_trace_event event = {0};
    double in[16] = {0}, out[16];
    int64_t i;
    int runs = 0, steps = 0;

    CHECK(SPANFFT_TRACE_RUN == 0 && SPANFFT_TRACE_DISK == 5 && SPANFFT_TRACK_STEPS == 0 && SPANFFT_TRACK_WRITES == 3 &&
          SPANFFT_TRACK_CALLS == 4);
    info.size = sizeof info;
    event.size = sizeof event;
    CHECK(spanfft_plan_trace_start(NULL, 0) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_plan_imagine("c2c 8", &plan) == SPANFFT_OK);
    CHECK(spanfft_plan_trace_start(plan, 0) == SPANFFT_INVALID_ARGUMENT && says("imagined"));
    spanfft_plan_free(plan);
    CHECK(spanfft_plan_parse("c2c 8", NULL, &plan) == SPANFFT_OK);
    CHECK(spanfft_plan_trace_info(plan, &info) == SPANFFT_INVALID_ARGUMENT && says("spanfft_plan_trace_start"));
    CHECK(spanfft_plan_trace_start(plan, -1) == SPANFFT_INVALID_ARGUMENT && says("-1 events"));
    CHECK(spanfft_plan_trace_start(plan, 100) == SPANFFT_OK);
    CHECK(spanfft_execute(plan, in, out) == SPANFFT_OK);
    CHECK(spanfft_plan_trace_stop(plan) == SPANFFT_OK);
    CHECK(spanfft_execute(plan, in, out) == SPANFFT_OK);
    CHECK(spanfft_plan_trace_info(plan, &info) == SPANFFT_OK);
    CHECK(info.events > 0 && info.dropped == 0 && info.clock_offset_ns == 0 && info.clock_accuracy_ns == 0);
    for (i = 0; i < info.events; ++i) {
        CHECK(spanfft_plan_trace_event(plan, i, &event) == SPANFFT_OK);
        CHECK(event.name && event.name[0] && event.start_ns > 0 && event.start_ns <= event.end_ns);
        runs += event.category == SPANFFT_TRACE_RUN;
        steps += event.category == SPANFFT_TRACE_STEP;
    }
    CHECK(runs == 1 && steps == spanfft_plan_steps(plan));
    CHECK(spanfft_plan_trace_event(plan, info.events, &event) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_plan_trace_event(plan, -1, &event) == SPANFFT_INVALID_ARGUMENT);
    spanfft_plan_free(plan);
}

/* r2c of 6 x 5 x 8 numbers by its definition. */
static void sum_6_5_8(const double* in, long double* spectrum) {
    int k0, k1, k2, i;
    for (k0 = 0; k0 < 6; ++k0) {
        for (k1 = 0; k1 < 5; ++k1) {
            for (k2 = 0; k2 < 5; ++k2, spectrum += 2) {
                spectrum[0] = spectrum[1] = 0;
                for (i = 0; i < 240; ++i) {
                    const int turn = (20 * k0 * (i / 40) + 24 * k1 * (i / 8 % 5) + 15 * k2 * (i % 8)) % 120;
                    spectrum[0] += in[i] * cosl(2 * pi * turn / 120);
                    spectrum[1] -= in[i] * sinl(2 * pi * turn / 120);
                }
            }
        }
    }
}

static void round_trip(void) {
    const int64_t shape[3] = {6, 5, 8};
    spanfft_problem p = problem_of(3, shape);
    spanfft_plan *forward = NULL, *backward = NULL;
    spanfft_box box;
    spanfft_counts predicted = {0}, counted = {0};
    spanfft_step step = {0};
    spanfft_limit limit = {0};
    int64_t extents[SPANFFT_MAX_NDIM];
    char* text = NULL;
    double in[240], back[240], spectrum[2 * 150];
    long double given[240], exact[2 * 150];
    int i;

    p.kinds[2] = SPANFFT_R2C;
    CHECK(spanfft_plan_create(&p, NULL, &forward) == SPANFFT_OK);
    p.direction = SPANFFT_BACKWARD;
    CHECK(spanfft_plan_create(&p, NULL, &backward) == SPANFFT_OK);
    if (!forward || !backward) return;
    CHECK(spanfft_plan_input_bytes(forward) == (int64_t)sizeof in &&
          spanfft_plan_output_bytes(forward) == (int64_t)sizeof spectrum);
    CHECK(spanfft_plan_output_shape(forward, extents) == 3 && extents[0] == 6 && extents[2] == 5);
    CHECK(spanfft_plan_input_shape(forward, extents) == 3 && extents[2] == 8);
    CHECK(spanfft_plan_input_shape(forward, NULL) == 3);
    CHECK(spanfft_plan_input_box(forward, &box) == SPANFFT_OK && box.start[0] == 0 && box.count[2] == 8 &&
          box.count[3] == 0);
    CHECK(spanfft_plan_output_box(forward, &box) == SPANFFT_OK && box.count[2] == 5);
    CHECK(spanfft_plan_output_box(forward, NULL) == SPANFFT_INVALID_ARGUMENT);

    predicted.size = counted.size = sizeof predicted;
    CHECK(spanfft_plan_counted(forward, -1, &counted) == SPANFFT_INVALID_ARGUMENT && says("execute"));
    for (i = 0; i < 240; ++i) given[i] = in[i] = sin(i * 0.7) + 0.01 * (i % 7);
    sum_6_5_8(in, exact);
    CHECK(spanfft_execute(forward, in, spectrum) == SPANFFT_OK);
    CHECK(strcmp(spanfft_last_error(), "") == 0);
    CHECK(error_in_rules(spectrum, exact, 2 * 150, 240) <= 1 && spectrum[1] == 0);
    CHECK(spanfft_execute(backward, spectrum, back) == SPANFFT_OK);
    CHECK(error_in_rules(back, given, 240, 240) <= 2);

    CHECK(spanfft_plan_predicted(forward, -1, -1, &predicted) == SPANFFT_OK &&
          spanfft_plan_counted(forward, -1, &counted) == SPANFFT_OK);
    CHECK(predicted.flops > 0 && predicted.flops == counted.flops && predicted.memory_bytes == counted.memory_bytes);
    CHECK(counted.messages == 0 && counted.disk_reads == 0);
    CHECK(spanfft_plan_predicted(forward, 99, -1, &predicted) == SPANFFT_INVALID_ARGUMENT && says("line 99"));
    CHECK(spanfft_plan_predicted(forward, -1, 7, &predicted) == SPANFFT_INVALID_ARGUMENT && says("rank 7"));
    CHECK(spanfft_plan_steps(forward) >= 1);
    step.size = sizeof step;
    CHECK(spanfft_plan_step(forward, 0, &step) == SPANFFT_OK && step.depth == 0 && strcmp(step.type, "Transform") == 0);
    CHECK(strstr(step.description, "r2c") != NULL);
    CHECK(spanfft_plan_step(forward, -1, &step) == SPANFFT_INVALID_ARGUMENT);
    limit.size = sizeof limit;
    CHECK(spanfft_plan_limit(forward, 0, -1, &limit) == SPANFFT_OK && limit.seconds > 0 && strlen(limit.name) > 0);
    CHECK(spanfft_plan_limit(forward, -1, -1, &limit) == SPANFFT_INVALID_ARGUMENT && says("line -1"));
    CHECK(spanfft_plan_limit(forward, 0, 7, &limit) == SPANFFT_INVALID_ARGUMENT && says("rank 7"));
    CHECK(spanfft_plan_explain(forward, &text) == SPANFFT_OK && text && strstr(text, "counted") != NULL);
    spanfft_free(text);
    text = NULL;
    CHECK(spanfft_plan_problem(forward, &text) == SPANFFT_OK && text &&
          strncmp(text, "r2c 6x5x8 forward double", 24) == 0);
    spanfft_free(text);
    CHECK(strcmp(spanfft_plan_solver(forward), "local") == 0);
    CHECK(spanfft_plan_rank(forward) == 0 && spanfft_plan_ranks(forward) == 1);
    CHECK(spanfft_plan_peak_memory_bytes(forward, -1) >= (int64_t)(sizeof in + sizeof spectrum));
    CHECK(strlen(spanfft_plan_engines(forward)) > 0);
    CHECK(spanfft_plan_notes(forward) >= 0 && strcmp(spanfft_plan_note(forward, 1000), "") == 0 &&
          strcmp(spanfft_plan_note(forward, -1), "") == 0);

    /* Wrong pointers. */
    CHECK(spanfft_execute(NULL, in, spectrum) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_execute(forward, NULL, spectrum) == SPANFFT_INVALID_ARGUMENT && says("input is NULL"));
    CHECK(spanfft_execute(forward, in, NULL) == SPANFFT_INVALID_ARGUMENT && says("output is NULL"));
    CHECK(spanfft_execute(forward, in, in) == SPANFFT_INVALID_ARGUMENT && says("overlap"));
    spanfft_plan_free(forward);
    spanfft_plan_free(backward);
    spanfft_plan_free(NULL);
}

static int stop_at_once(int64_t done, int64_t total, void* user) {
    (void)done;
    (void)total;
    ++*(int*)user;
    return 0;
}

/* Elements and the places of the first ones, added up. */
typedef struct seen_blocks {
    int64_t elements, places;
    int ndim_is_2;
} seen_blocks;

static int add_block(spanfft_block* block, void* user) {
    seen_blocks* seen = (seen_blocks*)user;
    seen->elements += block->count;
    seen->places += block->first;
    seen->ndim_is_2 += block->ndim == 2 && block->index[0] * 4 + block->index[1] == block->first &&
                       block->size == sizeof(spanfft_block);
    return 0;
}

static int refuse_block(spanfft_block* block, void* user) {
    (void)user;
    snprintf(block->message, sizeof block->message, "not %d of these", (int)block->count);
    return 7;
}

/* 2 x 4 complex numbers from `input`: the real parts, which the callback picks, as they are stored. */
static int pick_real_parts(spanfft_block* block, void* user) {
    int64_t i;
    for (i = 0; i < block->count; ++i) ((float*)block->stored)[i] = (float)((const double*)block->data)[2 * i];
    block->filled = 1;
    return add_block(block, user);
}

static void block_callbacks(void) {
    const char* folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char input[512], output[512];
    spanfft_plan* plan = NULL;
    spanfft_block_callbacks calls = {0};
    spanfft_store source = {0}, target = {0};
    seen_blocks seen = {0};
    double in[16] = {0};
    float out[9];
    FILE* file;
    int i;
    in[0] = 1;
    snprintf(input, sizeof input, "%s/spanfft_abi_test_%p.in", folder, (void*)&plan);
    snprintf(output, sizeof output, "%s/spanfft_abi_test_%p.out", folder, (void*)&plan);
    file = fopen(input, "wb");
    CHECK(file && fwrite(in, 1, sizeof in, file) == sizeof in && fclose(file) == 0);
    calls.on_input = add_block;
    calls.on_output = pick_real_parts;
    calls.user = &seen;
    CHECK(spanfft_plan_parse("c2c 2x4 memory=1MiB store=float32", NULL, &plan) == SPANFFT_OK);
    CHECK(spanfft_plan_set_callbacks(plan, &calls) == SPANFFT_INVALID_ARGUMENT && says("size"));
    calls.size = sizeof calls;
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, NULL, NULL) == SPANFFT_INVALID_ARGUMENT &&
          says("power"));
    CHECK(spanfft_plan_set_callbacks(plan, &calls) == SPANFFT_OK);
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, NULL, NULL) == SPANFFT_OK);
    CHECK(seen.elements == 16 && seen.places == 0 && seen.ndim_is_2 == 2);
    file = fopen(output, "rb");
    CHECK(file && fread(out, sizeof *out, 9, file) == 8 && fclose(file) == 0);
    for (i = 0; i < 8; ++i) CHECK(out[i] == 1.0F);
    remove(output);
    calls.on_input = refuse_block;
    CHECK(spanfft_plan_set_callbacks(plan, &calls) == SPANFFT_OK);
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, NULL, NULL) == SPANFFT_CALLBACK_FAILED &&
          says("not 8 of these") && says("input"));
    CHECK(fopen(output, "rb") == NULL);
    calls.size = offsetof(spanfft_block_callbacks, name); /* as it was before there were names */
    calls.name = (const char*)1;
    CHECK(spanfft_plan_set_callbacks(plan, &calls) == SPANFFT_OK);
    CHECK(spanfft_plan_set_callbacks(plan, NULL) == SPANFFT_OK);
    spanfft_plan_free(plan);
    CHECK(spanfft_plan_parse("c2c 2x4 memory=1MiB", NULL, &plan) == SPANFFT_OK);
    source.size = target.size = offsetof(spanfft_store, identity); /* likewise */
    source.path = input;
    target.path = output;
    source.identity = target.identity = (const char*)1;
    CHECK(spanfft_transform_stores(plan, &source, &target, NULL, NULL, NULL) == SPANFFT_OK);
    spanfft_plan_free(plan);
    remove(output);
    remove(input);
    CHECK(spanfft_plan_set_callbacks(NULL, &calls) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_plan_parse("c2c 8", NULL, &plan) == SPANFFT_OK);
    CHECK(spanfft_plan_set_callbacks(plan, &calls) == SPANFFT_INVALID_ARGUMENT && says("memory="));
    spanfft_plan_free(plan);
}

/* Each error code with the sentence that goes with it. SPANFFT_MPI_ERROR needs ranks; OUT_OF_MEMORY, NO_SPACE and
 * INTERNAL need faults: other tests have them. */
static void error_codes(void) {
    spanfft_plan* plan = NULL;
    char* text = NULL;
    const char* folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char input[512], output[512];
    int calls = 0;
    FILE* file;
    double in[16] = {0, 0, 1}, out[16];
    char back[129];

    CHECK(spanfft_plan_parse(NULL, NULL, &plan) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_plan_parse("c2c 8", NULL, NULL) == SPANFFT_INVALID_ARGUMENT && says("plan is NULL"));
    CHECK(spanfft_plan_create(NULL, NULL, &plan) == SPANFFT_INVALID_ARGUMENT && says("spanfft_problem_init"));
    CHECK(spanfft_plan_parse("c2c 8 ranks=2", NULL, &plan) == SPANFFT_INVALID_ARGUMENT && says("2 ranks"));
    CHECK(spanfft_plan_imagine("c2c 6 ranks=2 layout=cyclic", &plan) == SPANFFT_UNSUPPORTED && says("2*2"));
    CHECK(spanfft_plan_imagine(NULL, &plan) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_plan_imagine("c2c 8", NULL) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_plan_parse("c2c 8 engine=abacus", NULL, &plan) == SPANFFT_ENGINE_ERROR && says("abacus"));
    CHECK(plan == NULL);

    CHECK(spanfft_plan_imagine("c2c 8x8 ranks=2 exchange=alltoallv", &plan) == SPANFFT_OK);
    CHECK(spanfft_plan_ranks(plan) == 2 && strcmp(spanfft_plan_engines(plan), "") == 0);
    CHECK(spanfft_execute(plan, in, out) == SPANFFT_INVALID_ARGUMENT && says("imagined"));
    CHECK(spanfft_transform_file(plan, "a", 0, "b", NULL, 0, NULL, NULL, NULL) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_plan_explain(plan, &text) == SPANFFT_OK && text && strstr(text, "Exchange"));
    spanfft_free(text);
    spanfft_plan_free(plan);

    plan = NULL;
    CHECK(spanfft_plan_parse("c2c 8 memory=1MiB", NULL, &plan) == SPANFFT_OK);
    CHECK(spanfft_execute(plan, in, out) == SPANFFT_INVALID_ARGUMENT && says("memory="));
    snprintf(input, sizeof input, "%s/spanfft_abi_test_%p.in", folder, (void*)&plan);
    snprintf(output, sizeof output, "%s/spanfft_abi_test_%p.out", folder, (void*)&plan);
    remove(input);
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, NULL, NULL) == SPANFFT_IO_ERROR && says(input));
    file = fopen(input, "wb");
    CHECK(file && fwrite(in, 1, 100, file) == 100 && fclose(file) == 0);
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, NULL, NULL) == SPANFFT_CORRUPT_DATA &&
          says("100 bytes") && says("128"));
    file = fopen(input, "wb");
    CHECK(file && fwrite(in, 1, 128, file) == 128 && fclose(file) == 0);
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, stop_at_once, &calls) == SPANFFT_INTERRUPTED);
    CHECK(calls == 1);
    CHECK(fopen(output, "rb") == NULL); /* nothing half-done under the output's name */
    CHECK(spanfft_plan_set_journal(NULL, SPANFFT_JOURNAL_AUTO, 1) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_plan_set_journal(plan, 4, 1) == SPANFFT_INVALID_ARGUMENT && says("4") && says("RESTART"));
    CHECK(spanfft_unfinished_run(NULL, 0, output, 0, NULL, &text) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_unfinished_run(input, 0, output, 0, NULL, &text) == SPANFFT_OK && strcmp(text, "") == 0);
    spanfft_free(text);
    CHECK(spanfft_plan_set_journal(plan, SPANFFT_JOURNAL_RESUME, 1) == SPANFFT_OK); /* in memory: it has none */
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, NULL, NULL) == SPANFFT_INVALID_ARGUMENT &&
          says("no journal"));
    CHECK(spanfft_plan_set_journal(plan, SPANFFT_JOURNAL_AUTO, 1) == SPANFFT_OK);
    CHECK(spanfft_transform_file(plan, input, 0, output, "head", 4, NULL, NULL, NULL) == SPANFFT_OK);
    CHECK(spanfft_plan_resumed_bytes(plan) == 0 && spanfft_plan_resumed_bytes(NULL) == 0);
    file = fopen(output, "rb");
    CHECK(file && fread(out, 1, 4, file) == 4 && memcmp(out, "head", 4) == 0 && fread(out, 1, 129, file) == 128);
    if (file) fclose(file);
    CHECK(spanfft_transform_in_place(NULL, input, 0, NULL, NULL, NULL) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_plan_set_journal(plan, SPANFFT_JOURNAL_OFF, 1) == SPANFFT_OK);
    CHECK(spanfft_transform_in_place(plan, input, 0, NULL, NULL, NULL) == SPANFFT_INVALID_ARGUMENT && says("journal"));
    CHECK(spanfft_plan_set_journal(plan, SPANFFT_JOURNAL_AUTO, 1) == SPANFFT_OK);
    CHECK(spanfft_transform_in_place(plan, input, 0, NULL, NULL, NULL) == SPANFFT_OK);
    file = fopen(input, "rb");
    CHECK(file && fread(back, 1, 129, file) == 128 && memcmp(back, out, 128) == 0);
    if (file) fclose(file);
    remove(input);
    remove(output);
    spanfft_plan_free(plan);
}

static void engines(void) {
    spanfft_engine engine = {0};
    int i, ducc0 = 0;
    engine.size = sizeof engine;
    CHECK(spanfft_engine_count() >= 1);
    for (i = 0; i < spanfft_engine_count(); ++i) {
        CHECK(spanfft_engine_info(i, &engine) == SPANFFT_OK && strlen(engine.name) > 0 && engine.precisions != 0);
        ducc0 += strcmp(engine.name, "ducc0") == 0 && engine.precisions == 7;
    }
    CHECK(ducc0 == 1);
    CHECK(spanfft_engine_info(-1, &engine) == SPANFFT_INVALID_ARGUMENT && says("engine -1"));
    CHECK(spanfft_engine_info(i, &engine) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_engine_info(0, NULL) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_engine_search(NULL) == SPANFFT_INVALID_ARGUMENT &&
          spanfft_engine_search("") == SPANFFT_INVALID_ARGUMENT);
}

static void analysis(void) {
    spanfft_processors p;
    spanfft_traffic traffic;
    memset(&p, 0, sizeof p);
    memset(&traffic, 0, sizeof traffic);
    CHECK(spanfft_analyse("stripe_major_comm", &p, &traffic) == SPANFFT_INVALID_ARGUMENT && says("size field"));
    p.size = sizeof p;
    p.records = 1 << 25;
    p.record_bytes = 16;
    p.memory_records = 1 << 22;
    p.block_records = 256;
    p.disks = p.processors = 4;
    p.synchronous = 1;
    CHECK(spanfft_analyse("stripe_major_comm", &p, &traffic) == SPANFFT_INVALID_ARGUMENT && says("sizeof"));
    CHECK(spanfft_analyse("stripe_major_comm", &p, NULL) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_analyse("stripe_major_comm", NULL, &traffic) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    traffic.size = sizeof traffic;
    CHECK(spanfft_analyse("stripe_major", &p, &traffic) == SPANFFT_INVALID_ARGUMENT && says("memoryload_major_comm"));
    CHECK(spanfft_analyse(NULL, &p, &traffic) == SPANFFT_INVALID_ARGUMENT && says("memoryload_major_comm"));
    CHECK(spanfft_analyse("memoryload_major_comm", &p, &traffic) == SPANFFT_OK);
    CHECK(traffic.memoryload_records == 1 << 20 && traffic.effective_records == 1 << 20);
    CHECK(traffic.band_records == 1 << 20 && traffic.superlevels == 2 && traffic.sweeps == 8 && traffic.alike == 1);
    CHECK(traffic.butterfly_messages == 64 && traffic.bmmc_messages == 504 && traffic.total_messages == 4 * 568);
    CHECK(traffic.butterfly_bytes == 64 << 22 &&
          traffic.total_bytes == 4 * (traffic.butterfly_bytes + traffic.bmmc_bytes));
    p.records = 1000;
    CHECK(spanfft_analyse("stripe_major_comm", &p, &traffic) == SPANFFT_INVALID_ARGUMENT && says("use 512"));
}

static void foresight(void) {
    const char* machine =
        "spanfft-machine 1\nname imagined\nnodes 8\ncores_per_node 1\ncore_fft_gflops 1\n"
        "node_memory_gb_per_second 10\nnetwork switch\nlink_gb_per_second 1  # by hand\nlatency_us 2\n";
    spanfft_machine_info info;
    spanfft_foresight* found = NULL;
    spanfft_foreseen_plan plan;
    spanfft_foreseen_exchange exchange;
    memset(&info, 0, sizeof info);
    memset(&plan, 0, sizeof plan);
    memset(&exchange, 0, sizeof exchange);
    CHECK(spanfft_machine_read(machine, &info) == SPANFFT_INVALID_ARGUMENT && says("size field"));
    info.size = sizeof info;
    CHECK(spanfft_machine_read(NULL, &info) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_machine_read("nodes 8", &info) == SPANFFT_CORRUPT_DATA && says("spanfft-machine 1"));
    CHECK(spanfft_machine_read(machine, &info) == SPANFFT_OK && info.nodes == 8 && info.cores_per_node == 1);
    CHECK(strcmp(info.name, "imagined") == 0 && strstr(info.sheet, "link_gb_per_second 1  # by hand"));
    CHECK(spanfft_foresee(NULL, machine, 0, &found) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_foresee("c2c 64x64 ranks=4", NULL, 0, &found) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_foresee("c2c 64x64 ranks=4", machine, 0, NULL) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_foresee("c2c 64x64 ranks=4", machine, -1, &found) == SPANFFT_INVALID_ARGUMENT && says("-1"));
    CHECK(spanfft_foresee("c2c 64x64 ranks=9", machine, 0, &found) == SPANFFT_INVALID_ARGUMENT && says("at most"));
    CHECK(found == NULL && spanfft_foresight_plans(NULL) == 0);
    CHECK(spanfft_foresee("c2c 64x64 ranks=4 output=exchanged", machine, 0, &found) == SPANFFT_OK);
    CHECK(spanfft_foresight_plans(found) > 0);
    CHECK(spanfft_foresight_plan(found, 0, &plan) == SPANFFT_INVALID_ARGUMENT && says("size field"));
    plan.size = sizeof plan;
    exchange.size = sizeof exchange;
    CHECK(spanfft_foresight_plan(found, -1, &plan) == SPANFFT_INVALID_ARGUMENT && says("no plan -1"));
    CHECK(spanfft_foresight_plan(NULL, 0, &plan) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_foresight_plan(found, 0, &plan) == SPANFFT_OK && plan.exchanges == 1 && plan.seconds > 0);
    CHECK(strcmp(plan.solver, "pencil") == 0 && plan.exchange[0] && plan.limit[0]);
    CHECK(spanfft_foresight_exchange(found, 0, 1, &exchange) == SPANFFT_INVALID_ARGUMENT && says("it has 1"));
    CHECK(spanfft_foresight_exchange(found, 0, 0, &exchange) == SPANFFT_OK && exchange.group_ranks == 4);
    CHECK(exchange.messages == plan.messages && exchange.sent_bytes == plan.sent_bytes);
    spanfft_foresight_free(found);
    spanfft_foresight_free(NULL);
}

static int stop_halfway(int64_t done_bytes, int64_t total_bytes, void* user) {
    (void)user;
    return 2 * done_bytes < total_bytes;
}

static void permutations(void) {
    uint64_t columns[12];
    spanfft_permutation p;
    spanfft_permute_report report;
    char* text = NULL;
    char input[256], output[256];
    const char* tmp = getenv("TMPDIR");
    const char* folders[1];
    int64_t i, wrong = 0;
    spanfft_plan* plan = NULL;
    spanfft_counts counts;
    float value;
    FILE* file;
    CHECK(spanfft_bit_matrix("rotation:5", 12, columns) == SPANFFT_OK && columns[0] == 128 && columns[5] == 1);
    CHECK(spanfft_bit_matrix("turn:5", 12, columns) == SPANFFT_INVALID_ARGUMENT && says("bit-reversal:K"));
    CHECK(spanfft_bit_matrix("identity", 64, columns) == SPANFFT_INVALID_ARGUMENT && says("1 to 57"));
    CHECK(spanfft_bit_matrix(NULL, 12, columns) == SPANFFT_INVALID_ARGUMENT);
    CHECK(spanfft_bit_matrix("bit-reversal", 12, columns) == SPANFFT_OK);
    memset(&p, 0, sizeof p);
    memset(&report, 0, sizeof report);
    report.size = sizeof report;
    CHECK(spanfft_permute_plan(&p, &report, &text) == SPANFFT_INVALID_ARGUMENT && says("size field"));
    p.size = sizeof p;
    p.bits = 12;
    p.columns = columns;
    p.complement = 1;
    p.record_bytes = sizeof value;
    p.memory_bytes = 1200; /* 4 memoryloads of 64 records, and a sixteenth more */
    p.block_bytes = 32;
    CHECK(spanfft_permute_plan(&p, &report, &text) == SPANFFT_OK && text && strstr(text, "rank phi 6"));
    CHECK(report.sweeps == 3 && report.rank_phi == 6 && report.memoryload_records == 64 && report.block_records == 8);
    CHECK(report.predicted_parallel_ios == 3072 && report.bound == 3072 && report.counted_parallel_ios == 0);
    spanfft_free(text);
    CHECK(spanfft_permute_plan(NULL, &report, NULL) == SPANFFT_INVALID_ARGUMENT);

    snprintf(input, sizeof input, "%s/spanfft-abi-permute.in", tmp ? tmp : "/tmp");
    snprintf(output, sizeof output, "%s/spanfft-abi-permute.out", tmp ? tmp : "/tmp");
    file = fopen(input, "wb");
    CHECK(file != NULL);
    if (!file) return;
    for (i = 0; i < 4096; ++i) {
        value = (float)i;
        fwrite(&value, sizeof value, 1, file);
    }
    fclose(file);
    folders[0] = tmp ? tmp : "/tmp";
    CHECK(spanfft_permute_file(&p, input, 0, output, "head", 4, 1, folders, NULL, NULL, &report) == SPANFFT_OK);
    CHECK(report.counted_parallel_ios == report.predicted_parallel_ios);
    file = fopen(output, "rb");
    CHECK(file && fseek(file, 4, SEEK_SET) == 0);
    for (i = 0; file && i < 4096; ++i) {
        int64_t x = 0, bit;
        for (bit = 0; bit < 12; ++bit) x |= ((i ^ 1) >> bit & 1) << (11 - bit);
        wrong += fread(&value, sizeof value, 1, file) != 1 || value != (float)x;
    }
    CHECK(wrong == 0);
    if (file) fclose(file);
    CHECK(spanfft_permute_file(&p, input, 0, output, NULL, 0, 1, NULL, NULL, NULL, NULL) == SPANFFT_INVALID_ARGUMENT &&
          says("is NULL"));
    CHECK(spanfft_plan_permutation(&p, NULL) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_plan_permutation(NULL, &plan) == SPANFFT_INVALID_ARGUMENT && says("NULL"));
    CHECK(spanfft_plan_permutation(&p, &plan) == SPANFFT_OK);
    CHECK(spanfft_plan_set_journal(plan, SPANFFT_JOURNAL_AUTO, 1) == SPANFFT_OK);
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, stop_halfway, NULL) == SPANFFT_INTERRUPTED &&
          says("goes on from there"));
    CHECK(spanfft_unfinished_run(input, 0, output, 0, NULL, &text) == SPANFFT_OK && strstr(text, "permute 4096"));
    spanfft_free(text);
    CHECK(spanfft_transform_file(plan, input, 0, output, NULL, 0, NULL, NULL, NULL) == SPANFFT_OK);
    CHECK(spanfft_plan_resumed_bytes(plan) > 0);
    counts.size = sizeof counts;
    CHECK(spanfft_plan_counted(plan, -1, &counts) == SPANFFT_OK);
    CHECK(spanfft_plan_input_bytes(plan) == 4096 * (int64_t)sizeof value && spanfft_plan_sweeps(plan) == 3);
    CHECK(strcmp(spanfft_plan_solver(plan), "permutation") == 0);
    spanfft_plan_free(plan);
    p.disks = 3;
    CHECK(spanfft_permute_file(&p, input, 0, output, NULL, 0, 0, NULL, NULL, NULL, NULL) == SPANFFT_INVALID_ARGUMENT &&
          says("power of two"));
    remove(input);
    remove(output);
}

/* A 60 x 40 array of complex doubles that the program keeps itself, in chunks of 7 x 9. */
typedef struct kept_array {
    double values[60][40][2];
    int into_memory; /* the way */
    int calls, fail_at;
} kept_array;

static int move_box(const int64_t* first, const int64_t* extent, void* data, void* user) {
    kept_array* kept = user;
    double* box = data;
    int64_t row, bytes = extent[1] * 16;
    if (++kept->calls == kept->fail_at) {
        spanfft_set_error("the array's third shelf is empty");
        return SPANFFT_CORRUPT_DATA;
    }
    if (first[0] % 7 || first[1] % 9) return 77; /* no chunk begins here */
    for (row = 0; row < extent[0]; ++row, box += 2 * extent[1]) {
        void* mine = kept->values[first[0] + row][first[1]];
        memcpy(kept->into_memory ? (void*)box : mine, kept->into_memory ? mine : (void*)box, (size_t)bytes);
    }
    return SPANFFT_OK;
}

static void stores(const char* memory) {
    char text[160];
    const char* tmp = getenv("TMPDIR");
    const char* folder = tmp ? tmp : "/tmp";
    spanfft_plan* plan = NULL;
    static kept_array source, target;
    spanfft_store input = {0}, output = {0};
    static long double exact[60][40][2];
    int i, j;
    memset(&source, 0, sizeof source);
    memset(&target, 0, sizeof target);
    source.into_memory = 1;
    for (i = 0; i < 60; ++i) {
        for (j = 0; j < 40; ++j) source.values[i][j][0] = i - 0.5 * j;
    }
    /* The sum of j exp(-2 pi i j k / n) over j < n is n (n-1) / 2 at k = 0, else n/2 (-1 + i cot(pi k / n)). */
    exact[0][0][0] = 40 * 1770 - 60 * 390;
    for (i = 1; i < 60; ++i) {
        exact[i][0][0] = -1200;
        exact[i][0][1] = 1200 / tanl(pi * i / 60);
    }
    for (j = 1; j < 40; ++j) {
        exact[0][j][0] = 600;
        exact[0][j][1] = -600 / tanl(pi * j / 40);
    }
    snprintf(text, sizeof text, "c2c 60x40 memory=%s input_chunk=7x9 output_chunk=7x9", memory);
    CHECK(spanfft_plan_parse(text, NULL, &plan) == SPANFFT_OK);
    CHECK(spanfft_transform_stores(plan, &input, &output, folder, NULL, NULL) == SPANFFT_INVALID_ARGUMENT &&
          says("size"));
    input.size = output.size = sizeof(spanfft_store);
    CHECK(spanfft_transform_stores(plan, &input, &output, folder, NULL, NULL) == SPANFFT_INVALID_ARGUMENT &&
          says("input_chunk"));
    input.transfer = output.transfer = move_box;
    input.user = &source;
    output.user = &target;
    CHECK(spanfft_transform_stores(plan, &input, &output, folder, NULL, NULL) == SPANFFT_OK);
    CHECK(error_in_rules(&target.values[0][0][0], &exact[0][0][0], 4800, 2400) <= 1);
    source.calls = 0;
    source.fail_at = 1;
    CHECK(spanfft_transform_stores(plan, &input, &output, folder, NULL, NULL) == SPANFFT_CORRUPT_DATA &&
          says("third shelf"));
    target.calls = source.calls = source.fail_at = 0;
    target.fail_at = 1;
    CHECK(spanfft_transform_stores(plan, &input, &output, folder, NULL, NULL) == SPANFFT_CORRUPT_DATA &&
          says("third shelf"));
    spanfft_plan_free(plan);
}

int main(void) {
    CHECK(strcmp(spanfft_last_error(), "") == 0);
    sizes_and_defaults();
    problem_strings();
    older_structs();
    parts();
    round_trip();
    keys();
    own_arrays();
    traces();
    error_codes();
    block_callbacks();
    engines();
    analysis();
    foresight();
    permutations();
    stores("1MiB"); /* in memory, and not */
    stores("28KiB");
    spanfft_comm_free(NULL);
    if (failures == 0) printf("abi_test: everything holds\n");
    return failures ? 1 : 0;
}
