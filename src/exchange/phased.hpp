// The `phased` strategy; see phased.cpp.
#pragma once

#include "exchange/exchange.hpp"
#include "exchange/phases.hpp"

namespace spanfft {

ExchangeStrategy phased_strategy();

// The phases of this rank in its group, as positions in the group: on the torus of the parameter where the group fills
// it (or whole dimensions of it) and every extent is even, pairwise elsewhere.
Result<std::vector<Partners>> phases_of(const ExchangeSpec& spec, int rank);
bool phases_on_torus(const ExchangeSpec& spec, int rank);  // else its group meets pairwise

}  // namespace spanfft
