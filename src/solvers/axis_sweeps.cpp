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
// needs only some of its axes does those. One axis may be split instead, by a solver of
// one long axis (two_sweeps, many_sweeps, chirp_sweeps), beside sweeps of the others: where no line of it fits; or the
// first one, where columns of it would have short runs.
#include <algorithm>
#include <cmath>
#include <limits>

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
    bool operator==(const Group&) const = default;
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
// Whether the output has room for what is computed between sweeps: of c2r and of smaller elements it has none.
bool is_roomy(const ManyAxes& job) { return !shrinks(job) && !job.problem.stores_other(); }
// Where that lies.
Place between_sweeps(const ManyAxes& job) {
    if (job.holds_scratch) return Place::memory;
    return is_roomy(job) && !job.spares_output ? Place::output : Place::scratch;
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

// Slabs of a group with the last axis, as they lie, of so many arrays; panels of one slab for now.
SweepSpec slab_outline(const ManyAxes& job, Group group, bool in_place, index_t outer) {
    SweepSpec sweep = common(job, group);
    const index_t slabs = product(job.spectrum_shape, 0, group.begin) / outer;
    set_sides(sweep, in_place, one_row(job, outer, slabs * sweep.points, job.number(sweep.source.complex)),
              one_row(job, outer, slabs * sweep.out_points, job.number(sweep.target.complex)));
    sweep.work = SlabWork();
    return sweep;
}

// Columns of a group; panels of one column for now. A column's points are rows of a panel, of which the two sides of
// one that halves have different numbers.
SweepSpec column_outline(const ManyAxes& job, Group group, bool in_place) {
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
    set_sides(sweep, in_place, side(sweep.points, sweep.source.complex), side(sweep.out_points, sweep.target.complex));
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

// Slabs of so many arrays, or columns.
SweepSpec outline(const ManyAxes& job, Group group, bool in_place, index_t outer) {
    SweepSpec sweep =
        group.is_slabs(job) ? slab_outline(job, group, in_place, outer) : column_outline(job, group, in_place);
    sweep.title = group_title(job, group);
    return sweep;
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
        // The first sweep reads the input, whose place in its file may not suit direct writes.
        const bool in_place = i > 0 && !groups[i].halves(job) && !job.holds_scratch;
        SweepSpec sweep = outline(job, groups[i], in_place, i == 0 ? 1 : arrays);
        sweep.source.place = i == 0 ? Place::input : between;
        sweep.target.place = i + 1 == groups.size() ? Place::output : between;
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

// All cuts, of fewest sweeps first.
std::vector<std::vector<Group>> all_cuts(const ManyAxes& job) {
    std::vector<std::vector<Group>> all;
    for (unsigned cuts = 0; cuts < 1U << (job.ndim() - 1); ++cuts) {
        std::vector<Group> groups = cut_groups(job, cuts);
        if (std::find(all.begin(), all.end(), groups) == all.end()) all.push_back(std::move(groups));
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return all;
}

// Those in which this axis is transformed alone.
std::vector<std::vector<Group>> cuts_around(const ManyAxes& job, int axis) {
    std::vector<std::vector<Group>> all = all_cuts(job);
    const auto is_alone = [&](Group group) {
        return group.has(axis) &&
               std::count_if(job.axes.begin(), job.axes.end(), [&](int a) { return group.has(a); }) == 1;
    };
    std::erase_if(all, [&](const auto& groups) { return std::none_of(groups.begin(), groups.end(), is_alone); });
    return all;
}

// Whether one axis may be left to a solver of one axis. What lies between sweeps is then in the output, or in an area
// of its own.
bool may_split(const ManyAxes& job) { return job.axes.size() > 1 && !job.holds_scratch && !job.spares_output; }

// Groups in the order of their sweeps, of which one is an axis that is split.
struct SplitGroups {
    std::vector<Group> before, behind;
    Group split;
};

// What comes before the split axis needs an area; so does what comes after it where the output is not roomy. So there
// all are on one side, as far as a group that halves lets them; else the axis comes as early as it can.
SplitGroups split_groups(const ManyAxes& job, const std::vector<Group>& groups, int axis) {
    SplitGroups result;
    for (const Group group : groups) {
        if (group.begin == axis)
            result.split = group;
        else
            result.behind.push_back(group);
    }
    const bool halves = result.split.halves(job), other_halves = job.halved_axis >= 0 && !halves;
    size_t before = other_halves && job.forward ? 1 : 0;
    if (shrinks(job) ? halves : !is_roomy(job) && !halves) before = result.behind.size();
    const auto end = result.behind.begin() + static_cast<std::ptrdiff_t>(before);
    result.before.assign(result.behind.begin(), end);
    result.behind.erase(result.behind.begin(), end);
    return result;
}

// The split axis as a problem of its own, unscaled; nothing where the file's elements are no problem's. A real kind of
// complex numbers is one of twice as many real ones.
std::optional<Problem> split_problem(const ManyAxes& job, const SplitGroups& groups) {
    const auto& axes = job.problem.axes;
    const int axis = groups.split.begin;
    const auto at = std::find(axes.begin(), axes.end(), axis) - axes.begin();
    Problem problem = job.problem;
    problem.axes = {axis};
    problem.kinds = {job.problem.kinds[static_cast<size_t>(at)]};
    problem.shape = groups.split.halves(job) ? job.real_shape : job.spectrum_shape;
    problem.output = SpectrumOrder::natural;
    problem.norm = job.forward ? Norm::backward : Norm::forward;
    problem.factor = 1;
    if (!groups.before.empty()) problem.load.reset(), problem.reads_once = false;
    if (!groups.behind.empty()) problem.store.reset(), problem.power = false;
    if (!is_r2r(problem.kinds[0]) || !job.spectrum_complex) return problem;
    if (problem.load || problem.store || problem.power) return std::nullopt;
    if (axis + 1 == problem.ndim()) problem.shape.push_back(1);
    problem.shape.back() *= 2;
    return problem;
}

// Sweeps of groups on one side of the split axis, but for their panels. What is beside them lies at `from` and `to`.
void outline_side(const ManyAxes& job, const std::vector<Group>& groups, Place from, Place between, Place to,
                  std::vector<SweepSpec>& sweeps) {
    for (size_t i = 0; i < groups.size(); ++i) {
        const Place source = i == 0 ? from : between, target = i + 1 == groups.size() ? to : between;
        SweepSpec sweep = outline(job, groups[i], source == target, 1);
        sweep.source.place = source;
        sweep.target.place = target;
        sweeps.push_back(std::move(sweep));
    }
}

// The area for what comes before the split axis, or after it, `bytes` long: behind what its own sweeps have in scratch;
// and of ranks, who have scratch for themselves, behind the output.
PlacedArray add_area(const ManyAxes& job, index_t bytes, bool holds_output, SweepRoute& route) {
    PlacedArray area{job.ranks > 1 ? Place::output : Place::scratch};
    if (job.ranks == 1) {
        area.begin_bytes = round_up(route.scratch_bytes, kDirectBytes);
        route.scratch_bytes = area.begin_bytes + bytes;
        return area;
    }
    const index_t result_bytes = product(job.problem.output_shape()) * job.problem.stored_elem().bytes();
    area.begin_bytes = round_up(result_bytes + (holds_output ? 0 : route.output_extra_bytes), kDirectBytes);
    route.output_extra_bytes = area.begin_bytes - result_bytes + bytes + (holds_output ? route.output_extra_bytes : 0);
    return area;
}

// The engine of the axis that is split is its solver's affair.
ManyAxes without_engine_of(const ManyAxes& job, Group group) {
    ManyAxes rest = job;
    rest.engine_bytes = 0;
    for (size_t i = 0; i < job.axes.size(); ++i)
        if (!group.has(job.axes[i])) rest.add_engine(job.kernels[i], job.real_shape[static_cast<size_t>(job.axes[i])]);
    rest.budget_bytes += job.engine_bytes - rest.engine_bytes;
    return rest;
}

using PartSolver = decltype(&two_sweeps_as_part);

// One axis of the groups by a solver of one axis, in memory that the others leave; nothing if something does not fit.
std::optional<SweepRoute> fit_split(const ManyAxes& whole, const SplitGroups& groups, PartSolver solve,
                                    const SweepSearch& search) {
    const auto problem = split_problem(whole, groups);
    if (!problem) return std::nullopt;
    const ManyAxes job = without_engine_of(whole, groups.split);
    std::vector<SweepSpec> others;
    const Place behind = between_sweeps(job);  // scratch: the area
    outline_side(job, groups.before, Place::input, Place::scratch, Place::scratch, others);
    outline_side(job, groups.behind, behind, behind, Place::output, others);
    index_t own_bytes = 0;
    for (const SweepSpec& sweep : others) own_bytes += sweep.own_bytes();
    auto part = solve(*problem, job, own_bytes, search);
    if (!part) return std::nullopt;

    std::vector<Group> of_others = groups.before;
    of_others.insert(of_others.end(), groups.behind.begin(), groups.behind.end());
    if (!complete(job, of_others, part->room(job) - own_bytes, search.machine(), others)) return std::nullopt;
    others.back().scale = job.problem.scale();
    const bool reads_area = !groups.before.empty(), writes_area = !groups.behind.empty() && !is_roomy(job);
    if (reads_area || writes_area) {
        const index_t bytes = product(job.spectrum_shape) * job.number(job.spectrum_complex);
        const PlacedArray area = add_area(job, round_up(bytes, kDirectBytes), writes_area, *part);
        const auto put = [&](PlacedArray& array, Place place) {
            if (array.place == place) array.place = area.place, array.begin_bytes += area.begin_bytes;
        };
        for (SweepSpec& sweep : others) put(sweep.source, Place::scratch), put(sweep.target, Place::scratch);
        if (reads_area) put(part->sweeps.front().source, Place::input);
        for (SweepSpec& sweep : part->sweeps)
            if (writes_area) put(sweep.source, Place::output), put(sweep.target, Place::output);
    }
    const auto middle = others.begin() + std::ssize(groups.before);
    part->sweeps.insert(part->sweeps.begin(), others.begin(), middle);
    part->sweeps.insert(part->sweeps.end(), middle, others.end());
    if (!part->fits(job)) return std::nullopt;
    return part;
}

// As ranks read them, together or apart.
index_t least_run_bytes(const SweepRoute& route) {
    index_t shortest = std::numeric_limits<index_t>::max();
    for (const SweepSpec& sweep : route.sweeps)
        shortest = std::min(shortest, run_bytes(sweep) * (sweep.sharing.reads_together ? sweep.ranks() : 1));
    return shortest;
}

// One sweep more gains nothing in runs below this, unless they are so many times as long: r2c of 4096 x 4096 floats
// takes 1.0 s in runs of 8 to 32 KiB, 0.8 in columns of 400 bytes; with more memory 0.52 s in runs of 32 to 52 KiB,
// and 0.71 in columns of 824.
constexpr index_t kLeastSplitRunBytes = index_t{32} << 10, kLeastTimesAsLong = 32;
// Where ranks hand columns on, longer runs gain less: c2r of 16384 x 16384 floats on two ranks of 128 MiB takes 4.2 s
// in runs of 128 KiB, and 5.3 in columns of 2.5 KiB.
constexpr index_t kLeastTimesAsLongAsHandedOn = 16;

// Slabs of the other axes, and the first one in two sweeps: one sweep more than in columns, whose runs are short where
// lines are long and memory is small. two_sweeps does the others on the way, where it can and memory holds enough rows.
void offer_long_columns(const ManyAxes& job, SweepSearch& search) {
    const auto& kinds = job.problem.kinds;
    if (std::all_of(kinds.begin(), kinds.end(), [](AxisKind kind) { return kind == AxisKind::c2c; })) return;
    for (const std::vector<Group>& groups : cuts_around(job, job.axes[0])) {
        if (groups.size() > 2) continue;
        auto route = fit_split(job, split_groups(job, groups, job.axes[0]), two_sweeps_as_part, search);
        const index_t columns = search.found() ? least_run_bytes(*search.best()) : 0;
        index_t enough = std::min(kLeastSplitRunBytes, kLeastTimesAsLong * columns);
        if (hands_on(job)) enough = std::max(enough, kLeastTimesAsLongAsHandedOn * columns);
        if (route && least_run_bytes(*route) >= enough) search.offer(std::move(route));
    }
}

// Any axis by a solver of its own: the longest one that can be, beside as few sweeps of the others as there are.
void offer_long_lines(const ManyAxes& job, SweepSearch& search) {
    std::vector<int> axes = job.axes;
    const auto length = [&](int axis) { return job.real_shape[static_cast<size_t>(axis)]; };
    std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) { return length(a) > length(b); });
    for (size_t i = 0; i < axes.size() && !search.found(); ++i) {
        size_t fewest = 0;
        for (const std::vector<Group>& groups : cuts_around(job, axes[i])) {
            if (search.found() && groups.size() > fewest) break;
            fewest = groups.size();
            for (const PartSolver solve : {two_sweeps_as_part, many_sweeps_as_part, chirp_sweeps_as_part})
                search.offer(fit_split(job, split_groups(job, groups, axes[i]), solve, search));
        }
    }
}

// All cuts, of fewest sweeps first: one sweep more costs more than shorter runs do. Then the first axis split beside
// slabs, which may be faster all the same; and where nothing fits, any axis by a solver of its own.
void offer_cuts(const ManyAxes& job, SweepSearch& search) {
    const std::vector<std::vector<Group>> all = all_cuts(job);
    for (size_t i = 0; i < all.size() && !search.ended(); ++i) {
        if (job.holds_scratch) {  // as there is one array, which the second sweep does not overwrite
            if (all[i].size() == 2) search.offer(fit(job, all[i], search.machine()));
            continue;
        }
        if (i > 0 && all[i].size() > all[i - 1].size() && search.found()) break;
        search.offer(fit(job, all[i], search.machine()));
    }
    if (may_split(job) && !search.ended()) offer_long_columns(job, search);
    if (may_split(job) && !search.found()) offer_long_lines(job, search);
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
