// Mini-butterflies on disk as a step of a plan; see pdm_step.hpp.
//
// Method on ranks, which are P1's processors: an index without its rank's bits is where the record lies in the rank's
// share, bit by bit. So the stages on bits below the rank's are a plain transform of neighbours. In a stage on a bit of
// the rank, partners send each other all that they have of a memoryload, and each computes its half. The stages on the
// bits above are a transform again, of points that lie a row apart, whose low bits L are those of the mini-butterfly
// and all bits below. Points arrive in bit-reversed order; each transform's own bits are reversed in memory first, so
// that permutations, and what they send, are P1's whatever an engine wants.
#include <algorithm>
#include <atomic>

#include "engine/engine.hpp"
#include "steps/tile_kernels.hpp"
#include "sweeps/pdm_support.hpp"

namespace spanfft {

namespace {

// The stages of a superlevel: on bits of an index that a rank has for itself, on those of its number, on those above.
struct Stages {
    int low = 0, ranks = 0, high = 0;
    Stages(const PdmSpec& spec, const Superlevel& level)
        : low(std::min(level.depth, level.band - spec.shape.p)),
          ranks(std::clamp(level.depth - (level.band - spec.shape.p), 0, spec.shape.p)),
          high(std::max(0, level.depth - level.band)) {}
};

index_t roots_n(const Superlevel& level) { return index_t{1} << (level.done + level.depth); }
index_t own_records(const PdmSpec& spec) { return spec.share().memory_records(); }  // of a memoryload
// Points that lie side by side and are worked on together: of a mini-butterfly, or of what a rank has of one.
index_t row_points(const PdmSpec& spec, const Superlevel& level) { return index_t{1} << Stages(spec, level).low; }
index_t rows_a_load(const PdmSpec& spec, const Superlevel& level) {
    return own_records(spec) / row_points(spec, level);
}

index_t factor_bytes(const PdmSpec& spec, const Superlevel& level) {
    return round_up(twiddle_elems(row_points(spec, level)) * spec.record_bytes, 4096);
}

// Of rows no longer than a chunk of factors, each point would need a root of its own. But a row's factors are w^(s i)
// for its points i, and neighbouring rows have neighbouring s: so with s = far + near, 0 <= near < 64 (in units of
// step_unit), they are products of w^(near i), in one table for all rows, and of w^(far i), made for 64 rows at a time.
// The table must be small beside a memoryload, so that no budget is too small for it.
index_t step_unit(const PdmSpec& spec, const Superlevel& level) {
    return index_t{1} << (level.depth - Stages(spec, level).low);
}
index_t near_factor_bytes(const PdmSpec& spec, const Superlevel& level) {
    const index_t points = row_points(spec, level);
    const index_t bytes = round_up(kTwiddleChunk * points * spec.record_bytes, 4096);
    return level.done > 0 && points <= kTwiddleChunk && 32 * bytes <= spec.load_bytes() ? bytes : 0;
}
bool has_short_rows(const PdmSpec& spec, const Superlevel& level) { return near_factor_bytes(spec, level) > 0; }

// As many tables of factors as rows are worked on at a time.
index_t factor_tables(const PdmSpec& spec, const Superlevel& level) {
    const Stages stages(spec, level);
    if (level.done + stages.ranks + stages.high == 0) return 0;
    return rows_a_load(spec, level) == 1 ? 1 : spec.threads;
}

// How often engines read or write a memoryload; and what else does, or reads both partners' and writes one: bit
// reversal, twiddles, stages between ranks.
index_t loads_of_engines(const PdmSpec& spec, const Superlevel& level) { return Stages(spec, level).high > 0 ? 4 : 2; }
index_t loads_moved(const PdmSpec& spec, const Superlevel& level) {
    const Stages stages(spec, level);
    return (level.reversed ? 2 : 0) + (level.done > 0 ? 2 : 0) + 3 * stages.ranks + (stages.high > 0 ? 2 : 0);
}
// Twiddle factors that are made in a sweep.
index_t factors_made(const PdmSpec& spec, const Superlevel& level) {
    const Stages stages(spec, level);
    const index_t points = spec.share().records();
    const index_t first = level.done == 0 ? 0 : has_short_rows(spec, level) ? points / kTwiddleChunk : points;
    return first + (stages.ranks + (stages.high > 0 ? 1 : 0)) * points;
}

// Transforms of all rows of a memoryload, as the engine does them.
LocalSpec load_spec(const PdmSpec& spec, const Superlevel& level) {
    const index_t points = row_points(spec, level), each = rows_a_load(spec, level);
    LocalSpec local;
    local.kernel = level.backward ? Kernel::c2c_backward : Kernel::c2c_forward;
    local.precision = level.precision;
    local.transform = {{points, 1, 1}};
    if (each > 1) local.batch = {{each, points, points}};
    local.in_place = true;
    local.threads = spec.threads;
    return local;
}

// Those on the bits above the rank's: points are a row apart.
LocalSpec high_spec(const PdmSpec& spec, const Superlevel& level) {
    const index_t row = row_points(spec, level), points = index_t{1} << Stages(spec, level).high,
                  each = rows_a_load(spec, level) / points;
    LocalSpec local = load_spec(spec, level);
    local.transform = {{points, row, row}};
    local.batch = {{row, 1, 1}};
    if (each > 1) local.batch.insert(local.batch.begin(), {each, row * points, row * points});
    return local;
}

// What P1's stages take out of order and engines don't: the bits of each transform.
BitMatrix reversal(const PdmSpec& spec, const Superlevel& level) {
    const Stages stages(spec, level);
    BitMatrix matrix = BitMatrix::bit_reversal(spec.share().m, stages.low);
    for (int i = 0; i < stages.high; ++i)
        matrix.set_column(stages.low + i, Word{1} << (stages.low + stages.high - 1 - i));
    return matrix;
}

template <class T>
class SuperlevelTask : public PdmTask {
  public:
    SuperlevelTask(const PdmSpec& spec, const Superlevel& level, int rank)
        : PdmTask(spec, rank), level_(level), stages_(spec, level) {}

    Status prepare(Binding& binding, const RateTable& rates) {
        SPANFFT_TRY(join(binding, [this] { return make_transfers(); }));
        const auto plan = [&](const LocalSpec& local, std::unique_ptr<CountedFft>& fft) -> Status {
            SPANFFT_ASSIGN(EngineChoice choice, plan_local(local, level_.engine, rates));
            binding.engine_ran(choice.engine);
            fft = std::move(choice.fft);
            return {};
        };
        SPANFFT_TRY(plan(load_spec(spec_, level_), fft_));
        if (stages_.high > 0) SPANFFT_TRY(plan(high_spec(spec_, level_), high_fft_));
        if (level_.reversed)
            reversal_ = std::make_unique<MemoryPermutation>(reversal(spec_, level_), spec_.record_bytes);
        const index_t tables = factor_tables(spec_, level_);
        if (tables == 0) return {};
        SPANFFT_ASSIGN(roots_, RootTable::make(roots_n(level_)));
        const index_t bytes = tables * factor_bytes(spec_, level_) + near_factor_bytes(spec_, level_);
        SPANFFT_ASSIGN(factors_, Buffer::allocate(static_cast<size_t>(bytes)));
        if (has_short_rows(spec_, level_)) make_near_factors();
        return {};
    }

    Status run(RunContext& context) override {
        counts_ = Counts();
        const LocalWork before = engines_done();
        moved_bytes_ = butterflies_ = 0;
        SPANFFT_TRY(sweep(level_.from, level_.to, context, *context.sweep,
                          [this](ParallelDisks& source, ParallelDisks& target, const SweepMeans& means) {
                              return transform(source, target, means);
                          }));
        const LocalWork work = engines_done() - before;
        counts_.flops = work.flops + 5.0 * static_cast<double>(butterflies_.load());
        counts_.memory_bytes = work.memory_bytes + moved_bytes_;
        return {};
    }

  private:
    using C = Pair<T>;

    Status make_transfers() {
        Status made;
        for (int i = 0; i < stages_.ranks; ++i) {
            const BytesPart all{0, spec_.load_bytes()};
            auto transfer = rounds_.comm().make_pairs({{rank_ ^ 1 << i, all, all}}, Pairing::nonblocking);
            keep_first(made, transfer.status());
            if (transfer.ok()) transfers_.push_back(std::move(transfer).value());
        }
        return made;
    }

    Status transform(ParallelDisks& source, ParallelDisks& target, const SweepMeans& means) {
        const PdmShape own = spec_.share();
        DiskSweep sweep;
        sweep.source = &source;
        sweep.target = &target;
        sweep.loads = own.memoryloads();
        sweep.blocks_per_load = own.blocks_per_load();
        sweep.source_block =
            sweep.target_block = [own](index_t load, index_t i) { return load * own.blocks_per_load() + i; };
        sweep.in_place = !level_.reversed;
        sweep.compute = [this](index_t load, char* in, char* out) {
            if (level_.reversed) moved_bytes_ += reversal_->scatter(0, in, out, team_->compute);
            return compute(load, reinterpret_cast<C*>(out), reinterpret_cast<C*>(in));
        };
        return run_sweep(sweep, means);
    }

    LocalWork engines_done() const {
        LocalWork work = fft_->done();
        if (high_fft_) {
            const LocalWork high = high_fft_->done();
            work.flops += high.flops;
            work.memory_bytes += high.memory_bytes;
        }
        return work;
    }

    C* factors(index_t table) const {
        return reinterpret_cast<C*>(factors_.as<char>() + table * factor_bytes(spec_, level_));
    }

    // Of what this rank has of a memoryload, from a row's first record on. Worked: p = 1, rows of 2^3 points, band 2^4,
    // rank 1: row 2 begins at record 16, whose index is 40: bit 3 is the rank's, and 16 has moved up.
    index_t index_of_row(index_t load, index_t row) const {
        const index_t place = load * own_records(spec_) + row * row_points(spec_, level_);
        if (spec_.ranks() == 1) return place;
        const int own = level_.band - spec_.shape.p;
        return (place & ((index_t{1} << own) - 1)) | index_t{rank_} << own | place >> own << level_.band;
    }
    // The bits of the output's index that are done, of the mini-butterfly that an index belongs to.
    index_t low_bits_of(index_t index) const {
        return index >> level_.depth >> (spec_.shape.n - level_.done - level_.depth);
    }

    // Makes the factors of each row and uses them: all threads share a single row, else each takes some.
    template <class Make, class Use>
    void each_row(const Make& make, const Use& use) {
        const index_t points = row_points(spec_, level_), rows = rows_a_load(spec_, level_);
        std::atomic<index_t> next{0};
        if (rows == 1) make(0, factors(0));
        const std::function<void(int)> job = [&](int member) {
            index_t bytes = 0;
            if (rows == 1) {
                constexpr index_t kPiece = index_t{1} << 14;
                for (index_t i = next.fetch_add(kPiece); i < points; i = next.fetch_add(kPiece))
                    bytes += use(factors(0), i, std::min(i + kPiece, points), i);
            }
            for (index_t row = next.fetch_add(1); rows > 1 && row < rows; row = next.fetch_add(1)) {
                make(row, factors(member));
                bytes += use(factors(member), 0, points, row * points);
            }
            moved_bytes_.fetch_add(bytes, std::memory_order_relaxed);
        };
        team_->compute.run(job);
    }

    // w^(first + step * i) for the points i of each row, w of the order of all that is done then.
    struct Exponent {
        index_t first = 0, step = 0;
    };
    template <class Of>
    void twiddle(C* data, long double scale, const Of& exponent_of_row) {
        each_row(
            [&](index_t row, C* to) {
                const Exponent e = exponent_of_row(row);
                make_twiddles(roots_, e.step, row_points(spec_, level_), level_.backward, scale, to, e.first);
            },
            [&](const C* factors, index_t begin, index_t end, index_t at) {
                return twiddle_rows_in_place(factors, begin, end, data + at);
            });
    }

    // What a row's factors w^(step i) are before the engines; their scale rides on them.
    index_t step_of_row(index_t load, index_t row) const {
        return low_bits_of(index_of_row(load, row)) * step_unit(spec_, level_);
    }
    long double factor_scale() const {
        return level_.done + level_.depth == spec_.shape.n ? level_.scale : 1.0L;  // of the last superlevel
    }
    C* near_factors() const { return factors(factor_tables(spec_, level_)); }
    void make_near_factors() {
        const index_t points = row_points(spec_, level_);
        const long double scale = factor_scale(), sign = level_.backward ? 1 : -1;
        for (index_t near = 0; near < kTwiddleChunk; ++near) {
            for (index_t i = 0; i < points; ++i) {
                const auto root = roots_.at(product_mod(near * step_unit(spec_, level_), i, roots_.n()));
                near_factors()[near * points + i] = {static_cast<T>(scale * root.re),
                                                     static_cast<T>(scale * sign * root.im)};
            }
        }
    }
    void twiddle_short_rows(index_t load, C* data) {
        const index_t points = row_points(spec_, level_), rows = rows_a_load(spec_, level_);
        const index_t unit = step_unit(spec_, level_);
        std::atomic<index_t> next{0};
        const std::function<void(int)> job = [&](int member) {
            C* const far_factors = factors(member);
            index_t made = -1, bytes = 0;
            const auto take = [&] { return next.fetch_add(kTwiddleChunk); };
            for (index_t begin = take(); begin < rows; begin = take()) {
                for (index_t row = begin; row < std::min(begin + kTwiddleChunk, rows); ++row) {
                    const index_t step = step_of_row(load, row), near = step / unit % kTwiddleChunk;
                    const index_t far = step - near * unit;
                    if (far != made) make_twiddles(roots_, far, points, level_.backward, 1.0L, far_factors);
                    made = far;
                    bytes +=
                        twiddle_row_in_place(near_factors() + near * points, far_factors, points, data + row * points);
                }
            }
            moved_bytes_.fetch_add(bytes, std::memory_order_relaxed);
        };
        team_->compute.run(job);
    }

    // `spare`: as much again, where points are reversed.
    Status compute(index_t load, C* data, C* spare) {
        const int n = level_.done + level_.depth;  // roots
        if (has_short_rows(spec_, level_)) {
            twiddle_short_rows(load, data);
        } else if (level_.done > 0) {
            twiddle(data, factor_scale(), [&](index_t row) { return Exponent{0, step_of_row(load, row)}; });
        }
        fft_->execute(data, data);
        for (int i = 0; i < stages_.ranks; ++i) {
            const Rounds::Move move{transfers_[static_cast<size_t>(i)].get(), data, spare};
            SPANFFT_TRY(rounds_.round({&move, 1}));
            butterflies(load, i, data, spare);
        }
        if (stages_.high == 0) return {};
        // Element x of a column has the factor w^(x L), L the low bits and what the stages so far have made of a
        // column.
        twiddle(data, 1.0L, [&](index_t row) {
            const index_t x = row & ((index_t{1} << stages_.high) - 1), order = index_t{1} << n;
            const index_t low = low_bits_of(index_of_row(load, row)) + (index_t{rank_} << (level_.done + stages_.low));
            return Exponent{product_mod(x, low, order), product_mod(x, index_t{1} << level_.done, order)};
        });
        high_fft_->execute(data, data);
        return {};
    }

    // The stage on bit i of the rank: the partner's records are in `other`.
    void butterflies(index_t load, int i, C* data, const C* other) {
        const bool multiplied = (rank_ >> i & 1) != 0;
        const int behind = level_.depth - stages_.low - i - 1;  // stages that are left
        const index_t below = rank_ & ((index_t{1} << i) - 1);
        each_row(
            [&](index_t row, C* to) {
                const index_t low = low_bits_of(index_of_row(load, row)) + (below << (level_.done + stages_.low));
                make_twiddles(roots_, index_t{1} << (level_.done + behind), row_points(spec_, level_), level_.backward,
                              1.0L, to, low << behind);
            },
            [&](const C* factors, index_t begin, index_t end, index_t at) {
                butterflies_.fetch_add(end - begin, std::memory_order_relaxed);
                return butterfly_rows(factors, begin, end, multiplied, other + at, data + at);
            });
    }

    const Superlevel level_;
    const Stages stages_;
    std::unique_ptr<CountedFft> fft_, high_fft_;
    std::unique_ptr<MemoryPermutation> reversal_;
    std::vector<std::unique_ptr<Transfer>> transfers_;  // of each bit of the rank
    RootTable roots_;
    Buffer factors_;
    std::atomic<index_t> moved_bytes_{0}, butterflies_{0};  // through memory, by loops; points of stages between ranks
};

class SuperlevelStep : public Step {
  public:
    SuperlevelStep(const PdmSpec& spec, Superlevel level, Machine machine)
        : spec_(spec), level_(std::move(level)), machine_(std::move(machine)) {}
    const char* type() const override { return "Sweep"; }
    std::string describe() const override {
        const Stages stages(spec_, level_);
        const index_t butterflies = index_t{1} << (spec_.shape.n - level_.depth);
        return cat("superlevel of ", butterflies, " mini-butterflies of ", index_t{1} << level_.depth, " points",
                   level_.done > 0 ? ", twiddle" : "", ": ", spec_.shape.memoryloads(), " memoryloads, ",
                   place_name(level_.from.place), " to ", place_name(level_.to.place),
                   stages.ranks > 0
                       ? cat(", ", stages.ranks, stages.ranks == 1 ? " stage" : " stages", " between ranks")
                       : std::string());
    }
    Counts price(int /*rank*/) const override {
        const Stages stages(spec_, level_);
        const index_t points = spec_.share().records(), moved = loads_moved(spec_, level_) * spec_.array_bytes();
        Counts counts = pdm_predicted(spec_);
        counts.parallel_ios = 2 * spec_.shape.stripes();
        counts.memory_bytes = loads_of_engines(spec_, level_) * spec_.array_bytes() + moved;
        counts.flops = 5.0 * static_cast<double>(points) * level_.depth;
        counts.messages = spec_.shape.memoryloads() * stages.ranks;
        counts.sent_bytes = counts.messages * spec_.load_bytes();
        counts.calls = 2 * counts.messages;
        double engines = outline_local(load_spec(spec_, level_), level_.engine, machine_.engine_rates);
        if (stages.high > 0) engines += outline_local(high_spec(spec_, level_), level_.engine, machine_.engine_rates);
        engines *= static_cast<double>(spec_.shape.memoryloads());
        const double wire = counts.messages > 0 ? pdm_wire_seconds(spec_, counts, machine_) : 0;
        const PdmWork work{engines + wire, moved, factors_made(spec_, level_)};
        counts.seconds = pdm_seconds(spec_, level_.from, level_.to, work, machine_);
        return counts;
    }
    index_t own_memory_bytes(int) const override { return superlevel_own_bytes(spec_, level_); }
    std::vector<int> group(int /*rank*/) const override { return Rounds::everyone(spec_.ranks()); }
    std::vector<SweepOutline> sweep_outlines(int /*rank*/) const override {
        const PdmShape own = spec_.share();
        const auto load_of = [shift = own.m - own.b](index_t block) { return block >> shift; };
        return {pdm_outline(spec_, level_.from, level_.to, Stages(spec_, level_).ranks > 0, load_of, load_of)};
    }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        return with_real(level_.precision, [&](auto real) -> Result<std::unique_ptr<Task>> {
            auto task = std::make_unique<SuperlevelTask<decltype(real)>>(spec_, level_, binding.comm.rank());
            SPANFFT_TRY(task->prepare(binding, machine_.engine_rates));
            return std::unique_ptr<Task>(std::move(task));
        });
    }

  private:
    PdmSpec spec_;
    Superlevel level_;
    Machine machine_;
};

}  // namespace

index_t superlevel_own_bytes(const PdmSpec& spec, const Superlevel& level) {
    const index_t tables = factor_tables(spec, level);
    if (tables == 0) return 0;
    return RootTable::bytes(roots_n(level)) + tables * factor_bytes(spec, level) + near_factor_bytes(spec, level);
}

std::unique_ptr<Step> make_superlevel_step(const PdmSpec& spec, Superlevel level, Machine machine) {
    return std::make_unique<SuperlevelStep>(spec, std::move(level), std::move(machine));
}

}  // namespace spanfft
