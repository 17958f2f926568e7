// Pairs of columns, and what goes alone; see line_fold.hpp.
#include "engine/line_fold.hpp"

namespace spanfft {

Result<LineFold> LineFold::make(index_t columns, index_t points, Precision precision, bool forward) {
    LineFold fold;
    SPANFFT_ASSIGN(fold.twiddles_, Twiddles::make(2 * columns * points, precision, !forward));
    fold.fold_.j = columns;
    fold.fold_.s = forward ? 0.5 : 1;
    fold.fold_.factor = forward ? Pair<double>{0, -0.5} : Pair<double>{0, 1};
    fold.columns_ = columns;
    fold.points_ = points;
    fold.precision_ = precision;
    fold.forward_ = forward;
    return fold;
}

void LineFold::pair(const Twiddles::Row& row, index_t column, void* low, void* high) const {
    Twiddles::Fold fold = fold_;
    fold.start = column;
    twiddles_.fold_rows(row, fold, points_, low, high);
}

// Element k goes with points - k in column 0, else with points - 1 - k.
void LineFold::alone(index_t column, char* line) const {
    const auto elem_bytes = static_cast<index_t>(ElemType{precision_, true}.bytes());
    const index_t sum = column == 0 ? points_ : points_ - 1;
    Twiddles::Fold fold = fold_;
    for (index_t k = column == 0 ? 1 : 0; 2 * k <= sum; ++k) {
        fold.start = column + columns_ * k;
        twiddles_.fold_pair(fold, line + k * elem_bytes, line + (sum - k) * elem_bytes);
    }
}

namespace {

// (x, y) of c2r is (x + y, x - y) of the pairs, and r2c's the same with x and y the parts of the pairs'.
template <class T>
void fold_ends(bool forward, void* first, void* last) {
    auto& x = *static_cast<Pair<T>*>(first);
    if (forward) {
        *static_cast<Pair<T>*>(last) = {x.re - x.im, 0};
        x = {x.re + x.im, 0};
    } else {
        const T y = static_cast<const Pair<T>*>(last)->re;
        x = {x.re + y, x.re - y};
    }
}

}  // namespace

void LineFold::ends(void* first, void* last) const {
    precision_ == Precision::dbl ? fold_ends<double>(forward_, first, last) : fold_ends<float>(forward_, first, last);
}

}  // namespace spanfft
