// Running a plan for files larger than memory on ranks that are threads, each with stores that it alone counts.
//
// Method: one input and one output in memory, which all ranks see, and a scratch for each, as on disks of nodes of
// their own; each rank has views of them, through which its operations go and may fail, and its own progress. Steps are
// bound and run in order, and what they end with is agreed on after each, as the executor does.
#pragma once

#include <atomic>

#include "support/store_run.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {

// Ranks with journals, who all die at once: after so many writes of all of them every write fails, and so does every
// line of a journal. The next run with the same disks goes on.
struct RanksDisks {
    RanksDisks(const Plan& plan, int ranks);
    std::unique_ptr<MemoryStore> output;
    std::vector<std::unique_ptr<MemoryStore>> scratch;
    std::vector<std::vector<std::string>> lines;  // of each rank's journal
    std::atomic<index_t> writes{0};               // in this run, of all
    index_t dies_at = -1;                         // -1: never
    bool dead() const { return dies_at >= 0 && writes >= dies_at; }
};

// What goes wrong, and where the arrays lie.
struct RanksSetting {
    index_t input_offset = 0, output_offset = 0;
    int fault_rank = -1;  // whose operation `fail_at` fails, from 1 on; `persistent`: and all later ones
    index_t fail_at = 0;
    bool persistent = false;
    Code fault_code = Code::io_error;
    int stop_rank = -1, stop_after = 0;  // the rank whose progress says stop at that call
    int flip_before_step = -1;           // a bit of this byte of the output flips then
    index_t flip_byte = 0;
    bool slow_messages = false;    // as the planner knows them
    bool fast_scratch = false;     // likewise
    ThreadWorld* world = nullptr;  // on which it runs; nullptr: one of its own
    RanksDisks* disks = nullptr;   // which are gone on with and kept, with journals; nullptr: without
};

// What one rank saw.
struct RankSeen {
    Status status;
    std::vector<Counts> predicted, counted;  // of each step
    index_t operations = 0;                  // of its stores
    index_t progress_calls = 0, progress_bytes = 0, progress_total = 0;
    Delivered delivered;
    index_t writes_off_blocks = 0;     // of its scratch (simulated_store.hpp)
    bool scratch_at_most_once = true;  // no byte of its scratch was written twice by one sweep
};

struct RanksRun {
    Status planned;
    std::shared_ptr<Plan> plan;
    std::vector<RankSeen> ranks;
    Values input, output;
    bool each_byte_once = true;     // of the output, by each sweep that writes it, whoever wrote it
    index_t writes_off_blocks = 0;  // of the output (simulated_store.hpp)
    bool input_untouched = true;
    bool exchanges() const { return plan->scratch_of_each_rank_bytes > 0; }
};

// `problem` says how many ranks. The input is that of run_on_stores.
RanksRun run_on_ranks(const std::string& problem, SolverFunction solve, const RanksSetting& setting = {});

// Reports through gtest, of a run that ended well: what each rank's steps counted, and what was delivered, is what was
// predicted; all ranks together move what one process moves; memory, progress, and each byte written once.
void expect_shared_out(const RanksRun& run);

}  // namespace spanfft::test
