// Sanitizers look for misuse of memory and arithmetic in code that the points of a test share, and cost two to three
// times the processor time. So their build takes every fifth point of the longest tests; the release build takes all.
#pragma once

#include <string>

namespace spanfft::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kPointStep = 5;
inline constexpr int kRanksStep = 3;  // of tests for each number of ranks: 1, 4, 7
inline constexpr int kFaultStep = 3;  // of faults at one operation or another: a longer step passes over whole sweeps
#else
inline constexpr int kPointStep = 1;
inline constexpr int kRanksStep = 1;
inline constexpr int kFaultStep = 1;
#endif

// Whether this build takes a case, a fifth of which the build with sanitizers does take: the first kAlways of each
// test, and of the others those that a hash of their text chooses, so that the periods of nested loops don't matter.
constexpr int kAlways = 8;
bool sanitized_build_takes(const std::string& text);

}  // namespace spanfft::test
