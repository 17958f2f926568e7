// Rows times their twiddle factors (core/twiddles.hpp) against roots of unity in long double, which
// root_of_unity_test.cpp holds against sums in 113 bits.
#include "core/twiddles.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "core/stream_copy.hpp"

namespace spanfft {
namespace {

// The relative L2 error, in eps, of a row of `points` numbers j of a transform of n; -1 where more was written than it.
template <class T>
double row_error(index_t n, index_t j, index_t points, Precision precision, bool backward, double factor,
                 index_t shift_elems, bool stream, int width) {
    const Twiddles twiddles = Twiddles::make(n, precision, backward, width).value();
    const auto row = Twiddles::Row::make(points, precision).value();
    std::vector<Pair<T>> from(static_cast<size_t>(points)), memory(static_cast<size_t>(points + 24), {7, 7});
    for (index_t k = 0; k < points; ++k) {
        from[static_cast<size_t>(k)] = {static_cast<T>((k * 37 + 11) % 101) / 64 - T(0.75),
                                        static_cast<T>((k * 53 + 29) % 97) / 64 - T(0.75)};
    }
    const auto past = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
    const index_t origin = (past ? (64 - past) / static_cast<index_t>(sizeof(Pair<T>)) : 0) + shift_elems;
    Pair<T>* const to = memory.data() + origin;
    twiddles.multiply_row(row, j, points, factor, from.data(), to, stream);
    stream_fence();
    long double error = 0, norm = 0;
    for (index_t k = 0; k < points; ++k) {
        Pair<long double> w = unit_root(product_mod(j % n, k, n), n);
        if (!backward) w.im = -w.im;
        const Pair<T>& x = from[static_cast<size_t>(k)];
        Pair<long double> exact = multiply(Pair<long double>{x.re, x.im}, w);
        exact = {exact.re * factor, exact.im * factor};
        const long double re = to[k].re - exact.re, im = to[k].im - exact.im;
        error += re * re + im * im;
        norm += exact.re * exact.re + exact.im * exact.im;
    }
    for (index_t i = 0; i < static_cast<index_t>(memory.size()); ++i) {
        const Pair<T>& around = memory[static_cast<size_t>(i)];
        if ((i < origin || i >= origin + points) && (around.re != 7 || around.im != 7)) return -1;
    }
    return static_cast<double>(std::sqrt(error / norm)) / static_cast<double>(std::numeric_limits<T>::epsilon());
}

// Seven roundings of eps / sqrt(12), in both parts alike, are 0.76 in the mean of a row; a number alone may have more.
double most_eps(index_t points) { return points >= 63 ? 0.9 : 2; }

TEST(Twiddles, RowsAreRightToAFewRoundingsAtEveryWidthOfRegisters) {
    for (int width = 16; width <= vector_bytes(); width *= 2) {
        for (const index_t points : {1, 3, 63, 64, 65, 200, 1000}) {
            for (const index_t shift : {0, 1, 3}) {
                for (const bool stream : {false, true}) {
                    const index_t n = points * 1021, j = 977;
                    SCOPED_TRACE(testing::Message() << width << " " << points << " " << shift << " " << stream);
                    for (const bool backward : {false, true}) {
                        const double wide =
                            row_error<double>(n, j, points, Precision::dbl, backward, 1 / 3.0, shift, stream, width);
                        EXPECT_LE(wide, most_eps(points));
                        EXPECT_GE(wide, 0);
                        const double narrow =
                            row_error<float>(n, j, points, Precision::single, backward, 1 / 3.0, shift, stream, width);
                        EXPECT_LE(narrow, most_eps(points));
                        EXPECT_GE(narrow, 0);
                    }
                }
            }
        }
    }
}

TEST(Twiddles, LongTransformsLoseNoDigits) {
    for (const index_t n : {index_t{1} << 24, index_t{1} << 40, index_t{3} * 3 * 3 * 1000003}) {
        for (const index_t j : {index_t{0}, index_t{1}, index_t{4095}, n - 1}) {
            EXPECT_LE(row_error<double>(n, j, 4096, Precision::dbl, false, 1, 0, true, vector_bytes()), most_eps(4096));
        }
    }
}

// The roots that they are held against are themselves rounded to long double.
TEST(Twiddles, RowsOfLongDoublesAreRightToAFewRoundings) {
    for (const index_t points : {1, 3, 63, 64, 65, 200, 1000}) {
        for (const index_t shift : {0, 1, 3}) {
            for (const bool backward : {false, true}) {
                const double error = row_error<long double>(points * 1021, 977, points, Precision::extended, backward,
                                                            1 / 3.0, shift, shift == 1, vector_bytes());
                EXPECT_LE(error, most_eps(points) + 0.5) << points;
                EXPECT_GE(error, 0);
            }
        }
    }
}

TEST(Twiddles, RowZeroIsACopy) {
    EXPECT_EQ(row_error<double>(4096, 0, 100, Precision::dbl, false, 1, 0, false, vector_bytes()), 0);
    EXPECT_EQ(row_error<float>(4096, 0, 100, Precision::single, true, 1, 2, true, vector_bytes()), 0);
}

// The relative L2 error, in eps, of two rows that are folded, against the formula in long double.
template <class T>
double fold_error(index_t n, const Twiddles::Fold& fold, index_t points, Precision precision, int width) {
    const Twiddles twiddles = Twiddles::make(n, precision, true, width).value();
    const auto row = Twiddles::Row::make(points, precision).value();
    std::vector<Pair<T>> a(static_cast<size_t>(points)), b(a.size());
    for (index_t k = 0; k < points; ++k) {
        const auto i = static_cast<size_t>(k);
        a[i] = {static_cast<T>((k * 37 + 11) % 101) / 64 - T(0.75), static_cast<T>((k * 53 + 29) % 97) / 64 - T(0.75)};
        b[i] = {static_cast<T>((k * 41 + 3) % 103) / 64 - T(0.75), static_cast<T>((k * 59 + 2) % 89) / 64 - T(0.75)};
    }
    const auto p = a, q = b;
    twiddles.fold_rows(row, fold, points, a.data(), b.data());
    long double error = 0, norm = 0;
    const auto compare = [&](const Pair<T>& got, long double re, long double im) {
        error += (got.re - re) * (got.re - re) + (got.im - im) * (got.im - im);
        norm += re * re + im * im;
    };
    for (index_t k = 0; k < points; ++k) {
        const auto i = static_cast<size_t>(k), j = static_cast<size_t>(points - 1 - k);
        const Pair<long double> w = unit_root((fold.start + product_mod(fold.j, k, n)) % n, n);
        const Pair<long double> d = multiply(w, Pair<long double>{fold.factor.re, fold.factor.im});
        const Pair<long double> difference{static_cast<long double>(p[i].re) - q[j].re,
                                           static_cast<long double>(p[i].im) + q[j].im};
        const Pair<long double> o = multiply(d, difference);
        const long double re = fold.s * (static_cast<long double>(p[i].re) + q[j].re),
                          im = fold.s * (static_cast<long double>(p[i].im) - q[j].im);
        compare(a[i], re + o.re, im + o.im);
        compare(b[j], re - o.re, o.im - im);
    }
    return static_cast<double>(std::sqrt(error / norm)) / static_cast<double>(std::numeric_limits<T>::epsilon());
}

TEST(Twiddles, RowsAreFoldedToAFewRoundingsAtEveryWidthOfRegisters) {
    for (int width = 16; width <= vector_bytes(); width *= 2) {
        for (const index_t points : {1, 2, 7, 63, 64, 65, 200, 1000}) {
            for (const Pair<double>& factor : {Pair<double>{0, -0.5}, Pair<double>{0, 1}}) {
                SCOPED_TRACE(testing::Message() << width << " " << points << " " << factor.im);
                const Twiddles::Fold fold{17, 1021, factor.im < 0 ? 0.5 : 1, factor};
                const index_t n = 2 * 1021 * points;
                EXPECT_LE(fold_error<double>(n, fold, points, Precision::dbl, width), most_eps(points));
                EXPECT_LE(fold_error<float>(n, fold, points, Precision::single, width), most_eps(points));
            }
        }
    }
}

}  // namespace
}  // namespace spanfft
