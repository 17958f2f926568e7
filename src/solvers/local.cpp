// Solver `local`: an array in the memory of one process. Every axis is whole, so the route is one engine call for all
// c2c (and r2c) axes together, and one for each DCT/DST axis.
#include "lower/lower.hpp"
#include "solvers/table.hpp"

namespace spanfft {

Result<std::unique_ptr<Plan>> solve_local(const Problem& problem, const Planner& planner) {
    if (problem.ranks != 1)
        return error(Code::unsupported, "local works in one process, not on ", problem.ranks, " ranks");
    if (problem.memory_bytes > 0) return error(Code::unsupported, "local works on arrays in memory, not on files");
    ArrayState state{with_batch(problem, Layout(problem.shape, {})), real_elem(problem)};
    Route route;
    auto pending = pending_axes(problem);
    transform_whole_axes(route, state, pending);
    return lower(problem, directed(problem, std::move(route)), "", planner, "local");
}

}  // namespace spanfft
