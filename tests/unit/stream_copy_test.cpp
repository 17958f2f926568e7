// Copies past the cache copy what copies copy, at any alignment and length, and nothing beside it.
#include "core/stream_copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace spanfft::test {
namespace {

TEST(StreamCopy, CopiesAnyLengthBetweenAnyAddressesAndNothingElse) {
    std::vector<unsigned char> source(1024), target;
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7 + 1);
    for (size_t from = 0; from < 70; from += 3) {
        for (size_t to = 0; to < 70; ++to) {
            for (const size_t bytes : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 640, 641}) {
                target.assign(1024, 0xEE);
                stream_copy(target.data() + to, source.data() + from, bytes);
                stream_fence();
                for (size_t i = 0; i < target.size(); ++i) {
                    const bool inside = i >= to && i < to + bytes;
                    ASSERT_EQ(target[i], inside ? source[from + i - to] : 0xEE) << from << " " << to << " " << bytes;
                }
            }
        }
    }
}

}  // namespace
}  // namespace spanfft::test
