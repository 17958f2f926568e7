// Which cases the build with sanitizers takes; see sanitized.hpp.
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace spanfft::test {

bool sanitized_build_takes(const std::string& text) {
    static const testing::TestInfo* last = nullptr;
    static int taken = 0;
    const testing::TestInfo* now = testing::UnitTest::GetInstance()->current_test_info();
    if (now != last) taken = 0;
    last = now;
    uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return ++taken <= kAlways || (hash >> 32) % kPointStep == 0;
}

}  // namespace spanfft::test
