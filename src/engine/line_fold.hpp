// LineFold: between the transform of pairs of real numbers and the spectrum of the numbers, column by column.
//
// Method: n real numbers are m = n/2 pairs, whose spectrum Z, of m = columns x points, has Z[c + columns k] as element
// k of column c. The numbers' spectrum at c + columns k needs Z there and at m - (c + columns k), which is element
// points - 1 - k of column columns - c: so columns go in pairs. Columns 0 and columns / 2 are needed with themselves,
// and column 0 holds the ends: X[0] and X[m] are real and come of Z[0] (core/twiddles.hpp has the formula).
// Worked: 10 columns: 1 goes with 9, 2 with 8, 3 with 7, 4 with 6; 0 and 5 alone.
#pragma once

#include <algorithm>

#include "core/twiddles.hpp"

namespace spanfft {

// All columns that go in pairs, in groups of `width`: `count` low columns and as many high ones, low + i with
// high + count - 1 - i.
struct ColumnPairs {
    index_t columns = 0, width = 1;
    static index_t of(index_t columns) { return (columns - 1) / 2; }  // how many pairs there are: 1 goes with the last
    struct Group {
        index_t low = 0, high = 0, count = 0;
    };
    index_t groups() const { return ceil_div(of(columns), width); }
    Group at(index_t group) const {
        const index_t low = 1 + group * width, count = std::min(width, of(columns) + 1 - low);
        return {low, columns - low - count + 1, count};
    }
};

class LineFold {
  public:
    LineFold() = default;
    // forward: from the pairs' spectrum, transformed, to the numbers'; else back. Not for long double.
    static Result<LineFold> make(index_t columns, index_t points, Precision precision, bool forward);
    static index_t bytes(index_t columns, index_t points, Precision precision) {
        return Twiddles::bytes(2 * columns * points, precision);
    }
    static constexpr double kFlops = 8;  // a number of a column

    // A column and the one that it goes with; `row` is one thread's, of `points`.
    void pair(const Twiddles::Row& row, index_t column, void* low, void* high) const;
    // Column 0, but for its ends, or columns / 2.
    void alone(index_t column, char* line) const;
    // The first number of column 0, and X[m]. c2r takes parts that must be 0 as 0.
    void ends(void* first, void* last) const;

  private:
    Twiddles twiddles_;
    Twiddles::Fold fold_;
    index_t columns_ = 0, points_ = 0;
    Precision precision_ = Precision::dbl;
    bool forward_ = true;
};

}  // namespace spanfft
