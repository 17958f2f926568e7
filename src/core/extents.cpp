// Shape arithmetic; see extents.hpp.
#include "core/extents.hpp"

#include <cassert>

namespace spanfft {

std::optional<index_t> checked_mul(index_t a, index_t b) {
    index_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
    return result;
}

std::optional<index_t> checked_product(const Extents& extents) {
    index_t result = 1;
    for (index_t n : extents) {
        if (n == 0) return 0;
    }
    for (index_t n : extents) {
        auto next = checked_mul(result, n);
        if (!next) return std::nullopt;
        result = *next;
    }
    return result;
}

index_t product(const Extents& extents) { return product(extents, 0, static_cast<int>(extents.size())); }

index_t product(const Extents& extents, int begin, int end) {
    index_t result = 1;
    for (int i = begin; i < end; ++i) result *= extents[static_cast<size_t>(i)];
    return result;
}

Extents row_major_strides(const Extents& shape) {
    Extents strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

std::string shape_string(const Extents& shape) {
    std::string text;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (i) text += 'x';
        text += std::to_string(shape[i]);
    }
    return text;
}

std::vector<index_t> prime_factors(index_t n) {
    assert(n >= 0);
    std::vector<index_t> factors;
    for (index_t p = 2; p * p <= n; p += (p == 2 ? 1 : 2)) {
        while (n % p == 0) {
            factors.push_back(p);
            n /= p;
        }
    }
    if (n > 1) factors.push_back(n);
    return factors;
}

index_t largest_prime_factor(index_t n) {
    auto factors = prime_factors(n);
    return factors.empty() ? 1 : factors.back();
}

}  // namespace spanfft
