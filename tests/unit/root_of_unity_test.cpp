// Roots of unity against sums in 113 bits, closed forms, and each other where n is too long for a sum.
#include "core/root_of_unity.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/direct_sum.hpp"

namespace spanfft::test {
namespace {

constexpr long double kEps = std::numeric_limits<long double>::epsilon();

long double distance(const Pair<long double>& a, const Pair<long double>& b) {
    return std::hypot(a.re - b.re, a.im - b.im);
}

TEST(RootOfUnity, AreTheTransformOfAnImpulseAtOne) {
    for (const index_t n : {1, 2, 3, 7, 8, 12, 97, 100}) {
        std::vector<WideComplex> impulse(static_cast<size_t>(n));
        impulse[static_cast<size_t>(1 % n)].re = 1;
        const auto exact = direct_sum(Kernel::c2c_backward, n, impulse);
        const RootTable table = RootTable::make(n).value();
        for (index_t e = 0; e < n; ++e) {
            const WideComplex& wide = exact[static_cast<size_t>(e)];
            const Pair<long double> root{static_cast<long double>(wide.re), static_cast<long double>(wide.im)};
            EXPECT_LE(distance(unit_root(e, n), root), 1.5L * kEps) << e << " of " << n;
            EXPECT_LE(distance(table.at(e), root), 4 * kEps) << e << " of " << n;
        }
    }
}

TEST(RootOfUnity, QuartersOfATurnAreExact) {
    for (const index_t n : {index_t{4}, index_t{100}, index_t{1} << 62}) {
        EXPECT_EQ(distance(unit_root(0, n), {1, 0}), 0);
        EXPECT_EQ(distance(unit_root(n / 4, n), {0, 1}), 0);
        EXPECT_EQ(distance(unit_root(n / 2, n), {-1, 0}), 0);
        EXPECT_EQ(distance(unit_root(n / 4 * 3, n), {0, -1}), 0);
    }
}

// The same angles, once small and once scaled by a factor that leaves no room in 64 bits for 8 e.
TEST(RootOfUnity, KeepTheirDigitsAtLengthsNear63Bits) {
    const index_t factor = std::numeric_limits<index_t>::max() / 1001;
    for (index_t e = 0; e < 1001; ++e) {
        EXPECT_LE(distance(unit_root(e * factor, 1001 * factor), unit_root(e, 1001)), 1.5L * kEps) << e;
    }
}

TEST(RootOfUnity, TablesTakeTheBytesThatTheySay) {
    for (const index_t n : {index_t{1}, index_t{2}, index_t{17}, index_t{65536}, index_t{1000003}}) {
        const index_t side = RootTable::side(n);
        EXPECT_GE(side * side, n);
        EXPECT_LT(side / 2 * (side / 2), n);
        EXPECT_EQ(RootTable::bytes(n), 2 * side * static_cast<index_t>(sizeof(Pair<long double>)));
        const RootTable table = RootTable::make(n).value();
        EXPECT_EQ(table.n(), n);
        for (index_t e = 0; e < n; e += n / 7 + 1) {
            EXPECT_LE(distance(table.at(e), unit_root(e, n)), 4 * kEps) << e << " of " << n;
        }
    }
}

TEST(RootOfUnity, ProductsAreReducedBeyond64Bits) {
    const index_t most = std::numeric_limits<index_t>::max();
    EXPECT_EQ(product_mod(most, most, 10), 9);             // (2^63 - 1)^2 ends in ...49
    EXPECT_EQ(product_mod(most - 1, most - 1, most), 1);   // (-1)^2
    EXPECT_EQ(product_mod(index_t{1} << 62, 4, most), 2);  // 2^64 = 2 (2^63 - 1) + 2
    EXPECT_EQ(product_mod(6, 7, 1), 0);
}

}  // namespace
}  // namespace spanfft::test
