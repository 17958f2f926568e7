// What an earlier start left between the same files: whether there is an unfinished run, what it kept and where, and
// what a new start does about it.
//
// Method: the names of all that a run keeps are computed from its input, its output and its folders (kept_names), so
// that any start with the same two files finds the journal whatever else it asks for. The folders of an earlier run are
// those that its journal names (kept_by). On several ranks all have to go on, or all begin anew (agree_on_run).
// Invariant: nothing is taken away of a run that has begun, unless the caller asks for that (JournalMode::restart).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "disk/output_file.hpp"
#include "exec/file_request.hpp"
#include "exec/in_place.hpp"

namespace spanfft {

// What a run with a journal is asked for (journalled_run.hpp).
struct JournalRequest {
    JournalMode mode = JournalMode::automatic;
    std::string input_path;
    index_t input_offset_bytes = 0, input_bytes = 0;  // the array
    std::string input_identity;                       // of one behind a function; else empty
    std::string output_path;                          // what was asked for
    std::string engines;
    std::string callbacks;  // what they do; empty: there are none
    bool packed_input = false, packed_output = false;
    OutputRequest output;  // as without a journal; in place, where the copy goes that the input is made of
    bool in_place = false;
    bool restored = false;  // in place, of ranks but 0: what rank 0 says (JournalledRun::restored)
    // Of several ranks, each of which has a journal of its own work, in scratch of its own, under one number of the
    // run (agree_on_run). Ranks but 0 have their output behind a function: it is rank 0's file.
    int rank = 0;
    uint64_t run = 0;                                          // 0: a new one
    bool owns_input() const { return in_place && rank == 0; }  // has the journal beside it, marks and finishes it
    // Of an output behind a function: how it is stored, and what makes it stay when it is whole.
    struct Behind {
        std::string identity;
        std::function<Status()> finish;
    };
    std::optional<Behind> behind = {};
};

bool file_exists(const std::string& path);
uint64_t new_run_number();  // a random one, not 0

// Where a run for this request keeps what it keeps; and where the run did that a journal speaks of, in the folders that
// it names.
KeptFiles kept_names(const JournalRequest& request);
KeptFiles kept_by(const std::vector<std::string>& lines, const JournalRequest& request);
void unlink_all(const KeptFiles& kept);
// Whether the journal is one of a run to go on with. One that was killed before its first panel was done, or after its
// output had its name, is none.
bool has_begun(const std::vector<std::string>& lines, InPlaceState state, const KeptFiles& kept);

struct UnfinishedRun {
    std::string problem;  // with the means that it was planned for; empty: there is none
    std::string journal;  // path
};
// Whether a run from this input to this output (the same file: in place) was left unfinished. Without a lock: it may be
// running.
Result<UnfinishedRun> find_unfinished(const std::string& input_path, index_t input_offset_bytes,
                                      const std::string& output_path, const std::vector<std::string>& scratch_folders);

// What runs have left in this folder that was moved since, so that no later run finds it: a sentence on each.
std::vector<std::string> moved_away(const std::string& folder);

// What a rank knows of an unfinished run between these files.
struct KnownRun {
    uint64_t run = 0;   // 0: it has no journal
    int32_t begun = 0;  // some panels are done
    int32_t whole = 0;  // all panels of all ranks are, so that rank 0 may have published the output
};
enum class RunDecision { go_on, begin, refuse };
RunDecision decide_on_run(const std::vector<KnownRun>& of_each_rank);

// Collective, before the ranks' journals are opened: whether all go on with one run, or all begin anew, which is
// written into the request. An error where some ranks have an unfinished run and others do not, with what to do.
Status agree_on_run(Comm& comm, JournalRequest& request);

// Of a run that can't have a journal: throws an unfinished one between the same files away where that is asked for, and
// else refuses to begin while there is one. What is left of one that had not begun, or had ended, goes either way.
Status pass_over_unfinished(const JournalRequest& request, const std::string& why_no_journal);

}  // namespace spanfft
