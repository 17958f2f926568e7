// Exchange as a plan step; see exchange_step.hpp.
#include "steps/exchange_step.hpp"

#include "layout/meet.hpp"
#include "plan/exchange_cost.hpp"

namespace spanfft {

namespace {

class ExchangeTask final : public Task {
  public:
    ExchangeTask(std::unique_ptr<Exchange> exchange, Slot source, Slot target, std::shared_ptr<Counts> wire)
        : exchange_(std::move(exchange)), source_(source), target_(target), wire_(std::move(wire)) {}
    Status run(RunContext& context) override {
        const Counts before = *wire_;
        const index_t moved_bytes = exchange_->moved_bytes();
        const Status status = exchange_->run(context.at(source_), context.at(target_), context.trace);
        counts_ = Counts();
        counts_.messages = wire_->messages - before.messages;
        counts_.sent_bytes = wire_->sent_bytes - before.sent_bytes;
        counts_.calls = wire_->calls - before.calls;
        counts_.memory_bytes = exchange_->moved_bytes() - moved_bytes;
        return status;
    }
    Counts counted() const override { return counts_; }

  private:
    std::unique_ptr<Exchange> exchange_;
    Slot source_, target_;
    std::shared_ptr<Counts> wire_;  // of the group's counted communicator
    Counts counts_;
};

class ExchangeStep final : public Step {
  public:
    ExchangeStep(ExchangeSpec spec, Slot source, Slot target, const ExchangeStrategy& strategy, const Machine& machine)
        : spec_(std::move(spec)),
          source_(source),
          target_(target),
          strategy_(strategy),
          figures_(machine.exchange(strategy.name)),
          copy_bytes_per_second_(machine.copy_bytes_per_second(spec_.from.nranks())) {
        const bool owned = source_ == Slot::work0 || source_ == Slot::work1;
        const bool one_node = spec_.topology.nodes(spec_.from.nranks()) == 1;
        spec_.in_window = strategy_.uses_window && owned && one_node;
        rank0_ = forecast(0);
    }
    const char* type() const override { return "Exchange"; }

    std::string describe() const override {
        return cat(exchange_text(strategy_, spec_.parameter), " in groups of ",
                   exchange_group(spec_.from, spec_.to, 0).size(), ", ", spec_.from.describe(), " -> ",
                   spec_.to.describe(), ", ", slot_name(source_), " -> ", slot_name(target_));
    }

    Counts price(int rank) const override { return rank == 0 ? rank0_ : forecast(rank); }

    index_t own_memory_bytes(int rank) const override { return strategy_.buffer_bytes(spec_, rank); }

    std::vector<Slot> shared_slots() const override {
        return spec_.in_window ? std::vector<Slot>{source_} : std::vector<Slot>{};
    }

    std::vector<int> group(int rank) const override { return exchange_group(spec_.from, spec_.to, rank); }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        SPANFFT_ASSIGN(auto bound, bind_exchange(spec_, strategy_, source_, binding));
        return std::unique_ptr<Task>(
            new ExchangeTask(std::move(bound.exchange), source_, target_, std::move(bound.wire)));
    }

  private:
    Counts forecast(int rank) const {
        Counts counts = strategy_.predict(spec_, rank);
        counts.seconds =
            exchange_seconds(exchange_load(spec_, rank, spec_.topology), counts, figures_, copy_bytes_per_second_);
        return counts;
    }

    ExchangeSpec spec_;
    Slot source_, target_;
    const ExchangeStrategy& strategy_;  // in the static table
    ExchangeFigures figures_;
    double copy_bytes_per_second_;
    Counts rank0_;  // a planning asks for it several times
};

}  // namespace

Result<BoundExchange> bind_exchange(const ExchangeSpec& spec, const ExchangeStrategy& strategy, Slot source,
                                    Binding& binding) {
    const int rank = binding.comm.rank();
    SPANFFT_ASSIGN(const GroupComm group, binding.group(exchange_group(spec.from, spec.to, rank)));
    BoundExchange bound;
    SPANFFT_ASSIGN(bound.exchange, strategy.bind({*group.comm, spec, rank,
                                                  spec.in_window ? binding.window(source) : nullptr, binding.trace}));
    bound.wire = group.counts;
    return bound;
}

std::unique_ptr<Step> make_exchange_step(ExchangeSpec spec, Slot source, Slot target, const ExchangeStrategy& strategy,
                                         const Machine& machine) {
    return std::make_unique<ExchangeStep>(std::move(spec), source, target, strategy, machine);
}

bool may_propose(const ExchangeStrategy& strategy, const Machine& machine) {
    if (strategy.makes_window && !machine.shared_windows) return false;
    return !strategy.approximate && (!strategy.rows || machine.exchanges.count(strategy.name));
}

ExchangeSpec exchange_spec(const ArrayState& from, const ArrayState& to, const std::string& parameter,
                           const Machine& machine) {
    ExchangeSpec spec{from.layout,         to.layout, static_cast<index_t>(from.elem.bytes()),
                      from.elem.precision, parameter, machine.topology};
    spec.torus = machine.torus;
    spec.persistent_collectives = machine.persistent_collectives;
    return spec;
}

}  // namespace spanfft
