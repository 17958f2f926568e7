// Prices the routes of solvers on data sheets; see foresight.hpp.
#include "exec/foresight.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "exchange/exchange.hpp"
#include "lower/lower.hpp"
#include "lower/route_search.hpp"
#include "plan/plan.hpp"
#include "solvers/lines.hpp"
#include "solvers/pencil.hpp"
#include "steps/columns_step.hpp"
#include "steps/exchange_step.hpp"
#include "steps/pipelined_step.hpp"
#include "steps/split_step.hpp"

namespace spanfft {

namespace {

constexpr size_t kGridsInFull = 4;
constexpr double kBytesUnderWay = 1 << 20;  // of a rank between two barriers: exchange/phased.cpp's default group

using Type = RouteOp::Type;

// The part of a route between two exchanges, or an exchange.
struct Work {
    LimitSeconds seconds;
    double flops = 0, memory_bytes = 0;  // as plans count them
};

TransformSpec transform_spec(const RouteOp& op) {
    TransformSpec spec;
    spec.from = op.from;
    spec.to = op.to;
    spec.kernel = op.kernel;
    spec.axes = op.axes;
    spec.source = Slot::input;
    spec.target = Slot::work0;
    return spec;
}

// The matrix whose columns are transformed: forward they are left in parts, backward they are taken from them.
const ArrayState& columns_of(const RouteOp& op) { return op.kernel == Kernel::c2c_backward ? op.to : op.from; }

// Where the ranks lie that an exchange is among: the grid dimensions that change, the last one's ranks side by side. A
// dimension of more parts than there are indices has ranks without any.
RankGroup group_of(const RouteOp& op) {
    const Layout &from = op.from.layout, &to = op.to.layout;
    if (!from.has_grid() || !to.has_grid() || from.grid().size() != to.grid().size())
        return {{static_cast<index_t>(from.nranks()), 1}};
    RankGroup group;
    index_t stride = 1;
    for (size_t dim = from.grid().size(); dim-- > 0; stride *= from.grid()[dim].parts) {
        if (from.grid()[dim] == to.grid()[dim]) continue;
        index_t count = from.grid()[dim].parts;
        for (const Layout* layout : {&from, &to}) {
            const int axis = layout->grid()[dim].axis;
            if (axis >= 0) count = std::min(count, layout->shape()[static_cast<size_t>(axis)]);
        }
        if (count > 1) group.push_back({count, stride});
    }
    return group;
}

// The mean part of those ranks that have any, of the busiest one's: 5 rows on 4 ranks are 1.25 of 2.
double mean_share(const ArrayState& state) {
    const double most = static_cast<double>(state.layout.local_elems(0));
    if (!state.layout.has_grid() || most <= 0) return 1;
    double ranks = 1;
    for (const GridDim& dim : state.layout.grid()) {
        const index_t n = dim.axis < 0 ? 1 : ceil_div(state.layout.shape()[static_cast<size_t>(dim.axis)], dim.row);
        ranks *= static_cast<double>(std::min(dim.parts, n));
    }
    return std::min(1.0, static_cast<double>(product(state.layout.shape())) / ranks / most);
}

class Pricing {
  public:
    Pricing(const Problem& problem, const Machine& machine, int ranks_per_node)
        : problem_(problem),
          machine_(machine),
          sheet_(machine.sheet),
          ranks_per_node_(std::min(ranks_per_node, problem.ranks)),
          threads_(std::max(1.0, std::floor(sheet_.cores_per_node / ranks_per_node_))),
          network_(sheet_, problem.ranks, ranks_per_node_) {
        machine_.topology = Topology{ranks_per_node, nullptr};
        machine_.torus.clear();
        for (const double extent : network_.torus()) machine_.torus.push_back(static_cast<index_t>(extent));
    }

    double threads() const { return problem_.threads > 0 ? problem_.threads : threads_; }
    double rank_memory_rate() const { return sheet_.node_memory_bytes_per_second / ranks_per_node_; }
    double rank_flops_rate() const {
        const double slower = problem_.precision == Precision::extended ? 10 : 1;  // as engine/rates has it
        const double faster = problem_.precision == Precision::single ? 2 : 1;
        return sheet_.core_fft_flops_per_second * threads() * faster / slower;
    }
    const Machine& machine() const { return machine_; }
    double ranks_per_node() const { return ranks_per_node_; }

    // Everything but moves. A transform reads and writes the array once an axis at least, other work once.
    Work work(const RouteOp& op) const {
        Work done;
        if (op.type == Type::view || op.type == Type::move) return done;
        double sweeps = 1, transforms = 0;
        if (op.type == Type::transform || op.type == Type::columns) {
            TransformSpec spec = transform_spec(op);
            if (op.type == Type::columns) spec.from = spec.to = columns_of(op);
            transforms = transform_flops(local_spec(spec, 0));
            sweeps = static_cast<double>(op.axes.size());
        }
        // The rate of a data sheet is one of transforms: by convention their factors are no operations of their own.
        const double twiddles = op.type == Type::columns ? 6 * static_cast<double>(op.from.layout.local_elems(0)) : 0;
        done.flops = transforms + twiddles;
        done.memory_bytes = sweeps * static_cast<double>(op.from.local_bytes(0) + op.to.local_bytes(0));
        done.seconds[Limit::flops] = transforms / rank_flops_rate();
        const double moving = done.memory_bytes / rank_memory_rate();
        done.seconds[Limit::memory] = std::max(0.0, moving - done.seconds[Limit::flops]);
        return done;
    }

    // The move with a strategy; none where the strategy can't do it. `before` is what is computed just before it.
    std::optional<ForeseenExchange> exchange(const RouteOp& op, const RouteOp* before_op, const Work& before,
                                             const ExchangeStrategy& strategy, const std::string& parameter,
                                             LimitSeconds& limits) const {
        ExchangeSpec spec = exchange_spec(op.from, op.to, parameter, machine_);
        if (!strategy.check(spec).ok()) return std::nullopt;
        const bool in_chunks = cut_like_the_work(before_op, strategy, spec);
        ForeseenExchange found;
        found.strategy = exchange_text(strategy, parameter);
        found.group = group_of(op);
        found.counts = strategy.predict(spec, 0);
        const Counts& counts = found.counts;
        found.traffic = {found.group, static_cast<double>(counts.messages),
                         static_cast<double>(counts.sent_bytes) * mean_share(op.from)};
        const GroupTraffic& traffic = found.traffic;
        const std::string name = strategy.name;
        // Only phases that are made for a torus keep its links evenly busy; pairs don't.
        const bool phased = name == "phased", on_torus = phased && !parameter.empty() && parameter.front() != '/';
        const NetworkTimes times = network_.times(traffic, on_torus ? sheet_.phased_share : sheet_.alltoall_share);
        const double messages = traffic.messages;
        const double processor = messages * sheet_.message_seconds;
        const double longest = std::max(times.longest(), processor);
        LimitSeconds mine;
        mine[busiest(times, processor)] += longest;
        // Blocking pairs wait for each message; what returns at once, or is one call, for each call's last one.
        const bool pairs = name == "standard" || name == "replace";
        const double waits = counts.messages == 0 ? 0
                             : pairs              ? messages
                             : strategy.rows      ? static_cast<double>(strategy.chunks(spec, 0))
                                                  : 1;
        mine[Limit::latency] += waits * (network_.nodes() > 1 ? sheet_.latency_seconds : 0);
        found.wire_seconds = mine.total();
        found.limit = found.wire_seconds > 0 ? mine.longest() : Limit::memory;
        if (phased) found.barrier_seconds = barriers(traffic, on_torus, parameter) * network_.barrier_seconds();
        mine[Limit::barriers] += found.barrier_seconds;
        found.copy_seconds = static_cast<double>(counts.memory_bytes) / rank_memory_rate();
        // An MPI library that is given datatypes packs and unpacks by itself.
        if (name == "alltoallw") found.copy_seconds = 4 * static_cast<double>(counts.sent_bytes) / rank_memory_rate();
        mine[Limit::memory] += found.copy_seconds;
        if (in_chunks && strategy.overlaps && machine_.overlap_share > 0) {
            const double together = before.seconds.total() + found.wire_seconds;
            found.hidden_seconds = together - pipelined_seconds(before.seconds.total(), found.wire_seconds,
                                                                strategy.chunks(spec, 0), machine_.overlap_share);
            hide(mine, found);
        }
        limits = mine;
        return found;
    }

    // An exchange of a step's own, whose few messages go to any rank. Its sweep is priced as the step's work.
    ForeseenExchange spread(const Counts& counts, const std::string& strategy, LimitSeconds& limits) const {
        ForeseenExchange found;
        found.strategy = strategy;
        found.group = {{problem_.ranks, 1}};
        found.counts = counts;
        found.counts.memory_bytes = 0;
        found.traffic = {found.group, static_cast<double>(counts.messages), static_cast<double>(counts.sent_bytes)};
        const NetworkTimes times = network_.times(found.traffic, sheet_.alltoall_share);
        const double processor = found.traffic.messages * sheet_.message_seconds;
        limits[busiest(times, processor)] += std::max(times.longest(), processor);
        if (counts.messages > 0 && network_.nodes() > 1) limits[Limit::latency] += sheet_.latency_seconds;
        found.wire_seconds = limits.total();
        found.limit = found.wire_seconds > 0 ? limits.longest() : Limit::memory;
        return found;
    }

    // What a step reads and writes on the disks of a node.
    LimitSeconds disk(const Counts& counts) const {
        const double bytes = static_cast<double>(counts.disk_read_bytes + counts.disk_written_bytes);
        const double requests = static_cast<double>(counts.disk_reads + counts.disk_writes);
        LimitSeconds seconds;
        seconds[Limit::disk] = (bytes / sheet_.disk_bytes_per_second + requests * sheet_.disk_request_seconds) *
                               ranks_per_node_ / sheet_.disks_per_node;
        return seconds;
    }

    // The rest of such a step, whose messages go to any rank; adds its bounds to the plan's.
    LimitSeconds beside_disk(const Counts& counts, ForeseenPlan& plan) const {
        LimitSeconds seconds;
        seconds[Limit::flops] = counts.flops / rank_flops_rate();
        seconds[Limit::memory] = static_cast<double>(counts.memory_bytes) / rank_memory_rate();
        plan.flops_bound += seconds[Limit::flops];
        plan.memory_bound += seconds[Limit::memory];
        if (counts.messages == 0) return seconds;
        const GroupTraffic traffic{
            {{problem_.ranks, 1}}, static_cast<double>(counts.messages), static_cast<double>(counts.sent_bytes)};
        const NetworkTimes times = network_.times(traffic, sheet_.alltoall_share), least = network_.bounds(traffic);
        const double processor = traffic.messages * sheet_.message_seconds;
        seconds[busiest(times, processor)] += std::max(times.longest(), processor);
        seconds[Limit::latency] += static_cast<double>(counts.calls) * sheet_.latency_seconds;
        plan.bisection_bound += least.links;
        plan.injection_bound += least.injection;
        return seconds;
    }

    NetworkTimes bounds(const ForeseenExchange& found) const { return network_.bounds(found.traffic); }

  private:
    // Chunks are cut as lower/lower.cpp has them cut: along with what is computed before.
    bool cut_like_the_work(const RouteOp* before, const ExchangeStrategy& strategy, ExchangeSpec& spec) const {
        if (!before || !strategy.rows) return false;
        std::unique_ptr<RowWork> rows;
        if (before->type == Type::transform && !before->share) rows = transform_in_rows(transform_spec(*before));
        if (before->type == Type::columns) {
            ColumnsSpec columns;
            columns.from = before->from;
            columns.to = before->to;
            columns.axis = before->axes[0];
            columns.kernel = before->kernel;
            columns.dealt = before->dealt;
            columns.source = Slot::input;
            rows = columns_in_rows(std::move(columns));
        }
        if (!rows) return false;
        const auto cut = pipelined(*rows, spec, strategy, Slot::work1);
        if (cut) spec = *cut;
        return cut.has_value();
    }

    static Limit busiest(const NetworkTimes& times, double processor) {
        if (processor >= times.longest()) return Limit::messages;
        if (times.links == times.longest()) return Limit::bisection;
        if (times.injection == times.longest()) return Limit::injection;
        return times.rate == times.longest() ? Limit::message_rate : Limit::memory;
    }

    // Between the groups of phases: four partners a phase on a torus, one elsewhere. A parameter "TORUS/GROUP" says how
    // many phases are in a group, else their bytes do.
    static double barriers(const GroupTraffic& traffic, bool on_torus, const std::string& parameter) {
        if (traffic.messages <= 0) return 0;
        const double partners = on_torus ? 4 : 1;
        const double phases = std::ceil(static_cast<double>(ranks_of(traffic.group)) / partners);
        const double phase_bytes = partners * traffic.bytes / traffic.messages;
        const size_t slash = parameter.find('/');
        const double grouped =
            slash == std::string::npos ? kBytesUnderWay / phase_bytes : std::stod(parameter.substr(slash + 1));
        return std::ceil(phases / std::max(1.0, std::floor(grouped))) - 1;
    }

    // What is hidden is not waited for: wire time first, as it is what goes on meanwhile.
    static void hide(LimitSeconds& limits, ForeseenExchange& found) {
        double left = std::min(found.hidden_seconds, found.wire_seconds);
        found.hidden_seconds = left;
        found.wire_seconds -= left;
        for (Limit limit : {Limit::bisection, Limit::injection, Limit::message_rate, Limit::messages, Limit::latency,
                            Limit::memory}) {
            const double taken = std::min(left, limits[limit]);
            limits[limit] -= taken;
            left -= taken;
        }
    }

    const Problem& problem_;
    Machine machine_;
    const DataSheet& sheet_;
    double ranks_per_node_, threads_;
    Network network_;
};

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

    // Real lines, as pairs: the mirrored half of the spectrum is moved too, by the strategy of the last move forward.
    Result<std::vector<PricedMove>> mirrored(const std::vector<PricedMove>& moves, double& flops) const {
        std::vector<PricedMove> more;
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
        SPANFFT_ASSIGN(auto more, mirrored(moves, plan.counts.flops));
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

// On one rank every axis is whole: pencil's route has no exchange then, as solver `local` has none.
const RouteFamily& family_of(const Problem& problem) {
    return problem.ndim() == 1 && problem.ranks > 1 ? line_family() : pencil_family();
}

Status can_foresee(const Problem& problem, const Machine& machine) {
    if (!machine.sheet.given())
        return error(Code::invalid_argument, "machine '", machine.name,
                     "' has no data sheet; give it nodes, cores_per_node, core_fft_gflops, node_memory_gb_per_second, "
                     "network, link_gb_per_second and latency_us");
    if (problem.memory_bytes > 0 && !(machine.sheet.disks_per_node > 0))
        return error(Code::invalid_argument, "machine '", machine.name,
                     "' has no disks; give it disks_per_node and disk_mb_per_second, or leave out memory=");
    if (problem.layout != Division::block || !problem.real_boxes.empty() || !problem.spectrum_boxes.empty())
        return error(Code::unsupported, "only balanced blocks are foreseen; leave out layout= and boxes");
    if (problem.memory_bytes > 0) return Status();
    const std::string solver = problem.method.substr(0, problem.method.find(':'));
    if (!solver.empty() && solver != family_of(problem).solver)
        return error(Code::unsupported, "method ", solver, " is not foreseen; leave it out for ",
                     family_of(problem).solver);
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
            plan.compute_seconds = seconds;
            plan.memory_seconds = 0;
            plan.limits[Limit::flops] = seconds;
            plan.limits[Limit::memory] = 0;
        } else {
            plan.wire_seconds = seconds;
            for (Limit limit : {Limit::bisection, Limit::injection, Limit::message_rate, Limit::messages})
                plan.limits[limit] = 0;
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

Result<std::vector<ForeseenPlan>> foresee(const Problem& problem, const Machine& machine, int ranks_per_node) {
    SPANFFT_TRY(problem.check());
    SPANFFT_TRY(can_foresee(problem, machine));
    const DataSheet& sheet = machine.sheet;
    const int each = ranks_per_node > 0 ? ranks_per_node : static_cast<int>(sheet.cores_per_node);
    const double nodes = std::ceil(static_cast<double>(problem.ranks) / each);
    if (nodes > sheet.nodes)
        return error(Code::invalid_argument, problem.ranks, " ranks, ", each, " on each node, are ", nodes,
                     " nodes, and machine '", machine.name, "' has ", sheet.nodes, "; ask for ",
                     static_cast<index_t>(sheet.nodes) * each, " ranks at most");
    const Pricing pricing(problem, machine, each);
    if (problem.memory_bytes > 0) {
        SPANFFT_ASSIGN(ForeseenPlan plan, on_disk(problem, pricing));
        return std::vector<ForeseenPlan>{std::move(plan)};
    }
    const RouteFamily& family = family_of(problem);
    SPANFFT_ASSIGN(const auto grids, family.grids(problem));
    std::vector<PricedRoute> routes;
    std::vector<std::pair<double, size_t>> order;
    for (const Extents& grid : grids) {
        SPANFFT_ASSIGN(Route route, family.route(problem, grid));
        routes.emplace_back(pricing, problem, family.solver, grid, directed(problem, std::move(route)));
        order.emplace_back(0, routes.size() - 1);
        if (grids.size() == 1) break;  // nothing to compare
        SPANFFT_ASSIGN(const ForeseenPlan outline, routes.back().outlined());
        order.back().first = outline.seconds;
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ForeseenPlan> plans;
    size_t best = 0;
    for (size_t i = 0; i < std::min(order.size(), kGridsInFull); ++i) {
        SPANFFT_ASSIGN(ForeseenPlan plan, routes[order[i].second].best());
        if (plans.empty() || plan.seconds < plans[best].seconds) best = plans.size();
        plans.push_back(std::move(plan));
    }
    // The best grid with one strategy for all moves. A long real line lies in boxes, of which each plan looks at all.
    const bool in_boxes = problem.ndim() == 1 && problem.halves() && problem.ranks > kMostGathered;
    const PricedRoute& route = routes[order[best].second];
    for (const auto& strategy : exchange_table()) {
        if (in_boxes || !problem.exchange.empty() || plans[best].exchanges.empty() || !is_candidate(strategy)) continue;
        auto plan = route.with(strategy.name);
        if (!plan.ok()) continue;
        const auto known = [&](const ForeseenPlan& other) {
            return other.grid == plan.value().grid && other.exchange == plan.value().exchange;
        };
        if (std::none_of(plans.begin(), plans.end(), known)) plans.push_back(std::move(plan).value());
    }
    for (ForeseenPlan& plan : plans) take_fits(problem, sheet, plan);
    std::stable_sort(plans.begin(), plans.end(), [](const ForeseenPlan& a, const ForeseenPlan& b) {
        return std::pair(!a.fitted, a.seconds) < std::pair(!b.fitted, b.seconds);
    });
    return plans;
}

}  // namespace spanfft
