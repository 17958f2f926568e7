// The inner loops of disk passes: moving strided columns into cache-sized tiles and back, and the twiddle factors
// between the two passes of a long 1-D transform.
//
// Method: a tile holds a few whole columns, each contiguous, so that the engine sees unit stride. Twiddles
// W^(column*row), W = exp(-+2 pi i/n), are a product of two factors, one for a chunk of 64 rows and one for the row
// in the chunk; both come from a two-level table in long double and are rounded once, so that the error per factor
// is that of two roundings and a product, whatever n is. The scale of the transform rides on the chunk's factor.
// Invariant: tables take O(sqrt n) memory; nothing here allocates after construction.
#pragma once

#include <cmath>
#include <cstring>
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

// exp(2 pi i e/n) to about one long double rounding: the angle is brought into the first octant in integers.
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
    // exp(2 pi i e/n) for 0 <= e < n.
    Pair<long double> at(index_t e) const {
        const auto* roots = buffer_.as<Pair<long double>>();
        return multiply(roots[e & (side_ - 1)], roots[side_ + e / side_]);
    }
    index_t n() const { return n_; }

  private:
    Buffer buffer_;
    index_t n_ = 1, side_ = 1;
};

constexpr index_t kTwiddleChunk = 64;

// Factors of one column: chunk factors for `rows` rows and the 64 of a chunk, in `factors` (see twiddle_elems).
inline index_t twiddle_elems(index_t rows) { return kTwiddleChunk + ceil_div(rows, kTwiddleChunk); }

template <class T>
void make_twiddles(const RootTable& roots, index_t column, index_t rows, bool backward, long double scale,
                   Pair<T>* factors) {
    const index_t n = roots.n();
    const long double sign = backward ? 1 : -1;
    const auto fill = [&](Pair<T>* to, index_t count, index_t step, long double factor) {
        for (index_t i = 0, e = 0; i < count; ++i) {
            const Pair<long double> root = roots.at(e);
            to[i] = {static_cast<T>(factor * root.re), static_cast<T>(factor * sign * root.im)};
            e += step;
            if (e >= n) e -= n;
        }
    };
    fill(factors, std::min(kTwiddleChunk, rows), column % n, 1);
    const index_t chunk_step = product_mod(column, kTwiddleChunk, n);
    fill(factors + kTwiddleChunk, ceil_div(rows, kTwiddleChunk), chunk_step, scale);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SPANFFT_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define SPANFFT_CLONES
#endif

// to[i] = from[i] * factor of row begin+i, for rows begin..end of the column.
template <class T>
inline void twiddle_rows(const Pair<T>* __restrict from, const Pair<T>* __restrict factors, index_t begin, index_t end,
                         Pair<T>* __restrict to) {
    for (index_t r = begin; r < end;) {
        const index_t stop = std::min(end, (r / kTwiddleChunk + 1) * kTwiddleChunk);
        const Pair<T> chunk = factors[kTwiddleChunk + r / kTwiddleChunk];
        const Pair<T>* inner = factors + r % kTwiddleChunk;
        for (index_t i = 0; i < stop - r; ++i) {
            const T re = chunk.re * inner[i].re - chunk.im * inner[i].im;
            const T im = chunk.re * inner[i].im + chunk.im * inner[i].re;
            const Pair<T> x = from[r - begin + i];
            to[r - begin + i] = {x.re * re - x.im * im, x.re * im + x.im * re};
        }
        r = stop;
    }
}

// Copies `width` neighbouring elements at `from` to element `point` of each of `width` tile columns.
template <class E>
inline void into_tile(const E* from, index_t width, E* tile, index_t pitch_elems, index_t point) {
    for (index_t j = 0; j < width; ++j) tile[j * pitch_elems + point] = from[j];
}

template <class E>
inline void from_tile(const E* tile, index_t pitch_elems, index_t point, index_t width, E* to) {
    for (index_t j = 0; j < width; ++j) to[j] = tile[j * pitch_elems + point];
}

}  // namespace spanfft
