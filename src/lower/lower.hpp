// From a route to a plan: where each operation reads and writes, and the step that does it.
//
// Slots: an operation that can leave the array where it is does so, unless that is the user's input. The targets of the
// others alternate backwards from the output: ... work0, output, work0, output, with work1 in place of the output where
// the array at that point does not fit into it. What all ranks must see (RouteOp::share) lies in a work area, or in the
// output where the plan owns that; where it would have to be seen in the user's memory it is copied.
// The normalisation is carried by the last operation that multiplies or copies its results anyway.
#pragma once

#include "lower/route.hpp"

namespace spanfft {

// Threads inside each rank: as asked for, else what a node's cores give each of its ranks, at least one.
int threads_of(const Problem& problem, const Machine& machine);

// Whether a route of this problem may have operations in which all ranks see the array; else why the solver declines.
Status windows_allowed(const Problem& problem, const Planner& planner, const char* solver);

// The plan for a route in the problem's direction, with moves by `exchange`, which may name a strategy for each move of
// the forward route (split_exchanges); "" where there are none.
Result<std::unique_ptr<Plan>> lower(const Problem& problem, Route route, const std::string& exchange,
                                    const Planner& planner, const char* solver);

}  // namespace spanfft
