// The `persistent` strategy; see persistent.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy persistent_strategy();

}  // namespace spanfft
