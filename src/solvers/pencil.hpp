// What solvers of N-D arrays in blocks have in common with `pencil`: all plans for one array on the same ranks must
// divide it alike.
#pragma once

#include "lower/route_search.hpp"

namespace spanfft {

const RouteFamily& pencil_family();

// The axis that a grid dimension of so many parts should divide instead of its own: whole now, not among `pending`, and
// long enough that no rank goes empty; the slowest such axis, because its pieces are the longest contiguous runs. -1:
// none.
int axis_to_divide(const Layout& layout, const std::vector<PendingAxis>& pending, int first_axis, index_t parts);

// Moves a division so that the axis that is needed next becomes whole: the halved one, else the last one pending.
Status free_an_axis(Route& route, ArrayState& state, const std::vector<PendingAxis>& pending, int first_axis);

// The division that arrays of this shape begin or end with: the caller's boxes, or balanced blocks of the grid.
Result<Layout> callers_blocks(const Problem& problem, const Extents& shape, const std::vector<Patch>& boxes,
                              const Extents& grid);

// Whether `grid` is one that a user could guess from the number of ranks.
bool divides_leading_axes(const Problem& problem, const Extents& grid);

// Whether some grid of pencil's, or the problem's own, leaves every rank with elements from the first step to the last.
bool pencil_feeds_all(const Problem& problem);

}  // namespace spanfft
