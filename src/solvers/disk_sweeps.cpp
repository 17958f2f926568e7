// Jobs, parts of sweeps, and the memory of their panels; see disk_sweeps.hpp.
#include "solvers/disk_sweeps.hpp"

#include <algorithm>
#include <cmath>

#include "engine/trust.hpp"
#include "steps/transform_step.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

index_t disk_reserve_bytes(index_t memory_bytes) { return std::min(memory_bytes / 16, index_t{8} << 20); }

namespace {

constexpr index_t kLongestRunBytes = index_t{1} << 20;  // longer ones are split (kPieceBytes)
// Slabs are one run.
constexpr index_t kSlabPanelBytes = index_t{32} << 20;

// Runs below this cost a disk more for the request than for the bytes (45 KiB, by the built-in figures), so that longer
// ones are worth a slot.
constexpr index_t kShortRunBytes = index_t{64} << 10;

}  // namespace

void SweepJob::add_engine(Kernel kernel, index_t n) {
    engine_bytes = std::max(engine_bytes, convolution_bytes(kernel, problem.precision, n) / 2 * (1 + threads));
}

SweepJob examine_sweeps_of(const Problem& problem, const Planner& planner) {
    SweepJob job;
    job.problem = problem;
    job.halves = problem.halves();
    job.forward = problem.forward();
    job.ranks = problem.ranks;
    job.threads = problem.threads > 0 ? problem.threads : planner.machine().threads_for(problem.ranks);
    job.searches = planner.searches();
    job.set_memory(problem.memory_bytes);
    return job;
}

Result<LongAxis> examine_long_axis(const Problem& problem, const Planner& planner, const char* solver) {
    if (problem.memory_bytes == 0) return error(Code::unsupported, solver, " is for files; give memory=");
    const int axis = *std::min_element(problem.axes.begin(), problem.axes.end());
    LongAxis job;
    static_cast<SweepJob&>(job) = examine_sweeps_of(problem, planner);
    job.n = problem.shape[static_cast<size_t>(axis)];
    job.outer = product(problem.shape, 0, axis);
    job.row = product(problem.shape, axis + 1, problem.ndim());
    return job;
}

Status expect_one_axis(const Problem& problem, const char* solver) {
    if (problem.axes.size() == 1) return {};
    return error(Code::unsupported, solver, " transforms one axis, not ", problem.axes.size(),
                 "; transform the other axes in a run of their own");
}

Status expect_no_ortho(const Problem& problem, const char* solver) {
    for (const AxisKind kind : problem.kinds) {
        if (!is_r2r(kind) || problem.norm != Norm::ortho) continue;
        return error(Code::unsupported, solver, " does not know norm=ortho of ", axis_kind_name(kind),
                     "; use norm=backward and scale, or more memory");
    }
    return {};
}

index_t lanes_for(const LongAxis& job, index_t longest_points) {
    const index_t most = std::max<index_t>(1, 128 / job.number(true)), fewest = std::max<index_t>(1, most / 2);
    return std::clamp(kDiskTileBytes / (longest_points * job.number(true)), fewest, most);
}

std::vector<SweepStage> column_stages(const SweepSpec& spec, Kernel kernel, index_t real_points) {
    StageRequest request;
    request.shape = {real_points};
    request.axes = {0};
    request.kernels = {kernel};
    request.precision = spec.precision;
    request.source_complex = spec.source.complex;
    request.target_complex = spec.target.complex;
    request.lanes = spec.lanes;
    request.source_pitch = spec.source_pitch();
    request.target_pitch = spec.target_pitch();
    request.across = spec.source.complex != spec.target.complex;
    return make_stages(request);
}

std::vector<SweepStage> row_stages(const SweepSpec& spec, Kernel kernel) {
    StageRequest request;
    request.shape = {spec.points};
    request.axes = {0};
    request.kernels = {kernel};
    request.precision = spec.precision;
    request.threads = spec.shared_slab() ? spec.threads : 1;
    return make_stages(request);
}

double column_flops(index_t points, bool real) {
    return (real ? 2.5 : 5.0) * static_cast<double>(points) * std::log2(static_cast<double>(points));
}

Layout swept_layout(const Extents& shape, int ranks) {
    return ranks == 1 ? Layout(shape, {}) : Layout(shape, {GridDim{ranks, 0}});
}

ColumnPanels column_panels(const LongAxis& job, index_t outer, index_t rows, index_t row_elems, bool complex) {
    ColumnPanels panels;
    panels.outer = outer;
    panels.rows = rows;
    panels.row_elems = panels.last_row_elems = panels.columns = row_elems;
    panels.elem_bytes = job.elem(complex);
    panels.numbers = job.row;
    panels.ranks = job.ranks;
    return panels;
}

ColumnPanels of_numbers(ColumnPanels panels) {
    for (index_t* elems : {&panels.row_elems, &panels.last_row_elems, &panels.columns, &panels.panel})
        *elems *= panels.numbers;
    panels.elem_bytes = panels.number_bytes();
    panels.numbers = 1;
    return panels;
}

ColumnPanels cut_off(ColumnPanels panels, index_t elems) {
    panels.rows = ceil_div(elems, panels.row_elems);
    panels.last_row_elems = elems - (panels.rows - 1) * panels.row_elems;
    return panels;
}

void set_panel_width(SweepSpec& sweep, index_t width) {
    if (!sweep.source.is_blocks()) sweep.source.columns().panel = width;
    const TurnedRows* const turned = sweep.target.turned();
    if (!sweep.target.is_blocks())
        sweep.target.columns().panel = turned ? width / turned->panels.rows * sweep.out_points : width;
    if (sweep.apart()) std::get_if<TileWork>(&sweep.work)->rows.apart->panel = width;
}

void set_slabs(SweepSpec& sweep, index_t slabs) {
    sweep.source.columns().panel = slabs * sweep.slab_elems(sweep.points);
    sweep.target.columns().panel = slabs * sweep.slab_elems(sweep.out_points);
}

namespace {

// Columns a panel, so that panels of at most `most` columns are equally wide, and as many for each rank.
index_t even_width(index_t columns, index_t most, int ranks) {
    const index_t panels = round_up(ceil_div(columns, most), ranks);
    return std::max<index_t>(1, ceil_div(columns, panels));
}

// The width to take of those that fit: all equally wide, and multiples of `block` where that many fit.
index_t good_width(index_t columns, index_t fits, index_t block, int ranks) {
    const index_t even = even_width(columns, fits, ranks), whole = round_up(even, block);
    return whole <= fits ? whole : fits >= block ? fits - fits % block : even;
}

// Columns of which a panel has a multiple: tiles of the blocks of either side, or sections of which half is computed.
// Ranks that share sections out have panels of whole ones, so that all rounds are alike.
index_t unit_of(const SweepSpec& sweep) {
    if (sweep.source.is_blocks()) return sweep.source.blocks().tile_rows;
    if (const index_t halved = sweep.source.columns().halved(); halved > 0) return halved;
    if (const ColumnPanels& in = sweep.source.columns(); in.ranks > 1 && in.in_sections() && sweep.target.is_blocks())
        return in.section_columns();
    if (const TurnedRows* turned = sweep.target.turned()) return turned->panels.rows;
    if (!sweep.target.is_blocks()) return 1;
    return std::max(sweep.target.blocks().tile_columns, sweep.target.blocks().shared_section);
}

// Units of which a panel's written runs are whole blocks of the file system. Where rows are none themselves, panels of
// several columns would not be the better for it.
index_t units_of_blocks(const SweepSpec& sweep, index_t unit) {
    if (sweep.target.is_blocks()) return 1;
    const ColumnPanels& out = sweep.target.columns();
    const index_t all = block_elems(out), block = all / std::gcd(all, sweep.panels_a_run());
    if (sweep.target.turned()) return out.row_elems % block == 0 ? block / std::gcd(block, sweep.out_points) : 1;
    return unit == 1 || out.row_elems % block == 0 ? block / std::gcd(block, unit) : 1;
}

// Rows that ranks read together and that are not packed lie in equal strides only where they begin alike in the file.
bool fits_room(const SweepSpec& sweep, index_t room_bytes) {
    if (sweep.sharing.reads_together) {
        const ColumnPanels& in = sweep.source.columns();
        if (in.row_elems * in.elem_bytes % ExchangeGeometry(sweep).together(0).alignment() != 0) return false;
    }
    return sweep.panel_bytes() <= room_bytes;
}

bool widen_in_slots(SweepSpec& sweep, index_t room_bytes, index_t enough_bytes) {
    const index_t unit = unit_of(sweep), columns = sweep.walked().section_columns(), units = ceil_div(columns, unit);
    const int ranks = sweep.walked().ranks;  // that share its panels out
    const auto fits = [&](index_t count) {
        set_panel_width(sweep, count * unit);
        return fits_room(sweep, room_bytes);
    };
    const index_t side_by_side = sweep.sharing.reads_together ? ranks : 1;
    const index_t enough = ceil_div(enough_bytes, unit * sweep.walked().elem_bytes * side_by_side);
    const index_t most = largest_that(std::min(units, enough), fits);
    if (most == 0) return false;
    // More panels than before may want another slot.
    return fits(good_width(units, most, units_of_blocks(sweep, unit), ranks)) || fits(even_width(units, most, ranks)) ||
           fits(1);
}

// With the memory for panels, which is touched for the first time.
double seconds_with_panels(const SweepSpec& sweep, const Machine& machine) {
    return predict_sweep(sweep, machine).seconds +
           static_cast<double>(sweep.panel_bytes()) / machine.disk_read_bytes_per_second;
}

}  // namespace

bool widen_columns(SweepSpec& sweep, index_t room_bytes, const Machine& machine) {
    SweepSpec other = sweep;
    if (!widen_in_slots(sweep, room_bytes, kLongRunBytes)) {
        if (!sweep.target.is_in_place()) return false;
        std::get_if<InPlace>(&sweep.target.array)->slots = 2;
        return widen_in_slots(sweep, room_bytes, kLongRunBytes);
    }
    const index_t run = run_bytes(sweep);
    const bool may_be_longer = 2 * run > kLongRunBytes && 2 * sweep.panel_bytes() <= room_bytes;
    if (sweep.target.is_in_place() && run < kShortRunBytes)
        std::get_if<InPlace>(&other.target.array)->slots = 2;
    else if (!may_be_longer)
        return true;
    if (widen_in_slots(other, room_bytes, may_be_longer ? kLongestRunBytes : kLongRunBytes) &&
        seconds_with_panels(other, machine) < seconds_with_panels(sweep, machine))
        sweep = std::move(other);
    return true;
}

namespace {

// Panels of so many slabs or sections, of which there are `all` and `enough` are useful: `set` makes them.
bool widen_in_units(SweepSpec& sweep, index_t all, index_t enough, index_t room_bytes,
                    void (*set)(SweepSpec&, index_t)) {
    const auto fits = [&](index_t count) {
        set(sweep, count);
        return fits_room(sweep, room_bytes);
    };
    const index_t most = largest_that(std::clamp<index_t>(enough, 1, all), fits);
    if (most == 0) return false;
    set(sweep, 1);
    const ColumnPanels& out = sweep.target.columns();
    const index_t block = kDirectBytes / std::gcd(kDirectBytes, out.panel * out.elem_bytes);
    const int ranks = sweep.walked().ranks;
    return fits(good_width(all, most, block, ranks)) || fits(even_width(all, most, ranks)) || fits(1);
}

// Those of a reflection.
void set_sections(SweepSpec& sweep, index_t sections) {
    const index_t section = std::get_if<Reflection>(&sweep.target.array)->columns;
    sweep.source.columns().panel = sections * (section / 2 + 1);
    sweep.target.columns().panel = sections * section;
}

}  // namespace

bool widen_by_sections(SweepSpec& sweep, index_t room_bytes) {
    const ColumnPanels& in = sweep.source.columns();
    const index_t each = std::get_if<Reflection>(&sweep.target.array)->columns / 2 + 1;
    return widen_in_units(sweep, in.columns / each, ceil_div(kLongRunBytes, each * in.elem_bytes), room_bytes,
                          set_sections);
}

bool widen_slabs(SweepSpec& sweep, index_t room_bytes) {
    const ColumnPanels &in = sweep.source.columns(), &out = sweep.target.columns();
    const index_t slab = sweep.slab_elems(sweep.points);
    const index_t slab_bytes = std::max(slab * in.elem_bytes, sweep.slab_elems(sweep.out_points) * out.elem_bytes);
    const auto widen = [&](SweepSpec& one) {
        return widen_in_units(one, in.columns / slab, kSlabPanelBytes / slab_bytes, room_bytes, set_slabs);
    };
    if (!widen(sweep)) return false;
    if (sweep.target.is_in_place()) return true;
    // With two slots to write from the sweep waits by turns for what it reads and for what it writes (ADR 126: 5.30 s
    // instead of 4.03). Narrower panels are no loss while they are long and give threads work.
    SweepSpec three = sweep;
    three.slab_write_slots = 3;
    if (widen(three) && run_bytes(three) >= kLongRunBytes && three.shared_slab() == sweep.shared_slab())
        sweep = std::move(three);
    return true;
}

bool widen_together(SweepSpec& sweep, index_t room_bytes) {
    sweep.sharing.reads_together = true;
    return sweep.source.columns().reflected() ? widen_by_sections(sweep, room_bytes)
                                              : widen_in_slots(sweep, room_bytes, kLongRunBytes);
}

void read_together_if_faster(SweepSpec& sweep, index_t room_bytes, const Machine& machine) {
    if (sweep.ranks() == 1 || !sweep.tiled() || sweep.source.is_blocks() || sweep.sharing.reads_together) return;
    const ColumnPanels& in = sweep.source.columns();
    const bool in_place = sweep.target.is_in_place();
    const bool seen = in_place ? sweep.source.place == Place::output : sweep.source.place != Place::scratch;
    // A panel of halved sections is taken in parts, with no tile handed on meanwhile.
    const bool halved = in.halved() > 0 && (sweep.exchanges() || in_place);
    const bool of_one_period = !in.mirrored() || (!in.mirrors_all() && !halved && in.mirrored()->own == 0);
    const bool can = seen && !sweep.sharing.own_part && !in.in_blocks() && !in.in_sections() && of_one_period;
    if (!can) return;
    // What ranks hand to one another takes computing time that no prediction counts while a disk is the limit.
    const double share = run_bytes(sweep) < kEnoughRunBytes ? 1 : 0.8;
    double most_seconds = share * predict_sweep(sweep, machine).seconds;
    SweepSpec together = sweep;
    const auto try_it = [&](SweepSpec candidate) {
        if (!widen_together(candidate, room_bytes)) return;
        const double seconds = predict_sweep(candidate, machine).seconds;
        if (seconds >= most_seconds) return;
        most_seconds = seconds;
        sweep = std::move(candidate);
    };
    try_it(together);
    if (!in_place) return;
    std::get_if<InPlace>(&together.target.array)->slots = 2;
    try_it(together);
}

SweepSpec blank_sweep(const SweepJob& job, index_t lanes) {
    SweepSpec sweep;
    sweep.precision = job.problem.precision;
    sweep.twiddles.backward = !job.forward;
    sweep.threads = job.threads;
    sweep.engine = job.problem.engine;
    sweep.scratch_disks = job.problem.disks;
    if (job.problem.loads_other()) sweep.source.file_number_bytes = job.problem.loaded_bytes();
    sweep.lanes = lanes;
    return sweep;
}

}  // namespace spanfft
