// The search over divisions and strategies, for every solver whose plans are lowered routes.
//
// Method: a solver is a family of routes: the grids that it takes for a problem, and a forward route for each. All
// grids are outlined; the best few are planned with each strategy's first parameter, and the best of those with all of
// them; then the best plan's moves are given other strategies one by one. All plans for one array on the same ranks
// must fit together (what forward leaves, backward takes, in place or not), so what is compared are plans of the
// problem without any of that (tuning_twin).
#pragma once

#include "lower/route.hpp"

namespace spanfft {

struct RouteFamily {
    const char* solver;
    // The grids that come into question, the problem's own if it names one; the error says why there are none.
    Result<std::vector<Extents>> (*grids)(const Problem& problem);
    Result<Route> (*route)(const Problem& problem, const Extents& grid);  // forward
};

// The grid with the cheapest plan that the family has for the problem or its tuning twin, and what that is predicted to
// take.
struct BestGrid {
    Extents grid;
    double seconds;
};
Result<BestGrid> best_grid(const RouteFamily& family, const Problem& problem, const Planner& planner);

// The problem's grid, or the one with the cheapest plan.
Result<Extents> choose_grid(const RouteFamily& family, const Problem& problem, const Planner& planner);

// The plan on that grid with the cheapest strategy, or the one asked for; its alternatives are all that was compared.
Result<std::unique_ptr<Plan>> solve_by_route(const RouteFamily& family, const Problem& problem, const Planner& planner);

}  // namespace spanfft
