// The twiddle factors of one column after another, W^(column * row) with W = exp(-+2 pi i/n).
//
// Method: a column's factors are two short lists (tile_kernels.hpp), each root of which is a product of two long double
// roots of a table. Neighbouring columns have them as products: with column = q L + l they are W^(q L e) W^(l e). The
// second factors are in a table of L lanes that all columns share, and the first are looked up once for L columns.
// Both, and their product, are double for float and long double for double, so that a factor is rounded once, as if it
// had been looked up; long double has nothing wider, and is. Worked: L = 16, column 37: the factors of column 32,
// looked up for columns 32 to 47, times those of lane 5. Invariant: a column's factors depend on the form and on its
// number alone, whichever was asked for before.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/buffer.hpp"
#include "core/dtype.hpp"
#include "core/root_of_unity.hpp"
#include "steps/tile_kernels.hpp"

namespace spanfft {

struct TwiddleForm {
    index_t n = 0;  // of the roots; 0: there are no factors
    index_t rows = 1;
    bool backward = false;
    long double scale = 1;

    index_t chunk() const { return best_twiddle_chunk(rows); }
    index_t elems() const { return twiddle_elems(rows, chunk()); }
    // 1 where the table would be large by the roots' own.
    index_t lanes(Precision precision) const {
        if (precision == Precision::extended) return 1;
        const index_t fit = RootTable::bytes(n) / 4 / (elems() * wide_bytes(precision));
        return fit >= 16 ? 16 : fit >= 8 ? 8 : 1;
    }
    index_t table_bytes(Precision precision) const {
        const index_t count = lanes(precision);
        return n == 0 ? 0 : RootTable::bytes(n) + (count > 1 ? count * elems() * wide_bytes(precision) : 0);
    }
    // Of each thread: the factors of a column, and those that L columns share.
    index_t thread_bytes(Precision precision) const {
        const index_t number = static_cast<index_t>(ElemType{precision, true}.bytes());
        const index_t wide = lanes(precision) > 1 ? wide_bytes(precision) : 0;
        return n == 0 ? 0 : round_up(elems() * number, 64) + elems() * wide;
    }
    static index_t wide_bytes(Precision precision) {
        return static_cast<index_t>(precision == Precision::single ? sizeof(Pair<double>) : sizeof(Pair<long double>));
    }
};

template <class T>
class ColumnTwiddles {
  public:
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
    static constexpr Precision kPrecision = std::is_same_v<T, float>    ? Precision::single
                                            : std::is_same_v<T, double> ? Precision::dbl
                                                                        : Precision::extended;
    struct Thread {
        Pair<T>* factors = nullptr;
        Pair<Wide>* shared = nullptr;
        index_t shared_by = -1;  // columns of this number / L
    };

    static Result<ColumnTwiddles> make(const TwiddleForm& form) {
        ColumnTwiddles made;
        made.form_ = form;
        made.elems_ = form.elems();
        made.lanes_ = form.lanes(kPrecision);
        SPANFFT_ASSIGN(made.roots_, RootTable::make(form.n));
        if (made.lanes_ == 1) return made;
        const auto bytes = static_cast<size_t>(made.lanes_ * made.elems_) * sizeof(Pair<Wide>);
        SPANFFT_ASSIGN(made.table_, Buffer::allocate(bytes));
        for (index_t lane = 0; lane < made.lanes_; ++lane)
            made.look_up(lane, 1, made.table_.template as<Pair<Wide>>() + lane * made.elems_);
        return made;
    }

    // Of one thread, in form.thread_bytes() of memory, aligned to a cache line.
    Thread in_memory(char* memory) const {
        const auto factors_bytes = round_up(elems_ * static_cast<index_t>(sizeof(Pair<T>)), 64);
        return {reinterpret_cast<Pair<T>*>(memory), reinterpret_cast<Pair<Wide>*>(memory + factors_bytes), -1};
    }

    // As twiddle_rows() takes them, with form.chunk(); until the thread's next call.
    const Pair<T>* of_column(index_t column, Thread& thread) const {
        if (lanes_ == 1) {
            look_up(column, form_.scale, thread.factors);
            return thread.factors;
        }
        if (column / lanes_ != thread.shared_by) {
            thread.shared_by = column / lanes_;
            look_up(thread.shared_by * lanes_, form_.scale, thread.shared);
        }
        const Pair<Wide>* const lane = table_.template as<Pair<Wide>>() + column % lanes_ * elems_;
        for (index_t i = 0; i < elems_; ++i) {
            const Pair<Wide> factor = multiply(thread.shared[i], lane[i]);
            thread.factors[i] = {static_cast<T>(factor.re), static_cast<T>(factor.im)};
        }
        return thread.factors;
    }

  private:
    template <class To>
    void look_up(index_t column, long double scale, Pair<To>* to) const {
        make_twiddles(roots_, column, form_.rows, form_.backward, scale, to, 0, form_.chunk());
    }

    TwiddleForm form_;
    RootTable roots_;
    Buffer table_;  // [lane][factor]
    index_t elems_ = 0, lanes_ = 1;
};

}  // namespace spanfft
