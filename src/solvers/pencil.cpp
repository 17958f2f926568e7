// Solver `pencil`: an N-D array over ranks in slabs, pencils or any (ndim-1)-D process grid (P4, sections 3.3 to 3.6).
//
// Route: transform the axes that are whole; move one grid dimension from the next axis that is needed to an axis that
// is done, so that the needed one becomes whole; repeat. At the end, if natural order is asked for, one move over all
// grid dimensions that moved restores the division of the input.
// Grids: all factorings over the leading axes. Invariant: at most ndim - 1 axes are divided at any time, so there is
// always a whole axis to move to.
#include "solvers/pencil.hpp"

#include <algorithm>

#include "solvers/pencil_lines.hpp"
#include "solvers/table.hpp"

namespace spanfft {

int axis_to_divide(const Layout& layout, const std::vector<PendingAxis>& pending, int first_axis, index_t parts) {
    int best = -1;
    auto rank_axis = [&](int axis) {
        const bool needed =
            std::any_of(pending.begin(), pending.end(), [&](const PendingAxis& p) { return p.axis == axis; });
        const index_t n = layout.shape()[static_cast<size_t>(axis)];
        return std::tuple(std::min(n, parts), !needed, -axis);
    };
    for (int axis = first_axis; axis < layout.ndim(); ++axis) {
        const bool divided =
            std::any_of(layout.grid().begin(), layout.grid().end(), [&](const GridDim& d) { return d.axis == axis; });
        if (!divided && (best < 0 || rank_axis(axis) > rank_axis(best))) best = axis;
    }
    return best;
}

Status free_an_axis(Route& route, ArrayState& state, const std::vector<PendingAxis>& pending, int first_axis) {
    const auto halved =
        std::find_if(pending.begin(), pending.end(), [](const PendingAxis& p) { return p.kind == AxisKind::r2c; });
    const int needed = halved != pending.end() ? halved->axis : pending.back().axis;
    const auto& grid = state.layout.grid();
    for (size_t dim = 0; dim < grid.size(); ++dim) {
        if (grid[dim].axis != needed) continue;
        const int target = axis_to_divide(state.layout, pending, first_axis, grid[dim].parts);
        if (target < 0) break;
        move_to(route, state, state.layout.with_division(static_cast<int>(dim), target));
        return Status();
    }
    return error(Code::internal, "no axis is free to take the division of axis ", needed);
}

namespace {

Result<Route> pencil_route(const Problem& problem, const Extents& grid) {
    Route route;
    ArrayState state;
    state.elem = real_elem(problem);
    SPANFFT_ASSIGN(state.layout, callers_blocks(problem, problem.shape, problem.real_boxes, grid));
    move_to(route, state, divided(problem, problem.shape, grid, Division::block));
    auto pending = pending_axes(problem);
    for (transform_whole_axes(route, state, pending); !pending.empty(); transform_whole_axes(route, state, pending)) {
        SPANFFT_TRY(free_an_axis(route, state, pending, batch_axes(problem)));
    }
    if (problem.output == SpectrumOrder::natural || !problem.spectrum_boxes.empty()) {
        SPANFFT_ASSIGN(Layout end, callers_blocks(problem, problem.spectrum_shape(), problem.spectrum_boxes, grid));
        move_to(route, state, std::move(end));
    }
    return route;
}

}  // namespace

// The default division is P4's: the leading axes. A later axis is divided before an earlier one only where the earlier
// one is too short to give every rank a part; else a user could not guess the layout from the number of ranks.
bool divides_leading_axes(const Problem& problem, const Extents& grid) {
    for (size_t axis = 1; axis < grid.size(); ++axis) {
        if (grid[axis] > 1 && grid[axis - 1] == 1 && problem.shape[axis - 1] >= problem.ranks) return false;
    }
    return true;
}

namespace {

// A division of every axis leaves none to transform; one axis more than that is P4's limit.
Status check_grid(const Problem& problem, const Extents& grid) {
    const auto parts_of = [&](int axis) {
        return axis < static_cast<int>(grid.size()) ? grid[static_cast<size_t>(axis)] : 1;
    };
    int divided_axes = 0;
    bool transforms_divided = false;
    for (int axis = 0; axis < problem.ndim(); ++axis) divided_axes += parts_of(axis) > 1;
    for (int axis : problem.axes) transforms_divided = transforms_divided || parts_of(axis) > 1;
    if (!transforms_divided || divided_axes < problem.ndim()) return Status();
    if (problem.ndim() == 1)
        return error(Code::unsupported, "pencil needs an axis that is not divided, and a 1-D transform of length ",
                     problem.shape[0], " has none");
    return error(
        Code::invalid_argument, "grid ", shape_string(grid), " divides all ", problem.ndim(),
        " axes; leave one axis undivided (an extent of 1), or let pencil_lines divide a c2c axis of two factors");
}

Result<std::vector<Extents>> candidate_grids(const Problem& problem) {
    std::vector<Extents> grids;
    if (!problem.grid.empty()) {
        grids.push_back(problem.grid);
    } else {
        // More than three divided axes pay off on no machine we know of, and their factorings are many.
        const int most_dims = std::clamp(problem.ndim() - 1, 1, 3);
        for (const Extents& grid : factorings(problem.ranks, most_dims)) {
            if (divides_leading_axes(problem, grid)) grids.push_back(grid);
        }
    }
    for (const Extents& grid : grids) SPANFFT_TRY(check_grid(problem, grid));
    return grids;
}

}  // namespace

bool feeds_all(const Route& route) {
    const auto feeds = [](const Layout& layout) {
        return std::all_of(layout.grid().begin(), layout.grid().end(), [&](const GridDim& dim) {
            return dim.axis < 0 || dim.parts <= layout.shape()[static_cast<size_t>(dim.axis)];
        });
    };
    return std::all_of(route.begin(), route.end(),
                       [&](const RouteOp& op) { return feeds(op.from.layout) && feeds(op.to.layout); });
}

bool pencil_feeds_all(const Problem& problem) {
    const auto grids = candidate_grids(problem);
    if (!grids.ok()) return false;
    return std::any_of(grids.value().begin(), grids.value().end(), [&](const Extents& grid) {
        const auto route = pencil_route(problem, grid);
        return route.ok() && feeds_all(route.value());
    });
}

const RouteFamily& pencil_family() {
    static const RouteFamily family{"pencil", candidate_grids, pencil_route};
    return family;
}

Result<std::unique_ptr<Plan>> solve_pencil(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes > 0) return error(Code::unsupported, "pencil works on arrays in memory, not on files");
    if (problem.ranks == 1 && problem.real_boxes.empty() && problem.spectrum_boxes.empty())
        return error(Code::unsupported, "pencil is for several ranks");
    SPANFFT_ASSIGN(const Problem gridded, with_common_grid(problem, planner, pencil_family()));
    return solve_by_route(pencil_family(), gridded, planner);
}

}  // namespace spanfft
