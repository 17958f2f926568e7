// Engine probe: measures how fast each local engine is at the sorts of work that plans give it.
//
// Method: one transform alone and batches of them, contiguous and far apart, at lengths from 8 to 2^21 that are powers
// of two and lengths that are not (a mixed radix is slower), complex and real, in float and double, by one thread and
// by all (two at most). A batch is measured where it fits the second-level cache, where it fits the third, and where it
// comes from memory; rates.hpp interpolates between them. All rows are timed in rounds until the time is used up, and
// the median of the rounds counts, as a machine that others use too is slower for seconds at a time; what runs long,
// and the many short lengths, are timed in every third one. A time is of runs that follow one another, so tables and
// data are as warm as in repeated execution; it is the slowest rank's, all ranks measure at once. Invariant: all ranks
// get the same rows.
#pragma once

#include <functional>

#include "comm/comm.hpp"
#include "core/caches.hpp"
#include "engine/rate_table.hpp"

namespace spanfft {

constexpr int kProbeRounds = 9;  // through all rows

// Collective. In the order of importance, until time_is_left (collective too) says no.
Result<RateTable> probe_engines(Comm& comm, const Caches& caches, int most_threads,
                                const std::function<Result<bool>()>& time_is_left, int most_rounds = kProbeRounds);

}  // namespace spanfft
