// The oracle's fast way (support/fast_sum.hpp) against the oracle's definition, and the definition against
// sums done by hand.
#include "support/direct_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "support/random.hpp"

namespace spanfft::test {
namespace {

constexpr Kernel kKernels[] = {Kernel::c2c_forward, Kernel::c2c_backward, Kernel::r2c,  Kernel::c2r,
                               Kernel::dct1,        Kernel::dct2,         Kernel::dct3, Kernel::dct4,
                               Kernel::dst1,        Kernel::dst2,         Kernel::dst3, Kernel::dst4};

std::vector<WideComplex> noise(Kernel kernel, index_t n, Random& random) {
    std::vector<WideComplex> in(static_cast<size_t>(kernel == Kernel::c2r ? n / 2 + 1 : n));
    for (WideComplex& x : in) {
        x.re = static_cast<Wide>(random.noise());
        if (kernel <= Kernel::c2c_backward || kernel == Kernel::c2r) x.im = static_cast<Wide>(random.noise());
    }
    return in;
}

// A hundredth of long double's rounding, which is the smallest that is ever held against it.
TEST(DirectSum, AllOutputsAtOnceAreTheDefinition) {
    Random random(61);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (const Kernel kernel : kKernels) {
        for (const index_t n :
             {kShort, kShort + 1, kShort + 2, index_t{25}, index_t{31}, index_t{32}, index_t{33}, index_t{45},
              index_t{64}, index_t{77}, index_t{97}, index_t{120}, index_t{128}, index_t{129}, index_t{169}}) {
            const auto in = noise(kernel, n, random);
            std::vector<WideComplex> definition;
            const auto all = direct_sum(kernel, n, in);
            for (index_t k = 0; k < static_cast<index_t>(all.size()); ++k)
                definition.push_back(direct_output(kernel, n, in, k));
            ASSERT_EQ(all.size(), static_cast<size_t>(kernel == Kernel::r2c ? n / 2 + 1 : n));
            EXPECT_LE(relative_error(all, definition), std::numeric_limits<long double>::epsilon() / 100)
                << kernel_name(kernel) << " " << n;
        }
    }
}

TEST(DirectSum, TonesAreTheDefinition) {
    for (const index_t n : {1, 2, 97, 1000, 20011}) {
        const std::vector<index_t> places{0, n / 3, n - 1};
        const std::vector<WideComplex> heights{{3, -1}, {Wide(0.5), 2}, {-7, Wide(0.25)}};
        std::vector<WideComplex> in(static_cast<size_t>(n)), some, definition;
        for (size_t i = 0; i < places.size(); ++i) {
            in[static_cast<size_t>(places[i])].re += heights[i].re;
            in[static_cast<size_t>(places[i])].im += heights[i].im;
        }
        const auto all = tones(n, places, heights);
        for (index_t k = 0; k < n; k += 1 + n / 50) {
            some.push_back(all[static_cast<size_t>(k)]);
            definition.push_back(direct_output(Kernel::c2c_forward, n, in, k));
        }
        EXPECT_LE(relative_error(some, definition), 1e-17) << n;
    }
}

TEST(DirectSum, LongLinesToo) {
    Random random(62);
    SCOPED_TRACE(cat("seed ", random.seed()));
    const index_t n = 20011;  // a prime
    const auto in = noise(Kernel::c2c_forward, n, random);
    const auto all = direct_sum(Kernel::c2c_forward, n, in);
    std::vector<WideComplex> some, definition;
    for (const index_t k : {index_t{0}, index_t{1}, n / 3, n / 2, n - 1}) {
        some.push_back(all[static_cast<size_t>(k)]);
        definition.push_back(direct_output(Kernel::c2c_forward, n, in, k));
    }
    EXPECT_LE(relative_error(some, definition), std::numeric_limits<long double>::epsilon() / 100);
}

// By powers of a factor and by a table of factors, for every kind.
TEST(DirectSum, SomeOutputsOfALongSumAreThoseOfTheDefinition) {
    Random random(64);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (const Kernel kernel : kKernels) {
        const index_t n = 3001;
        const auto in = noise(kernel, n, random);
        const std::vector<index_t> bins{0, 1, 700, n / 2};
        std::vector<WideComplex> definition;
        for (const index_t k : bins) definition.push_back(direct_output(kernel, n, in, k));
        EXPECT_LE(relative_error(long_outputs(kernel, n, in, bins), definition), 1e-17) << kernel_name(kernel);
    }
}

// Of 1, 2, 3, by the formulas of FFTW's manual, section 4.8, worked out by hand.
TEST(DirectSum, TheDefinitionGivesWhatTheFormulasGive) {
    const double r2 = std::sqrt(2.0), r3 = std::sqrt(3.0), r6 = std::sqrt(6.0);
    const auto expect = [&](Kernel kernel, const std::vector<WideComplex>& in,
                            const std::vector<std::complex<double>>& wanted) {
        for (size_t k = 0; k < wanted.size(); ++k) {
            const WideComplex got = direct_output(kernel, 3, in, static_cast<index_t>(k));
            EXPECT_NEAR(static_cast<double>(got.re), wanted[k].real(), 1e-14) << kernel_name(kernel) << " " << k;
            EXPECT_NEAR(static_cast<double>(got.im), wanted[k].imag(), 1e-14) << kernel_name(kernel) << " " << k;
        }
    };
    const std::vector<WideComplex> in{{1, 0}, {2, 0}, {3, 0}};
    expect(Kernel::c2c_forward, in, {6, {-1.5, r3 / 2}, {-1.5, -r3 / 2}});
    expect(Kernel::c2c_backward, in, {6, {-1.5, -r3 / 2}, {-1.5, r3 / 2}});
    expect(Kernel::r2c, in, {6, {-1.5, r3 / 2}});
    expect(Kernel::c2r, {{6, 0}, {-1.5, r3 / 2}}, {3, 6, 9});
    expect(Kernel::dct1, in, {8, -2, 0});
    expect(Kernel::dct2, in, {12, -2 * r3, 0});
    expect(Kernel::dct3, in, {4 + 2 * r3, -5, 4 - 2 * r3});
    expect(Kernel::dct4, in, {2 * r6 + r2, -4 * r2, 2 * r6 - r2});
    expect(Kernel::dst1, in, {4 * r2 + 4, -4, 4 * r2 - 4});
    expect(Kernel::dst2, in, {8, -2 * r3, 4});
    expect(Kernel::dst3, in, {4 + 2 * r3, -1, 4 - 2 * r3});
    expect(Kernel::dst4, in, {2 * r6 + 3 * r2, 0, 2 * r6 - 3 * r2});
}

}  // namespace
}  // namespace spanfft::test
