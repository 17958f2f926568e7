// DCT and DST of a few points, as a product with a matrix whose entries are rounded once, the scale among them.
//
// Why: ducc0 makes them of a complex transform and two or three steps more, each with a rounding, and at 3, 5, 6 and 13
// points the sum of these exceeds the accuracy rule, which allows least for short lines (measured: DCT-IV of 6 points
// with norm=forward 0.604 units on average where 0.6 are allowed). Limit: the work grows as n^2, 16 points take 256
// multiplications where ducc0's way takes about 100.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace spanfft {

constexpr index_t kShortR2rPoints = 16;

// Whether `spec` (canonical, not empty) is a DCT or DST of at most kShortR2rPoints points.
bool is_short_r2r(const LocalSpec& spec);

std::unique_ptr<LocalFft> make_short_r2r(const LocalSpec& spec);

}  // namespace spanfft
