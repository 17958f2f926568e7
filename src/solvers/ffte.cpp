// Solver `ffte`: one axis over ranks by the variant of FFTE, as P2 describes it (section 2.2; D. Takahashi,
// "High-performance parallel FFT algorithms for the Hitachi SR8000", 2000).
//
// Route: the six-step method of lines.cpp on n1 x m, with n1 near the third root of n: three exchanges. What differs is
// the second transform: a rank's n1/p rows of m = n2 n3 points are not given to the engine as they are. Each is a
// matrix of n2 x n3, and goes through the six steps again, whose transpositions are local here: transpose, transform n3
// lines of n2 points, multiply by w_m^(j3 k2), transpose, transform n2 lines of n3, transpose. So the engine only sees
// contiguous lines of about n^(1/3) points, which is what vector machines want. Then, as P2's algorithm 1 has it, the
// rank rearranges its rows, and the last exchange gives each rank its block.
// Exchanged order: rank r has the rows k1 = r, r + p, ..., and the last exchange is left out: FFTE's IOPT = -2 and +2.
// Cost: what `lines` sends, in as many messages; eleven sweeps of memory where that has four. It is the paper's method
// under its name, and taken only where method=ffte asks for it.
// Takes c2c of lengths that p squared divides, with a factor of three or more that p divides on either side of n1.
// Backward is the route undone.
// Worked numbers: n = 4096 on 4 ranks: n1 = 16, n2 = n3 = 16; rank 0 transforms 64 of 256 columns of 16 points, then
// 4 rows of 256, each in 16 + 16 lines of 16.
#include <algorithm>
#include <cmath>

#include "solvers/families.hpp"
#include "solvers/lines.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

struct ThreeFactors {
    index_t n1 = 1, n2 = 1, n3 = 1;
    index_t m() const { return n2 * n3; }
};

// The divisor other than 1 and n that is nearest to `wanted` by ratio, of those that `suits` accepts; 1: there is none.
template <class Suits>
index_t nearest_divisor(index_t n, double wanted, const Suits& suits) {
    const auto distance = [&](index_t d) { return std::abs(std::log(static_cast<double>(d) / wanted)); };
    index_t nearest = 1;
    for (const index_t d : divisors(n)) {
        if (d == 1 || d == n || !suits(d)) continue;
        if (nearest == 1 || distance(d) < distance(nearest)) nearest = d;
    }
    return nearest;
}

// n1 and n2 n3 are multiples of the ranks, and all three as near to the third root of n as that leaves them.
Result<ThreeFactors> three_factors_of(const Problem& problem) {
    const index_t n = problem.shape[0], ranks = problem.ranks;
    const auto in_two = [](index_t m) {
        return nearest_divisor(m, std::sqrt(static_cast<double>(m)), [](index_t) { return true; });
    };
    ThreeFactors f;
    f.n1 = nearest_divisor(n, std::cbrt(static_cast<double>(n)),
                           [&](index_t n1) { return n1 % ranks == 0 && n / n1 % ranks == 0 && in_two(n / n1) > 1; });
    if (f.n1 == 1)
        return error(Code::unsupported, "ffte on ", ranks, " ranks takes lengths n1*n2*n3 of which ", ranks,
                     " divides n1 and n2*n3, not ", n, "; use another number of ranks, or leave method= out");
    f.n2 = in_two(n / f.n1);
    f.n3 = n / f.n1 / f.n2;
    return f;
}

// Of the last axis, m points from n2 x n3 and in order, to m points in order: all local.
void six_local_steps(Route& route, ArrayState& state, const Problem& problem, const ThreeFactors& f,
                     Division division) {
    const int rows = batch_axes(problem), outer = rows + 1, inner = rows + 2;
    const auto shown = [&](index_t a, index_t b) { return divided(problem, {f.n1, a, b}, {problem.ranks}, division); };
    const auto transform_lines = [&] {
        route.push_back({RouteOp::Type::transform, state, state, Kernel::c2c_forward, {inner}});
    };
    const Layout whole = state.layout;
    view_as(route, state, shown(f.n2, f.n3));
    transpose(route, state, outer, shown(f.n3, f.n2));
    transform_lines();
    route.push_back({RouteOp::Type::twiddle, state, state, Kernel::c2c_forward, {}, {{outer, inner}}});
    transpose(route, state, outer, shown(f.n2, f.n3));
    transform_lines();
    transpose(route, state, outer, shown(f.n3, f.n2));
    view_as(route, state, whole);
}

Result<Route> ffte_route(const Problem& problem, const Extents& grid) {
    SPANFFT_ASSIGN(const ThreeFactors f, three_factors_of(problem));
    SPANFFT_ASSIGN(Layout real, callers_real(problem, grid));
    SPANFFT_ASSIGN(Layout spectrum, callers_spectrum(problem, grid));
    const int axis = batch_axes(problem);
    const Extents rows{problem.ranks}, columns_grid{1, problem.ranks};
    const Division division = leaves_cyclic(problem) ? Division::cyclic : Division::block;
    Route route;
    ArrayState state{std::move(real), real_elem(problem)};
    move_to(route, state, divided(problem, problem.shape, grid, Division::block));
    view_as(route, state, divided(problem, {f.n1, f.m()}, rows, Division::block));
    move_to(route, state, divided(problem, {f.n1, f.m()}, columns_grid, Division::block));
    columns(route, state, axis);
    move_to(route, state, divided(problem, {f.n1, f.m()}, rows, division));
    six_local_steps(route, state, problem, f, division);
    transpose(route, state, axis, divided(problem, {f.m(), f.n1}, columns_grid, division));
    if (division == Division::block) move_to(route, state, divided(problem, {f.m(), f.n1}, rows, division));
    view_as(route, state, divided(problem, problem.shape, grid, division));
    move_to(route, state, std::move(spectrum));
    return route;
}

Result<std::vector<Extents>> ffte_grids(const Problem& problem) { return std::vector<Extents>{{problem.ranks}}; }

}  // namespace

const RouteFamily& ffte_family() {
    static const RouteFamily family{"ffte", ffte_grids, ffte_route};
    return family;
}

Result<std::unique_ptr<Plan>> solve_ffte(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(is_line_on_ranks(problem, "ffte"));
    if (problem.kinds[0] != AxisKind::c2c)
        return error(Code::unsupported, "ffte transforms c2c lines; leave method= out for ",
                     axis_kind_name(problem.kinds[0]));
    SPANFFT_ASSIGN(const ThreeFactors f, three_factors_of(problem));
    SPANFFT_ASSIGN(auto plan, solve_by_route(ffte_family(), problem, planner));
    plan->notes.push_back(cat("the line is ", f.n1, "*", f.n2, "*", f.n3, " points"));
    note_order(*plan);
    return plan;
}

}  // namespace spanfft
