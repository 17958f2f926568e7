// Solver `axis_sweeps`: an N-D array on disk, groups of axes a sweep, in as few sweeps as the memory budget allows.
//
// Method: the axes are cut into groups of neighbours. The last group is transformed in contiguous slabs that fit
// memory; any other group in panels of columns: with (outer, length, inner) = the axes before, in and after the
// group, a panel is all of `length` by a few of `inner`. All cuts are tried (there are few); the fewest sweeps win,
// then the fewest predicted seconds. The first sweep reads the input and writes what is to be the output file; the
// others transform that in place, as a panel is read before it is written. c2r, whose output is smaller than what
// comes before, needs a scratch file; where scratch has disks of its own all others may use it too, and do where that
// is predicted to take less, as the disk of input and output then moves each byte twice only. The halved axis of r2c
// may be in any group, which comes first: it alone reads real numbers, the input's, and all others are over the
// spectrum. c2r is the reverse and ends with that group. Groups without a transformed axis need no sweep; one that
// needs only some of its axes does those. Of large real images, whose columns would have short runs, the first axis may
// be split in two sweeps beside slabs of the others; and where no line of the longest axis fits, that one is left to
// two_sweeps or many_sweeps, with a sweep for each other axis.
#include <algorithm>
#include <cmath>

#include "solvers/sweep_search.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

namespace {

constexpr index_t kCallBytes = index_t{128} << 10;  // small slabs are handed to the engine by the dozen

// The problem with everything in rising axis order. (A batch is an axis by now: Planner::plan.)
struct ManyAxes : SweepJob {
    Extents real_shape, spectrum_shape;
    std::vector<int> axes;        // rising
    std::vector<Kernel> kernels;  // of axes
    int halved_axis = -1;
    bool real_complex = true, spectrum_complex = true;
    int ndim() const { return static_cast<int>(real_shape.size()); }
};

// Neighbouring axes [begin, end) that one sweep transforms: slabs if the last axis is among them, else columns.
struct Group {
    int begin = 0, end = 0;
    bool is_slabs(const ManyAxes& job) const { return end == job.ndim(); }
    bool halves(const ManyAxes& job) const { return job.halved_axis >= begin && job.halved_axis < end; }
    bool has(int axis) const { return axis >= begin && axis < end; }
};

// The array before or after a sweep: that of a group that halves has its real side on one of them.
struct Side {
    const Extents& shape;
    bool is_complex;
};
Side source_side(const ManyAxes& job, Group group) {
    const bool real = group.halves(job) && job.problem.forward();
    return real ? Side{job.real_shape, job.real_complex} : Side{job.spectrum_shape, job.spectrum_complex};
}
Side target_side(const ManyAxes& job, Group group) {
    const bool real = group.halves(job) && !job.problem.forward();
    return real ? Side{job.real_shape, job.real_complex} : Side{job.spectrum_shape, job.spectrum_complex};
}

bool shrinks(const ManyAxes& job) { return job.halved_axis >= 0 && !job.problem.forward(); }  // c2r
// Where what is computed lies between sweeps: c2r and smaller elements leave no room for it in the output.
Place between_sweeps(const ManyAxes& job) {
    if (job.holds_scratch) return Place::memory;
    return shrinks(job) || job.problem.stores_other() || job.spares_output ? Place::scratch : Place::output;
}

ManyAxes examine_axes(const Problem& problem, const Planner& planner) {
    ManyAxes job;
    static_cast<SweepJob&>(job) = examine_sweeps_of(problem, planner);
    job.real_shape = problem.shape;
    job.spectrum_shape = problem.spectrum_shape();
    std::vector<std::pair<int, size_t>> order;
    for (size_t i = 0; i < problem.axes.size(); ++i) order.emplace_back(problem.axes[i], i);
    std::sort(order.begin(), order.end());
    for (const auto& [axis, i] : order) {
        const Kernel kernel = kernel_of(problem.kinds[i], problem.direction);
        job.axes.push_back(axis);
        job.kernels.push_back(kernel);
        if (problem.kinds[i] == AxisKind::r2c) job.halved_axis = axis;
    }
    job.real_complex = problem.real_is_complex();
    job.spectrum_complex = problem.spectrum_is_complex();
    for (size_t i = 0; i < job.axes.size(); ++i)
        job.add_engine(job.kernels[i], job.real_shape[static_cast<size_t>(job.axes[i])]);
    job.set_memory(problem.memory_bytes);
    return job;
}

// The request for the engine calls of a group that `sweep` makes, but for lanes and threads.
StageRequest stages_of(const ManyAxes& job, Group group, const SweepSpec& sweep) {
    StageRequest request;
    request.shape = Extents(job.real_shape.begin() + group.begin, job.real_shape.begin() + group.end);
    for (size_t i = 0; i < job.axes.size(); ++i) {
        if (!group.has(job.axes[i])) continue;
        request.axes.push_back(job.axes[i] - group.begin);
        request.kernels.push_back(job.kernels[i]);
    }
    request.precision = sweep.precision;
    request.source_complex = sweep.source.complex;
    request.target_complex = sweep.target.complex;
    return request;
}

// Flops of one array of a group's axes: 5 n log2 n a line of complex data, half that of real. The axes that one call
// halves together count as real, as they do in memory.
double group_flops(const ManyAxes& job, Group group) {
    const auto real_elems = static_cast<double>(product(job.real_shape, group.begin, group.end)),
               spectrum_elems = static_cast<double>(product(job.spectrum_shape, group.begin, group.end));
    double flops = 0;
    for (size_t i = 0; i < job.axes.size(); ++i) {
        if (!group.has(job.axes[i])) continue;
        const double levels = std::log2(static_cast<double>(job.real_shape[static_cast<size_t>(job.axes[i])]));
        const bool r2r = is_r2r(job.kernels[i]), joint = group.halves(job) && !r2r;
        const double each = joint || (r2r && !job.spectrum_complex) ? 2.5 : 5.0;
        flops += each * (joint ? real_elems : spectrum_elems) * levels;
    }
    return flops;
}

// What sweeps of slabs and of columns have in common.
SweepSpec common(const ManyAxes& job, Group group) {
    SweepSpec sweep = blank_sweep(job, 1);
    const Side source = source_side(job, group), target = target_side(job, group);
    sweep.source.complex = source.is_complex;
    sweep.target.complex = target.is_complex;
    sweep.points = product(source.shape, group.begin, group.end);
    sweep.out_points = product(target.shape, group.begin, group.end);
    sweep.flops_each = group_flops(job, group);
    return sweep;
}

ColumnPanels one_row(const ManyAxes& job, index_t outer, index_t elems, index_t elem_bytes) {
    ColumnPanels panels;
    panels.outer = outer;
    panels.ranks = job.problem.ranks;
    panels.row_elems = panels.last_row_elems = panels.columns = elems;
    panels.elem_bytes = elem_bytes;
    return panels;
}

void set_sides(SweepSpec& sweep, bool in_place, const ColumnPanels& in, const ColumnPanels& out) {
    sweep.source.array = in_place ? written(out) : in;
    sweep.target.array = written(out);
    if (in_place) sweep.target.array = InPlace{written(out)};
}

// The first sweep reads the input, whose place in its file may not suit direct writes.
bool works_in_place(const ManyAxes& job, Group group, bool first) {
    return !first && !group.halves(job) && !job.holds_scratch;
}

// Slabs of a group with the last axis, as they lie, of so many arrays; panels of one slab for now.
SweepSpec slab_outline(const ManyAxes& job, Group group, bool first, index_t outer) {
    SweepSpec sweep = common(job, group);
    const index_t slabs = product(job.spectrum_shape, 0, group.begin) / outer;
    set_sides(sweep, works_in_place(job, group, first),
              one_row(job, outer, slabs * sweep.points, job.number(sweep.source.complex)),
              one_row(job, outer, slabs * sweep.out_points, job.number(sweep.target.complex)));
    sweep.work = SlabWork();
    return sweep;
}

// Columns of a group; panels of one column for now. A column's points are rows of a panel, of which the two sides of
// one that halves have different numbers.
SweepSpec column_outline(const ManyAxes& job, Group group, bool first) {
    SweepSpec sweep = common(job, group);
    const auto side = [&](index_t rows, bool is_complex) {
        ColumnPanels panels;
        panels.outer = product(job.spectrum_shape, 0, group.begin);
        panels.rows = rows;
        panels.row_elems = panels.last_row_elems = panels.columns = product(job.spectrum_shape, group.end, job.ndim());
        panels.elem_bytes = job.number(is_complex);
        panels.ranks = job.problem.ranks;
        return panels;
    };
    set_sides(sweep, works_in_place(job, group, first), side(sweep.points, sweep.source.complex),
              side(sweep.out_points, sweep.target.complex));
    const index_t in_bytes = sweep.source_elem_bytes(), out_bytes = sweep.target_elem_bytes();
    const index_t elem_bytes = std::max(in_bytes, out_bytes);
    const index_t column_bytes = std::max(sweep.points * in_bytes, sweep.out_points * out_bytes);
    const index_t most_lanes = std::max<index_t>(1, 128 / elem_bytes);
    sweep.lanes = std::clamp(kDiskTileBytes / column_bytes, std::max<index_t>(1, most_lanes / 2), most_lanes);
    while (sweep.lanes > 1 && sweep.own_bytes() > job.budget_bytes / 4) sweep.lanes /= 2;
    return sweep;
}

std::string group_title(const ManyAxes& job, Group group) {
    std::string text;
    for (size_t i = 0; i < job.axes.size(); ++i) {
        if (!group.has(job.axes[i])) continue;
        text += cat(text.empty() ? "" : ", ", kernel_name(job.kernels[i]), " axis ", job.axes[i]);
    }
    return text;
}

// Ranks that have the array between sweeps in scratch of their own: the first sweep hands each of them, of what it
// transforms, some indices, of which the others transform all the rest without asking anybody.
bool hands_on(const ManyAxes& job) { return job.problem.ranks > 1 && between_sweeps(job) == Place::scratch; }

// The groups that start where bit i of `cuts` says that axis i+1 begins a new one, in the order of their sweeps.
std::vector<Group> cut_groups(const ManyAxes& job, unsigned cuts) {
    std::vector<Group> groups;
    int begin = 0;
    for (int axis = 0; axis < job.ndim(); ++axis) {
        if (axis + 1 < job.ndim() && !(cuts >> axis & 1U)) continue;
        int first = job.ndim(), last = -1;  // transformed axes of the group
        for (int a : job.axes) {
            if (a < begin || a > axis) continue;
            first = std::min(first, a);
            last = a;
        }
        const bool is_last = axis + 1 == job.ndim();
        if (last >= 0) groups.push_back({first, is_last ? job.ndim() : last + 1});
        begin = axis + 1;
    }
    const auto halves = [&](Group group) { return group.halves(job); };
    if (hands_on(job)) {  // columns first: rows of them are long runs
        std::stable_partition(groups.begin(), groups.end(), [&](Group group) { return halves(group) == job.forward; });
        return groups;
    }
    std::reverse(groups.begin(), groups.end());  // slabs first, but for the group that halves
    std::stable_partition(groups.begin(), groups.end(), halves);
    if (shrinks(job)) std::reverse(groups.begin(), groups.end());
    return groups;
}

// Of columns each rank is handed so many rows, and of slabs so many columns.
void hand_on(index_t kept_rows, SweepSpec& sweep) {
    sweep.sharing.kept = Sharing::Rows{kept_rows};
    if (sweep.tiled()) return;
    ColumnPanels keepers = sweep.target.columns();
    keepers.rows = keepers.columns / sweep.out_points;
    keepers.columns = keepers.row_elems = keepers.last_row_elems = sweep.out_points;
    keepers.panel = kept_rows;
    keepers.share = ColumnPanels::Share::own_file;
    sweep.sharing.kept = Sharing::Columns{keepers};
}

// A sweep after `first`, over what rank 0 keeps of it: so many of that group's rows. Where the sweep's own group is
// before `first`, they are among its columns, with a section of these for each index in between.
void keep_rows(const ManyAxes& job, Group first, Group group, index_t kept_rows, SweepSpec& sweep) {
    const index_t rows = product(job.spectrum_shape, first.begin, first.end);
    const bool is_behind = group.begin >= first.end, of_columns = !is_behind || group.is_slabs(job);
    sweep.sharing.own_part = Sharing::OwnPart{job.problem.ranks, rows, kept_rows, of_columns};
    const auto keep = [&](ColumnPanels& panels, const Extents& shape, Place place) {
        const index_t row = product(shape, first.end, job.ndim());
        panels.ranks = 1;
        if (of_columns)
            panels.columns = panels.row_elems = panels.last_row_elems = panels.row_elems / rows * kept_rows;
        else
            panels.outer = panels.outer / rows * kept_rows;
        if (!is_behind) panels.besides = ColumnPanels::Plain{kept_rows * row};
        if (place == Place::output) panels.part = {kept_rows * row, rows * row, 0};
    };
    keep(sweep.source.columns(), source_side(job, group).shape, sweep.source.place);
    keep(sweep.target.columns(), target_side(job, group).shape, sweep.target.place);
}

// Engine calls, once panels have their widths.
void add_column_stages(SweepSpec& sweep, StageRequest request) {
    request.lanes = sweep.lanes;
    request.source_pitch = sweep.source_pitch();
    request.target_pitch = sweep.target_pitch();
    request.across = sweep.source.complex != sweep.target.complex;
    sweep.stages = make_stages(request);
}

void add_slab_stages(SweepSpec& sweep, StageRequest request) {
    request.source_pitch = sweep.points;
    request.target_pitch = sweep.out_points;
    request.across = !sweep.target.is_in_place();
    const index_t slabs = sweep.source.columns().panel / sweep.points;
    const index_t slab_bytes =
        std::max(sweep.points * sweep.source_elem_bytes(), sweep.out_points * sweep.target_elem_bytes());
    if (sweep.shared_slab()) {
        request.threads = sweep.threads;
    } else {
        sweep.lanes = std::clamp<index_t>(kCallBytes / slab_bytes, 1, slabs / (2 * sweep.threads));
        request.lanes = sweep.lanes;
    }
    sweep.stages = make_stages(request);
    if (sweep.lanes > 1) {
        request.lanes = 1;
        sweep.work = SlabWork{make_stages(request)};
    }
}

// Widens the panels of sweeps of these groups and gives them their engine calls; false: one doesn't fit.
bool complete(const ManyAxes& job, const std::vector<Group>& groups, index_t room, const Machine& machine,
              std::vector<SweepSpec>& sweeps) {
    for (SweepSpec& sweep : sweeps)
        if (!(sweep.tiled() ? widen_columns(sweep, room, machine) : widen_slabs(sweep, room))) return false;
    for (size_t i = 0; i < groups.size(); ++i) {
        const StageRequest request = stages_of(job, groups[i], sweeps[i]);
        sweeps[i].tiled() ? add_column_stages(sweeps[i], request) : add_slab_stages(sweeps[i], request);
    }
    return true;
}

// The sweeps for these groups; nothing if one doesn't fit.
std::optional<SweepRoute> fit(const ManyAxes& job, const std::vector<Group>& groups, const Machine& machine) {
    SweepRoute route;
    const Place between = between_sweeps(job);
    const Group first = groups[0];
    const bool hands = hands_on(job) && groups.size() > 1;
    const index_t arrays = hands ? product(job.spectrum_shape, 0, first.begin) : 1;
    const index_t kept_rows = ceil_div(product(job.spectrum_shape, first.begin, first.end), job.problem.ranks);
    if (job.holds_scratch)
        route.held_scratch_bytes =
            product(target_side(job, first).shape) * job.number(target_side(job, first).is_complex);
    for (size_t i = 0; i < groups.size(); ++i) {
        SweepSpec sweep = groups[i].is_slabs(job) ? slab_outline(job, groups[i], i == 0, i == 0 ? 1 : arrays)
                                                  : column_outline(job, groups[i], i == 0);
        sweep.source.place = i == 0 ? Place::input : between;
        sweep.target.place = i + 1 == groups.size() ? Place::output : between;
        sweep.title = group_title(job, groups[i]);
        if (hands && i == 0) hand_on(kept_rows, sweep);
        if (hands && i > 0) keep_rows(job, first, groups[i], kept_rows, sweep);
        route.sweeps.push_back(std::move(sweep));
    }
    route.sweeps.back().scale = job.problem.scale();
    if (!complete(job, groups, route.room(job), machine, route.sweeps)) return std::nullopt;
    const SweepSpec& head = route.sweeps.front();
    if (groups.size() > 1 && between == Place::scratch) route.scratch_bytes = head.target.columns().array_bytes();
    if (hands) {
        const ExchangeGeometry geometry(head);
        route.scratch_of_each_rank_bytes =
            head.tiled() ? geometry.kept_columns(0).payload_bytes() : geometry.kept_blocks(0).payload_bytes();
    }
    return route;
}

// The array's first transformed axis, if one process may do it in two sweeps, with all that lies behind it in rows: c2c
// of a spectrum whose other axes are real. Where all are c2c, two_sweeps does them on the way.
std::optional<LongAxis> axis_to_split(const ManyAxes& job) {
    const bool can = job.axes.size() > 1 && job.halved_axis > job.axes[0] && job.ranks == 1 && !job.holds_scratch &&
                     !job.spares_output && !job.problem.stores_other() && !job.problem.pads();
    if (!can || is_r2r(job.kernels[0])) return std::nullopt;
    LongAxis axis;
    static_cast<SweepJob&>(axis) = job;
    axis.halves = false;
    Problem& problem = axis.problem;
    problem.shape = job.spectrum_shape;
    problem.axes = {job.axes[0]};
    problem.kinds = {AxisKind::c2c};
    axis.n = job.spectrum_shape[static_cast<size_t>(job.axes[0])];
    axis.outer = product(job.spectrum_shape, 0, job.axes[0]);
    axis.row = product(job.spectrum_shape, job.axes[0] + 1, job.ndim());
    return axis;
}

// In runs below this one sweep more gains nothing: r2c of 4096 x 4096 floats takes 1.1 s in runs of 4 to 12 KiB, 0.8 in
// columns of 340 bytes; in runs of 72 KiB and more, with more memory, 0.36 s, and 0.47 in columns.
constexpr index_t kLeastSplitRunBytes = index_t{32} << 10;

// Slabs of the other axes, and the first one in two sweeps: one sweep more than in columns, whose runs are short where
// lines are long and memory is small.
void offer_split(const ManyAxes& job, SweepSearch& search) {
    auto axis = axis_to_split(job);
    if (!axis || largest_prime_factor(axis->n) == axis->n) return;
    const Group group{job.axes[1], job.ndim()};
    const bool back = shrinks(job);
    SweepSpec slabs = slab_outline(job, group, !back, 1);
    slabs.source.place = back ? Place::scratch : Place::input;
    slabs.target.place = back ? Place::output : Place::scratch;
    slabs.title = group_title(job, group);
    axis->budget_bytes -= slabs.own_bytes();
    offer_split_axis(*axis, search.machine(), [&](SweepRoute route) {
        if (std::min(run_bytes(route.sweeps[0]), run_bytes(route.sweeps[1])) < kLeastSplitRunBytes) return;
        std::vector<SweepSpec> others{slabs};
        if (!complete(job, {group}, route.room(job) - slabs.own_bytes(), search.machine(), others)) return;
        SweepSpec& other = others[0];
        route.scratch_bytes = back ? other.source.columns().array_bytes() : other.target.columns().array_bytes();
        if (back) {
            route.sweeps[0].target.place = route.sweeps[1].source.place = route.sweeps[1].target.place = Place::scratch;
            route.sweeps.push_back(std::move(other));
        } else {
            route.sweeps[0].source.place = Place::scratch;
            route.sweeps.insert(route.sweeps.begin(), std::move(other));
        }
        route.sweeps.back().scale = job.problem.scale();
        if (route.fits(job)) search.offer(std::move(route));
    });
}

// The longest axis, if it may be transformed by a solver of one axis, as a problem of its own.
std::optional<Problem> longest_axis(const ManyAxes& job) {
    if (job.axes.size() < 2 || (job.ranks > 1 && shrinks(job)) || job.holds_scratch || job.spares_output ||
        job.problem.stores_other() || job.problem.pads())
        return std::nullopt;
    const auto length = [&](int axis) { return job.real_shape[static_cast<size_t>(axis)]; };
    Problem problem = job.problem;
    const auto& axes = job.problem.axes;
    const auto longest =
        std::max_element(axes.begin(), axes.end(), [&](int a, int b) { return length(a) < length(b); });
    problem.axes = {*longest};
    problem.kinds = {job.problem.kinds[static_cast<size_t>(longest - axes.begin())]};
    problem.output = SpectrumOrder::natural;
    // Of other kinds of elements between the axes it is no array of its own.
    if (!(problem.input_elem() == job.problem.input_elem() && problem.output_elem() == job.problem.output_elem()))
        return std::nullopt;
    return problem;
}

// Each axis but the longest one in a sweep of its own: in the output, or of c2r from the input to scratch, before.
struct OtherAxes {
    std::vector<Group> groups;
    std::vector<SweepSpec> sweeps;
    index_t own_bytes = 0;
};
OtherAxes outline_others(const ManyAxes& job, int longest) {
    const bool back = shrinks(job);
    OtherAxes others;
    for (const int axis : job.axes) {
        if (axis == longest) continue;
        const Group group{axis, axis + 1};
        const bool first = back && others.groups.empty();
        SweepSpec sweep = group.is_slabs(job) ? slab_outline(job, group, first, 1) : column_outline(job, group, first);
        sweep.source.place = first ? Place::input : back ? Place::scratch : Place::output;
        sweep.target.place = back ? Place::scratch : Place::output;
        sweep.title = group_title(job, group);
        others.own_bytes += sweep.own_bytes();
        others.groups.push_back(group);
        others.sweeps.push_back(std::move(sweep));
    }
    return others;
}

// Before the sweeps of c2r along the longest axis, in an area of scratch behind theirs.
void put_before(std::vector<SweepSpec> others, SweepRoute& route) {
    const index_t begin = round_up(route.scratch_bytes, kDirectBytes);
    for (SweepSpec& sweep : others) {
        if (sweep.source.place == Place::scratch) sweep.source.begin_bytes = begin;
        sweep.target.begin_bytes = begin;
    }
    route.sweeps[0].source.place = Place::scratch;
    route.sweeps[0].source.begin_bytes = begin;
    route.scratch_bytes = begin + others.back().target.columns().array_bytes();
    route.sweeps.insert(route.sweeps.begin(), others.begin(), others.end());
}

// The longest axis by the solvers that split it, where no line of it fits, and the others after it, or of c2r before.
void offer_long_axis(const ManyAxes& job, SweepSearch& search) {
    const auto problem = longest_axis(job);
    if (!problem) return;
    const OtherAxes outlines = outline_others(job, problem->axes[0]);
    for (const auto& solve : {two_sweeps_as_part, many_sweeps_as_part}) {
        auto route = solve(*problem, job.budget_bytes - outlines.own_bytes, search);
        if (!route) continue;
        std::vector<SweepSpec> others = outlines.sweeps;
        const index_t room = route->room(job) - outlines.own_bytes;
        if (!complete(job, outlines.groups, room, search.machine(), others)) continue;
        for (SweepSpec& sweep : route->sweeps) sweep.scale = 1;
        if (shrinks(job))
            put_before(std::move(others), *route);
        else
            route->sweeps.insert(route->sweeps.end(), others.begin(), others.end());
        route->sweeps.back().scale = job.problem.scale();
        if (route->fits(job)) search.offer(std::move(route));
    }
}

// All cuts, of fewest sweeps first: one sweep more costs more than shorter runs do. Then the first axis split beside
// slabs, which may be faster all the same; and where nothing fits, the longest axis by a solver of its own.
void offer_cuts(const ManyAxes& job, SweepSearch& search) {
    std::vector<std::vector<Group>> all;
    for (unsigned cuts = 0; cuts < 1U << (job.ndim() - 1); ++cuts) all.push_back(cut_groups(job, cuts));
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    for (size_t i = 0; i < all.size() && !search.ended(); ++i) {
        if (job.holds_scratch) {  // as there is one array, which the second sweep does not overwrite
            if (all[i].size() == 2) search.offer(fit(job, all[i], search.machine()));
            continue;
        }
        if (i > 0 && all[i].size() > all[i - 1].size() && search.found()) break;
        search.offer(fit(job, all[i], search.machine()));
    }
    if (!search.ended()) offer_split(job, search);
    if (!search.found()) offer_long_axis(job, search);
}

SweepRefusal too_little(const ManyAxes& job) {
    // A single long last axis is two_sweeps's; its reason counts.
    const bool one_last_axis = job.axes.size() == 1 && job.axes[0] == job.ndim() - 1;
    return {cat("shape ", shape_string(job.problem.shape), " can't be swept"), "",
            one_last_axis ? Code::unsupported : Code::out_of_memory};
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_axis_sweeps(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes == 0) return error(Code::unsupported, "axis_sweeps is for files; give memory=");
    SPANFFT_TRY(expect_no_ortho(problem, "axis_sweeps"));
    const ManyAxes job = examine_axes(problem, planner);
    return plan_sweeps<ManyAxes>(job, planner, {"axis_sweeps", offer_cuts, nullptr, too_little});
}

Result<std::unique_ptr<Plan>> hold_axis_sweeps(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(expect_no_ortho(problem, "axis_sweeps"));
    ManyAxes job = examine_axes(problem, planner);
    job.holds_scratch = true;
    return plan_sweeps<ManyAxes>(job, planner, {"axis_sweeps", offer_cuts, nullptr, too_little});
}

}  // namespace spanfft
