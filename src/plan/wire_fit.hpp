// From measured exchanges to figures: a latency and a curve by which time never falls as messages grow.
//
// Method: the time of a message against its size is fitted by pool-adjacent-violators (isotonic regression), in the
// logarithm of the time because disturbances are shares of it: neighbours that contradict each other become their
// geometric mean. The smallest message's time is the latency; what the others take beyond it is the curve. Read between
// its points in the logarithm of both (WireFigures), it rises everywhere. So noise at one size can make a strategy look
// a little dearer or cheaper there, but not make many small messages look cheaper than a few large ones.
// Worked numbers: 1, 4 and 2 seconds at sizes 1, 2 and 3 become 1, sqrt(8) and sqrt(8).
// Source: Barlow, Bartholomew, Bremner, Brunk, Statistical Inference under Order Restrictions (1972).
#pragma once

#include <vector>

#include "plan/machine.hpp"

namespace spanfft {

// One exchange of one rank.
struct WireSample {
    double messages = 0, bytes = 0, seconds = 0;
};

// The values that never fall and are nearest, in the logarithm, to these (all > 0).
std::vector<double> never_falling(const std::vector<double>& values);

// A byte costs at least `least_seconds_per_byte`, also where the smallest message took as long as a larger one.
WireFigures fit_wire(std::vector<WireSample> samples, double least_seconds_per_byte);

}  // namespace spanfft
