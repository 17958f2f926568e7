// Whether an engine's results may be believed at a length.
//
// Method: the accuracy rule allows a relative L2 error of 0.6 eps sqrt(log2 N) where no prime factor of N exceeds
// 13 and 1.5 eps sqrt(log2 N) elsewhere. At lengths with larger prime factors an engine is first put to two tests
// against long-double values: three impulses, whose whole response is compared (a fault in a few outputs shows),
// and dense noise, of which a few outputs are summed exactly (a fault in a few inputs shows). Both cost O(n).
// At lengths with a factor 7, 11 or 13 up to 2^18 all outputs are compared with ducc0's in long double.
// Why: MKL 2026.2 with AVX-512 is wrong by 1e-12 at 7 * 104729 and its like.
// Invariant: an answer is computed once for each (engine, precision, kernel, length) and kept; thread-safe.
#pragma once

#include <string>

#include "engine/engine.hpp"

namespace spanfft {

// The relative L2 error that the rule allows at n points (of the complex transform that carries the kernel).
double accuracy_rule(Precision precision, index_t n);

// Lengths with a larger prime factor than this are checked before an engine is used there.
constexpr index_t kTrustedPrime = 13;
constexpr index_t kSmoothPrime = 5;          // without larger factors no engine came near the rule
constexpr index_t kLongestSmooth = 1 << 18;  // all outputs are compared up to here: 0.1 s

// What the check of one length found, in multiples of the rule; <= 1 within it. dense_allowance is what the
// dense test may show without a fault: few numbers are summed, so three standard deviations are granted.
struct TrustCheck {
    double impulse = 0;
    double dense = 0;
    double dense_allowance = 1;
    std::string problem;  // set when the check could not be run: no plan, no memory
    bool passed() const { return problem.empty() && impulse <= 1 && dense <= dense_allowance; }
};

// Runs the check, without the cache: one transform of length n of this kernel, contiguous.
TrustCheck check_length(const Engine& engine, Kernel kernel, Precision precision, index_t n, int threads);

// Empty when the engine may be used for the spec, else the sentence that says why not. The axes of a transform
// along several are checked one by one; lengths above longest are left unchecked (a forecast must not allocate and
// transform what is only imagined).
std::string distrust(const Engine& engine, const LocalSpec& spec, index_t longest = INT64_MAX);

}  // namespace spanfft
