// Pricing: seconds of the operations of a route on a data sheet, one by one.
//
// Method: an operation between two exchanges takes its flops at the cores' rate, but no less than memory takes to read
// and write the array; flops and bytes are those that the step's own prediction counts. An exchange takes what the
// network model says of the messages and bytes that its strategy counts, and its copies through memory; what a strategy
// overlaps with the work before it is hidden. Everything is of rank 0, which has the largest part.
// Invariant: the limits of what is priced add up to its seconds.
#pragma once

#include <optional>
#include <string>

#include "exchange/exchange.hpp"
#include "exec/foresight.hpp"
#include "lower/route.hpp"

namespace spanfft {

// The part of a route between two exchanges, or an exchange.
struct Work {
    LimitSeconds seconds;
    double flops = 0, memory_bytes = 0;  // as plans count them
    Counts sent;                         // of an operation that moves something between ranks by itself
};

// Where the ranks lie that an exchange is among: the grid dimensions that change, the last one's ranks side by side. A
// dimension of more parts than there are indices has ranks without any.
RankGroup group_of(const RouteOp& op);

class Pricing {
  public:
    Pricing(const Problem& problem, const Machine& machine, int ranks_per_node);

    double threads() const { return problem_.threads > 0 ? problem_.threads : threads_; }
    double rank_memory_rate() const { return sheet_.node_memory_bytes_per_second / ranks_per_node_; }
    double rank_flops_rate() const;
    const Machine& machine() const { return machine_; }
    double ranks_per_node() const { return ranks_per_node_; }
    double nodes() const { return network_.nodes(); }

    // Of a rank: flops, and what its memory takes beyond these.
    LimitSeconds computing(double flops, double memory_bytes) const;

    // Everything but moves. A transform reads and writes the array once an axis at least, other work once.
    Work work(const RouteOp& op) const;

    // The move with a strategy; none where the strategy can't do it. `before` is what is computed just before it.
    std::optional<ForeseenExchange> exchange(const RouteOp& op, const RouteOp* before_op, const Work& before,
                                             const ExchangeStrategy& strategy, const std::string& parameter,
                                             LimitSeconds& limits) const;

    // An exchange of a step's own, whose few messages go to any rank. Its sweep is priced as the step's work.
    ForeseenExchange spread(const Counts& counts, const std::string& strategy, LimitSeconds& limits) const;

    // What a step reads and writes on the disks of a node.
    LimitSeconds disk(const Counts& counts) const;

    // The rest of such a step, whose messages go to any rank; adds its bounds to the plan's.
    LimitSeconds beside_disk(const Counts& counts, ForeseenPlan& plan) const;

    double agreement_seconds() const { return network_.agreement_seconds(); }
    NetworkTimes bounds(const ForeseenExchange& found) const { return network_.bounds(found.traffic); }

  private:
    // MPI's own copies of messages between nodes that are short enough for its buffers.
    double buffered_seconds(const GroupTraffic& traffic) const;

    const Problem& problem_;
    Machine machine_;
    const DataSheet& sheet_;
    double ranks_per_node_, threads_;
    Network network_;
};

}  // namespace spanfft
