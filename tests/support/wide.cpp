// Sine and cosine in 113 bits; see wide.hpp.
#include "support/wide.hpp"

#include <array>

namespace spanfft::test {

namespace {

const Wide kPi = static_cast<Wide>(3.141592653589793238462643383279502884L) +
                 static_cast<Wide>(-5.0165576126683320235e-20L);  // pi minus its long double value

// +-1/k!, the signs of cosine's and sine's terms. (pi/4)^32 / 32! is below 2^-125.
constexpr int kTerms = 32;
const std::array<Wide, kTerms> kSeries = [] {
    std::array<Wide, kTerms> series{};
    Wide factorial = 1;
    for (int k = 0; k < kTerms; factorial *= static_cast<Wide>(++k)) {
        series[static_cast<size_t>(k)] = (k / 2 % 2 ? -1 : 1) / factorial;
    }
    return series;
}();

}  // namespace

WideComplex turn(index_t numerator, index_t denominator) {
    const index_t full = 2 * denominator;
    numerator = ((numerator % full) + full) % full;
    // Nearest multiple of pi/2: numerator/denominator*2 rounded.
    const index_t quarters = (4 * numerator + denominator) / (2 * denominator);
    const Wide x = kPi * static_cast<Wide>(2 * numerator - quarters * denominator) / static_cast<Wide>(full);
    const Wide square = x * x;
    Wide cosine = 0, sine = 0;
    for (size_t k = kTerms; k > 0; k -= 2) {
        cosine = cosine * square + kSeries[k - 2];
        sine = sine * square + kSeries[k - 1];
    }
    sine *= x;
    switch (quarters % 4) {
        case 0:
            return {cosine, sine};
        case 1:
            return {-sine, cosine};
        case 2:
            return {-cosine, -sine};
        default:
            return {sine, -cosine};
    }
}

}  // namespace spanfft::test
