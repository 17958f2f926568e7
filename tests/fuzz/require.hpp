// What a fuzzer holds: a sentence and abort(), which libFuzzer reports with the input that led there.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace spanfft::test {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
}

}  // namespace spanfft::test
