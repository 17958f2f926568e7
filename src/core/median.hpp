// The median of some measurements, of an even number of them the upper one of the two in the middle; and the lower
// quartile, which counts where disturbances come from outside and only make things slower.
#pragma once

#include <algorithm>
#include <vector>

namespace spanfft {

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

inline double lower_quartile(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 4];
}

}  // namespace spanfft
