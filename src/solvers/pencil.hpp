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

// Whether `grid` is one that a user could guess from the number of ranks.
bool divides_leading_axes(const Problem& problem, const Extents& grid);

// Whether every rank has elements from the first step to the last; boxes aside, which are the caller's or hold as much.
bool feeds_all(const Route& route);
// Whether some grid of pencil's, or the problem's own, feeds all ranks.
bool pencil_feeds_all(const Problem& problem);

}  // namespace spanfft
