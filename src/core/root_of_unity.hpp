// Roots of unity e^(2 pi i e / n) to about one rounding of long double, one at a time or from a table.
//
// Method: the angle is brought into the first eighth of the circle in integers, where no bits of it are lost, so that
// cos and sin of it are right to a rounding whatever n is, and quarters of a turn are exact. A table has two levels of
// about sqrt(n) roots, of which each root is a product: e = low + side * high.
// Worked: n = 100: side = 16; e = 37 = 5 + 16 * 2 is low[5] * high[2], high[2] = root 32.
// Invariant: tables take O(sqrt n) memory; nothing here allocates after construction.
#pragma once

#include <cmath>
#include <numbers>

#include "core/buffer.hpp"
#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

__extension__ using WideInt = unsigned __int128;  // products of two indices

template <class T>
struct Pair {  // (re, im), laid out as std::complex, without its rules for infinities
    T re, im;
};

template <class A>
inline Pair<A> multiply(const Pair<A>& x, const Pair<A>& y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

inline index_t product_mod(index_t a, index_t b, index_t n) {
    return static_cast<index_t>(static_cast<WideInt>(a) * static_cast<WideInt>(b) % static_cast<WideInt>(n));
}

// e^(2 pi i e/n) for 0 <= e < n.
inline Pair<long double> unit_root(index_t e, index_t n) {
    const WideInt eighths = WideInt{8} * static_cast<WideInt>(e);
    const int octant = static_cast<int>(eighths / static_cast<WideInt>(n));
    WideInt rest = eighths % static_cast<WideInt>(n);  // of n, in an octant of pi/4
    if (octant & 1) rest = static_cast<WideInt>(n) - rest;
    const long double angle =
        std::numbers::pi_v<long double> / 4 * (static_cast<long double>(rest) / static_cast<long double>(n));
    long double c = std::cos(angle), s = std::sin(angle);
    // Octants 0..7 from the first one by reflection: 1: (s, c), 2: (-s, c), 3: (-c, s), 4: (-c, -s), ...
    switch (octant) {
        case 0:
            return {c, s};
        case 1:
            return {s, c};
        case 2:
            return {-s, c};
        case 3:
            return {-c, s};
        case 4:
            return {-c, -s};
        case 5:
            return {-s, -c};
        case 6:
            return {s, -c};
        default:
            return {c, -s};
    }
}

class RootTable {
  public:
    static index_t side(index_t n) {  // entries of each level: the power of two at or above sqrt(n)
        index_t s = 1;
        while (s * s < n) s *= 2;
        return s;
    }
    static index_t bytes(index_t n) { return 2 * side(n) * static_cast<index_t>(sizeof(Pair<long double>)); }
    static Result<RootTable> make(index_t n) {
        RootTable table;
        table.n_ = n;
        table.side_ = side(n);
        SPANFFT_ASSIGN(table.buffer_, Buffer::allocate(static_cast<size_t>(bytes(n))));
        auto* roots = table.buffer_.template as<Pair<long double>>();
        for (index_t i = 0; i < table.side_; ++i) {
            roots[i] = unit_root(i % n, n);
            roots[table.side_ + i] = unit_root(product_mod(i, table.side_, n), n);
        }
        return table;
    }
    // e^(2 pi i e/n) for 0 <= e < n.
    Pair<long double> at(index_t e) const {
        const auto* roots = buffer_.as<Pair<long double>>();
        return multiply(roots[e & (side_ - 1)], roots[side_ + e / side_]);
    }
    index_t n() const { return n_; }

  private:
    Buffer buffer_;
    index_t n_ = 1, side_ = 1;
};

}  // namespace spanfft
