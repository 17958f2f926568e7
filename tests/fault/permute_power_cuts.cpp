// Power cuts in permutations of files (spanfft permute), at every operation, as power_cuts.cpp has them for transforms.
// There is no journal: in each state the input is as it was, the output's name leads to what was there before or to the
// whole result, and the same command gives the whole result and leaves nothing else.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "disk/output_file.hpp"
#include "exec/permute_file.hpp"
#include "support/power_cut/recorded.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

constexpr int kBits = 8;
constexpr size_t kRecordBytes = 16;
const std::string kOld = "what was there before", kHeader(100, '#');

struct PermuteRun {
    const char* name;
    const char* kind;
    size_t sweeps;
    Word complement = 0;
    int scratch_folders = 0;
    bool old_output = false;
    IoMode mode = IoMode::asynchronous;
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
        PermuteRequest request;
        request.map.matrix = BitMatrix::named(what.kind, kBits).value();
        request.map.complement = what.complement;
        request.record_bytes = kRecordBytes;
        request.memory_bytes = what.mode == IoMode::synchronous ? 1100 : 3300;
        request.block_bytes = 128;
        request.disks = std::max(1, what.scratch_folders);
        request.mode = what.mode;
        request.threads = 1;
        auto planned = plan_permute(request);
        ASSERT_TRUE(planned.ok()) << planned.status().message();
        plan = std::move(planned).value();
        ASSERT_EQ(plan.bmmc.factors.size(), what.sweeps) << plan.describe();
        files.input_path = folder.file("in");
        files.output_path = folder.file("out");
        files.header = kHeader;
        names = {"in", "out"};
        for (int i = 0; i < what.scratch_folders; ++i) {
            names.push_back(cat("scratch", i));
            files.scratch_folders.push_back(folder.file(names.back()));
            ASSERT_EQ(mkdir(files.scratch_folders.back().c_str(), 0777), 0);
        }
        make_input(request.map);
        if (what.old_output) write_file(files.output_path, kOld);
    }
    void TearDown() override { power_cut_end(); }

    // By the definition: bit i of a place is the parity of what row i of the matrix picks of the index.
    void make_input(const Bmmc& map) {
        std::mt19937_64 random(3);
        input.resize(kRecordBytes << kBits);
        for (char& byte : input) byte = static_cast<char>(random());
        result = kHeader + input;
        for (size_t x = 0; x < size_t{1} << kBits; ++x) {
            size_t z = map.complement;
            for (int i = 0; i < kBits; ++i) {
                for (int j = 0; j < kBits; ++j) z ^= size_t{map.matrix.at(i, j) && (x >> j & 1) != 0} << i;
            }
            result.replace(kHeader.size() + z * kRecordBytes, kRecordBytes, input, x * kRecordBytes, kRecordBytes);
        }
        write_file(files.input_path, input);
    }
    Status run() const {
        const WithThreads threads;
        return permute_file(plan, files).status();
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
    PermutePlan plan;
    PermuteFiles files;
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
    int without = 0, whole = 0;
    for (const Recorded::Cut& cut : recorded.cuts()) {
        SCOPED_TRACE(recorded.describe(cut));
        recorded.make(cut);
        EXPECT_TRUE(cut.operation < recorded.operations() || has_result()) << "done, and then lost";
        expect_nothing_lost();
        ++(has_result() ? whole : without);
        const Status again = run();
        ASSERT_TRUE(again.ok()) << again.message();
        expect_whole();
        if (HasFailure()) break;
    }
    EXPECT_GT(without, 10);
    EXPECT_GT(whole, 1);
}

INSTANTIATE_TEST_SUITE_P(Runs, PowerCutsOfPermute, testing::ValuesIn(kRuns),
                         [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace spanfft::test
