// Twiddle factors w_n^(j k), w_n = e^(-+2 pi i / n), of one row j at a time, multiplied into the row as it leaves.
//
// Method: two tables of about sqrt(n) roots, made in long double and rounded once, give any root as one product. Of a
// row only its factors of 64 neighbours and its factors of every 64th column are made, 128 for a row of 4096; the
// factor of a column is the product of the two, made in registers while the row is multiplied.
// Accuracy: a factor is rounded seven times, about 0.6 eps, whatever n is; a transform of 2^20 points is allowed 2.7.
// Rows of floats are multiplied by factors that were made in double and rounded twice; those of long doubles have a
// table in long double.
// Worked: n = 2^24, j = 5, k = 200: 200 = 8 + 3 * 64, so w^1000 = w^(5 * 8) * w^(5 * 192).
#pragma once

#include <type_traits>

#include "core/buffer.hpp"
#include "core/dtype.hpp"
#include "core/root_of_unity.hpp"
#include "core/vector_width.hpp"

namespace spanfft {

class Twiddles {
  public:
    static constexpr index_t kChunk = 64;

    // width_bytes, of registers, is at most what this processor has; long doubles don't lie in any.
    static Result<Twiddles> make(index_t n, Precision precision, bool backward, int width_bytes = vector_bytes());
    static index_t bytes(index_t n, Precision precision) { return 2 * RootTable::side(n) * root_bytes(precision); }

    // Of rows of `points`, for one thread.
    class Row {
      public:
        static Result<Row> make(index_t points, Precision precision);
        static index_t bytes(index_t points, Precision precision);

      private:
        friend class Twiddles;
        Buffer buffer_;
    };

    // to[k] = from[k] * factor * w^(j k) for 0 <= k < points; j >= 0. Streamed if asked and `to` is a multiple of the
    // element; whole cache lines then pass the cache by, and the caller fences. `to` may be `from` where not streamed.
    void multiply_row(const Row& row, index_t j, index_t points, long double factor, const void* from, void* to,
                      bool stream) const;

    // Between the transform of pairs of real numbers and the spectrum of the numbers: for all p = a[k] and q =
    // b[points-1-k], with e = s (p + q*) and o = factor w^(start + j k) (p - q*),
    //     a[k] = e + o,   b[points-1-k] = (e - o)*.
    // a and b are two rows; each is read and written once, and neither is the other. Not for long double.
    struct Fold {
        index_t start = 0, j = 0;
        double s = 1;
        Pair<double> factor;
    };
    void fold_rows(const Row& row, const Fold& fold, index_t points, void* a, void* b) const;
    // The same for one pair of numbers, k = 0.
    void fold_pair(const Fold& fold, void* a, void* b) const;

  private:
    // What roots of rows of T are held in.
    template <class T>
    using Root = std::conditional_t<std::is_same_v<T, long double>, long double, double>;
    static index_t root_bytes(Precision precision) {
        return precision == Precision::extended ? sizeof(Pair<long double>) : sizeof(Pair<double>);
    }
    template <class R>
    void fill_roots(bool backward);
    template <class T>
    void fill(const Row& row, index_t j, index_t start, index_t chunks, const Pair<Root<T>>& factor) const;
    template <class R = double>
    Pair<R> at(index_t e) const {
        const auto* roots = roots_.as<Pair<R>>();
        return multiply(roots[e & (side_ - 1)], roots[side_ + (e >> shift_)]);
    }

    Buffer roots_;
    index_t n_ = 1, side_ = 1;
    int shift_ = 0;  // side_ is 1 << shift_
    Precision precision_ = Precision::dbl;
    int width_bytes_ = 16;
};

}  // namespace spanfft
