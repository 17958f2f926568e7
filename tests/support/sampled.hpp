// Which operations of a long run a test looks at, where it can't look at all: tests whose names say "Sampled".
//
// ./spanfft-dev soak runs these tests, with a seed of its own each time (tests/soak/sampled.py), and nothing else does:
// what ./spanfft-dev test holds, it holds for every operation of a smaller run.
#pragma once

#include <cstdio>
#include <vector>

#include "support/random.hpp"

namespace spanfft::test {

// The first, the last and `between` more of 1 to `operations`.
inline std::vector<index_t> sampled_operations(Random& random, index_t operations, int between) {
    std::vector<index_t> points{1, operations};
    for (int i = 0; i < between; ++i) points.push_back(random.between(1, operations));
    std::printf("sampled operations: %zu\n", points.size());  // soak counts them
    return points;
}

}  // namespace spanfft::test
