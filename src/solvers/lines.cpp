// Solvers `lines` and `shared_lines`: one long axis over ranks, in balanced blocks (P2, section 2.1).
//
// Route of `lines` (the six-step method), for n = n1 n2 points, j = j2 + n2 j1 and k = k1 + n1 k2:
//
//     X[k1 + n1 k2] = sum_j2 w_n2^(j2 k2) w_n^(j2 k1) sum_j1 w_n1^(j1 k1) x[j2 + n2 j1],  w_n = exp(-2 pi i/n)
//
// view n as n1 x n2, whose rows the ranks share; move, so that they share columns; (1) transform the columns, multiply
// by w_n^(j2 k1) and leave them as rows in p parts (columns_step.hpp); move, so that each rank has a part, n2 x n1/p;
// (2) transform along n2; move, so that the ranks share rows of n2 x n1: the spectrum in natural order. Three
// exchanges. Backward is the route undone, with conjugate factors. Sweeps of memory: the first exchange packs what it
// sends, (1), (2), and the last exchange unpacks what it gets: four. The second sends and receives as things lie. Where
// p does not divide n1, (1) leaves whole rows, and it packs too.
//
// Exchanged order: two exchanges. The parts are dealt: rank r has k1 = r, r + p, ... (p divides n1), so after (2) it
// has X[k1 + n1 k2] for all k2: the frequencies r, r + p, ... of n, in rising order. So the spectrum is divided
// cyclically, as FFTE's "block to cyclic" has it, and a part is a start and a step.
//
// Route of `shared_lines`, where all ranks see the array: each rank takes its share of the columns from the rows of
// all, transforms and twiddles them and keeps each as a row (n2 x n1, divided as the spectrum is); then it takes its
// share of that matrix' columns from the rows of all, transforms them and puts them back. Two sweeps of memory, no
// message.
//
// Rows and balanced blocks: where the ranks divide n1 (and n2) evenly, a rank's rows are its block of n. Elsewhere the
// route of `lines` begins (and ends) with a move of the few elements by which the two differ; n1 and n2 are chosen so
// that this is spared if it can be. The sweeps of `shared_lines` take and put lines in blocks that begin anywhere
// (RouteOp::matrix), and its n1 and n2 are those that are expected to be fastest.
// Where n is prime, or so short that its columns would feed few ranks, one rank transforms all of it.
// r2c of an even number of points: the line of n/2 pairs goes the same way. Of its spectrum that of the numbers is made
// (split_step.hpp), for which each rank gets the half of another: all data once more, but half as many. `shared_lines`
// makes it of pairs of columns in the second sweep's tiles (engine/line_fold.hpp), at no cost in memory. Of an odd
// number, or in exchanged order, the line is widened to complex numbers first, and of its spectrum half is kept
// (halve_step.hpp): twice the memory and the work.
//
// Worked numbers: n = 12 on 2 ranks, 4 x 3: rank 0 has x[0..5], rows 0 1, and gets columns 0 1 of 3 (j2 = 0 1), so
// x[0 3 6 9] and x[1 4 7 10]; after (1) it gets k1 = 0 1 of 4; X[k1 + 4 k2] for k2 = 0 1 (of 3) are X[0..7]: its
// block is X[0..5], and 6 and 7 are moved to rank 1, as 2 does not divide n2 = 3.
#include "solvers/lines.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/line_tile.hpp"
#include "lower/lower.hpp"
#include "lower/route_search.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

constexpr index_t kShortest = 64;  // below, one rank transforms the line

// How well the ranks share n1 rows, then n2: whether evenly on either side, then the fullest rank's excess and how far
// the two are from alike. Less is better.
auto merit(const Factors& f, index_t ranks) {
    const auto excess = [&](index_t n) {
        return static_cast<double>(ceil_div(n, ranks) * ranks) / static_cast<double>(n);
    };
    const double unlike = std::abs(std::log2(static_cast<double>(f.n1) / static_cast<double>(f.n2)));
    const int uneven = (f.n1 % ranks != 0) + (f.n2 % ranks != 0);
    // Up to a ratio of 256 both are short transforms of good length; a move of a few elements more costs less.
    return std::tuple(unlike > 8, excess(f.n1) * excess(f.n2) > 1.5, uneven, excess(f.n1) * excess(f.n2), unlike);
}

// n = n1 n2, with n1 a multiple of `unit` and the least of some measure; 1 x n where there are none, or one rank is to
// transform all of it.
template <class Measure>
Factors best_factors(index_t n, index_t unit, const Measure& measure) {
    Factors best{1, n};
    if (n < kShortest) return best;
    auto least = measure(best);
    for (index_t n1 : divisors(n)) {
        const Factors f{n1, n / n1};
        if (f.n1 == 1 || f.n2 == 1 || f.n1 % unit != 0) continue;
        const auto measured = measure(f);
        if (best.n1 > 1 && !(measured < least)) continue;
        best = f;
        least = measured;
    }
    return best;
}

}  // namespace

Factors factors_of(index_t n, index_t ranks, index_t unit) {
    return best_factors(n, unit, [&](const Factors& f) { return merit(f, ranks); });
}

namespace {

// Whether an r2c line is transformed as half as many pairs.
bool takes_pairs(const Problem& problem) {
    const index_t n = problem.shape[0];
    return problem.kinds[0] == AxisKind::r2c && n % 2 == 0 && !leaves_cyclic(problem) &&
           factors_of(n / 2, problem.ranks).n1 > 1;
}

Factors factors_of(const Problem& problem) {
    if (takes_pairs(problem)) return spanfft::factors_of(problem.shape[0] / 2, problem.ranks);
    return spanfft::factors_of(problem.shape[0], problem.ranks, leaves_cyclic(problem) ? problem.ranks : 1);
}

// The seconds that the fullest rank is expected to take for two sweeps; and first, whether a tile leaves the cache.
class SweepSeconds {
  public:
    SweepSeconds(const Problem& problem, const Machine& machine)
        : problem_(problem),
          machine_(machine),
          caches_(machine.caches_of(problem.ranks)),
          elem_bytes_(static_cast<index_t>(ElemType{problem.precision, true}.bytes())),
          bytes_per_second_(machine.copy_bytes_per_second(problem.ranks)) {}

    std::pair<bool, double> operator()(const Factors& f) const {
        const auto [first_stays, first] = sweep(f.n1, f.n2);
        const auto [second_stays, second] = sweep(f.n2, f.n1);
        return {!first_stays || !second_stays, first + second};
    }

  private:
    // Of `lines` lines of so many points, shared out.
    std::pair<bool, double> sweep(index_t points, index_t lines) const {
        const index_t most = ceil_div(lines, problem_.ranks);
        const LineTileForm tile = line_tile_form(caches_, points, elem_bytes_, most);
        LocalSpec all = line_tile_call(tile, Kernel::c2c_forward, problem_.precision, false);
        all.batch = {{most, points, points}};
        const double seconds = outline_local(all, problem_.engine, machine_.engine_rates) +
                               line_tile_seconds(tile, most, tile.lines, bytes_per_second_);
        return {stays_in_cache(caches_, tile), seconds * static_cast<double>(problem_.batch)};
    }

    const Problem& problem_;
    const Machine& machine_;
    const Caches caches_;
    const index_t elem_bytes_;
    const double bytes_per_second_;
};

// The spectrum that is kept of n points that lie on the ranks like this.
Result<Layout> kept_half(const Problem& problem, const Layout& whole) {
    const index_t kept = problem.spectrum_shape()[0];
    if (whole.has_grid() && whole.grid()[0].division == Division::cyclic)
        return divided(problem, {kept}, {problem.ranks}, Division::cyclic);
    return first_points(problem, whole, kept);
}

Result<Route> line_on_one_rank(const Problem& problem, const Extents& grid) {
    const index_t n = problem.shape[0], kept = problem.spectrum_shape()[0];
    const auto all_on_first = [&](index_t points) -> Result<Layout> {
        std::vector<Patch> boxes(static_cast<size_t>(problem.ranks), {{0, 0, 1}});
        boxes[0] = {{0, points, 1}};
        SPANFFT_ASSIGN(Layout layout, Layout::from_boxes({points}, std::move(boxes)));
        return with_batch(problem, std::move(layout));
    };
    SPANFFT_ASSIGN(Layout real, callers_real(problem, grid));
    SPANFFT_ASSIGN(Layout spectrum, callers_spectrum(problem, grid));
    SPANFFT_ASSIGN(Layout first, all_on_first(n));
    Route route;
    ArrayState state{std::move(real), real_elem(problem)};
    move_to(route, state, std::move(first));
    const AxisKind kind = problem.kinds[0];
    ArrayState to{state.layout, {problem.precision, problem.spectrum_is_complex()}};
    if (kind == AxisKind::r2c) {
        SPANFFT_ASSIGN(to.layout, all_on_first(kept));
    }
    route.push_back({RouteOp::Type::transform, state, to, kernel_of(kind, Direction::forward), {batch_axes(problem)}});
    state = to;
    move_to(route, state, std::move(spectrum));
    return route;
}

// The six steps: from n points in whole rows of n1 x n2 to n points in whole rows of n2 x n1, or divided cyclically.
void six_steps(Route& route, ArrayState& state, const Problem& problem, const Factors& f, Layout end) {
    const index_t ranks = problem.ranks;
    const int axis = batch_axes(problem);
    const auto divided_over = [&](const Extents& shape, const Extents& grid) {
        return divided(problem, shape, grid, Division::block);
    };
    view_as(route, state, divided_over({f.n1, f.n2}, {ranks}));
    move_to(route, state, divided_over({f.n1, f.n2}, {1, ranks}));
    columns_to_parts(route, state, axis, leaves_cyclic(problem));
    route.push_back({RouteOp::Type::transform, state, state, Kernel::c2c_forward, {axis + 1}});
    if (!leaves_cyclic(problem)) {
        view_as(route, state, divided_over({1, f.n2, f.n1}, {1, 1, ranks}));
        move_to(route, state, divided_over({1, f.n2, f.n1}, {1, ranks}));
    }
    view_as(route, state, std::move(end));
}

// The two sweeps, from n points in blocks, as the state has them, to n points (folded: n + 1, the spectrum of as many
// pairs of real numbers) as `to` has them.
void shared_sweeps(Route& route, ArrayState& state, const Problem& problem, const Factors& f, Layout to, bool folded) {
    const Extents grid{problem.ranks};
    const ArrayState blocks = state;
    const Layout matrix = divided(problem, {f.n1, f.n2}, grid, Division::block);
    const bool begins_in_rows = blocks.layout == whole_rows(problem, grid, f.n1 * f.n2, f.n2);
    if (begins_in_rows)
        view_as(route, state, matrix);
    else
        state.layout = matrix;
    const size_t first = route.size();
    two_sweeps(route, state, batch_axes(problem));
    if (!begins_in_rows) {
        route[first].from = blocks;
        route[first].matrix = matrix;
    }
    if (!folded && to == whole_rows(problem, grid, f.n1 * f.n2, f.n1)) return view_as(route, state, std::move(to));
    RouteOp& last = route.back();
    last.folded = folded;
    last.matrix = state.layout;
    state.layout = std::move(to);
    last.to = state;
}

enum class Way { by_messages, in_memory_of_all };

// The blocks of pairs of real numbers in blocks of these; none where a block begins in the middle of a pair.
std::optional<Layout> blocks_of_pairs(const Problem& problem, const Layout& reals) {
    std::vector<Patch> boxes;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        AxisRange own = reals.patch(rank).back();
        if (own.start % 2 != 0 || own.count % 2 != 0) return std::nullopt;
        boxes.push_back({{own.start / 2, own.count / 2, 1}});
    }
    auto pairs = Layout::from_boxes({problem.shape[0] / 2}, std::move(boxes));
    return pairs.ok() ? std::optional(with_batch(problem, std::move(pairs).value())) : std::nullopt;
}

Result<Route> route_of_pairs(Way way, const Problem& problem, const Factors& f, const Extents& grid) {
    const index_t n = problem.shape[0], pairs = n / 2;
    const ElemType complex{problem.precision, true};
    const bool folds = way == Way::in_memory_of_all && problem.precision != Precision::extended;
    SPANFFT_ASSIGN(Layout real, callers_real(problem, grid));
    SPANFFT_ASSIGN(Layout spectrum, callers_spectrum(problem, grid));
    Layout reals = whole_rows(problem, grid, n, 2 * f.n2);
    Layout begin = whole_rows(problem, grid, pairs, f.n2);
    Layout end = whole_rows(problem, grid, pairs, f.n1);
    SPANFFT_ASSIGN(Layout half, half_of_pairs(end));
    Route route;
    ArrayState state{std::move(real), real_elem(problem)};
    if (folds && !(state.layout == reals)) {
        if (auto blocks = blocks_of_pairs(problem, state.layout)) {
            reals = state.layout;
            begin = std::move(*blocks);
        }
    }
    move_to(route, state, std::move(reals));
    const ArrayState as_pairs{std::move(begin), complex};
    route.push_back({RouteOp::Type::view, state, as_pairs});
    state = as_pairs;
    if (folds) {
        shared_sweeps(route, state, problem, f, std::move(spectrum), true);
        return route;
    }
    if (way == Way::by_messages)
        six_steps(route, state, problem, f, std::move(end));
    else
        shared_sweeps(route, state, problem, f, std::move(end), false);
    halve(route, state, Halving::split, {std::move(half), complex});
    move_to(route, state, std::move(spectrum));
    return route;
}

Result<Route> route_through(Way way, const Problem& problem, const Factors& f, const Extents& grid) {
    if (takes_pairs(problem)) return route_of_pairs(way, problem, f, grid);
    const bool halves = problem.kinds[0] == AxisKind::r2c;
    SPANFFT_ASSIGN(Layout real, callers_real(problem, grid));
    SPANFFT_ASSIGN(Layout spectrum, callers_spectrum(problem, grid));
    Route route;
    ArrayState state{std::move(real), real_elem(problem)};
    Layout end = whole_rows(problem, grid, problem.shape[0], f.n1);
    const ElemType complex{problem.precision, true};
    if (way == Way::by_messages) move_to(route, state, whole_rows(problem, grid, problem.shape[0], f.n2));
    if (halves) halve(route, state, Halving::widen, {state.layout, complex});
    if (way == Way::by_messages) {
        if (leaves_cyclic(problem)) end = divided(problem, problem.shape, grid, Division::cyclic);
        six_steps(route, state, problem, f, std::move(end));
    } else {
        const bool ends_there = !halves && !leaves_cyclic(problem);
        shared_sweeps(route, state, problem, f, ends_there ? spectrum : std::move(end), false);
    }
    if (halves) {
        SPANFFT_ASSIGN(Layout kept, kept_half(problem, state.layout));
        halve(route, state, Halving::cut, {std::move(kept), complex});
    }
    move_to(route, state, std::move(spectrum));
    return route;
}

bool has_factors(const Problem& problem) { return !is_r2r(problem.kinds[0]) && factors_of(problem).n1 > 1; }

Result<Route> line_route(const Problem& problem, const Extents& grid) {
    return has_factors(problem) ? route_through(Way::by_messages, problem, factors_of(problem), grid)
                                : line_on_one_rank(problem, grid);
}

Result<std::vector<Extents>> line_grids(const Problem& problem) { return std::vector<Extents>{{problem.ranks}}; }

}  // namespace

bool leaves_cyclic(const Problem& problem) {
    return problem.output == SpectrumOrder::exchanged && !is_r2r(problem.kinds[0]) &&
           factors_of(problem.shape[0], problem.ranks, problem.ranks).n1 > 1;
}

void note_order(Plan& plan) {
    if (plan.problem.output != SpectrumOrder::exchanged) return;
    const int ranks = plan.problem.ranks;
    plan.notes.push_back(leaves_cyclic(plan.problem)
                             ? cat("the spectrum is divided cyclically: frequency k lies on rank k mod ", ranks)
                             : cat("the spectrum is in natural order, as exchanged order takes a c2c or r2c line of ",
                                   kShortest, " points or more, whose length has two factors of which ", ranks,
                                   " divides one"));
}

int dim_of(const Layout& layout, int axis) {
    const auto& grid = layout.grid();
    const auto at = std::find_if(grid.begin(), grid.end(), [&](const GridDim& dim) { return dim.axis == axis; });
    return at == grid.end() ? -1 : static_cast<int>(at - grid.begin());
}

Layout shown_as(const Layout& layout, int axis, const Extents& extents, int divided_one) {
    Extents shape = layout.shape();
    const auto at = shape.erase(shape.begin() + axis);
    shape.insert(at, extents.begin(), extents.end());
    std::vector<GridDim> dims = layout.grid();
    for (GridDim& dim : dims) {
        if (dim.axis > axis)
            dim.axis += static_cast<int>(extents.size()) - 1;
        else if (dim.axis == axis)
            dim.axis += divided_one;
    }
    return Layout(std::move(shape), std::move(dims));
}

Layout turned(const Layout& layout, int axis) {
    Extents shape = layout.shape();
    std::swap(shape[static_cast<size_t>(axis)], shape[static_cast<size_t>(axis) + 1]);
    std::vector<GridDim> dims = layout.grid();
    for (GridDim& dim : dims) dim.axis = dim.axis == axis ? axis + 1 : dim.axis == axis + 1 ? axis : dim.axis;
    return Layout(std::move(shape), std::move(dims));
}

Layout whole_rows(const Layout& blocks, int axis, index_t n2) {
    std::vector<GridDim> dims = blocks.grid();
    GridDim& dim = dims[static_cast<size_t>(dim_of(blocks, axis))];
    dim.row = n2;
    const index_t n = blocks.shape()[static_cast<size_t>(axis)];
    for (index_t part = 0; part < dim.parts; ++part) {
        const AxisRange rows = dim.range(n, part), block = block_range(n, dim.parts, part);
        const bool same = rows.count == block.count && (rows.count == 0 || rows.start == block.start);
        if (!same) return Layout(blocks.shape(), std::move(dims));
    }
    return blocks;
}

Layout whole_rows(const Problem& problem, const Extents& grid, index_t points, index_t n2) {
    return whole_rows(divided(problem, {points}, grid, Division::block), batch_axes(problem), n2);
}

Result<Layout> half_of_pairs(const Layout& pairs) {
    Extents shape = pairs.shape();
    const index_t m = shape.back()++;
    std::vector<Patch> boxes;
    boxes.reserve(static_cast<size_t>(pairs.nranks()));
    for (int rank = 0; rank < pairs.nranks(); ++rank) {
        boxes.push_back(pairs.patch(rank));
        AxisRange& points = boxes.back().back();
        points.count += points.count > 0 && points.start + points.count == m ? 1 : 0;
    }
    return Layout::from_boxes(std::move(shape), std::move(boxes));
}

Result<Layout> first_points(const Problem& problem, const Layout& whole, index_t points) {
    std::vector<Patch> boxes;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        AxisRange own = whole.patch(rank).back();
        own.count = std::clamp(points - own.start, index_t{0}, own.count);
        own.start = std::min(own.start, points);
        boxes.push_back({own});
    }
    SPANFFT_ASSIGN(Layout layout, Layout::from_boxes({points}, std::move(boxes)));
    return with_batch(problem, std::move(layout));
}

Result<Layout> callers_real(const Problem& problem, const Extents& grid) {
    return callers_blocks(problem, problem.shape, problem.real_boxes, grid);
}

Result<Layout> callers_spectrum(const Problem& problem, const Extents& grid) {
    if (leaves_cyclic(problem)) return divided(problem, problem.spectrum_shape(), grid, Division::cyclic);
    return callers_blocks(problem, problem.spectrum_shape(), problem.spectrum_boxes, grid);
}

void columns_to_parts(Route& route, ArrayState& state, int axis, bool dealt) {
    const Layout& matrix = state.layout;
    const index_t n1 = matrix.shape()[static_cast<size_t>(axis)], n2 = matrix.shape()[static_cast<size_t>(axis) + 1];
    const int dim = dim_of(matrix, axis + 1);
    const index_t ranks = dim < 0 ? 1 : matrix.grid()[static_cast<size_t>(dim)].parts;
    const index_t parts = n1 % ranks == 0 ? ranks : 1;
    // parts x n2 x n1/parts, of which the ranks share n2.
    const Layout there = shown_as(shown_as(matrix, axis + 1, {n2, n1 / parts}, 0), axis, {parts}, 0);
    RouteOp op{RouteOp::Type::columns, state, {there, state.elem}, Kernel::c2c_forward, {axis}};
    op.dealt = dealt;
    state = op.to;
    route.push_back(std::move(op));
    if (dim >= 0) move_to(route, state, there.with_division(dim, parts > 1 ? axis : axis + 2));
}

void columns_to_rows(Route& route, ArrayState& state, int axis, bool twiddled) {
    const int dim = dim_of(state.layout, axis);
    RouteOp op{RouteOp::Type::transform, state, state, Kernel::c2c_forward, {axis}};
    op.to.layout = turned(state.layout, axis).with_division(dim, axis);
    op.share = state.layout.with_division(dim, axis + 1);
    op.turned = Turned::to;
    op.rows = true;
    op.twiddled = twiddled;
    state = op.to;
    route.push_back(std::move(op));
}

void two_sweeps(Route& route, ArrayState& state, int axis) {
    columns_to_rows(route, state, axis, true);
    RouteOp op{RouteOp::Type::transform, state, state, Kernel::c2c_forward, {axis}};
    op.share = state.layout.with_division(dim_of(state.layout, axis), axis + 1);
    op.rows = true;
    route.push_back(std::move(op));
}

Status is_line_on_ranks(const Problem& problem, const char* solver) {
    if (problem.memory_bytes > 0) return error(Code::unsupported, solver, " works on arrays in memory, not on files");
    if (problem.ranks == 1) return error(Code::unsupported, solver, " is for several ranks");
    if (problem.ndim() != 1) return error(Code::unsupported, solver, " is for arrays of one axis");
    if (problem.output == SpectrumOrder::exchanged && !(problem.real_boxes.empty() && problem.spectrum_boxes.empty()))
        return error(Code::unsupported, "a 1-D transform across ranks of given boxes leaves natural order only: leave ",
                     "out output=exchanged");
    return Status();
}

const RouteFamily& line_family() {
    static const RouteFamily family{"lines", line_grids, line_route};
    return family;
}

Result<std::unique_ptr<Plan>> solve_lines(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(is_line_on_ranks(problem, "lines"));
    SPANFFT_ASSIGN(auto plan, solve_by_route(line_family(), problem, planner));
    const index_t n = problem.shape[0];
    const AxisKind kind = problem.kinds[0];
    const char* why = is_r2r(kind)    ? ", as only c2c and r2c lines are shared out"
                      : n < kShortest ? ", as its points are few"
                                      : ", as its length is prime";
    if (!has_factors(problem)) plan->notes.push_back(cat("rank 0 transforms the whole line", why));
    note_order(*plan);
    return plan;
}

Result<std::unique_ptr<Plan>> solve_shared_lines(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(is_line_on_ranks(problem, "lines"));
    SPANFFT_TRY(windows_allowed(problem, planner, "shared_lines"));
    if (!has_factors(problem))
        return error(Code::unsupported, "shared_lines needs a c2c or r2c line of a length with factors");
    const Extents grid{problem.ranks};
    const index_t points = problem.shape[0] / (takes_pairs(problem) ? 2 : 1);
    const Factors factors = best_factors(points, 1, SweepSeconds(problem, planner.machine()));
    SPANFFT_ASSIGN(Route route, route_through(Way::in_memory_of_all, problem, factors, grid));
    SPANFFT_ASSIGN(auto plan, lower(problem, directed(problem, std::move(route)), "shared", planner, "shared_lines"));
    plan->problem.grid = grid;
    note_order(*plan);
    return plan;
}

}  // namespace spanfft
