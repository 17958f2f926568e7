// The `oneplane` strategy; see oneplane.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy oneplane_strategy();

}  // namespace spanfft
