// What solvers for arrays in memory share: a route (transforms and moves in order) and how it becomes a plan.
//
// Method: a solver finds the forward route from a real-space layout to a spectrum layout. The backward transform is
// the same route reversed, each operation undone: so only forward routes are ever searched for. Slots are
// then given so that the last move lands in the output and the fewest work areas are needed.
#pragma once

#include "plan/planner.hpp"
#include "plan/steps/transform_step.hpp"

namespace spanfft {

struct RouteOp {
    enum class Type { transform, exchange, copy };
    Type type = Type::transform;
    ArrayState from, to;
    Kernel kernel = Kernel::c2c_forward;  // of a transform
    std::vector<int> axes;                // of the layouts (a batch axis counts); a transform's
    // Can leave its result where its source is.
    bool can_stay() const { return type == Type::transform && from.elem == to.elem && from.layout == to.layout; }
};
using Route = std::vector<RouteOp>;

// The array of the problem with the batch, if any, as a leading axis: axis i of the problem is axis i + batch_axes(p).
int batch_axes(const Problem& problem);

// Appends transforms of those axes of `pending` that are whole in `state` and may be done now, with the fewest engine
// calls; updates state and pending. An r2c axis goes before any c2c axis.
struct PendingAxis {
    int axis;
    AxisKind kind;
};
void transform_whole_axes(Route& route, ArrayState& state, std::vector<PendingAxis>& pending);
std::vector<PendingAxis> pending_axes(const Problem& problem);

// The same route undone: from its end to its start, each operation by its inverse.
Route reversed(const Route& forward);

// Threads inside each rank: as asked for, else what a node's cores give each of its ranks, at least one.
int threads_of(const Problem& problem, const Machine& machine);

// The plan for a forward route (reversed if the problem goes backward), with exchanges by `exchange`.
Result<std::unique_ptr<Plan>> plan_route(const Problem& problem, const Route& forward, const std::string& exchange,
                                         const Planner& planner, const char* solver);

}  // namespace spanfft
