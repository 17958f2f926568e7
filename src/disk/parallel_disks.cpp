// Where blocks lie, how parallel I/Os are counted, and sweeps; see parallel_disks.hpp.
#include "disk/parallel_disks.hpp"

#include <algorithm>
#include <cassert>

namespace spanfft {

PdmCounts& PdmCounts::operator+=(const PdmCounts& other) {
    striped_reads += other.striped_reads;
    independent_reads += other.independent_reads;
    striped_writes += other.striped_writes;
    independent_writes += other.independent_writes;
    return *this;
}

ParallelDisks::ParallelDisks(Store& store, int disks, index_t offset_bytes, index_t blocks, index_t block_bytes,
                             Share share)
    : store_(store),
      disks_(disks),
      offset_bytes_(offset_bytes),
      blocks_(blocks),
      block_bytes_(block_bytes),
      share_(share),
      last_note_(static_cast<size_t>(disks), 0) {}

Status ParallelDisks::note(AsyncIo::Kind kind, const std::function<index_t(index_t i)>& block, index_t count) {
    const bool read = kind == AsyncIo::Kind::read;
    for (index_t begin = 0; begin < count; begin += disks_) {
        const index_t end = std::min(begin + disks_, count);
        ++note_number_;
        bool one_stripe = end - begin == disks_;
        const index_t stripe = block(begin) / disks_;
        for (index_t i = begin; i < end; ++i) {
            const index_t q = block(i);
            if (q < 0 || q >= blocks_) return error(Code::internal, "a parallel I/O names block ", q, " of ", blocks_);
            index_t& last = last_note_[static_cast<size_t>(q % disks_)];
            if (last == note_number_)
                return error(Code::internal, "a parallel I/O names block ", q, ", a second one of its disk");
            last = note_number_;
            one_stripe = one_stripe && q / disks_ == stripe;
        }
        index_t& counter = one_stripe ? (read ? counts_.striped_reads : counts_.striped_writes)
                                      : (read ? counts_.independent_reads : counts_.independent_writes);
        ++counter;
    }
    return {};
}

bool ParallelDisks::next_piece(const Run& run, int index, index_t& from, Run& piece) const {
    for (Run part; piece_below(run, from, part); from += part.bytes) {
        index_t from_below = part.offset_bytes;
        if (!store_.next_piece(part, index, from_below, piece)) continue;
        from += from_below - part.offset_bytes;
        return true;
    }
    return false;
}

// Worked: blocks of 4 bytes, 2 disks a processor, processor 1 of 3: its blocks 0 and 1 are blocks 2 and 3 of all, 2 and
// 3 are 8 and 9.
index_t ParallelDisks::byte_below(index_t byte) const {
    const index_t band = disks_ * block_bytes_;
    return offset_bytes_ + (byte / band * share_.processors + share_.processor) * band + byte % band;
}

index_t ParallelDisks::bytes_together(index_t byte) const {
    const index_t band = disks_ * block_bytes_;
    return share_.processors == 1 ? size_bytes() - byte : band - byte % band;
}

bool ParallelDisks::piece_below(const Run& run, index_t from, Run& piece) const {
    const index_t end = run.offset_bytes + run.bytes;
    if (from >= end) return false;
    piece = run;
    piece.offset_bytes = byte_below(from);
    piece.data = static_cast<char*>(run.data) + (from - run.offset_bytes);
    piece.bytes = std::min(end - from, bytes_together(from));
    return true;
}

Status ParallelDisks::transfer(IoKind kind, const Run& run) {
    SPANFFT_TRY(check_range(run));
    index_t from = run.offset_bytes;
    for (Run piece; piece_below(run, from, piece); from += piece.bytes)
        SPANFFT_TRY(kind == IoKind::read ? store_.read(piece) : store_.write(piece));
    return {};
}

std::string ParallelDisks::describe() const {
    return cat(disks_, disks_ == 1 ? " disk" : " disks", " in blocks of ", block_bytes_, " bytes: ", store_.describe());
}

namespace {

// The pipeline's groups, which are memoryloads, as blocks of the two arrays.
struct Noted {
    Status status;
    index_t reads = 0, writes = 0;  // groups; sums ask for the count of one once more
};

void describe(const DiskSweep& sweep, const SweepMeans& means, Noted& noted, PipelineSpec& pipeline) {
    const index_t load_bytes = sweep.blocks_per_load * sweep.source->block_bytes();
    const bool async = means.mode == IoMode::asynchronous;
    pipeline.in_place = sweep.in_place;
    pipeline.read_slots = !async ? 1 : sweep.in_place ? 3 : 2;
    pipeline.write_slots = async ? 2 : 1;
    pipeline.source = sweep.source;
    pipeline.target = sweep.target;
    char* const read_memory = means.memory;
    char* const write_memory = sweep.in_place ? read_memory : read_memory + pipeline.read_slots * load_bytes;
    pipeline.memory = means.memory;
    pipeline.memory_bytes = (pipeline.read_slots + (sweep.in_place ? 0 : pipeline.write_slots)) * load_bytes;
    const auto count = [&sweep, &means, &noted](ParallelDisks* disks, AsyncIo::Kind kind, index_t group,
                                                const std::function<index_t(index_t, index_t)>& block) {
        index_t& groups = kind == AsyncIo::Kind::read ? noted.reads : noted.writes;
        if (kind == AsyncIo::Kind::write && group < means.writes_from) return index_t{0};
        if (group < groups) return sweep.blocks_per_load;
        groups = group + 1;
        const Status status = disks->note(kind, [&](index_t i) { return block(group, i); }, sweep.blocks_per_load);
        if (!status.ok() && noted.status.ok()) noted.status = status;
        return status.ok() ? sweep.blocks_per_load : 0;
    };
    pipeline.read_count = [=, &sweep](index_t group) {
        return count(sweep.source, AsyncIo::Kind::read, group, sweep.source_block);
    };
    pipeline.write_count = [=, &sweep](index_t group) {
        return count(sweep.target, AsyncIo::Kind::write, group, sweep.target_block);
    };
    const auto run = [load_bytes, bytes = sweep.source->block_bytes()](index_t block, char* memory, index_t slot,
                                                                       index_t i) {
        return Run{block * bytes, memory + slot * load_bytes + i * bytes, bytes, false};
    };
    pipeline.read_run = [=, &sweep](index_t group, index_t slot, index_t i) {
        return run(sweep.source_block(group, i), read_memory, slot, i);
    };
    pipeline.write_run = [=, &sweep](index_t group, index_t slot, index_t i) {
        return run(sweep.target_block(group, i), write_memory, slot, i);
    };
    pipeline.compute = [=, &sweep, &noted](index_t step, index_t read_slot, index_t write_slot) {
        SPANFFT_TRY(noted.status);
        return sweep.compute(step, read_memory + read_slot * load_bytes, write_memory + write_slot * load_bytes);
    };
}

}  // namespace

Status run_sweep(const DiskSweep& sweep, const SweepMeans& means) {
    assert(sweep.source->block_bytes() == sweep.target->block_bytes());
    Noted noted;
    PipelineSpec spec;
    describe(sweep, means, noted, spec);
    if (means.dress) means.dress(spec);
    // Synchronous: a pipeline of one memoryload at a time has nothing to overlap.
    const index_t at_once = means.mode == IoMode::asynchronous ? sweep.loads : 1;
    for (index_t first = means.first_load; first < sweep.loads; first += at_once) {
        spec.first_step = first;
        spec.steps = std::min(sweep.loads, first + at_once);
        SPANFFT_TRY(means.pipeline->run(spec));
        SPANFFT_TRY(noted.status);
    }
    return {};
}

}  // namespace spanfft
