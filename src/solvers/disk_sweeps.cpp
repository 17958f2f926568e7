// What the solvers for one long axis on disk share; see disk_sweeps.hpp.
#include "solvers/disk_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

index_t disk_reserve_bytes(index_t memory_bytes) { return std::min(memory_bytes / 16, index_t{8} << 20); }

Result<LongAxis> examine_long_axis(const Problem& problem, const Planner& planner, const char* solver) {
    if (problem.memory_bytes == 0) return error(Code::unsupported, solver, " is for files; give memory=");
    const int axis = *std::min_element(problem.axes.begin(), problem.axes.end());
    LongAxis job;
    job.problem = problem;
    job.n = problem.shape[static_cast<size_t>(axis)];
    job.outer = product(problem.shape, 0, axis);
    job.row = product(problem.shape, axis + 1, problem.ndim());
    job.halves = problem.halves();
    job.forward = problem.forward();
    job.ranks = problem.ranks;
    job.threads = problem.threads > 0 ? problem.threads : planner.machine().threads_for(problem.ranks);
    job.budget_bytes = problem.memory_bytes - disk_reserve_bytes(problem.memory_bytes);
    job.searches = planner.searches();
    return job;
}

Status expect_one_process(const Problem& problem, const char* solver) {
    if (problem.ranks == 1) return {};
    return error(Code::unsupported, solver, " works in one process so far, not on ", problem.ranks, " ranks");
}

Status expect_one_axis(const Problem& problem, const char* solver) {
    if (problem.axes.size() == 1) return {};
    return error(Code::unsupported, solver, " transforms one axis, not ", problem.axes.size(),
                 "; transform the other axes in a run of their own");
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

index_t even_width(index_t columns, index_t most, int ranks) {
    const index_t panels = round_up(ceil_div(columns, most), ranks);
    return std::max<index_t>(1, ceil_div(columns, panels));
}

Layout swept_layout(const Extents& shape, int ranks) {
    return ranks == 1 ? Layout(shape, {}) : Layout(shape, {GridDim{ranks, 0}});
}

bool widen(ColumnPanels& panels, index_t unit, index_t slots, index_t bytes) {
    panels.panel = unit;
    if (slots * panels.slot_bytes() > bytes) return false;
    index_t fits = 1, too_many = ceil_div(panels.columns, unit) + 1;
    while (fits + 1 < too_many) {
        const index_t middle = fits + (too_many - fits) / 2;
        panels.panel = middle * unit;
        (slots * panels.slot_bytes() <= bytes ? fits : too_many) = middle;
    }
    panels.panel = fits * unit;
    panels.panel = round_up(even_width(panels.columns, fits * unit, panels.ranks), unit);
    return true;
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

void set_panel_width(SweepSpec& sweep, index_t width) {
    sweep.source.columns().panel = width;
    if (!sweep.target.is_blocks()) sweep.target.columns().panel = width;
}

namespace {

// Columns of which a panel has a multiple. Ranks that share sections out have panels of whole ones, so that all rounds
// are alike.
index_t unit_of(const SweepSpec& sweep) {
    if (!sweep.target.is_blocks()) return 1;
    return std::max(sweep.target.blocks().tile_columns, sweep.target.blocks().shared_section);
}

bool widen_in_slots(SweepSpec& sweep, index_t room_bytes) {
    const bool blocks = sweep.target.is_blocks();
    const ColumnPanels& in = sweep.source.columns();
    const index_t columns = in.section_columns(), unit = unit_of(sweep);
    const index_t enough = ceil_div(kLongRunBytes, unit * in.elem_bytes);
    const index_t fits = largest_that(std::min(ceil_div(columns, unit), enough), [&](index_t units) {
        set_panel_width(sweep, units * unit);
        return sweep.panel_bytes() <= room_bytes;
    });
    if (fits == 0) return false;
    const index_t even = even_width(columns, fits * unit, in.ranks);
    const index_t block = blocks ? unit : block_elems(sweep.target.columns());
    const index_t whole = round_up(even, block), most = fits * unit;
    set_panel_width(sweep, whole <= most ? whole : most >= block ? most - most % block : even);
    // More panels than before may want another slot.
    if (sweep.panel_bytes() > room_bytes)
        set_panel_width(sweep, blocks ? unit * std::max<index_t>(1, even / unit) : even);
    return true;
}

}  // namespace

bool widen_columns(SweepSpec& sweep, index_t room_bytes, const Machine& machine) {
    const bool three = widen_in_slots(sweep, room_bytes);
    const ColumnPanels& in = sweep.source.columns();
    if (!sweep.target.is_in_place() || (three && in.panel * in.elem_bytes >= kShortRunBytes)) return three;
    SweepSpec wide = sweep;
    std::get_if<InPlace>(&wide.target.array)->slots = 2;
    if (!widen_in_slots(wide, room_bytes)) return three;
    if (!three || SweepStep(wide, machine).predict(0).seconds < SweepStep(sweep, machine).predict(0).seconds)
        sweep = std::move(wide);
    return true;
}

namespace {

// Columns of a section, as read, and what is written of it.
index_t section_elems(const SweepSpec& sweep) {
    if (const auto* reflection = std::get_if<Reflection>(&sweep.target.array)) return reflection->columns / 2 + 1;
    return std::get_if<Sections>(&sweep.target.array)->columns;
}

index_t written_of_section(const SweepSpec& sweep) {
    if (const auto* reflection = std::get_if<Reflection>(&sweep.target.array)) return reflection->columns;
    return std::get_if<Sections>(&sweep.target.array)->columns * sweep.out_points;
}

}  // namespace

void set_sections(SweepSpec& sweep, index_t sections) {
    sweep.source.columns().panel = sections * section_elems(sweep);
    sweep.target.columns().panel = sections * written_of_section(sweep);
}

bool widen_by_sections(SweepSpec& sweep, index_t room_bytes) {
    const ColumnPanels &in = sweep.source.columns(), &out = sweep.target.columns();
    const index_t sections = in.columns / section_elems(sweep);
    const index_t enough = ceil_div(kLongRunBytes, section_elems(sweep) * in.elem_bytes);
    const index_t fits = largest_that(std::min(sections, enough), [&](index_t count) {
        set_sections(sweep, count);
        return sweep.panel_bytes() <= room_bytes;
    });
    if (fits == 0) return false;
    set_sections(sweep, 1);
    const index_t one_bytes = out.panel * out.elem_bytes, block = kDirectBytes / std::gcd(kDirectBytes, one_bytes);
    const index_t even = even_width(sections, fits, in.ranks), whole = round_up(even, block);
    set_sections(sweep, whole <= fits ? whole : fits >= block ? fits - fits % block : even);
    return true;
}

void read_together_if_faster(SweepSpec& sweep, index_t room_bytes, const Machine& machine) {
    const ColumnPanels in = sweep.source.columns();
    const bool can = in.ranks > 1 && in.outer == 1 && !in.in_blocks() && !in.in_sections() && !in.mirrored() &&
                     in.last_row_elems == in.row_elems;
    if (!can) return;
    SweepSpec together = sweep;
    together.sharing.reads_together = true;
    const index_t unit = unit_of(sweep);
    const index_t enough = ceil_div(kLongRunBytes, unit * in.elem_bytes * in.ranks);
    const index_t fits = largest_that(std::min(ceil_div(in.columns, unit), enough), [&](index_t units) {
        set_panel_width(together, units * unit);
        // Rows that are not packed lie in equal strides only where they begin alike in the file.
        const bool equal =
            ExchangeGeometry(together).together(0).lean() || in.row_elems * in.elem_bytes % kSlackBytes == 0;
        return equal && together.panel_bytes() <= room_bytes;
    });
    if (fits == 0) return;
    // Columns are written in whole blocks of the file system, where they are that wide.
    const index_t even = round_up(even_width(in.columns, fits * unit, in.ranks), unit);
    const index_t block = sweep.target.is_blocks() ? fits + 1 : block_elems(sweep.target.columns());
    set_panel_width(together, fits >= block ? std::min(round_up(even, block), fits - fits % block) : even);
    if (together.panel_bytes() > room_bytes) return;
    if (SweepStep(together, machine).predict(0).seconds < SweepStep(sweep, machine).predict(0).seconds)
        sweep = std::move(together);
}

double seconds_of_choice(const std::vector<const SweepSpec*>& sweeps, const Machine& machine) {
    double seconds = 0;
    index_t panel_bytes = 0;
    for (const SweepSpec* sweep : sweeps) {
        seconds += SweepStep(*sweep, machine).predict(0).seconds;
        panel_bytes = std::max(panel_bytes, sweep->panel_bytes());
    }
    return seconds + static_cast<double>(panel_bytes) / machine.disk_read_bytes_per_second;
}

SweepSpec blank_sweep(const LongAxis& job, index_t lanes) {
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

void note_stored(const Problem& problem, SweepSpec& last) {
    if (problem.stores_other()) last.target.file_number_bytes = static_cast<index_t>(problem.stored_elem().bytes());
}

std::unique_ptr<Plan> plan_of_sweeps(const LongAxis& job, const char* solver, std::vector<SweepSpec> sweeps,
                                     const Machine& machine) {
    auto plan = std::make_unique<Plan>();
    plan->problem = job.problem;
    plan->problem.threads = job.threads;
    plan->solver = solver;
    plan->input = {swept_layout(job.problem.input_shape(), job.ranks), job.problem.input_elem()};
    plan->output = {swept_layout(job.problem.output_shape(), job.ranks), job.problem.output_elem()};
    index_t most = 0;
    for (const SweepSpec& sweep : sweeps) most = std::max(most, sweep.panel_bytes());
    plan->slot_bytes.fix(Slot::work0, most);
    plan->output_file_bytes =
        product(job.problem.output_shape()) * static_cast<index_t>(job.problem.stored_elem().bytes());
    plan->sweeps = static_cast<int>(sweeps.size());
    note_stored(job.problem, sweeps.back());
    for (SweepSpec& sweep : sweeps) plan->steps.push_back(std::make_unique<SweepStep>(std::move(sweep), machine));
    return plan;
}

index_t smallest_budget(index_t enough_bytes, const std::function<bool(index_t)>& fits) {
    const auto works = [&](index_t memory) { return fits(memory - disk_reserve_bytes(memory)); };
    index_t low = 0, high = enough_bytes;
    while (!works(high)) low = high, high *= 2;
    while (high - low > 1) {
        const index_t middle = low + (high - low) / 2;
        (works(middle) ? high : low) = middle;
    }
    return high;
}

std::vector<index_t> first_factors(index_t n) {
    constexpr size_t kNear = 48, kOthers = 48;
    std::vector<index_t> all = divisors(n);
    all.erase(std::remove_if(all.begin(), all.end(), [&](index_t d) { return d == 1 || d == n; }), all.end());
    if (all.size() <= kNear + kOthers) return all;
    const size_t from = (all.size() - kNear) / 2, step = ceil_div(static_cast<index_t>(all.size() - kNear), kOthers);
    std::vector<index_t> some;
    for (size_t i = 0; i < all.size(); ++i) {
        if ((i >= from && i < from + kNear) || i % step == 0) some.push_back(all[i]);
    }
    return some;
}

}  // namespace spanfft
