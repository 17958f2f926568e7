// Exchange as a plan step: from one layout to another by a named strategy.
#pragma once

#include "exchange/exchange.hpp"
#include "plan/machine.hpp"
#include "plan/step.hpp"

namespace spanfft {

// `from` and `to` hold the same array (shape and element type) in two layouts.
std::unique_ptr<Step> make_exchange_step(ArrayState from, ArrayState to, Slot source, Slot target,
                                         const ExchangeStrategy& strategy, const Machine& machine);

}  // namespace spanfft
