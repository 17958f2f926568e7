// Stores as disks, sweeps as counts; see pdm_support.hpp.
#include "plan/pdm_support.hpp"

#include <algorithm>

namespace spanfft {

const char* pdm_place_name(const PdmPlace& place) {
    return place.place == Place::input ? "input" : place.place == Place::scratch ? "scratch" : "output";
}

namespace {

Store* store_of(const RunContext& context, Place place) {
    return place == Place::input     ? context.input_store
           : place == Place::scratch ? context.scratch_store
                                     : context.output_store;
}

}  // namespace

Status check_pdm_context(const RunContext& context, const PdmPlace& source, const PdmPlace& target) {
    if (store_of(context, source.place) && store_of(context, target.place) && context.at(Slot::work0)) return {};
    return error(Code::internal, "a step on parallel disks was run without its stores or its work space");
}

ParallelDisks pdm_disks(const PdmSpec& spec, const PdmPlace& place, const RunContext& context) {
    const index_t offset = place.place == Place::input     ? context.input_offset_bytes
                           : place.place == Place::scratch ? place.area * spec.array_bytes()
                                                           : context.output_offset_bytes;
    return ParallelDisks(*store_of(context, place.place), static_cast<int>(spec.shape.disks()), offset, spec.blocks(),
                         spec.block_bytes());
}

Counts pdm_predicted(const PdmSpec& spec, index_t sweeps, const Machine& machine) {
    Counts counts;
    counts.disk_reads = counts.disk_writes = sweeps * spec.blocks();
    counts.disk_read_bytes = counts.disk_written_bytes = sweeps * spec.array_bytes();
    counts.memory_bytes = counts.disk_read_bytes + counts.disk_written_bytes;
    const auto read = static_cast<double>(counts.disk_read_bytes) / machine.disk_read_bytes_per_second;
    const auto written = static_cast<double>(counts.disk_written_bytes) / machine.disk_write_bytes_per_second;
    const auto requests = static_cast<double>(counts.disk_reads + counts.disk_writes);
    const double disk =
        read + written + requests * machine.disk_request_seconds / static_cast<double>(machine.disk_queue_depth);
    const double memory = static_cast<double>(counts.memory_bytes) / machine.memory_bytes_per_second / spec.threads;
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
    counts.memory_bytes = counts.disk_read_bytes + counts.disk_written_bytes;
    counts.parallel_ios = source.parallel_ios().total() + (same ? 0 : target.parallel_ios().total());
    return counts;
}

}  // namespace spanfft
