// What solver `shared` has in common with `pencil`: all plans for one array on the same ranks must divide it alike.
#pragma once

#include "lower/route_search.hpp"

namespace spanfft {

const RouteFamily& pencil_family();

// The axis that a grid dimension of so many parts should divide instead of its own: whole now, not among `pending`, and
// long enough that no rank goes empty; the slowest such axis, because its pieces are the longest contiguous runs. -1:
// none.
int axis_to_divide(const Layout& layout, const std::vector<PendingAxis>& pending, int first_axis, index_t parts);

}  // namespace spanfft
