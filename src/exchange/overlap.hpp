// The `overlap` strategy; see overlap.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy overlap_strategy();

}  // namespace spanfft
