// How fast each engine is expected to be, so that plans can be ranked and forecast without running them.
//
// Method: a table of rates (GF/s by the convention of spec_flops) for a few shapes of work; lengths in between are
// interpolated in log2 n. What is there before anything was measured here are priors, measured on two machines;
// `spanfft probe` replaces them.
// Invariant: a forecast is positive and finite for every engine, known or not.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.hpp"

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
};

struct RateTable {
    std::string source;  // "prior: ..." or the probe's name of the machine and date
    std::vector<RateRow> rows;
};

RateTable prior_rates();  // of the machine most like this one
RateTable current_rates();
void set_rates(RateTable table);  // thread-safe; rows that a table lacks are filled from the priors

// Expected rate and time for a spec on an engine.
double expected_gflops(const std::string& engine, const LocalSpec& spec);
double expected_seconds(const std::string& engine, const LocalSpec& spec);

// Wall seconds of one execution, measured on scratch arrays: the median of some, within about a time limit.
Result<double> measure_seconds(const LocalFft& fft, const LocalSpec& spec, double limit_seconds);

}  // namespace spanfft
