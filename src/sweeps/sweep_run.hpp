// SweepRun: what the sweeps of a plan share while they run: where each reads and writes, checksums of what one hands to
// the next, and, with a journal, which panels are done.
//
// Method: a sweep that works in place would overwrite what a killed run needs; with a journal its source is displaced
// (disk/displaced_store.hpp), for which the file is an eighth or so longer meanwhile. Which displacement, and how many
// panels must be on the disk before another is written, follows from the panels' geometry (examine_sweeps).
// Of a run in place, whose output is its input, the last sweep alone writes there, from another file: until then the
// input is as it was, and from then on all that it becomes is in files that a journal knows.
// Invariant: a run that resumes reads what the killed one wrote, verified by the same sums, and computes every panel
// that is left as a run from the start would: to the same bits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "disk/displaced_store.hpp"
#include "disk/panel_sums.hpp"
#include "disk/sweep_log.hpp"
#include "plan/plan.hpp"
#include "plan/sweep_outline.hpp"

namespace spanfft {

// One sweep; the stores and what is behind the pointers are the SweepRun's.
struct RunningSweep : LoggedSweep {
    StoredArray source, target;
    PanelSums* read_sums = nullptr;  // what its source must be; nullptr: the run's input, or no checksums
    SweepLog* log = nullptr;         // nullptr: no journal, or a sweep that begins anew
    // Where the sweep begins: at first_panel, or before it, where other ranks need what this one has done.
    index_t begins_at = 0;
    bool done() const { return begins_at >= panels; }
    bool done_before(index_t panel) const { return panel < first_panel; }
};

// How the sweeps of a plan can be journalled.
struct PlannedSweeps {
    std::vector<SweepOutline> sweeps;
    std::vector<size_t> first_sweep;                     // of each step, and the end
    std::string why_not;                                 // not empty: it can't
    std::vector<std::optional<Displacement>> displaced;  // the source of each sweep, from the array's first byte on
    index_t output_extra_bytes = 0, scratch_extra_bytes = 0;
    bool overwrites_input = false;  // in place: the last sweep does; else the whole output is copied there
    bool needs_output = true;       // besides what the last sweep writes, if that goes elsewhere
    index_t memory_bytes = 0;       // of the sums, journal or not
    bool unsummed = false;          // what some sweep hands to the next one
    int rank = 0;                   // whose they are
};
// On several ranks, of one of them.
PlannedSweeps examine_sweeps(const Plan& plan, bool in_place = false, int rank = 0);

class SweepRun {
  public:
    // `arrays` are as large as the plan asks and, where there is a sink, as its sweeps ask besides.
    SweepRun(const Plan& plan, PlannedSweeps sweeps, const RunArrays& arrays, bool checksums, LineSink* sink);
    Status started() const { return log_ ? log_->started() : Status(); }
    // Goes on where these lines of a journal end.
    Status resume(const std::vector<std::string>& lines);
    // After resume(), collective: a sweep in which ranks exchange begins where the one begins that has done least.
    Status align(Comm& comm);
    // Collective, before a step: what its sweep reads of what all ranks have written.
    Status share_sums(size_t step, Comm& comm) const;
    // After resume(): whether what the killed run's panels read of the input is what is there. false also if no sum
    // tells. Reads all of the input, through `memory`.
    Result<bool> input_is_as_read(RunContext& context, index_t input_bytes, char* memory, index_t memory_bytes);
    // The first one of a step, which the others follow; nullptr: it has none.
    const RunningSweep* sweep(size_t step) const {
        const size_t first = planned_.first_sweep[step];
        return first < planned_.first_sweep[step + 1] ? &sweeps_[first] : nullptr;
    }
    // Of payload that the steps would move and need not.
    index_t skipped_bytes(const Plan& plan) const;
    index_t durable_panels() const { return resumed_panels_ + (log_ ? log_->durable_panels() : 0); }

  private:
    void drop_sums(size_t sweep);                                  // of what it hands on
    index_t bytes_per_panel(const Plan& plan, size_t step) const;  // read and written, of any of its sweeps

    PlannedSweeps planned_;
    std::vector<std::unique_ptr<Store>> views_;
    std::vector<std::unique_ptr<PanelSums>> sums_;  // of what sweep i hands to sweep i+1
    std::unique_ptr<ReadSum> input_sum_;            // of what the first one reads
    std::unique_ptr<SweepLog> log_;
    std::vector<RunningSweep> sweeps_;
    index_t resumed_panels_ = 0;
};

}  // namespace spanfft
