// The `compressed` strategy; see compressed.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy compressed_strategy();

}  // namespace spanfft
