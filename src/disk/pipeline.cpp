// The schedule of a sweep; see pipeline.hpp.
#include "disk/pipeline.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace spanfft {

namespace {

index_t slots_read_into(const PipelineSpec& spec) { return spec.parts > 1 ? spec.parts : spec.read_slots; }

index_t slot_of(const PipelineSpec& spec, index_t read_group) { return read_group % slots_read_into(spec); }

index_t write_slot_of(const PipelineSpec& spec, index_t write_group) {
    return write_group % (spec.in_place ? spec.read_slots : spec.write_slots);
}

// Groups whose reads are under way, at most: of what is taken one more, into the slot that this has left.
index_t reads_at_once(const PipelineSpec& spec) {
    if (spec.take) return slots_read_into(spec);
    return spec.in_place || spec.fetch ? 1 : std::max<index_t>(1, spec.read_slots - 1);
}

index_t first_read(const PipelineSpec& spec) { return spec.first_step / spec.steps_per_read * spec.parts; }

class Stopwatch {
  public:
    explicit Stopwatch(double& total) : total_(total), start_(std::chrono::steady_clock::now()) {}
    ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& total_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace

Status Pipeline::run(const PipelineSpec& spec) {
    assert(spec.read_slots <= kMaxSlots && spec.write_slots <= kMaxSlots);
    assert(!spec.in_place || (spec.steps_per_read == 1 && spec.steps_per_write == 1));
    assert(spec.parts == 1 || (spec.take && spec.parts <= kMaxSlots && !spec.in_place));
    SPANFFT_TRY(started());
    times_ = PipelineTimes();
    unreported_bytes_ = 0;
    written_groups_ = spec.first_step / spec.steps_per_write;
    const bool there = !spec.first_touch || spec.first_touch->has(spec.memory, spec.memory_bytes);
    SPANFFT_TRY(reader_.attach(*spec.source, there ? spec.memory : nullptr, spec.memory_bytes));
    SPANFFT_TRY(writer_.attach(*spec.target, there ? spec.memory : nullptr, spec.memory_bytes));
    const Status status = drain(spec, sweep(spec));
    if (spec.first_touch && status.ok()) spec.first_touch->came(spec.memory, spec.memory_bytes);
    reader_.detach();  // the memory may be another's at the same address when the next run begins
    writer_.detach();
    if (status.ok() && spec.progress && !spec.progress(unreported_bytes_)) {
        return error(Code::interrupted, "stopped on request");
    }
    return status;
}

// Waits until no request is under way; after an error none begins any more.
Status Pipeline::drain(const PipelineSpec& spec, Status status) {
    const TraceScope scope(spec.trace, "wait for write", TraceCategory::disk);
    for (index_t i = 0; i < kMaxSlots; ++i) {
        if (!status.ok()) {
            reader_.cancel(reads_[i]);
            writer_.cancel(writes_[i]);
        }
        const Status read = reader_.wait(reads_[i]);
        Stopwatch watch(times_.write_wait_seconds);
        const Status written = writer_.wait(writes_[i]);
        unreported_bytes_ += take_finished_bytes();
        if (status.ok()) status = read.ok() ? written : read;
    }
    for (index_t i = 0; i < kMaxSlots; ++i) reads_[i].status = writes_[i].status = Status();
    return status;
}

Status Pipeline::sweep(const PipelineSpec& spec) {
    for (index_t i = 0; i < reads_at_once(spec); ++i) SPANFFT_TRY(start_read(spec, first_read(spec) + i));
    if (spec.fetch) SPANFFT_TRY(fetch(spec, spec.first_step));
    for (index_t s = spec.first_step; s < spec.steps; ++s) {
        SPANFFT_TRY(step(spec, s));
        if (!spec.progress || unreported_bytes_ == 0) continue;
        if (!spec.progress(unreported_bytes_)) return error(Code::interrupted, "stopped on request");
        unreported_bytes_ = 0;
    }
    if (spec.hand_on && spec.steps > spec.first_step) SPANFFT_TRY(end_hand_on(spec, spec.steps - 1));
    return wait_write(spec, ceil_div(spec.steps, spec.steps_per_write) - 1);
}

Status Pipeline::step(const PipelineSpec& spec, index_t index) {
    const index_t read_group = index / spec.steps_per_read * spec.parts, read_slot = slot_of(spec, read_group);
    const index_t write_group = index / spec.steps_per_write;
    const index_t write_slot = write_slot_of(spec, write_group);
    if (spec.fetch) {
        SPANFFT_TRY(spec.fetched(index, read_slot));
        SPANFFT_TRY(fetch(spec, index + 1));
    } else if (index % spec.steps_per_read == 0) {
        for (index_t group = read_group; group < read_group + spec.parts; ++group) {
            SPANFFT_TRY(wait_read(spec, slot_of(spec, group)));
            unreported_bytes_ += take_finished_bytes();
            if (spec.take) SPANFFT_TRY(spec.take(group, slot_of(spec, group)));
            SPANFFT_TRY(start_read(spec, group + reads_at_once(spec)));
        }
    }
    if (!spec.in_place && !spec.hand_on && index % spec.steps_per_write == 0)
        SPANFFT_TRY(wait_write(spec, write_group - spec.write_slots));
    if (spec.needs_before_compute) SPANFFT_TRY(wait_needed(spec, write_group));
    {
        const TraceScope scope(spec.trace, "compute", TraceCategory::compute);
        Stopwatch watch(times_.compute_seconds);
        SPANFFT_TRY(spec.compute(index, read_slot, write_slot));
    }
    if (spec.hand_on) return hand_on(spec, index);
    const bool whole = (index + 1) % spec.steps_per_write == 0 || index + 1 == spec.steps;
    return whole ? start_writes(spec, write_group) : Status();
}

// What this step is about, if there is such a step; before it all steps have been fetched.
Status Pipeline::fetch(const PipelineSpec& spec, index_t step) {
    if (step >= spec.steps) return {};
    const index_t group = step / spec.steps_per_read, slot = slot_of(spec, group);
    if (step % spec.steps_per_read == 0) {
        SPANFFT_TRY(wait_read(spec, slot));
        unreported_bytes_ += take_finished_bytes();
        SPANFFT_TRY(start_read(spec, group + 1));
    }
    return spec.fetch(step, slot);
}

// What this step made, when the step before has been handed on and its slot is free.
Status Pipeline::hand_on(const PipelineSpec& spec, index_t step) {
    if (step > spec.first_step) SPANFFT_TRY(end_hand_on(spec, step - 1));
    SPANFFT_TRY(wait_write(spec, step - spec.write_slots));
    return spec.hand_on(step, step % spec.write_slots);
}

Status Pipeline::end_hand_on(const PipelineSpec& spec, index_t step) {
    SPANFFT_TRY(spec.handed_on(step, step % spec.write_slots));
    return start_writes(spec, step);
}

Status Pipeline::start_writes(const PipelineSpec& spec, index_t group) {
    if (!spec.needs_before_compute) SPANFFT_TRY(wait_needed(spec, group));
    start(spec, IoKind::write, group, write_slot_of(spec, group));
    return {};
}

void Pipeline::start(const PipelineSpec& spec, IoKind kind, index_t group, index_t slot) {
    const bool reads = kind == IoKind::read;
    IoBatch& batch = (reads ? reads_ : writes_)[slot];
    batch.store = reads ? spec.source : spec.target;
    batch.group = group;
    batch.slot = slot;
    batch.count = (reads ? spec.read_count : spec.write_count)(group);
    batch.run = reads ? &spec.read_run : &spec.write_run;
    batch.trace = spec.trace;
    const TraceScope scope(spec.trace, reads ? "start reads" : "start writes", TraceCategory::disk);
    (reads ? reader_ : writer_).start(batch);
}

Status Pipeline::wait_needed(const PipelineSpec& spec, index_t write_group) {
    if (spec.writes_before) SPANFFT_TRY(wait_write(spec, spec.writes_before(write_group) - 1));
    return spec.before_write ? spec.before_write(write_group) : Status();
}

Status Pipeline::start_read(const PipelineSpec& spec, index_t group) {
    if (group / spec.parts * spec.steps_per_read >= spec.steps) return {};
    const index_t slot = slot_of(spec, group);
    if (spec.in_place) SPANFFT_TRY(wait_write(spec, group - spec.read_slots));
    start(spec, IoKind::read, group, slot);
    if (spec.first_touch && group < first_read(spec) + slots_read_into(spec)) touch(spec, group);
    return {};
}

// What the group is read into.
void Pipeline::touch(const PipelineSpec& spec, index_t group) {
    const IoBatch& batch = reads_[slot_of(spec, group)];
    const char *from = nullptr, *to = nullptr;
    for (index_t i = 0; i < batch.count; ++i) {
        const Run run = spec.read_run(group, batch.slot, i);
        const auto* const data = static_cast<const char*>(run.data);
        from = from ? std::min(from, data) : data;
        to = to ? std::max(to, data + run.bytes) : data + run.bytes;
    }
    if (!from || spec.first_touch->has(from, to - from)) return;
    const TraceScope scope(spec.trace, "touch memory", TraceCategory::compute);
    spec.first_touch->touch(from, to - from, *spec.team);
}

Status Pipeline::wait_read(const PipelineSpec& spec, index_t slot) {
    const TraceScope scope(spec.trace, "wait for read", TraceCategory::disk);
    Stopwatch watch(times_.read_wait_seconds);
    return reader_.wait(reads_[slot]);
}

Status Pipeline::wait_write(const PipelineSpec& spec, index_t group) {
    for (; written_groups_ <= group; ++written_groups_) {
        const TraceScope scope(spec.trace, "wait for write", TraceCategory::disk);
        Stopwatch watch(times_.write_wait_seconds);
        IoBatch& batch = writes_[write_slot_of(spec, written_groups_)];
        SPANFFT_TRY(writer_.wait(batch));
        unreported_bytes_ += take_finished_bytes();
        if (spec.written) SPANFFT_TRY(spec.written(written_groups_));
    }
    return {};
}

// Bytes of batches that have ended and were not yet reported.
index_t Pipeline::take_finished_bytes() {
    index_t bytes = 0;
    for (IoBatch* batches : {reads_, writes_}) {
        for (index_t i = 0; i < kMaxSlots; ++i) {
            AsyncIo& io = batches == reads_ ? reader_ : writer_;
            bytes += io.take_bytes(batches[i]);
        }
    }
    return bytes;
}

}  // namespace spanfft
