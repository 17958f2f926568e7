// Operations and exchanges in seconds; see pricing.hpp.
#include "exec/pricing.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "exchange/phased.hpp"
#include "lower/lower.hpp"
#include "steps/butterfly_step.hpp"
#include "steps/chirp.hpp"
#include "steps/chirp_step.hpp"
#include "steps/columns_step.hpp"
#include "steps/exchange_step.hpp"
#include "steps/pipelined_step.hpp"
#include "steps/segment_step.hpp"

namespace spanfft {

namespace {

constexpr double kBytesUnderWay = 1 << 20;  // of a rank between two barriers: exchange/phased.cpp's default group

using Type = RouteOp::Type;

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

// The step of an operation that counts more than transforms and sweeps; none for others.
std::unique_ptr<Step> counting_step(const RouteOp& op, const Problem& problem, const Machine& machine) {
    const Slot from = Slot::input, to = Slot::work0;
    switch (op.type) {
        case Type::twiddle:
            return make_twiddle_step({op.from, op.pairs, problem.direction, 1, to}, machine);
        case Type::butterfly:
            return make_butterfly_step({op.from, op.pairs[0], problem.direction, 1, from, to, 1}, machine);
        case Type::convolve:
            return make_convolve_step({op.window, op.from, op.to, problem.direction, from, to, 1}, machine);
        case Type::demodulate:
            return make_demodulate_step({op.window, op.from, op.to, 1, from, to}, machine);
        case Type::chirp:  // a filter is multiplied by in place
            return make_chirp_step(
                {op.chirping, op.kernel, problem.shape[0], problem.batch, op.from, op.to, 1, from,
                 op.chirping == Chirping::filter ? from : to, problem.engine, machine.engine_rates, 1},
                machine);
        default:
            return nullptr;
    }
}

// Whether chunks of the exchange travel while the next is computed; then they are cut as lower/lower.cpp has them cut:
// along with what is computed before.
bool cut_like_the_work(const RouteOp* before, const ExchangeStrategy& strategy, ExchangeSpec& spec) {
    if (!before || !strategy.rows) return false;
    std::unique_ptr<RowWork> rows;
    if (before->type == Type::transform && !before->share && before->modes == 0)
        rows = transform_in_rows(transform_spec(*before));
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

Limit busiest(const NetworkTimes& times, double processor) {
    if (processor >= times.longest()) return Limit::messages;
    if (times.links == times.longest()) return Limit::bisection;
    if (times.injection == times.longest()) return Limit::injection;
    return times.rate == times.longest() ? Limit::message_rate : Limit::memory;
}

// Between the groups of phases: four partners a phase on a torus, one elsewhere. A parameter "TORUS/GROUP" says how
// many phases are in a group, else their bytes do.
double barriers(const GroupTraffic& traffic, bool on_torus, const std::string& parameter) {
    if (traffic.messages <= 0) return 0;
    const double partners = on_torus ? 4 : 1;
    const double phases = std::ceil(static_cast<double>(ranks_of(traffic.group)) / partners);
    const double phase_bytes = partners * traffic.bytes / traffic.messages;
    const size_t slash = parameter.find('/');
    const double grouped =
        slash == std::string::npos ? kBytesUnderWay / phase_bytes : std::stod(parameter.substr(slash + 1));
    return std::ceil(phases / std::max(1.0, std::floor(grouped))) - 1;
}

// How much longer transforms along these axes take than their flops say: lines of a length with a large prime factor
// are convolutions of at least twice as many points, there and back (L. Bluestein, 1970).
double convolved(const RouteOp& op) {
    double all = 0, longer = 0;
    for (const int axis : op.axes) {
        const auto a = static_cast<size_t>(axis);
        const index_t n = std::max(op.from.layout.shape()[a], op.to.layout.shape()[a]);  // of half a spectrum the other
        const index_t prime = largest_prime_factor(n);
        if (n < 2) continue;
        const double log_n = std::log2(static_cast<double>(n)), log_prime = std::log2(static_cast<double>(prime));
        all += log_n;
        longer += prime > kLargestSmoothPrime ? log_n - log_prime + 4 * (log_prime + 1) : log_n;
    }
    return all > 0 ? longer / all : 1;
}

// Whether the messages are those of collectives of MPI, which has so many under way at once as it likes.
bool is_collective(const std::string& strategy) {
    const std::set<std::string> collectives{"alltoallv",   "alltoallw",  "oneplane",
                                            "blockvector", "persistent", "compressed"};
    return collectives.count(strategy) > 0;
}

// What is hidden is not waited for: wire time first, as it is what goes on meanwhile.
void hide(LimitSeconds& limits, ForeseenExchange& found) {
    double left = std::min(found.hidden_seconds, found.wire_seconds);
    found.hidden_seconds = left;
    found.wire_seconds -= left;
    for (Limit limit :
         {Limit::bisection, Limit::injection, Limit::message_rate, Limit::messages, Limit::latency, Limit::memory}) {
        const double taken = std::min(left, limits[limit]);
        limits[limit] -= taken;
        left -= taken;
    }
}

}  // namespace

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

Pricing::Pricing(const Problem& problem, const Machine& machine, int ranks_per_node)
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

double Pricing::rank_flops_rate() const {
    const double slower = problem_.precision == Precision::extended ? 10 : 1;  // as engine/rates has it
    const double faster = problem_.precision == Precision::single ? 2 : 1;
    return sheet_.core_fft_flops_per_second * threads() * faster / slower;
}

Work Pricing::work(const RouteOp& op) const {
    Work done;
    if (op.type == Type::view || op.type == Type::move) return done;
    // The rate of a data sheet is one of transforms: by convention their factors are no operations of their own.
    double sweeps = 1, rated_flops = 0, twiddles = 0, longer = 1;
    if (op.type == Type::transform || op.type == Type::columns) {
        TransformSpec spec = transform_spec(op);
        if (op.type == Type::columns) spec.from = spec.to = columns_of(op);
        rated_flops = transform_flops(local_spec(spec, 0));
        sweeps = static_cast<double>(op.axes.size());
        longer = convolved(op);
        if (op.type == Type::columns) twiddles = 6 * static_cast<double>(op.from.layout.local_elems(0));
    } else if (const auto step = counting_step(op, problem_, machine_)) {
        done.sent = step->predict(0);
        const bool factors = op.type == Type::twiddle || op.type == Type::chirp;
        (factors ? twiddles : rated_flops) = done.sent.flops;
        done.sent.flops = done.sent.seconds = 0;
        done.sent.memory_bytes = 0;
    }
    done.flops = rated_flops + twiddles;
    done.memory_bytes = sweeps * static_cast<double>(op.from.local_bytes(0) + op.to.local_bytes(0));
    if (op.type == Type::chirp && op.chirping == Chirping::filter)  // its spectrum is read too
        done.memory_bytes += static_cast<double>(op.from.local_bytes(0));
    done.seconds = computing(rated_flops * longer, done.memory_bytes);
    return done;
}

LimitSeconds Pricing::computing(double flops, double memory_bytes) const {
    LimitSeconds seconds;
    seconds[Limit::flops] = flops / rank_flops_rate();
    seconds[Limit::memory] = std::max(0.0, memory_bytes / rank_memory_rate() - seconds[Limit::flops]);
    return seconds;
}

std::optional<ForeseenExchange> Pricing::exchange(const RouteOp& op, const RouteOp* before_op, const Work& before,
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
    const bool phased = name == "phased", on_torus = phased && phases_on_torus(spec, 0);
    const double share = on_torus ? sheet_.phased_share : sheet_.alltoall_share;
    const NetworkTimes times = network_.times(traffic, share);
    const double messages = traffic.messages;
    const double processor = messages * sheet_.message_seconds;
    const bool in_pairs = phased && !on_torus;
    const double under_way = is_collective(name) ? sheet_.collective_messages : 0;
    const double groups = phased ? 1 + barriers(traffic, on_torus, parameter) : 1;
    const double on_wire = in_pairs ? network_.longest_in_pairs(times, traffic.group,
                                                                static_cast<double>(ranks_of(traffic.group)) / groups)
                                    : network_.longest_in_rounds(traffic, times, share, under_way);
    const double longest = std::max(on_wire, processor);
    // A pair has one message under way: `standard` sends it one way and then the other, `replace` both ways at once. So
    // each has a link to itself, and all that a rank sends goes over it, message by message.
    const double ways = name == "standard" ? 2 : name == "replace" ? 1 : 0;
    const double in_turn = ways * network_.one_link_seconds(traffic);
    LimitSeconds mine;
    mine[in_turn > longest ? Limit::injection : busiest(times, processor)] += std::max(longest, in_turn);
    // Blocking pairs wait for each message, phases for each group's, collectives for as many as are under way at once,
    // and what returns at once for each call's last one.
    const double calls = strategy.rows ? static_cast<double>(strategy.chunks(spec, 0)) : groups;
    const double waits = counts.messages == 0 ? 0
                         : ways > 0           ? ways * messages
                                              : network_.waits(traffic, calls, under_way);
    mine[Limit::latency] += waits * (network_.nodes() > 1 ? sheet_.latency_seconds : 0);
    mine[Limit::memory] += buffered_seconds(traffic);
    found.wire_seconds = mine.total();
    found.limit = found.wire_seconds > 0 ? mine.longest() : Limit::memory;
    found.barrier_seconds = (groups - 1) * network_.barrier_seconds(traffic.group);
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

double Pricing::buffered_seconds(const GroupTraffic& traffic) const {
    if (traffic.messages <= 0 || traffic.bytes / traffic.messages >= sheet_.buffered_bytes) return 0;
    // Read and written when it is sent, and again when it is received.
    return 4 * traffic.bytes * network_.share_leaving(traffic.group, ranks_per_node_) / rank_memory_rate();
}

ForeseenExchange Pricing::spread(const Counts& counts, const std::string& strategy, LimitSeconds& limits) const {
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

LimitSeconds Pricing::disk(const Counts& counts) const {
    const double bytes = static_cast<double>(counts.disk_read_bytes + counts.disk_written_bytes);
    const double requests = static_cast<double>(counts.disk_reads + counts.disk_writes);
    LimitSeconds seconds;
    seconds[Limit::disk] = (bytes / sheet_.disk_bytes_per_second + requests * sheet_.disk_request_seconds) *
                           ranks_per_node_ / sheet_.disks_per_node;
    return seconds;
}

LimitSeconds Pricing::beside_disk(const Counts& counts, ForeseenPlan& plan) const {
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

}  // namespace spanfft
