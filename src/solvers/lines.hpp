// Lines: what the solvers of one axis over ranks share; where its points lie, and in which order they leave it.
#pragma once

#include "lower/route_search.hpp"

namespace spanfft {

// A line of n points as n1 rows of n2. n1 = 1: it is not shared out.
struct Factors {
    index_t n1 = 1, n2 = 1;
};

// The n1, a multiple of `unit`, and n2 that so many ranks share best; 1 x n where there are none or the points are few.
Factors factors_of(index_t n, index_t ranks, index_t unit = 1);

// Whether the spectrum is left in cyclic division; where p does not divide the length, natural order is all there is.
bool leaves_cyclic(const Problem& problem);
void note_order(Plan& plan);  // what output=exchanged came to

// The dimension of the process grid that divides `axis`, or -1.
int dim_of(const Layout& layout, int axis);
// The axis as some, whose lengths need not multiply to its own, of which the ranks that divide it divide one.
Layout shown_as(const Layout& layout, int axis, const Extents& extents, int divided_one);
// The axis and the one behind it have changed places, and what divides them too.
Layout turned(const Layout& layout, int axis);

// As `blocks`, but the ranks have whole rows of n2 points along a divided axis: `blocks` itself where that is the same.
Layout whole_rows(const Layout& blocks, int axis, index_t n2);
Layout whole_rows(const Problem& problem, const Extents& grid, index_t points, index_t n2);
// The first points of one axis, where they lie.
Result<Layout> first_points(const Problem& problem, const Layout& whole, index_t points);

// Of r2c along the last axis, the half spectrum of pairs that lie on the ranks like this; who has the last pair has the
// frequency n/2 too.
Result<Layout> half_of_pairs(const Layout& pairs);

// What the caller has and wants.
Result<Layout> callers_real(const Problem& problem, const Extents& grid);
Result<Layout> callers_spectrum(const Problem& problem, const Extents& grid);

// The first transform of lines by messages, along `axis` of n1 x n2, the last two axes, and the exchange after it: from
// columns to parts of them, in which each rank has its rows k1 as columns of n2 x n1 (behind an axis of one part): a
// block of them or, dealt, every p-th, if the p ranks that divide n2 divide n1.
void columns_to_parts(Route& route, ArrayState& state, int axis, bool dealt);

// The first transform of two sweeps over an array that all ranks see: columns of n1 x n2 become rows of n2 x n1; and
// both of them, which leave the spectrum as rows of that.
void columns_to_rows(Route& route, ArrayState& state, int axis, bool twiddled);
void two_sweeps(Route& route, ArrayState& state, int axis);

// The routes of `lines`.
const RouteFamily& line_family();

// Why no solver of lines is for this problem; ok if it may be.
Status is_line_on_ranks(const Problem& problem, const char* solver);

}  // namespace spanfft
