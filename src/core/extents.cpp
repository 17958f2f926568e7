// Shape arithmetic; see extents.hpp.
#include "core/extents.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

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

namespace {

__extension__ using Wide = unsigned __int128;

uint64_t times(uint64_t a, uint64_t b, uint64_t n) { return static_cast<uint64_t>(static_cast<Wide>(a) * b % n); }

uint64_t power(uint64_t base, uint64_t exponent, uint64_t n) {
    uint64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = times(base, base, n)) {
        if (exponent % 2 == 1) result = times(result, base, n);
    }
    return result;
}

// Miller and Rabin's test; with the first twelve primes as bases it errs at no number below 2^64 (Sorenson and Webster
// 2015). n is odd and has no factor up to 37.
bool is_prime(uint64_t n) {
    const int twos = __builtin_ctzll(n - 1);
    for (uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
        uint64_t x = power(base, (n - 1) >> twos, n);
        bool passes = x == 1 || x == n - 1;
        for (int i = 1; i < twos && !passes; ++i) {
            x = times(x, x, n);
            passes = x == n - 1;
        }
        if (!passes) return false;
    }
    return true;
}

// A factor of an odd composite n by Pollard's rho, in about the root of its smallest prime factor steps.
uint64_t proper_factor(uint64_t n) {
    for (uint64_t c = 1;; ++c) {
        const auto next = [&](uint64_t x) { return (times(x, x, n) + c) % n; };
        uint64_t slow = 2, fast = 2, common = 1;
        while (common == 1) {
            slow = next(slow);
            fast = next(next(fast));
            common = std::gcd(slow > fast ? slow - fast : fast - slow, n);
        }
        if (common != n) return common;
    }
}

void add_large_factors(index_t n, std::vector<index_t>& factors) {
    if (n == 1) return;
    if (is_prime(static_cast<uint64_t>(n))) {
        factors.push_back(n);
        return;
    }
    const auto factor = static_cast<index_t>(proper_factor(static_cast<uint64_t>(n)));
    add_large_factors(factor, factors);
    add_large_factors(n / factor, factors);
}

}  // namespace

// Small primes by division; what is left, by rho: a prime near 2^63 would take seconds of divisions.
std::vector<index_t> prime_factors(index_t n) {
    assert(n >= 0);
    constexpr index_t kDivided = 1000;
    std::vector<index_t> factors;
    for (index_t p = 2; p <= kDivided && p * p <= n; p += (p == 2 ? 1 : 2)) {
        while (n % p == 0) {
            factors.push_back(p);
            n /= p;
        }
    }
    if (n > 1 && n < kDivided * kDivided) {
        factors.push_back(n);
    } else if (n > 1) {
        const auto small = static_cast<std::ptrdiff_t>(factors.size());
        add_large_factors(n, factors);
        std::sort(factors.begin() + small, factors.end());
    }
    return factors;
}

index_t largest_prime_factor(index_t n) {
    auto factors = prime_factors(n);
    return factors.empty() ? 1 : factors.back();
}

std::vector<index_t> divisors(index_t n) {
    std::vector<index_t> all{1};
    index_t previous = 0, power_from = 0;
    for (index_t p : prime_factors(n)) {
        const index_t from = p == previous ? power_from : 0;
        const auto size = static_cast<index_t>(all.size());
        for (index_t i = from; i < size; ++i) all.push_back(all[static_cast<size_t>(i)] * p);
        power_from = size;
        previous = p;
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace spanfft
