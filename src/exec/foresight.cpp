// Prices the routes of solvers on data sheets; see foresight.hpp.
#include "exec/foresight.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "exchange/exchange.hpp"
#include "exec/pricing.hpp"
#include "lower/lower.hpp"
#include "lower/route_search.hpp"
#include "plan/plan.hpp"
#include "solvers/families.hpp"
#include "solvers/lines.hpp"
#include "solvers/pencil.hpp"
#include "steps/exchange_step.hpp"
#include "steps/split_step.hpp"

namespace spanfft {

namespace {

constexpr size_t kGridsInFull = 4;

using Type = RouteOp::Type;

// Of more, hierarchical is not priced: it looks at every rank of the group.
constexpr index_t kMostGathered = 8192;

// What the planner would look at, were its figures measured: not what changes the data, and of those that hand messages
// over in another way (datatypes, set-up once) only alltoallv, from which a data sheet can't tell them apart.
bool is_candidate(const ExchangeStrategy& strategy) {
    const std::string name = strategy.name;
    return !strategy.approximate && name != "alltoallw" && name != "persistent";
}

// Whether gathering what a node's ranks send is possible, and worth a look.
bool can_gather(const RouteOp& op, const Machine& machine, const ExchangeStrategy& strategy) {
    if (std::string(strategy.name) != "hierarchical") return true;
    return machine.topology.ranks_per_node > 1 && ranks_of(group_of(op)) <= kMostGathered;
}

struct Choice {
    const ExchangeStrategy* strategy;
    std::string parameter;
};

// Each strategy for a move, with its parameters; or the one that is forced.
std::vector<std::vector<Choice>> candidates(const RouteOp& op, const Machine& machine, const std::string& forced) {
    if (!forced.empty()) {
        const ExchangeChoice choice = find_exchange(forced);
        return {{{choice.strategy, choice.parameter}}};
    }
    std::vector<std::vector<Choice>> all;
    for (const auto& strategy : exchange_table()) {
        if (!is_candidate(strategy) || !can_gather(op, machine, strategy)) continue;
        std::vector<Choice> its;
        for (const std::string& parameter : strategy.candidates(exchange_spec(op.from, op.to, "", machine)))
            its.push_back({&strategy, parameter});
        all.push_back(std::move(its));
    }
    return all;
}

struct PricedMove {
    ForeseenExchange exchange;
    LimitSeconds limits;
};

// A route on one grid: its work, and for each move the ways to do it.
class PricedRoute {
  public:
    PricedRoute(const Pricing& pricing, const Problem& problem, const char* solver, Extents grid, Route route)
        : pricing_(pricing), problem_(problem), solver_(solver), grid_(std::move(grid)), route_(std::move(route)) {
        for (const RouteOp& op : route_) works_.push_back(pricing_.work(op));
    }

    const Extents& grid() const { return grid_; }

    // With alltoallv, or what is forced: for the comparison of grids.
    Result<ForeseenPlan> outlined() const { return with(problem_.exchange.empty() ? "alltoallv" : problem_.exchange); }

    // Each move by what is fastest for it.
    Result<ForeseenPlan> best() const {
        if (!problem_.exchange.empty()) return outlined();
        std::vector<PricedMove> moves;
        for (size_t i = 0; i < route_.size(); ++i) {
            if (route_[i].type != Type::move) continue;
            std::optional<PricedMove> best;
            for (const auto& its : candidates(route_[i], pricing_.machine(), "")) {
                const auto found = fastest(i, its);
                if (found && (!best || found->limits.total() < best->limits.total())) best = found;
            }
            if (!best) return error(Code::internal, "no strategy can do an exchange");
            moves.push_back(std::move(*best));
        }
        return sum(std::move(moves));
    }

    // One strategy for all moves, each with the parameter that is best for it. Declined where it can't do one.
    Result<ForeseenPlan> with(const std::string& exchange) const {
        std::vector<std::string> each = split_exchanges(exchange);
        if (!problem_.forward()) std::reverse(each.begin(), each.end());  // they are named as they go forward
        std::vector<PricedMove> moves;
        for (size_t i = 0; i < route_.size(); ++i) {
            if (route_[i].type != Type::move) continue;
            const std::string& text = each.size() > moves.size() ? each[moves.size()] : each.back();
            const ExchangeChoice choice = find_exchange(text);
            if (!choice.strategy)
                return error(Code::invalid_argument, "exchange ", text, " is not one of ", exchange_names());
            std::vector<Choice> its{{choice.strategy, choice.parameter}};
            if (problem_.exchange.empty() && !can_gather(route_[i], pricing_.machine(), *choice.strategy))
                return error(Code::unsupported, "too many ranks, or one a node");
            if (problem_.exchange.empty() && choice.parameter.empty()) {
                its.clear();
                for (const std::string& parameter :
                     choice.strategy->candidates(exchange_spec(route_[i].from, route_[i].to, "", pricing_.machine())))
                    its.push_back({choice.strategy, parameter});
            }
            auto found = fastest(i, its);
            if (!found)
                return error(Code::unsupported, "exchange ", text, " can't move ", route_[i].from.layout.describe(),
                             " to ", route_[i].to.layout.describe());
            moves.push_back(std::move(*found));
        }
        return sum(std::move(moves));
    }

  private:
    std::optional<PricedMove> fastest(size_t i, const std::vector<Choice>& its) const {
        std::optional<PricedMove> best;
        const RouteOp* before = i > 0 ? &route_[i - 1] : nullptr;
        const Work none;
        for (const Choice& choice : its) {
            PricedMove priced;
            const auto found = pricing_.exchange(route_[i], before, before ? works_[i - 1] : none, *choice.strategy,
                                                 choice.parameter, priced.limits);
            if (!found) continue;
            priced.exchange = *found;
            if (!best || priced.limits.total() < best->limits.total()) best = std::move(priced);
        }
        return best;
    }

    // What operations move by themselves. Of real lines, as pairs: the mirrored half of the spectrum, by the strategy
    // of the last move forward.
    Result<std::vector<PricedMove>> beside_moves(const std::vector<PricedMove>& moves, double& flops) const {
        std::vector<PricedMove> more;
        for (const Work& work : works_) {
            if (work.sent.messages == 0) continue;
            more.emplace_back();
            more.back().exchange = pricing_.spread(work.sent, "neighbours", more.back().limits);
        }
        for (const RouteOp& op : route_) {
            const bool splits = op.halving == Halving::split || op.halving == Halving::join;
            if (op.type != Type::halve || !splits || moves.empty()) continue;
            const std::string& name = (problem_.forward() ? moves.back() : moves.front()).exchange.strategy;
            SPANFFT_ASSIGN(const auto step,
                           make_split_step({op.halving, op.from, op.to, Slot::work0, Slot::work1, true},
                                           find_exchange(name), pricing_.machine()));
            more.emplace_back();
            more.back().exchange = pricing_.spread(step->predict(0), name, more.back().limits);
            flops += more.back().exchange.counts.flops;
            more.back().exchange.counts.flops = 0;
        }
        return more;
    }

    Result<ForeseenPlan> sum(std::vector<PricedMove> moves) const {
        ForeseenPlan plan;
        plan.solver = solver_;
        plan.grid = grid_;
        double local_bytes = 0;
        for (size_t i = 0; i < route_.size(); ++i) {
            plan.limits += works_[i].seconds;
            plan.compute_seconds += works_[i].seconds[Limit::flops];
            plan.memory_seconds += works_[i].seconds[Limit::memory];
            plan.flops_bound += works_[i].seconds[Limit::flops];
            plan.memory_bound += works_[i].memory_bytes / pricing_.rank_memory_rate();
            plan.counts.flops += works_[i].flops;
            plan.counts.memory_bytes += static_cast<index_t>(works_[i].memory_bytes);
            local_bytes = std::max({local_bytes, static_cast<double>(route_[i].from.local_bytes(0)),
                                    static_cast<double>(route_[i].to.local_bytes(0))});
        }
        std::vector<std::string> names;
        for (const PricedMove& move : moves) names.push_back(move.exchange.strategy);
        SPANFFT_ASSIGN(auto more, beside_moves(moves, plan.counts.flops));
        std::move(more.begin(), more.end(), std::back_inserter(moves));
        double buffers = 0;
        for (const PricedMove& move : moves) {
            const ForeseenExchange& exchange = move.exchange;
            plan.limits += move.limits;
            plan.wire_seconds += exchange.wire_seconds;
            plan.memory_seconds += exchange.copy_seconds;
            plan.barrier_seconds += exchange.barrier_seconds;
            Counts counts = exchange.counts;
            counts.seconds = 0;
            plan.counts += counts;
            const NetworkTimes least = pricing_.bounds(exchange);
            plan.bisection_bound += least.links;
            plan.injection_bound += least.injection;
            buffers = std::max(buffers, static_cast<double>(counts.memory_bytes) / 2);
            plan.exchanges.push_back(exchange);
        }
        const double agreement = pricing_.agreement_seconds();
        plan.limits[Limit::barriers] += agreement;
        plan.barrier_seconds += agreement;
        if (!problem_.forward()) std::reverse(names.begin(), names.end());
        plan.exchange = names.empty() ? "" : join_exchanges(names);
        plan.seconds = plan.limits.total();
        plan.node_memory_bytes = (2 * local_bytes + buffers) * pricing_.ranks_per_node();
        return plan;
    }

    const Pricing& pricing_;
    const Problem& problem_;
    const char* solver_;
    Extents grid_;
    Route route_;
    std::vector<Work> works_;
};

// The families that the planner would ask for such a problem; on one rank every axis is whole, and pencil's route has
// no exchange then, as solver `local` has none. Those of pencil_lines are for more ranks than the other axes feed.
Result<std::vector<const RouteFamily*>> families_of(const Problem& problem) {
    using Families = std::vector<const RouteFamily*>;
    const std::string method = problem.method.substr(0, problem.method.find(':'));
    const bool line = problem.ndim() == 1 && problem.ranks > 1;
    Families possible;
    if (problem.layout == Division::cyclic) {
        possible = {&cyclic_family()};
    } else if (line) {
        possible = {&line_family(), &chirp_lines_family(), &ffte_family(), &soi_family()};
    } else {
        possible = {&pencil_family()};
        if (problem.ranks > 1 && problem.ndim() > 1) possible.push_back(&pencil_lines_family());
    }
    if (method.empty()) {
        if (possible.back() == &pencil_lines_family() && pencil_feeds_all(problem)) possible.pop_back();
        std::erase(possible, &ffte_family());  // taken by name only
        std::erase(possible, &soi_family());
        return possible;
    }
    for (const RouteFamily* family : possible)
        if (method == family->solver) return Families{family};
    std::string names;
    for (const RouteFamily* family : possible) names += cat(names.empty() ? "" : ", ", family->solver);
    return error(Code::unsupported, "method ", method, " is not foreseen here; leave it out, or use ", names);
}

Status can_foresee(const Problem& problem, const Machine& machine) {
    if (!machine.sheet.given())
        return error(Code::invalid_argument, "machine '", machine.name,
                     "' has no data sheet; give it nodes, cores_per_node, core_fft_gflops, node_memory_gb_per_second, "
                     "network, link_gb_per_second and latency_us");
    if (problem.memory_bytes > 0 && !(machine.sheet.disks_per_node > 0))
        return error(Code::invalid_argument, "machine '", machine.name,
                     "' has no disks; give it disks_per_node and disk_mb_per_second, or leave out memory=");
    return Status();
}

// Arrays on disk: the planner's own plan, chosen by the figures that follow from the sheet, each of its steps priced
// from its counts. The ranks of a node share its disks. What a sweep computes and sends goes on while it reads and
// writes, so of a step the longer of the two counts, and the other is hidden.
Result<ForeseenPlan> on_disk(const Problem& problem, const Pricing& pricing) {
    SPANFFT_ASSIGN(const auto plan, Planner(pricing.machine()).plan(problem));
    ForeseenPlan found;
    found.solver = plan->solver;
    found.grid = plan->problem.grid;
    found.exchange = plan->problem.exchange;
    for (const auto& step : plan->steps) {
        const Counts counts = step->predict(0);
        found.counts += counts;
        const LimitSeconds disk = pricing.disk(counts), rest = pricing.beside_disk(counts, found);
        found.limits += disk.total() >= rest.total() ? disk : rest;
    }
    found.counts.seconds = 0;
    found.compute_seconds = found.limits[Limit::flops];
    found.memory_seconds = found.limits[Limit::memory];
    found.disk_seconds = found.limits[Limit::disk];
    found.seconds = found.limits.total();
    found.wire_seconds = found.seconds - found.compute_seconds - found.memory_seconds - found.disk_seconds;
    found.node_memory_bytes = static_cast<double>(plan->peak_memory_bytes(0)) * pricing.ranks_per_node();
    return found;
}

// All ranks on one node, which read one another's arrays: the planner's own plans, each of their steps priced from its
// counts. Nothing is sent. What the ranks of a node wait for one another is not on a data sheet.
std::vector<ForeseenPlan> in_windows(const Problem& problem, const Pricing& pricing) {
    std::vector<ForeseenPlan> all;
    if (problem.ranks == 1 || pricing.nodes() > 1 || !(problem.exchange.empty() || problem.exchange == "shared"))
        return all;
    for (const char* solver : {"shared", "shared_pencil_lines", "shared_lines", "shared_chirp_lines"}) {
        Problem by_it = problem;
        if (problem.method.empty()) by_it.method = solver;
        if (by_it.method != solver) continue;
        const auto plan = Planner(pricing.machine()).plan(by_it);
        if (!plan.ok()) continue;
        ForeseenPlan found;
        found.solver = plan.value()->solver;
        found.grid = plan.value()->problem.grid;
        found.exchange = "shared";
        for (const auto& step : plan.value()->steps) {
            const Counts counts = step->predict(0);
            found.counts += counts;
            const double memory_bytes = static_cast<double>(counts.memory_bytes);
            const LimitSeconds seconds = pricing.computing(counts.flops, memory_bytes);
            found.limits += seconds;
            found.flops_bound += seconds[Limit::flops];
            found.memory_bound += memory_bytes / pricing.rank_memory_rate();
        }
        found.counts.seconds = 0;
        found.compute_seconds = found.limits[Limit::flops];
        found.memory_seconds = found.limits[Limit::memory];
        found.seconds = found.limits.total();
        found.node_memory_bytes = static_cast<double>(plan.value()->peak_memory_bytes(0)) * pricing.ranks_per_node();
        all.push_back(std::move(found));
    }
    return all;
}

// Slabs of a cube whose spectrum stays exchanged, all at once: the kernel whose times P3 fitted (Allplanes). The fits
// are of a forward and an inverse transform, and go with the points.
void take_fits(const Problem& problem, const DataSheet& sheet, ForeseenPlan& plan) {
    const bool cube = problem.ndim() == 3 && problem.shape[0] == problem.shape[1] &&
                      problem.shape[1] == problem.shape[2] && !problem.halves() && problem.batch == 1;
    const bool slab = plan.exchange == "alltoallv" && plan.exchanges.size() == 1 && problem.ranks <= problem.shape[0];
    if (!cube || !slab) return;
    for (const PublishedFit& fit : sheet.fits) {
        if (problem.ranks < fit.least_ranks || problem.ranks > fit.most_ranks) continue;
        const double seconds = fit.seconds(problem.ranks) / 2 *
                               std::pow(static_cast<double>(problem.shape[0]) / static_cast<double>(fit.extent), 3);
        plan.fitted = true;
        if (fit.part == "computation") {
            // Memory that messages wait for stays: copies by MPI are communication.
            plan.limits[Limit::memory] -= plan.memory_seconds;
            plan.compute_seconds = seconds;
            plan.memory_seconds = 0;
            plan.limits[Limit::flops] = seconds;
        } else {
            plan.wire_seconds = seconds;
            for (Limit limit : {Limit::bisection, Limit::injection, Limit::message_rate, Limit::messages})
                plan.limits[limit] = 0;
            plan.limits[Limit::memory] = plan.memory_seconds;
            plan.limits[Limit::latency] = seconds;
        }
    }
    plan.seconds = plan.limits.total();
}

}  // namespace

const char* limit_name(Limit limit) {
    constexpr const char* names[kLimits] = {"flops",    "memory",  "bisection", "injection", "message rate",
                                            "messages", "latency", "barriers",  "disk"};
    return names[static_cast<size_t>(limit)];
}

double LimitSeconds::total() const {
    double sum = 0;
    for (const double each : seconds) sum += each;
    return sum;
}

Limit LimitSeconds::longest() const {
    return static_cast<Limit>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

LimitSeconds& LimitSeconds::operator+=(const LimitSeconds& other) {
    for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += other.seconds[i];
    return *this;
}

namespace {

Status check_nodes(const Problem& problem, const Machine& machine, int ranks_per_node) {
    const DataSheet& sheet = machine.sheet;
    const double nodes = std::ceil(static_cast<double>(problem.ranks) / ranks_per_node);
    if (nodes <= sheet.nodes) return {};
    return error(Code::invalid_argument, problem.ranks, " ranks, ", ranks_per_node, " on each node, are ", nodes,
                 " nodes, and machine '", machine.name, "' has ", sheet.nodes, "; ask for ",
                 static_cast<index_t>(sheet.nodes) * ranks_per_node, " ranks at most");
}

// On every grid of every family; at least one, or why there is none.
Result<std::vector<PricedRoute>> all_routes(const Problem& problem, const Pricing& pricing) {
    SPANFFT_ASSIGN(const auto families, families_of(problem));
    std::vector<PricedRoute> routes;
    Status declined;
    for (const RouteFamily* family : families) {
        const auto grids = family->grids(problem);
        keep_first(declined, grids.status());
        if (!grids.ok()) continue;
        for (const Extents& grid : grids.value()) {
            SPANFFT_ASSIGN(Route route, family->route(problem, grid));
            routes.emplace_back(pricing, problem, family->solver, grid, directed(problem, std::move(route)));
        }
    }
    if (routes.empty()) return declined;
    return routes;
}

// Those that are priced in full: the first ones by what their outlines take.
Result<std::vector<const PricedRoute*>> most_promising(const std::vector<PricedRoute>& routes) {
    std::vector<std::pair<double, const PricedRoute*>> order;
    for (const PricedRoute& route : routes) {
        double seconds = 0;
        if (routes.size() > 1) {
            SPANFFT_ASSIGN(const ForeseenPlan outline, route.outlined());
            seconds = outline.seconds;
        }
        order.emplace_back(seconds, &route);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const PricedRoute*> chosen;
    for (size_t i = 0; i < std::min(order.size(), kGridsInFull); ++i) chosen.push_back(order[i].second);
    return chosen;
}

// The same route with one strategy for all moves, where that is not among the plans yet.
void add_strategies(const PricedRoute& route, std::vector<ForeseenPlan>& plans) {
    for (const auto& strategy : exchange_table()) {
        if (!is_candidate(strategy)) continue;
        auto plan = route.with(strategy.name);
        if (!plan.ok()) continue;
        const auto known = [&](const ForeseenPlan& other) {
            return other.solver == plan.value().solver && other.grid == plan.value().grid &&
                   other.exchange == plan.value().exchange;
        };
        if (std::none_of(plans.begin(), plans.end(), known)) plans.push_back(std::move(plan).value());
    }
}

}  // namespace

Result<std::vector<ForeseenPlan>> foresee(const Problem& problem, const Machine& machine, int ranks_per_node) {
    SPANFFT_TRY(problem.check());
    SPANFFT_TRY(can_foresee(problem, machine));
    const DataSheet& sheet = machine.sheet;
    const int each = ranks_per_node > 0 ? ranks_per_node : static_cast<int>(sheet.cores_per_node);
    SPANFFT_TRY(check_nodes(problem, machine, each));
    const Pricing pricing(problem, machine, each);
    if (problem.memory_bytes > 0) {
        SPANFFT_ASSIGN(ForeseenPlan plan, on_disk(problem, pricing));
        return std::vector<ForeseenPlan>{std::move(plan)};
    }
    std::vector<ForeseenPlan> windows = in_windows(problem, pricing);
    if (problem.exchange == "shared" && windows.empty())
        return error(Code::unsupported,
                     "exchange shared can't do this: it is for all ranks on one node, and these are on ",
                     pricing.nodes(), "; leave it out");
    if (problem.exchange == "shared" || (!windows.empty() && !problem.method.empty())) return windows;
    SPANFFT_ASSIGN(const auto routes, all_routes(problem, pricing));
    SPANFFT_ASSIGN(const auto chosen, most_promising(routes));
    std::vector<ForeseenPlan> plans;
    size_t best = 0;
    for (const PricedRoute* const route : chosen) {
        SPANFFT_ASSIGN(ForeseenPlan plan, route->best());
        if (plans.empty() || plan.seconds < plans[best].seconds) best = plans.size();
        plans.push_back(std::move(plan));
    }
    // A long real line lies in boxes, of which each plan looks at all.
    const bool in_boxes = problem.ndim() == 1 && problem.halves() && problem.ranks > kMostGathered;
    if (!in_boxes && problem.exchange.empty() && !plans[best].exchanges.empty()) add_strategies(*chosen[best], plans);
    std::move(windows.begin(), windows.end(), std::back_inserter(plans));
    for (ForeseenPlan& plan : plans) take_fits(problem, sheet, plan);
    std::stable_sort(plans.begin(), plans.end(), [](const ForeseenPlan& a, const ForeseenPlan& b) {
        return std::pair(!a.fitted, a.seconds) < std::pair(!b.fitted, b.seconds);
    });
    return plans;
}

}  // namespace spanfft
