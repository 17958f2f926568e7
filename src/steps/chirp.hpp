// Chirp: any kind of transform as a sum of N roots of unity with a factor before and one behind, and as a convolution,
// whose length can be chosen (L. Bluestein, 1970).
//
// Method: every kind here is out[k] = Re or all of sum_j w_j x_j e(-+(jk/N + (a j + b k + c)/D)), e(t) = exp(2 pi i t),
// D = 4N: c2c has N = n; dct2, say, is 2 cos(pi k (2j+1)/2n), so N = 2n and k/4n = 2k/D; a sine is the real part of
// i times the sum, and i is D/4. With jk = (j^2 + k^2 - (k-j)^2)/2 the sum is a product by in(j) = e(-+(2j^2+aj)/D), a
// convolution with filter(i) = e(+-2i^2/D), -(inputs-1) <= i < outputs, and a product by out(k) = e(-+(2k^2+bk+c)/D).
// Without the squares the factors make any real kind a Fourier transform of N points of the padded input (square 0).
// Worked: dct2, n = 5: N = 10, D = 40, in(3) = e(-18/40), out(3) = e(-(18+6)/40) = e(-24/40).
// Invariant: exponents are exact integers mod D; along a column of rows they advance by two additions each.
#pragma once

#include "core/root_of_unity.hpp"
#include "engine/engine.hpp"

namespace spanfft {

// The accuracy rule allows 0.6 up to here, 1.5 above, which a convolution needs.
constexpr index_t kLargestSmoothPrime = 13;

struct Chirp {
    index_t length = 0;               // N; 0: no chirp
    index_t inputs = 0, outputs = 0;  // of the transform: n, n/2+1, ...
    index_t a = 0, b = 0, c = 0;      // of D
    index_t first_weight = 1, weight = 1, last_weight = 1;
    index_t square = 2;  // 0: the sum itself is to be computed, not a convolution
    bool backward = false;
    index_t order() const { return 4 * length; }  // D
    index_t weight_of(index_t i) const { return i == 0 ? first_weight : i == inputs - 1 ? last_weight : weight; }
    index_t convolution() const { return inputs + outputs - 1; }
};

// n: points in real space.
Chirp make_chirp(Kernel kernel, index_t n);

// Good lengths of a convolution: products of 2, 3, 5 and 7 up to `most`, rising.
std::vector<index_t> smooth_numbers(index_t most);

// q i^2 + s i + t mod D at i = first, first + step, ...; step may be negative.
class ChirpWalk {
  public:
    ChirpWalk(index_t order, index_t q, index_t s, index_t t, index_t first, index_t step) : order_(order) {
        const index_t i = reduced(first), d = reduced(step);
        const index_t ii = times(times(i, i), q), id = times(times(i, d), 2 * q), dd = times(times(d, d), q);
        now_ = plus(plus(ii, times(s, i)), reduced(t));
        ahead_ = plus(plus(id, dd), times(s, d));
        further_ = plus(dd, dd);
    }
    index_t exponent() const { return now_; }
    void next() {
        now_ = plus(now_, ahead_);
        ahead_ = plus(ahead_, further_);
    }

  private:
    index_t reduced(index_t x) const { return x % order_ < 0 ? x % order_ + order_ : x % order_; }
    index_t plus(index_t x, index_t y) const { return x >= order_ - y ? x - (order_ - y) : x + y; }
    index_t times(index_t x, index_t y) const { return product_mod(x, reduced(y), order_); }
    index_t order_, now_ = 0, ahead_ = 0, further_ = 0;
};

// e((slope i + constant)/D) for slopes up to 2 and i up to N/2: no division needed.
inline Pair<long double> linear_root(const Chirp& chirp, const RootTable& roots, index_t slope, index_t constant,
                                     index_t i) {
    const index_t e = slope * i + constant;  // N at most, and constants are at most 3N + 4
    return roots.at(e >= chirp.order() ? e - chirp.order() : e);
}

// The real part of x times the factor of output k, when square is 0.
template <class T>
T real_output(const Chirp& chirp, const RootTable& roots, index_t k, const Pair<T>& x) {
    const Pair<long double> root = linear_root(chirp, roots, chirp.b, chirp.c, k);
    return x.re * static_cast<T>(root.re) + x.im * static_cast<T>(root.im);
}

// Element i = first + r*step of the input, r = 0, 1, ..., times its factor; from there on zeros.
template <class T>
void chirp_inputs(const Chirp& chirp, const RootTable& roots, index_t first, index_t step, index_t rows,
                  Pair<T>* column) {
    ChirpWalk walk(chirp.order(), chirp.square, chirp.a, 0, first, step);
    index_t r = 0;
    for (index_t i = first; r < rows && i < chirp.inputs; ++r, i += step, walk.next()) {
        const Pair<long double> root = roots.at(walk.exponent());
        const index_t weight = chirp.weight_of(i);
        const T re = static_cast<T>(static_cast<long double>(weight) * root.re);
        const T im = static_cast<T>(static_cast<long double>(chirp.backward ? weight : -weight) * root.im);
        const Pair<T> x = column[r];
        column[r] = {x.re * re - x.im * im, x.re * im + x.im * re};
    }
    for (; r < rows; ++r) column[r] = {0, 0};
}

// Elements first + r*step of the filter of a cyclic convolution of m points, times `scale`.
template <class T>
void chirp_filter(const Chirp& chirp, const RootTable& roots, index_t m, long double scale, index_t first, index_t step,
                  index_t rows, Pair<T>* column) {
    ChirpWalk rising(chirp.order(), 2, 0, 0, first, step), falling(chirp.order(), 2, 0, 0, m - first, -step);
    const long double sign = chirp.backward ? -1 : 1;
    for (index_t r = 0, i = first; r < rows; ++r, i += step, rising.next(), falling.next()) {
        if (i >= chirp.outputs && m - i >= chirp.inputs) {
            column[r] = {0, 0};
            continue;
        }
        const Pair<long double> root = roots.at(i < chirp.outputs ? rising.exponent() : falling.exponent());
        column[r] = {static_cast<T>(scale * root.re), static_cast<T>(scale * sign * root.im)};
    }
}

// Elements first + r*step of the output, as many as there are.
template <class T>
void chirp_outputs(const Chirp& chirp, const RootTable& roots, index_t first, index_t step, index_t rows,
                   Pair<T>* column) {
    ChirpWalk walk(chirp.order(), chirp.square, chirp.b, chirp.c, first, step);
    for (index_t r = 0, k = first; r < rows && k < chirp.outputs; ++r, k += step, walk.next()) {
        const Pair<long double> root = roots.at(walk.exponent());
        const T re = static_cast<T>(root.re), im = static_cast<T>(chirp.backward ? root.im : -root.im);
        const Pair<T> x = column[r];
        column[r] = {x.re * re - x.im * im, x.re * im + x.im * re};
    }
}

}  // namespace spanfft
