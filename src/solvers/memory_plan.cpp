// From a route to a plan: direction, slots, steps; see memory_plan.hpp.
#include "solvers/memory_plan.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

#include "exchange/exchange.hpp"
#include "plan/steps/exchange_step.hpp"
#include "plan/steps/pipelined_step.hpp"

namespace spanfft {

int batch_axes(const Problem& problem) { return problem.batch > 1 ? 1 : 0; }

std::vector<PendingAxis> pending_axes(const Problem& problem) {
    std::vector<PendingAxis> pending;
    for (size_t i = 0; i < problem.axes.size(); ++i)
        pending.push_back({problem.axes[i] + batch_axes(problem), problem.kinds[i]});
    return pending;
}

namespace {

// Takes from `pending` the axes that `wanted` accepts, in order.
template <class Wanted>
std::vector<PendingAxis> take(std::vector<PendingAxis>& pending, Wanted wanted) {
    std::vector<PendingAxis> taken, left;
    for (const auto& p : pending) (wanted(p) ? taken : left).push_back(p);
    pending = std::move(left);
    return taken;
}

void append_transform(Route& route, ArrayState& state, Kernel kernel, std::vector<int> axes, ArrayState to) {
    route.push_back({RouteOp::Type::transform, state, to, kernel, std::move(axes)});
    state = std::move(to);
}

}  // namespace

void transform_whole_axes(Route& route, ArrayState& state, std::vector<PendingAxis>& pending) {
    const auto whole = [&](const PendingAxis& p) { return state.layout.is_whole(p.axis); };
    for (const auto& p : take(pending, [&](const PendingAxis& q) { return is_r2r(q.kind) && whole(q); })) {
        append_transform(route, state, kernel_of(p.kind, Direction::forward), {p.axis}, state);
    }
    const bool halving =
        std::any_of(pending.begin(), pending.end(), [](const PendingAxis& p) { return p.kind == AxisKind::r2c; });
    const auto halved = take(pending, [&](const PendingAxis& p) { return p.kind == AxisKind::r2c && whole(p); });
    if (halving && halved.empty()) return;  // c2c must wait for it
    auto c2c = take(pending, [&](const PendingAxis& p) { return p.kind == AxisKind::c2c && whole(p); });
    std::vector<int> axes;
    for (const auto& p : c2c) axes.push_back(p.axis);
    std::sort(axes.begin(), axes.end());
    if (!halved.empty()) {
        const int axis = halved[0].axis;
        const index_t n = state.layout.shape()[static_cast<size_t>(axis)];
        const ArrayState to{state.layout.with_extent(axis, n / 2 + 1), {state.elem.precision, true}};
        axes.push_back(axis);  // last: the halved one
        append_transform(route, state, Kernel::r2c, axes, to);
    } else if (!axes.empty()) {
        append_transform(route, state, Kernel::c2c_forward, axes, state);
    }
}

Route reversed(const Route& forward) {
    Route route;
    for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
        route.push_back({op->type, op->to, op->from, inverse_kernel(op->kernel), op->axes});
    }
    return route;
}

namespace {

// True if `state` fits where `area` does, on every rank.
bool fits(const ArrayState& state, const ArrayState& area) {
    const RankClasses classes({&state.layout, &area.layout});
    for (int rank : classes.representatives()) {
        if (state.local_bytes(rank) > area.local_bytes(rank)) return false;
    }
    return true;
}

// c2r over several axes destroys what it reads (in every FFTW-like library), which must not be the user's input: its
// c2c axes are done first, out of place, or, if there are none, the input is copied.
void protect_input(Route& route) {
    RouteOp& first = route.front();
    if (first.type != RouteOp::Type::transform || first.kernel != Kernel::c2r) return;
    RouteOp before{RouteOp::Type::copy, first.from, first.from, Kernel::c2c_backward, {}};
    if (first.axes.size() > 1) {
        before.type = RouteOp::Type::transform;
        before.axes.assign(first.axes.begin(), first.axes.end() - 1);
        first.axes.erase(first.axes.begin(), first.axes.end() - 1);
    }
    route.insert(route.begin(), std::move(before));
}

// Where each op reads and writes. An op that can run in place stays where the array is, unless that is the user's
// input. The targets of the others alternate backwards from the output: ... work0, output, work0, output, with
// work1 in place of the output where the array at that point does not fit into it.
std::vector<std::pair<Slot, Slot>> assign_slots(const Route& route, bool in_place) {
    std::vector<size_t> moves;
    for (size_t i = 0; i < route.size(); ++i) {
        const bool leaves_input = i == 0 && !in_place;
        if (leaves_input || !route[i].can_stay()) moves.push_back(i);
    }
    std::vector<Slot> target(route.size());
    Slot next = Slot::output;
    for (size_t m = moves.size(); m-- > 0;) {
        const bool last = m + 1 == moves.size();
        const bool reads_output = m == 0 && in_place;
        if (!last) {
            const bool output_is_free =
                next != Slot::output && !reads_output && fits(route[moves[m]].to, route.back().to);
            next = output_is_free ? Slot::output : next == Slot::work0 ? Slot::work1 : Slot::work0;
        }
        target[moves[m]] = next;
    }
    std::vector<std::pair<Slot, Slot>> slots;
    Slot current = in_place ? Slot::output : Slot::input;
    for (size_t i = 0; i < route.size(); ++i) {
        const bool moved = std::find(moves.begin(), moves.end(), i) != moves.end();
        const Slot to = moved ? target[i] : current;
        slots.emplace_back(current, to);
        current = to;
    }
    return slots;
}

// In place, a single move would have to read and write the same memory: it goes to a work area and is copied back.
void make_in_place_possible(Route& route) {
    if (std::count_if(route.begin(), route.end(), [](const RouteOp& op) { return !op.can_stay(); }) != 1) return;
    const ArrayState last = route.back().to;
    route.push_back({RouteOp::Type::copy, last, last, Kernel::c2c_forward, {}});
}

void set_slot_bytes(Plan& plan, const Route& route, const std::vector<std::pair<Slot, Slot>>& slots) {
    for (size_t i = 0; i < route.size(); ++i) {
        const Slot slot = slots[i].second;
        if (slot == Slot::work0 || slot == Slot::work1) plan.slot_bytes.hold(slot, route[i].to);
    }
}

}  // namespace

int threads_of(const Problem& problem, const Machine& machine) {
    if (problem.threads > 0) return problem.threads;
    return machine.threads_for(problem.ranks);
}

Result<std::unique_ptr<Plan>> plan_route(const Problem& problem, const Route& forward, const std::string& exchange,
                                         const Planner& planner, const char* solver) {
    Route route = problem.forward() ? forward : reversed(forward);
    assert(!route.empty());
    if (problem.in_place) {
        make_in_place_possible(route);
    } else {
        protect_input(route);
    }
    const auto slots = assign_slots(route, problem.in_place);

    auto plan = std::make_unique<Plan>();
    plan->problem = problem;
    plan->problem.threads = threads_of(problem, planner.machine());
    plan->solver = solver;
    plan->input = route.front().from;
    plan->output = route.back().to;
    set_slot_bytes(*plan, route, slots);
    size_t scaled = 0;  // the last transform (or copy) carries the normalisation
    for (size_t i = 0; i < route.size(); ++i) {
        if (route[i].type != RouteOp::Type::exchange) scaled = i;
    }
    std::optional<TransformSpec> before;  // the transform that an exchange follows
    for (size_t i = 0; i < route.size(); ++i) {
        const RouteOp& op = route[i];
        if (op.type == RouteOp::Type::exchange) {
            const ExchangeChoice choice = find_exchange(exchange);
            ExchangeSpec moved = exchange_spec(op.from, op.to, choice.parameter, planner.machine());
            SPANFFT_TRY(choice.strategy->check(moved));
            auto step = make_exchange_step(moved, slots[i].first, slots[i].second, *choice.strategy, planner.machine());
            if (before && can_pipeline(*before, moved, *choice.strategy, slots[i].second)) {
                before->in_chunks = true;
                SPANFFT_ASSIGN(plan->steps.back(), make_transform_step(*before, planner.machine(), plan->notes));
                step = make_pipelined_step(*before, std::move(plan->steps.back()), std::move(moved), std::move(step),
                                           *choice.strategy, slots[i].second, planner.machine());
                plan->steps.pop_back();
            }
            plan->steps.push_back(std::move(step));
            plan->problem.exchange = exchange;
            before.reset();
            continue;
        }
        TransformSpec spec;
        spec.from = op.from;
        spec.to = op.to;
        spec.kernel = op.kernel;
        spec.axes = op.axes;
        spec.orthogonal = problem.norm == Norm::ortho && is_r2r(op.kernel);
        spec.scale = i == scaled ? problem.scale() : 1;
        spec.source = slots[i].first;
        spec.target = slots[i].second;
        spec.engine = problem.engine;
        spec.threads = plan->problem.threads;
        spec.measure = problem.effort == Effort::measure;
        before = spec;
        SPANFFT_ASSIGN(auto step, make_transform_step(std::move(spec), planner.machine(), plan->notes));
        plan->steps.push_back(std::move(step));
    }
    return plan;
}

}  // namespace spanfft
