// FileRun: one run of a bound plan over arrays in files or behind functions.
//
// Method: what is to be done is checked and agreed on, then the input is opened, and the output made with its scratch;
// then every array has its store and offset (RunArrays), each sweep of the plan those that it reads and writes
// (sweeps/sweep_run.hpp), and the steps run. At the end the output is flushed and gets its name. With a journal
// (journalled_run.hpp) what is done of it is kept for a later run.
// Rank 0 makes the partial file and gives it its name, and the files that chunked arrays are copied through; the others
// read and write their parts in the same files, and have a file of their own where they have scratch of their own.
// Invariant: nothing is written before all ranks are content with what is asked for; a file appears when it is whole.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/bound_plan.hpp"
#include "exec/journalled_run.hpp"
#include "exec/run_stores.hpp"

namespace spanfft {

class FileRun {
  public:
    FileRun(BoundPlan& bound, FileRequest request)
        : bound_(bound), plan_(bound.plan()), comm_(bound.comm()), request_(std::move(request)) {}
    Status run();  // collective, once
    // Of disk work, what it found done by an unfinished run.
    index_t resumed_bytes() const { return resumed_bytes_; }
    // What it could not do, and why.
    const std::vector<std::string>& notes() const { return notes_; }

  private:
    int rank() const { return bound_.rank(); }
    Status agree(const Status& mine) { return spanfft::agree(comm_, mine); }
    Status name_files();
    Status check();
    Status open_input();
    Result<std::unique_ptr<BlockWork>> make_work() const;
    std::string why_no_journal(const PlannedSweeps& sweeps) const;
    JournalRequest journal_request() const;
    Status run_without_journal();
    Status run_journalled(bool panels);
    Status open_journalled(JournalRequest& journalled, std::unique_ptr<JournalledRun>& run);
    Status run_in_journal(JournalledRun& run, bool panels);
    Status check_what_was_read(JournalledRun& run, SweepRun* sweeps);
    Status share_files(const OutputFile* files);
    Status publish(JournalledRun* run);  // nullptr: it had ended, which rank 0 says
    void note_moved_away();

    BoundPlan& bound_;
    const Plan& plan_;
    Comm& comm_;
    FileRequest request_;
    RunContext context_;
    RunStores stores_{request_, plan_};
    std::unique_ptr<BlockWork> work_;
    RunStores::Shared shared_;  // of ranks but 0
    PlannedSweeps sweeps_;
    InPlaceState in_place_state_ = InPlaceState::untouched;  // as rank 0 found it
    index_t resumed_bytes_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace spanfft
