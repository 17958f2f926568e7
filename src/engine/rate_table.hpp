// RateTable: how fast engines were at a few shapes of work; a value, which belongs to a machine.
//
// Method: rows of GF/s by the convention of spec_flops. What a table lacks, rates.hpp fills from the priors. A rate
// depends on the length and on what the transforms reach together: many short lines stay in a cache, or come from
// memory. Rows of a batch therefore name its size.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.hpp"

namespace spanfft {

enum class RateShape : int {
    line,        // one axis, contiguous; n points a transform, batched while that fits the cache
    strided,     // one axis, whose points are far apart, n points
    several,     // several axes at once, n points together
    plane,       // the same of two axes; where a table has no row of it, several serves
    two_sweeps,  // one long line in two sweeps of memory (long_line.hpp), n points
};

enum class RateKernel : int { c2c, half, r2r };  // half: r2c and c2r

struct RateRow {
    std::string engine;
    Precision precision = Precision::dbl;
    RateShape shape = RateShape::line;
    int threads = 1;
    double n = 1024;  // points of a transform
    double gflops = 1;
    RateKernel kernel = RateKernel::c2c;
    double batch_points = 0;  // of all transforms of a batch together; 0: of one transform, or whatever was measured
    bool operator==(const RateRow&) const = default;
};

using RateTable = std::vector<RateRow>;

}  // namespace spanfft
