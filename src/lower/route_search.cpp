// Outlines, then plans; see route_search.hpp.
#include "lower/route_search.hpp"

#include <algorithm>
#include <limits>

#include "exchange/exchange.hpp"
#include "lower/lower.hpp"
#include "plan/exchange_cost.hpp"
#include "plan/tuning_store.hpp"
#include "steps/exchange_step.hpp"

namespace spanfft {

namespace {

constexpr size_t kGridsPlanned = 4;       // of the candidates, those with the best outlines are planned in full
constexpr size_t kStrategiesWidened = 3;  // of grid and strategy, the best are planned with all their parameters
constexpr size_t kStrategiesMixed = 2;    // of the best grid, these and the best for a move are tried for each move
constexpr int kMostRanksByMove = 8192;    // of more, only the former: a trial takes memory for each rank

using Type = RouteOp::Type;

// What the user asked for, or every strategy with the parameters worth trying, those of one strategy together; "" where
// nothing moves.
std::vector<std::vector<std::string>> candidate_exchanges(const Problem& problem, const Route& route,
                                                          const Machine& machine) {
    if (!problem.exchange.empty()) return {{problem.exchange}};
    std::vector<ExchangeSpec> specs;
    for (const RouteOp& op : route) {
        if (op.type == Type::move) specs.push_back(exchange_spec(op.from, op.to, "", machine));
    }
    if (specs.empty()) return {{""}};
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

Result<double> outline_transform(const Problem& problem, const RouteOp& op, const Machine& machine) {
    TransformSpec spec;
    spec.from = op.from;
    spec.to = op.to;
    spec.kernel = op.kernel;
    spec.axes = op.axes;
    spec.threads = threads_of(problem, machine);
    spec.caches = machine.caches_of(problem.ranks);
    spec.memory_bytes_per_second = machine.memory_bytes_per_second;
    SPANFFT_ASSIGN(const EngineForecast forecast,
                   forecast_local(local_spec(spec, 0), problem.engine, machine.engine_rates));
    return forecast.seconds * machine.slowness(spec.sort(), op.from.local_bytes(0));
}

// By the strategy that is fastest if it sends one message a peer and copies everything once.
double outline_move(const Problem& problem, const RouteOp& op, const Machine& machine) {
    const ExchangeLoad load =
        exchange_load({op.from.layout, op.to.layout, static_cast<index_t>(op.from.elem.bytes())}, 0, machine.topology);
    Counts counts;
    counts.messages = load.peers();
    counts.sent_bytes = load.near_bytes + load.far_bytes;
    counts.memory_bytes = op.from.local_bytes(0) + op.to.local_bytes(0);
    const ExchangeStrategy* forced = find_exchange(split_exchanges(problem.exchange).front()).strategy;
    double fastest = std::numeric_limits<double>::infinity();
    for (const auto& strategy : exchange_table()) {
        if (forced ? forced != &strategy : !may_propose(strategy, machine)) continue;
        fastest = std::min(fastest, exchange_seconds(load, counts, machine.exchange(strategy.name),
                                                     machine.copy_bytes_per_second(problem.ranks)));
    }
    return fastest * machine.slowness("Exchange", op.from.local_bytes(0));
}

// A lower and cheap view of a route's cost on rank 0. Full plans of all grids with all strategies would take too long
// for thousands of ranks.
Result<double> outline_seconds(const Problem& problem, const Route& route, const Machine& machine) {
    double seconds = 0;
    for (const RouteOp& op : route) {
        if (op.type == Type::view) continue;
        if (op.type == Type::transform) {
            SPANFFT_ASSIGN(const double its, outline_transform(problem, op, machine));
            seconds += its;
        } else if (op.type == Type::move) {
            seconds += outline_move(problem, op, machine);
        } else {  // a sweep of memory
            seconds += static_cast<double>(op.from.local_bytes(0)) / machine.memory_bytes_per_second;
        }
    }
    return seconds;
}

struct Outline {
    Extents grid;
    Route route;
    double seconds;
};

// The candidate grids with the best outlines, best first.
Result<std::vector<Outline>> outlines(const RouteFamily& family, const Problem& problem, const Machine& machine) {
    SPANFFT_ASSIGN(const auto grids, family.grids(problem));
    std::vector<Outline> all;
    for (const Extents& grid : grids) {
        SPANFFT_ASSIGN(Route route, family.route(problem, grid));
        SPANFFT_ASSIGN(const double seconds, outline_seconds(problem, route, machine));
        const auto behind = std::upper_bound(all.begin(), all.end(), seconds,
                                             [](double its, const Outline& other) { return its < other.seconds; });
        all.insert(behind, {grid, std::move(route), seconds});
        if (all.size() > kGridsPlanned) all.pop_back();  // a route may hold a box of each rank
    }
    return all;
}

std::string strategy_name(const std::string& exchange) { return exchange.substr(0, exchange.find(':')); }

// One search: what was planned so far, fewest predicted seconds first after each of its stages.
class Search {
  public:
    Search(const RouteFamily& family, const Problem& twin, const Planner& planner)
        : family_(family), twin_(twin), planner_(planner) {}

    Status run() {
        SPANFFT_ASSIGN(outlines_, outlines(family_, twin_, planner_.machine()));
        SPANFFT_TRY(plan_strategies());
        return twin_.exchange.empty() ? mix_strategies() : Status();
    }
    std::vector<Alternative> found() && { return std::move(found_); }

  private:
    struct Strategy {
        const Outline* outline;
        std::vector<std::string> exchanges;
        double seconds;
    };

    Result<Alternative> plan(const Outline& outline, const std::string& exchange) const {
        SPANFFT_ASSIGN(auto plan, lower(twin_, outline.route, exchange, planner_, family_.solver));
        plan->problem.grid = outline.grid;
        Alternative alternative = alternative_of(*plan, planner_.machine());
        alternative.exchange = exchange;
        return alternative;
    }

    Status add(const Outline& outline, const std::string& exchange) {
        SPANFFT_ASSIGN(Alternative alternative, plan(outline, exchange));
        found_.push_back(std::move(alternative));
        return Status();
    }

    // Every strategy with its first parameter on every grid, then the best of them with all.
    Status plan_strategies() {
        const auto by_seconds = [](const auto& a, const auto& b) { return a.seconds < b.seconds; };
        std::vector<Strategy> strategies;
        for (const Outline& outline : outlines_) {
            for (auto& exchanges : candidate_exchanges(twin_, outline.route, planner_.machine())) {
                SPANFFT_TRY(add(outline, exchanges.front()));
                strategies.push_back({&outline, std::move(exchanges), found_.back().seconds});
            }
        }
        std::stable_sort(strategies.begin(), strategies.end(), by_seconds);
        for (size_t i = 0; i < std::min(strategies.size(), kStrategiesWidened); ++i) {
            for (size_t j = 1; j < strategies[i].exchanges.size(); ++j)
                SPANFFT_TRY(add(*strategies[i].outline, strategies[i].exchanges[j]));
        }
        std::stable_sort(found_.begin(), found_.end(), by_seconds);
        return Status();
    }

    // The best plan with another strategy for each of its moves, one after the other, where that is predicted to be
    // faster: a wide move between nodes may want another one than a narrow move inside them. Tried are the best of
    // whole plans, and those that are best for the move by itself.
    Status mix_strategies() {
        const Extents grid = found_.front().grid;
        const auto best = std::find_if(outlines_.begin(), outlines_.end(),
                                       [&](const Outline& outline) { return outline.grid == grid; });
        std::vector<const RouteOp*> moves;
        for (const RouteOp& op : best->route) {
            if (op.type == Type::move) moves.push_back(&op);
        }
        if (moves.size() < 2) return Status();
        const std::vector<std::string> best_plans = best_on(grid);
        std::vector<std::string> chosen(moves.size(), found_.front().exchange);
        for (size_t move = 0; move < moves.size(); ++move) {
            std::vector<std::string> names = best_plans;
            for (std::string& name : best_for(*moves[move])) {
                if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
            }
            for (const std::string& name : names) {
                std::vector<std::string> tried = chosen;
                tried[move] = name;
                if (tried == chosen) continue;
                SPANFFT_ASSIGN(Alternative mixed, plan(*best, join_exchanges(tried)));
                if (mixed.seconds >= found_.front().seconds) continue;
                found_.insert(found_.begin(), std::move(mixed));
                chosen = std::move(tried);
            }
        }
        return Status();
    }

    // By the seconds of the move alone: the best strategy, and the best that lets something else go on meanwhile.
    std::vector<std::string> best_for(const RouteOp& move) const {
        const Machine& machine = planner_.machine();
        if (twin_.ranks > kMostRanksByMove) return {};
        std::string best, best_overlapping;
        double seconds = std::numeric_limits<double>::infinity(), overlapping_seconds = seconds;
        for (const auto& strategy : exchange_table()) {
            if (!may_propose(strategy, machine)) continue;
            const bool overlaps = strategy.overlaps && machine.overlap_share > 0;
            for (const std::string& parameter : strategy.candidates(exchange_spec(move.from, move.to, "", machine))) {
                ExchangeSpec spec = exchange_spec(move.from, move.to, parameter, machine);
                if (!strategy.check(spec).ok()) continue;
                const auto step = make_exchange_step(std::move(spec), Slot::work0, Slot::work1, strategy, machine);
                const double its = step->predict(0).seconds;
                if (its < seconds) {
                    seconds = its;
                    best = exchange_text(strategy, parameter);
                }
                if (overlaps && its < overlapping_seconds) {
                    overlapping_seconds = its;
                    best_overlapping = exchange_text(strategy, parameter);
                }
            }
        }
        std::vector<std::string> names{best};
        if (!best_overlapping.empty()) names.push_back(best_overlapping);
        return names;
    }

    // The best strategies on a grid, each with its best parameter.
    std::vector<std::string> best_on(const Extents& grid) const {
        std::vector<std::string> names;
        for (const Alternative& each : found_) {
            const bool seen = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                return strategy_name(name) == strategy_name(each.exchange);
            });
            if (each.grid == grid && !seen && names.size() < kStrategiesMixed) names.push_back(each.exchange);
        }
        return names;
    }

    const RouteFamily& family_;
    const Problem& twin_;
    const Planner& planner_;
    std::vector<Outline> outlines_;
    std::vector<Alternative> found_;
};

// All that was compared, fewest predicted seconds first: by the first one's grid and exchange the problem is planned.
// Another solver may ask for the same, so the planner remembers.
Result<std::vector<Alternative>> choose(const RouteFamily& family, const Problem& problem, const Planner& planner) {
    const Problem twin = tuning_twin(problem);
    std::vector<Alternative>& remembered = planner.remembered()[cat(family.solver, " ", twin.print())];
    if (!remembered.empty()) return remembered;
    Search search(family, twin, planner);
    SPANFFT_TRY(search.run());
    remembered = std::move(search).found();
    return remembered;
}

}  // namespace

Result<BestGrid> best_grid(const RouteFamily& family, const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const auto alternatives, choose(family, problem, planner));
    return BestGrid{alternatives.front().grid, alternatives.front().seconds};
}

Result<Extents> choose_grid(const RouteFamily& family, const Problem& problem, const Planner& planner) {
    if (!problem.grid.empty()) {
        SPANFFT_TRY(family.grids(problem).status());
        return problem.grid;
    }
    SPANFFT_ASSIGN(BestGrid best, best_grid(family, problem, planner));
    return std::move(best.grid);
}

Result<std::unique_ptr<Plan>> solve_by_route(const RouteFamily& family, const Problem& problem,
                                             const Planner& planner) {
    SPANFFT_ASSIGN(auto alternatives, choose(family, problem, planner));
    const Alternative& best = alternatives.front();
    SPANFFT_ASSIGN(Route route, family.route(problem, best.grid));
    SPANFFT_ASSIGN(auto plan,
                   lower(problem, directed(problem, std::move(route)), best.exchange, planner, family.solver));
    plan->problem.grid = best.grid;
    plan->alternatives = std::move(alternatives);
    return plan;
}

}  // namespace spanfft
