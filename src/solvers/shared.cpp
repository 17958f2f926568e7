// Solver `shared`: an N-D array over ranks of one node that read and write one another's parts of it (spanfft).
//
// Route: the array lives in a window that all ranks see, divided as the user wants it. Axes that are whole in that
// division are transformed by each rank on its part; each divided axis in place in the window, for which the ranks
// share the lines out (RouteOp::share). So natural order costs nothing, and a slab transform is two sweeps over
// memory, as many as one process with threads would make; every further divided axis is one more. The user's arrays are
// foreign to the other ranks: the first operation reads the input into the window or the last one writes the output;
// where that is not free (natural order) this rank's part is copied, unless the plan owns the array (own_input,
// own_output) and it is the window. Order: DCT/DST and c2c axes commute, so the local axes go first in both
// directions; the halved axis of r2c must be first forward and last backward.
#include <algorithm>

#include "lower/lower.hpp"
#include "solvers/pencil.hpp"
#include "solvers/pencil_lines.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

// Why this solver can't do the problem; ok if it can.
Status applies(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes > 0) return error(Code::unsupported, "shared works on arrays in memory, not on files");
    if (problem.ranks == 1) return error(Code::unsupported, "shared is for several ranks");
    if (!problem.real_boxes.empty() || !problem.spectrum_boxes.empty())
        return error(Code::unsupported, "shared divides arrays by a grid, not by given boxes");
    return windows_allowed(problem, planner, "shared");
}

Status applies_to_axis(const Problem& problem, const PendingAxis& axis) {
    if (axis.kind == AxisKind::r2c) return error(Code::unsupported, "shared needs the halved axis undivided");
    if (is_r2r(axis.kind) && (problem.halves() || problem.norm == Norm::ortho))
        return error(Code::unsupported, "shared does not do ", axis_kind_name(axis.kind), " along a divided axis with ",
                     problem.halves() ? "r2c along another" : "norm=ortho");
    return Status();
}

// The lines along `axis`, shared out among the ranks that divide it now.
Result<Layout> share_of_lines(const Layout& layout, int axis, int first_axis) {
    const auto& grid = layout.grid();
    const auto dim = std::find_if(grid.begin(), grid.end(), [&](const GridDim& d) { return d.axis == axis; });
    const int other = axis_to_divide(layout, {}, first_axis, dim->parts);
    if (other < 0)
        return error(Code::unsupported, "shared finds no axis by which to share out the lines along axis ", axis);
    return layout.with_division(static_cast<int>(dim - grid.begin()), other);
}

// Forward: the whole axes, then the divided ones. The last of those ends in `spectrum` where that is exchanged.
Result<Route> shared_route(const Problem& problem, const Layout& real, const Layout& spectrum) {
    Route route;
    ArrayState state{real, real_elem(problem)};
    auto pending = pending_axes(problem);
    transform_whole_axes(route, state, pending);
    if (pending.empty()) return error(Code::unsupported, "shared has nothing to do: no divided axis is transformed");
    for (const PendingAxis& axis : pending) SPANFFT_TRY(applies_to_axis(problem, axis));
    for (auto axis = pending.rbegin(); axis != pending.rend(); ++axis) {
        const bool exchanges = problem.output == SpectrumOrder::exchanged && std::next(axis) == pending.rend();
        RouteOp op{RouteOp::Type::transform, state, state, kernel_of(axis->kind, Direction::forward), {axis->axis}};
        op.modes = axis->modes;
        if (axis->modes > 0) op.to.layout = state.layout.with_extent(axis->axis, axis->modes);
        if (exchanges) {
            if (!spectrum.is_whole(axis->axis))
                return error(Code::unsupported, "shared does not end with axis ", axis->axis, " divided");
            op.to.layout = spectrum;
            op.share = spectrum.with_extent(axis->axis, state.layout.shape()[static_cast<size_t>(axis->axis)]);
        } else {
            SPANFFT_ASSIGN(op.share, share_of_lines(state.layout, axis->axis, batch_axes(problem)));
        }
        state = op.to;
        route.push_back(std::move(op));
    }
    return route;
}

// Backward without a halved axis all axes commute: in forward order the input is read into the window for nothing.
Route undone(const Problem& problem, const Route& forward) {
    if (problem.halves() || problem.pads() || problem.output == SpectrumOrder::exchanged) return reversed(forward);
    Route route = forward;
    for (RouteOp& op : route) op.kernel = inverse_kernel(op.kernel);
    return route;
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_shared(const Problem& asked, const Planner& planner) {
    SPANFFT_TRY(applies(asked, planner));
    SPANFFT_ASSIGN(Problem problem, with_common_grid(asked, planner, pencil_family()));
    SPANFFT_ASSIGN(problem.grid, choose_grid(pencil_family(), problem, planner));
    SPANFFT_ASSIGN(const Route moves, pencil_family().route(problem, problem.grid));
    SPANFFT_ASSIGN(const Route route, shared_route(problem, moves.front().from.layout, moves.back().to.layout));
    return lower(problem, problem.forward() ? route : undone(problem, route), "", planner, "shared");
}

}  // namespace spanfft
