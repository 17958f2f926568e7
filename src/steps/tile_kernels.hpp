// The inner loops of a tile: moving strided columns into cache-sized tiles and back, and the twiddle factors
// between the two factors of a long 1-D transform.
//
// Method: a tile holds a few whole columns, each contiguous, so that the engine sees unit stride. Twiddles
// W^(column*row), W = exp(-+2 pi i/n), are a product of two factors, one for a chunk of rows and one for the row in
// the chunk; both come from a table of exact roots and are rounded once, so that the error per factor is that of two
// roundings and a product, whatever n is. The scale of the transform rides on the chunk's factor.
// Invariant: nothing here allocates.
#pragma once

#include <algorithm>

#include "core/extents.hpp"
#include "core/root_of_unity.hpp"

namespace spanfft {

constexpr index_t kTwiddleChunk = 64;

// Rows a chunk with which so many rows have about the fewest factors, of which each is a long double root. Below 16 the
// loops over a chunk would be too short.
inline index_t best_twiddle_chunk(index_t rows) { return std::max<index_t>(16, RootTable::side(rows)); }

// Factors W^(first + column*row) of one column: those of the rows of a chunk and one for each chunk, in `factors` (see
// twiddle_elems).
inline index_t twiddle_elems(index_t rows, index_t chunk = kTwiddleChunk) { return chunk + ceil_div(rows, chunk); }

template <class T>
void make_twiddles(const RootTable& roots, index_t column, index_t rows, bool backward, long double scale,
                   Pair<T>* factors, index_t first = 0, index_t chunk = kTwiddleChunk) {
    const index_t n = roots.n();
    const long double sign = backward ? 1 : -1;
    const auto fill = [&](Pair<T>* to, index_t count, index_t begin, index_t step, long double factor) {
        for (index_t i = 0, e = begin; i < count; ++i) {
            const Pair<long double> root = roots.at(e);
            to[i] = {static_cast<T>(factor * root.re), static_cast<T>(factor * sign * root.im)};
            e += step;
            if (e >= n) e -= n;
        }
    };
    fill(factors, std::min(chunk, rows), 0, column % n, 1);
    fill(factors + chunk, ceil_div(rows, chunk), first % n, product_mod(column, chunk, n), scale);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SPANFFT_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define SPANFFT_CLONES
#endif

// to[i] = from[i] * factor of row begin+i, for rows begin..end of the column. Returns the bytes that it wrote.
template <class T>
inline index_t twiddle_rows(const Pair<T>* __restrict from, const Pair<T>* __restrict factors, index_t begin,
                            index_t end, Pair<T>* __restrict to, index_t chunk = kTwiddleChunk) {
    index_t rows = 0;
    for (index_t r = begin; r < end;) {
        const index_t stop = std::min(end, (r / chunk + 1) * chunk);
        const Pair<T> outer = factors[chunk + r / chunk];
        const Pair<T>* inner = factors + r % chunk;
        for (index_t i = 0; i < stop - r; ++i) {
            const T re = outer.re * inner[i].re - outer.im * inner[i].im;
            const T im = outer.re * inner[i].im + outer.im * inner[i].re;
            const Pair<T> x = from[r - begin + i];
            to[r - begin + i] = {x.re * re - x.im * im, x.re * im + x.im * re};
        }
        rows += stop - r;
        r = stop;
    }
    return rows * static_cast<index_t>(sizeof(Pair<T>));
}

// The same where they lie: row begin is data[0]. Returns the bytes that it read and wrote.
template <class T>
inline index_t twiddle_rows_in_place(const Pair<T>* __restrict factors, index_t begin, index_t end,
                                     Pair<T>* __restrict data, index_t chunk = kTwiddleChunk) {
    index_t rows = 0;
    while (begin < end) {
        const index_t first = begin % chunk, count = std::min(chunk - first, end - begin);
        const Pair<T> factor = factors[chunk + begin / chunk];
        for (index_t i = 0; i < count; ++i) data[i] = multiply(data[i], multiply(factor, factors[first + i]));
        data += count;
        begin += count;
        rows += count;
    }
    return 2 * rows * static_cast<index_t>(sizeof(Pair<T>));
}

// The same for `points` of `numbers` side by side, which have one factor each.
template <class T>
inline index_t twiddle_numbers_in_place(const Pair<T>* __restrict factors, index_t points, index_t numbers,
                                        Pair<T>* __restrict data, index_t chunk) {
    if (numbers == 1) return twiddle_rows_in_place(factors, 0, points, data, chunk);
    for (index_t p = 0; p < points; ++p, data += numbers) {
        const Pair<T> factor = multiply(factors[chunk + p / chunk], factors[p % chunk]);
        for (index_t i = 0; i < numbers; ++i) data[i] = multiply(data[i], factor);
    }
    return 2 * points * numbers * static_cast<index_t>(sizeof(Pair<T>));
}

// A row by the products of two factors a point. Returns the bytes that it read and wrote.
template <class T>
inline index_t twiddle_row_in_place(const Pair<T>* __restrict near, const Pair<T>* __restrict far, index_t count,
                                    Pair<T>* __restrict data) {
    for (index_t i = 0; i < count; ++i) data[i] = multiply(data[i], multiply(near[i], far[i]));
    return 2 * count * static_cast<index_t>(sizeof(Pair<T>));
}

// A stage of butterflies between two arrays: rows begin to end of own + factor * other, or, of the half that is
// multiplied, other - factor * own, into own. Returns the bytes that it read and wrote.
template <class T>
inline index_t butterfly_rows(const Pair<T>* __restrict factors, index_t begin, index_t end, bool own_is_multiplied,
                              const Pair<T>* __restrict other, Pair<T>* __restrict own) {
    for (index_t r = begin; r < end; ++r) {
        const Pair<T> factor = multiply(factors[kTwiddleChunk + r / kTwiddleChunk], factors[r % kTwiddleChunk]);
        Pair<T>& mine = own[r - begin];
        const Pair<T>& theirs = other[r - begin];
        const Pair<T> odd = multiply(factor, own_is_multiplied ? mine : theirs);
        mine = own_is_multiplied ? Pair<T>{theirs.re - odd.re, theirs.im - odd.im}
                                 : Pair<T>{mine.re + odd.re, mine.im + odd.im};
    }
    return 3 * (end - begin) * static_cast<index_t>(sizeof(Pair<T>));
}

// Returns the bytes that it read and wrote.
template <class T>
inline index_t multiply_rows(const Pair<T>* __restrict x, const Pair<T>* __restrict y, index_t count,
                             Pair<T>* __restrict to) {
    for (index_t i = 0; i < count; ++i) to[i] = multiply(x[i], y[i]);
    return 3 * count * static_cast<index_t>(sizeof(Pair<T>));
}

// Copies `width` neighbouring elements at `from` to element `point` of each of `width` tile columns. Returns the bytes
// that it read.
template <class E>
inline index_t into_tile(const E* from, index_t width, E* tile, index_t pitch_elems, index_t point) {
    for (index_t j = 0; j < width; ++j) tile[j * pitch_elems + point] = from[j];
    return width * static_cast<index_t>(sizeof(E));
}

// The reverse. Returns the bytes that it wrote.
template <class E>
inline index_t from_tile(const E* tile, index_t pitch_elems, index_t point, index_t width, E* to) {
    for (index_t j = 0; j < width; ++j) to[j] = tile[j * pitch_elems + point];
    return width * static_cast<index_t>(sizeof(E));
}

}  // namespace spanfft
