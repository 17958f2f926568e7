// Mini-butterflies on disk as a step of a plan; see pdm_step.hpp.
#include <atomic>

#include "engine/engine.hpp"
#include "steps/pass_kernels.hpp"
#include "sweeps/pdm_step.hpp"
#include "sweeps/pdm_support.hpp"
#include "sweeps/sweep_hooks.hpp"

namespace spanfft {

namespace {

index_t butterfly_records(const Superlevel& level) { return index_t{1} << level.depth; }
index_t roots_n(const Superlevel& level) { return index_t{1} << (level.done + level.depth); }
index_t factor_bytes(const PdmSpec& spec, const Superlevel& level) {
    return round_up(twiddle_elems(butterfly_records(level)) * spec.record_bytes(), 4096);
}

// As many tables of factors as mini-butterflies are worked on at a time.
index_t factor_tables(const PdmSpec& spec, const Superlevel& level) {
    return level.done == 0 ? 0 : level.depth == spec.shape.m ? 1 : spec.threads;
}

double butterfly_flops(const Superlevel& level) {
    return 5.0 * static_cast<double>(butterfly_records(level)) * level.depth;
}

// What reads and writes a memoryload where it lies: the engine, and the twiddles before it.
index_t loads_swept(const Superlevel& level) { return level.done > 0 ? 2 : 1; }

// The mini-butterflies of a memoryload, as the engine does them.
LocalSpec load_spec(const PdmSpec& spec, const Superlevel& level) {
    const index_t points = butterfly_records(level), each = spec.shape.memory_records() / points;
    LocalSpec local;
    local.kernel = level.backward ? Kernel::c2c_backward : Kernel::c2c_forward;
    local.precision = spec.precision;
    local.transform = {{points, 1, 1}};
    if (each > 1) local.batch = {{each, points, points}};
    local.in_place = true;
    local.threads = spec.threads;
    return local;
}

template <class T>
class SuperlevelTask : public Task {
  public:
    SuperlevelTask(const PdmSpec& spec, const Superlevel& level, std::shared_ptr<PassTeam> team)
        : spec_(spec), level_(level), team_(std::move(team)) {}

    Status prepare(Binding& binding, const RateTable& rates) {
        SPANFFT_ASSIGN(EngineChoice choice, plan_local(load_spec(spec_, level_), level_.engine, rates));
        binding.engine_ran(choice.engine);
        fft_ = std::move(choice.fft);
        if (level_.done == 0) return {};
        SPANFFT_ASSIGN(roots_, RootTable::make(roots_n(level_)));
        SPANFFT_ASSIGN(factors_, Buffer::allocate(
                                     static_cast<size_t>(factor_tables(spec_, level_) * factor_bytes(spec_, level_))));
        return {};
    }

    Status run(RunContext& context) override {
        counts_ = Counts();
        SPANFFT_TRY(check_pdm_context(context, level_.from, level_.to));
        const PassSweep* const with = context.sweep;
        if (with && with->done()) return {};
        ParallelDisks source = pdm_disks(spec_, level_.from, context), target = pdm_disks(spec_, level_.to, context);
        DiskSweep sweep;
        sweep.source = &source;
        sweep.target = &target;
        sweep.first_load = with ? with->logged.first_panel : 0;
        sweep.dress = pdm_dress(with, team_->compute);
        sweep.loads = spec_.shape.memoryloads();
        sweep.blocks_per_load = spec_.shape.blocks_per_load();
        sweep.source_block =
            sweep.target_block = [this](index_t load, index_t i) { return load * spec_.shape.blocks_per_load() + i; };
        sweep.in_place = true;
        sweep.compute = [this](index_t load, char* in, char*) {
            compute(load, reinterpret_cast<C*>(in));
            return Status();
        };
        sweep.memory = static_cast<char*>(context.at(Slot::work0));
        sweep.mode = spec_.mode;
        sweep.trace = context.trace;
        if (context.progress) sweep.progress = [&context](index_t bytes) { return context.advance(bytes); };
        const LocalWork before = fft_->done();
        twiddled_bytes_ = 0;
        SPANFFT_TRY(run_logged(with, [&] { return run_sweep(sweep, team_->pipeline); }));
        const LocalWork work = fft_->done() - before;
        counts_ = pdm_counted(source, target);
        counts_.flops = work.flops;
        counts_.memory_bytes = work.memory_bytes + twiddled_bytes_;
        return {};
    }
    Counts counted() const override { return counts_; }

  private:
    using C = Pair<T>;

    C* factors(index_t table) const {
        return reinterpret_cast<C*>(factors_.as<char>() + table * factor_bytes(spec_, level_));
    }
    // The twiddles of mini-butterfly g: w^(jL) for inputs j.
    void make(index_t g, C* to) const {
        const index_t low = g >> (spec_.shape.n - level_.done - level_.depth);
        const bool last = level_.done + level_.depth == spec_.shape.n;
        make_twiddles(roots_, low, butterfly_records(level_), level_.backward, last ? level_.scale : 1.0L, to);
    }

    void compute(index_t load, C* data) {
        const index_t points = butterfly_records(level_), each = spec_.shape.memory_records() / points;
        const index_t first = load * each;
        if (level_.done > 0) {
            std::atomic<index_t> next{0};
            if (each == 1) make(first, factors(0));
            const std::function<void(int)> job = [&](int member) {
                index_t bytes = 0;
                if (each == 1) {  // all threads share one: each takes pieces of it
                    constexpr index_t kPiece = index_t{1} << 14;
                    for (index_t i = next.fetch_add(kPiece); i < points; i = next.fetch_add(kPiece))
                        bytes += twiddle_rows_in_place(factors(0), i, std::min(i + kPiece, points), data + i);
                }
                for (index_t j = next.fetch_add(1); each > 1 && j < each; j = next.fetch_add(1)) {
                    make(first + j, factors(member));
                    bytes += twiddle_rows_in_place(factors(member), 0, points, data + j * points);
                }
                twiddled_bytes_.fetch_add(bytes, std::memory_order_relaxed);
            };
            team_->compute.run(job);
        }
        fft_->execute(data, data);
    }

    const PdmSpec spec_;
    const Superlevel level_;
    std::shared_ptr<PassTeam> team_;
    std::unique_ptr<CountedFft> fft_;
    RootTable roots_;
    Buffer factors_;
    std::atomic<index_t> twiddled_bytes_{0};
    Counts counts_;
};

template <class T>
Result<std::unique_ptr<Task>> make_task(const PdmSpec& spec, const Superlevel& level, const RateTable& rates,
                                        Binding& binding) {
    auto task = std::make_unique<SuperlevelTask<T>>(spec, level, binding.pass_team);
    SPANFFT_TRY(task->prepare(binding, rates));
    return std::unique_ptr<Task>(std::move(task));
}

class SuperlevelStep : public Step, public SweptStep {
  public:
    SuperlevelStep(const PdmSpec& spec, Superlevel level, Machine machine)
        : spec_(spec), level_(std::move(level)), machine_(std::move(machine)) {}
    const char* type() const override { return "Pass"; }
    std::string describe() const override {
        const index_t butterflies = index_t{1} << (spec_.shape.n - level_.depth);
        return cat("superlevel of ", butterflies, " mini-butterflies of ", butterfly_records(level_), " points",
                   level_.done > 0 ? ", twiddle" : "", ": ", spec_.shape.memoryloads(), " memoryloads, ",
                   pdm_place_name(level_.from), " to ", pdm_place_name(level_.to));
    }
    Counts predict(int /*rank*/) const override {
        Counts counts = pdm_predicted(spec_, level_.from, level_.to, machine_);
        counts.parallel_ios = 2 * spec_.shape.stripes();
        counts.memory_bytes = loads_swept(level_) * 2 * spec_.array_bytes();
        counts.flops = butterfly_flops(level_) * static_cast<double>(index_t{1} << (spec_.shape.n - level_.depth));
        const double compute = static_cast<double>(spec_.shape.memoryloads()) *
                               outline_local(load_spec(spec_, level_), level_.engine, machine_.engine_rates);
        counts.seconds =
            spec_.mode == IoMode::asynchronous ? std::max(counts.seconds, compute) : counts.seconds + compute;
        return counts;
    }
    index_t own_memory_bytes(int) const override { return superlevel_own_bytes(spec_, level_); }
    std::vector<SweepShape> sweep_shapes() const override {
        const auto load_of = [shift = spec_.shape.m - spec_.shape.b](index_t block) { return block >> shift; };
        return {pdm_shape(spec_, level_.from, level_.to, load_of, load_of)};
    }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        if (!binding.pass_team) {
            SPANFFT_ASSIGN(binding.pass_team, make_pass_team(spec_.threads, binding.io));
        }
        SPANFFT_TRY(binding.pass_team->pipeline.started());
        return with_real(spec_.precision, [&](auto real) {
            return make_task<decltype(real)>(spec_, level_, machine_.engine_rates, binding);
        });
    }

  private:
    PdmSpec spec_;
    Superlevel level_;
    Machine machine_;
};

}  // namespace

index_t superlevel_own_bytes(const PdmSpec& spec, const Superlevel& level) {
    if (level.done == 0) return 0;
    return RootTable::bytes(roots_n(level)) + factor_tables(spec, level) * factor_bytes(spec, level);
}

std::unique_ptr<Step> make_superlevel_step(const PdmSpec& spec, Superlevel level, Machine machine) {
    return std::make_unique<SuperlevelStep>(spec, std::move(level), std::move(machine));
}

}  // namespace spanfft
