// See shared.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy shared_strategy();

}  // namespace spanfft
