// The oracle's numbers: wider than any precision under test, so that what they round can't be seen in a comparison.
#pragma once

#include "core/extents.hpp"

namespace spanfft::test {

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Wide;
#else
using Wide = long double;
#endif

struct WideComplex {
    Wide re = 0;
    Wide im = 0;
};

inline WideComplex operator*(const WideComplex& a, const WideComplex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// e^(i pi numerator / denominator), any sign; the angle is brought below pi/4 in integers, then summed as a series.
WideComplex turn(index_t numerator, index_t denominator);

}  // namespace spanfft::test
