// Solvers `chirp_line`, `chirp_lines` and `shared_chirp_lines`: one axis of any length and kind as a convolution with a
// chirp (L. Bluestein, 1970) of a good length, in one process or over ranks, which share it out as lines.cpp does.
//
// Method (steps/chirp.hpp): n inputs and k outputs are a cyclic convolution of m = m1 m2 >= n + k - 1 points. The
// order of its spectrum does not matter: it is left as rows k1 of X[k1 + m1 k2], where the filter's spectrum lies too,
// so neither the way there nor the way back has a transposing exchange.
// Route of `chirp_lines`: the first rows of m1 x m2 hold the inputs, times their chirp; move, so that the ranks share
// columns; lengthen these to m1; transform, twiddle, move to rows, transform; times the filter's spectrum; the same
// undone; cut the columns; move to rows; times the outputs' chirp. Four exchanges, two of n points and two of m.
// Route of `chirp_line`, in one process: the m points are transformed there and back as one line, which engines do with
// all threads, in two sweeps where it is long (engine/long_line.hpp). Engines' own convolutions have one thread, and
// are as fast where they stay in the cache: so this is for lines that do not.
// Route of `shared_chirp_lines`, where all ranks see the array: each multiplies its block by the chirp; one sweep takes
// columns of the line from all blocks, with zeros behind its end, one does the second half of the way there, the
// product and the first half of the way back line by line, and one goes back to blocks. For lengths with a prime factor
// above 13, as two transforms miss the accuracy rule for the others. Backward is the route undone: each chirp is then
// that of the inverse kind. Worked numbers: n = 101 on 2 ranks: m = 210 >= 201, 14 x 15: seven rows hold the line, of
// which rank 0 has four.
#include <algorithm>
#include <cmath>

#include "lower/lower.hpp"
#include "lower/route_search.hpp"
#include "solvers/families.hpp"
#include "solvers/lines.hpp"
#include "solvers/table.hpp"
#include "steps/chirp.hpp"

namespace spanfft {

namespace {

struct Convolution {
    Kernel kernel = Kernel::c2c_forward;  // of the line, forward
    index_t inputs = 1, outputs = 1;      // of the line
    index_t m1 = 1, m2 = 1;
};

// The shortest m1 m2 of small factors, neither of them more than four times the other (unless ranks are as many), both
// multiples of the ranks, where these are few enough.
Convolution convolution_of(const Problem& problem) {
    Convolution c;
    c.kernel = kernel_of(problem.kinds[0], Direction::forward);
    const Chirp chirp = make_chirp(c.kernel, problem.shape[0]);
    c.inputs = chirp.inputs;
    c.outputs = chirp.outputs;
    const index_t least = chirp.convolution(), ranks = problem.ranks;
    const auto root = static_cast<index_t>(std::sqrt(static_cast<double>(least)));
    const index_t unit = ranks <= root ? ranks : 1;
    const std::vector<index_t> smooth = smooth_numbers(4 * (root / unit + 1) + 8);
    index_t shortest = 0;
    for (index_t a : smooth) {
        const index_t m2 = a * unit, rows = ceil_div(ceil_div(least, m2), unit);
        const auto b = std::lower_bound(smooth.begin(), smooth.end(), rows);
        if (b == smooth.end()) continue;
        const index_t m1 = *b * unit;
        if (shortest == 0 || m1 * m2 < shortest || (m1 * m2 == shortest && std::max(m1, m2) < std::max(c.m1, c.m2))) {
            shortest = m1 * m2;
            c.m1 = m1;
            c.m2 = m2;
        }
    }
    return c;
}

Layout rows_of(const Problem& problem, index_t n1, index_t n2) {
    return divided(problem, {n1, n2}, {problem.ranks}, Division::block);
}

// The way there once more, backward.
void undo(Route& route, ArrayState& state, const Route& there) {
    const Route back = reversed(there);
    route.insert(route.end(), back.begin(), back.end());
    state = back.back().to;
}

// From columns of m1 x m2 to columns of it.
void convolve_by_messages(Route& route, ArrayState& state, const Problem& problem, const Convolution& c) {
    const int axis = batch_axes(problem);
    Route there;
    columns(there, state, axis);
    move_to(there, state, rows_of(problem, c.m1, c.m2));
    there.push_back({RouteOp::Type::transform, state, state, Kernel::c2c_forward, {axis + 1}});
    route.insert(route.end(), there.begin(), there.end());
    chirp(route, state, Chirping::filter, c.kernel, state);
    undo(route, state, there);
}

Result<Route> chirp_route(const Problem& problem, const Extents& grid) {
    const Convolution c = convolution_of(problem);
    const index_t in_rows = ceil_div(c.inputs, c.m2), out_rows = ceil_div(c.outputs, c.m2);
    const ElemType complex{problem.precision, true};
    const auto columns = [&](index_t n1) { return divided(problem, {n1, c.m2}, {1, problem.ranks}, Division::block); };
    SPANFFT_ASSIGN(Layout real, callers_real(problem, grid));
    SPANFFT_ASSIGN(Layout spectrum, callers_spectrum(problem, grid));
    Layout begin = whole_rows(problem, grid, c.inputs, c.m2);
    Layout end = whole_rows(problem, grid, c.outputs, c.m2);
    Route route;
    ArrayState state{std::move(real), real_elem(problem)};
    move_to(route, state, std::move(begin));
    chirp(route, state, Chirping::in, c.kernel, {rows_of(problem, in_rows, c.m2), complex});
    move_to(route, state, columns(in_rows));
    chirp(route, state, Chirping::pad, c.kernel, {columns(c.m1), complex});
    convolve_by_messages(route, state, problem, c);
    chirp(route, state, Chirping::pad, c.kernel, {columns(out_rows), complex});
    move_to(route, state, rows_of(problem, out_rows, c.m2));
    chirp(route, state, Chirping::out, c.kernel, {std::move(end), {problem.precision, problem.spectrum_is_complex()}});
    move_to(route, state, std::move(spectrum));
    return route;
}

// The sweep from a line in blocks to the rows of a matrix that it fills from the start; undone, only the line is put.
RouteOp line_to_rows(const ArrayState& line, const Layout& matrix, int axis) {
    Route route;
    ArrayState state{matrix, line.elem};
    columns_to_rows(route, state, axis, true);
    route.back().from = line;
    route.back().matrix = matrix;
    return route.back();
}

// Columns k1 of the rows that ranks keep, of which each takes a share, there and back with the product between.
RouteOp convolved_columns(const ArrayState& state, int axis, Kernel line) {
    RouteOp op{RouteOp::Type::transform, state, state, Kernel::c2c_forward, {axis}};
    op.share = state.layout.with_division(0, axis + 1);
    op.rows = true;
    op.filter = line;
    return op;
}

Result<Route> shared_chirp_route(const Problem& problem, const Extents& grid) {
    const Convolution c = convolution_of(problem);
    SPANFFT_ASSIGN(const Layout real, callers_real(problem, grid));
    SPANFFT_ASSIGN(const Layout spectrum, callers_spectrum(problem, grid));
    const Layout matrix = rows_of(problem, c.m1, c.m2);
    const ElemType complex{problem.precision, true};
    const int axis = batch_axes(problem);
    Route route;
    ArrayState state{real, real_elem(problem)};
    chirp(route, state, Chirping::in, c.kernel, {real, complex});
    route.push_back(line_to_rows(state, matrix, axis));
    route.push_back(convolved_columns(route.back().to, axis, c.kernel));
    route.push_back(reversed({line_to_rows({spectrum, complex}, matrix, axis)}).front());
    state = route.back().to;
    chirp(route, state, Chirping::out, c.kernel, {spectrum, {problem.precision, problem.spectrum_is_complex()}});
    return route;
}

Result<Route> line_route(const Problem& problem) {
    const Convolution c = convolution_of(problem);
    const auto line = [&](const Extents& shape) { return with_batch(problem, Layout(shape, {})); };
    const Extents m{1, c.m1 * c.m2};
    Route route, there;
    ArrayState state{line(problem.shape), real_elem(problem)};
    chirp(route, state, Chirping::in, c.kernel, {line(m), {problem.precision, true}});
    there.push_back({RouteOp::Type::transform, state, state, Kernel::c2c_forward, {batch_axes(problem) + 1}});
    route.insert(route.end(), there.begin(), there.end());
    chirp(route, state, Chirping::filter, c.kernel, state);
    undo(route, state, there);
    chirp(route, state, Chirping::out, c.kernel,
          {line(problem.spectrum_shape()), {problem.precision, problem.spectrum_is_complex()}});
    return route;
}

Status wants_convolution(const Problem& problem, const char* solver) {
    const AxisKind kind = problem.kinds[0];
    if (is_r2r(kind) && problem.norm == Norm::ortho)
        return error(Code::unsupported, solver, " does not know norm=ortho of ", axis_kind_name(kind));
    const index_t logical = problem.logical_length(0);
    if (largest_prime_factor(logical) <= kLargestSmoothPrime)
        return error(Code::unsupported, solver, " is for large prime factors, and ", logical, " has none above ",
                     kLargestSmoothPrime, ": the convolution would miss the accuracy rule");
    return Status();
}

Status applies(const Problem& problem, const char* solver) {
    SPANFFT_TRY(is_line_on_ranks(problem, solver));
    if (leaves_cyclic(problem)) return error(Code::unsupported, solver, " leaves natural order only");
    return wants_convolution(problem, solver);
}

Result<std::vector<Extents>> one_grid(const Problem& problem) {
    SPANFFT_TRY(applies(problem, "chirp_lines"));
    return std::vector<Extents>{{problem.ranks}};
}

void note(Plan& plan) {
    const Convolution c = convolution_of(plan.problem);
    plan.notes.push_back(cat("the line is a convolution of ", c.m1 * c.m2, " = ", c.m1, "*", c.m2, " points"));
    note_order(plan);
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_chirp_line(const Problem& problem, const Planner& planner) {
    const char* const solver = "chirp_line";
    if (problem.ranks != 1) return error(Code::unsupported, solver, " is for one process");
    if (problem.memory_bytes > 0) return error(Code::unsupported, solver, " works on arrays in memory, not on files");
    if (problem.ndim() != 1) return error(Code::unsupported, solver, " is for arrays of one axis");
    SPANFFT_TRY(wants_convolution(problem, solver));
    const index_t bytes = problem.shape[0] * static_cast<index_t>(ElemType{problem.precision, true}.bytes());
    const index_t cache = planner.machine().caches.l2_bytes;
    if (bytes < cache && problem.method.empty())
        return error(Code::unsupported, solver, " is for lines beyond the second-level cache");
    SPANFFT_ASSIGN(Route route, line_route(problem));
    SPANFFT_ASSIGN(auto plan, lower(problem, directed(problem, std::move(route)), "", planner, solver));
    note(*plan);
    return plan;
}

const RouteFamily& chirp_lines_family() {
    static const RouteFamily family{"chirp_lines", one_grid, chirp_route};
    return family;
}

Result<std::unique_ptr<Plan>> solve_chirp_lines(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(applies(problem, chirp_lines_family().solver));
    SPANFFT_ASSIGN(auto plan, solve_by_route(chirp_lines_family(), problem, planner));
    note(*plan);
    return plan;
}

Result<std::unique_ptr<Plan>> solve_shared_chirp_lines(const Problem& problem, const Planner& planner) {
    const char* const solver = "shared_chirp_lines";
    SPANFFT_TRY(applies(problem, solver));
    SPANFFT_TRY(windows_allowed(problem, planner, solver));
    const Extents grid{problem.ranks};
    SPANFFT_ASSIGN(Route route, shared_chirp_route(problem, grid));
    SPANFFT_ASSIGN(auto plan, lower(problem, directed(problem, std::move(route)), "shared", planner, solver));
    plan->problem.grid = grid;
    note(*plan);
    return plan;
}

}  // namespace spanfft
