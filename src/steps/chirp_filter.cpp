// The filter of a convolution; see chirp_filter.hpp.
#include "steps/chirp_filter.hpp"

#include <algorithm>

#include "steps/chirp.hpp"
#include "steps/tile_kernels.hpp"

namespace spanfft {

namespace {

constexpr index_t kColumnBytes = index_t{256} << 10;  // of columns that are transformed together

// Columns that are transformed together, and their bytes with the twiddle factors of one.
index_t columns_of(const ChirpFilterForm& form) {
    return std::clamp<index_t>(kColumnBytes / (form.m1 * form.elem_bytes()), 1, form.m2);
}
index_t column_bytes(const ChirpFilterForm& form) {
    return (columns_of(form) * form.m1 + twiddle_elems(form.m1)) * form.elem_bytes();
}

LocalSpec lines_of(const ChirpFilterForm& form, index_t points, index_t lines) {
    LocalSpec local;
    local.precision = form.precision;
    local.transform = {{points, 1, 1}};
    local.batch = {{lines, points, points}};
    local.in_place = true;
    return local;
}

template <class T>
class FilterMaker {
  public:
    explicit FilterMaker(const ChirpFilterForm& form)
        : form_(form), columns_(columns_of(form)), chirp_(make_chirp(form.kernel, form.n)) {}

    Status fill(Pair<T>* kept, const std::string& engine, const RateTable& rates, Binding& binding) {
        SPANFFT_ASSIGN(chirp_roots_, RootTable::make(chirp_.order()));
        SPANFFT_ASSIGN(roots_, RootTable::make(form_.m1 * form_.m2));
        SPANFFT_ASSIGN(lines_, Buffer::allocate(static_cast<size_t>(column_bytes(form_))));
        std::fill_n(lines_.template as<char>(), column_bytes(form_), '\0');
        SPANFFT_ASSIGN(EngineChoice columns, plan_local(lines_of(form_, form_.m1, columns_), engine, rates));
        for (index_t column = 0; column < form_.m2; column += columns_) {
            const index_t width = std::min(columns_, form_.m2 - column);
            make_columns(column, width);
            columns.fft->execute(line(0), line(0));
            keep(column, width, kept);
        }
        SPANFFT_ASSIGN(EngineChoice rows, plan_local(lines_of(form_, form_.m2, form_.rows.count), engine, rates));
        rows.fft->execute(kept, kept);
        binding.engine_ran(rows.engine);
        return Status();
    }

  private:
    Pair<T>* line(index_t i) { return lines_.template as<Pair<T>>() + i * form_.m1; }

    void make_columns(index_t column, index_t width) {
        const index_t m = form_.m1 * form_.m2;
        for (index_t i = 0; i < width; ++i)
            chirp_filter(chirp_, chirp_roots_, m, 1 / static_cast<long double>(m), column + i, form_.m2, form_.m1,
                         line(i));
    }

    void keep(index_t column, index_t width, Pair<T>* kept) {
        const AxisRange& rows = form_.rows;
        Pair<T>* const factors = line(columns_);
        for (index_t i = 0; i < width; ++i) {
            make_twiddles(roots_, column + i, form_.m1, false, 1, factors);
            twiddle_rows_in_place(factors, rows.start, rows.start + rows.count, line(i) + rows.start);
        }
        for (index_t row = 0; row < rows.count; ++row) {
            for (index_t i = 0; i < width; ++i) kept[row * form_.m2 + column + i] = line(i)[rows.start + row];
        }
    }

    const ChirpFilterForm& form_;
    const index_t columns_;
    const Chirp chirp_;
    RootTable chirp_roots_, roots_;
    Buffer lines_;
};

template <class T>
void multiply(const ChirpFilterForm& form, const Buffer& filter, index_t row, index_t count, char* lines,
              index_t pitch_bytes) {
    const Pair<T>* factors = filter.as<Pair<T>>() + (row - form.rows.start) * form.m2;
    for (index_t i = 0; i < count; ++i, factors += form.m2, lines += pitch_bytes) {
        auto* const line = reinterpret_cast<Pair<T>*>(lines);
        multiply_rows(line, factors, form.m2, line);
    }
}

}  // namespace

index_t chirp_filter_bytes(const ChirpFilterForm& form) {
    return form.kept_bytes() + column_bytes(form) + RootTable::bytes(form.m1 * form.m2) +
           RootTable::bytes(make_chirp(form.kernel, form.n).order());
}

Result<Buffer> make_chirp_filter(const ChirpFilterForm& form, const std::string& engine, const RateTable& rates,
                                 Binding& binding) {
    Buffer kept;
    if (form.kept_bytes() == 0) return kept;
    SPANFFT_ASSIGN(kept, Buffer::allocate(static_cast<size_t>(form.kept_bytes())));
    switch (form.precision) {
        case Precision::single:
            SPANFFT_TRY(FilterMaker<float>(form).fill(kept.as<Pair<float>>(), engine, rates, binding));
            break;
        case Precision::dbl:
            SPANFFT_TRY(FilterMaker<double>(form).fill(kept.as<Pair<double>>(), engine, rates, binding));
            break;
        case Precision::extended:
            SPANFFT_TRY(FilterMaker<long double>(form).fill(kept.as<Pair<long double>>(), engine, rates, binding));
            break;
    }
    return kept;
}

void multiply_by_filter(const ChirpFilterForm& form, const Buffer& filter, index_t row, index_t count, char* lines,
                        index_t pitch_bytes) {
    switch (form.precision) {
        case Precision::single:
            return multiply<float>(form, filter, row, count, lines, pitch_bytes);
        case Precision::dbl:
            return multiply<double>(form, filter, row, count, lines, pitch_bytes);
        case Precision::extended:
            return multiply<long double>(form, filter, row, count, lines, pitch_bytes);
    }
}

}  // namespace spanfft
