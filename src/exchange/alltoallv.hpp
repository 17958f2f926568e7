// The `alltoallv` strategy; see alltoallv.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy alltoallv_strategy();

}  // namespace spanfft
