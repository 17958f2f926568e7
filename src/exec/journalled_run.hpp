// JournalledRun: a transform of a file that a later start can go on with.
//
// Method: the journal (disk/journal.hpp) lies in the first scratch folder, under a name that depends on input and
// output alone, so that a run with another problem meets what an older one left. Its first lines say what is done to
// what: version, problem, engines, steps, the input (file_identity.hpp; behind a function, what the caller says of it),
// header or what the caller says of the output, callbacks, packing, folders. A start with the same lines goes on; any
// other is told which line differs. Panels follow (disk/sweep_log.hpp). What is kept has marks of the journal's
// generation (disk/kept_mark.hpp), so that neither is believed beside one of another moment. In place (in_place.hpp)
// nothing is published: the output is whole when it has overwritten the input, and what a run kept is as necessary as
// the file itself meanwhile. An output behind a function is its caller's to publish, before anything goes that it is
// made of; what a killed run had written of it is written again.
// Invariant: scratch and partial output are named and kept as long as there is a journal, which may say that panels are
// done; an end that nobody decided on (give_up, abandon, publish) leaves them, as a kill does.
// Their names are computed, never read: a journal says in which folders they are, and no more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "disk/journal.hpp"
#include "disk/output_file.hpp"
#include "exec/in_place.hpp"
#include "exec/unfinished_run.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft {

class JournalledRun : public LineSink {
  public:
    static Result<std::unique_ptr<JournalledRun>> open(const Plan& plan, const PlannedSweeps& layout,
                                                       const JournalRequest& request);

    // Lines of progress, in step with the marks of what is kept.
    Status before_flush() override;
    Status append(const std::string& line) override;
    std::unique_ptr<OutputFile>& output() { return output_; }
    const std::vector<std::string>& progress() const { return progress_; }  // lines to resume from; empty: a new run
    // In place: the input, to be overwritten; how far that is.
    FileStore* input() { return input_.get(); }
    InPlaceState in_place_state() const { return state_; }
    // In place: the half overwritten file was replaced by a copy of what it had been, so all of it is written again.
    bool restored() const { return restored_; }
    // Not ok: the input's times or inode are not those of when the unfinished run began, though its size and samples
    // are. If what had been read of it is there (SweepRun::input_is_as_read), that is no matter; else `leave`.
    const Status& doubt() const { return doubt_; }
    // Ends, and leaves all as it is; returns `why`.
    Status leave(const Status& why);
    // Before any sweep, on several ranks: takes away what it made if all have begun anew, else leaves all, as also
    // where `why` is that they don't hear one another; returns `why`.
    Status abandon(const Status& why);
    // After all sweeps of all ranks, on ranks but 0: what this one did will not be needed again.
    Status note_whole() { return note("publish now"); }
    // After all sweeps. `finish` does what is left to do to the output's file, on the disk; then that gets its name. In
    // place, copies it over the input, with this memory, if that was not its last sweep.
    Status publish(const std::function<Status()>& finish, char* memory, index_t memory_bytes, RunContext& context);
    // What a failed run says and leaves.
    Status give_up(const Status& why, index_t durable_panels);

  private:
    JournalledRun(const JournalRequest& request, const PlannedSweeps& layout);
    Result<bool> goes_on(const std::vector<std::string>& lines);
    Status reopen();
    Status check_marks() const;
    std::vector<std::string> files_of(size_t sweep) const;
    Status note(const std::string& line);
    Status mark_input();
    Status begin(const std::vector<std::string>& lines);
    void unlink_kept();
    Status overwrite(char* memory, index_t memory_bytes, RunContext& context);
    Status give_name(const std::function<Status()>& finish);
    void remove();

    JournalRequest request_;  // with the names of what is kept
    bool overwrites_ = false;
    bool restored_ = false;
    std::vector<Place> targets_;  // of the sweeps
    uint64_t run_ = 0;            // in marks
    index_t generation_ = 0;      // lines of progress in the journal
    size_t last_sweep_ = 0;
    std::unique_ptr<Journal> journal_;
    std::unique_ptr<OutputFile> output_;
    std::unique_ptr<FileStore> input_;
    InPlaceState state_ = InPlaceState::untouched;
    Status doubt_;
    std::vector<std::string> earlier_;  // what the journal said before this run
    std::vector<std::string> progress_;
};

}  // namespace spanfft
