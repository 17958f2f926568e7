// A BMMC permutation from disk to disk as a step of a plan; see pdm_step.hpp.
#include <algorithm>
#include <cstring>
#include <map>

#include "sweeps/pdm_support.hpp"

namespace spanfft {

namespace {

// What ranks move in one sweep, of loads of each class.
struct LoadExchange {
    struct Moved {
        std::unique_ptr<Transfer> transfer;
        PairParts stays;  // in this rank's memory
    };
    std::map<Word, Moved> of_class;
};

class PermuteTask : public PdmTask {
  public:
    PermuteTask(const PdmSpec& spec, const BmmcPlan& plan, std::vector<PdmPlace> places, int rank)
        : PdmTask(spec, rank), places_(std::move(places)) {
        sweeps_.reserve(plan.factors.size());
        for (const Factor& each : plan.factors) sweeps_.emplace_back(each, spec.shape, spec.record_bytes, rank);
    }

    Status prepare(Binding& binding) {
        return join(binding, [this] { return make_transfers(); });
    }

    Status run(RunContext& context) override {
        counts_ = Counts();
        for (size_t i = 0; i < sweeps_.size(); ++i) {
            SPANFFT_TRY(sweep(places_[i], places_[i + 1], context, context.sweep[i],
                              [this, i](ParallelDisks& source, ParallelDisks& target, const SweepMeans& means) {
                                  return permute(i, source, target, means);
                              }));
        }
        return {};
    }

  private:
    Status make_transfers() {
        exchanges_.resize(sweeps_.size());
        Status made;
        for (size_t i = 0; i < sweeps_.size(); ++i) {
            if (!sweeps_[i].sends()) continue;
            for (const Word each : sweeps_[i].exchange_classes()) {
                LoadExchange::Moved& moved = exchanges_[i].of_class[each];
                std::vector<PairParts> pairs = sweeps_[i].pairs(each);
                const auto self = std::find_if(pairs.begin(), pairs.end(),
                                               [this](const PairParts& pair) { return pair.peer == rank_; });
                if (self != pairs.end()) {
                    moved.stays = *self;
                    pairs.erase(self);
                }
                auto transfer = rounds_.comm().make_pairs(pairs, Pairing::nonblocking);
                keep_first(made, transfer.status());
                if (transfer.ok()) moved.transfer = std::move(transfer).value();
            }
        }
        return made;
    }

    Status permute(size_t i, ParallelDisks& source, ParallelDisks& target, const SweepMeans& means) {
        const BmmcSweep::Means with{means, &team_->compute, &counts_.memory_bytes,
                                    [this, i](Word exchange_class, const char* packed, char* received) {
                                        return exchange(exchanges_[i].of_class[exchange_class], packed, received);
                                    }};
        return sweeps_[i].run(source, target, with);
    }

    Status exchange(const LoadExchange::Moved& moved, const char* packed, char* received) {
        const Rounds::Move move{moved.transfer.get(), packed, received};
        SPANFFT_TRY(rounds_.round({&move, 1}));
        const index_t bytes = moved.stays.send.bytes;
        if (bytes > 0)
            std::memcpy(received + moved.stays.receive.offset_bytes, packed + moved.stays.send.offset_bytes,
                        static_cast<size_t>(bytes));
        counts_.memory_bytes += 2 * bytes;
        return {};
    }

    const std::vector<PdmPlace> places_;
    std::vector<BmmcSweep> sweeps_;
    std::vector<LoadExchange> exchanges_;
};

class PermuteStep : public Step {
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
                   place_name(places_.front().place), " to ", place_name(places_.back().place));
    }
    Counts price(int rank) const override {
        Counts counts;
        for (size_t i = 0; i + 1 < places_.size(); ++i) counts += predict_sweep(i, rank);
        counts.parallel_ios = plan_.predicted().total();
        if (spec_.stored_bytes > 0 && places_.back().place == Place::output) {
            counts.disk_written_bytes -= spec_.array_bytes() - spec_.share().records() * spec_.stored_bytes;
        }
        return counts;
    }
    index_t progress_bytes(int /*rank*/) const override { return std::ssize(plan_.factors) * 2 * spec_.array_bytes(); }
    std::vector<int> group(int /*rank*/) const override { return Rounds::everyone(spec_.ranks()); }
    std::vector<SweepOutline> sweep_outlines(int rank) const override {
        std::vector<SweepOutline> outlines;
        const PdmShape shape = spec_.shape;
        for (size_t i = 0; i < plan_.factors.size(); ++i) {
            const auto map = std::make_shared<const SweepMap>(plan_.factors[i], shape);
            outlines.push_back(pdm_outline(
                spec_, places_[i], places_[i + 1], traffic(i).total().messages > 0,
                [map, shape, rank](index_t own) { return map->load_that_reads(shape.block_of(rank, own)); },
                [map, shape, rank](index_t own) { return map->load_that_writes(shape.block_of(rank, own)); }));
        }
        return outlines;
    }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        auto task = std::make_unique<PermuteTask>(spec_, plan_, places_, binding.comm.rank());
        SPANFFT_TRY(task->prepare(binding));
        return std::unique_ptr<Task>(std::move(task));
    }

  private:
    SweepTraffic traffic(size_t i) const { return {plan_.factors[i], spec_.shape, spec_.record_bytes}; }

    Counts predict_sweep(size_t i, int rank) const {
        Counts counts = pdm_predicted(spec_);
        const SweepTraffic sweep = traffic(i);
        counts.memory_bytes = 2 * spec_.array_bytes();  // from one memoryload into the other
        double wire = 0;
        if (sweep.total().messages > 0) {
            const Traffic sent = sweep.sent_by(static_cast<Word>(rank));
            counts.messages = sent.messages;
            counts.sent_bytes = sent.bytes;
            counts.calls = 2 * sent.messages;  // it gets as many
            // Packed first, and what it sends to itself is copied.
            counts.memory_bytes += 2 * spec_.array_bytes() + 2 * (spec_.array_bytes() - sent.bytes);
            wire = pdm_wire_seconds(spec_, counts, machine_);
        }
        counts.seconds = pdm_seconds(spec_, places_[i], places_[i + 1], {wire, counts.memory_bytes, 0}, machine_);
        return counts;
    }

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
