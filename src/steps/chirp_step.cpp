// A line as a convolution; see chirp_step.hpp.
#include "steps/chirp_step.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "core/buffer.hpp"
#include "core/shared_team.hpp"
#include "steps/chirp.hpp"
#include "steps/chirp_filter.hpp"
#include "steps/tile_kernels.hpp"

namespace spanfft {

namespace {

constexpr index_t kSide = 32;
constexpr index_t kChunk = kSide * kSide;  // points at a time, in the first-level cache

const char* name_of(Chirping chirping) {
    switch (chirping) {
        case Chirping::in:
            return "ChirpIn";
        case Chirping::pad:
            return "Pad";
        case Chirping::filter:
            return "Filter";
        default:
            return "ChirpOut";
    }
}

index_t complex_bytes(const ChirpSpec& spec) {
    return static_cast<index_t>(ElemType{spec.from.elem.precision, true}.bytes());
}

// One array of a rank: its points on either side, and the first one's index in the line.
struct Points {
    index_t from = 0, to = 0, first = 0;
};

Points points_of(const ChirpSpec& spec, int rank) {
    Points points{spec.from.layout.local_elems(rank) / spec.batch, spec.to.layout.local_elems(rank) / spec.batch};
    const Layout& layout = spec.chirping == Chirping::in ? spec.to.layout : spec.from.layout;
    const Patch patch = layout.patch(rank);
    const bool as_line = spec.from.layout.ndim() == spec.to.layout.ndim();  // which begins anywhere; else as whole rows
    points.first = as_line ? patch.back().start : patch[patch.size() - 2].start * layout.shape().back();
    return points;
}

Counts predicted_counts(const ChirpSpec& spec, int rank) {
    const Points points = points_of(spec, rank);
    const auto from_bytes = static_cast<index_t>(spec.from.elem.bytes()),
               to_bytes = static_cast<index_t>(spec.to.elem.bytes());
    Counts counts;
    const index_t read = std::min(points.from, points.to);
    counts.memory_bytes = spec.batch * (read * from_bytes + points.to * to_bytes);
    if (spec.chirping == Chirping::pad) return counts;
    if (spec.chirping == Chirping::filter) counts.memory_bytes += spec.batch * points.to * to_bytes;
    counts.flops = 6 * static_cast<double>(spec.batch * read);
    return counts;
}

// The filter's rows that go with a rank's rows of the matrix.
ChirpFilterForm filter_form(const ChirpSpec& spec, int rank) {
    const Patch patch = spec.from.layout.patch(rank);
    const Extents& shape = spec.from.layout.shape();
    return {
        spec.kernel, spec.n, shape[shape.size() - 2], shape.back(), patch[patch.size() - 2], spec.from.elem.precision};
}

// --- the factors ---------------------------------------------------------------------------------------------------

// The factor of point i + r, r = 32 a + b, of points from i on; see ChirpRun.
template <class T>
struct FactorParts {
    std::array<Pair<T>, kSide> high, low;  // by a, by b
    const std::array<Pair<T>, kChunk>* squares = nullptr;
    Pair<T> factor(index_t a, index_t b) const {
        const Pair<T>& square = (*squares)[static_cast<size_t>(kSide * a + b)];
        return multiply(high[static_cast<size_t>(a)], multiply(low[static_cast<size_t>(b)], square));
    }
};

// to[r] = from[r] times its factor, of `count` points up to a chunk; from real numbers too.
template <class T, class From>
inline void multiply_chunk(const FactorParts<T>& parts, const From* __restrict from, index_t count,
                           Pair<T>* __restrict to) {
    for (index_t a = 0; a * kSide < count; ++a) {
        const index_t width = std::min(kSide, count - a * kSide);
        for (index_t b = 0; b < width; ++b) {
            const Pair<T> factor = parts.factor(a, b);
            if constexpr (std::is_same_v<From, T>)
                to[a * kSide + b] = {from[a * kSide + b] * factor.re, from[a * kSide + b] * factor.im};
            else
                to[a * kSide + b] = multiply(from[a * kSide + b], factor);
        }
    }
}
#define SPANFFT_MULTIPLY_CHUNK(T, From)                                                                     \
    SPANFFT_CLONES __attribute__((flatten)) void chirp_chunk(const FactorParts<T>& parts, const From* from, \
                                                             index_t count, Pair<T>* to) {                  \
        multiply_chunk<T, From>(parts, from, count, to);                                                    \
    }
SPANFFT_MULTIPLY_CHUNK(float, float)
SPANFFT_MULTIPLY_CHUNK(float, Pair<float>)
SPANFFT_MULTIPLY_CHUNK(double, double)
SPANFFT_MULTIPLY_CHUNK(double, Pair<double>)
#undef SPANFFT_MULTIPLY_CHUNK
template <class From>
void chirp_chunk(const FactorParts<long double>& parts, const From* from, index_t count, Pair<long double>* to) {
    multiply_chunk<long double, From>(parts, from, count, to);
}

// Of a run of points. With E(i) = q i^2 + s i + t, which chirp.hpp has for the exponent of point i, and r = 32 a + b,
//     E(i + r) = [E(i) + 32 (2 q i + s) a] + [(2 q i + s) b] + [q r^2],
// so 1024 factors are products of 32 and 32 roots that are made for them and of 1024 that are always the same, each
// rounded once. A root from the table takes ten times as long as such a product.
template <class T>
class ChirpRun {
  public:
    // Of so many points of the line's input, or of its output, whose factors carry the scale.
    ChirpRun(const Chirp& chirp, const RootTable& roots, bool in, index_t points, long double scale)
        : roots_(roots),
          order_(chirp.order()),
          square_(chirp.square),
          slope_(in ? chirp.a : chirp.b),
          constant_(in ? 0 : chirp.c),
          sign_(chirp.backward ? 1 : -1),
          scale_(scale) {
        for (index_t r = 0; r < std::min(kChunk, points); ++r)
            squares_[static_cast<size_t>(r)] = rounded(square_ * r * r % order_);
    }

    // Of points first, first + 1, ..., first + kChunk - 1.
    FactorParts<T> parts_from(index_t first) const {
        const index_t i = first % order_, slope = (product_mod(2 * square_, i, order_) + slope_) % order_;
        const index_t ii = product_mod(square_, product_mod(i, i, order_), order_);
        const index_t start = (ii + product_mod(slope_, i, order_) + constant_) % order_;
        FactorParts<T> parts;
        parts.squares = &squares_;
        for (index_t j = 0; j < kSide; ++j) {
            parts.low[static_cast<size_t>(j)] = rounded(product_mod(slope, j, order_));
            parts.high[static_cast<size_t>(j)] =
                rounded((start + product_mod(slope, kSide * j, order_)) % order_, scale_);
        }
        return parts;
    }

  private:
    Pair<T> rounded(index_t exponent, long double scale = 1) const {
        const Pair<long double> root = roots_.at(exponent);
        return {static_cast<T>(scale * root.re), static_cast<T>(scale * sign_ * root.im)};
    }

    const RootTable& roots_;
    const index_t order_, square_, slope_, constant_;
    const long double sign_, scale_;
    std::array<Pair<T>, kChunk> squares_;
};

// --- running ---------------------------------------------------------------------------------------------------------

class ChirpTask final : public Task {
  public:
    ChirpTask(ChirpSpec spec, int rank, RootTable roots, Buffer filter)
        : spec_(std::move(spec)),
          points_(points_of(spec_, rank)),
          chirp_(make_chirp(spec_.kernel, spec_.n)),
          roots_(std::move(roots)),
          filter_(std::move(filter)) {
        team_ = SharedTeam::of(spec_.threads, points_.to * complex_bytes(spec_));
        members_.resize(static_cast<size_t>(team_ ? team_->size() : 1));
    }

    Status run(RunContext& context) override {
        const TraceScope scope(context.trace, "chirp", TraceCategory::compute);
        std::fill(members_.begin(), members_.end(), Counts());
        switch (spec_.from.elem.precision) {
            case Precision::single:
                run_arrays<float>(context);
                break;
            case Precision::dbl:
                run_arrays<double>(context);
                break;
            case Precision::extended:
                run_arrays<long double>(context);
                break;
        }
        counts_ = Counts();
        for (const Counts& counts : members_) counts_ += counts;
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    template <class T>
    void run_arrays(RunContext& context) {
        const auto from_bytes = static_cast<index_t>(spec_.from.elem.bytes()),
                   to_bytes = static_cast<index_t>(spec_.to.elem.bytes());
        const auto* source = static_cast<const char*>(context.at(spec_.source));
        auto* target = static_cast<char*>(context.at(spec_.target));
        for (index_t i = 0; i < spec_.batch; ++i) {
            run_array<T>(source, target);
            if (source) source += points_.from * from_bytes;
            if (target) target += points_.to * to_bytes;
        }
    }

    template <class T>
    void run_array(const char* source, char* target) {
        auto* to = reinterpret_cast<Pair<T>*>(target);
        const auto* from = reinterpret_cast<const Pair<T>*>(source);
        switch (spec_.chirping) {
            case Chirping::in: {
                const ChirpRun<T> run(chirp_, roots_, true, points_.to, 1);
                return share_chunks([&](index_t i, index_t, Counts& done) { chirp_in(run, source, to, i, done); });
            }
            case Chirping::pad:
                return pad(from, to);
            case Chirping::filter:
                return share_chunks([&](index_t i, index_t count, Counts& done) {
                    done.memory_bytes += multiply_rows(to + i, filter_.as<Pair<T>>() + i, count, to + i);
                    done.flops += 6 * static_cast<double>(count);
                });
            case Chirping::out: {
                const ChirpRun<T> run(chirp_, roots_, false, points_.to, spec_.scale);
                return share_chunks([&](index_t i, index_t, Counts& done) { chirp_out(run, from, target, i, done); });
            }
        }
    }

    // The points of the target in chunks, by the threads: chunk(first point, how many, the thread's counts).
    template <class Chunk>
    void share_chunks(const Chunk& chunk) {
        const index_t chunks = ceil_div(points_.to, kChunk), members = static_cast<index_t>(members_.size());
        const auto share = [&](index_t member) {
            for (index_t c = chunks * member / members; c < chunks * (member + 1) / members; ++c)
                chunk(c * kChunk, std::min(kChunk, points_.to - c * kChunk), members_[static_cast<size_t>(member)]);
        };
        team_ ? team_->run([&](int member) { share(member); }) : share(0);
    }

    // Points i and on of an array, as many as a chunk has.
    template <class T>
    void chirp_in(const ChirpRun<T>& run, const char* source, Pair<T>* to, index_t i, Counts& done) const {
        const index_t count = std::min(kChunk, points_.to - i), given = std::clamp<index_t>(points_.from - i, 0, count);
        if (given > 0) {
            const FactorParts<T> parts = run.parts_from(points_.first + i);
            if (spec_.from.elem.complex)
                chirp_chunk(parts, reinterpret_cast<const Pair<T>*>(source) + i, given, to + i);
            else
                chirp_chunk(parts, reinterpret_cast<const T*>(source) + i, given, to + i);
            if (chirp_.first_weight != 1 || chirp_.weight != 1 || chirp_.last_weight != 1) {
                for (index_t r = 0; r < given; ++r) {
                    const auto weight = static_cast<T>(chirp_.weight_of(points_.first + i + r));
                    to[i + r] = {weight * to[i + r].re, weight * to[i + r].im};
                }
            }
        }
        std::fill(to + i + given, to + i + count, Pair<T>{0, 0});
        done.flops += 6 * static_cast<double>(given);
        done.memory_bytes +=
            given * static_cast<index_t>(spec_.from.elem.bytes()) + count * static_cast<index_t>(sizeof(Pair<T>));
    }

    template <class T>
    void pad(const Pair<T>* from, Pair<T>* to) {
        const index_t kept = std::min(points_.from, points_.to);
        std::copy_n(from, kept, to);
        std::fill(to + kept, to + points_.to, Pair<T>{0, 0});
        members_[0].memory_bytes += (kept + points_.to) * static_cast<index_t>(sizeof(Pair<T>));
    }

    template <class T>
    void chirp_out(const ChirpRun<T>& run, const Pair<T>* from, char* target, index_t i, Counts& done) const {
        const index_t count = std::min(kChunk, points_.to - i);
        const FactorParts<T> parts = run.parts_from(points_.first + i);
        std::array<Pair<T>, kChunk> products;
        auto* const complexes = reinterpret_cast<Pair<T>*>(target) + i;
        Pair<T>* const to = spec_.to.elem.complex ? complexes : products.data();
        chirp_chunk(parts, from + i, count, to);
        if (!spec_.to.elem.complex) {
            auto* const reals = reinterpret_cast<T*>(target) + i;
            for (index_t r = 0; r < count; ++r) reals[r] = to[r].re;
        }
        done.flops += 6 * static_cast<double>(count);
        done.memory_bytes +=
            count * static_cast<index_t>(sizeof(Pair<T>)) + count * static_cast<index_t>(spec_.to.elem.bytes());
    }

    ChirpSpec spec_;
    Points points_;
    Chirp chirp_;
    RootTable roots_;                   // of in and out
    Buffer filter_;                     // of filter: its spectrum
    std::unique_ptr<SharedTeam> team_;  // nullptr: this thread alone
    std::vector<Counts> members_;       // of each thread
    Counts counts_;
};

class ChirpStep final : public Step {
  public:
    ChirpStep(ChirpSpec spec, const Machine& machine)
        : spec_(std::move(spec)), bytes_per_second_(machine.memory_bytes_per_second) {}
    const char* type() const override { return name_of(spec_.chirping); }

    std::string describe() const override {
        const std::string slots = cat(slot_name(spec_.source), " -> ", slot_name(spec_.target));
        if (spec_.chirping == Chirping::filter)
            return cat("times the spectrum of the chirp of ", spec_.n, " points, ", spec_.from.layout.describe(), " ",
                       slot_name(spec_.source));
        return cat(kernel_name(spec_.kernel), " of ", spec_.n, " points, ", spec_.from.layout.describe(), " -> ",
                   spec_.to.layout.describe(), spec_.scale != 1 ? ", scaled, " : ", ", slots);
    }

    Counts price(int rank) const override {
        Counts counts = predicted_counts(spec_, rank);
        counts.seconds = static_cast<double>(counts.memory_bytes) / 2 / bytes_per_second_;
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        if (spec_.chirping == Chirping::pad) return 0;
        if (spec_.chirping == Chirping::filter) return chirp_filter_bytes(filter_form(spec_, rank));
        return RootTable::bytes(make_chirp(spec_.kernel, spec_.n).order());
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        RootTable roots;
        Buffer filter;
        if (spec_.chirping == Chirping::filter) {
            SPANFFT_ASSIGN(
                filter, make_chirp_filter(filter_form(spec_, binding.comm.rank()), spec_.engine, spec_.rates, binding));
        } else if (spec_.chirping != Chirping::pad) {
            SPANFFT_ASSIGN(roots, RootTable::make(make_chirp(spec_.kernel, spec_.n).order()));
        }
        return std::unique_ptr<Task>(new ChirpTask(spec_, binding.comm.rank(), std::move(roots), std::move(filter)));
    }

  private:
    ChirpSpec spec_;
    double bytes_per_second_;
};

}  // namespace

std::unique_ptr<Step> make_chirp_step(ChirpSpec spec, const Machine& machine) {
    assert((spec.chirping == Chirping::filter) == (spec.source == spec.target));
    return std::make_unique<ChirpStep>(std::move(spec), machine);
}

}  // namespace spanfft
