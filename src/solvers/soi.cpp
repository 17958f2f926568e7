// Solver `soi`: one axis over ranks in balanced blocks and natural order by one all-to-all, to so many digits as are
// asked for (P. T. P. Tang, J. Park, D. Kim, V. Petrov, "A framework for low-communication 1-D FFT", SC 2012).
//
// Route, for n points on S ranks, m = n/S, m' = m over/under (segment_window.hpp has the mathematics): view n as m rows
// of S; convolve them to m' rows, with some rows of each neighbour; transform the rows; move, the one exchange, so that
// each rank has a column; transform it; demodulate it to m points: segment s of the spectrum, on rank s.
// Cost: over/under as many points are exchanged and transformed as there are, and 8 taps over/under flops a point go
// into the convolution (740 for 14 digits), where a transform of 2^24 points takes 120. It pays where exchanges cost
// more than all computing. It is never chosen unless method=soi asks for it: its results are not those of the
// accuracy rule.
// Backward is the route undone, which is the conjugate transposed of the same approximation.
// Worked numbers: n = 2^20 on 2 ranks, 14 digits: 5/4, so 655,360 points are exchanged, 74 taps.
#include <array>

#include "solvers/families.hpp"
#include "solvers/table.hpp"
#include "steps/segment_step.hpp"

namespace spanfft {

namespace {

constexpr int kDigits = 10;  // unless asked for others
// The first that the length allows is taken: the fewest points exchanged.
constexpr std::array<std::pair<index_t, index_t>, 4> kOversamplings{{{5, 4}, {4, 3}, {3, 2}, {2, 1}}};

Result<int> digits_of(const Problem& problem) {
    const std::string& method = problem.method;
    const size_t colon = method.find(':');
    if (colon == std::string::npos) return kDigits;
    const std::string word = method.substr(colon + 1), key = "digits=";
    const bool number = word.rfind(key, 0) == 0 && word.size() > key.size() && word.size() <= key.size() + 2 &&
                        word.find_first_not_of("0123456789", key.size()) == std::string::npos;
    if (!number)
        return error(Code::invalid_argument, "method=", method, ": '", word,
                     "' is not understood; use method=soi:digits=D");
    return std::stoi(word.substr(key.size()));
}

// The oversampling with which m' rows can be shared out evenly.
Result<std::pair<index_t, index_t>> oversampling(const Problem& problem) {
    const index_t n = problem.shape[0], ranks = problem.ranks;
    if (n % (ranks * ranks) == 0) {
        for (const auto& [over, under] : kOversamplings) {
            if (n / (ranks * ranks) % under == 0) return std::pair{over, under};
        }
    }
    return error(Code::unsupported, "soi on ", ranks, " ranks takes lengths that ", ranks * ranks, " divides, not ", n,
                 "; use another number of ranks, or leave method= out");
}

Result<SegmentWindow> window_of(const Problem& problem) {
    SPANFFT_ASSIGN(const auto sampled, oversampling(problem));
    SPANFFT_ASSIGN(const int digits, digits_of(problem));
    const auto [over, under] = sampled;
    SPANFFT_ASSIGN(const SegmentWindow window,
                   segment_window(digits, problem.precision, over, under, problem.shape[0]));
    // Of both sides of the convolution, twice what a neighbour sends.
    const index_t ranks = problem.ranks;
    const index_t least = std::max(2 * convolution_reach_rows(window, Direction::forward),
                                   ceil_div(2 * convolution_reach_rows(window, Direction::backward) * under, over));
    if (problem.shape[0] / (ranks * ranks) < least)
        return error(Code::unsupported, "soi with ", digits, " digits on ", ranks, " ranks takes ",
                     least * ranks * ranks, " points or more, not ", problem.shape[0],
                     "; use fewer digits or fewer ranks, or leave method= out");
    return window;
}

Result<Route> segments_route(const Problem& problem, const Extents& grid) {
    SPANFFT_ASSIGN(const SegmentWindow window, window_of(problem));
    const index_t ranks = problem.ranks, n = problem.shape[0], m = n / ranks, sampled = m / window.under * window.over;
    const Extents rows{ranks}, columns{1, ranks};
    const int axis = batch_axes(problem);
    const auto state_of = [&](index_t points, const Extents& over) {
        return ArrayState{divided(problem, {points, ranks}, over, Division::block), {problem.precision, true}};
    };
    Route route;
    ArrayState state{divided(problem, {n}, grid, Division::block), {problem.precision, true}};
    const auto append = [&](RouteOp::Type type, ArrayState to, std::vector<int> axes) {
        route.push_back({type, state, to, Kernel::c2c_forward, std::move(axes)});
        route.back().window = window;
        state = std::move(to);
    };
    view_as(route, state, state_of(m, rows).layout);
    append(RouteOp::Type::convolve, state_of(sampled, rows), {});
    append(RouteOp::Type::transform, state, {axis + 1});
    move_to(route, state, state_of(sampled, columns).layout);
    append(RouteOp::Type::transform, state, {axis});
    append(RouteOp::Type::demodulate, state_of(m, columns), {});
    view_as(route, state, divided(problem, {n}, grid, Division::block));
    return route;
}

Result<std::vector<Extents>> segment_grids(const Problem& problem) { return std::vector<Extents>{{problem.ranks}}; }

}  // namespace

const RouteFamily& soi_family() {
    static const RouteFamily family{"soi", segment_grids, segments_route};
    return family;
}

Result<std::unique_ptr<Plan>> solve_soi(const Problem& problem, const Planner& planner) {
    const bool line = problem.ndim() == 1 && problem.axes.size() == 1 && problem.kinds[0] == AxisKind::c2c;
    if (!line || problem.ranks == 1 || problem.memory_bytes > 0 || !problem.real_boxes.empty() ||
        !problem.spectrum_boxes.empty() || problem.output == SpectrumOrder::exchanged)
        return error(Code::unsupported, "soi transforms one c2c axis over several ranks, in their balanced blocks and ",
                     "natural order; leave method= out for others");
    SPANFFT_TRY(digits_of(problem).status());
    return solve_by_route(soi_family(), problem, planner);
}

}  // namespace spanfft
