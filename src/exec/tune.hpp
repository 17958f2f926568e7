// Tuning: times the best few ways to do a problem and keeps the fastest one, bound.
//
// Method: the planner's alternatives in the order of predicted seconds, the best of each strategy first, then other
// engines and a single thread for the fastest so far. Each is bound (the winner stays bound beside it, never more), run
// once to warm up and then some times; a time is the slowest rank's, a candidate's the median. It is left after its
// second run when that took twice the best. Rank 0's clock decides when the cap is reached, and the others are told.
// Invariant: all ranks bind, run and keep the same candidates; one that fails on any rank is dropped on all.
#pragma once

#include <optional>

#include "exec/executor.hpp"
#include "plan/knowledge.hpp"

namespace spanfft {

constexpr double kDefaultMeasureSeconds = 5;

struct Trial {
    std::string name;    // "grid 2x1 with alltoallv", "engine ducc0"
    double seconds = 0;  // median of `runs` executions, of the slowest rank; 0: dropped, and why
    int runs = 0;
    std::string dropped;
};

struct Tuning {
    std::shared_ptr<Plan> plan;          // the winner; its notes tell of the trials
    std::unique_ptr<Executor> executor;  // that it is bound in
    std::vector<Trial> trials;
    Tuned record;
};

// Collective. Takes problem.measure_seconds (0: the default) from the first candidate on; at least one is timed. The
// result is not stored.
Result<Tuning> tune(const Problem& problem, const Knowledge& knowledge, Comm& comm);

}  // namespace spanfft
