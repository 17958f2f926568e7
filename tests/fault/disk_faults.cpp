// What happens to a transform of a file when something goes wrong: every I/O operation in turn, a full disk, a kill.
//
// After each fault: the input is as it was, nothing half-done stands under the output's name, and once the next run
// has started no stray file is left.
#include <gtest/gtest.h>

#include <malloc.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "disk/output_file.hpp"
#include "disk/ring.hpp"
#include "exec/executor.hpp"
#include "solvers/table.hpp"
#include "support/sampled.hpp"
#include "support/sanitized.hpp"
#include "support/store_run.hpp"

namespace spanfft::test {
namespace {

struct Route {
    const char* problem;
    SolverFunction solve;
};
const Route kRoutes[] = {
    {"c2c 1024 forward double memory=44KiB threads=1", solve_two_sweeps},    // blocks in a scratch file
    {"c2c 1048576 forward double memory=5MiB threads=1", solve_two_sweeps},  // in place in the output
    {"r2c 1024 forward double memory=48KiB threads=1", solve_two_sweeps},
    {"c2r 64x96 backward double memory=48KiB threads=1", solve_axis_sweeps},
};

// Each solver in little geometry, so that each of its operations can fail.
const Route kSmallRoutes[] = {
    {"c2c 256 forward double memory=36KiB threads=1", solve_two_sweeps},
    {"r2c 512 forward double memory=40KiB threads=1", solve_two_sweeps},
    {"c2c 32x24 forward double memory=24KiB threads=1", solve_axis_sweeps},
    {"c2r 24x32 backward double memory=18KiB threads=1", solve_axis_sweeps},           // by way of scratch
    {"r2c 16x96 forward double axes=1,0 memory=26KiB threads=1", solve_axis_sweeps},   // halved in columns, first
    {"c2r 16x96 backward double axes=1,0 memory=26KiB threads=1", solve_axis_sweeps},  // and last, from scratch
    {"c2c 512 forward double memory=44KiB threads=1", solve_many_sweeps},
    {"c2c 4096 forward double memory=96KiB threads=1", solve_many_sweeps},  // the second sweep in slabs
    {"c2r 512 backward double memory=46KiB threads=1", solve_many_sweeps},  // whole sections and their mirror images
    {"c2c 32x32 forward double axes=0,1 memory=34KiB threads=1", solve_two_sweeps},
    {"r2c 64x5 forward double axes=0 memory=40KiB threads=1", solve_two_sweeps},
    {"c2c 134 forward double memory=46KiB threads=1", solve_chirp_sweeps},
    {"c2c 67x2 forward double axes=0 memory=46KiB threads=1", solve_chirp_sweeps},
    {"r2c 6x1024 forward double axes=1,0 memory=42KiB threads=1", solve_axis_sweeps},   // then an axis that is split
    {"c2r 6x1024 backward double axes=1,0 memory=42KiB threads=1", solve_axis_sweeps},  // before
    {"c2c 256 forward double memory=10KiB threads=1 method=superlevels:sync,block=512", solve_superlevels},
    {"c2c 16x12 forward double memory=1MiB threads=1", solve_file_in_memory},
};

// An error with the fault's sentence, never a wrong "ok".
void expect_fault_is_reported(const Route& route, index_t n, bool persistent, int scratch_disks) {
    FaultPlan faults;
    faults.fail_at = n;
    faults.persistent = persistent;
    const StoreRun run = run_on_stores(route.problem, route.solve, 0, 0, &faults, -1, scratch_disks);
    EXPECT_EQ(run.status.code(), Code::io_error) << route.problem << ", operation " << n;
    EXPECT_NE(run.status.message().find("simulated fault"), std::string::npos) << run.status.message();
    EXPECT_TRUE(run.input_untouched) << route.problem << ", operation " << n;
}

// How many operations a run has that nothing disturbs; held against the definition.
index_t operations_of(const Route& route, int scratch_disks) {
    FaultPlan none;
    const StoreRun whole = run_on_stores(route.problem, route.solve, 0, 0, &none, -1, scratch_disks);
    EXPECT_TRUE(whole.status.ok()) << route.problem << ": " << whole.status.message();
    if (!whole.status.ok()) return 0;
    EXPECT_LT(error_in_units(whole.plan->problem, whole.output, direct_transform(whole.plan->problem, whole.input)),
              allowed_error(whole.plan->problem));
    expect_as_predicted(whole);
    return none.operations.load();
}

// The first to the last operation, one by one: fails alone, or with all that follow it.
TEST(DiskFaults, EveryOperationOfASmallRunOfEachSolverThatFailsIsReported) {
    for (const Route& route : kSmallRoutes) {
        const index_t operations = operations_of(route, 0);
        ASSERT_GT(operations, 1) << route.problem;
        for (const bool persistent : {false, true}) {
            for (index_t n = 1; n <= operations; n += kFaultStep) expect_fault_is_reported(route, n, persistent, 0);
        }
    }
}

// The same on scratch that is striped over three disks, any of which may fail.
TEST(DiskFaults, EveryOperationOfASmallRunOnStripedScratchThatFailsIsReported) {
    int striped = 0;
    for (const Route& route : kSmallRoutes) {
        const auto plan = route.solve(Problem::parse(route.problem).value(), Planner(Machine()));
        ASSERT_TRUE(plan.ok()) << route.problem << ": " << plan.status().message();
        // Who counts in the Parallel Disk Model plans for as many disks as there are.
        if (plan.value()->scratch_bytes == 0 || plan.value()->scratch_block_bytes > 0) continue;
        ++striped;
        const index_t operations = operations_of(route, 3);
        for (const bool persistent : {false, true}) {
            for (index_t n = 1; n <= operations; n += kFaultStep) expect_fault_is_reported(route, n, persistent, 3);
        }
    }
    EXPECT_GE(striped, 4);
}

// Longer runs, of which some operations fail: for ./spanfft-dev soak (support/sampled.hpp).
TEST(DiskFaults, SampledOperationsOfLongerRunsThatFailAreReported) {
    Random random(1);
    for (const Route& route : kRoutes) {
        FaultPlan none;
        ASSERT_TRUE(run_on_stores(route.problem, route.solve, 0, 0, &none).status.ok()) << route.problem;
        const index_t operations = none.operations.load();
        for (const bool persistent : {false, true}) {
            for (const index_t n : sampled_operations(random, operations, operations < 2000 ? 20 : 5))
                expect_fault_is_reported(route, n, persistent, 0);
        }
    }
}

class FileRuns : public testing::Test {
  protected:
    static std::shared_ptr<const Plan> plan_of(const Route& route) {
        Machine machine;
        machine.cores = 2;
        return std::shared_ptr<const Plan>(
            route.solve(Problem::parse(route.problem).value(), Planner(machine)).value());
    }
    static std::string input_of(const Problem& problem) {
        return to_bytes(random_input(problem, 3), problem.input_elem());
    }
    static Status transform(const Route& route, const std::string& folder, Progress progress = {},
                            const std::vector<std::string>& scratch = {}) {
        auto executor = Executor::make(plan_of(route), make_self_comm());
        if (!executor.ok()) return executor.status();
        FileRequest request;
        request.scratch_folders = scratch;
        request.input_path = folder + "/in";
        request.output_path = folder + "/out";
        request.header = std::string(4096, '#');
        request.progress = std::move(progress);
        return executor.value()->transform_file(request);
    }
    static void expect_right(const Route& route, const std::string& folder) {
        const auto plan = plan_of(route);
        const Problem& problem = plan->problem;
        const std::string content = read_file(folder + "/out");
        ASSERT_EQ(static_cast<index_t>(content.size()), 4096 + plan->output_file_bytes);
        const Values result = from_bytes(content.substr(4096), problem.output_elem());
        EXPECT_LT(error_in_units(problem, result, direct_transform(problem, random_input(problem, 3))),
                  allowed_error(problem));
    }
};

TEST_F(FileRuns, GiveTheRightFile) {
    for (const Route& route : kRoutes) {
        TemporaryFolder folder;
        write_file(folder.file("in"), input_of(plan_of(route)->problem));
        const Status status = transform(route, folder.path());
        ASSERT_TRUE(status.ok()) << status.message();
        expect_right(route, folder.path());
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
    }
}

// io_uring or threads, one folder of scratch or several: the same bytes, nothing left behind, stopped runs too.
TEST_F(FileRuns, GiveTheSameFileWhoeverReadsAndWritesWherever) {
    std::vector<std::string> ways = {" io=threads", ""};
    TemporaryFolder probe;
    write_file(probe.file("data"), "x");
    if (Ring::make(4, kernel_rings()).ok() && FileStore::open_output(probe.file("data")).value()->direct()) {
        ways.push_back(" io=uring");
    }
    for (const Route& route : kRoutes) {
        TemporaryFolder folder;
        write_file(folder.file("in"), input_of(plan_of(route)->problem));
        std::vector<std::string> scratch;
        for (const char* name : {"a", "b", "c"}) {
            scratch.push_back(folder.file(name));
            ASSERT_EQ(mkdir(scratch.back().c_str(), 0777), 0);
        }
        std::string first;
        for (const std::string& way : ways) {
            const std::string problem = route.problem + way;
            for (const std::vector<std::string>& folders : {std::vector<std::string>{}, {scratch[0]}, scratch}) {
                const Status status = transform({problem.c_str(), route.solve}, folder.path(), {}, folders);
                ASSERT_TRUE(status.ok()) << status.message();
                const std::string content = read_file(folder.file("out"));
                if (first.empty()) {
                    first = content;
                    expect_right(route, folder.path());
                }
                EXPECT_TRUE(content == first) << problem << " on " << folders.size() << " folders";
                int calls = 0;
                EXPECT_EQ(transform(
                              {problem.c_str(), route.solve}, folder.path(),
                              [&](index_t, index_t) { return calls++ < 2; }, folders)
                              .code(),
                          Code::interrupted);
                for (const std::string& each : scratch) EXPECT_EQ(rmdir(each.c_str()), 0) << "not empty: " << each;
                for (const std::string& each : scratch) ASSERT_EQ(mkdir(each.c_str(), 0777), 0);
                EXPECT_EQ(folder.names(), (std::vector<std::string>{"a", "b", "c", "in", "out"}));
            }
        }
    }
}

TEST_F(FileRuns, InterruptedLeavesNothing) {
    for (const Route& route : kRoutes) {
        for (int after : {0, 1, 5}) {
            TemporaryFolder folder;
            const std::string input = input_of(plan_of(route)->problem);
            write_file(folder.file("in"), input);
            write_file(folder.file("out"), "what was there before");
            int calls = 0;
            const Status status = transform(route, folder.path(), [&](index_t, index_t) { return calls++ < after; });
            EXPECT_EQ(status.code(), Code::interrupted) << status.message();
            EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
            EXPECT_TRUE(read_file(folder.file("in")) == input);
            EXPECT_TRUE(read_file(folder.file("out")) == "what was there before");
        }
    }
}

// kill -9 at the n-th progress call of a child; the next start cleans up and finishes.
TEST_F(FileRuns, KilledRunsAreCleanedUpByTheNextStart) {
    for (const Route& route : kRoutes) {
        for (const int after : kSanitized ? std::vector{2} : std::vector{0, 2, 6}) {
            TemporaryFolder folder;
            const std::string input = input_of(plan_of(route)->problem);
            write_file(folder.file("in"), input);
            const pid_t child = fork();
            if (child == 0) {
                int calls = 0;
                (void)transform(route, folder.path(), [&](index_t, index_t) {
                    if (calls++ == after) raise(SIGKILL);
                    return true;
                }).ok();
                _exit(0);
            }
            int outcome = 0;
            ASSERT_EQ(waitpid(child, &outcome, 0), child);
            ASSERT_TRUE(WIFSIGNALED(outcome)) << "the child finished before it was killed";
            EXPECT_TRUE(read_file(folder.file("in")) == input);
            EXPECT_FALSE(std::ifstream(folder.file("out")).good()) << "half an output under its name";
            EXPECT_EQ(folder.names().size(), 2U);  // the input and the dead run's partial file; scratch has no name
            const Status status = transform(route, folder.path());
            ASSERT_TRUE(status.ok()) << status.message();
            expect_right(route, folder.path());
            EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
        }
    }
}

TEST_F(FileRuns, TruncatedInputIsRefused) {
    for (const Route& route : kRoutes) {
        TemporaryFolder folder;
        const std::string input = input_of(plan_of(route)->problem);
        write_file(folder.file("in"), input.substr(0, input.size() - 1));
        EXPECT_EQ(transform(route, folder.path()).code(), Code::corrupt_data);
        EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
    }
}

TEST_F(FileRuns, InputThatShrinksWhileItIsReadIsReported) {
    const Route& route = kRoutes[0];
    TemporaryFolder folder;
    write_file(folder.file("in"), input_of(plan_of(route)->problem));
    const Status status = transform(route, folder.path(),
                                    [&](index_t, index_t) { return truncate(folder.file("in").c_str(), 100) == 0; });
    EXPECT_EQ(status.code(), Code::corrupt_data) << status.message();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

// A disk of 40 MiB that is nearly full: refused before anything is written, with both numbers in the message.
TEST_F(FileRuns, FullDiskIsNoticedBeforeTheFirstByte) {
    TemporaryFolder folder;
    if (geteuid() != 0 || mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=40m") != 0) {
        GTEST_SKIP() << "needs the right to mount a tmpfs";
    }
    struct Unmount {
        std::string path;
        ~Unmount() { (void)umount2(path.c_str(), MNT_DETACH); }
    } unmount{folder.path()};
    const Route& route = kRoutes[1];
    const std::string input = input_of(plan_of(route)->problem);
    write_file(folder.file("in"), input);
    write_file(folder.file("ballast"), std::string(size_t{12} << 20, 'x'));
    const Status status = transform(route, folder.path());
    EXPECT_EQ(status.code(), Code::no_space) << status.message();
    EXPECT_NE(status.message().find(std::to_string(4096 + plan_of(route)->output_file_bytes)), std::string::npos)
        << status.message();
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"ballast", "in"}));
    EXPECT_TRUE(read_file(folder.file("in")) == input);
    ASSERT_EQ(unlink(folder.file("ballast").c_str()), 0);
    const Status again = transform(route, folder.path());  // a file system without direct I/O, maybe: same result
    ASSERT_TRUE(again.ok()) << again.message();
    expect_right(route, folder.path());
}

// 64 MiB through 16 MiB of budget, in a child: what it holds beyond what it began with stays within budget and a
// little. Programs are no buffers: their pages are mapped from files and are left out, as a child maps anew what it
// calls.
TEST_F(FileRuns, StayWithinTheMemoryBudget) {
    if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
    const Route route{"c2c 4194304 forward double memory=16MiB", solve_two_sweeps};
    TemporaryFolder folder;
    write_file(folder.file("in"), std::string(size_t{64} << 20, '\1'));
    ASSERT_TRUE(Executor::make(plan_of(route), make_self_comm()).ok());
    const pid_t child = fork();
    if (child == 0) {
        const auto held_kib = [] {
            std::ifstream status("/proc/self/status");
            std::string word;
            long sum = 0;
            long kib = 0;
            while (status >> word) {
                if ((word == "RssAnon:" || word == "RssShmem:") && status >> kib) sum += kib;
            }
            return sum;
        };
        malloc_trim(0);  // what earlier tests freed would hide what this one takes
        const long before = held_kib();
        long most = before;
        const auto watch = [&](index_t, index_t) {
            most = std::max(most, held_kib());
            return true;
        };
        if (!transform(route, folder.path(), watch).ok()) _exit(255);
        _exit(static_cast<int>(std::min((most - before) >> 10, 254L)));
    }
    int outcome = 0;
    ASSERT_EQ(waitpid(child, &outcome, 0), child);
    ASSERT_TRUE(WIFEXITED(outcome)) << outcome;
    EXPECT_NE(WEXITSTATUS(outcome), 255) << "the transform failed";
    EXPECT_LE(WEXITSTATUS(outcome), 16 + 4) << "MiB beyond what the process began with";
    EXPECT_GE(WEXITSTATUS(outcome), 8) << "MiB: too few to have been the transform's";
}

}  // namespace
}  // namespace spanfft::test
