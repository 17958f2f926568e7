// Twiddle factors as a plan step; see twiddle_step.hpp.
#include "plan/steps/twiddle_step.hpp"

#include <algorithm>
#include <cassert>

#include "core/buffer.hpp"
#include "plan/passes/pass_kernels.hpp"

namespace spanfft {

namespace {

// A pair whose factors are not all 1 on a rank: s > 0 and more than one value of k.
struct Active {
    TwiddlePair pair;
    index_t n = 1;  // of the axis that the pair is
    index_t s = 0;
};

// In the order of `rest`, slowest first.
std::vector<Active> active_pairs(const TwiddleSpec& spec, int rank) {
    const Patch patch = spec.state.layout.patch(rank);
    const Extents& shape = spec.state.layout.shape();
    std::vector<Active> active;
    if (patch_elems(patch) == 0) return active;
    for (const TwiddlePair& pair : spec.pairs) {
        const auto part = static_cast<size_t>(pair.part), rest = static_cast<size_t>(pair.rest);
        assert(patch[part].count == 1 && patch[rest].count == shape[rest]);
        if (patch[part].start > 0 && shape[rest] > 1)
            active.push_back({pair, shape[part] * shape[rest], patch[part].start});
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

// One level of the loops over a local array: `outer` blocks of `points` of `inner` elements.
struct Level {
    index_t s = 0, n = 1;
    index_t outer = 1, points = 1, inner = 1;
    RootTable roots;
};

template <class T>
class Sweep {
  public:
    Sweep(const std::vector<Level>& levels, bool backward, long double scale)
        : levels_(levels), sign_(backward ? 1 : -1), scale_(scale) {
        const Level& last = levels_.back();
        for (index_t k = 0; k < std::min(kTwiddleChunk, last.points); ++k) fine_[k] = rounded(root(last, k));
    }
    // Returns how many elements it multiplied.
    index_t run(void* data) const { return walk(0, static_cast<Pair<T>*>(data), {scale_, 0}); }

  private:
    static Pair<T> rounded(const Pair<long double>& x) { return {static_cast<T>(x.re), static_cast<T>(x.im)}; }

    // w_n^(s k)
    Pair<long double> root(const Level& level, index_t k) const {
        const Pair<long double> r = level.roots.at(product_mod(level.s, k, level.n));
        return {r.re, sign_ * r.im};
    }

    index_t walk(size_t depth, Pair<T>* x, const Pair<long double>& factor) const {
        const Level& level = levels_[depth];
        const bool last = depth + 1 == levels_.size();
        index_t done = 0;
        for (index_t block = 0; block < level.outer; ++block, x += level.points * level.inner) {
            if (last) {
                done += line(level, x, factor);
                continue;
            }
            for (index_t k = 0; k < level.points; ++k)
                done += walk(depth + 1, x + k * level.inner, multiply(factor, root(level, k)));
        }
        return done;
    }

    index_t line(const Level& level, Pair<T>* x, const Pair<long double>& factor) const {
        index_t done = 0;
        for (index_t first = 0; first < level.points; first += kTwiddleChunk) {
            const Pair<T> chunk = rounded(multiply(factor, root(level, first)));
            const index_t count = std::min(kTwiddleChunk, level.points - first);
            Pair<T>* at = x + first * level.inner;
            done += count * level.inner;
            if (level.inner == 1) {
                for (index_t k = 0; k < count; ++k) at[k] = multiply(at[k], multiply(chunk, fine_[k]));
                continue;
            }
            for (index_t k = 0; k < count; ++k, at += level.inner) {
                const Pair<T> w = multiply(chunk, fine_[k]);
                for (index_t i = 0; i < level.inner; ++i) at[i] = multiply(at[i], w);
            }
        }
        return done;
    }

    const std::vector<Level>& levels_;
    long double sign_, scale_;
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
    TwiddleTask(TwiddleSpec spec, int rank, std::vector<Level> levels)
        : spec_(std::move(spec)), elems_(spec_.state.layout.local_elems(rank)), levels_(std::move(levels)) {}

    Status run(RunContext& context) override {
        counts_ = Counts();
        if (elems_ == 0 || (levels_.empty() && spec_.scale == 1)) return Status();
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
        const index_t done = levels_.empty()
                                 ? scale_all<T>(data, elems_, spec_.scale)
                                 : Sweep<T>(levels_, spec_.direction == Direction::backward, spec_.scale).run(data);
        counts_.flops = static_cast<double>(done) * (levels_.empty() ? 2 : 6);
        counts_.memory_bytes = 2 * done * static_cast<index_t>(sizeof(Pair<T>));
    }

    TwiddleSpec spec_;
    index_t elems_;
    std::vector<Level> levels_;
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

    Counts predict(int rank) const override {
        Counts counts = predicted_counts(spec_, rank);
        counts.seconds = seconds_of_rank0_;
        return counts;
    }
    index_t own_memory_bytes(int rank) const override { return table_bytes(spec_, rank); }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        const int rank = binding.comm.rank();
        const Extents local = patch_shape(spec_.state.layout.patch(rank));
        std::vector<Level> levels;
        int done = 0;  // axes before this one are in the levels so far
        for (const Active& active : active_pairs(spec_, rank)) {
            Level level;
            level.s = active.s;
            level.n = active.n;
            level.outer = product(local, done, active.pair.rest);
            level.points = local[static_cast<size_t>(active.pair.rest)];
            done = active.pair.rest + 1;
            level.inner = product(local, done, static_cast<int>(local.size()));
            SPANFFT_ASSIGN(level.roots, RootTable::make(active.n));
            levels.push_back(std::move(level));
        }
        return std::unique_ptr<Task>(new TwiddleTask(spec_, rank, std::move(levels)));
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
