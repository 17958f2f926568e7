// Foresight: what a transform would take on a machine that is not here, from its data sheet.
//
// Method: the routes of the solvers themselves (pencil, lines), each exchange of them by each strategy, priced in
// closed form. Messages, bytes and flops are those that a plan predicts and a run counts: the same functions are asked,
// for rank 0, which has the largest part. Seconds come from the data sheet: flops / the cores' rate, but no faster than
// memory gives the array once an axis; copies / the bandwidth of memory; messages by the network model (plan/network).
// All grids are priced with alltoallv, the best few with every strategy for each exchange by itself.
// A blocking pair pays the latency for each message, a collective once a call. Of an exchange whose chunks travel while
// the next is computed, the sheet's overlap_share of what P2's formula hides is hidden (steps/pipelined_step.hpp).
// Arrays on disk are planned, for their plans are few; each step is priced from its counts.
// Invariant: the parts of a plan add up to its seconds. Nothing is kept for a rank: a million take as long as a
// hundred. Source: P2 sections 3 and 4.4; P3 section 5 for machines with published fits.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plan/machine.hpp"
#include "plan/network.hpp"
#include "plan/problem.hpp"

namespace spanfft {

// What a transform waits for.
enum class Limit { flops, memory, bisection, injection, message_rate, messages, latency, barriers, disk };
constexpr int kLimits = 9;
const char* limit_name(Limit limit);

// Seconds by what is waited for, indexed by Limit.
struct LimitSeconds {
    std::array<double, kLimits> seconds{};
    double& operator[](Limit limit) { return seconds[static_cast<size_t>(limit)]; }
    double operator[](Limit limit) const { return seconds[static_cast<size_t>(limit)]; }
    double total() const;
    Limit longest() const;
    LimitSeconds& operator+=(const LimitSeconds& other);
};

struct ForeseenExchange {
    std::string strategy;  // with its parameter
    RankGroup group;
    Counts counts;         // of rank 0: messages, sent_bytes, calls, memory_bytes
    GroupTraffic traffic;  // on average
    double wire_seconds = 0, copy_seconds = 0, barrier_seconds = 0;
    double hidden_seconds = 0;  // behind what is computed before it
    Limit limit = Limit::latency;
};

struct ForeseenPlan {
    std::string solver, exchange;
    Extents grid;
    bool fitted = false;  // times of a published fit stand in for the model's
    double seconds = 0;   // of one transform, of the slowest rank
    // Parts of them; what is hidden is in none.
    double compute_seconds = 0, memory_seconds = 0, wire_seconds = 0, disk_seconds = 0, barrier_seconds = 0;
    LimitSeconds limits;  // the same seconds by what is waited for
    // No plan of this grid is faster on this machine: each medium alone, at its peak.
    double bisection_bound = 0, injection_bound = 0, memory_bound = 0, flops_bound = 0;
    Counts counts;                 // of rank 0
    double node_memory_bytes = 0;  // arrays and buffers of its ranks
    std::vector<ForeseenExchange> exchanges;
};

// Best first: the best of each grid that was priced in full, and the best grid with each strategy for all exchanges.
// problem.grid and problem.exchange are kept to where they are given. ranks_per_node 0: a rank for each core.
Result<std::vector<ForeseenPlan>> foresee(const Problem& problem, const Machine& machine, int ranks_per_node = 0);

}  // namespace spanfft
