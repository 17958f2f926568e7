// What other solvers for ranks share with pencil: all plans for one array on the same ranks must divide it alike.
#pragma once

#include "solvers/memory_plan.hpp"

namespace spanfft {

// The forward route on a given grid: its first layout is the input's, its last the spectrum's.
Result<Route> find_route(const Problem& problem, const Extents& grid);

// The grid that pencil takes for this problem: the given one, or the cheapest.
Result<Extents> choose_grid(const Problem& problem, const Planner& planner);

}  // namespace spanfft
