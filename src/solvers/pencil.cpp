// Solver `pencil`: an N-D array over ranks in slabs, pencils or any (ndim-1)-D process grid (P4, sections 3.3 to 3.6).
//
// Method: transform the axes that are whole; move one grid dimension from the next axis that is needed to an axis that
// is done, so that the needed one becomes whole; repeat. At the end, if natural order is asked for, one exchange
// over all grid dimensions that moved restores the division of the input.
// Grids: all factorings over the leading axes are outlined; the best few are planned with each exchange strategy, and
// the cheapest is kept. Invariant: at most ndim - 1 axes are divided at any time, so there is always a whole axis to
// move to.
#include <algorithm>
#include <limits>

#include "exchange/exchange.hpp"
#include "plan/exchange_cost.hpp"
#include "plan/steps/exchange_step.hpp"
#include "plan/tuning_store.hpp"
#include "solvers/pencil_route.hpp"
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

namespace {

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

// What the user asked for, or every strategy with the parameters worth trying, those of one strategy together.
std::vector<std::vector<std::string>> candidate_exchanges(const Problem& problem, const Route& route,
                                                          const Machine& machine) {
    if (!problem.exchange.empty()) return {{problem.exchange}};
    std::vector<ExchangeSpec> specs;
    for (const RouteOp& op : route) {
        if (op.type == RouteOp::Type::exchange) specs.push_back(exchange_spec(op.from, op.to, "", machine));
    }
    if (specs.empty()) return {{exchange_table().front().name}};  // nothing to move: any will do
    std::vector<std::vector<std::string>> strategies;
    for (const auto& strategy : exchange_table()) {
        if (!may_propose(strategy, machine)) continue;
        // What can't do one of the exchanges (groups of one may lie in nodes, of another across them) is no candidate.
        const auto does_all = [&](const std::string& parameter) {
            return std::all_of(specs.begin(), specs.end(), [&](ExchangeSpec& spec) {
                spec.parameter = parameter;
                return strategy.check(spec).ok();
            });
        };
        std::vector<std::string> texts;
        for (const std::string& parameter : strategy.candidates(specs.front())) {
            if (does_all(parameter)) texts.push_back(exchange_text(strategy, parameter));
        }
        if (!texts.empty()) strategies.push_back(std::move(texts));
    }
    return strategies;
}

constexpr size_t kGridsPlanned = 4;     // of the candidates, those with the best outlines are planned in full
constexpr size_t kFamiliesWidened = 3;  // of grid and strategy, the best are planned with all their parameters

// A lower and cheap view of a route's cost on rank 0: its transforms, and each exchange by the strategy that is fastest
// at it if it sends one message a peer and copies everything once. Full plans of all grids with all strategies would
// take too long for thousands of ranks.
Result<double> outline_seconds(const Problem& problem, const Route& route, const Machine& machine) {
    double seconds = 0;
    for (const RouteOp& op : route) {
        if (op.type == RouteOp::Type::transform) {
            TransformSpec spec;
            spec.from = op.from;
            spec.to = op.to;
            spec.kernel = op.kernel;
            spec.axes = op.axes;
            spec.threads = problem.threads > 0 ? problem.threads : machine.threads_for(problem.ranks);
            SPANFFT_ASSIGN(const EngineForecast forecast, forecast_local(local_spec(spec, 0), problem.engine));
            seconds += forecast.seconds;
            continue;
        }
        const ExchangeLoad load = exchange_load(
            {op.from.layout, op.to.layout, static_cast<index_t>(op.from.elem.bytes())}, 0, machine.topology);
        Counts counts;
        counts.messages = load.peers();
        counts.sent_bytes = load.near_bytes + load.far_bytes;
        counts.memory_bytes = op.from.local_bytes(0) + op.to.local_bytes(0);
        const ExchangeStrategy* forced = find_exchange(problem.exchange).strategy;
        double fastest = std::numeric_limits<double>::infinity();
        for (const auto& strategy : exchange_table()) {
            if (forced ? forced != &strategy : !may_propose(strategy, machine)) continue;
            fastest = std::min(fastest, exchange_seconds(load, counts, machine.exchange(strategy.name),
                                                         machine.copy_bytes_per_second(problem.ranks)));
        }
        seconds += fastest;
    }
    return seconds;
}

struct Outline {
    Extents grid;
    Route route;
    double seconds;
};

// The candidate grids with the best outlines, best first.
Result<std::vector<Outline>> outlines(const Problem& problem, const Machine& machine) {
    std::vector<Outline> all;
    for (const Extents& grid : candidate_grids(problem)) {
        SPANFFT_TRY(check_grid(problem, grid));
        SPANFFT_ASSIGN(Route route, find_route(problem, grid));
        SPANFFT_ASSIGN(const double seconds, outline_seconds(problem, route, machine));
        all.push_back({grid, std::move(route), seconds});
    }
    std::stable_sort(all.begin(), all.end(), [](const Outline& a, const Outline& b) { return a.seconds < b.seconds; });
    if (all.size() > kGridsPlanned) all.erase(all.begin() + kGridsPlanned, all.end());
    return all;
}

// All that was compared, fewest predicted seconds first: by the first one's grid and exchange the problem is planned.
// All plans for one array on the same ranks must fit together: what forward leaves, backward takes, in place or not. So
// what is compared are plans of the problem without any of it (tuning_twin).
// Each strategy is planned with its first parameter; the best of them then with all. Solver `shared` asks for the grid
// of the same problem, so the planner remembers.
Result<std::vector<Alternative>> choose(const Problem& problem, const Planner& planner) {
    const Problem twin = tuning_twin(problem);
    std::vector<Alternative>& remembered = planner.remembered()[twin.print()];
    if (!remembered.empty()) return remembered;
    struct Family {
        const Outline* outline;
        std::vector<std::string> exchanges;
        double seconds;
    };
    std::vector<Alternative> found;
    std::vector<Family> families;
    const auto add = [&](const Outline& outline, const std::string& exchange) -> Status {
        SPANFFT_ASSIGN(auto plan, plan_route(twin, outline.route, exchange, planner, "pencil"));
        plan->problem.grid = outline.grid;
        found.push_back(alternative_of(*plan, planner.machine()));
        found.back().exchange = exchange;
        return Status();
    };
    const auto by_seconds = [](const auto& a, const auto& b) { return a.seconds < b.seconds; };
    SPANFFT_ASSIGN(const auto grids, outlines(problem, planner.machine()));
    for (const Outline& outline : grids) {
        for (auto& exchanges : candidate_exchanges(problem, outline.route, planner.machine())) {
            SPANFFT_TRY(add(outline, exchanges.front()));
            families.push_back({&outline, std::move(exchanges), found.back().seconds});
        }
    }
    std::stable_sort(families.begin(), families.end(), by_seconds);
    for (size_t i = 0; i < std::min(families.size(), kFamiliesWidened); ++i) {
        for (size_t j = 1; j < families[i].exchanges.size(); ++j)
            SPANFFT_TRY(add(*families[i].outline, families[i].exchanges[j]));
    }
    std::stable_sort(found.begin(), found.end(), by_seconds);
    remembered = found;
    return found;
}

}  // namespace

Result<Extents> choose_grid(const Problem& problem, const Planner& planner) {
    if (!problem.grid.empty()) {
        SPANFFT_TRY(check_grid(problem, problem.grid));
        return problem.grid;
    }
    SPANFFT_ASSIGN(const auto alternatives, choose(problem, planner));
    return alternatives.front().grid;
}

Result<std::unique_ptr<Plan>> solve_pencil(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes > 0) return error(Code::unsupported, "pencil works on arrays in memory, not on files");
    if (problem.ranks == 1 && problem.real_boxes.empty() && problem.spectrum_boxes.empty()) {
        return error(Code::unsupported, "pencil is for several ranks");
    }
    SPANFFT_ASSIGN(auto alternatives, choose(problem, planner));
    const Alternative& best = alternatives.front();
    SPANFFT_ASSIGN(const Route route, find_route(problem, best.grid));
    SPANFFT_ASSIGN(auto plan, plan_route(problem, route, best.exchange, planner, "pencil"));
    plan->problem.grid = best.grid;
    plan->alternatives = std::move(alternatives);
    return plan;
}

}  // namespace spanfft
