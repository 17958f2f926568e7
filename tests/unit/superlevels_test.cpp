// P1's out-of-core FFT on simulated disks: results against the definition, parallel I/Os predicted, counted and
// bounded.
#include <gtest/gtest.h>

#include "permute/bmmc.hpp"
#include "solvers/table.hpp"
#include "support/sanitized.hpp"
#include "support/store_run.hpp"

namespace spanfft::test {
namespace {

void expect_right(const std::string& text, index_t input_offset = 0, index_t output_offset = 0) {
    SCOPED_TRACE(text);
    const StoreRun run = run_on_stores(text, solve_superlevels, input_offset, output_offset);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    const Problem& problem = run.plan->problem;
    EXPECT_LT(error_in_units(problem, run.output, direct_transform(problem, run.input)), allowed_error(problem));
    expect_as_predicted(run);
    for (const Counts& step : run.counted) EXPECT_GT(step.parallel_ios, 0);
}

TEST(Superlevels, MatchTheDefinitionAndTheirPrediction) {
    for (const int n : {2, 3, 4, 5, 6, 7, 8, 9, 10, 13}) {
        const std::string length = std::to_string(index_t{1} << n);
        for (const char* memory : {"28KiB", "40KiB"}) {
            expect_right("c2c " + length + " forward double threads=1 memory=" + memory + " method=superlevels");
            if (n < 4) continue;  // memory holds less than the array, and two blocks
            expect_right("c2c " + length + " backward float threads=2 memory=" + memory +
                         " method=superlevels:sync,block=32");
        }
    }
}

TEST(Superlevels, WithDisksBlocksOffsetsAndNorms) {
    for (const char* method : {"superlevels:disks=2,block=64", "superlevels:sync,disks=4,block=32",
                               "superlevels:async,disks=8,block=16", "superlevels:block=512"}) {
        for (const char* kind : {"forward double norm=ortho", "backward double", "forward float norm=forward",
                                 "backward float", "forward longdouble"}) {
            const bool wide = std::string(kind).find("longdouble") != std::string::npos;
            if (wide && std::string(method).find("block=16") != std::string::npos) continue;  // less than a number
            for (const char* length : {"512", "1024", "16384"}) {
                expect_right(std::string("c2c ") + length + " " + kind + " memory=" + (wide ? "96KiB" : "48KiB") +
                                 " method=" + method,
                             128, 4096);
            }
        }
    }
}

TEST(Superlevels, LongTransformsInFewAndInManySuperlevels) {
    if (kPointStep == 1) expect_right("c2c 1048576 forward double memory=1MiB method=superlevels");
    expect_right("c2c 1048576 backward float memory=192KiB threads=2 method=superlevels:disks=4");
    expect_right("c2c 65536 forward double memory=80KiB method=superlevels:sync");
}

// Rows of 2 to 16 points, in loads that are large beside a table of factors.
TEST(Superlevels, OfShortRowsThatShareFactorsMatchTheDefinition) {
    for (const char* problem :
         {"16384 forward double memory=1200KiB", "32768 backward double memory=1200KiB norm=ortho",
          "65536 forward float memory=1200KiB", "131072 backward float memory=1200KiB threads=2",
          "131072 forward double memory=2400KiB threads=2 norm=forward", "16384 forward longdouble memory=1200KiB",
          "524288 backward double memory=4800KiB"}) {
        const std::string text = cat("c2c ", problem, " method=superlevels:sync");
        expect_right(text, 128, 4096);
        const auto seconds = [&](double twiddle) {
            Machine machine;
            machine.twiddle_seconds = twiddle;
            const auto plan = solve_superlevels(Problem::parse(text).value(), Planner(machine)).value();
            return plan->predict(0).seconds * plan->problem.threads;
        };
        EXPECT_NEAR(seconds(1) - seconds(0), product(Problem::parse(text).value().shape) / 64, 1e-6) << text;
    }
}

Result<std::unique_ptr<Plan>> planned(const std::string& text) {
    Machine machine;
    machine.cores = 2;
    return solve_superlevels(Problem::parse(text).value(), Planner(machine));
}

// P1's layout for true: all parallel I/Os here are whole, so every disk moves the same.
TEST(Superlevels, UseRealDisksEvenly) {
    for (const int disks : {2, 4, 8}) {
        for (const char* mode : {"", ":sync"}) {
            const std::string text = "c2c 16384 forward double threads=1 memory=96KiB disks=" + std::to_string(disks) +
                                     " method=superlevels" + mode;
            SCOPED_TRACE(text);
            const StoreRun run = run_on_stores(text, solve_superlevels, 128, 4096, nullptr, -1, disks);
            ASSERT_TRUE(run.status.ok()) << run.status.message();
            EXPECT_LT(error_in_units(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input)),
                      allowed_error(run.plan->problem));
            EXPECT_NE(run.plan->notes.back().find(cat("D=2^", disks == 2   ? 1
                                                              : disks == 4 ? 2
                                                                           : 3)),
                      std::string::npos)
                << run.plan->notes.back();
            EXPECT_GT(run.plan->scratch_block_bytes, 0);
            index_t parallel_ios = 0, bytes = 0;
            for (const Counts& step : run.counted) {
                parallel_ios += step.parallel_ios;
                bytes += step.disk_read_bytes + step.disk_written_bytes;
            }
            // Every parallel I/O moves a block of every disk, or it would take more of them.
            EXPECT_EQ(parallel_ios * disks * run.plan->scratch_block_bytes, bytes);
            ASSERT_EQ(run.scratch_disk_bytes.size(), static_cast<size_t>(disks));
            const index_t array_bytes = 16384 * 16;
            for (const index_t of_disk : run.scratch_disk_bytes) EXPECT_EQ(of_disk * disks, bytes - 2 * array_bytes);
        }
    }
}

TEST(Superlevels, TakeNoneButAPowerOfTwoOfDisksForP1sLayout) {
    for (const char* text : {"disks=3", "disks=4 method=superlevels:disks=2", "disks=1 method=superlevels:disks=2"}) {
        const auto plan = planned(std::string("c2c 65536 memory=256KiB ") + text);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_EQ(plan.value()->scratch_block_bytes, 0) << text;
    }
    const StoreRun run =
        run_on_stores("c2c 4096 memory=48KiB disks=3 method=superlevels", solve_superlevels, 0, 0, nullptr, -1, 3);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    EXPECT_LT(error_in_units(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input)),
              allowed_error(run.plan->problem));
}

// P1, Analysis (section 5), written again: with lg F = m, and for each of ceil(n/m) superlevels.
index_t bound_of_p1(int n, int m, int b, int d) {
    const auto up = [](int a, int c) { return (a + c - 1) / c; };
    const index_t stripes = index_t{1} << (n - b - d);
    index_t total = 2 * stripes * (up(std::min(m, n - m), m - b) + 1);
    for (int level = 0; level < up(n, m); ++level)
        total += 2 * stripes + 2 * stripes * (up(std::min({m, n - m, m, n - m}), m - b) + 1);
    return total;
}

TEST(Superlevels, StayBelowThePublishedBound) {
    int plans = 0;
    for (const int n : {12, 17, 20, 24, 29, 33}) {
        for (int lg_memory = 12; lg_memory < n + 3; lg_memory += 3) {
            for (const char* options : {"", ":sync", ":disks=8", ":block=4KiB", ":block=64KiB"}) {
                const auto plan = planned("c2c " + std::to_string(index_t{1} << n) + " forward double memory=" +
                                          std::to_string(index_t{1} << lg_memory) + " method=superlevels" + options);
                if (!plan.ok()) {
                    EXPECT_NE(plan.status().message().find("superlevels can't do"), std::string::npos);
                    continue;
                }
                ++plans;
                int m = 0, b = 0, d = 0, read_n = 0;
                const std::string note = plan.value()->notes.front();
                ASSERT_EQ(
                    std::sscanf(note.c_str(), "parallel disks: N=2^%d, M=F=2^%d, B=2^%d, D=2^%d", &read_n, &m, &b, &d),
                    4)
                    << note;
                const index_t predicted = plan.value()->predict(0).parallel_ios;
                EXPECT_LE(predicted, bound_of_p1(n, m, b, d)) << note;
                EXPECT_NE(note.find(std::to_string(predicted) + " parallel I/Os predicted, at most " +
                                    std::to_string(bound_of_p1(n, m, b, d)) + " by"),
                          std::string::npos)
                    << note;
            }
        }
    }
    EXPECT_GT(plans, 50);
}

// Depths as published: lg F each, and lg N mod lg F last.
TEST(Superlevels, HaveThePublishedDepths) {
    // 2^20 points of 16 bytes, asynchronous: M is the power of two at or below a fifth of 1 MiB less a sixteenth: 2^13.
    const auto plan = planned("c2c 1048576 forward double memory=1MiB method=superlevels");
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    std::vector<std::string> lines;
    for (const auto& step : plan.value()->steps) lines.push_back(step->describe());
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(lines[0].substr(0, 12), "bit reversal");
    EXPECT_NE(lines[1].find("superlevel of 128 mini-butterflies of 8192 points:"), std::string::npos) << lines[1];
    EXPECT_EQ(lines[2].substr(0, 26), "right rotation by 13 bits,");
    EXPECT_NE(lines[3].find("superlevel of 8192 mini-butterflies of 128 points, twiddle"), std::string::npos)
        << lines[3];
    EXPECT_EQ(lines[4].substr(0, 25), "right rotation by 7 bits:");
}

// The example of docs/out-of-core.md.
TEST(Superlevels, TakeFiveSweepsWhereTheBoundHasEight) {
    const auto plan = planned("c2c 16777216 forward float memory=64MiB method=superlevels:block=64KiB");
    EXPECT_EQ(plan.value()->sweeps, 5);
    EXPECT_EQ(plan.value()->notes.front(),
              "parallel disks: N=2^24, M=F=2^20, B=2^13, D=2^0, asynchronous; 20480 parallel I/Os predicted, at most "
              "32768 by P1's analysis");
    const auto sweeps = [](const BitMatrix& matrix, const PdmShape& shape) {
        return plan_bmmc({matrix, 0}, shape).value().factors.size();
    };
    EXPECT_EQ(sweeps(BitMatrix::bit_reversal(24), {24, 20, 13, 0}), 2U);
    EXPECT_EQ(sweeps(BitMatrix::bit_reversal(12), {12, 6, 3, 0}), 3U);
    EXPECT_EQ(parallel_io_bound(BitMatrix::bit_reversal(12), {12, 6, 3, 0}).value(), 3072);
    EXPECT_EQ(sweeps(BitMatrix::right_rotation(12, 5), {12, 6, 3, 0}), 2U);
}

TEST(Superlevels, SynchronousMemoryHoldsTwiceTheMemoryload) {
    const auto load = [&](const char* options) {
        const auto plan = planned(std::string("c2c 16777216 forward double memory=64MiB method=superlevels") + options);
        return plan.value()->notes.front().substr(0, 38);
    };
    EXPECT_NE(load(":sync").find("M=F=2^20,"), std::string::npos) << load(":sync");
    EXPECT_NE(load(":async").find("M=F=2^19,"), std::string::npos) << load(":async");
}

TEST(Superlevels, SayWhatTheyDoNotDo) {
    const auto refused = [&](const std::string& text) { return planned(text).status().message(); };
    EXPECT_NE(refused("c2c 1000 forward double memory=1MiB").find("1000 is none; use two_sweeps, or a length of 1024"),
              std::string::npos);
    EXPECT_NE(refused("r2c 1024 memory=1MiB").find("not r2c"), std::string::npos);
    EXPECT_NE(refused("c2c 32x32 memory=1MiB").find("not 32x32"), std::string::npos);
    EXPECT_NE(refused("c2c 1024 memory=1MiB ranks=2").find("not on 2 ranks"), std::string::npos);
    EXPECT_NE(refused("c2c 1024 memory=64").find("it needs at least"), std::string::npos);
    EXPECT_NE(refused("c2c 1024 memory=1MiB method=superlevels:disks=3").find("power of two"), std::string::npos);
    EXPECT_NE(refused("c2c 1024 memory=1MiB method=superlevels:block=100").find("100 bytes"), std::string::npos);
    EXPECT_NE(refused("c2c 1024 memory=1MiB method=superlevels:fast").find("'fast' is not understood"),
              std::string::npos);
}

TEST(Superlevels, TakeTheSmallestMemoryThatTheyName) {
    for (const char* rest : {"c2c 65536 forward double", "c2c 1024 forward float method=superlevels:sync,block=512",
                             "c2c 16777216 backward double method=superlevels:disks=8"}) {
        const auto refused = planned(std::string(rest) + " memory=64");
        ASSERT_EQ(refused.status().code(), Code::out_of_memory) << refused.status().message();
        const std::string message = refused.status().message();
        const std::string needed = std::to_string(std::stoll(message.substr(message.rfind('(') + 1)));
        const auto plan = planned(std::string(rest) + " memory=" + needed);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_LE(plan.value()->peak_memory_bytes(0), std::stoll(needed));
    }
}

TEST(Method, ForcesASolverByName) {
    Machine machine;
    const Planner planner(machine);
    const auto solver = [&](const std::string& text) {
        const auto plan = planner.plan(Problem::parse(text).value());
        return plan.ok() ? plan.value()->solver : plan.status().message();
    };
    const std::string problem = "c2c 16777216 forward double memory=64MiB";
    EXPECT_EQ(solver(problem), "many_sweeps");  // by cost: see ManySweeps.IsChosenWhereTwoSweepsHaveShortRuns
    EXPECT_EQ(solver(problem + " method=superlevels"), "superlevels");
    EXPECT_EQ(solver(problem + " method=two_sweeps"), "two_sweeps");
    EXPECT_NE(solver(problem + " method=magic").find("method 'magic' is not known; use one of local, chirp_line"),
              std::string::npos);
    EXPECT_NE(solver(problem + " method=local").find("another sort"), std::string::npos);
    EXPECT_NE(solver("c2c 65537 memory=256KiB method=superlevels").find("65537 is none"), std::string::npos);
    const Problem round = Problem::parse(problem + " method=superlevels:sync,block=4096").value();
    EXPECT_EQ(round.method, "superlevels:sync,block=4096");
    EXPECT_EQ(Problem::parse(round.print()).value(), round);
}

TEST(Superlevels, StopAtAnyFailureAndWhenAsked) {
    const std::string text = "c2c 256 forward double memory=20KiB threads=1 method=superlevels:block=64";
    FaultPlan counting;
    ASSERT_TRUE(run_on_stores(text, solve_superlevels, 0, 0, &counting).status.ok());
    for (index_t fail_at = 1; fail_at <= counting.operations; fail_at += 37) {
        FaultPlan faults;
        faults.fail_at = fail_at;
        const StoreRun run = run_on_stores(text, solve_superlevels, 0, 0, &faults);
        EXPECT_EQ(run.status.code(), Code::io_error) << fail_at;
        EXPECT_TRUE(run.input_untouched);
    }
    EXPECT_EQ(run_on_stores(text, solve_superlevels, 0, 0, nullptr, 3).status.code(), Code::interrupted);
}

}  // namespace
}  // namespace spanfft::test
