// Predictions held against counts.
#pragma once

#include <string>
#include <vector>

#include "core/counts.hpp"

namespace spanfft::test {

// A sentence for each prediction that was not met. All are exact but flops, a sum of floating-point numbers, which
// chunks add up in another order: 1e-12 of it; and seconds, which are not compared.
std::vector<std::string> unmet(const Counts& predicted, const Counts& counted);

// Reports through gtest: as many steps as were predicted, and each counted what it predicted.
void expect_counted(const std::vector<Counts>& predicted, const std::vector<Counts>& counted);

}  // namespace spanfft::test
