// The `alltoallw` strategy; see alltoallw.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy alltoallw_strategy();

}  // namespace spanfft
