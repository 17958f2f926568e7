// The `blockvector` strategy; see blockvector.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy blockvector_strategy();

}  // namespace spanfft
