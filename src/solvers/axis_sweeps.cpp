// Solver `axis_sweeps`: an N-D array on disk, groups of axes a sweep, in as few sweeps as the memory budget allows.
//
// Method: the axes are cut into groups of neighbours. The last group is transformed in contiguous slabs that fit
// memory; any other group in panels of columns: with (outer, length, inner) = the axes before, in and after the
// group, a panel is all of `length` by a few of `inner`. All cuts are tried (there are few); the fewest sweeps win,
// then the longest runs. The first sweep reads the input and writes what is to be the output file; the others transform
// that in place, as a panel is read before it is written. Only c2r, whose output is smaller than what comes before,
// needs a scratch file. The halved axis of r2c may be in any group, which comes first: it alone reads real numbers,
// the input's, and all others are over the spectrum. c2r is the reverse and ends with that group. Groups without a
// transformed axis need no sweep; one that needs only some of its axes does those.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/trust.hpp"
#include "solvers/disk_sweeps.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

namespace {

constexpr index_t kSlabPanelBytes = index_t{32} << 20;  // more a panel only lengthens the pipeline's ends
constexpr index_t kCallBytes = index_t{128} << 10;      // small slabs are handed to the engine by the dozen

// The problem with everything in rising axis order. (A batch is an axis by now: Planner::plan.)
struct Job {
    Problem problem;
    Extents real_shape, spectrum_shape;
    std::vector<int> axes;        // rising
    std::vector<Kernel> kernels;  // of axes
    int halved_axis = -1;
    bool real_complex = true, spectrum_complex = true;
    int threads = 1;
    index_t budget_bytes = 0;  // less the reserve and what engines take
    index_t engine_bytes = 0;  // at large prime factors: tables for all threads, scratch for each
    int ndim() const { return static_cast<int>(real_shape.size()); }
    index_t elem(bool complex) const { return static_cast<index_t>(ElemType{problem.precision, complex}.bytes()); }
};

// Neighbouring axes [begin, end) that one sweep transforms: slabs if the last axis is among them, else columns.
struct Group {
    int begin = 0, end = 0;
    bool is_slabs(const Job& job) const { return end == job.ndim(); }
    bool halves(const Job& job) const { return job.halved_axis >= begin && job.halved_axis < end; }
    bool has(int axis) const { return axis >= begin && axis < end; }
};

// The array before or after a sweep: that of a group that halves has its real side on one of them.
struct Side {
    const Extents& shape;
    bool is_complex;
};
Side source_side(const Job& job, Group group) {
    const bool real = group.halves(job) && job.problem.forward();
    return real ? Side{job.real_shape, job.real_complex} : Side{job.spectrum_shape, job.spectrum_complex};
}
Side target_side(const Job& job, Group group) {
    const bool real = group.halves(job) && !job.problem.forward();
    return real ? Side{job.real_shape, job.real_complex} : Side{job.spectrum_shape, job.spectrum_complex};
}

struct Route {
    std::vector<SweepSpec> sweeps;
    index_t shortest_run_bytes = 0;
    index_t panel_bytes() const {
        index_t most = 0;
        for (const SweepSpec& sweep : sweeps) most = std::max(most, sweep.panel_bytes());
        return most;
    }
};

bool shrinks(const Job& job) { return job.halved_axis >= 0 && !job.problem.forward(); }  // c2r
// Where what is computed lies between sweeps: c2r and smaller elements leave no room for it in the output.
Place between_sweeps(const Job& job) {
    return shrinks(job) || job.problem.stores_other() ? Place::scratch : Place::output;
}

Job examine_axes(const Problem& problem, const Planner& planner) {
    Job job;
    job.problem = problem;
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
    job.threads = problem.threads > 0 ? problem.threads : planner.machine().threads_for(problem.ranks);
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        const index_t n = problem.shape[static_cast<size_t>(problem.axes[i])];
        const index_t bytes = convolution_bytes(kernel_of(problem.kinds[i], problem.direction), problem.precision, n);
        job.engine_bytes = std::max(job.engine_bytes, bytes / 2 * (1 + job.threads));
    }
    job.budget_bytes = problem.memory_bytes - disk_reserve_bytes(problem.memory_bytes) - job.engine_bytes;
    return job;
}

// The request for the engine calls of a group that `sweep` makes, but for lanes and threads.
StageRequest stages_of(const Job& job, Group group, const SweepSpec& sweep) {
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
double group_flops(const Job& job, Group group) {
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
SweepSpec common(const Job& job, Group group) {
    SweepSpec sweep;
    sweep.precision = job.problem.precision;
    sweep.threads = job.threads;
    sweep.engine = job.problem.engine;
    sweep.scratch_disks = job.problem.disks;
    const Side source = source_side(job, group), target = target_side(job, group);
    sweep.source.complex = source.is_complex;
    sweep.target.complex = target.is_complex;
    sweep.points = product(source.shape, group.begin, group.end);
    sweep.out_points = product(target.shape, group.begin, group.end);
    sweep.flops_each = group_flops(job, group);
    if (job.problem.loads_other()) sweep.source.file_number_bytes = job.problem.loaded_bytes();
    return sweep;
}

ColumnPanels one_row(const Job& job, index_t elems, index_t elem_bytes) {
    ColumnPanels panels;
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
bool works_in_place(const Job& job, Group group, bool first) { return !first && !group.halves(job); }

// Slabs of a group with the last axis: as many a panel as useful and as memory allows.
std::optional<SweepSpec> slab_sweep(const Job& job, Group group, bool first, index_t room_bytes) {
    SweepSpec sweep = common(job, group);
    const index_t slabs = product(job.spectrum_shape, 0, group.begin);
    const index_t in_bytes = sweep.points * sweep.source_elem_bytes();
    const index_t out_bytes = sweep.out_points * sweep.target_elem_bytes();
    set_sides(sweep, works_in_place(job, group, first),
              one_row(job, slabs * sweep.points, job.elem(sweep.source.complex)),
              one_row(job, slabs * sweep.out_points, job.elem(sweep.target.complex)));
    const auto set_slabs = [&](index_t count) {
        sweep.source.columns().panel = count * sweep.points;
        sweep.target.columns().panel = count * sweep.out_points;
    };
    SlabWork work;
    sweep.work = work;
    set_slabs(1);
    if (sweep.panel_bytes() > room_bytes) return std::nullopt;
    const index_t slab_bytes = std::max(in_bytes, out_bytes);
    index_t count = std::clamp<index_t>(std::min(kSlabPanelBytes, room_bytes / 4) / slab_bytes, 1,
                                        ceil_div(slabs, job.problem.ranks));
    // Whole blocks of the file system a panel, if that many slabs fit: every write can be direct.
    const index_t unit = kDirectBytes / std::__gcd(kDirectBytes, out_bytes);
    if (count >= unit && count < slabs) count -= count % unit;
    for (set_slabs(count); sweep.panel_bytes() > room_bytes; set_slabs(--count)) {
    }

    StageRequest request = stages_of(job, group, sweep);
    request.source_pitch = sweep.points;
    request.target_pitch = sweep.out_points;
    request.across = !sweep.target.is_in_place();
    if (sweep.shared_slab()) {
        request.threads = job.threads;
    } else {
        sweep.lanes = std::clamp<index_t>(kCallBytes / slab_bytes, 1, count / (2 * job.threads));
        request.lanes = sweep.lanes;
    }
    sweep.stages = make_stages(request);
    if (sweep.lanes > 1) {
        request.lanes = 1;
        work.last_stages = make_stages(request);
    }
    sweep.work = std::move(work);
    return sweep;
}

// Columns of a group; panels of one column for now. A column's points are rows of a panel, of which the two sides of
// one that halves have different numbers.
SweepSpec column_outline(const Job& job, Group group, bool first) {
    SweepSpec sweep = common(job, group);
    const auto side = [&](index_t rows, bool is_complex) {
        ColumnPanels panels;
        panels.outer = product(job.spectrum_shape, 0, group.begin);
        panels.rows = rows;
        panels.row_elems = panels.last_row_elems = panels.columns = product(job.spectrum_shape, group.end, job.ndim());
        panels.elem_bytes = job.elem(is_complex);
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

// rows_a_rank > 0: ranks exchange behind it, and keep so many rows.
std::optional<SweepSpec> column_sweep(const Job& job, Group group, bool first, index_t room_bytes,
                                      index_t rows_a_rank = 0) {
    SweepSpec sweep = column_outline(job, group, first);
    if (rows_a_rank > 0) sweep.sharing.kept = Sharing::Rows{rows_a_rank};
    const index_t columns = sweep.source.columns().columns;
    const auto fits = [&](index_t width) {
        set_panel_width(sweep, width);
        return sweep.panel_bytes() <= room_bytes;
    };
    if (!fits(1)) return std::nullopt;
    index_t width = 1, too_wide = columns + 1;
    while (width + 1 < too_wide) {
        const index_t middle = width + (too_wide - width) / 2;
        (fits(middle) ? width : too_wide) = middle;
    }
    // Equal panels whose written runs are whole blocks of the file system, where they are that wide.
    const index_t unit = std::max<index_t>(1, kDirectBytes / sweep.target_elem_bytes());
    const index_t even = even_width(columns, width, job.problem.ranks);
    const index_t whole = round_up(even, unit);
    // More panels than before may want another slot.
    if (!fits(whole <= width ? whole : width >= unit ? width - width % unit : even)) (void)fits(even);

    StageRequest request = stages_of(job, group, sweep);
    request.lanes = sweep.lanes;
    request.source_pitch = sweep.source_pitch();
    request.target_pitch = sweep.target_pitch();
    request.across = sweep.source.complex != sweep.target.complex;
    sweep.stages = make_stages(request);
    return sweep;
}

index_t array_bytes(const ColumnPanels& panels) { return panels.outer * panels.matrix_elems() * panels.elem_bytes; }

std::string group_title(const Job& job, Group group) {
    std::string text;
    for (size_t i = 0; i < job.axes.size(); ++i) {
        if (!group.has(job.axes[i])) continue;
        text += cat(text.empty() ? "" : ", ", kernel_name(job.kernels[i]), " axis ", job.axes[i]);
    }
    return text;
}

// The groups that start where bit i of `cuts` says that axis i+1 begins a new one, in the order of their sweeps.
std::vector<Group> cut_groups(const Job& job, unsigned cuts) {
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
    std::reverse(groups.begin(), groups.end());  // slabs first, but for the group that halves
    std::stable_partition(groups.begin(), groups.end(), [&](Group group) { return group.halves(job); });
    if (shrinks(job)) std::reverse(groups.begin(), groups.end());
    return groups;
}

// Whether ranks exchange between two sweeps that meet in scratch: columns of all of the first axes, of which each then
// keeps rows for its slabs.
bool exchanges_between(const Job& job, const std::vector<Group>& groups) {
    return job.problem.ranks > 1 && between_sweeps(job) == Place::scratch && groups.size() == 2 &&
           groups[0].begin == 0 && groups[1].is_slabs(job) && groups[1].begin == groups[0].end;
}

// The sweeps for these cuts; nothing if one doesn't fit.
std::optional<Route> try_cuts(const Job& job, unsigned cuts) {
    const std::vector<Group> groups = cut_groups(job, cuts);
    Route route;
    index_t room = job.budget_bytes;  // for panels, which all sweeps share
    for (size_t i = 0; i < groups.size(); ++i)
        if (!groups[i].is_slabs(job)) room -= column_outline(job, groups[i], i == 0).own_bytes();
    const bool exchanges = exchanges_between(job, groups);
    index_t rows_a_rank = 0;
    if (exchanges) {  // slabs say how many rows each rank keeps
        const auto slabs = slab_sweep(job, groups[1], false, room);
        if (!slabs) return std::nullopt;
        const ColumnPanels& read = slabs->source.columns();
        rows_a_rank = read.panels_per_matrix() * (read.panel / slabs->points);
    }
    for (size_t i = 0; i < groups.size(); ++i) {
        const Group group = groups[i];
        auto sweep = group.is_slabs(job) ? slab_sweep(job, group, i == 0, room)
                                         : column_sweep(job, group, i == 0, room, rows_a_rank);
        if (!sweep) return std::nullopt;
        ColumnPanels& in = sweep->source.columns();
        if (exchanges && i == 1) {
            in.share = ColumnPanels::Share::own_file;
            sweep->target.columns().share = ColumnPanels::Share::in_blocks;
        }
        const Place between = between_sweeps(job);
        sweep->source.place = i == 0 ? Place::input : between;
        sweep->target.place = i + 1 == groups.size() ? Place::output : between;
        sweep->title = group_title(job, group);
        const ColumnPanels& out = sweep->target.columns();
        const index_t run = std::min(in.panel * in.elem_bytes, out.panel * out.elem_bytes);
        route.shortest_run_bytes = i == 0 ? run : std::min(route.shortest_run_bytes, run);
        route.sweeps.push_back(std::move(*sweep));
    }
    route.sweeps.back().scale = job.problem.scale();
    note_stored(job.problem, route.sweeps.back());
    return route;
}

std::optional<Route> best_route(const Job& job) {
    std::optional<Route> best;
    for (unsigned cuts = 0; cuts < 1U << (job.ndim() - 1); ++cuts) {
        auto route = try_cuts(job, cuts);
        if (!route) continue;
        const bool better =
            !best || route->sweeps.size() < best->sweeps.size() ||
            (route->sweeps.size() == best->sweeps.size() && route->shortest_run_bytes > best->shortest_run_bytes);
        if (better) best = std::move(route);
    }
    return best;
}

Status decline(Job job) {
    const Problem& problem = job.problem;
    if (problem.ndim() == 1)
        return error(Code::unsupported, "axis_sweeps needs a whole axis of ", problem.shape[0], " points in memory");
    index_t low = problem.memory_bytes, high = std::max(low * 2, index_t{4096});
    const auto fits = [&](index_t bytes) {
        job.budget_bytes = bytes - disk_reserve_bytes(bytes) - job.engine_bytes;
        return best_route(job).has_value();
    };
    while (high < std::numeric_limits<index_t>::max() / 4 && !fits(high)) low = high, high *= 2;
    while (high - low > high / 256 + 1) {
        const index_t middle = low + (high - low) / 2;
        (fits(middle) ? high : low) = middle;
    }
    const bool one_last_axis = problem.axes.size() == 1 && problem.axes[0] == problem.ndim() - 1;
    // A single long last axis is two_sweeps's; its reason counts.
    return error(one_last_axis ? Code::unsupported : Code::out_of_memory,
                 "axis_sweeps needs lines of each axis in memory, and ",
                 bytes_string(static_cast<double>(problem.memory_bytes)), " is too little for shape ",
                 shape_string(problem.shape), "; it needs at least ", bytes_string(static_cast<double>(high)), " (",
                 high, " bytes)");
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_axis_sweeps(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes == 0) return error(Code::unsupported, "axis_sweeps is for files; give memory=");
    for (AxisKind kind : problem.kinds) {
        if (is_r2r(kind) && problem.norm == Norm::ortho) {
            return error(Code::unsupported, "axis_sweeps does not know norm=ortho of ", axis_kind_name(kind),
                         "; use norm=backward and scale, or more memory");
        }
    }
    const Job job = examine_axes(problem, planner);
    auto route = best_route(job);
    if (!route && planner.searches()) return too_little_memory();
    if (!route) return decline(job);
    const SweepSpec& first = route->sweeps.front();
    if (problem.ranks > 1 && route->sweeps.size() > 1 && between_sweeps(job) == Place::scratch && !first.exchanges()) {
        return error(Code::unsupported, "axis_sweeps has ", route->sweeps.size(),
                     " sweeps here with the array in scratch between them, which ", problem.ranks,
                     " ranks share only between columns of the first axes and slabs; use one process, or more memory");
    }

    auto plan = std::make_unique<Plan>();
    plan->problem = problem;
    plan->problem.threads = job.threads;
    plan->solver = "axis_sweeps";
    plan->input = {swept_layout(problem.forward() ? job.real_shape : job.spectrum_shape, problem.ranks),
                   problem.input_elem()};
    plan->output = {swept_layout(problem.forward() ? job.spectrum_shape : job.real_shape, problem.ranks),
                    problem.output_elem()};
    plan->slot_bytes.fix(Slot::work0, route->panel_bytes());
    plan->scratch_bytes =
        route->sweeps.size() > 1 && between_sweeps(job) == Place::scratch ? array_bytes(first.target.columns()) : 0;
    if (first.exchanges()) plan->scratch_of_each_rank_bytes = ExchangeGeometry(first).kept_columns(0).payload_bytes();
    plan->output_file_bytes = product(problem.output_shape()) * static_cast<index_t>(problem.stored_elem().bytes());
    plan->sweeps = static_cast<int>(route->sweeps.size());
    for (SweepSpec& sweep : route->sweeps) {
        plan->steps.push_back(std::make_unique<SweepStep>(std::move(sweep), planner.machine()));
    }
    return plan;
}

}  // namespace spanfft
