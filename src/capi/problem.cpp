// From and to the C option struct; see problem.hpp.
#include "capi/problem.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "plan/problem_keys.hpp"

using namespace spanfft;

namespace spanfft {

namespace {

// An enum field of the C struct, checked.
template <class Enum>
Status take_enum(int32_t value, int count, const char* field, Enum& target) {
    if (value < 0 || value >= count)
        return error(Code::invalid_argument, field, " is ", value, "; use a SPANFFT_ constant from 0 to ", count - 1);
    target = static_cast<Enum>(value);
    return Status();
}

Status take_axes(const spanfft_problem& c, Problem& p) {
    if (c.naxes < 0 || c.naxes > kMaxNdim)
        return error(Code::invalid_argument, "naxes is ", c.naxes, "; use 0 (all axes) to ", kMaxNdim);
    for (int i = 0; i < (c.naxes ? c.naxes : c.ndim); ++i) {
        AxisKind kind;
        SPANFFT_TRY(take_enum(c.kinds[i], kAxisKinds, "kinds[]", kind));
        p.axes.push_back(c.naxes ? c.axes[i] : i);
        p.kinds.push_back(kind);
    }
    return Status();
}

}  // namespace

Result<Problem> problem_from_c(const spanfft_problem* problem) {
    if (!problem)
        return error(Code::invalid_argument, "the problem is NULL; fill a spanfft_problem with spanfft_problem_init");
    // A program built against an older header has a shorter struct; what it does not know has its default.
    const size_t least = offsetof(spanfft_problem, memory_bytes);
    if (problem->size < least)
        return error(Code::invalid_argument, "the problem's size field is ", problem->size,
                     "; call spanfft_problem_init first");
    spanfft_problem c;
    const int64_t one = 1;
    spanfft_problem_init(&c, 1, &one);
    std::memcpy(&c, problem, std::min(problem->size, sizeof c));

    Problem p;
    if (c.ndim < 1 || c.ndim > kMaxNdim)
        return error(Code::invalid_argument, "ndim is ", c.ndim, "; use 1 to ", kMaxNdim);
    p.shape.assign(c.shape, c.shape + c.ndim);
    SPANFFT_TRY(take_axes(c, p));
    SPANFFT_TRY(take_enum(c.direction, 2, "direction", p.direction));
    SPANFFT_TRY(take_enum(c.precision, 3, "precision", p.precision));
    SPANFFT_TRY(take_enum(c.norm, 3, "norm", p.norm));
    SPANFFT_TRY(take_enum(c.output, 2, "output", p.output));
    SPANFFT_TRY(take_enum(c.effort, 3, "effort", p.effort));
    if (c.ngrid < 0 || c.ngrid > kMaxNdim)
        return error(Code::invalid_argument, "ngrid is ", c.ngrid, "; use 0 (chosen) to ", kMaxNdim);
    p.grid.assign(c.grid, c.grid + c.ngrid);
    p.batch = c.batch;
    p.threads = c.threads;
    p.engine = c.engine ? c.engine : "";
    p.exchange = c.exchange ? c.exchange : "";
    p.method = c.method ? c.method : "";
    p.in_place = c.in_place != 0;
    p.own_output = c.own_output != 0;
    p.own_input = c.own_input != 0;
    p.memory_bytes = c.memory_bytes;
    SPANFFT_TRY(take_enum(c.layout, 2, "layout", p.layout));
    p.measure_seconds = c.measure_seconds;
    p.io = c.io ? c.io : "";
    p.disks = c.disks;
    if (c.kept[0] != 0) p.kept.assign(c.kept, c.kept + c.ndim);
    if (c.input_chunk[0] != 0) p.input_chunk.assign(c.input_chunk, c.input_chunk + c.ndim);
    if (c.output_chunk[0] != 0) p.output_chunk.assign(c.output_chunk, c.output_chunk + c.ndim);
    if (c.scale != 0) p.factor = c.scale;
    p.window = c.window ? c.window : "";
    p.power = c.power != 0;
    p.reads_once = c.reads_once != 0;
    if (c.store) {
        SPANFFT_ASSIGN(p.store, parse_elem(c.store));
    }
    if (c.load) {
        SPANFFT_ASSIGN(p.load, NumberFormat::parse(c.load));
    }
    p.one_writer = c.one_writer != 0;
    return p;
}

Patch patch_from_c(const spanfft_box& box, int ndim) {
    Patch patch;
    for (int i = 0; i < ndim; ++i) patch.push_back({box.start[i], box.count[i], 1});
    return patch;
}

void patch_to_c(const Patch& patch, spanfft_box* box) {
    *box = spanfft_box{};
    for (size_t i = 0; i < patch.size(); ++i) {
        box->start[i] = patch[i].start;
        box->count[i] = patch[i].count;
    }
}

char* copy_text(const std::string& text) {
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy) std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

}  // namespace spanfft

// Made here and copied as far as the caller's struct goes. What a newer program has behind our end is zero: its
// default.
void spanfft_problem_init_bytes(spanfft_problem* problem, size_t struct_bytes, int ndim, const int64_t* shape) {
    if (!problem) return;
    spanfft_problem made = {};
    made.size = struct_bytes;
    made.ndim = ndim;
    for (int i = 0; shape && i < std::min(ndim, SPANFFT_MAX_NDIM); ++i) made.shape[i] = shape[i];
    made.precision = SPANFFT_DOUBLE;
    made.batch = 1;
    std::memset(static_cast<void*>(problem), 0, struct_bytes);
    std::memcpy(static_cast<void*>(problem), &made, std::min(struct_bytes, sizeof made));
}

int spanfft_problem_print(const spanfft_problem* problem, int ranks, char** text) {
    return report([&]() -> Status {
        if (!text) return error(Code::invalid_argument, "text is NULL; pass where the string shall go");
        SPANFFT_ASSIGN(Problem p, problem_from_c(problem));
        p.ranks = ranks;
        SPANFFT_TRY(p.check());
        *text = copy_text(p.print());
        return Status();
    });
}

int spanfft_problem_key_count(void) { return static_cast<int>(problem_keys().size()); }

int spanfft_problem_key_info(int index, spanfft_problem_key* key) {
    return report([&]() -> Status {
        if (index < 0 || index >= spanfft_problem_key_count()) {
            return error(Code::invalid_argument, "key ", index, " does not exist; a problem has ",
                         spanfft_problem_key_count());
        }
        const ProblemKey& row = problem_keys()[static_cast<size_t>(index)];
        return give(spanfft_problem_key{sizeof(spanfft_problem_key), row.name, row.values, row.fallback, row.help},
                    key);
    });
}

int spanfft_problem_canonical(const char* text, char** canonical) {
    return report([&]() -> Status {
        if (!text || !canonical) return error(Code::invalid_argument, "text or canonical is NULL");
        SPANFFT_ASSIGN(const Problem p, Problem::parse(text));
        *canonical = copy_text(p.print());
        return Status();
    });
}
