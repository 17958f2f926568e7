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

// As if the numbers were multiplied one by one, wherever they lie, and nothing beside them.
template <class Real>
void expect_products(Precision precision) {
    const long double factor = 1 / 3.0L;
    std::vector<Real> source(160), target;
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<Real>(i * 7 + 1) / 64;
    for (size_t from : {0, 1, 3}) {
        for (size_t to = 0; to < 18; ++to) {
            for (const size_t count : {0, 1, 2, 7, 8, 9, 16, 31, 33, 130}) {
                for (const bool stream : {false, true}) {
                    target.assign(160, Real(-5));
                    copy_out(precision, factor, stream, target.data() + to, source.data() + from, count * sizeof(Real));
                    stream_fence();
                    for (size_t i = 0; i < target.size(); ++i) {
                        const bool inside = i >= to && i < to + count;
                        ASSERT_EQ(target[i], inside ? source[from + i - to] * static_cast<Real>(factor) : Real(-5))
                            << from << " " << to << " " << count << " " << stream;
                    }
                }
            }
        }
    }
    std::vector<Real> in_place = source;
    copy_out(precision, factor, false, in_place.data(), in_place.data(), in_place.size() * sizeof(Real));
    for (size_t i = 0; i < source.size(); ++i) ASSERT_EQ(in_place[i], source[i] * static_cast<Real>(factor));
}

TEST(StreamCopy, MultipliesEachNumberOnce) {
    expect_products<float>(Precision::single);
    expect_products<double>(Precision::dbl);
    expect_products<long double>(Precision::extended);
}

}  // namespace
}  // namespace spanfft::test
