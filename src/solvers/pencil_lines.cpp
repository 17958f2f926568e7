// Solver `pencil_lines`: an N-D array on more ranks than its other axes can feed: a long axis stays divided (P2,
// section 2.1, within P4's pencils).
//
// Route: one divided axis of n = n1 n2 points is viewed as the axes n1 and n2, of which the ranks hold whole rows.
// Now the array has an axis more than the process grid has dimensions, so the rest is pencil's route: transform the
// axes that are whole; move a division away from one that is needed; repeat. n2 waits for n1 and for the twiddles
// between them. If the long axis is the last, n1 goes as in solver `lines` (lines.cpp, which has the formula): in
// tiles, which leave n2 x n1 for the next move; otherwise n1, the twiddles, and at the end a transposition of n1 and n2
// are steps of their own. n2 x n1, of which the ranks share n2, is natural order. As in `lines` the few elements by
// which whole rows and balanced blocks differ are moved before and after, where the parts do not divide n1 and n2.
// Exchanged order: where the last move gives every p-th row of n1 to a rank, the axis is left divided cyclically and
// that is the end.
// r2c: the halved axis is another one; or it is the long one, the last, of an even length: then its pairs go first, as
// those of one axis do, in natural order only, and the others after them.
// Grids: those that divide such an axis.
//
// Solver `shared_pencil_lines`, where all ranks see the array and the long axis is the last one: the axes that are
// whole, and then the two sweeps of `shared_lines` along the long axis instead of exchanges.
//
// Worked numbers: 4 x 2^20 on 8 ranks, grid 1x8, n1 = n2 = 1024: each rank has 4 x 128 x 1024 and transforms the axis
// of 4; moves to 4 x 1024 x 128; transforms n1 and twiddles, which leaves 4 x (8 parts) x 128 x 128; moves the parts,
// to 4 x 1024 x 128 of n2 x n1; transforms n2; and moves to 4 x 128 x 1024 of it: its block of k = k1 + 1024 k2. Three
// exchanges, all ranks busy.
#include "solvers/pencil_lines.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "lower/lower.hpp"
#include "solvers/families.hpp"
#include "solvers/lines.hpp"
#include "solvers/pencil.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

// The axis that is viewed as two, as the layouts count it.
struct LongAxis {
    int axis = -1;  // none
    Factors factors;
    bool halved = false;  // n reals are n1 n2 = n/2 pairs
    index_t points() const { return factors.n1 * factors.n2; }
};

// Whether the pairs of the halved axis can go first: it is the last one, of an even length, and for the others after
// it some axis is whole.
bool halves_long(const Problem& problem, const Extents& grid) {
    const bool others_need = problem.axes.size() > 1;
    const auto divided_axes = std::count_if(grid.begin(), grid.end(), [](index_t parts) { return parts > 1; });
    return problem.axes.back() + 1 == problem.ndim() && problem.shape.back() % 2 == 0 &&
           (!others_need || divided_axes < problem.ndim());
}

// The longest axis that the grid divides and that has factors: c2c, or the halved one of r2c.
LongAxis long_axis(const Problem& problem, const Extents& grid) {
    LongAxis found;
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        const auto axis = static_cast<size_t>(problem.axes[i]);
        const index_t parts = axis < grid.size() ? grid[axis] : 1, n = problem.shape[axis];
        const bool halved = problem.kinds[i] == AxisKind::r2c;
        if (parts == 1 || is_r2r(problem.kinds[i]) || (halved && !halves_long(problem, grid))) continue;
        const index_t points = halved ? n / 2 : n;
        if (found.axis >= 0 && points <= found.points()) continue;
        const Factors factors = factors_of(points, parts);
        if (factors.n1 > 1) found = {problem.axes[i] + batch_axes(problem), factors, halved};
    }
    return found;
}

Layout as_two(const Layout& layout, int axis, const Factors& f) { return shown_as(layout, axis, {f.n1, f.n2}, 0); }

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

bool may_leave_cyclic(const Problem& problem) {
    return problem.output == SpectrumOrder::exchanged && problem.real_boxes.empty() && problem.spectrum_boxes.empty();
}

// The layout with a dimension that divides another axis, in rows that are dealt out or in blocks.
Layout given_to(const Layout& layout, int dim, int axis, bool dealt) {
    std::vector<GridDim> dims = layout.grid();
    dims[static_cast<size_t>(dim)] = {dims[static_cast<size_t>(dim)].parts, axis,
                                      dealt ? Division::cyclic : Division::block};
    return Layout(layout.shape(), std::move(dims));
}

// The steps of the long axis within those of pencil.
class LongLine {
  public:
    // `axis` and the one behind it are n1 x n2.
    LongLine(Route& route, ArrayState& state, int axis, bool may_deal)
        : route_(route), state_(state), axis_(axis), may_deal_(may_deal), is_last_(axis + 2 == state.layout.ndim()) {}

    // From whole rows to the last transform.
    Status transform_all(std::vector<PendingAxis> pending, int first_axis) {
        for (bool first = true;;) {  // n1 is to be done; then n2, as any other axis
            if (first && is_last_) std::erase_if(pending, [&](const PendingAxis& p) { return p.axis == axis_; });
            transform_whole_axes(route_, state_, pending);
            if (first && has_done_first(pending)) {
                pending.push_back({turned_ ? axis_ : axis_ + 1, AxisKind::c2c});
                first = false;
                continue;
            }
            if (first && is_last_) pending.push_back({axis_, AxisKind::c2c});
            if (pending.empty()) return {};
            if (first || turned_ || pending.back().axis != axis_ + 1 || !deal_rows())
                SPANFFT_TRY(free_an_axis(route_, state_, pending, first_axis));
        }
    }

    // Whether the parts of n1 x n2, turned, are frequencies in equal steps.
    bool is_dealt() const {
        const int dim = dim_of(state_.layout, turned_ ? axis_ + 1 : axis_);
        return state_.layout.is_whole(turned_ ? axis_ : axis_ + 1) && dim >= 0 &&
               state_.layout.grid()[static_cast<size_t>(dim)].division == Division::cyclic;
    }

    // To n2 x n1, of which the ranks have these parts.
    void end_in(const Layout& rows) {
        move_to(route_, state_, turned_ ? rows : turned(rows, axis_));
        if (!turned_) transpose(route_, state_, axis_, rows);
    }

    void end_dealt() {
        if (!turned_) transpose(route_, state_, axis_, turned(state_.layout, axis_));
        view_as(route_, state_, as_one(state_.layout, axis_));
    }

  private:
    bool can_deal(index_t parts) const {
        return may_deal_ && state_.layout.shape()[static_cast<size_t>(axis_)] % parts == 0;
    }

    // What is done as soon as n1 is whole, and other axes that must be before it are not `pending`.
    bool has_done_first(const std::vector<PendingAxis>& pending) {
        if (!is_last_) {
            if (std::any_of(pending.begin(), pending.end(), [&](const PendingAxis& p) { return p.axis == axis_; }))
                return false;
            route_.push_back({RouteOp::Type::twiddle, state_, state_, Kernel::c2c_forward, {}, {{axis_, axis_ + 1}}});
            return true;
        }
        if (!state_.layout.is_whole(axis_) || !state_.elem.complex) return false;
        const Layout matrix = state_.layout;
        const int dim = dim_of(matrix, axis_ + 1);
        const bool deals = dim >= 0 && can_deal(matrix.grid()[static_cast<size_t>(dim)].parts);
        columns_to_parts(route_, state_, axis_, deals);
        const Layout after = turned(matrix, axis_);
        view_as(route_, state_, dim < 0 ? after : given_to(after, dim, axis_ + 1, deals));
        turned_ = true;
        return true;
    }

    // Frees n2 by dealing the rows of n1 out, if those are whole and the parts divide them.
    bool deal_rows() {
        const int dim = dim_of(state_.layout, axis_ + 1);
        if (dim < 0 || !state_.layout.is_whole(axis_)) return false;
        if (!can_deal(state_.layout.grid()[static_cast<size_t>(dim)].parts)) return false;
        move_to(route_, state_, given_to(state_.layout, dim, axis_, true));
        return true;
    }

    Route& route_;
    ArrayState& state_;
    const int axis_;
    const bool may_deal_, is_last_;
    bool turned_ = false;  // now n2 x n1
};

// The halved axis is the long one: its pairs go as a c2c axis would, by themselves; then the others.
Status through_pairs(Route& route, ArrayState& state, const Problem& problem, const Layout& real,
                     const LongAxis& found) {
    const auto& [axis, f, halved] = found;
    const Layout pairs = real.with_extent(axis, found.points());
    move_to(route, state, whole_rows(real, axis, 2 * f.n2));
    const ArrayState as_pairs{as_two(pairs, axis, f), {problem.precision, true}};
    route.push_back({RouteOp::Type::view, state, as_pairs});
    state = as_pairs;
    LongLine line(route, state, axis, false);
    SPANFFT_TRY(line.transform_all({{axis, AxisKind::c2c}}, batch_axes(problem)));
    line.end_in(as_two(pairs, axis, {f.n2, f.n1}));
    view_as(route, state, whole_rows(pairs, axis, f.n1));
    SPANFFT_ASSIGN(Layout half, half_of_pairs(state.layout));
    halve(route, state, Halving::split, {std::move(half), state.elem});
    auto pending = pending_axes(problem);
    std::erase_if(pending, [&, it = axis](const PendingAxis& p) { return p.axis == it; });
    transform_whole_axes(route, state, pending);
    if (!pending.empty()) move_to(route, state, real.with_extent(axis, found.points() + 1));
    for (; !pending.empty(); transform_whole_axes(route, state, pending))
        SPANFFT_TRY(free_an_axis(route, state, pending, batch_axes(problem)));
    return {};
}

Result<Route> pencil_lines_route(const Problem& problem, const Extents& grid) {
    const LongAxis found = long_axis(problem, grid);
    const auto& [axis, f, halved] = found;
    const Layout real = divided(problem, problem.shape, grid, Division::block),
                 spectrum = divided(problem, problem.spectrum_shape(), grid, Division::block);
    SPANFFT_ASSIGN(Layout callers, callers_blocks(problem, problem.spectrum_shape(), problem.spectrum_boxes, grid));
    Route route;
    ArrayState state;
    state.elem = real_elem(problem);
    SPANFFT_ASSIGN(state.layout, callers_blocks(problem, problem.shape, problem.real_boxes, grid));
    if (halved) {
        SPANFFT_TRY(through_pairs(route, state, problem, real, found));
    } else {
        move_to(route, state, whole_rows(real, axis, f.n2));
        view_as(route, state, as_two(real, axis, f));
        auto pending = pending_axes(problem);
        for (PendingAxis& p : pending) p.axis += p.axis > axis ? 1 : 0;
        LongLine line(route, state, axis, may_leave_cyclic(problem));
        SPANFFT_TRY(line.transform_all(std::move(pending), batch_axes(problem)));
        if (may_leave_cyclic(problem) && line.is_dealt()) {
            line.end_dealt();
            return route;
        }
        line.end_in(as_two(spectrum, axis, {f.n2, f.n1}));
        view_as(route, state, whole_rows(spectrum, axis, f.n1));
    }
    move_to(route, state, std::move(callers));
    return route;
}

// The two sweeps of shared_lines along the last axis, for the lines across all others.
Result<Route> shared_route(const Problem& problem, const Extents& grid) {
    const auto [axis, f, halved] = long_axis(problem, grid);
    if (halved) return error(Code::unsupported, "shared_pencil_lines does not divide the halved axis of r2c");
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
    move_to(route, state, whole_rows(spectrum, axis, f.n2));
    view_as(route, state, as_two(spectrum, axis, f));
    two_sweeps(route, state, axis);
    view_as(route, state, whole_rows(spectrum, axis, f.n1));
    move_to(route, state, spectrum);
    return route;
}

// Leaves only the grids that are `wanted`, if there are any.
template <class Wanted>
void prefer(std::vector<Extents>& grids, const Wanted& wanted) {
    std::vector<Extents> found;
    std::copy_if(grids.begin(), grids.end(), std::back_inserter(found), wanted);
    if (!found.empty()) grids = std::move(found);
}

// Whether it gives every rank elements in every step.
bool grid_feeds_all(const Problem& problem, const Extents& grid) {
    const auto [axis, f, halved] = long_axis(problem, grid);
    const index_t parts = grid[static_cast<size_t>(axis - batch_axes(problem))];
    if (parts > std::min(f.n1, f.n2)) return false;
    const auto route = pencil_lines_route(problem, grid);
    return route.ok() && feeds_all(route.value());
}

Result<std::vector<Extents>> candidate_grids(const Problem& problem) {
    std::vector<Extents> grids{problem.grid};
    if (problem.grid.empty()) {
        // As many divided axes as pencil's grids have, and one more.
        grids = factorings(problem.ranks, std::min(problem.ndim(), 4));
        std::erase_if(grids, [&](const Extents& grid) {
            return !std::equal(grid.begin(), grid.end(), problem.shape.begin(), std::less_equal<>());
        });
    }
    std::erase_if(grids, [&](const Extents& grid) { return long_axis(problem, grid).axis < 0; });
    if (grids.empty())
        return error(Code::unsupported,
                     "pencil_lines needs a c2c axis of 64 points or more and of a length with factors, or a last axis ",
                     "of r2c of an even length of 128 or more beside a whole axis, ",
                     problem.grid.empty() ? std::string("that the ranks can divide")
                                          : "that grid " + shape_string(problem.grid) + " divides");
    if (!problem.grid.empty()) return grids;
    prefer(grids, [&](const Extents& grid) { return grid_feeds_all(problem, grid); });
    prefer(grids, [&](const Extents& grid) { return divides_leading_axes(problem, grid); });
    return grids;
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

const RouteFamily& pencil_lines_family() {
    static const RouteFamily family{"pencil_lines", candidate_grids, pencil_lines_route};
    return family;
}

Result<Problem> with_common_grid(const Problem& problem, const Planner& planner, const RouteFamily& own) {
    if (!problem.method.empty() || problem.ndim() == 1 || pencil_feeds_all(problem)) return problem;
    const auto pencil = best_grid(pencil_family(), problem, planner),
               lines = best_grid(pencil_lines_family(), problem, planner);
    if (!lines.ok() && !pencil.ok()) return problem;
    const bool divides_lines = lines.ok() && (!pencil.ok() || lines.value().seconds < pencil.value().seconds);
    const bool owns_lines = &own == &pencil_lines_family();
    if (owns_lines == divides_lines) return problem;
    if (!lines.ok()) return lines.status();
    if (owns_lines) return error(Code::unsupported, "pencil is predicted to be faster than pencil_lines");
    if (problem.output == SpectrumOrder::exchanged)
        return error(Code::unsupported,
                     "pencil leaves another order than pencil_lines, which is predicted to be faster");
    Problem gridded = problem;
    gridded.grid = lines.value().grid;
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
