// Validation and canonical form of a LocalSpec, and the transforms that need no library; see spec.hpp.
#include "engine/spec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace spanfft {

const char* kernel_name(Kernel kernel) {
    switch (kernel) {
        case Kernel::c2c_forward:
            return "c2c_forward";
        case Kernel::c2c_backward:
            return "c2c_backward";
        case Kernel::r2c:
            return "r2c";
        case Kernel::c2r:
            return "c2r";
        case Kernel::dct1:
            return "dct1";
        case Kernel::dct2:
            return "dct2";
        case Kernel::dct3:
            return "dct3";
        case Kernel::dct4:
            return "dct4";
        case Kernel::dst1:
            return "dst1";
        case Kernel::dst2:
            return "dst2";
        case Kernel::dst3:
            return "dst3";
        case Kernel::dst4:
            return "dst4";
    }
    return "unknown";
}

ElemType input_type(const LocalSpec& spec) { return {spec.precision, complex_input(spec.kernel)}; }
ElemType output_type(const LocalSpec& spec) { return {spec.precision, complex_output(spec.kernel)}; }

index_t input_points(const LocalSpec& spec, size_t axis) {
    const index_t n = spec.transform[axis].n;
    return spec.kernel == Kernel::c2r && axis + 1 == spec.transform.size() ? n / 2 + 1 : n;
}

index_t output_points(const LocalSpec& spec, size_t axis) {
    const index_t n = spec.transform[axis].n;
    return spec.kernel == Kernel::r2c && axis + 1 == spec.transform.size() ? n / 2 + 1 : n;
}

namespace {

void widen(Span& span, index_t points, index_t stride) {
    const index_t reach = (points - 1) * stride;
    (reach < 0 ? span.low : span.high) += reach;
}

template <class Points>
Span span_of(const LocalSpec& spec, Points points, index_t LoopDim::* stride) {
    Span span;
    for (size_t i = 0; i < spec.transform.size(); ++i) widen(span, points(spec, i), spec.transform[i].*stride);
    for (const LoopDim& loop : spec.batch) widen(span, loop.n, loop.*stride);
    return span;
}

// Bytes that the loops reach over, or nothing when that exceeds 63 bits.
std::optional<index_t> checked_reach(const LocalSpec& spec, index_t LoopDim::* stride, size_t elem_bytes) {
    index_t total = 1;
    auto add = [&](const LoopDim& loop) {
        const index_t step = loop.*stride;
        if (step == INT64_MIN) return false;
        auto reach = checked_mul(std::max<index_t>(loop.n - 1, 0), step < 0 ? -step : step);
        return reach && !__builtin_add_overflow(total, *reach, &total);
    };
    for (const LoopDim& loop : spec.transform) {
        if (!add(loop)) return std::nullopt;
    }
    for (const LoopDim& loop : spec.batch) {
        if (!add(loop)) return std::nullopt;
    }
    return checked_mul(total, static_cast<index_t>(elem_bytes));
}

Status check_in_place(const LocalSpec& spec) {
    if (complex_input(spec.kernel) == complex_output(spec.kernel)) {
        auto equal = [](const LoopDim& loop) { return loop.n <= 1 || loop.in_stride == loop.out_stride; };
        if (std::all_of(spec.transform.begin(), spec.transform.end(), equal) &&
            std::all_of(spec.batch.begin(), spec.batch.end(), equal)) {
            return {};
        }
        return error(Code::invalid_argument, kernel_name(spec.kernel),
                     " in place needs equal input and output strides in every loop");
    }
    const bool r2c = spec.kernel == Kernel::r2c;
    auto padded = [r2c](const LoopDim& loop) {
        const index_t real = r2c ? loop.in_stride : loop.out_stride;
        const index_t complex = r2c ? loop.out_stride : loop.in_stride;
        return loop.n <= 1 || real == 2 * complex;
    };
    const LoopDim& halved = spec.transform.back();
    if ((halved.n <= 1 || (halved.in_stride == 1 && halved.out_stride == 1)) &&
        std::all_of(spec.transform.begin(), spec.transform.end() - 1, padded) &&
        std::all_of(spec.batch.begin(), spec.batch.end(), padded)) {
        return {};
    }
    return error(Code::invalid_argument, kernel_name(spec.kernel),
                 " in place needs stride 1 on the halved axis and, in every other loop, a real stride of twice the "
                 "complex stride");
}

}  // namespace

Status check_spec(const LocalSpec& spec) {
    if (spec.threads < 1) return error(Code::invalid_argument, "threads must be at least 1, got ", spec.threads);
    const bool mixed = complex_input(spec.kernel) != complex_output(spec.kernel);
    if (mixed && spec.transform.empty()) {
        return error(Code::invalid_argument, kernel_name(spec.kernel), " needs at least one transform axis");
    }
    if (is_r2r(spec.kernel) && spec.transform.size() > 1) {
        return error(Code::invalid_argument, kernel_name(spec.kernel), " takes exactly one transform axis, got ",
                     spec.transform.size());
    }
    for (const LoopDim& loop : spec.batch) {
        if (loop.n < 0) return error(Code::invalid_argument, "a batch loop has ", loop.n, " points");
    }
    for (const LoopDim& axis : spec.transform) {
        const index_t least = spec.kernel == Kernel::dct1 ? 2 : 1;
        if (axis.n < least) {
            return error(Code::invalid_argument, kernel_name(spec.kernel), " needs a length of at least ", least,
                         ", got ", axis.n);
        }
    }
    if (!checked_reach(spec, &LoopDim::in_stride, input_type(spec).bytes()) ||
        !checked_reach(spec, &LoopDim::out_stride, output_type(spec).bytes())) {
        return error(Code::invalid_argument, "the loops of this ", kernel_name(spec.kernel),
                     " reach further than 2^63 bytes");
    }
    return spec.in_place ? check_in_place(spec) : Status();
}

LocalSpec canonical(const LocalSpec& spec) {
    LocalSpec result = spec;
    auto single = [](const LoopDim& loop) { return loop.n == 1; };
    if (is_c2c(spec.kernel)) {
        std::erase_if(result.transform, single);
    } else if (!is_r2r(spec.kernel)) {
        const LoopDim halved = result.transform.back();
        result.transform.pop_back();
        std::erase_if(result.transform, single);
        result.transform.push_back(halved);
    }
    std::erase_if(result.batch, single);
    auto size = [](const LoopDim& loop) { return std::pair(std::abs(loop.out_stride), std::abs(loop.in_stride)); };
    std::stable_sort(result.batch.begin(), result.batch.end(),
                     [&](const LoopDim& a, const LoopDim& b) { return size(a) > size(b); });
    std::vector<LoopDim> merged;
    for (const LoopDim& inner : result.batch) {
        if (!merged.empty() && merged.back().in_stride == inner.n * inner.in_stride &&
            merged.back().out_stride == inner.n * inner.out_stride) {
            merged.back() = {merged.back().n * inner.n, inner.in_stride, inner.out_stride};
        } else {
            merged.push_back(inner);
        }
    }
    result.batch = std::move(merged);
    return result;
}

index_t logical_length(Kernel kernel, index_t n) {
    if (!is_r2r(kernel)) return n;
    if (kernel == Kernel::dct1) return 2 * (n - 1);
    return kernel == Kernel::dst1 ? 2 * (n + 1) : 2 * n;
}

bool is_empty(const LocalSpec& spec) {
    return std::any_of(spec.batch.begin(), spec.batch.end(), [](const LoopDim& loop) { return loop.n == 0; });
}

index_t batch_count(const LocalSpec& spec) {
    index_t count = 1;
    for (const LoopDim& loop : spec.batch) count *= loop.n;
    return count;
}

index_t spec_elems(const LocalSpec& spec) {
    index_t elems = batch_count(spec);
    for (const LoopDim& axis : spec.transform) elems *= axis.n;
    return elems;
}

double spec_flops(const LocalSpec& spec) {
    double levels = 0;
    for (const LoopDim& axis : spec.transform) levels += std::log2(static_cast<double>(axis.n));
    return (is_c2c(spec.kernel) ? 5.0 : 2.5) * static_cast<double>(spec_elems(spec)) * levels;
}

index_t filled_lines(index_t lines, index_t at_once, index_t spare) {
    const index_t left = lines % at_once, missing = at_once - left;
    return 2 * left > at_once && missing <= spare ? lines + missing : lines;
}

LocalWork operator-(const LocalWork& after, const LocalWork& before) {
    return {after.flops - before.flops, after.memory_bytes - before.memory_bytes, after.executions - before.executions};
}

LocalWork work_of(const LocalSpec& spec) {
    if (is_empty(spec) || spec.transform.empty()) return {};
    index_t in = batch_count(spec), out = in;
    for (size_t axis = 0; axis < spec.transform.size(); ++axis) {
        in *= input_points(spec, axis);
        out *= output_points(spec, axis);
    }
    return {spec_flops(spec),
            in * static_cast<index_t>(input_type(spec).bytes()) + out * static_cast<index_t>(output_type(spec).bytes()),
            1};
}

Span input_span(const LocalSpec& spec) { return span_of(spec, input_points, &LoopDim::in_stride); }
Span output_span(const LocalSpec& spec) { return span_of(spec, output_points, &LoopDim::out_stride); }

namespace {

class NoFft : public LocalFft {
  public:
    void execute(const void*, void*) const override {}
};

// Copies elements of a fixed size along nested loops; the innermost is one memcpy when both sides are contiguous.
class CopyFft : public LocalFft {
  public:
    CopyFft(std::vector<LoopDim> loops, size_t elem_bytes)
        : loops_(std::move(loops)), elem_bytes_(static_cast<index_t>(elem_bytes)) {}

    void execute(const void* in, void* out) const override {
        copy(0, static_cast<const char*>(in), static_cast<char*>(out));
    }

  private:
    void copy(size_t depth, const char* in, char* out) const {
        if (depth == loops_.size()) {
            std::memcpy(out, in, static_cast<size_t>(elem_bytes_));
            return;
        }
        const LoopDim& loop = loops_[depth];
        if (depth + 1 == loops_.size() && loop.in_stride == 1 && loop.out_stride == 1) {
            std::memcpy(out, in, static_cast<size_t>(loop.n * elem_bytes_));
            return;
        }
        for (index_t i = 0; i < loop.n; ++i) {
            copy(depth + 1, in + i * loop.in_stride * elem_bytes_, out + i * loop.out_stride * elem_bytes_);
        }
    }

    std::vector<LoopDim> loops_;
    index_t elem_bytes_;
};

}  // namespace

std::unique_ptr<LocalFft> make_copy(const LocalSpec& spec) {
    assert(spec.transform.empty() || is_empty(spec));
    if (is_empty(spec) || spec.in_place) return std::make_unique<NoFft>();
    return std::make_unique<CopyFft>(spec.batch, input_type(spec).bytes());
}

}  // namespace spanfft
