// Every kernel as one sum, the definition that checks and short transforms are computed from.
//
// Method: out[k] = sum over j of w(j) in[j] e^(sign 2 pi i a(j) b(k) / C), of which r2r and c2r keep one part; a and b
// are affine, so phases are exact integers mod C, and a root of unity is right to a rounding of long double.
// Example: dct2 is 2 cos(pi (2j+1) k / 2n): a = 2j+1, b = k, C = 4n, the real part, weight 2.
#pragma once

#include <complex>

#include "core/root_of_unity.hpp"
#include "engine/spec.hpp"

namespace spanfft::kernel_sum {

using Real = long double;
using Complex = std::complex<long double>;

enum class Part { both, real, imaginary };

struct Form {
    Kernel kernel;
    index_t n;
    index_t circle;
    index_t a0, a1, b0, b1;
    index_t inputs, outputs;
    int sign;
    Part part;
};

inline Form form_of(Kernel kernel, index_t n) {
    const index_t half = n / 2 + 1;
    switch (kernel) {
        case Kernel::c2c_forward:
            return {kernel, n, n, 0, 1, 0, 1, n, n, -1, Part::both};
        case Kernel::c2c_backward:
            return {kernel, n, n, 0, 1, 0, 1, n, n, +1, Part::both};
        case Kernel::r2c:
            return {kernel, n, n, 0, 1, 0, 1, n, half, -1, Part::both};
        case Kernel::c2r:
            return {kernel, n, n, 0, 1, 0, 1, half, n, +1, Part::real};
        case Kernel::dct1:
            return {kernel, n, 2 * (n - 1), 0, 1, 0, 1, n, n, +1, Part::real};
        case Kernel::dct2:
            return {kernel, n, 4 * n, 1, 2, 0, 1, n, n, +1, Part::real};
        case Kernel::dct3:
            return {kernel, n, 4 * n, 0, 1, 1, 2, n, n, +1, Part::real};
        case Kernel::dct4:
            return {kernel, n, 8 * n, 1, 2, 1, 2, n, n, +1, Part::real};
        case Kernel::dst1:
            return {kernel, n, 2 * (n + 1), 1, 1, 1, 1, n, n, +1, Part::imaginary};
        case Kernel::dst2:
            return {kernel, n, 4 * n, 1, 2, 1, 1, n, n, +1, Part::imaginary};
        case Kernel::dst3:
            return {kernel, n, 4 * n, 1, 1, 1, 2, n, n, +1, Part::imaginary};
        case Kernel::dst4:
            break;
    }
    return {kernel, n, 8 * n, 1, 2, 1, 2, n, n, +1, Part::imaginary};
}

inline Real weight(const Form& form, index_t j) {
    if (form.part == Part::both) return 1;
    const bool first =
        j == 0 && (form.kernel == Kernel::c2r || form.kernel == Kernel::dct1 || form.kernel == Kernel::dct3);
    const bool last = (form.kernel == Kernel::dct1 && j == form.n - 1) ||
                      (form.kernel == Kernel::dst3 && j == form.n - 1) ||
                      (form.kernel == Kernel::c2r && 2 * j == form.n);
    return first || last ? 1 : 2;
}

// Whether the imaginary part of input j takes part: not where a Hermitian spectrum is real.
inline bool has_imaginary(const Form& form, index_t j) {
    return complex_input(form.kernel) && !(form.kernel == Kernel::c2r && (j == 0 || 2 * j == form.n));
}

// e^(sign 2 pi i e / circle) of a form.
inline Complex root_of(const Form& form, index_t e) {
    const auto root = unit_root(e, form.circle);
    return {root.re, static_cast<Real>(form.sign) * root.im};
}

}  // namespace spanfft::kernel_sum
