// Solver `shared`: an N-D array over ranks of one node that read and write one another's parts of it (spanfft).
//
// Method: the array lives in a window that all ranks see, divided as the user wants it. Axes that are whole in that
// division are transformed by each rank on its part; each divided axis by a SharedTransform, in place in the window,
// for which the ranks share the lines out. So natural order costs nothing, and a slab transform is two sweeps over
// memory, as many as one process with threads would make; every further divided axis is one more. The user's arrays are
// foreign to the other ranks: the first step reads the input into the window or the last one writes the output; where
// that is not free (natural order) a copy of this rank's part is made, unless the plan owns the output (own_output) and
// it is the window. Order: DCT/DST and c2c axes commute, so the local axes go first in both directions; the halved
// axis of r2c must be first forward and last backward.
#include <algorithm>
#include <utility>

#include "exchange/exchange.hpp"
#include "plan/steps/shared_transform_step.hpp"
#include "solvers/pencil_route.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

// What the steps of one plan are made from, and where the array is so far.
class Builder {
  public:
    Builder(const Problem& problem, const Planner& planner)
        : problem_(problem), planner_(planner), scale_(problem.scale()) {
        plan_->problem = problem;
        plan_->solver = "shared";
        plan_->problem.exchange = "shared";
        plan_->problem.threads = threads_of(problem, planner.machine());
    }

    // A local transform (no axes: a copy); c2r and r2c change the state.
    Status local(const RouteOp& op, Slot source, Slot target) {
        TransformSpec spec;
        spec.from = op.from;
        spec.to = op.to;
        spec.kernel = op.kernel;
        spec.axes = op.axes;
        spec.orthogonal = problem_.norm == Norm::ortho && is_r2r(op.kernel);
        spec.source = source;
        spec.target = target;
        spec.engine = problem_.engine;
        spec.threads = plan_->problem.threads;
        spec.measure = problem_.effort == Effort::measure;
        needs(target, op.to);
        SPANFFT_ASSIGN(auto step, make_transform_step(std::move(spec), planner_.machine(), plan_->notes));
        plan_->steps.push_back(std::move(step));
        return Status();
    }

    Status shared(const ElemType& elem, Kernel kernel, int axis, const Layout& share, SharedSide from, SharedSide to) {
        if (to.shared) needs(to.slot, {to.layout, elem});
        if (from.shared) needs(from.slot, {from.layout, elem});
        SharedTransformSpec spec;
        spec.elem = elem;
        spec.kernel = kernel;
        spec.axis = axis;
        spec.share = share;
        spec.from = std::move(from);
        spec.to = std::move(to);
        spec.scale = std::exchange(scale_, 1);  // free where tiles are copied anyway
        spec.engine = problem_.engine;
        spec.threads = plan_->problem.threads;
        spec.measure = problem_.effort == Effort::measure;
        SPANFFT_ASSIGN(auto step, make_shared_transform_step(std::move(spec), plan_->notes));
        plan_->steps.push_back(std::move(step));
        return Status();
    }

    std::unique_ptr<Plan> finish(ArrayState input, ArrayState output) {
        plan_->input = std::move(input);
        plan_->output = std::move(output);
        return std::move(plan_);
    }

  private:
    void needs(Slot slot, const ArrayState& state) {
        if (slot != Slot::input && slot != Slot::output) plan_->slot_bytes.hold(slot, state);
    }

    const Problem& problem_;
    const Planner& planner_;
    std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
    long double scale_;
};

// The axes of a problem on a grid: those that are whole (in local steps, in forward order) and those that are divided.
struct Axes {
    Route local;  // forward
    std::vector<PendingAxis> divided;
    ArrayState real, spectrum;  // both divided by the grid
};

Axes divide_axes(const Problem& problem, const Route& route) {
    Axes axes;
    axes.real = route.front().from;
    ArrayState state = axes.real;
    auto pending = pending_axes(problem);
    transform_whole_axes(axes.local, state, pending);
    axes.spectrum = state;
    axes.divided = pending;
    return axes;
}

// Why this solver can't do the problem; ok if it can.
Status applies(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes > 0) return error(Code::unsupported, "shared works on arrays in memory, not on files");
    if (problem.ranks == 1) return error(Code::unsupported, "shared is for several ranks");
    if (!problem.exchange.empty() && problem.exchange != "shared")
        return error(Code::unsupported, "shared takes no other exchange than shared");
    if (problem.exchange.empty() && !planner.machine().shared_windows)
        return error(Code::unsupported, "shared needs a window, for which the ranks have no room");
    if (!problem.real_boxes.empty() || !problem.spectrum_boxes.empty())
        return error(Code::unsupported, "shared divides arrays by a grid, not by given boxes");
    if (planner.machine().topology.nodes(problem.ranks) > 1)
        return error(Code::unsupported, "shared is for ranks of one node");
    return Status();
}

Status applies_to_axes(const Problem& problem, const Axes& axes) {
    for (const PendingAxis& p : axes.divided) {
        if (p.kind == AxisKind::r2c) return error(Code::unsupported, "shared needs the halved axis undivided");
        if (is_r2r(p.kind) && (problem.halves() || problem.norm == Norm::ortho))
            return error(Code::unsupported, "shared does not do ", axis_kind_name(p.kind),
                         " along a divided axis with ", problem.halves() ? "r2c along another" : "norm=ortho");
    }
    return Status();
}

// The lines along `axis`, shared out among the ranks that divide it now.
Result<Layout> share_of_lines(const Layout& layout, int axis, int first_axis) {
    const auto& grid = layout.grid();
    const auto dim = std::find_if(grid.begin(), grid.end(), [&](const GridDim& d) { return d.axis == axis; });
    const int other = axis_to_divide(layout, {}, first_axis, dim->parts);
    if (other < 0)
        return error(Code::unsupported, "shared finds no axis by which to share out the lines along axis ", axis);
    return layout.with_division(static_cast<int>(dim - grid.begin()), other);
}

// The same operations in forward order, each backward: c2c and DCT/DST axes commute.
Route each_undone(Route forward) {
    for (RouteOp& op : forward) op.kernel = inverse_kernel(op.kernel);
    return forward;
}

RouteOp copy_of(const ArrayState& state) { return {RouteOp::Type::copy, state, state, Kernel::c2c_forward, {}}; }

struct Slots {
    Slot input, output;  // the user's
    Slot window;         // where the array is seen by all
};

// Local steps on the way into the window (from the input) or, when `into` is false, out of it (to the output). Only one
// of them moves; the others stay in the window.
Status local_steps(Builder& builder, Route route, const Slots& slots, bool into, const ArrayState& state) {
    const Slot outside = into ? slots.input : slots.output;
    if (route.empty()) {
        if (outside == slots.window) return Status();
        return into ? builder.local(copy_of(state), outside, slots.window)
                    : builder.local(copy_of(state), slots.window, outside);
    }
    for (size_t i = 0; i < route.size(); ++i) {
        const bool first = i == 0, last = i + 1 == route.size();
        const Slot source = into && first ? outside : slots.window;
        const Slot target = !into && last ? outside : slots.window;
        SPANFFT_TRY(builder.local(route[i], source, target));
    }
    return Status();
}

// All divided axes in the window; with `exchanged` (else nullptr) the last of them forward leaves it for this rank's
// own array, which is divided so, and backward the first enters it from there.
Status shared_steps(Builder& builder, const Problem& problem, const Axes& axes, const Slots& slots,
                    const Layout* exchanged) {
    const bool forward = problem.forward();
    std::vector<PendingAxis> order(axes.divided.rbegin(), axes.divided.rend());
    if (!forward && exchanged) std::reverse(order.begin(), order.end());
    const SharedSide window{axes.spectrum.layout, slots.window, true};
    for (size_t i = 0; i < order.size(); ++i) {
        SharedSide from = window, to = window;
        SPANFFT_ASSIGN(Layout share, share_of_lines(axes.spectrum.layout, order[i].axis, batch_axes(problem)));
        if (exchanged && forward && i + 1 == order.size()) {
            share = *exchanged;
            to = {share, slots.output, false};
        }
        if (exchanged && !forward && i == 0) {
            share = *exchanged;
            from = {share, slots.input, false};
        }
        SPANFFT_TRY(builder.shared(axes.spectrum.elem, kernel_of(order[i].kind, problem.direction), order[i].axis,
                                   share, from, to));
    }
    return Status();
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_shared(const Problem& asked, const Planner& planner) {
    SPANFFT_TRY(applies(asked, planner));
    Problem problem = asked;
    SPANFFT_ASSIGN(problem.grid, choose_grid(asked, planner));
    SPANFFT_ASSIGN(const Route route, find_route(problem, problem.grid));
    const Axes axes = divide_axes(problem, route);
    SPANFFT_TRY(applies_to_axes(problem, axes));
    if (axes.divided.empty())
        return error(Code::unsupported, "shared has nothing to do: no divided axis is transformed");
    const Layout spectrum_layout = route.back().to.layout;
    const bool natural = problem.output == SpectrumOrder::natural;
    const Layout* exchanged = natural ? nullptr : &spectrum_layout;
    // With an exchanged spectrum the last divided axis must be whole in it.
    if (exchanged) {
        const int axis = axes.divided.front().axis;
        if (!exchanged->is_whole(axis))
            return error(Code::unsupported, "shared does not end with axis ", axis, " divided");
    }
    const ArrayState spectrum{spectrum_layout, axes.spectrum.elem};
    Slots slots{problem.in_place ? Slot::output : Slot::input, Slot::output, Slot::work0};
    if (problem.own_output && natural && !(problem.halves() && !problem.forward()))
        slots.window = Slot::output;  // seen by all: nothing is left to copy

    Builder builder(problem, planner);
    if (problem.forward() || (natural && !problem.halves())) {
        SPANFFT_TRY(
            local_steps(builder, problem.forward() ? axes.local : each_undone(axes.local), slots, true, axes.spectrum));
        SPANFFT_TRY(shared_steps(builder, problem, axes, slots, exchanged));
        if (natural) SPANFFT_TRY(local_steps(builder, {}, slots, false, axes.spectrum));
    } else {
        if (natural) SPANFFT_TRY(local_steps(builder, {}, slots, true, axes.spectrum));
        SPANFFT_TRY(shared_steps(builder, problem, axes, slots, exchanged));
        SPANFFT_TRY(local_steps(builder, reversed(axes.local), slots, false, axes.real));
    }
    return problem.forward() ? builder.finish(axes.real, spectrum) : builder.finish(spectrum, axes.real);
}

}  // namespace spanfft
