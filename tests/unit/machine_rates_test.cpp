// The machine that a plan is made for: its rates and caches decide its plan, and no other one.
//
// Oracle: the same plan made when no other machine was ever imagined, and arithmetic on the figures that were given.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "exec/explain.hpp"
#include "plan/knowledge.hpp"
#include "plan/machine_file.hpp"
#include "plan/planner.hpp"
#include "plan/step_limit.hpp"
#include "plan/topology.hpp"
#include "support/thread_comm.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft::test {
namespace {

// In memory, on ranks, and by the solvers of files that compare by seconds.
const char* const kProblems[] = {"c2c 96x64x80",
                                 "r2c 4096x512 threads=2",
                                 "c2c 64x64x64 ranks=4",
                                 "c2c 65536 ranks=2",
                                 "c2c 4194304 memory=8MiB",
                                 "c2c 1048576 memory=4MiB method=superlevels",
                                 "dct2 2048x2048 memory=8MiB"};

// A machine whose every engine is so slow, as a file would tell it. ducc0 is the least slow one.
std::string machine_text(double gflops) {
    std::string text = "spanfft-machine 1\nname imagined\nmeasured 2026-01-01T00:00:00Z\nmeasured_ranks 1\n";
    for (const char* shape : {"line", "strided", "several"}) {
        for (const char* engine : {"fftw", "mkl", "ducc0"})
            text += cat("engine ", engine, " double ", shape, " 1 1024 ", engine[0] == 'd' ? gflops : gflops / 2, "\n");
    }
    return text;
}

Machine imagined(double gflops) {
    auto machine = parse_machine(machine_text(gflops), this_machine());
    EXPECT_TRUE(machine.ok()) << machine.status().message();
    return std::move(machine).value();
}

std::unique_ptr<Plan> plan_for(const Machine& machine, const char* text) {
    Knowledge knowledge;
    knowledge.machine = machine;
    auto plan = plan_knowing(knowledge, Problem::parse(text).value());
    EXPECT_TRUE(plan.ok()) << text << ": " << plan.status().message();
    return std::move(plan).value();
}

// All that a plan says of itself, its predictions with all their digits.
std::string told(const Plan& plan) {
    std::string text = cat(plan.solver, "\n");
    for (const auto& step : plan.steps) text += cat(step->type(), " ", step->describe(), "\n");
    text += std::to_string(plan.predicted_seconds());
    for (const std::string& note : plan.notes) text += "\n" + note;
    return text;
}

TEST(MachineRates, ImaginingASlowMachineChangesNoOtherPlan) {
    for (const char* text : kProblems) {
        const std::string before = told(*plan_for(this_machine(), text));
        const auto slow = plan_for(imagined(1e-3), text);
        EXPECT_EQ(told(*plan_for(this_machine(), text)), before) << text;
        EXPECT_EQ(told(*plan_for(this_machine(), text)), before) << text;
        EXPECT_NE(told(*slow), before) << text;
    }
}

TEST(MachineRates, PlansThatAreMadeAtTheSameTimeKnowNothingOfOneAnother) {
    const char* text = kProblems[0];
    const std::string here = told(*plan_for(this_machine(), text)), there = told(*plan_for(imagined(1e-3), text));
    ASSERT_NE(here, there);
    std::atomic<int> wrong{0};
    const auto many = [&](const Machine& machine, const std::string& expected) {
        for (int i = 0; i < 50; ++i) wrong += told(*plan_for(machine, text)) != expected;
    };
    std::thread other(many, imagined(1e-3), there);
    many(this_machine(), here);
    other.join();
    EXPECT_EQ(wrong, 0);
}

TEST(MachineRates, OfASlowMachineSlowDownEveryKindOfPlan) {
    for (const char* text : kProblems) {
        const double slow = plan_for(imagined(1e-3), text)->predicted_seconds();
        const double slower = plan_for(imagined(1e-4), text)->predicted_seconds();
        // Nearly all of it is computing, at a tenth of the rate.
        EXPECT_NEAR(slower / slow, 10, 0.5) << text;
    }
}

// The engine that runs is the one that the plan was made with, though another machine is imagined in between.
TEST(MachineRates, ChooseTheEngineThatRuns) {
    const auto first = plan_for(imagined(1e-3), kProblems[0]);
    const auto other = plan_for(this_machine(), kProblems[0]);
    const std::string& text = first->steps.at(0)->describe();
    EXPECT_NE(text.find("by ducc0"), std::string::npos) << text;
}

TEST(MachineDisk, ComputingIsHiddenByTheDiskAsFarAsTheMachineLetsIt) {
    Machine machine;
    EXPECT_DOUBLE_EQ(machine.overlapped_seconds(3, 2, 1), 5);  // a panel is read before anything is computed
    EXPECT_DOUBLE_EQ(machine.overlapped_seconds(3, 2, 4), 3.5);
    machine.disk_compute_share = 0.5;
    EXPECT_DOUBLE_EQ(machine.overlapped_seconds(3, 2, 4), 5 - 0.5 * 0.75 * 2);
    EXPECT_DOUBLE_EQ(machine.overlapped_seconds(2, 3, 4), 5 - 0.5 * 0.75 * 2);
    machine.disk_compute_share = 0;
    EXPECT_DOUBLE_EQ(machine.overlapped_seconds(3, 2, 4), 5);

    machine.memory_bytes_per_second = 10;
    EXPECT_DOUBLE_EQ(machine.threads_bytes_per_second(4), 40);  // nothing is known of threads together
    machine.all_threads_bytes_per_second = 15;
    EXPECT_DOUBLE_EQ(machine.threads_bytes_per_second(1), 10);
    EXPECT_DOUBLE_EQ(machine.threads_bytes_per_second(4), 15);

    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().disk_compute_share, 0);
    EXPECT_EQ(read.value().all_threads_bytes_per_second, 15);
}

// What all ranks do to the disk that they share is one sum; to scratch disks that were measured each does its own part,
// while the other disk works.
TEST(MachineDisk, ScratchDisksOfARankWorkBesideTheDiskThatAllShare) {
    Machine machine;
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e6;
    machine.disk_request_seconds = 0;
    const auto scratch = [&](int disks) { return machine.disk_use(1, 1000000, disks, 4); };
    const DiskUse shared = scratch(0);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(shared, scratch(1), 1), 4 + 4);  // not measured
    EXPECT_DOUBLE_EQ(machine.disk_seconds(shared, scratch(2), 1), 4 + 2);
    machine.scratch_read_bytes_per_second = 5e5, machine.scratch_write_bytes_per_second = 1e5;
    EXPECT_DOUBLE_EQ(machine.disk_seconds(shared, scratch(1), 1), 10);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(scratch(1), shared, 1), 4);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(scratch(2), scratch(2), 1), 2 + 10);  // what was measured were all of them
    EXPECT_DOUBLE_EQ(machine.disk_seconds(shared, scratch(0), 1), 4 + 4);       // it lies with the output
    // The shared disk reads and writes at once as fast as it does either alone: it does not gain by doing less.
    machine.disk_read_alone_bytes_per_second = machine.disk_write_alone_bytes_per_second = 5e5;
    EXPECT_DOUBLE_EQ(machine.disk_seconds(scratch(1), shared, 1), 8);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(shared, scratch(2), 1), 10);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(shared, shared, 1), 4 + 4);
    DiskUse rewritten = shared;
    rewritten.rewritten = true;
    machine.disk_rewrite_bytes_per_second = 2e6;  // new blocks take half a second more of a million bytes
    EXPECT_DOUBLE_EQ(machine.disk_seconds(scratch(1), shared, 1), 8 + 2);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(scratch(1), rewritten, 1), 8);
    const Machine again = parse_machine(print_machine(machine), Machine()).value();
    EXPECT_EQ(again.disk_read_alone_bytes_per_second, 5e5);
    EXPECT_EQ(again.disk_write_alone_bytes_per_second, 5e5);
    EXPECT_EQ(again.scratch_read_bytes_per_second, 5e5);
    EXPECT_EQ(again.scratch_write_bytes_per_second, 1e5);
}

TEST(MachineDisk, RequestsOfWhichFewAreUnderWayTakeTheirShareOfOneAlone) {
    Machine machine;
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e6;
    machine.disk_request_seconds = 16e-3, machine.disk_queue_depth = 16;
    DiskUse reads{64, 1000000}, writes{64, 2000000};
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 4), 3 + 128 * 1e-3);  // not measured
    machine.disk_alone_seconds = 8e-3;
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 4), 3 + 128 * 1e-3);  // 32 at once: the queue counts
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 32), 3 + 128 * 2e-3);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 128), 3 + 128 * 8e-3);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 1000), 3 + 128 * 8e-3);
    reads.disks = 2, writes.disks = 4;
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 4), 0.5 + 64 * 0.5e-3 + 0.5 + 64 * 0.25e-3);
    EXPECT_EQ(parse_machine(print_machine(machine), Machine()).value().disk_alone_seconds, 8e-3);
}

TEST(MachineDisk, WritesHaveFiguresOfTheirOwnWhereTheyWereMeasured) {
    Machine machine;
    machine.disk_read_bytes_per_second = 4e6, machine.disk_write_bytes_per_second = 1e6;
    machine.disk_request_seconds = 16e-3, machine.disk_queue_depth = 16;
    const DiskUse reads{100, 4000000, 1, false, false};
    DiskUse writes{10, 2000000, 1, false, true};
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 1), 1 + 0.1 + 2 + 0.01);  // neither was measured
    machine.disk_rewrite_bytes_per_second = 2e6;
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 1), 1 + 0.1 + 1 + 0.01);
    machine.disk_write_request_seconds = 160e-3;
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 1), 1 + 0.1 + 1 + 0.1);
    writes.rewritten = false;  // new blocks
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 1), 1 + 0.1 + 2 + 0.1);

    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().disk_rewrite_bytes_per_second, 2e6);
    EXPECT_EQ(read.value().disk_write_request_seconds, 160e-3);
}

TEST(MachineDisk, ShortRequestsAreCheapOnlyWhereThePageCacheHoldsTheFile) {
    Machine machine;
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e6;
    machine.disk_request_seconds = 16e-3, machine.disk_queue_depth = 16;
    const DiskUse reads{100, 1000000, 1, true, false};
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, {}, 1), 1 + 0.1);  // not measured
    machine.disk_cached_seconds = 1e-4, machine.page_cache_bytes = 1e6;
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, {}, 1), 1 + 0.01);
    const DiskUse larger{100, 1000001, 1, true, false};
    EXPECT_NEAR(machine.disk_seconds(larger, {}, 1), 1 + 0.1, 1e-5);
    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().disk_cached_seconds, 1e-4);
    EXPECT_EQ(read.value().page_cache_bytes, 1e6);
}

// In rows of a quarter of a page each page is fetched once, and asked for four times; it is there when it is written.
TEST(MachineDisk, BytesOfShortRequestsAreFetchedIntoThePageCacheOnce) {
    Machine machine;
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e6;
    machine.disk_cached_seconds = 1e-4, machine.page_cache_bytes = 1e6;
    machine.disk_cached_seconds_per_byte = 3e-6;
    const DiskUse reads{1000, 1000000, 1, true, false}, writes{1000, 1000000, 1, true, true};
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, {}, 1), 3 + 0.1);
    EXPECT_DOUBLE_EQ(machine.disk_seconds({}, writes, 1), 1 + 0.1);
    EXPECT_DOUBLE_EQ(machine.disk_seconds(reads, writes, 1), 4 + 0.2);
    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().disk_cached_seconds_per_byte, 3e-6);
}

TEST(MachineDisk, APlansFirstSweepAlsoStartsItsThreadsAndTouchesItsMemory) {
    Machine machine;
    EXPECT_EQ(machine.sweep_start_seconds(1000), 0);  // not measured
    machine.disk_start_seconds = 2, machine.memory_touch_seconds_per_byte = 1e-3;
    machine.disk_read_bytes_per_second = 2e3;
    EXPECT_DOUBLE_EQ(machine.sweep_start_seconds(1000), 2.5);  // the disk reads meanwhile
    machine.disk_read_bytes_per_second = 500;
    EXPECT_DOUBLE_EQ(machine.sweep_start_seconds(1000), 2);
    machine.disk_read_bytes_per_second = Machine().disk_read_bytes_per_second;
    const double touching = 1e-3 - 1 / machine.disk_read_bytes_per_second;
    const auto plan = Planner(Machine()).plan(Problem::parse("c2c 1048576 float memory=4MiB threads=1").value());
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_GT(plan.value()->steps.size(), 1u);
    for (const auto& step : plan.value()->steps) {
        const SweepSpec& sweep = static_cast<const SweepStep&>(*step).spec();
        const double more = predict_sweep(sweep, machine).seconds - predict_sweep(sweep, Machine()).seconds;
        const bool first = step == plan.value()->steps.front();
        EXPECT_NEAR(more, first ? 2 + touching * static_cast<double>(sweep.panel_bytes()) : 0, 1e-9);
    }
}

TEST(MachineDisk, SoDoesThatOfPermutationsAndSuperlevels) {
    Machine machine;
    machine.disk_start_seconds = 2, machine.memory_touch_seconds_per_byte = 1e-3;
    const Problem problem = Problem::parse("c2c 65536 memory=512KiB threads=1 method=superlevels").value();
    const auto before = Planner(Machine()).plan(problem), after = Planner(machine).plan(problem);
    ASSERT_TRUE(before.ok() && after.ok()) << after.status().message();
    ASSERT_EQ(before.value()->steps.size(), after.value()->steps.size());
    const auto memory = static_cast<double>(after.value()->slot_bytes[0][static_cast<size_t>(Slot::work0)]);
    ASSERT_GT(memory, 0);
    const double touching = 1e-3 - 1 / machine.disk_read_bytes_per_second;
    for (size_t i = 0; i < after.value()->steps.size(); ++i) {
        const double more = after.value()->steps[i]->predict(0).seconds - before.value()->steps[i]->predict(0).seconds;
        EXPECT_NEAR(more, i == 0 ? 2 + touching * memory : 0, 1e-9) << i;
    }
}

// Else explain would say that more than all of a limit is reached, in place or through the page cache.
TEST(MachineDisk, ItsLimitHasTheLeastOfAllFigures) {
    Machine machine;
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e6;
    machine.disk_rewrite_bytes_per_second = 2e6;
    machine.disk_request_seconds = 16e-3, machine.disk_write_request_seconds = 8e-3, machine.disk_queue_depth = 16;
    Counts counts;
    counts.disk_read_bytes = counts.disk_written_bytes = 1000000, counts.disk_reads = counts.disk_writes = 1000;
    for (const bool cached : {false, true}) {
        if (cached) machine.disk_cached_seconds = 1e-5, machine.page_cache_bytes = 1e9;
        const StepLimit limit = limit_of(counts, peaks_of(machine, Precision::dbl, 1, 1, 1));
        EXPECT_EQ(std::string(limit.name), "disk");
        EXPECT_LE(limit.seconds,
                  machine.disk_seconds({1000, 1000000, 1, cached, false}, {1000, 1000000, 1, cached, true}, 1));
    }
}

TEST(MachineDisk, ASweepTakesLongerWhereComputingIsNotHidden) {
    Machine machine;
    const auto seconds = [&](double share) {
        machine.disk_compute_share = share;
        return Planner(machine)
            .plan(Problem::parse("c2c 4194304 memory=8MiB threads=2").value())
            .value()
            ->predict(0)
            .seconds;
    };
    EXPECT_GT(seconds(0), seconds(0.5));
    EXPECT_GT(seconds(0.5), seconds(1));
}

// Worked: 2^16 complex doubles by one thread in sweeps that gather and scatter 2 MiB each; the last one has no
// twiddles. Nothing else takes time on this machine, nor is anything hidden.
TEST(MachineDisk, TilesOfASweepAreBytesAndTwiddleFactors) {
    Machine machine;
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e15;
    machine.disk_request_seconds = 0;
    machine.disk_compute_share = 0;
    const auto plan =
        Planner(machine).plan(Problem::parse("c2c 65536 memory=512KiB threads=1 method=two_sweeps").value());
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const auto seconds = [&](double tile_rate, double twiddle) {
        machine.tile_bytes_per_second = tile_rate;
        machine.twiddle_seconds = twiddle;
        std::vector<double> each;
        for (const auto& step : plan.value()->steps)
            each.push_back(predict_sweep(static_cast<const SweepStep&>(*step).spec(), machine).seconds);
        return each;
    };
    const std::vector<double> fast = seconds(1e30, 0), slow = seconds(1 << 20, 0), twiddled = seconds(1e30, 1e-3);
    ASSERT_GE(fast.size(), 2u);
    for (size_t i = 0; i < fast.size(); ++i) {
        EXPECT_NEAR(slow[i] - fast[i], 2, 1e-9) << i;
        EXPECT_NEAR(twiddled[i] - fast[i], i + 1 < fast.size() ? 65.536 : 0, 1e-9) << i;
    }
    machine.tile_bytes_per_second = 3e9;
    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().tile_bytes_per_second, 3e9);
    EXPECT_EQ(read.value().twiddle_seconds, 1e-3);
}

TEST(MachineRates, PermutationsAndSuperlevelsTakeWhatTheirScatteringAndFactorsTake) {
    struct Case {
        const char* problem;
        double scattered;  // MiB a sweep
        double factors;    // thousands, of the second superlevel
    };
    // Of rows of 8 points 64 share what is made, if memory has room for a table.
    for (const Case& test : {Case{"c2c 65536 memory=512KiB", 2, 65.536}, {"c2c 131072 memory=2400KiB", 4, 2.048}}) {
        const auto seconds = [&](double tile_rate, double twiddle) {
            Machine machine;
            machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e15;
            machine.disk_request_seconds = 0;
            machine.disk_compute_share = 0;
            machine.tile_bytes_per_second = tile_rate;
            machine.twiddle_seconds = twiddle;
            const auto problem = Problem::parse(cat(test.problem, " threads=1 method=superlevels")).value();
            const auto plan = Planner(machine).plan(problem);
            EXPECT_TRUE(plan.ok()) << plan.status().message();
            std::vector<std::pair<std::string, double>> each;
            for (const auto& step : plan.value()->steps) each.emplace_back(step->describe(), step->predict(0).seconds);
            return each;
        };
        const auto fast = seconds(1e30, 0), slow = seconds(1 << 20, 0), twiddled = seconds(1e30, 1e-3);
        ASSERT_EQ(fast.size(), 5u);
        for (size_t i = 0; i < fast.size(); ++i) {  // the first superlevel has engines only, the second factors too
            EXPECT_NEAR(slow[i].second - fast[i].second, i == 1 ? 0 : test.scattered, 1e-9) << fast[i].first;
            EXPECT_NEAR(twiddled[i].second - fast[i].second, i == 3 ? test.factors : 0, 1e-9) << fast[i].first;
        }
    }
}

TEST(MachineRates, RanksMeetBeforeAStepThatReadsOneAnothersMemory) {
    const auto seconds = [](const char* problem, double meeting, int& shared) {
        Machine machine;
        machine.shared_step_seconds = meeting;
        const auto plan = Planner(machine).plan(Problem::parse(problem).value());
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        double sum = 0;
        shared = 0;
        for (const auto& step : plan.value()->steps) {
            sum += step->predict(0).seconds;
            shared += !step->shared_slots().empty();
        }
        return sum;
    };
    int shared = 0;
    for (const char* problem : {"c2c 64x64 ranks=2 exchange=shared", "c2c 4096 ranks=2 method=shared_lines"}) {
        // So short that no other plan is faster.
        const double before = seconds(problem, 0, shared), after = seconds(problem, 1e-8, shared);
        EXPECT_GT(shared, 0) << problem;
        EXPECT_NEAR(after - before, shared * 1e-8, 1e-13) << problem;
    }
    const double none = seconds("c2c 64x64 ranks=2 exchange=alltoallv", 1, shared);
    EXPECT_EQ(shared, 0);
    EXPECT_LT(none, 1);
    Machine machine;
    machine.shared_step_seconds = 3e-6;
    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().shared_step_seconds, 3e-6);
}

TEST(MachineRates, StepsAreAsSlowAsStepsOfTheirSortAndSize) {
    Machine machine;
    EXPECT_EQ(machine.slowness("Transform", 1 << 20), 1);
    machine.step_slowness = {{"Transform", {{1024, 2}, {4096, 8}}}, {"any", {{1024, 3}}}};
    EXPECT_EQ(machine.slowness("Transform", 1), 2);
    EXPECT_EQ(machine.slowness("Transform", 1024), 2);
    EXPECT_NEAR(machine.slowness("Transform", 2048), 4, 1e-12);
    EXPECT_EQ(machine.slowness("Transform", 1 << 30), 8);
    EXPECT_EQ(machine.slowness("Exchange", 1 << 20), 3);  // nothing is known of these, so they are like the others
    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().step_slowness, machine.step_slowness);
    // A file's sorts replace those that it names.
    const auto over = parse_machine("spanfft-machine 1\nstep any point 512 7\n", machine);
    ASSERT_TRUE(over.ok()) << over.status().message();
    EXPECT_EQ(over.value().step_slowness.at("any"), (std::vector<SlownessPoint>{{512, 7}}));
    for (const char* line : {"step any", "step any point 512", "step any point 0 1", "step any point 512 0",
                             "step any point 512 -1", "step any point nan 1", "step any size 512 1"}) {
        const auto bad = parse_machine(cat("spanfft-machine 1\n", line, "\n"), Machine());
        EXPECT_EQ(bad.status().code(), Code::corrupt_data) << line;
        EXPECT_NE(bad.status().message().find(line), std::string::npos) << bad.status().message();
    }
}

TEST(MachineRates, PlansMultiplyTheStepsThatAreSlow) {
    const auto steps = [](const Machine& machine, const char* problem) {
        auto plan = Planner(machine).plan(Problem::parse(problem).value());
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        return std::move(plan).value();
    };
    const auto check = [&](const char* problem, const std::vector<std::string>& sorts) {
        const auto before = steps(Machine(), problem);
        for (const std::string& slow : sorts) {
            Machine machine;
            machine.step_slowness[slow] = {{1, 1.5}};
            const auto after = steps(machine, problem);
            ASSERT_EQ(after->steps.size(), before->steps.size()) << problem;
            int found = 0;
            for (size_t i = 0; i < before->steps.size(); ++i) {
                const double ratio = slow == "any" || before->steps[i]->sort() == slow ? 1.5 : 1;
                found += ratio > 1;
                EXPECT_NEAR(after->steps[i]->predict(0).seconds, ratio * before->steps[i]->predict(0).seconds, 1e-15)
                    << problem << " " << before->steps[i]->describe();
                EXPECT_EQ(after->steps[i]->predict(0).flops, before->steps[i]->predict(0).flops);
            }
            EXPECT_GT(found, 0) << problem << " " << slow;
        }
    };
    check("c2c 64x64x64 ranks=2 exchange=shared grid=2x1 method=shared",
          {"any", "Transform:box", "SharedTransform", "Copy"});
    check("c2c 4096 ranks=2 method=shared_lines", {"any", "SharedTransform:twiddled", "SharedTransform:lines"});
    check("r2c 8192 ranks=2 method=shared_lines", {"any", "SharedTransform:twiddled", "SharedTransform:folded"});
    check("c2c 64x64 ranks=2 exchange=alltoallv grid=2", {"any", "Transform", "Exchange"});
}

// Lines of 96 points side by side, which ranks transform where they lie, are priced by the rates of tiles.
TEST(MachineRates, OfTilesPriceTheColumnsOfSharedArrays) {
    const auto seconds_of_columns = [](double gflops_in_tiles) {
        Machine machine;
        machine.shared_step_seconds = 0;
        machine.engine_rates = {{"ducc0", Precision::dbl, RateShape::line, 1, 96, 20},
                                {"ducc0", Precision::dbl, RateShape::tile, 1, 96, gflops_in_tiles}};
        const auto plan =
            Planner(machine).plan(Problem::parse("c2c 96x128 ranks=2 exchange=shared grid=2 engine=ducc0").value());
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        double seconds = 0;
        for (const auto& step : plan.value()->steps)
            if (step->type() == std::string("SharedTransform")) seconds += step->predict(0).seconds;
        return seconds;
    };
    const double moving = seconds_of_columns(1e15);  // runs into tiles and out of them: 96 points of 64 columns, twice
    EXPECT_NEAR(moving, 2 * 2 * 96 * 6e-9, 1e-12);
    const double as_fast = seconds_of_columns(20) - moving;
    ASSERT_GT(as_fast, 0);
    EXPECT_NEAR(seconds_of_columns(5) - moving, 4 * as_fast, 1e-6 * as_fast);
}

// Rounded to six digits, 2^21 points were no power of two any more, and a cube of 2^21 got the rate of one of 2^18.
TEST(MachineRates, OfAFileKeepAllDigitsOfTheirLengths) {
    Machine machine;
    machine.engine_rates = {
        {"fftw", Precision::dbl, RateShape::several, 1, 1 << 18, 24},
        {"fftw", Precision::dbl, RateShape::several, 1, 1 << 21, 14},
        {"fftw", Precision::dbl, RateShape::line, 1, 16, 8, RateKernel::c2c, (1 << 21) + 16},
    };
    const auto read = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_EQ(read.value().engine_rates.size(), 3U);
    EXPECT_EQ(read.value().engine_rates[1].n, 1 << 21);
    EXPECT_EQ(read.value().engine_rates[2].batch_points, (1 << 21) + 16);
}

TEST(MachineCaches, AreTheSmallestOfAllRanksAndDividedByThoseOfANode) {
    ThreadWorld world(3);
    world.run([](int, Comm& comm) {
        Machine machine = this_machine();
        ASSERT_TRUE(find_topology(comm, machine).ok());
        EXPECT_EQ(machine.caches, cache_sizes());
        EXPECT_EQ(machine.caches_of(3), cache_sizes().shared_by(3));
    });
    Machine machine;
    machine.caches = {32 << 10, 1 << 20, 32 << 20, 1};
    machine.topology.ranks_per_node = 4;
    EXPECT_EQ(machine.caches_of(1000).l3_bytes, 8 << 20);
    EXPECT_EQ(machine.caches_of(2).l3_bytes, 16 << 20);
}

TEST(MachineCaches, OfAFileAreThoseOfTheMachineThatItDescribes) {
    const auto machine = parse_machine("spanfft-machine 1\ncache_l2_bytes 65536\ncache_l3_count 0\n", Machine());
    ASSERT_TRUE(machine.ok());
    EXPECT_EQ(machine.value().caches.l2_bytes, 65536);
    EXPECT_EQ(machine.value().caches.l3_count, 1);
    EXPECT_EQ(machine.value().caches.l3_bytes, cache_sizes().l3_bytes);
    EXPECT_EQ(print_machine(parse_machine(print_machine(machine.value()), Machine()).value()),
              print_machine(machine.value()));
}

}  // namespace
}  // namespace spanfft::test
