// The median of some measurements: of an even number of them, the upper one of the two in the middle.
#pragma once

#include <algorithm>
#include <vector>

namespace spanfft {

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace spanfft
