// Sanitizers look for misuse of memory and arithmetic in code that the points of a test share, and cost two to three
// times the processor time. So their build takes every third point of the longest tests; the release build takes all.
#pragma once

namespace spanfft::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kPointStep = 3;
#else
inline constexpr int kPointStep = 1;
#endif

}  // namespace spanfft::test
