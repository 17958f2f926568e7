// Executor: binds a plan to a communicator, buffers and (for files) stores, and runs it.
//
// Method: construction allocates every buffer and binds every step; running only moves data. Measured counts are kept
// for each step beside the prediction.
// Invariant: nothing is allocated while a plan runs; all ranks return the same status from every collective method, but
// for an MPI call that fails on one rank in the middle of execute(): that rank returns it, the others at the next call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/cpus.hpp"
#include "disk/array_store.hpp"
#include "exec/clock_alignment.hpp"
#include "exec/journalled_run.hpp"
#include "plan/block_work.hpp"
#include "plan/plan.hpp"

namespace spanfft {

struct FileRequest {
    std::string input_path;
    index_t input_offset_bytes = 0;
    std::string output_path;
    std::string header;  // goes before the array in the output
    // Scratch is striped over them; empty: the output's. May differ from rank to rank; {rank} and {node} in them stand
    // for the numbers of this rank and of its node.
    std::vector<std::string> scratch_folders;
    Progress progress;
    // Of a plan whose problem has input_chunk or output_chunk: the array, instead of a file.
    BoxTransfer read_box = {}, write_box = {};
    // With a journal: a text that changes when the input behind read_box does (empty: no journal), and one that says
    // how write_box stores the output, as a file's header does.
    std::string input_identity = {}, output_identity = {};
    // Of write_box: the output is whole, and is to be where it stays before what it is made of goes. May be empty.
    std::function<Status()> finish = {};
    bool packed_input = false, packed_output = false;  // half spectra of n/2 numbers (disk/packed_store.hpp)
    BlockCallbacks callbacks = {};                     // of this rank's blocks; on all ranks or on none
    JournalMode journal = JournalMode::off;
    bool checksums = true;  // of what one sweep hands to the next
    bool in_place = false;  // the output takes the input's place in its file (exec/in_place.hpp); output_path is its
};

class RunStores;

class Executor {
  public:
    // Collective over comm, which the executor keeps. `undone`: one whose work this one undoes, or nullptr. What both
    // own is one array then: this one's input (own_input) is the other's output (own_output), and the other way round.
    static Result<std::unique_ptr<Executor>> make(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm,
                                                  const Executor* undone = nullptr);

    // Collective. Arrays in memory: this rank's parts. `ready`: why this rank can't take part, if so; then none does.
    Status execute(const void* in, void* out, const Status& ready = {});
    // Collective. Arrays in files or behind functions: reads, transforms, writes; a file appears when it is whole.
    Status transform_file(const FileRequest& request);

    // Of a plan with own_output, or own_input; nullptr for others.
    void* own_output() const {
        return plan_->problem.own_output ? memory_[static_cast<size_t>(Slot::output)] : nullptr;
    }
    void* own_input() const { return plan_->problem.own_input ? memory_[static_cast<size_t>(Slot::input)] : nullptr; }

    // Collective. Records what the runs that follow do, on top of the plan's memory; an older trace is thrown away.
    Status start_trace(index_t max_events);
    void stop_trace() {
        if (trace_) trace_->stop();
    }
    const Trace* trace() const { return trace_.get(); }  // nullptr before the first start_trace
    const ClockAlignment& clock() const { return clock_; }

    const Plan& plan() const { return *plan_; }
    int rank() const { return binding_.comm.rank(); }
    const std::string& engines() const { return binding_.engines(); }
    std::string window_note() const { return comm_->window_note(); }
    std::string describe_io() const;  // who did the reads and writes of disk sweeps so far; "" before the first
    // Of disk work that the last run found done by an unfinished one.
    index_t resumed_bytes() const { return resumed_bytes_; }
    // What the last run of a file could not do, and why; goes with the plan's notes.
    const std::vector<std::string>& run_notes() const { return run_notes_; }
    // One for each step of the plan after a complete run, none before.
    const std::optional<std::vector<Counts>>& counted() const { return counted_; }

  private:
    Executor(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm);
    std::array<index_t, kSlots> slot_bytes() const;
    std::pair<char*, index_t> largest_slot() const;
    bool owns(Slot slot) const;
    void adopt_arrays(const Executor& undone);
    Status allocate();
    Status make_windows();
    Status bind_steps();
    Status place_teams(std::optional<TeamCpus>& place) const;
    Status check_pointers(const void* in, void* out) const;
    RunContext make_context();
    Status agree_traced(RunContext& context, const Status& mine);
    Status run_steps(RunContext& context, bool agree_each, const SweepRun* sweeps);
    Status name_scratch(FileRequest& request) const;
    Result<std::unique_ptr<BlockWork>> make_work(const FileRequest& request) const;
    Status run_on_stores(const FileRequest& request, BlockWork& work, RunContext& context);
    void note_moved_away(const FileRequest& request);
    std::string why_no_journal(const FileRequest& request) const;
    JournalledRun::Request journal_request(const FileRequest& request) const;
    Status run_with_file(const FileRequest& request, BlockWork& work, RunContext& context, RunStores& stores);
    Status run_journalled(const FileRequest& request, BlockWork& work, RunContext& context, RunStores& stores);
    Status check_what_was_read(RunContext& context, JournalledRun& run, SweepRun* sweeps);
    Status publish(JournalledRun& run, RunStores& stores, RunContext& context);
    Status open_shared_output(std::string partial, std::unique_ptr<FileStore>& shared, RunContext& context) const;
    Status run_in_journal(BlockWork& work, RunContext& context, RunStores& stores, JournalledRun& run, bool checksums,
                          bool panels);

    std::shared_ptr<const Plan> plan_;
    std::unique_ptr<Comm> comm_;
    Binding binding_;
    index_t in_bytes_, out_bytes_;                               // of this rank's input and output
    std::array<bool, kSlots> is_shared_{};                       // a window of all ranks instead of a buffer
    std::array<std::shared_ptr<SharedWindow>, kSlots> windows_;  // traced ones of them are in binding_
    std::array<std::shared_ptr<Buffer>, kSlots> buffers_;
    std::array<void*, kSlots> memory_{};  // of each slot that the executor owns
    std::vector<std::unique_ptr<Task>> tasks_;
    std::optional<std::vector<Counts>> counted_;
    index_t resumed_bytes_ = 0;
    std::vector<std::string> run_notes_;
    std::vector<Counts> spare_counts_;  // memory for the next run's counted_
    Status failed_run_;                 // of this rank, which the others have not heard of
    std::unique_ptr<Trace> trace_;
    ClockAlignment clock_;
};

}  // namespace spanfft
