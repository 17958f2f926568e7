// Sanitizers look for misuse of memory and arithmetic in code that the points of a test share, and cost two to three
// times the processor time. So their build takes every fifth point of the longest tests; the release build takes all.
#pragma once

#include <string>

// AddressSanitizer's, where the program is linked with it. Tests themselves are compiled without
// (tests/CMakeLists.txt), so no macro would tell.
extern "C" __attribute__((weak)) void __asan_init();

namespace spanfft::test {

inline const bool kSanitized = &__asan_init != nullptr;
inline const int kPointStep = kSanitized ? 5 : 1;
inline const int kRanksStep = kSanitized ? 3 : 1;  // of numbers of ranks (1, 4, 7), and of cases on them
inline const int kFaultStep = kSanitized ? 3 : 1;  // of faults somewhere: a longer step passes over whole sweeps

// Whether this build takes a case, a fifth of which the build with sanitizers does take: the first kAlways of each
// test, and of the others those that a hash of their text chooses, so that the periods of nested loops don't matter.
constexpr int kAlways = 8;
bool sanitized_build_takes(const std::string& text);

}  // namespace spanfft::test
