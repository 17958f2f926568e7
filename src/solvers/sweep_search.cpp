// What groupings cost, the smallest memory, and plans of sweeps; see sweep_search.hpp.
#include "solvers/sweep_search.hpp"

#include <algorithm>
#include <limits>

namespace spanfft {

index_t SweepRoute::own_bytes() const {
    index_t bytes = 0;
    for (const SweepSpec& sweep : sweeps) bytes += sweep.own_bytes();
    return bytes;
}

index_t SweepRoute::panel_bytes() const {
    index_t most = 0;
    for (const SweepSpec& sweep : sweeps) most = std::max(most, sweep.panel_bytes());
    return most;
}

bool SweepRoute::goes_by_way_of_output() const {
    return std::any_of(sweeps.begin(), sweeps.end() - 1,
                       [](const SweepSpec& sweep) { return sweep.target.place == Place::output; });
}

namespace {

// Whether what a sweep writes begins and ends with whole blocks of the file system.
bool writes_whole_blocks(const SweepSpec& sweep) {
    if (sweep.target.is_blocks()) return true;
    const ColumnPanels& out = sweep.target.columns();
    return out.row_elems * out.elem_bytes % kDirectBytes == 0 &&
           sweep.panels_a_run() * out.panel * out.elem_bytes % kDirectBytes == 0;
}

// Whether threads wait for one another: a compute step should give each of them several tiles, or slabs, to do.
bool leaves_threads_idle(const SweepSpec& sweep) {
    const ColumnPanels& panels = sweep.walked();
    if (!sweep.tiled()) return panels.panels_of_all() > 1 && panels.panel / sweep.points < 2 * sweep.threads;
    const bool in_steps = sweep.source.is_blocks() || sweep.target.in_tiles();
    return in_steps && sweep.tile_width() * sweep.numbers() < 2 * sweep.threads * sweep.lanes;
}

// Besides what each sweep predicts, writes may go through the page cache, threads may wait, the memory for panels is
// touched for the first time, and the first panel is read before anything is computed.
double seconds_of_choice(const SweepRoute& route, const Machine& machine) {
    double seconds =
        static_cast<double>(route.panel_bytes() + route.held_scratch_bytes) / machine.disk_read_bytes_per_second;
    for (const SweepSpec& sweep : route.sweeps) {
        const Counts counts = predict_sweep(sweep, machine);
        seconds += counts.seconds;
        if (!writes_whole_blocks(sweep))
            seconds += static_cast<double>(counts.disk_written_bytes) * machine.disk_unaligned_write_seconds_per_byte;
        if (leaves_threads_idle(sweep)) {
            seconds += 0.5 * (static_cast<double>(counts.disk_reads) * machine.disk_short_read_seconds +
                              static_cast<double>(counts.disk_writes) * machine.disk_short_write_seconds);
        }
    }
    return seconds;
}

}  // namespace

bool SweepSearch::offer(std::optional<SweepRoute> route) {
    if (!route) return false;
    if (ended()) return true;
    if (!any_) {
        const index_t room = route->room(job_);
        for (SweepSpec& sweep : route->sweeps) read_together_if_faster(sweep, room, machine());
        route->seconds = seconds_of_choice(*route, machine());
    }
    if (!best_ || route->seconds < best_->seconds) best_ = std::move(route);
    return true;
}

// Scratch of the array's size is worth having where it saves a tenth.
void SweepSearch::take_if_worth_scratch(const SweepSearch& other) {
    if (other.best_ && (!best_ || other.best_->seconds < 0.9 * best_->seconds)) best_ = other.best_;
}

index_t smallest_memory(index_t enough_bytes, const std::function<bool(index_t)>& fits) {
    index_t low = 0, high = std::max<index_t>(enough_bytes, 4096);
    while (high < std::numeric_limits<index_t>::max() / 4 && !fits(high)) low = high, high *= 2;
    while (high - low > 1) {
        const index_t middle = low + (high - low) / 2;
        (fits(middle) ? high : low) = middle;
    }
    return high;
}

Status refuse(const SweepJob& job, const char* solver, const SweepRefusal& refusal, index_t needed_bytes) {
    const auto text = [](index_t bytes) { return bytes_string(static_cast<double>(bytes)); };
    return error(refusal.code, refusal.why, " in ", text(job.problem.memory_bytes), "; ", solver, " needs at least ",
                 text(needed_bytes), " (", needed_bytes, " bytes)", refusal.remedy);
}

std::unique_ptr<Plan> plan_of_route(const SweepJob& job, const char* solver, SweepRoute route, const Machine& machine) {
    const Problem& problem = job.problem;
    auto plan = std::make_unique<Plan>();
    plan->problem = problem;
    plan->problem.threads = job.threads;
    plan->solver = solver;
    plan->input = {swept_layout(problem.input_shape(), job.ranks), problem.input_elem()};
    plan->output = {swept_layout(problem.output_shape(), job.ranks), problem.output_elem()};
    plan->slot_bytes.fix(Slot::work0, route.panel_bytes());
    plan->slot_bytes.fix(Slot::work1, route.held_scratch_bytes);
    plan->held_scratch_bytes = route.held_scratch_bytes;
    plan->scratch_bytes = route.scratch_bytes;
    plan->scratch_of_each_rank_bytes = route.scratch_of_each_rank_bytes;
    plan->output_extra_bytes = route.output_extra_bytes;
    plan->leaves_exchanged = route.leaves_exchanged;
    if (!route.note.empty()) plan->notes.push_back(route.note);
    const SweepSource& first = route.sweeps.front().source;
    plan->reads_twice = !first.is_blocks() && first.columns().mirrors_all();
    const auto stored_bytes = static_cast<index_t>(problem.stored_elem().bytes());
    plan->output_file_bytes = product(problem.output_shape()) * stored_bytes;
    const auto on_disk = [](const SweepSpec& sweep) { return sweep.source.place != Place::memory; };
    plan->sweeps = static_cast<int>(std::count_if(route.sweeps.begin(), route.sweeps.end(), on_disk));
    if (problem.stores_other()) route.sweeps.back().target.file_number_bytes = stored_bytes;
    for (SweepSpec& sweep : route.sweeps) plan->steps.push_back(std::make_unique<SweepStep>(std::move(sweep), machine));
    return plan;
}

}  // namespace spanfft
