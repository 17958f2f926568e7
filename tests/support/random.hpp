// Random problems, layouts and tilings from one seed, which every test prints when it fails.
//
// Method: splitmix64, so that a seed gives the same cases with every compiler and library.
// SPANFFT_TEST_SEED=n in the environment replaces the seed that a test names.
#pragma once

#include <string>
#include <vector>

#include "plan/problem.hpp"

namespace spanfft::test {

class Random {
  public:
    explicit Random(uint64_t seed);  // replaced by SPANFFT_TEST_SEED when that is set
    uint64_t seed() const { return seed_; }
    uint64_t bits();
    index_t below(index_t n) { return static_cast<index_t>(bits() % static_cast<uint64_t>(n)); }
    index_t between(index_t low, index_t high) { return low + below(high - low + 1); }
    bool chance(double probability) { return static_cast<double>(bits() >> 11) * 0x1p-53 < probability; }
    double noise();  // in [-1, 1) on a grid of 2^-20: exact in every precision
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[static_cast<size_t>(below(static_cast<index_t>(from.size())))];
    }
    template <class T>
    void shuffle(std::vector<T>& v) {
        for (size_t i = v.size(); i > 1; --i)
            std::swap(v[i - 1], v[static_cast<size_t>(below(static_cast<index_t>(i)))]);
    }

  private:
    uint64_t seed_, state_;
};

// Boxes that tile the array, one a rank, in any order; some are empty.
std::vector<Patch> random_tiling(Random& random, const Extents& shape, int ranks);

// A layout by grid: at most one grid dimension an axis, blocks or cyclic.
Layout random_grid_layout(Random& random, const Extents& shape, int ranks, bool cyclic);

// Any problem that check() accepts: also ones that no solver takes, with engines and budgets that are nowhere.
Problem random_problem_text(Random& random);

struct ProblemLimits {
    int max_ndim = 4;
    index_t max_elems = 400;  // of one array
    int max_ranks = 8;
    bool boxes = true;
    bool in_place = true;
    bool batch = true;
};
// A problem in memory that some solver must take.
Problem random_solvable(Random& random, const ProblemLimits& limits);

}  // namespace spanfft::test
