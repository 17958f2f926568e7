// Shapes, strides and 64-bit index arithmetic that can't overflow silently.
//
// Invariant: every count of elements or bytes in spanfft is an index_t; products go through checked_product
// at the edge where a shape enters, so that inner code may multiply freely.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spanfft {

using index_t = std::int64_t;
using Extents = std::vector<index_t>;  // one entry an axis, slowest first (C order)

constexpr int kMaxNdim = 6;  // axes of a problem; a batch adds one more inside

// a*b or nothing when it exceeds 63 bits. Both must be >= 0.
std::optional<index_t> checked_mul(index_t a, index_t b);
std::optional<index_t> checked_product(const Extents& extents);

// Product of extents that are known to fit; the empty product is 1.
index_t product(const Extents& extents);
index_t product(const Extents& extents, int begin, int end);

// C-order strides in elements: row_major_strides({2,3,4}) == {12,4,1}.
Extents row_major_strides(const Extents& shape);

constexpr index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }
constexpr index_t round_up(index_t a, index_t multiple) { return ceil_div(a, multiple) * multiple; }

std::string shape_string(const Extents& shape);  // "256x256x129"

// Largest prime factor (1 for n <= 1), and all prime factors in rising order.
index_t largest_prime_factor(index_t n);
std::vector<index_t> prime_factors(index_t n);
std::vector<index_t> divisors(index_t n);  // rising, 1 and n among them

}  // namespace spanfft
