// Solver `pencil`: an N-D array over ranks in slabs, pencils or any (ndim-1)-D process grid (P4, sections 3.3 to 3.6).
//
// Method: transform the axes that are whole; move one grid dimension from the next axis that is needed to an axis that
// is done, so that the needed one becomes whole; repeat. At the end, if natural order is asked for, one exchange
// over all grid dimensions that moved restores the division of the input.
// Grids: all factorings over the leading axes are planned with each exchange strategy; the cheapest is kept.
// Invariant: at most ndim - 1 axes are divided at any time, so there is always a whole axis to move to.
#include <algorithm>

#include "exchange/exchange.hpp"
#include "plan/exchange_step.hpp"
#include "solvers/pencil_route.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

// The axis that grid dimension `dim` should divide instead: whole now, not needed soon, and long enough that no rank
// goes empty; the slowest such axis, because its pieces are the longest contiguous runs.
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

void exchange_to(Route& route, ArrayState& state, Layout layout) {
    if (layout == state.layout) return;
    ArrayState to{std::move(layout), state.elem};
    route.push_back({RouteOp::Type::exchange, state, to, Kernel::c2c_forward, {}});
    state = std::move(to);
}

// Makes whole the axis that is needed next: the halved one first, else the last one pending.
Status free_an_axis(Route& route, ArrayState& state, const std::vector<PendingAxis>& pending, int first_axis) {
    const auto halved =
        std::find_if(pending.begin(), pending.end(), [](const PendingAxis& p) { return p.kind == AxisKind::r2c; });
    const int needed = halved != pending.end() ? halved->axis : pending.back().axis;
    const auto& grid = state.layout.grid();
    for (size_t dim = 0; dim < grid.size(); ++dim) {
        if (grid[dim].axis != needed) continue;
        const int target = axis_to_divide(state.layout, pending, first_axis, grid[dim].parts);
        if (target < 0) break;
        exchange_to(route, state, state.layout.with_division(static_cast<int>(dim), target));
        return Status();
    }
    return error(Code::internal, "no axis is free to take the division of axis ", needed);
}

// Leading dimensions of the grid that are not 1 divide the axis of their position.
Layout divided(const Extents& shape, const Extents& grid) {
    std::vector<GridDim> dims;
    for (size_t axis = 0; axis < grid.size(); ++axis) {
        if (grid[axis] > 1) dims.push_back({grid[axis], static_cast<int>(axis), Division::block});
    }
    if (dims.empty()) dims.push_back({1, -1, Division::block});
    return Layout(shape, dims);
}

}  // namespace

Result<Route> find_route(const Problem& problem, const Extents& grid) {
    const int first_axis = batch_axes(problem);
    const auto with_batch = [&](Layout layout) {
        return first_axis ? layout.with_leading_axis(problem.batch) : layout;
    };
    const Layout natural = with_batch(divided(problem.shape, grid));
    Route route;
    ArrayState state{natural, {problem.precision, problem.real_is_complex()}};
    if (!problem.real_boxes.empty()) {
        SPANFFT_ASSIGN(Layout boxes, Layout::from_boxes(problem.shape, problem.real_boxes));
        state.layout = with_batch(std::move(boxes));
        exchange_to(route, state, natural);
    }
    auto pending = pending_axes(problem);
    for (transform_whole_axes(route, state, pending); !pending.empty(); transform_whole_axes(route, state, pending)) {
        SPANFFT_TRY(free_an_axis(route, state, pending, first_axis));
    }
    if (!problem.spectrum_boxes.empty()) {
        SPANFFT_ASSIGN(Layout boxes, Layout::from_boxes(problem.spectrum_shape(), problem.spectrum_boxes));
        exchange_to(route, state, with_batch(std::move(boxes)));
    } else if (problem.output == SpectrumOrder::natural) {
        exchange_to(route, state, with_batch(divided(problem.spectrum_shape(), grid)));
    }
    return route;
}

namespace {

// The default division is P4's: the leading axes. A later axis is divided before an earlier one only where the earlier
// one is too short to give every rank a part; else a user could not guess the layout from the number of ranks.
bool divides_leading_axes(const Problem& problem, const Extents& grid) {
    for (size_t axis = 1; axis < grid.size(); ++axis) {
        if (grid[axis] > 1 && grid[axis - 1] == 1 && problem.shape[axis - 1] >= problem.ranks) return false;
    }
    return true;
}

std::vector<Extents> candidate_grids(const Problem& problem) {
    if (!problem.grid.empty()) return {problem.grid};
    std::vector<Extents> grids;
    // More than three divided axes pay off on no machine we know of, and their factorings are many.
    const int most_dims = std::clamp(problem.ndim() - 1, 1, 3);
    for (const Extents& grid : factorings(problem.ranks, most_dims)) {
        if (divides_leading_axes(problem, grid)) grids.push_back(grid);
    }
    return grids;
}

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
    if (problem.ndim() == 1) {
        return error(
            Code::unsupported, "a 1-D transform of length ", problem.shape[0], " across ", problem.ranks,
            " ranks in blocks comes in a later version; divide it cyclically (layout=cyclic, where ranks squared "
            "divides the length), transform it on one rank, from a file with memory=, or as a batch (shape ",
            problem.batch > 1 ? problem.batch : index_t{2}, "x", problem.shape[0],
            " with axes=1) whose rows the ranks share");
    }
    return error(Code::invalid_argument, "grid ", shape_string(grid), " divides all ", problem.ndim(),
                 " axes; leave one axis undivided (an extent of 1)");
}

// The problem by whose cost the grid is chosen. All plans for one array on the same ranks must fit together: what
// forward leaves, backward takes, in place or not. So the grid may not depend on any of that.
Problem grid_twin(const Problem& problem) {
    Problem twin = problem;
    twin.direction = Direction::forward;
    twin.norm = Norm::backward;
    twin.effort = Effort::estimate;
    twin.in_place = false;
    return twin;
}

// What the user asked for, or every strategy with each parameter worth trying.
std::vector<std::string> candidate_exchanges(const Problem& problem, const Route& route, const Machine& machine) {
    if (!problem.exchange.empty()) return {problem.exchange};
    const auto op =
        std::find_if(route.begin(), route.end(), [](const RouteOp& o) { return o.type == RouteOp::Type::exchange; });
    std::vector<std::string> texts;
    for (const auto& strategy : exchange_table()) {
        if (!may_propose(strategy, machine)) continue;
        if (op == route.end()) {  // nothing to move: any will do
            texts.push_back(strategy.name);
            break;
        }
        const ExchangeSpec spec = exchange_spec(op->from, op->to, "", machine);
        for (const std::string& parameter : strategy.candidates(spec)) {
            const bool can_all = std::all_of(route.begin(), route.end(), [&](const RouteOp& o) {
                return o.type != RouteOp::Type::exchange ||
                       strategy.check(exchange_spec(o.from, o.to, parameter, machine)).ok();
            });
            if (can_all) texts.push_back(exchange_text(strategy, parameter));
        }
    }
    return texts;
}

// The plan of the twin with the fewest predicted seconds, by whose grid and exchange the problem is planned; its notes
// say what was not chosen.
Result<std::unique_ptr<Plan>> choose(const Problem& problem, const Planner& planner) {
    const Problem twin = grid_twin(problem);
    std::unique_ptr<Plan> best;
    std::vector<std::string> lost;
    for (const Extents& grid : candidate_grids(problem)) {
        SPANFFT_TRY(check_grid(problem, grid));
        SPANFFT_ASSIGN(const Route route, find_route(problem, grid));
        for (const std::string& exchange : candidate_exchanges(problem, route, planner.machine())) {
            SPANFFT_ASSIGN(auto plan, plan_route(twin, route, exchange, planner, "pencil"));
            plan->problem.grid = grid;
            if (!best || plan->predicted_seconds() < best->predicted_seconds()) std::swap(best, plan);
            if (plan)
                lost.push_back(cat("grid ", shape_string(plan->problem.grid), " with ", plan->problem.exchange, ": ",
                                   plan->predicted_seconds() * 1e3, " ms predicted"));
        }
    }
    std::sort(lost.begin(), lost.end());
    for (size_t i = 0; i < std::min<size_t>(lost.size(), 4); ++i) {
        best->notes.push_back("not chosen: " + lost[i] + cat(" (chosen: ", best->predicted_seconds() * 1e3, " ms)"));
    }
    return best;
}

}  // namespace

Result<Extents> choose_grid(const Problem& problem, const Planner& planner) {
    if (!problem.grid.empty()) {
        SPANFFT_TRY(check_grid(problem, problem.grid));
        return problem.grid;
    }
    SPANFFT_ASSIGN(const auto best, choose(problem, planner));
    return best->problem.grid;
}

Result<std::unique_ptr<Plan>> solve_pencil(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes > 0) return error(Code::unsupported, "pencil works on arrays in memory, not on files");
    if (problem.ranks == 1 && problem.real_boxes.empty() && problem.spectrum_boxes.empty()) {
        return error(Code::unsupported, "pencil is for several ranks");
    }
    SPANFFT_ASSIGN(const auto best, choose(problem, planner));
    const Extents grid = best->problem.grid;
    SPANFFT_ASSIGN(const Route route, find_route(problem, grid));
    SPANFFT_ASSIGN(auto plan, plan_route(problem, route, best->problem.exchange, planner, "pencil"));
    plan->problem.grid = grid;
    for (const auto& note : best->notes) {
        if (std::find(plan->notes.begin(), plan->notes.end(), note) == plan->notes.end()) plan->notes.push_back(note);
    }
    return plan;
}

}  // namespace spanfft
