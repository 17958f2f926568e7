// The `hierarchical` strategy; see hierarchical.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy hierarchical_strategy();

}  // namespace spanfft
