// ChirpFilter: the spectrum of what a chirped line is convolved with (steps/chirp.hpp), as rows of a matrix.
//
// Method: the m = m1 x m2 points of the filter are a matrix whose transform is X[k1 + m1 k2]; each rank makes the rows
// k1 that go with its share of the array, for itself and without a message. It transforms all columns, a few at a time,
// keeps of each the elements of its rows, times their twiddle factors, and transforms these rows. That takes the time
// of half a transform of all m points, when a plan is bound. The factor 1/m of the way back is in it. Worked: m = 12 =
// 3 x 4, rows 0 and 1: four columns of three points are transformed, of which eight elements are kept.
#pragma once

#include "core/buffer.hpp"
#include "engine/engine.hpp"
#include "layout/layout.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"

namespace spanfft {

struct ChirpFilterForm {
    Kernel kernel = Kernel::c2c_forward;  // of the line
    index_t n = 1;                        // its points in real space
    index_t m1 = 1, m2 = 1;
    AxisRange rows;  // of m1, that are kept
    Precision precision = Precision::dbl;
    index_t elem_bytes() const { return static_cast<index_t>(ElemType{precision, true}.bytes()); }
    index_t kept_bytes() const { return rows.count * m2 * elem_bytes(); }
};

// Of the filter, and of what it takes to make it.
index_t chirp_filter_bytes(const ChirpFilterForm& form);

// engine: of its transforms; "": the fastest by these rates. Nothing where no rows are kept.
Result<Buffer> make_chirp_filter(const ChirpFilterForm& form, const std::string& engine, const RateTable& rates,
                                 Binding& binding);

// lines[i] times row `row` + i of the filter, for so many rows of m2 elements, pitch_bytes apart.
void multiply_by_filter(const ChirpFilterForm& form, const Buffer& filter, index_t row, index_t count, char* lines,
                        index_t pitch_bytes);

}  // namespace spanfft
