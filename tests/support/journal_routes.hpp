// Plans of every kind of sweep that can be journalled, on disks that may crash and in files.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "exec/executor.hpp"
#include "exec/journalled_run.hpp"
#include "support/crash_disk.hpp"
#include "support/store_run.hpp"
#include "sweeps/sweep_run.hpp"
#include "sweeps/sweep_step.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft::test {

struct JournalRoute {
    const char* problem;
    SolverFunction solve;
    const char* what;                 // that is special
    bool packed = false;              // the output, in files
    const char* callbacks = nullptr;  // the name of those that runs of files have; nullptr: none
};
// For SolverFunction: of a problem with method=, and the sweeps that chunked arrays need.
Result<std::unique_ptr<Plan>> by_planner(const Problem& problem, const Planner& planner);
const std::vector<JournalRoute>& journal_routes();
bool can_be_in_place(const JournalRoute& route);  // on disk: its output is as large as its input
bool is_chunked(const JournalRoute& route);       // on either side

// A plan on disks that may crash: store 0 is the input, 1 the output, then scratch and what chunked arrays are copied
// to and from, where there is any. In place: the last sweep overwrites 0. A chunked array lies on its disk box after
// box.
class CrashWorld {
  public:
    CrashWorld(const JournalRoute& route, unsigned seed, bool in_place = false);
    CrashWorld(std::shared_ptr<Plan> of, const std::string& bytes, unsigned seed);
    Status status() const { return status_; }
    // From what the journal says to the end, or to a fault; or the steps [first, steps) of `with`.
    Status run(size_t steps = 99, SweepRun* with = nullptr, size_t first = 0);
    std::string result() const;
    size_t index_of(Place place) const;  // of the store that a sweep's source or target is, but for the arrays
    std::string input_bytes() const { return disk.content(0); }
    void fill(RunContext& context);
    // Whether the journal says that the last sweep may have begun.
    bool may_overwrite() const;
    // One for all worlds with as many threads: making one takes longer than these runs.
    std::shared_ptr<SweepTeam> team() const;
    static Machine machine();

    static constexpr index_t kHeader = 128;
    CrashDisk disk;
    std::shared_ptr<Plan> plan;
    Store *input = nullptr, *output = nullptr, *scratch = nullptr, *staged_input = nullptr, *staged_output = nullptr;
    Buffer memory;
    index_t resumed_bytes = 0;

  private:
    void make_disks(const std::string& bytes);
    ArrayBoxes input_boxes() const;
    ArrayBoxes output_boxes() const;
    Status status_;
    bool in_place_ = false;
    std::vector<Store*> stores_;
};

// What a run gives that nothing disturbs, held against the definition; and of how many operations it is. In place: the
// same bits.
std::string undisturbed(const JournalRoute& route, index_t& operations, bool in_place = false);

// Runs of files: "in", "out" and, unless they are given, scratch in one folder.
class JournalledFiles : public testing::Test {
  protected:
    static std::shared_ptr<const Plan> plan_of(const JournalRoute& route);
    static Status transform(const JournalRoute& route, const std::string& folder, JournalMode mode,
                            index_t* resumed = nullptr, Progress progress = {},
                            const std::vector<std::string>& scratch = {}, bool in_place = false, bool checksums = true);
    static std::string input_of(const JournalRoute& route);
    static void make_input(const JournalRoute& route, const std::string& folder);
    // What `transform` asks for, but for the array's header.
    static FileRequest request_of(const JournalRoute& route, const std::string& folder);
    // What a run without a journal writes.
    static std::string expected(const JournalRoute& route);
    static constexpr index_t kHeaderBytes = 4096;
};

}  // namespace spanfft::test
