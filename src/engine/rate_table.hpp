// RateTable: how fast engines were at a few shapes of work; a value, which belongs to a machine.
//
// Method: rows of GF/s by the convention of spec_flops. What a table lacks, rates.hpp fills from the priors.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.hpp"

namespace spanfft {

enum class RateShape : int {
    line,     // one axis, contiguous; n points a transform, batched while that fits the cache
    strided,  // one axis, whose points are far apart, n points
    several,  // several axes at once, n points together
};

struct RateRow {
    std::string engine;
    Precision precision = Precision::dbl;
    RateShape shape = RateShape::line;
    int threads = 1;
    double n = 1024;
    double gflops = 1;
    bool operator==(const RateRow&) const = default;
};

using RateTable = std::vector<RateRow>;

}  // namespace spanfft
