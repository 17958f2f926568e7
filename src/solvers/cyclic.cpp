// Solver `cyclic`: cyclic in, cyclic out, one all-to-all (FFTU: T. Koopman, R. H. Bisseling, "Minimizing communication
// in the multidimensional FFT", SIAM J. Sci. Comput. 2023; in 1-D: M. A. Inda, R. H. Bisseling 2001).
//
// Method, for an axis of n = p m points over p ranks, p dividing m: rank s holds x[s + p t], t < m. With k = c + m r,
//
//     X[c + m r] = sum_s w_p^(s r) w_n^(s c) Y_s[c],  Y_s[c] = sum_t x[s + p t] w_m^(t c),  w_n = exp(-2 pi i/n).
//
// (1) Each rank transforms its m elements; (2) multiplies them by w_n^(s c); (3) rank q gets from every rank s the c
// with c mod p == q; (4) it transforms over s, of length p. As p divides m, k mod p == c mod p == q: the output is
// cyclic again, and (r, c / p) counts rank q's elements in order. N-D takes each step for all divided axes at once.
//
// Step 3 as layouts: the array Z[s, c], p x m, with s divided in blocks (of 1) before and c cyclically after, by the
// same grid dimension. Its local arrays are Y (1 x m) before, and p x m/p after, in the order of step 4 and of X.
//
// Worked numbers, n = 12, p = 2, m = 6: rank 1 has x[1 3 5 7 9 11], multiplies Y_1[0..5] by w_12^0 to w_12^5, keeps
// c = 1 3 5 and gives c = 0 2 4 to rank 0. That then has s = 0 1 by c = 0 2 4; over s, r = 0 gives X[0 2 4] and r = 1
// gives X[6 8 10], together its indices 0, 2, ..., 10 in order.
//
// Where all p are at most 16, steps 2 and 4 are one sweep of memory an axis, behind the exchange (butterfly_step.hpp);
// else step 2 is a sweep before it (twiddle_step.hpp) and step 4 is the engine's.
// Backward is the route undone, with conjugate factors (ADR 14). Axes that are not divided, and divided ones that are
// not transformed (of any length), take no part in steps 2 to 4: they may be r2c, DCT and DST.
// Invariant: every local array, input and output too, holds n_l / p_l indices of a transformed divided axis l.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>

#include "solvers/families.hpp"
#include "solvers/table.hpp"
#include "steps/butterfly_step.hpp"

namespace spanfft {

namespace {

constexpr size_t kMostGridsPlanned = 4;

index_t parts_of(const Extents& grid, int axis) {
    return axis < static_cast<int>(grid.size()) ? grid[static_cast<size_t>(axis)] : 1;
}

// The kind of axis `axis`, or nullptr if it is not transformed.
const AxisKind* kind_of(const Problem& problem, int axis) {
    const auto at = std::find(problem.axes.begin(), problem.axes.end(), axis);
    return at == problem.axes.end() ? nullptr : &problem.kinds[static_cast<size_t>(at - problem.axes.begin())];
}

// --- which grids -----------------------------------------------------------------------------------------------------

bool can_divide(const Problem& problem, int axis, index_t parts) {
    const AxisKind* kind = kind_of(problem, axis);
    if (parts == 1 || !kind) return true;
    const index_t n = problem.shape[static_cast<size_t>(axis)];
    return *kind == AxisKind::c2c && n % parts == 0 && n / parts % parts == 0;
}

index_t most_parts(const Problem& problem, int axis, index_t ranks) {
    index_t most = ranks;
    const index_t n = problem.shape[static_cast<size_t>(axis)];
    if (kind_of(problem, axis)) most = std::min(most, static_cast<index_t>(std::sqrt(static_cast<double>(n))) + 1);
    return most;
}

void extend_grid(const Problem& problem, index_t ranks, Extents& grid, std::vector<Extents>& grids) {
    const int axis = static_cast<int>(grid.size());
    if (axis == problem.ndim()) {
        if (ranks == 1) grids.push_back(grid);
        return;
    }
    for (index_t parts = most_parts(problem, axis, ranks); parts >= 1; --parts) {
        if (ranks % parts != 0 || !can_divide(problem, axis, parts)) continue;
        grid.push_back(parts);
        extend_grid(problem, ranks / parts, grid, grids);
        grid.pop_back();
    }
}

// What a grid costs beyond the constant: elements on the fullest rank, ranks in the all-to-all.
std::pair<index_t, index_t> grid_merit(const Problem& problem, const Extents& grid) {
    index_t local = 1, exchanging = 1;
    for (int axis = 0; axis < problem.ndim(); ++axis) {
        local *= ceil_div(problem.shape[static_cast<size_t>(axis)], parts_of(grid, axis));
        if (kind_of(problem, axis)) exchanging *= parts_of(grid, axis);
    }
    return {local, exchanging};
}

// All grids of so many ranks, the best merit first, and among equals those that divide leading axes: the pieces of
// their exchange are the longest contiguous runs.
std::vector<Extents> valid_grids(const Problem& problem, index_t ranks) {
    std::vector<Extents> grids;
    Extents grid;
    extend_grid(problem, ranks, grid, grids);
    // extend_grid finds them with the leading axes divided first.
    std::stable_sort(grids.begin(), grids.end(), [&](const Extents& a, const Extents& b) {
        return grid_merit(problem, a) < grid_merit(problem, b);
    });
    return grids;
}

std::string grid_list(const std::vector<Extents>& grids) {
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(grids.size(), 4); ++i) text += (i ? ", " : "") + shape_string(grids[i]);
    return text + (grids.size() > 4 ? ", ..." : "");
}

// "2 ranks (grid 2x1, 1x2) or 4 ranks (grid 2x2)": the next numbers of ranks, on either side, that have a grid.
std::string nearest_grids(const Problem& problem) {
    const index_t most = 2 * index_t{problem.ranks};
    std::set<index_t> possible{1};
    for (int axis = 0; axis < problem.ndim(); ++axis) {
        const auto before = possible;
        for (index_t parts = 2; parts <= most_parts(problem, axis, most); ++parts) {
            if (!can_divide(problem, axis, parts)) continue;
            for (index_t ranks : before) {
                if (ranks * parts <= most) possible.insert(ranks * parts);
            }
        }
    }
    const auto text = [&](index_t ranks) {
        return cat(ranks, ranks == 1 ? " rank (grid " : " ranks (grid ", grid_list(valid_grids(problem, ranks)), ")");
    };
    const auto above = possible.upper_bound(problem.ranks);
    return text(*std::prev(above)) + (above == possible.end() ? "" : " or " + text(*above));
}

std::string divisors_of(const Problem& problem, int axis) {
    std::string text;
    const index_t n = problem.shape[static_cast<size_t>(axis)];
    for (index_t parts = 1; parts <= problem.ranks && parts * parts <= n; ++parts) {
        if (can_divide(problem, axis, parts)) text += (text.empty() ? "" : ", ") + std::to_string(parts);
    }
    return text;
}

// Why `parts` can't divide axis `axis`.
std::string obstacle(const Problem& problem, int axis, index_t parts) {
    const AxisKind kind = *kind_of(problem, axis);
    const index_t n = problem.shape[static_cast<size_t>(axis)];
    if (kind != AxisKind::c2c) {
        return cat("axis ", axis, " (", axis_kind_name(kind),
                   ") can't be divided cyclically, only c2c axes can: divide ",
                   "other axes, transform it as c2c, or use layout=block");
    }
    return cat("axis ", axis, " of length ", n, " can't be divided cyclically by ", parts, ", as ", parts, "*", parts,
               " does not divide ", n, "; it can be divided by ", divisors_of(problem, axis));
}

// The given grid, or one of each merit: those of equal merit cost the same.
Result<std::vector<Extents>> candidate_grids(const Problem& problem) {
    auto grids = valid_grids(problem, problem.ranks);
    const std::string remedy = grids.empty()
                                   ? cat("for layout=cyclic use ", nearest_grids(problem), ", or layout=block")
                                   : cat("grids of ", problem.ranks, " ranks that work: ", grid_list(grids));
    for (int axis = 0; axis < problem.ndim(); ++axis) {
        const index_t parts = parts_of(problem.grid, axis);
        if (!can_divide(problem, axis, parts))
            return error(Code::invalid_argument, "grid ", shape_string(problem.grid), ": ",
                         obstacle(problem, axis, parts), "; ", remedy);
    }
    if (!problem.grid.empty()) return std::vector<Extents>{problem.grid};
    if (!grids.empty()) {
        const auto equals = [&](const Extents& a, const Extents& b) {
            return grid_merit(problem, a) == grid_merit(problem, b);
        };
        grids.erase(std::unique(grids.begin(), grids.end(), equals), grids.end());
        grids.resize(std::min(grids.size(), kMostGridsPlanned));
        return grids;
    }
    std::string axes;  // no axis is left out: one that is not transformed could take all ranks
    for (int axis = 0; axis < problem.ndim(); ++axis)
        axes += cat(axis ? "; " : "", obstacle(problem, axis, problem.ranks));
    return error(Code::unsupported, "no grid of ", problem.ranks, " ranks divides ", shape_string(problem.shape),
                 " cyclically (", axes, "); ", remedy);
}

// --- the route -------------------------------------------------------------------------------------------------------

// The array with each divided transformed axis as two axes, s (parts) and c (the rest); see the head of this file.
struct SplitArray {
    Layout before, after;               // the exchange goes from the one to the other; equal if nothing is exchanged
    std::vector<TwiddlePair> pairs;     // (s, c)
    std::vector<PendingAxis> at_start;  // transformed in step 1
};

SplitArray split_array(const Problem& problem, const Extents& grid) {
    SplitArray split;
    Extents shape;
    std::vector<GridDim> before, after;
    if (batch_axes(problem)) shape.push_back(problem.batch);
    for (int axis = 0; axis < problem.ndim(); ++axis) {
        const index_t n = problem.shape[static_cast<size_t>(axis)], parts = parts_of(grid, axis);
        const AxisKind* kind = kind_of(problem, axis);
        const int at = static_cast<int>(shape.size());
        if (kind && parts > 1) {
            shape.push_back(parts);
            shape.push_back(n / parts);
            before.push_back({parts, at, Division::block});
            after.push_back({parts, at + 1, Division::cyclic});
            split.pairs.push_back({at, at + 1});
        } else {
            shape.push_back(n);
            if (parts > 1) before.push_back({parts, at, Division::cyclic});
            if (parts > 1) after.push_back({parts, at, Division::cyclic});
        }
        if (kind) split.at_start.push_back({static_cast<int>(shape.size()) - 1, *kind});
    }
    if (before.empty()) before = after = {{1, -1, Division::block}};
    split.before = Layout(shape, before);
    split.after = Layout(shape, after);
    return split;
}

Result<Route> cyclic_route(const Problem& problem, const Extents& grid) {
    const SplitArray split = split_array(problem, grid);
    Route route;
    ArrayState state{divided(problem, problem.shape, grid, Division::cyclic), real_elem(problem)};
    view_as(route, state, split.before);
    auto pending = split.at_start;
    transform_whole_axes(route, state, pending);
    assert(pending.empty());
    if (split.pairs.empty()) return route;  // every transformed axis is whole
    const bool short_parts = std::all_of(split.pairs.begin(), split.pairs.end(), [&](const TwiddlePair& pair) {
        return state.layout.shape()[static_cast<size_t>(pair.part)] <= ButterflySpec::kLongest;
    });
    const auto add = [&](RouteOp::Type type, std::vector<int> axes, std::vector<TwiddlePair> pairs) {
        route.push_back({type, state, state, Kernel::c2c_forward, std::move(axes), std::move(pairs)});
    };
    if (!short_parts) add(RouteOp::Type::twiddle, {}, split.pairs);
    move_to(route, state, Layout(state.layout.shape(), split.after.grid()));  // an r2c axis is shorter now
    if (short_parts) {
        for (const TwiddlePair& pair : split.pairs) add(RouteOp::Type::butterfly, {}, {pair});
    } else {
        std::vector<int> parts;
        for (const TwiddlePair& pair : split.pairs) parts.push_back(pair.part);
        add(RouteOp::Type::transform, std::move(parts), {});
    }
    view_as(route, state, divided(problem, problem.spectrum_shape(), grid, Division::cyclic));
    return route;
}

}  // namespace

const RouteFamily& cyclic_family() {
    static const RouteFamily family{"cyclic", candidate_grids, cyclic_route};
    return family;
}

Result<std::unique_ptr<Plan>> solve_cyclic(const Problem& problem, const Planner& planner) {
    if (problem.layout != Division::cyclic)
        return error(Code::unsupported, "cyclic is for arrays that are divided cyclically; give layout=cyclic");
    if (problem.memory_bytes > 0) return error(Code::unsupported, "cyclic works on arrays in memory, not on files");
    return solve_by_route(cyclic_family(), problem, planner);
}

}  // namespace spanfft
