// Twiddle factors as a plan step; see twiddle_step.hpp.
#include "steps/twiddle_step.hpp"

#include <algorithm>
#include <cassert>

#include "core/buffer.hpp"
#include "steps/tile_kernels.hpp"

namespace spanfft {

namespace {

// A pair whose factors are not all 1 on a rank, which has more of either axis than its first index.
struct Active {
    TwiddlePair pair;
    index_t n = 1;  // of the axis that the pair is
};

// In the order of `rest`, slowest first.
std::vector<Active> active_pairs(const TwiddleSpec& spec, int rank) {
    const Patch patch = spec.state.layout.patch(rank);
    const Extents& shape = spec.state.layout.shape();
    const auto only_first = [&](int axis) {
        const AxisRange& range = patch[static_cast<size_t>(axis)];
        return range.start == 0 && range.count == 1;
    };
    std::vector<Active> active;
    if (patch_elems(patch) == 0) return active;
    for (const TwiddlePair& pair : spec.pairs) {
        assert(pair.part < pair.rest);
        if (!only_first(pair.part) && !only_first(pair.rest))
            active.push_back({pair, shape[static_cast<size_t>(pair.part)] * shape[static_cast<size_t>(pair.rest)]});
    }
    std::sort(active.begin(), active.end(), [](const Active& a, const Active& b) { return a.pair.rest < b.pair.rest; });
    return active;
}

index_t table_bytes(const TwiddleSpec& spec, int rank) {
    index_t bytes = 0;
    for (const Active& active : active_pairs(spec, rank)) bytes += RootTable::bytes(active.n);
    return bytes;
}

Counts predicted_counts(const TwiddleSpec& spec, int rank) {
    Counts counts;
    const bool turns = !active_pairs(spec, rank).empty();
    const index_t bytes = spec.state.local_bytes(rank);
    if (!turns && spec.scale == 1) return counts;
    counts.flops = static_cast<double>(spec.state.layout.local_elems(rank)) * (turns ? 6 : 2);
    counts.memory_bytes = 2 * bytes;
    return counts;
}

// The loops over a local array, slowest first, down to the last axis that is the `rest` of a pair; behind it lie
// `inner` elements of one factor.
struct Nest {
    struct Axis {
        AxisRange indices;  // of the whole array
        index_t stride = 1;
        int part_of = -1, rest_of = -1;  // pairs
    };
    std::vector<Axis> axes;
    std::vector<RootTable> roots;  // of each pair
    index_t inner = 1;
};

Result<Nest> make_nest(const TwiddleSpec& spec, int rank) {
    Nest nest;
    const auto pairs = active_pairs(spec, rank);
    if (pairs.empty()) return nest;
    const Patch patch = spec.state.layout.patch(rank);
    const Extents strides = row_major_strides(patch_shape(patch));
    const auto last = static_cast<size_t>(pairs.back().pair.rest);
    nest.inner = strides[last];
    for (size_t axis = 0; axis <= last; ++axis) nest.axes.push_back({patch[axis], strides[axis]});
    for (const Active& active : pairs) {
        const auto pair = static_cast<int>(nest.roots.size());
        nest.axes[static_cast<size_t>(active.pair.part)].part_of = pair;
        nest.axes[static_cast<size_t>(active.pair.rest)].rest_of = pair;
        SPANFFT_ASSIGN(RootTable roots, RootTable::make(active.n));
        nest.roots.push_back(std::move(roots));
    }
    return nest;
}

template <class T>
class Sweep {
  public:
    Sweep(const Nest& nest, bool backward, long double scale) : nest_(nest), sign_(backward ? 1 : -1), scale_(scale) {}
    // Returns how many elements it multiplied.
    index_t run(void* data) { return walk(0, static_cast<Pair<T>*>(data), {scale_, 0}); }

  private:
    static Pair<T> rounded(const Pair<long double>& x) { return {static_cast<T>(x.re), static_cast<T>(x.im)}; }

    // w_n^(s k) of a pair, at the s where the loops are.
    Pair<long double> root(int pair, index_t k) const {
        const RootTable& roots = nest_.roots[static_cast<size_t>(pair)];
        const Pair<long double> r = roots.at(product_mod(s_[pair], k, roots.n()));
        return {r.re, sign_ * r.im};
    }

    index_t walk(size_t depth, Pair<T>* x, const Pair<long double>& factor) {
        const Nest::Axis& axis = nest_.axes[depth];
        if (depth + 1 == nest_.axes.size()) return line(axis, x, factor);
        index_t done = 0;
        for (index_t i = 0; i < axis.indices.count; ++i, x += axis.stride) {
            const index_t at = axis.indices.at(i);
            if (axis.part_of >= 0) s_[axis.part_of] = at;
            done += walk(depth + 1, x, axis.rest_of < 0 ? factor : multiply(factor, root(axis.rest_of, at)));
        }
        return done;
    }

    // The factors of the 64 first points of a chunk, less the chunk's own.
    void make_fine(const Nest::Axis& axis) {
        const index_t s = s_[axis.rest_of];
        if (s == fine_s_) return;
        fine_s_ = s;
        for (index_t k = 0; k < std::min(kTwiddleChunk, axis.indices.count); ++k)
            fine_[k] = rounded(root(axis.rest_of, k * axis.indices.step));
    }

    index_t line(const Nest::Axis& axis, Pair<T>* x, const Pair<long double>& factor) {
        make_fine(axis);
        const index_t inner = nest_.inner;
        index_t done = 0;
        for (index_t first = 0; first < axis.indices.count; first += kTwiddleChunk) {
            const Pair<T> chunk = rounded(multiply(factor, root(axis.rest_of, axis.indices.at(first))));
            const index_t count = std::min(kTwiddleChunk, axis.indices.count - first);
            Pair<T>* at = x + first * inner;
            done += count * inner;
            if (inner == 1) {
                for (index_t k = 0; k < count; ++k) at[k] = multiply(at[k], multiply(chunk, fine_[k]));
                continue;
            }
            for (index_t k = 0; k < count; ++k, at += inner) {
                const Pair<T> w = multiply(chunk, fine_[k]);
                for (index_t i = 0; i < inner; ++i) at[i] = multiply(at[i], w);
            }
        }
        return done;
    }

    const Nest& nest_;
    long double sign_, scale_;
    index_t s_[kMaxNdim] = {};  // of each pair
    index_t fine_s_ = -1;       // of fine_
    Pair<T> fine_[kTwiddleChunk];
};

template <class T>
index_t scale_all(void* data, index_t elems, long double scale) {
    auto* x = static_cast<T*>(data);
    const auto by = static_cast<T>(scale);
    index_t i = 0;
    for (; i < 2 * elems; ++i) x[i] *= by;
    return i / 2;
}

class TwiddleTask final : public Task {
  public:
    TwiddleTask(TwiddleSpec spec, int rank, Nest nest)
        : spec_(std::move(spec)), elems_(spec_.state.layout.local_elems(rank)), nest_(std::move(nest)) {}

    Status run(RunContext& context) override {
        counts_ = Counts();
        if (elems_ == 0 || (nest_.axes.empty() && spec_.scale == 1)) return Status();
        const TraceScope scope(context.trace, "twiddle", TraceCategory::compute,
                               2 * elems_ * static_cast<index_t>(spec_.state.elem.bytes()));
        switch (spec_.state.elem.precision) {
            case Precision::single:
                sweep<float>(context.at(spec_.slot));
                break;
            case Precision::dbl:
                sweep<double>(context.at(spec_.slot));
                break;
            case Precision::extended:
                sweep<long double>(context.at(spec_.slot));
                break;
        }
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    template <class T>
    void sweep(void* data) {
        const bool turns = !nest_.axes.empty();
        const bool backward = spec_.direction == Direction::backward;
        const index_t done =
            turns ? Sweep<T>(nest_, backward, spec_.scale).run(data) : scale_all<T>(data, elems_, spec_.scale);
        counts_.flops = static_cast<double>(done) * (turns ? 6 : 2);
        counts_.memory_bytes = 2 * done * static_cast<index_t>(sizeof(Pair<T>));
    }

    TwiddleSpec spec_;
    index_t elems_;
    Nest nest_;
    Counts counts_;
};

class TwiddleStep final : public Step {
  public:
    TwiddleStep(TwiddleSpec spec, const Machine& machine) : spec_(std::move(spec)) {
        // Of a rank that does have factors: the ranks wait for it, and it is never rank 0, whose s is 0.
        const auto bytes = static_cast<double>(spec_.state.local_bytes(0));
        seconds_of_rank0_ = bytes / machine.memory_bytes_per_second;
    }
    const char* type() const override { return "Twiddle"; }

    std::string describe() const override {
        std::string text;
        const Extents& shape = spec_.state.layout.shape();
        for (const TwiddlePair& pair : spec_.pairs) {
            const index_t parts = shape[static_cast<size_t>(pair.part)], rest = shape[static_cast<size_t>(pair.rest)];
            text += cat(text.empty() ? "" : ", ", parts, "*", rest, " points of axes ", pair.part, ",", pair.rest);
        }
        if (spec_.scale != 1) text += ", scaled";
        return text + cat(", ", spec_.state.layout.describe(), " ", slot_name(spec_.slot));
    }

    Counts price(int rank) const override {
        Counts counts = predicted_counts(spec_, rank);
        counts.seconds = seconds_of_rank0_;
        return counts;
    }
    index_t own_memory_bytes(int rank) const override { return table_bytes(spec_, rank); }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        const int rank = binding.comm.rank();
        SPANFFT_ASSIGN(Nest nest, make_nest(spec_, rank));
        return std::unique_ptr<Task>(new TwiddleTask(spec_, rank, std::move(nest)));
    }

  private:
    TwiddleSpec spec_;
    double seconds_of_rank0_ = 0;
};

}  // namespace

std::unique_ptr<Step> make_twiddle_step(TwiddleSpec spec, const Machine& machine) {
    assert(spec.state.elem.complex);
    return std::make_unique<TwiddleStep>(std::move(spec), machine);
}

}  // namespace spanfft
