// The `standard` strategy; see standard.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy standard_strategy();

}  // namespace spanfft
