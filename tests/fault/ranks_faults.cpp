// What happens to an array that ranks sweep together when something goes wrong on one of them: every I/O operation in
// turn, every call that moves data between them, a progress that says stop. All ranks end with one sentence, and nobody
// is left waiting, which the world of threads would notice.
#include <gtest/gtest.h>

#include <filesystem>

#include "exec/executor.hpp"
#include "solvers/table.hpp"
#include "support/ranks_store_run.hpp"
#include "support/sanitized.hpp"
#include "sweeps/sweep_run.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft::test {
namespace {

struct Route {
    const char* problem;
    SolverFunction solve;
    bool exchanges;
};

// In little geometry, so that each operation can fail. Several panels for each rank of the first two.
const Route kRoutes[] = {
    {"c2c 1200 forward double memory=40KiB threads=1 ranks=3", solve_two_sweeps, true},
    {"c2r 1000 backward double memory=44KiB threads=1 ranks=2", solve_two_sweeps, true},
    {"c2r 32x48 backward double memory=30KiB threads=1 ranks=2", solve_axis_sweeps, true},
    {"c2r 2x96x12 backward longdouble memory=44KiB threads=1 ranks=2", solve_axis_sweeps, true},
    {"r2c 40x64 forward double power memory=40KiB threads=1 ranks=2", solve_axis_sweeps, true},
    {"c2c 32x32 forward double axes=0,1 memory=34KiB threads=1 ranks=2", solve_two_sweeps, false},
    {"c2c 32x24 forward double memory=24KiB threads=1 ranks=3", solve_axis_sweeps, false},
    {"c2c 128 forward double memory=32KiB threads=1 ranks=2 method=memoryload_major_comm:sync,block=128",
     solve_memoryload_major_comm, true},
    {"c2c 128 backward double memory=48KiB threads=1 ranks=4 method=stripe_major_comm:block=128",
     solve_stripe_major_comm, true},
    {"c2c 128 forward double memory=48KiB threads=1 ranks=2 method=processor_major_nocomm:block=128",
     solve_processor_major_nocomm, true},
    {"c2c 128 backward double memory=32KiB threads=1 ranks=4 method=memoryload_major_nocomm:sync,block=128",
     solve_memoryload_major_nocomm, true},
    {"c2c 16384 forward float output=exchanged memory=96KiB threads=1 ranks=2", solve_two_sweeps, false},
    {"c2c 343 forward double memory=64KiB threads=1 ranks=3", solve_many_sweeps, true},
    {"r2c 1728 forward double memory=80KiB threads=1 ranks=3", solve_many_sweeps, true},
    {"c2r 343 backward double memory=76KiB threads=1 ranks=2", solve_many_sweeps, true},
    {"r2c 343 forward double memory=46KiB threads=1 ranks=2", solve_many_sweeps, true},
    {"c2c 134 forward double memory=48KiB threads=1 ranks=3", solve_chirp_sweeps, true},
    {"c2c 31x40 forward longdouble memory=25KiB threads=1 ranks=2", solve_axis_sweeps, false},  // together in place
    // In small tiles, one ahead (below).
    {"c2c 512x8 forward double axes=0 memory=100KiB threads=1 ranks=3", solve_two_sweeps, false},
    {"c2c 6561 forward double memory=100KiB threads=1 ranks=2", solve_many_sweeps, true},
    {"c2c 10000 forward double memory=144KiB threads=1 ranks=2 disks=1", solve_many_sweeps, true},
    {"r2c 4096 forward double memory=76KiB threads=1 ranks=3", solve_two_sweeps, true},
    {"c2r 6000 backward float memory=80KiB threads=1 ranks=2", solve_two_sweeps, true},  // with mirror images
    // Several matrices: rows taken in parts, with mirror images, and in place.
    {"c2r 2x2048 backward double axes=1 memory=80KiB threads=1 ranks=2", solve_two_sweeps, true},
    {"c2c 3x31x40 forward double axes=1,2 memory=25KiB threads=1 ranks=2", solve_axis_sweeps, false},
    // Slabs in the middle.
    {"c2c 10000 forward double memory=144KiB threads=1 ranks=2", solve_many_sweeps, false},
    {"c2c 2x4096 backward double axes=1 memory=128KiB threads=1 ranks=3", solve_many_sweeps, false},
    {"r2c 8192 forward double memory=160KiB threads=1 ranks=2", solve_many_sweeps, false},
    {"c2c 3x512 forward double memory=48KiB threads=1 ranks=2", solve_axis_sweeps, true},  // a long axis, then columns
    {"r2c 60x48 forward double memory=40KiB threads=1 ranks=2 disks=8", solve_axis_sweeps, true},  // spares the output
    {"r2c 6x1024 forward double axes=1,0 memory=46KiB threads=1 ranks=2", solve_axis_sweeps, true},  // then a long axis
    {"r2c 36x8192 forward float memory=720KiB threads=1 ranks=2", solve_axis_sweeps, false},  // the same in place
    {"c2r 6x1024 backward double axes=1,0 memory=46KiB threads=1 ranks=2", solve_axis_sweeps, true},
    {"c2c 134x3 forward double axes=0 memory=64KiB threads=1 ranks=2", solve_chirp_sweeps, true},
    {"r2c 32x31 forward double memory=34KiB threads=1 ranks=2", solve_two_sweeps, false},  // rows apart
    {"c2r 32x31 backward double memory=40KiB threads=1 ranks=2", solve_two_sweeps, true},
};

// What a rank does ahead in some sweep of a route, and of how many panels.
struct Ahead {
    bool takes, hands_on;
    index_t panels;
};
TEST(RanksRoutes, TakeOrHandOnSmallTilesAhead) {
    const std::pair<const Route*, Ahead> expected[] = {{&kRoutes[18], {true, false, 1}},
                                                       {&kRoutes[19], {false, true, 3}},
                                                       {&kRoutes[20], {true, true, 4}},
                                                       {&kRoutes[21], {true, true, 1}},
                                                       {&kRoutes[22], {true, true, 1}}};
    for (const auto& [route, ahead] : expected) {
        SCOPED_TRACE(route->problem);
        Machine machine;
        machine.cores = 2;
        const auto plan = route->solve(Problem::parse(route->problem).value(), Planner(machine));
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        int found = 0;
        for (const auto& step : plan.value()->steps) {
            const auto* const sweep = dynamic_cast<const SweepStep*>(step.get());
            ASSERT_TRUE(sweep);
            const SweepSpec& spec = sweep->spec();
            found += spec.takes_ahead() == ahead.takes && spec.hands_on_ahead() == ahead.hands_on &&
                     spec.walked().panels() == ahead.panels && spec.tile_steps() >= 4;
        }
        EXPECT_EQ(found, 1);
    }
}

// One error on all ranks, with the words in it.
void expect_one_error(const RanksRun& run, Code code, const std::vector<std::string>& words) {
    for (const RankSeen& seen : run.ranks) {
        EXPECT_EQ(seen.status.code(), code) << seen.status.message();
        EXPECT_EQ(seen.status.message(), run.ranks[0].status.message());
    }
    for (const std::string& word : words)
        EXPECT_NE(run.ranks[0].status.message().find(word), std::string::npos) << run.ranks[0].status.message();
    EXPECT_TRUE(run.input_untouched);
}

class RanksFaults : public testing::TestWithParam<Route> {
  protected:
    // Which nothing disturbs.
    static RanksRun whole_run() {
        RanksRun whole = run_on_ranks(GetParam().problem, GetParam().solve);
        EXPECT_TRUE(whole.planned.ok()) << whole.planned.message();
        if (!whole.planned.ok()) return whole;
        EXPECT_EQ(whole.exchanges(), GetParam().exchanges);
        expect_shared_out(whole);
        return whole;
    }
};
class RanksTransfers : public RanksFaults {};
class RanksByWayOfTheOutput : public RanksFaults {};
void PrintTo(const Route& route, std::ostream* out) { *out << route.problem; }

// The first to the last operation of each rank, one by one: fails alone, or with all of the rank's that follow it.
TEST_P(RanksFaults, EveryOperationOfEveryRankThatFailsIsOneErrorOnAll) {
    const RanksRun whole = whole_run();
    ASSERT_FALSE(HasFailure());
    for (int rank = 0; rank < std::ssize(whole.ranks); ++rank) {
        const index_t operations = whole.ranks[static_cast<size_t>(rank)].operations;
        ASSERT_GT(operations, 10);
        for (const bool persistent : {false, true}) {
            for (index_t n = 1; n <= operations; n += kPointStep * kRanksStep) {
                SCOPED_TRACE(cat("operation ", n, " of rank ", rank, persistent ? " and all that follow" : ""));
                RanksSetting setting;
                setting.fault_rank = rank;
                setting.fail_at = n;
                setting.persistent = persistent;
                const RanksRun run = run_on_ranks(GetParam().problem, GetParam().solve, setting);
                expect_one_error(run, Code::io_error, {cat("rank ", rank, ": simulated fault")});
                if (HasFailure()) return;
            }
        }
    }
}

// A rank that can't go on before its first round, and one that fails with its last write, when all rounds are done.
TEST_P(RanksFaults, TheFirstAndTheLastOperationWithAnotherCodeKeepTheCode) {
    const RanksRun whole = whole_run();
    ASSERT_FALSE(HasFailure());
    for (int rank = 0; rank < std::ssize(whole.ranks); ++rank) {
        for (const index_t n : {index_t{1}, whole.ranks[static_cast<size_t>(rank)].operations}) {
            RanksSetting setting;
            setting.fault_rank = rank;
            setting.fail_at = n;
            setting.fault_code = Code::no_space;
            const RanksRun run = run_on_ranks(GetParam().problem, GetParam().solve, setting);
            expect_one_error(run, Code::no_space, {"simulated fault", cat("number ", n)});
        }
    }
}

// A byte of the output that changes after one sweep has written it, whoever has, and before another one reads it.
TEST_P(RanksByWayOfTheOutput, ABitThatFlipsInTheOutputBetweenSweepsIsFound) {
    const RanksRun whole = whole_run();
    ASSERT_FALSE(HasFailure());
    const PlannedSweeps planned = examine_sweeps(*whole.plan);
    EXPECT_FALSE(planned.unsummed);
    int flips = 0;
    for (size_t i = 1; i < planned.sweeps.size(); ++i) {
        if (planned.sweeps[i].source.place != Place::output) continue;
        const index_t bytes = whole.plan->output_file_bytes;
        for (index_t byte = 0; byte < bytes; byte += kPointStep * ceil_div(bytes, 40)) {
            SCOPED_TRACE(cat("byte ", byte, " before sweep ", i + 1));
            RanksSetting setting;
            setting.flip_before_step = static_cast<int>(i);
            setting.flip_byte = byte;
            ++flips;
            const RanksRun run = run_on_ranks(GetParam().problem, GetParam().solve, setting);
            expect_one_error(run, Code::corrupt_data, {"rank ", "reads other bytes than were written", "memory"});
            if (HasFailure()) return;
        }
    }
    EXPECT_GE(kPointStep * flips, 35);
}

TEST_P(RanksFaults, AProgressThatSaysStopOnOneRankStopsAll) {
    const RanksRun whole = whole_run();
    ASSERT_FALSE(HasFailure());
    for (int rank = 0; rank < std::ssize(whole.ranks); ++rank) {
        const index_t calls = whole.ranks[static_cast<size_t>(rank)].progress_calls;
        ASSERT_GE(calls, 2);
        // How often it is called depends on how fast requests are done; each sweep ends with a call.
        for (int after = 0; after < 2; ++after) {
            RanksSetting setting;
            setting.stop_rank = rank;
            setting.stop_after = after;
            const RanksRun run = run_on_ranks(GetParam().problem, GetParam().solve, setting);
            expect_one_error(run, Code::interrupted, {cat("rank ", rank), "stopped on request"});
        }
    }
}

// Communicators, the transfers while they are made, and then each while it runs.
TEST_P(RanksTransfers, EveryFailureOfOneRankIsOneErrorOnAll) {
    const int ranks = Problem::parse(GetParam().problem).value().ranks;
    for (const CommCall call : {CommCall::split, CommCall::make_transfer, CommCall::start, CommCall::finish}) {
        int hits = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            for (int nth = 1;; nth += kFaultStep) {
                SCOPED_TRACE(cat(call_name(call), " number ", nth, " of rank ", rank));
                ThreadWorld world(ranks);
                world.fail(rank, call, nth);
                RanksSetting setting;
                setting.world = &world;
                const RanksRun run = run_on_ranks(GetParam().problem, GetParam().solve, setting);
                if (!world.fault_was_hit()) break;
                ++hits;
                expect_one_error(run, Code::mpi_error, {cat("rank ", rank), "injected"});
                if (HasFailure()) return;
            }
        }
        EXPECT_GE(hits, ranks) << call_name(call);
    }
}

INSTANTIATE_TEST_SUITE_P(Routes, RanksFaults, testing::ValuesIn(kRoutes));
INSTANTIATE_TEST_SUITE_P(Routes, RanksByWayOfTheOutput,
                         testing::Values(kRoutes[5], kRoutes[6], kRoutes[11], kRoutes[12], kRoutes[13], kRoutes[14],
                                         kRoutes[17], kRoutes[18], kRoutes[19], kRoutes[20], kRoutes[24], kRoutes[25],
                                         kRoutes[26]));
INSTANTIATE_TEST_SUITE_P(Routes, RanksTransfers,
                         testing::Values(kRoutes[0], kRoutes[1], kRoutes[2], kRoutes[4], kRoutes[7], kRoutes[8],
                                         kRoutes[9], kRoutes[10], kRoutes[13], kRoutes[17], kRoutes[18], kRoutes[19],
                                         kRoutes[20], kRoutes[21], kRoutes[22], kRoutes[23]));

// Files, by the executor: what each rank has of its own is in a folder of its own.
class RanksFiles : public testing::Test {
  protected:
    static constexpr int kRanks = 3;
    void SetUp() override {
        Machine machine;
        machine.cores = 2;
        const auto problem = Problem::parse("c2c 4096 forward double memory=52KiB threads=1 ranks=3");
        plan_ = solve_two_sweeps(problem.value(), Planner(machine)).value();
        ASSERT_GT(plan_->scratch_of_each_rank_bytes, 0);
        input_ = random_input(plan_->problem, 3);
        write_file(folder_.file("in"), to_bytes(input_, plan_->problem.input_elem()));
        write_file(folder_.file("out"), "what was there before");
        for (int rank = 0; rank < kRanks; ++rank) std::filesystem::create_directory(folder_.file(cat("s", rank)));
    }
    // `scratch`: of each rank; empty: as the output's.
    std::vector<Status> transform(const std::vector<std::string>& scratch,
                                  const std::function<bool(int rank)>& goes_on = {}) {
        ThreadWorld world(kRanks);
        return transform_in(world, scratch, goes_on);
    }
    std::vector<Status> transform_in(ThreadWorld& world, const std::vector<std::string>& scratch,
                                     const std::function<bool(int rank)>& goes_on = {}) {
        std::vector<Status> statuses(kRanks, error(Code::internal, "no executor"));
        resumed_bytes_ = 0;
        world.run([&](int rank, Comm& comm) {
            auto own = comm.duplicate();
            if (!own.ok()) return;
            auto executor = Executor::make(plan_, std::move(own).value());
            if (!executor.ok()) return;
            FileRequest request;
            request.input_path = folder_.file("in");
            request.output_path = folder_.file("out");
            request.header = std::string(4096, '#');
            if (!scratch.empty()) request.scratch_folders = {scratch[static_cast<size_t>(rank)]};
            request.journal = journal_;
            if (goes_on) request.progress = [&, rank](index_t, index_t) { return goes_on(rank); };
            statuses[static_cast<size_t>(rank)] = executor.value()->transform_file(request);
            if (rank == 0) resumed_bytes_ = executor.value()->resumed_bytes();
        });
        return statuses;
    }
    void expect_right() const {
        const std::string content = read_file(folder_.file("out"));
        ASSERT_EQ(static_cast<index_t>(content.size()), 4096 + plan_->output_file_bytes);
        const Values result = from_bytes(content.substr(4096), plan_->problem.output_elem());
        EXPECT_LT(error_in_units(plan_->problem, result, direct_transform(plan_->problem, input_)),
                  allowed_error(plan_->problem));
    }
    void expect_nothing_else() const {
        EXPECT_EQ(folder_.names(), (std::vector<std::string>{"in", "out", "s0", "s1", "s2"}));
        for (const char* name : {"s0", "s1", "s2"}) EXPECT_TRUE(std::filesystem::is_empty(folder_.file(name))) << name;
    }
    static void expect_one_sentence(const std::vector<Status>& statuses, Code code,
                                    const std::vector<std::string>& words) {
        for (const Status& status : statuses) {
            EXPECT_EQ(status.code(), code) << status.message();
            EXPECT_EQ(status.message(), statuses[0].message());
        }
        for (const std::string& word : words)
            EXPECT_NE(statuses[0].message().find(word), std::string::npos) << statuses[0].message();
    }

    TemporaryFolder folder_;
    std::shared_ptr<const Plan> plan_;
    Values input_;
    JournalMode journal_ = JournalMode::off;
    index_t resumed_bytes_ = 0;  // of rank 0, in the last run
};

// By {rank}, by folders that are other ones on each rank, all in one, and beside the output.
TEST_F(RanksFiles, KeepScratchWhereEachRankIsTold) {
    const std::string by_rank = folder_.file("s{rank}"), first = folder_.file("s{node}");
    for (const std::vector<std::string>& scratch : {std::vector<std::string>{by_rank, by_rank, by_rank},
                                                    {folder_.file("s2"), folder_.file("s0"), by_rank},
                                                    {first, first, first},
                                                    {}}) {
        for (const Status& status : transform(scratch)) ASSERT_TRUE(status.ok()) << status.message();
        expect_right();
        expect_nothing_else();
    }
}

TEST_F(RanksFiles, AreRefusedByOneSentenceWhereAFolderOfOneRankIsMissing) {
    for (int missing = 0; missing < kRanks; ++missing) {
        std::vector<std::string> scratch(kRanks, folder_.file("s{rank}"));
        scratch[static_cast<size_t>(missing)] = folder_.file("nowhere{rank}");
        const std::vector<Status> statuses = transform(scratch);
        expect_one_sentence(statuses, statuses[0].code(), {cat("rank ", missing), cat("nowhere", missing)});
        EXPECT_FALSE(statuses[0].ok());
        EXPECT_EQ(read_file(folder_.file("out")), "what was there before");
        expect_nothing_else();
    }
}

TEST_F(RanksFiles, LeaveNothingWhereOneRankStops) {
    for (int stops = 0; stops < kRanks; ++stops) {
        for (const int after : {0, 2}) {
            int calls = 0;
            const std::vector<Status> statuses =
                transform({}, [&](int rank) { return rank != stops || calls++ < after; });
            expect_one_sentence(statuses, Code::interrupted, {cat("rank ", stops)});
            EXPECT_EQ(read_file(folder_.file("out")), "what was there before");
            expect_nothing_else();
        }
    }
}

// As where a rank was killed and the others live: they have nobody to agree with, so each leaves all as a kill does,
// also the one that has done nothing yet, and the same command goes on.
TEST_F(RanksFiles, LeaveWhatIsKeptWhereOneIsGoneAndGoOn) {
    const std::vector<std::string> scratch(kRanks, folder_.file("s{rank}"));
    journal_ = JournalMode::automatic;
    int hits = 0, gone_on = 0;
    for (const CommCall call : {CommCall::allgather, CommCall::broadcast, CommCall::finish}) {
        for (int lost = 0; lost < kRanks; ++lost) {
            for (int nth = 1;; nth += 2 * kFaultStep) {
                SCOPED_TRACE(cat("rank ", lost, " is lost in ", call_name(call), " number ", nth));
                ThreadWorld world(kRanks);
                world.lose(lost, call, nth);
                const std::vector<Status> cut_off = transform_in(world, scratch);
                if (!world.fault_was_hit()) break;
                ++hits;
                for (const Status& status : cut_off) EXPECT_NE(status.code(), Code::corrupt_data) << status.message();
                for (const Status& status : transform(scratch)) ASSERT_TRUE(status.ok()) << status.message();
                gone_on += resumed_bytes_ > 0;
                expect_right();
                expect_nothing_else();
            }
        }
    }
    EXPECT_GE(hits * kFaultStep, 100);
    EXPECT_GE(gone_on * kFaultStep, 30);
}

}  // namespace
}  // namespace spanfft::test
