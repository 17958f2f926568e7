// Twiddle factors of columns: against roots of unity, and whatever was asked for before.
#include "steps/column_twiddles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random.hpp"

namespace spanfft::test {
namespace {

template <class T>
class TwiddleTable : public testing::Test {};
using Precisions = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(TwiddleTable, Precisions);

// The factor of a row is a product of two of the list, each rounded once.
template <class T>
long double error_of(const TwiddleForm& form, const Pair<T>* factors, index_t column, index_t row) {
    const index_t chunk = form.chunk();
    const Pair<T> outer = factors[chunk + row / chunk], inner = factors[row % chunk];
    const Pair<long double> root = unit_root(product_mod(column, row, form.n), form.n);
    const Pair<long double> made =
        multiply(Pair<long double>{outer.re, outer.im}, Pair<long double>{inner.re, inner.im});
    const long double sign = form.backward ? 1 : -1;
    return std::hypot(made.re - form.scale * root.re, made.im - form.scale * sign * root.im);
}

TYPED_TEST(TwiddleTable, HasTheRootsOfAnyColumnInAnyOrder) {
    using T = TypeParam;
    Random random(5);
    for (const TwiddleForm form :
         {TwiddleForm{index_t{1} << 27, 512, false, 1}, TwiddleForm{8192 * 30030, 8192, true, 0.5L},
          TwiddleForm{1 << 18, 96, false, 1}, TwiddleForm{1 << 10, 8, true, 1}}) {
        auto made = ColumnTwiddles<T>::make(form);
        ASSERT_TRUE(made.ok());
        const ColumnTwiddles<T>& twiddles = made.value();
        const auto bytes = static_cast<size_t>(form.thread_bytes(ColumnTwiddles<T>::kPrecision));
        std::vector<char> memory(bytes + 64), other_memory(bytes + 64);
        const auto aligned = [](std::vector<char>& of) {
            return reinterpret_cast<char*>(round_up(static_cast<index_t>(reinterpret_cast<uintptr_t>(of.data())), 64));
        };
        auto thread = twiddles.in_memory(aligned(memory)), other = twiddles.in_memory(aligned(other_memory));
        const index_t columns = form.n / form.rows;
        const long double allowed = 2 * static_cast<long double>(std::numeric_limits<T>::epsilon()) * form.scale;
        for (int i = 0; i < 200; ++i) {
            const index_t column = i < 40 ? i : random.below(columns);  // neighbours, and others
            const Pair<T>* const factors = twiddles.of_column(column, thread);
            for (int k = 0; k < 20; ++k)
                ASSERT_LE(error_of(form, factors, column, random.below(form.rows)), allowed) << "column " << column;
            // By a thread that did another column of the same lanes, or of others.
            (void)twiddles.of_column(column / 16 * 16 + random.below(16), other);
            const Pair<T>* const again = twiddles.of_column(column, other);
            for (index_t k = 0; k < form.elems(); ++k) {
                ASSERT_EQ(factors[k].re, again[k].re);
                ASSERT_EQ(factors[k].im, again[k].im);
            }
        }
    }
}

TEST(TwiddleForm, SharesWhatIsLookedUpWhereTheTableIsSmallByTheRoots) {
    const TwiddleForm large{index_t{1} << 27, 512}, small{10000, 4};
    EXPECT_EQ(large.lanes(Precision::single), 16);
    EXPECT_EQ(large.lanes(Precision::dbl), 16);
    EXPECT_EQ(large.lanes(Precision::extended), 1);
    EXPECT_EQ(small.lanes(Precision::single), 1);
    EXPECT_EQ(small.table_bytes(Precision::dbl), RootTable::bytes(10000));
    EXPECT_LE(large.table_bytes(Precision::dbl), RootTable::bytes(large.n) * 5 / 4);
    EXPECT_EQ(TwiddleForm().table_bytes(Precision::dbl) + TwiddleForm().thread_bytes(Precision::dbl), 0);
}

}  // namespace
}  // namespace spanfft::test
