// Exchange as a plan step: from one layout to another by a named strategy.
#pragma once

#include "exchange/exchange.hpp"
#include "plan/machine.hpp"
#include "plan/step.hpp"

namespace spanfft {

// `from` and `to` hold the same array (shape and element type) in two layouts.
ExchangeSpec exchange_spec(const ArrayState& from, const ArrayState& to, const std::string& parameter,
                           const Machine& machine);

// Whether the planner may choose it unasked: not what changes the data, and of those that send chunks only what this
// machine has figures for, since more calls for fewer copies pay off on some machines and not on others (P3).
bool may_propose(const ExchangeStrategy& strategy, const Machine& machine);

// An exchange that is ready to run, and the counts of its group's communicator.
struct BoundExchange {
    std::unique_ptr<Exchange> exchange;
    std::shared_ptr<Counts> wire;
};
// Collective over the binding's communicator.
Result<BoundExchange> bind_exchange(const ExchangeSpec& spec, const ExchangeStrategy& strategy, Slot source,
                                    Binding& binding);

std::unique_ptr<Step> make_exchange_step(ExchangeSpec spec, Slot source, Slot target, const ExchangeStrategy& strategy,
                                         const Machine& machine);

}  // namespace spanfft
