// Solver `pencil_lines`: an N-D array on more ranks than its other axes can feed: a long axis stays divided (P2,
// section 2.1, within P4's pencils).
//
// Route: one divided c2c axis of n = n1 n2 points is viewed as the axes n1 and n2, of which the ranks hold whole rows.
// Now the array has an axis more than the process grid has dimensions, so the rest is pencil's route: transform the
// axes that are whole; move a division away from one that is needed; repeat. n2 waits for n1 and for the twiddles
// between them. At the end the ranks share n2, and each transposes its part: n2 x n1, in rows, is natural order. As in
// solver `lines` (lines.cpp, which has the formula) the few elements by which whole rows and balanced blocks differ are
// moved before and after, where the parts do not divide n1 and n2. Exchanged order: where the last move gives every
// p-th row of n1 to a rank, the axis is left divided cyclically and that is the end.
// Grids: those that divide such an axis. r2c: the halved axis is another one.
//
// Solver `shared_pencil_lines`, where all ranks see the array and the long axis is the last one: the axes that are
// whole, and then the two sweeps of `shared_lines` along the long axis instead of exchanges.
//
// Worked numbers: 4 x 2^20 on 8 ranks, grid 1x8, n1 = n2 = 1024: each rank has 4 x 128 x 1024 and transforms the axis
// of 4; moves to 4 x 1024 x 128, transforms n1, twiddles; moves back, transforms n2; moves to 4 x 1024 x 128 again and
// transposes to 4 x 128 x 1024: its block of k = k1 + 1024 k2. Three exchanges, all ranks busy.
#include "solvers/pencil_lines.hpp"

#include <algorithm>
#include <functional>

#include "lower/lower.hpp"
#include "solvers/lines.hpp"
#include "solvers/pencil.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

// The axis that is viewed as two, as the layouts count it.
struct LongAxis {
    int axis = -1;  // none
    Factors factors;
};

// The longest c2c axis that the grid divides and that has factors.
LongAxis long_axis(const Problem& problem, const Extents& grid) {
    LongAxis found;
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        const auto axis = static_cast<size_t>(problem.axes[i]);
        const index_t parts = axis < grid.size() ? grid[axis] : 1, n = problem.shape[axis];
        if (problem.kinds[i] != AxisKind::c2c || parts == 1) continue;
        if (found.axis >= 0 && n <= found.factors.n1 * found.factors.n2) continue;
        const Factors factors = factors_of(n, parts);
        if (factors.n1 > 1) found = {problem.axes[i] + batch_axes(problem), factors};
    }
    return found;
}

// The dimension of the grid that divides `axis`, or -1.
int dim_of(const Layout& layout, int axis) {
    const auto& grid = layout.grid();
    const auto at = std::find_if(grid.begin(), grid.end(), [&](const GridDim& dim) { return dim.axis == axis; });
    return at == grid.end() ? -1 : static_cast<int>(at - grid.begin());
}

// The axis as two; n1 is divided as it was.
Layout as_two(const Layout& layout, int axis, const Factors& f) {
    Extents shape = layout.shape();
    shape[static_cast<size_t>(axis)] = f.n1;
    shape.insert(shape.begin() + axis + 1, f.n2);
    std::vector<GridDim> dims = layout.grid();
    for (GridDim& dim : dims) dim.axis += dim.axis > axis ? 1 : 0;
    return Layout(std::move(shape), std::move(dims));
}

// The axis and the one behind it as one, divided as the one behind it.
Layout as_one(const Layout& layout, int axis) {
    Extents shape = layout.shape();
    const auto behind = shape.begin() + axis + 1;
    shape[static_cast<size_t>(axis)] *= *behind;
    shape.erase(behind);
    std::vector<GridDim> dims = layout.grid();
    for (GridDim& dim : dims) dim.axis -= dim.axis > axis ? 1 : 0;
    return Layout(std::move(shape), std::move(dims));
}

Layout turned(const Layout& layout, int axis) {
    Extents shape = layout.shape();
    std::swap(shape[static_cast<size_t>(axis)], shape[static_cast<size_t>(axis) + 1]);
    std::vector<GridDim> dims = layout.grid();
    for (GridDim& dim : dims) dim.axis = dim.axis == axis ? axis + 1 : dim.axis == axis + 1 ? axis : dim.axis;
    return Layout(std::move(shape), std::move(dims));
}

// As `blocks`, but the ranks have whole rows of n1 x n2 along the axis; `blocks` itself where that is the same.
Result<Layout> whole_rows_along(const Layout& blocks, int axis, index_t n1, index_t n2) {
    const auto dim = static_cast<size_t>(dim_of(blocks, axis));
    const index_t parts = blocks.grid()[dim].parts;
    std::vector<AxisRange> rows;
    bool same = true;
    for (index_t part = 0; part < parts; ++part) {
        const AxisRange own = block_range(n1, parts, part);
        rows.push_back({own.start * n2, own.count * n2, 1});
        same = same && rows.back() == block_range(n1 * n2, parts, part);
    }
    if (same) return blocks;
    std::vector<Patch> boxes;
    for (int rank = 0; rank < blocks.nranks(); ++rank) {
        boxes.push_back(blocks.patch(rank));
        boxes.back()[static_cast<size_t>(axis)] = rows[static_cast<size_t>(blocks.grid_coords(rank)[dim])];
    }
    return Layout::from_boxes(blocks.shape(), std::move(boxes));
}

bool may_leave_cyclic(const Problem& problem) {
    return problem.output == SpectrumOrder::exchanged && problem.real_boxes.empty() && problem.spectrum_boxes.empty();
}

// Frees n2 by dealing the rows of n1 out, if those are whole and the parts divide them.
bool deal_rows(Route& route, ArrayState& state, int axis) {
    const int dim = dim_of(state.layout, axis + 1);
    if (dim < 0 || !state.layout.is_whole(axis)) return false;
    std::vector<GridDim> dims = state.layout.grid();
    GridDim& dealt = dims[static_cast<size_t>(dim)];
    if (state.layout.shape()[static_cast<size_t>(axis)] % dealt.parts != 0) return false;
    dealt.axis = axis;
    dealt.division = Division::cyclic;
    move_to(route, state, Layout(state.layout.shape(), std::move(dims)));
    return true;
}

// Whether the parts of n1 x n2, transposed, are frequencies in equal steps.
bool is_dealt(const Layout& layout, int axis) {
    const int dim = dim_of(layout, axis);
    return layout.is_whole(axis + 1) && dim >= 0 &&
           layout.grid()[static_cast<size_t>(dim)].division == Division::cyclic;
}

// From whole rows to the last transform.
Status transform_all(Route& route, ArrayState& state, const Problem& problem, int axis) {
    auto pending = pending_axes(problem);
    for (PendingAxis& p : pending) p.axis += p.axis > axis ? 1 : 0;
    const auto is_pending = [&](int of) {
        return std::any_of(pending.begin(), pending.end(), [&](const PendingAxis& p) { return p.axis == of; });
    };
    bool twiddled = false;
    for (;;) {
        transform_whole_axes(route, state, pending);
        if (!twiddled && !is_pending(axis)) {
            route.push_back({RouteOp::Type::twiddle, state, state, Kernel::c2c_forward, {}, {{axis, axis + 1}}});
            twiddled = true;
            pending.push_back({axis + 1, AxisKind::c2c});
            continue;
        }
        if (pending.empty()) return {};
        const bool deals = may_leave_cyclic(problem) && pending.back().axis == axis + 1;
        if (!deals || !deal_rows(route, state, axis))
            SPANFFT_TRY(free_an_axis(route, state, pending, batch_axes(problem)));
    }
}

Result<Route> pencil_lines_route(const Problem& problem, const Extents& grid) {
    const auto [axis, f] = long_axis(problem, grid);
    const Layout real = divided(problem, problem.shape, grid, Division::block);
    Route route;
    ArrayState state;
    state.elem = real_elem(problem);
    SPANFFT_ASSIGN(state.layout, callers_blocks(problem, problem.shape, problem.real_boxes, grid));
    SPANFFT_ASSIGN(Layout begin, whole_rows_along(real, axis, f.n1, f.n2));
    move_to(route, state, std::move(begin));
    view_as(route, state, as_two(real, axis, f));
    SPANFFT_TRY(transform_all(route, state, problem, axis));
    if (may_leave_cyclic(problem) && is_dealt(state.layout, axis)) {
        transpose(route, state, axis, turned(state.layout, axis));
        view_as(route, state, as_one(state.layout, axis));
        return route;
    }
    const Layout spectrum = divided(problem, problem.spectrum_shape(), grid, Division::block);
    const Layout rows = as_two(spectrum, axis, {f.n2, f.n1});
    move_to(route, state, turned(rows, axis));
    transpose(route, state, axis, rows);
    SPANFFT_ASSIGN(Layout end, whole_rows_along(spectrum, axis, f.n2, f.n1));
    view_as(route, state, std::move(end));
    SPANFFT_ASSIGN(Layout callers, callers_blocks(problem, problem.spectrum_shape(), problem.spectrum_boxes, grid));
    move_to(route, state, std::move(callers));
    return route;
}

// The two sweeps of shared_lines along the last axis, for the lines across all others.
Result<Route> shared_route(const Problem& problem, const Extents& grid) {
    const auto [axis, f] = long_axis(problem, grid);
    const Layout real = divided(problem, problem.shape, grid, Division::block),
                 spectrum = divided(problem, problem.spectrum_shape(), grid, Division::block);
    Route route;
    ArrayState state{real, real_elem(problem)};
    auto pending = pending_axes(problem);
    std::erase_if(pending, [&](const PendingAxis& p) { return p.axis == axis; });
    transform_whole_axes(route, state, pending);
    if (axis + 1 < real.ndim() || !pending.empty())
        return error(Code::unsupported, "shared_pencil_lines is for arrays whose last axis is divided, and none other ",
                     "that is transformed");
    SPANFFT_ASSIGN(Layout begin, whole_rows_along(spectrum, axis, f.n1, f.n2));
    SPANFFT_ASSIGN(Layout end, whole_rows_along(spectrum, axis, f.n2, f.n1));
    move_to(route, state, std::move(begin));
    const Layout rows = as_two(spectrum, axis, f), turned_rows = as_two(spectrum, axis, {f.n2, f.n1});
    const int dim = dim_of(rows, axis);
    view_as(route, state, rows);
    RouteOp columns{RouteOp::Type::transform, state, {turned_rows, state.elem}, Kernel::c2c_forward, {axis}};
    columns.share = rows.with_division(dim, axis + 1);
    columns.turned = Turned::to;
    columns.rows = true;
    state = columns.to;
    route.push_back(std::move(columns));
    RouteOp second{RouteOp::Type::transform, state, state, Kernel::c2c_forward, {axis}};
    second.share = turned_rows.with_division(dim, axis + 1);
    second.rows = true;
    route.push_back(std::move(second));
    view_as(route, state, std::move(end));
    move_to(route, state, spectrum);
    return route;
}

Result<std::vector<Extents>> candidate_grids(const Problem& problem) {
    std::vector<Extents> grids;
    const auto keep_divisible = [&](const std::vector<Extents>& all) {
        for (const Extents& grid : all) {
            if (long_axis(problem, grid).axis >= 0) grids.push_back(grid);
        }
    };
    if (!problem.grid.empty()) {
        keep_divisible({problem.grid});
    } else {
        // As many divided axes as pencil's grids have, and one more.
        std::vector<Extents> all = factorings(problem.ranks, std::min(problem.ndim(), 4));
        std::erase_if(all, [&](const Extents& grid) {
            return !std::equal(grid.begin(), grid.end(), problem.shape.begin(), std::less_equal<>());
        });
        keep_divisible(all);
        // Of grids that give every rank a part, those that a user could guess, if there are any.
        std::vector<Extents> guessed = grids;
        std::erase_if(guessed, [&](const Extents& grid) { return !divides_leading_axes(problem, grid); });
        if (!guessed.empty()) grids = std::move(guessed);
    }
    if (grids.empty())
        return error(Code::unsupported,
                     "pencil_lines needs a c2c axis of 64 points or more, of a length with factors, ",
                     problem.grid.empty() ? std::string("that the ranks can divide")
                                          : "that grid " + shape_string(problem.grid) + " divides",
                     " (the halved axis of r2c and axes of DCT and DST are not divided for good)");
    return grids;
}

const RouteFamily& pencil_lines_family() {
    static const RouteFamily family{"pencil_lines", candidate_grids, pencil_lines_route};
    return family;
}

Status applies(const Problem& problem) {
    if (problem.memory_bytes > 0)
        return error(Code::unsupported, "pencil_lines works on arrays in memory, not on files");
    if (problem.ranks == 1) return error(Code::unsupported, "pencil_lines is for several ranks");
    if (problem.ndim() == 1) return error(Code::unsupported, "pencil_lines is for arrays of several axes");
    if (problem.method.empty() && pencil_feeds_all(problem))
        return error(Code::unsupported, "pencil_lines is for more ranks than the other axes can feed");
    return {};
}

}  // namespace

Result<Problem> with_common_grid(const Problem& problem, const Planner& planner, const RouteFamily& own) {
    if (!problem.method.empty() || problem.ndim() == 1 || pencil_feeds_all(problem)) return problem;
    const auto pencil = best_grid(pencil_family(), problem, planner),
               lines = best_grid(pencil_lines_family(), problem, planner);
    if (!lines.ok() && !pencil.ok()) return problem;
    const bool divides_lines = lines.ok() && (!pencil.ok() || lines.value().seconds < pencil.value().seconds);
    const RouteFamily& chosen = divides_lines ? pencil_lines_family() : pencil_family();
    if (&own == &chosen) return problem;
    if (problem.output == SpectrumOrder::exchanged)
        return error(Code::unsupported, own.solver, " leaves another order than ", chosen.solver,
                     ", which is predicted to be faster");
    Problem gridded = problem;
    gridded.grid = (divides_lines ? lines : pencil).value().grid;
    return gridded;
}

Result<std::unique_ptr<Plan>> solve_shared_pencil_lines(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(applies(problem));
    SPANFFT_TRY(windows_allowed(problem, planner, "shared_pencil_lines"));
    if (problem.output == SpectrumOrder::exchanged || !problem.real_boxes.empty() || !problem.spectrum_boxes.empty())
        return error(Code::unsupported, "shared_pencil_lines takes and leaves balanced blocks in natural order only");
    SPANFFT_ASSIGN(Problem gridded, with_common_grid(problem, planner, pencil_lines_family()));
    SPANFFT_ASSIGN(gridded.grid, choose_grid(pencil_lines_family(), gridded, planner));
    SPANFFT_ASSIGN(Route route, shared_route(gridded, gridded.grid));
    return lower(gridded, directed(gridded, std::move(route)), "shared", planner, "shared_pencil_lines");
}

Result<std::unique_ptr<Plan>> solve_pencil_lines(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(applies(problem));
    SPANFFT_ASSIGN(const Problem gridded, with_common_grid(problem, planner, pencil_lines_family()));
    SPANFFT_ASSIGN(auto plan, solve_by_route(pencil_lines_family(), gridded, planner));
    if (may_leave_cyclic(problem)) {
        const int axis = long_axis(problem, plan->problem.grid).axis;
        const ArrayState& spectrum = problem.forward() ? plan->output : plan->input;
        const int dim = dim_of(spectrum.layout, axis);
        const GridDim divided_by = dim >= 0 ? spectrum.layout.grid()[static_cast<size_t>(dim)] : GridDim{};
        plan->notes.push_back(divided_by.division == Division::cyclic
                                  ? cat("axis ", axis - batch_axes(problem), " of the spectrum is divided cyclically: ",
                                        "frequency k lies on part k mod ", divided_by.parts)
                                  : "the spectrum is in natural order, as its long axis can't be left otherwise");
    }
    return plan;
}

}  // namespace spanfft
