// What other solvers for ranks share with pencil: all plans for one array on the same ranks must divide it alike.
#pragma once

#include "solvers/memory_plan.hpp"

namespace spanfft {

// The axis that a grid dimension of so many parts should divide instead of its own: whole now, not among `pending`, and
// long enough that no rank goes empty; the slowest such axis, because its pieces are the longest contiguous runs. -1:
// none.
int axis_to_divide(const Layout& layout, const std::vector<PendingAxis>& pending, int first_axis, index_t parts);

// The forward route on a given grid: its first layout is the input's, its last the spectrum's.
Result<Route> find_route(const Problem& problem, const Extents& grid);

// The grid that pencil takes for this problem: the given one, or the cheapest.
Result<Extents> choose_grid(const Problem& problem, const Planner& planner);

}  // namespace spanfft
