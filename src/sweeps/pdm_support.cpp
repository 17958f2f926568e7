// Stores as disks, sweeps as counts; see pdm_support.hpp.
#include "sweeps/pdm_support.hpp"

#include <algorithm>

#include "sweeps/sweep_hooks.hpp"

namespace spanfft {

Status check_pdm_context(const RunContext& context, const PdmPlace& source, const PdmPlace& target) {
    const bool stores = written_at(context, source.place, 0).store && written_at(context, target.place, 0).store;
    if (stores && context.at(Slot::work0)) return {};
    return error(Code::internal, "a step on parallel disks was run without its stores or its work space");
}

ParallelDisks pdm_disks(const PdmSpec& spec, const PdmPlace& place, const RunContext& context, int rank) {
    const bool own = place.place == Place::scratch;  // else a file that all ranks see
    // The last sweep alone has to do with the output.
    const StoredAt at = written_at(context, place.place, place.area * spec.array_bytes());
    return ParallelDisks(*at.store, static_cast<int>(spec.share().disks()), at.offset_bytes, spec.blocks(),
                         spec.block_bytes(), own ? ParallelDisks::Share{} : ParallelDisks::Share{rank, spec.ranks()});
}

SweepOutline pdm_outline(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, bool exchanges,
                         std::function<index_t(index_t block)> reads, std::function<index_t(index_t block)> writes) {
    const index_t loads = spec.shape.memoryloads();
    SweepOutline outline;
    outline.source = source.place;
    outline.target = target.place;
    outline.source_scratch_bytes = source.area * spec.array_bytes();
    outline.target_scratch_bytes = target.area * spec.array_bytes();
    outline.panels = loads;
    outline.read = Partition::of_loads(loads, spec.block_bytes(), std::move(reads));
    outline.written = Partition::of_loads(loads, spec.block_bytes(), std::move(writes));
    outline.threads = spec.threads;
    outline.exchanges = exchanges;
    outline.keeps_own = target.place == Place::scratch;
    return outline;
}

index_t first_load(const RunningSweep* sweep) { return sweep ? sweep->begins_at : 0; }
index_t first_written(const RunningSweep* sweep) { return sweep ? sweep->logged.first_panel : 0; }

double pdm_wire_seconds(const PdmSpec& spec, const Counts& sent, const Machine& machine) {
    const ExchangeFigures figures = machine.exchange("overlap");
    return (machine.topology.nodes(spec.ranks()) == 1 ? figures.near : figures.far)
        .seconds(static_cast<double>(sent.messages), static_cast<double>(sent.sent_bytes));
}

std::function<void(PipelineSpec&)> pdm_dress(const RunningSweep* sweep, ThreadTeam& team) {
    if (!sweep) return {};
    return [sweep, &team](PipelineSpec& pipeline) {
        sum_up(pipeline, *sweep, 1, team);
        log_panels(pipeline, *sweep, 1);
    };
}

Counts pdm_predicted(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, const Machine& machine) {
    const auto disks = [&](const PdmPlace& place) { return place.place == Place::scratch ? spec.scratch_disks : 1; };
    Counts counts;
    counts.disk_reads = counts.disk_writes = spec.blocks();
    counts.disk_read_bytes = counts.disk_written_bytes = spec.array_bytes();
    Counts all = counts;  // ranks share the disks, as far as the plan knows
    for (index_t* each : {&all.disk_reads, &all.disk_writes, &all.disk_read_bytes, &all.disk_written_bytes})
        *each *= spec.ranks();
    const double disk = machine.disk_seconds(all, disks(source), disks(target));
    const double memory = static_cast<double>(counts.disk_read_bytes + counts.disk_written_bytes) /
                          machine.memory_bytes_per_second / spec.threads;
    counts.seconds = spec.mode == IoMode::asynchronous ? std::max(disk, memory) : disk + memory;
    return counts;
}

Counts pdm_counted(const ParallelDisks& source, const ParallelDisks& target) {
    const bool same = &source == &target;
    const StoreCounts reads = source.counts(), writes = target.counts();
    Counts counts;
    counts.disk_reads = reads.reads;
    counts.disk_read_bytes = reads.read_bytes;
    counts.disk_writes = writes.writes;
    counts.disk_written_bytes = writes.written_bytes;
    counts.parallel_ios = source.parallel_ios().total() + (same ? 0 : target.parallel_ios().total());
    return counts;
}

}  // namespace spanfft
