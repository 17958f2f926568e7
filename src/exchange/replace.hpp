// The `replace` strategy; see replace.cpp.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

ExchangeStrategy replace_strategy();

}  // namespace spanfft
