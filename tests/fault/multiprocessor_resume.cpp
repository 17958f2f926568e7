// P1's four methods on ranks that stop at any moment, with a journal for each rank: the same command goes on, to the
// same bits, whatever each rank had done.
#include <gtest/gtest.h>

#include <filesystem>

#include "exec/executor.hpp"
#include "solvers/table.hpp"
#include "support/ranks_store_run.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

struct Route {
    const char* problem;
    SolverFunction solve;
};
const Route kRoutes[] = {
    {"c2c 512 forward double memory=48KiB threads=1 ranks=2 method=stripe_major_comm:sync,block=512",
     solve_stripe_major_comm},
    {"c2c 512 backward double memory=48KiB threads=1 ranks=4 method=memoryload_major_comm:block=256",
     solve_memoryload_major_comm},
    {"c2c 512 forward double memory=48KiB threads=1 ranks=2 method=processor_major_nocomm:block=512",
     solve_processor_major_nocomm},
    {"c2c 512 forward double memory=48KiB threads=1 ranks=4 method=memoryload_major_nocomm:sync,block=256",
     solve_memoryload_major_nocomm},
};
void PrintTo(const Route& route, std::ostream* out) { *out << route.problem; }

class MultiprocessorResume : public testing::TestWithParam<Route> {
  protected:
    struct Ended {
        std::vector<Status> statuses;
        std::vector<index_t> resumed;
        bool ok() const { return statuses[0].ok(); }
    };
    void SetUp() override {
        Machine machine;
        machine.cores = 2;
        auto plan = GetParam().solve(Problem::parse(GetParam().problem).value(), Planner(machine));
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        plan_ = std::move(plan).value();
        ranks_ = plan_->problem.ranks;
        input_ = random_input(plan_->problem, 3);
        write_file(folder_.file("in"), to_bytes(input_, plan_->problem.input_elem()));
        for (int rank = 0; rank < ranks_; ++rank) std::filesystem::create_directory(folder_.file(cat("s", rank)));
    }
    // `stops`: the rank whose progress says so at a call; -1: none.
    Ended transform(int stops = -1, int at_call = 0, JournalMode mode = JournalMode::automatic) {
        Ended ended{std::vector<Status>(static_cast<size_t>(ranks_)),
                    std::vector<index_t>(static_cast<size_t>(ranks_))};
        ThreadWorld world(ranks_);
        world.run([&](int rank, Comm& comm) {
            auto executor = Executor::make(plan_, comm.duplicate().value());
            ASSERT_TRUE(executor.ok()) << executor.status().message();
            FileRequest request;
            request.input_path = folder_.file("in");
            request.output_path = folder_.file("out");
            request.header = std::string(4096, '#');
            request.scratch_folders = {folder_.file("s{rank}")};
            request.journal = mode;
            int calls = 0;
            request.progress = [&, rank](index_t, index_t) { return rank != stops || calls++ < at_call; };
            ended.statuses[static_cast<size_t>(rank)] = executor.value()->transform_file(request);
            ended.resumed[static_cast<size_t>(rank)] = executor.value()->resumed_bytes();
        });
        for (const Status& status : ended.statuses) EXPECT_EQ(status.message(), ended.statuses[0].message());
        return ended;
    }
    void expect_nothing_else() const {
        for (int rank = 0; rank < ranks_; ++rank) EXPECT_TRUE(std::filesystem::is_empty(folder_.file(cat("s", rank))));
        EXPECT_EQ(std::ssize(folder_.names()), 2 + ranks_);
    }

    TemporaryFolder folder_;
    std::shared_ptr<const Plan> plan_;
    int ranks_ = 0;
    Values input_;
};

TEST_P(MultiprocessorResume, GoesOnFromWhereverARankHasStopped) {
    ASSERT_TRUE(examine_sweeps(*plan_).why_not.empty()) << examine_sweeps(*plan_).why_not;
    ASSERT_TRUE(transform().ok());
    const std::string whole = read_file(folder_.file("out"));
    const Values result = from_bytes(whole.substr(4096), plan_->problem.output_elem());
    ASSERT_LT(error_in_units(plan_->problem, result, direct_transform(plan_->problem, input_)),
              allowed_error(plan_->problem));
    expect_nothing_else();
    int went_on = 0, stopped = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
        for (int call = 0;; call += kFaultStep) {
            SCOPED_TRACE(cat("rank ", rank, " stops at call ", call));
            std::filesystem::remove(folder_.file("out"));
            if (transform(rank, call).ok()) break;
            ++stopped;
            EXPECT_FALSE(std::filesystem::exists(folder_.file("out")));
            // Once more, elsewhere: then each rank has done another part of what was left.
            const int other = (rank + 1) % ranks_;
            Ended again = transform(other, 2 + call % 3);
            if (!again.ok()) again = transform();
            ASSERT_TRUE(again.ok()) << again.statuses[0].message();
            went_on += *std::max_element(again.resumed.begin(), again.resumed.end()) > 0;
            ASSERT_EQ(read_file(folder_.file("out")), whole);
            expect_nothing_else();
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(stopped, 10 * ranks_ / kFaultStep);
    EXPECT_GT(went_on, stopped / 2);
}

TEST_P(MultiprocessorResume, OfAnotherMethodIsRefused) {
    ASSERT_FALSE(transform(0, 8).ok());
    const std::string other = std::string(GetParam().problem).find("stripe") == std::string::npos
                                  ? "stripe_major_comm"
                                  : "memoryload_major_comm";
    const auto problem =
        Problem::parse(cat("c2c 512 memory=48KiB threads=1 ranks=", ranks_, " method=", other)).value();
    plan_ = Planner(Machine()).plan(problem).value();
    const Ended refused = transform();
    EXPECT_EQ(refused.statuses[0].code(), Code::invalid_argument) << refused.statuses[0].message();
    EXPECT_NE(refused.statuses[0].message().find("unfinished run"), std::string::npos);
    ASSERT_TRUE(transform(-1, 0, JournalMode::restart).ok());
    expect_nothing_else();
}

INSTANTIATE_TEST_SUITE_P(Routes, MultiprocessorResume, testing::ValuesIn(kRoutes));

}  // namespace
}  // namespace spanfft::test
