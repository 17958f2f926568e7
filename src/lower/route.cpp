// Operations on routes; see route.hpp.
#include "lower/route.hpp"

#include <algorithm>

namespace spanfft {

bool RouteOp::can_stay() const {
    if (type == Type::view || type == Type::twiddle || type == Type::butterfly) return true;
    if (type == Type::chirp) return chirping == Chirping::filter;
    if (type == Type::columns) return from.layout == to.layout;
    if (type != Type::transform || turned != Turned::neither) return false;
    return from.elem == to.elem && from.layout == to.layout;
}

bool RouteOp::is_one_line() const {
    return type == Type::transform && !share && axes.size() == 1 && from.layout.nranks() == 1 &&
           product(from.layout.shape()) == from.layout.shape()[static_cast<size_t>(axes[0])];
}

bool RouteOp::shared_out(const Layout& layout) const {
    if (modes == 0) return *share == layout;
    return share->with_extent(axes[0], layout.shape()[static_cast<size_t>(axes[0])]) == layout;
}

int batch_axes(const Problem& problem) { return problem.batch > 1 ? 1 : 0; }

Layout with_batch(const Problem& problem, Layout layout) {
    return batch_axes(problem) ? layout.with_leading_axis(problem.batch) : layout;
}

Layout divided(const Problem& problem, const Extents& shape, const Extents& grid, Division division) {
    std::vector<GridDim> dims;
    for (size_t axis = 0; axis < grid.size(); ++axis) {
        if (grid[axis] > 1) dims.push_back({grid[axis], static_cast<int>(axis), division});
    }
    if (dims.empty()) dims.push_back({1, -1, Division::block});
    return with_batch(problem, Layout(shape, dims));
}

Result<Layout> callers_blocks(const Problem& problem, const Extents& shape, const std::vector<Patch>& boxes,
                              const Extents& grid) {
    if (boxes.empty()) return divided(problem, shape, grid, Division::block);
    SPANFFT_ASSIGN(Layout layout, Layout::from_boxes(shape, boxes));
    return with_batch(problem, std::move(layout));
}

ElemType real_elem(const Problem& problem) { return {problem.precision, problem.real_is_complex()}; }

std::vector<PendingAxis> pending_axes(const Problem& problem) {
    std::vector<PendingAxis> pending;
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        const int axis = problem.axes[i];
        const index_t modes = problem.modes(axis);
        pending.push_back({axis + batch_axes(problem), problem.kinds[i],
                           modes < problem.shape[static_cast<size_t>(axis)] ? modes : 0});
    }
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

// With the c2c axes that may go with it.
void append_halved(Route& route, ArrayState& state, std::vector<int> axes, int halved) {
    const index_t n = state.layout.shape()[static_cast<size_t>(halved)];
    const ArrayState to{state.layout.with_extent(halved, n / 2 + 1), {state.elem.precision, true}};
    axes.push_back(halved);  // last
    append_transform(route, state, Kernel::r2c, std::move(axes), to);
}

// Along one axis, of which `modes` are kept.
void append_padded(Route& route, ArrayState& state, const PendingAxis& p) {
    const bool halves = p.kind == AxisKind::r2c;
    const ArrayState to{state.layout.with_extent(p.axis, halves ? p.modes / 2 + 1 : p.modes),
                        {state.elem.precision, true}};
    append_transform(route, state, kernel_of(p.kind, Direction::forward), {p.axis}, to);
    route.back().modes = p.modes;
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
    auto padded = take(c2c, [](const PendingAxis& p) { return p.modes > 0; });
    std::sort(padded.begin(), padded.end(), [](const auto& a, const auto& b) { return a.axis > b.axis; });
    std::vector<int> axes;
    for (const auto& p : c2c) axes.push_back(p.axis);
    std::sort(axes.begin(), axes.end());
    const bool halved_pads = !halved.empty() && halved[0].modes > 0;
    if (halved_pads || !padded.empty()) {
        if (halved_pads) append_padded(route, state, halved[0]);
        if (!halved.empty() && !halved_pads) append_halved(route, state, {}, halved[0].axis);
        for (const auto& p : padded) append_padded(route, state, p);
        if (!axes.empty()) append_transform(route, state, Kernel::c2c_forward, axes, state);
    } else if (!halved.empty()) {
        append_halved(route, state, axes, halved[0].axis);
    } else if (!axes.empty()) {
        append_transform(route, state, Kernel::c2c_forward, axes, state);
    }
}

namespace {

void relayout(RouteOp::Type type, Route& route, ArrayState& state, Layout layout) {
    if (layout == state.layout) return;
    ArrayState to{std::move(layout), state.elem};
    route.push_back({type, state, to});
    state = std::move(to);
}

}  // namespace

void move_to(Route& route, ArrayState& state, Layout layout) {
    relayout(RouteOp::Type::move, route, state, std::move(layout));
}

void view_as(Route& route, ArrayState& state, Layout layout) {
    relayout(RouteOp::Type::view, route, state, std::move(layout));
}

void transpose(Route& route, ArrayState& state, int axis, Layout layout) {
    ArrayState to{std::move(layout), state.elem};
    route.push_back({RouteOp::Type::transpose, state, to, Kernel::c2c_forward, {axis}});
    state = std::move(to);
}

void columns(Route& route, ArrayState& state, int axis) {
    route.push_back({RouteOp::Type::columns, state, state, Kernel::c2c_forward, {axis}});
}

void halve(Route& route, ArrayState& state, Halving halving, ArrayState to) {
    route.push_back({RouteOp::Type::halve, state, to});
    route.back().halving = halving;
    state = std::move(to);
}

void chirp(Route& route, ArrayState& state, Chirping chirping, Kernel line, ArrayState to) {
    route.push_back({RouteOp::Type::chirp, state, to, line});
    route.back().chirping = chirping;
    state = std::move(to);
}

RouteOp copy_of(const ArrayState& state) { return {RouteOp::Type::copy, state, state}; }

Route reversed(const Route& forward) {
    Route route(forward.rbegin(), forward.rend());
    for (RouteOp& op : route) {
        std::swap(op.from, op.to);
        if (op.filter)
            op.filter = inverse_kernel(*op.filter);
        else
            op.kernel = inverse_kernel(op.kernel);
        op.halving = inverse(op.halving);
        op.chirping = inverse(op.chirping);
        if (op.turned != Turned::neither) op.turned = op.turned == Turned::from ? Turned::to : Turned::from;
    }
    return route;
}

}  // namespace spanfft
