// main() of the MPI tests: one process a rank, all running the same tests in the same order.
//
// Method: every rank prints its own failures with its number; only rank 0 prints progress. The exit code is that of
// the worst rank. A rank whose assertions end a test early does not leave the others waiting for long: ctest's time
// limit ends the run, and by then the failing rank has said what it saw.
// SPANFFT_TEST_RANKS, set by ctest, is held against the size of the job: a launcher that starts n single jobs must not
// pass. On 5, 6 and 7 ranks a third of the tests each, so that every test runs on one of the three (in Python, where
// they take longer, 3 is among them: conftest.py). SPANFFT_EVERY_TEST=1, or naming tests with --gtest_filter, runs all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

class FailurePrinter : public testing::EmptyTestEventListener {
  public:
    explicit FailurePrinter(int rank) : rank_(rank) {}
    void OnTestStart(const testing::TestInfo& info) override {
        test_ = std::string(info.test_suite_name()) + "." + info.name();
    }
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "rank %d: %s: %s:%d\n%s\n", rank_, test_.c_str(),
                     result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
        std::fflush(stderr);
    }

  private:
    int rank_;
    std::string test_;  // kept here: googletest may not be asked while it reports a result
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size >= 5 && argc == 1 && !std::getenv("SPANFFT_EVERY_TEST")) {
        setenv("GTEST_TOTAL_SHARDS", "3", 1);
        setenv("GTEST_SHARD_INDEX", std::to_string(size % 3).c_str(), 1);
    }
    testing::InitGoogleTest(&argc, argv);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(rank));
    int mine = 0;
    const char* wanted = std::getenv("SPANFFT_TEST_RANKS");
    if (wanted && std::atoi(wanted) != size) {
        std::fprintf(stderr, "rank %d: the job has %d ranks, SPANFFT_TEST_RANKS says %s\n", rank, size, wanted);
        mine = 1;
    } else {
        mine = RUN_ALL_TESTS();
    }
    int worst = 0;
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return worst;
}
