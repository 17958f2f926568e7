// A BMMC permutation from disk to disk as a step of a plan; see pdm_step.hpp.
#include "sweeps/pdm_step.hpp"
#include "sweeps/pdm_support.hpp"
#include "sweeps/sweep_hooks.hpp"

namespace spanfft {

namespace {

class PermuteTask : public Task {
  public:
    PermuteTask(const PdmSpec& spec, const BmmcPlan& plan, std::vector<PdmPlace> places, std::shared_ptr<PassTeam> team)
        : spec_(spec), places_(std::move(places)), team_(std::move(team)) {
        sweeps_.reserve(plan.factors.size());
        for (const Factor& each : plan.factors) sweeps_.emplace_back(each, spec.shape, spec.record_bytes());
    }

    Status run(RunContext& context) override {
        counts_ = Counts();
        for (size_t i = 0; i < sweeps_.size(); ++i) {
            SPANFFT_TRY(check_pdm_context(context, places_[i], places_[i + 1]));
            const PassSweep* const with = context.sweep ? context.sweep + i : nullptr;
            if (with && with->done()) continue;
            ParallelDisks source = pdm_disks(spec_, places_[i], context),
                          target = pdm_disks(spec_, places_[i + 1], context);
            BmmcSweep::Means means;
            means.pipeline = &team_->pipeline;
            means.team = &team_->compute;
            means.memory = static_cast<char*>(context.at(Slot::work0));
            means.mode = spec_.mode;
            means.trace = context.trace;
            if (context.progress) means.progress = [&context](index_t bytes) { return context.advance(bytes); };
            means.first_load = with ? with->logged.first_panel : 0;
            means.dress = pdm_dress(with, team_->compute);
            means.moved_bytes = &counts_.memory_bytes;
            const bool stores_other = spec_.stored_bytes > 0 && places_[i + 1].place == Place::output;
            const index_t before_bytes = stores_other ? context.written_store()->counts().written_bytes : 0;
            SPANFFT_TRY(run_logged(with, [&] { return sweeps_[i].run(source, target, means); }));
            Counts counted = pdm_counted(source, target);
            if (stores_other)
                counted.disk_written_bytes = context.written_store()->counts().written_bytes - before_bytes;
            counts_ += counted;
        }
        return {};
    }
    Counts counted() const override { return counts_; }

  private:
    const PdmSpec spec_;
    const std::vector<PdmPlace> places_;
    std::vector<BmmcSweep> sweeps_;
    std::shared_ptr<PassTeam> team_;
    Counts counts_;
};

class PermuteStep : public Step, public SweptStep {
  public:
    PermuteStep(const PdmSpec& spec, BmmcPlan plan, std::vector<PdmPlace> places, std::string title, Machine machine)
        : spec_(spec),
          plan_(std::move(plan)),
          places_(std::move(places)),
          title_(std::move(title)),
          machine_(std::move(machine)) {}
    const char* type() const override { return "Permute"; }
    std::string describe() const override {
        return cat(title_, ": ", plan_.describe(), ", at most ", plan_.bound, " parallel I/Os; ",
                   pdm_place_name(places_.front()), " to ", pdm_place_name(places_.back()));
    }
    Counts predict(int /*rank*/) const override {
        Counts counts;
        for (size_t i = 0; i + 1 < places_.size(); ++i) {
            counts += pdm_predicted(spec_, places_[i], places_[i + 1], machine_);
            counts.memory_bytes += 2 * spec_.array_bytes();  // from one memoryload into the other
        }
        counts.parallel_ios = plan_.predicted().total();
        if (spec_.stored_bytes > 0 && places_.back().place == Place::output) {
            counts.disk_written_bytes -= spec_.array_bytes() - spec_.shape.records() * spec_.stored_bytes;
        }
        return counts;
    }
    std::vector<SweepShape> sweep_shapes() const override {
        std::vector<SweepShape> shapes;
        for (size_t i = 0; i < plan_.factors.size(); ++i) {
            const auto map = std::make_shared<const SweepMap>(plan_.factors[i], spec_.shape);
            shapes.push_back(pdm_shape(
                spec_, places_[i], places_[i + 1], [map](index_t block) { return map->load_that_reads(block); },
                [map](index_t block) { return map->load_that_writes(block); }));
        }
        return shapes;
    }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        if (!binding.pass_team) {
            SPANFFT_ASSIGN(binding.pass_team, make_pass_team(spec_.threads, binding.io));
        }
        SPANFFT_TRY(binding.pass_team->pipeline.started());
        return std::unique_ptr<Task>(std::make_unique<PermuteTask>(spec_, plan_, places_, binding.pass_team));
    }

  private:
    PdmSpec spec_;
    BmmcPlan plan_;
    std::vector<PdmPlace> places_;
    std::string title_;
    Machine machine_;
};

}  // namespace

std::unique_ptr<Step> make_permute_step(const PdmSpec& spec, BmmcPlan plan, std::vector<PdmPlace> places,
                                        std::string title, Machine machine) {
    return std::make_unique<PermuteStep>(spec, std::move(plan), std::move(places), std::move(title),
                                         std::move(machine));
}

}  // namespace spanfft
