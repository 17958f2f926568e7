// How fast each engine is expected to be, so that plans can be ranked and forecast without running them.
//
// Method: a table of rates (GF/s by the convention of spec_flops) for a few shapes of work; lengths in between are
// interpolated in log2 n. The table is a machine's (plan/machine.hpp) and passed down to whoever asks, so that plans
// for different machines know nothing of one another. Before anything was measured there are priors, of four machines
// (prior_rates.cpp); `spanfft probe` replaces them.
// Invariant: a forecast is positive and finite for every engine, known or not.
#pragma once

#include <optional>
#include <string>

#include "engine/engine.hpp"

namespace spanfft {

// Of the machine most like this one.
const RateTable& prior_rates();

// Expected rate and time for a spec on an engine, by a table; rows that it lacks are filled from the priors. Of lines
// that the engine is given so many at a time; 0: all at once.
double expected_gflops(const RateTable& rates, const std::string& engine, const LocalSpec& spec,
                       index_t lines_a_call = 0);
double expected_seconds(const RateTable& rates, const std::string& engine, const LocalSpec& spec,
                        index_t lines_a_call = 0);

// Of a long line in two sweeps of memory; nothing where none was measured.
std::optional<double> two_sweeps_seconds(const RateTable& rates, const std::string& engine, const LocalSpec& spec);

// The spec's threads, or one where a table that has measured batches says that more would hardly gain.
int useful_threads(const RateTable& rates, const std::string& engine, const LocalSpec& spec);

// The fastest of all engines, shapes and lengths that the table has rows of; of the priors where it has none.
double peak_gflops(const RateTable& rates, Precision precision, int threads);

// Wall seconds of one execution, measured on scratch arrays: the median of some, within about a time limit.
Result<double> measure_seconds(const LocalFft& fft, const LocalSpec& spec, double limit_seconds);

}  // namespace spanfft
