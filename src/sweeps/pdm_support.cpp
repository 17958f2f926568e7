// Stores as disks, sweeps as counts; see pdm_support.hpp.
#include "sweeps/pdm_support.hpp"

#include <algorithm>

#include "sweeps/sweep_hooks.hpp"

namespace spanfft {

SweepOutline pdm_outline(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, bool exchanges,
                         std::function<index_t(index_t block)> reads, std::function<index_t(index_t block)> writes) {
    const index_t loads = spec.shape.memoryloads();
    SweepOutline outline;
    outline.source = {source.place, source.area * spec.array_bytes()};
    outline.target = {target.place, target.area * spec.array_bytes()};
    outline.panels = loads;
    outline.read = Partition::of_loads(loads, spec.block_bytes(), std::move(reads));
    outline.written = Partition::of_loads(loads, spec.block_bytes(), std::move(writes));
    outline.threads = spec.threads;
    outline.exchanges = exchanges;
    outline.keeps_own = target.place == Place::scratch;
    return outline;
}

double pdm_wire_seconds(const PdmSpec& spec, const Counts& sent, const Machine& machine) {
    const ExchangeFigures figures = machine.exchange("overlap");
    return (machine.topology.nodes(spec.ranks()) == 1 ? figures.near : figures.far)
        .seconds(static_cast<double>(sent.messages), static_cast<double>(sent.sent_bytes));
}

Counts pdm_predicted(const PdmSpec& spec) {
    Counts counts;
    counts.disk_reads = counts.disk_writes = spec.blocks();
    counts.disk_read_bytes = counts.disk_written_bytes = spec.array_bytes();
    return counts;
}

double pdm_seconds(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, const PdmWork& work,
                   const Machine& machine) {
    const auto use = [&](const PdmPlace& place) {
        const int disks = place.place == Place::scratch ? spec.scratch_disks : 0;
        return machine.disk_use(spec.blocks(), spec.array_bytes(), disks, spec.ranks());
    };
    const auto loads = static_cast<double>(spec.share().memoryloads());
    const double disk = machine.disk_seconds(use(source), use(target), loads);
    // Records are scattered one by one, as in tiles.
    const double moved_a_second = machine.tile_bytes_per_second > 0 ? machine.tile_bytes_per_second * spec.threads
                                                                    : machine.threads_bytes_per_second(spec.threads);
    const double compute = work.seconds + static_cast<double>(work.moved_bytes) / moved_a_second +
                           static_cast<double>(work.factors_made) * machine.twiddle_seconds / spec.threads;
    const double start = source.place == Place::input ? machine.sweep_start_seconds(spec.work_bytes()) : 0;
    return start +
           (spec.mode == IoMode::asynchronous ? machine.overlapped_seconds(disk, compute, loads) : disk + compute);
}

Status PdmTask::join(Binding& binding, const std::function<Status()>& make_transfers) {
    SPANFFT_ASSIGN(rounds_, Rounds::make(spec_.ranks(), binding));
    if (spec_.ranks() > 1) SPANFFT_TRY(agree(rounds_.comm(), make_transfers()));
    SPANFFT_ASSIGN(team_, team_of(binding, spec_.threads));
    return {};
}

// Scratch is a rank's own, and all ranks see the files.
ParallelDisks PdmTask::disks(const StoredArray& array, const PdmPlace& place) const {
    const auto share =
        place.place == Place::scratch ? ParallelDisks::Share{} : ParallelDisks::Share{rank_, spec_.ranks()};
    return ParallelDisks(*array.store, static_cast<int>(spec_.share().disks()), array.offset_bytes, spec_.blocks(),
                         spec_.block_bytes(), share);
}

// On ranks it begins earlier than it writes, where others need what this one has done.
SweepMeans PdmTask::means(RunContext& context, const RunningSweep& running) const {
    SweepMeans means;
    means.pipeline = &team_->pipeline;
    means.memory = static_cast<char*>(context.at(Slot::work0));
    means.mode = spec_.mode;
    means.first_load = running.begins_at;
    means.writes_from = running.first_panel;
    means.dress = [this, &running, &context](PipelineSpec& pipeline) {
        watch_panels(pipeline, running, 1, context, *team_);
    };
    return means;
}

namespace {

Counts counts_of(const ParallelDisks& source, const ParallelDisks& target) {
    const StoreCounts reads = source.counts(), writes = target.counts();
    Counts counts;
    counts.disk_reads = reads.reads;
    counts.disk_read_bytes = reads.read_bytes;
    counts.disk_writes = writes.writes;
    counts.disk_written_bytes = writes.written_bytes;
    counts.parallel_ios = source.parallel_ios().total() + target.parallel_ios().total();
    return counts;
}

}  // namespace

Status PdmTask::sweep(const PdmPlace& from, const PdmPlace& to, RunContext& context, const RunningSweep& running,
                      const Body& body) {
    const auto mine = [&]() -> Status {
        if (running.done()) return {};
        if (!running.source.store || !running.target.store || !context.at(Slot::work0))
            return error(Code::internal, "a sweep of parallel disks was run without its stores or its work space");
        ParallelDisks source = disks(running.source, from), target = disks(running.target, to);
        const index_t before_bytes = running.target.store->counts().written_bytes;
        SPANFFT_TRY(run_logged(running, [&] { return body(source, target, means(context, running)); }));
        Counts counted = counts_of(source, target);
        if (spec_.stored_bytes > 0 && to.place == Place::output)
            counted.disk_written_bytes = running.target.store->counts().written_bytes - before_bytes;
        counts_ += counted;
        counts_ += rounds_.counted();
        return {};
    };
    rounds_.begin();
    return rounds_.end(mine());
}

}  // namespace spanfft
