// Pipeline: one sweep over a disk. Reads, computes and writes at the same time.
//
// Method: the sweep is a row of compute steps. `steps_per_read` steps in a row share what one group of reads brought
// into a read slot, `steps_per_write` steps fill the write slot that one group of writes takes away. Slots rotate:
// while step s computes, the next group is read (of small tiles: the next three) and the one before is written.
//     column panels to blocks   read 1 panel, compute and write it tile by tile   (T, 1), 2 + 2 slots
//     the same, of turned rows  likewise, in small tiles                          (T, 1), 2 + 4 slots
//     slabs to slabs            read, compute, write 1 panel                      (1, 1), 2 + 3 slots
//     blocks to column panels   read and compute tile by tile, write 1 panel      (1, T), 4 + 2 slots
//     the same, of rows apart   read 1 panel, take it, compute and write it tile by tile   (T, 1), 2 + 2 slots
//     taken                     read 1 panel in 4 parts, take each, compute tile by tile, 4 parts of 1 panel
//     ahead                     read 1 panel, fetch tile by tile, the next one while one is computed;
//                               hand tiles on, one while the next is computed, and then write it
//                                                                                 (T, 1), 2 + 2 slots
//     in place                  read, compute, write the same slot                (1, 1), 3 slots, or 2, of which each
//                               is written before it is read into again, while nothing is computed
//     in place, of several ranks      the same, but what a write needs is waited for before the compute step
// Invariant: a slot is read into only when what it held was computed (in place: written), and computed into only when
// what it held was written. The first error stops everything; run() returns it when no request is under way.
#pragma once

#include <functional>

#include "core/touch.hpp"
#include "disk/async_io.hpp"

namespace spanfft {

struct PipelineSpec {
    index_t steps = 0;
    index_t first_step = 0;  // begins a group of reads and one of writes
    index_t steps_per_read = 1, steps_per_write = 1;
    index_t read_slots = 2, write_slots = 2;
    bool in_place = false;  // write slots are the read slots; both steps_per are 1
    Store* source = nullptr;
    Store* target = nullptr;
    std::function<index_t(index_t group)> read_count, write_count;  // requests in a group
    std::function<Run(index_t group, index_t slot, index_t i)> read_run, write_run;
    std::function<Status(index_t step, index_t read_slot, index_t write_slot)> compute;
    // Both may be empty. What begins to fetch what a compute step is about out of the read slot, and what waits for it:
    // meanwhile the step before is computed. A slot is read into again when its last step has been fetched.
    std::function<Status(index_t step, index_t read_slot)> fetch, fetched;
    // Both may be empty. What begins to hand on what a compute step made, into its write slot, and what waits for that:
    // meanwhile the next step is computed. Steps are groups of writes then.
    std::function<Status(index_t step, index_t write_slot)> hand_on, handed_on;
    // May be empty. Takes what a group of reads brought out of its slot, which is read into at once, so that as many
    // groups are being read as there are slots: one will do.
    std::function<Status(index_t group, index_t read_slot)> take;
    // With take, so many groups of reads are what steps_per_read steps share, each in a slot of its own: the first one
    // of the next steps is read while the second one of these is taken.
    index_t parts = 1;
    // All may be empty. Before group g is written: how many groups must have been, and then a call that may wait for
    // more (that these are on the disk). `written` is called for each group when it has been, one after the other.
    std::function<index_t(index_t group)> writes_before;
    std::function<Status(index_t group)> before_write, written;
    bool needs_before_compute = false;  // these come before the compute step: others write what they computed together
    void* memory = nullptr;             // all slots, for a ring to register; nullptr: it does without
    index_t memory_bytes = 0;
    // Who touches memory that is read into for the first time, by the team, while the disk reads into it; a ring does
    // not register it then, as registering would touch all of it, by one thread. nullptr: it is there.
    FirstTouch* first_touch = nullptr;
    ThreadTeam* team = nullptr;
    Trace* trace = nullptr;                       // nullptr: nothing is recorded
    std::function<bool(index_t bytes)> progress;  // payload bytes read and written since the last call; false: stop
};

struct PipelineTimes {
    double read_wait_seconds = 0, write_wait_seconds = 0, compute_seconds = 0;  // of the computing thread
};

constexpr index_t kMaxSlots = 4;

class Pipeline {
  public:
    explicit Pipeline(int io_threads, const IoChoice& io = {})
        : reader_(IoKind::read, io_threads, io), writer_(IoKind::write, io_threads, io) {}
    Status started() const { return reader_.started().ok() ? writer_.started() : reader_.started(); }
    Status run(const PipelineSpec& spec);
    const PipelineTimes& times() const { return times_; }              // of the last run
    std::string describe_reads() const { return reader_.describe(); }  // who did them, in all runs
    std::string describe_writes() const { return writer_.describe(); }

  private:
    Status drain(const PipelineSpec& spec, Status status);
    Status sweep(const PipelineSpec& spec);
    Status step(const PipelineSpec& spec, index_t index);
    Status fetch(const PipelineSpec& spec, index_t step);
    Status hand_on(const PipelineSpec& spec, index_t step);
    Status end_hand_on(const PipelineSpec& spec, index_t step);
    void start(const PipelineSpec& spec, IoKind kind, index_t group, index_t slot);
    Status start_writes(const PipelineSpec& spec, index_t group);
    Status wait_needed(const PipelineSpec& spec, index_t write_group);
    Status start_read(const PipelineSpec& spec, index_t group);
    void touch(const PipelineSpec& spec, index_t group);
    Status wait_read(const PipelineSpec& spec, index_t slot);
    Status wait_write(const PipelineSpec& spec, index_t group);  // and for those before it
    index_t take_finished_bytes();

    IoBatch reads_[kMaxSlots], writes_[kMaxSlots];
    PipelineTimes times_;
    index_t unreported_bytes_ = 0;
    index_t written_groups_ = 0;
    AsyncIo reader_, writer_;  // last: they stop before the batches go
};

}  // namespace spanfft
