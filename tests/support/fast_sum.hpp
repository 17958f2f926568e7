// All sums of a transform at once in O(n log n), for lengths at which the definition takes too long.
//
// Method: Cooley and Tukey's where the sums are a Fourier transform of a length with small factors, else Bluestein's:
// the angles of every kernel are pi (a j + b)(c k + d) / denominator, and 2 j k = j^2 + k^2 - (k - j)^2 makes the sums
// over j a convolution with a chirp. All in the arithmetic of the definition (113 bits), against which
// unit/direct_sum_test.cpp holds it; in long double where what is tested is at most double: 113 bits are done without
// hardware. Invariant: shares no code with src/, as direct_sum.hpp.
#pragma once

#include <vector>

#include "core/dtype.hpp"
#include "support/wide.hpp"

namespace spanfft::test {

// Of one term: in[j] e^(i pi (a j + b)(c k + d) / denominator).
struct Angles {
    index_t denominator, a, b, c, d;
};

// The sums over all j for k = 0 ... outputs-1. Factors of angles and lengths once seen are kept.
std::vector<WideComplex> fast_sums(const Angles& angles, const std::vector<WideComplex>& in, index_t outputs,
                                   Precision tested = Precision::extended);

}  // namespace spanfft::test
