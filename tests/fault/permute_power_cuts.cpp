// Power cuts in permutations of files (spanfft permute), at every operation, as power_cuts.cpp has them for transforms,
// with and without a journal: in each state the input is as it was, the output's name leads to what was there before or
// to the whole result, and the same command gives the whole result and leaves nothing else. With a journal, panels that
// have once been found done are never lost all together.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "disk/output_file.hpp"
#include "exec/executor.hpp"
#include "support/permutations.hpp"
#include "support/power_cut/recorded.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

constexpr int kBits = 8;
constexpr index_t kRecordBytes = 16;
const std::string kOld = "what was there before", kHeader(100, '#');

struct PermuteRun {
    const char* name;
    const char* kind;
    int sweeps;
    Word complement = 0;
    int scratch_folders = 0;
    bool old_output = false;
    IoMode mode = IoMode::asynchronous;
    JournalMode journal = JournalMode::off;
};
// What CTest and failures call it.
[[maybe_unused]] void PrintTo(const PermuteRun& run, std::ostream* out) { *out << run.kind; }

const PermuteRun kRuns[] = {
    {"InOneSweep", "bit-reversal:2", 1},
    {"ThroughScratch", "transpose:16x16", 2},
    {"ThroughTwoAreasOfScratch", "random:4", 3, 77},
    {"OnTwoScratchFolders", "transpose:16x16", 3, 0, 2},
    {"OverAnOldOutput", "bit-reversal", 3, 0, 0, true},
    {"Synchronous", "rotation:3", 2, 5, 0, false, IoMode::synchronous},
    {"JournalledInOneSweep", "bit-reversal:2", 1, 0, 0, false, IoMode::asynchronous, JournalMode::automatic},
    {"JournalledThroughTwoAreasOfScratch", "random:4", 3, 77, 0, false, IoMode::synchronous, JournalMode::automatic},
    {"JournalledOnTwoScratchFolders", "transpose:16x16", 3, 0, 2, true, IoMode::asynchronous, JournalMode::automatic},
};

// The threads' own variable, as nobody sees what a ring writes.
class WithThreads {
  public:
    WithThreads() {
        if (const char* const value = std::getenv("SPANFFT_IO")) before_ = value;
        setenv("SPANFFT_IO", "threads", 1);
    }
    ~WithThreads() { before_.empty() ? unsetenv("SPANFFT_IO") : setenv("SPANFFT_IO", before_.c_str(), 1); }
    WithThreads(const WithThreads&) = delete;
    WithThreads& operator=(const WithThreads&) = delete;

  private:
    std::string before_;
};

class PowerCutsOfPermute : public testing::TestWithParam<PermuteRun> {
  protected:
    void SetUp() override {
        const PermuteRun& what = GetParam();
        request = permutation_of(what.kind, kBits, kRecordBytes, what.mode == IoMode::synchronous ? 1100 : 3300);
        request.map.complement = what.complement;
        request.block_bytes = 128;
        request.disks = std::max(1, what.scratch_folders);
        request.mode = what.mode;
        auto planned = plan_permutation(request, Machine());
        ASSERT_TRUE(planned.ok()) << planned.status().message();
        ASSERT_EQ(planned.value().plan->sweeps, what.sweeps) << planned.value().describe;
        auto made = Executor::make(planned.value().plan, make_self_comm());
        ASSERT_TRUE(made.ok()) << made.status().message();
        executor = std::move(made).value();
        files.journal = what.journal;
        files.input_path = folder.file("in");
        files.output_path = folder.file("out");
        files.header = kHeader;
        names = {"in", "out"};
        for (int i = 0; i < what.scratch_folders; ++i) {
            names.push_back(cat("scratch", i));
            files.scratch_folders.push_back(folder.file(names.back()));
            ASSERT_EQ(mkdir(files.scratch_folders.back().c_str(), 0777), 0);
        }
        input = random_records(request, 3);
        result = kHeader + permuted(input, request);
        write_file(files.input_path, input);
        if (what.old_output) write_file(files.output_path, kOld);
    }
    void TearDown() override { power_cut_end(); }

    Status run() const {
        const WithThreads threads;
        return executor->transform_file(files);
    }
    bool has_result() const { return file_exists(files.output_path) && read_file(files.output_path) == result; }
    // Before anything runs again.
    void expect_nothing_lost() const {
        EXPECT_TRUE(read_file(files.input_path) == input) << "the input has changed";
        if (!file_exists(files.output_path)) {
            EXPECT_FALSE(GetParam().old_output) << "the old output is gone";
            return;
        }
        const bool old = GetParam().old_output && read_file(files.output_path) == kOld;
        EXPECT_TRUE(old || has_result()) << "wrong bytes have the output's name";
    }
    void expect_whole() const {
        EXPECT_TRUE(has_result()) << "a wrong result";
        EXPECT_TRUE(read_file(files.input_path) == input) << "the input has changed";
        EXPECT_EQ(folder.names(), names);
        for (const std::string& each : files.scratch_folders) EXPECT_EQ(names_in(each).size(), 2U) << "left in scratch";
    }
    static bool file_exists(const std::string& path) {
        struct stat info{};
        return lstat(path.c_str(), &info) == 0;
    }

    TemporaryFolder folder;
    PermutationRequest request;
    std::unique_ptr<Executor> executor;
    FileRequest files;
    std::string input, result;
    std::vector<std::string> names;
};

TEST_P(PowerCutsOfPermute, AfterEveryOperationLoseNothing) {
    Recorded recorded(folder.path());
    const Status status = run();
    recorded.stop();
    ASSERT_TRUE(status.ok()) << status.message();
    // At least a file is made, written, flushed and named, and its folder flushed.
    ASSERT_GT(recorded.operations(), 10) << recorded.trouble();
    expect_whole();
    int without = 0, whole = 0, went_on = 0;
    bool noted = false;  // that panels are done, for good
    for (const Recorded::Cut& cut : recorded.cuts()) {
        SCOPED_TRACE(recorded.describe(cut));
        recorded.make(cut);
        EXPECT_TRUE(cut.operation < recorded.operations() || has_result()) << "done, and then lost";
        expect_nothing_lost();
        const bool had_ended = has_result();
        ++(had_ended ? whole : without);
        const Status again = run();
        ASSERT_TRUE(again.ok()) << again.message();
        const bool goes_on = executor->resumed_bytes() > 0;
        went_on += goes_on;
        EXPECT_TRUE(goes_on || had_ended || !noted) << "all panels are lost that were done";
        noted = noted || (goes_on && cut.fate == 0);
        expect_whole();
        if (HasFailure()) break;
    }
    EXPECT_GT(without, 10);
    EXPECT_GT(whole, 1);
    EXPECT_EQ(went_on > 0, GetParam().journal != JournalMode::off);
}

INSTANTIATE_TEST_SUITE_P(Runs, PowerCutsOfPermute, testing::ValuesIn(kRuns),
                         [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace spanfft::test
