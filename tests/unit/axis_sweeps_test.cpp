// `axis_sweeps` over simulated disks: groups of axes, halved ones among them; prediction equal to count.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "solvers/table.hpp"
#include "support/sanitized.hpp"
#include "support/store_run.hpp"
#include "support/sweep_case.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft::test {
namespace {

class AxisSweeps : public testing::TestWithParam<SweepCase> {};

TEST_P(AxisSweeps, MatchesTheDefinition) { expect_right(GetParam(), solve_axis_sweeps); }

INSTANTIATE_TEST_SUITE_P(
    Shapes, AxisSweeps,
    testing::Values(
        SweepCase{"c2c 24x35 forward double", "72KiB", 128, 4096}, SweepCase{"c2c 24x35 backward double", "1MiB"},
        SweepCase{"r2c 24x35 forward double", "72KiB", 128, 4096},
        SweepCase{"c2r 24x35 backward double", "72KiB", 128, 4096},
        SweepCase{"r2c 17x36 forward float norm=ortho", "72KiB"},
        SweepCase{"c2r 17x36 backward float norm=ortho", "72KiB"}, SweepCase{"c2c 8x9x10 forward double", "72KiB"},
        SweepCase{"c2c 8x9x10 forward longdouble axes=0,2", "72KiB", 64},
        SweepCase{"r2c 12x10x30 forward double", "72KiB", 8},
        SweepCase{"c2r 12x10x30 backward double", "72KiB", 8, 4096},
        SweepCase{"r2c 12x10x30 forward double axes=0,2", "72KiB"},
        SweepCase{"c2c 12x10x30 forward double axes=0", "72KiB"},
        SweepCase{"c2c 12x10x30 backward double axes=1", "72KiB"},
        SweepCase{"c2c 3x30x12 forward double axes=1", "72KiB"}, SweepCase{"r2c 4x6x8x10 forward double", "72KiB"},
        SweepCase{"c2r 4x6x8x10 backward double", "72KiB"}, SweepCase{"r2c 20x12x3 forward double axes=0,1", "88KiB"},
        SweepCase{"r2c 20x12 forward double axes=1,0", "88KiB"}, SweepCase{"dct2 40x30 forward double", "72KiB"},
        SweepCase{"dct2 40x30 backward double", "72KiB"}, SweepCase{"dst2,c2c 12x30 forward double", "72KiB"},
        SweepCase{"dct2,r2c 40x30 forward double", "72KiB"}, SweepCase{"dct2,r2c 40x30 backward double", "72KiB"},
        SweepCase{"c2c 64x256 forward double threads=1", "88KiB", 128, 4096},
        SweepCase{"c2c 96x512 forward double threads=3", "1MiB", 128, 4096},
        SweepCase{"r2c 96x256 forward float", "256KiB", 128, 4096}));

// The halved axis in columns, alone and with others, first and in the middle; large primes, three threads, ragged
// panels; panels wide enough for whole blocks.
INSTANTIATE_TEST_SUITE_P(
    HalvedInColumns, AxisSweeps,
    testing::Values(SweepCase{"r2c 24x350 forward double axes=0", "60KiB", 128, 4096},
                    SweepCase{"c2r 24x350 backward double axes=0", "60KiB", 128, 4096},
                    SweepCase{"r2c 35x24 forward double axes=1,0", "40KiB", 8},
                    SweepCase{"c2r 35x24 backward double axes=1,0", "40KiB"},
                    SweepCase{"r2c 64x700 forward float axes=1,0 threads=3", "160KiB", 4, 4096},
                    SweepCase{"c2r 64x700 backward float axes=1,0 threads=3", "160KiB", 128, 4096},
                    SweepCase{"r2c 3x31x170 forward double axes=1 norm=ortho", "60KiB"},
                    SweepCase{"c2r 3x31x170 backward double axes=1 norm=ortho", "60KiB", 128, 4096},
                    SweepCase{"r2c 12x10x30 forward longdouble axes=2,0,1", "90KiB", 64},
                    SweepCase{"c2r 12x10x30 backward longdouble axes=2,0,1", "90KiB", 64},
                    SweepCase{"r2c 509x90 forward float axes=0", "128KiB"},
                    SweepCase{"c2r 509x90 backward double axes=0", "160KiB"},
                    SweepCase{"dct2,r2c 40x30 forward double axes=1,0", "40KiB"},
                    SweepCase{"dct2,r2c 40x30 backward double axes=1,0", "40KiB"},
                    SweepCase{"dst2,c2c,r2c 12x10x30 forward float axes=0,2,1", "40KiB"},
                    SweepCase{"dst2,c2c,r2c 12x10x30 backward float axes=0,2,1", "40KiB"},
                    SweepCase{"r2c 40x2500 forward double axes=0 threads=1", "1MiB", 128, 4096},
                    SweepCase{"c2r 40x2500 backward float axes=0 threads=1", "512KiB", 128, 4096}));

// All ordered choices of some axes of `ndim`.
std::vector<std::string> ordered_axes(int ndim) {
    std::vector<std::string> all;
    for (unsigned chosen = 1; chosen < 1U << ndim; ++chosen) {
        std::vector<int> axes;
        for (int axis = 0; axis < ndim; ++axis)
            if (chosen >> axis & 1U) axes.push_back(axis);
        do {
            std::string text;
            for (int axis : axes) text += cat(text.empty() ? "axes=" : ",", axis);
            all.push_back(text);
        } while (std::next_permutation(axes.begin(), axes.end()));
    }
    return all;
}

// What the plans of a test were like, so that it can say what it has seen.
struct Seen {
    int plans = 0, halved_columns = 0, many_panels = 0, slabs_in_place = 0, by_scratch = 0;
    void add(const Plan& plan) {
        ++plans;
        by_scratch += plan.scratch_bytes > 0;
        for (const auto& step : plan.steps) {
            const SweepSpec& spec = dynamic_cast<const SweepStep&>(*step).spec();
            const ColumnPanels& in = spec.source.columns();
            const bool columns = spec.tiled(), halves = spec.source.complex != spec.target.complex;
            halved_columns += columns && halves;
            many_panels += columns && halves && in.panels_per_matrix() > 2 && in.columns % in.panel != 0;
            slabs_in_place += !columns && spec.target.is_in_place() && in.panels() > 1;
        }
    }
};

// Every different plan of `problem` in budgets from too little to more than enough.
void expect_right_in_every_budget(const std::string& problem, index_t offset, Seen& seen) {
    Machine machine;
    machine.cores = 2;
    std::set<std::string> done;
    std::optional<Values> reference;
    for (double bytes = 512 << 10; bytes >= 4096; bytes /= 1.1) {
        const std::string text = cat(problem, " memory=", static_cast<index_t>(bytes));
        const auto plan = solve_axis_sweeps(Problem::parse(text).value(), Planner(machine));
        if (!plan.ok()) break;                        // nor is it planned in less
        if (splits_an_axis(*plan.value())) continue;  // in less memory than groups need: split_axis_test.cpp
        std::string sweeps;
        for (const auto& step : plan.value()->steps) sweeps += step->describe() + "; ";
        if (!done.insert(sweeps).second) continue;
        const StoreRun run = run_on_stores(text, solve_axis_sweeps, offset, 4096);
        ASSERT_TRUE(run.status.ok()) << text << ": " << run.status.message();
        if (!reference) reference = direct_transform(run.plan->problem, run.input);
        EXPECT_LT(error_in_units(run.plan->problem, run.output, *reference), allowed_error(run.plan->problem))
            << text << ": " << sweeps;
        expect_as_predicted(run);
        seen.add(*run.plan);
    }
    EXPECT_FALSE(done.empty()) << problem;
}

TEST(AxisSweeps, HalveAnyOfAnyAxesInEveryBudget) {
    const char* shapes[] = {"40x48",   "61x45",   "1x40",   "37x1",    "2x610",   "14x16x50",
                            "30x1x70", "7x31x10", "1x30x1", "5x8x6x9", "4x7x1x60"};
    int number = 0;
    Seen forward, backward;
    for (const char* shape : shapes) {
        for (const std::string& axes :
             ordered_axes(1 + static_cast<int>(std::count(shape, shape + std::strlen(shape), 'x')))) {
            ++number;
            if (number % kPointStep != 0) continue;
            const char* precision = number % 7 == 0 ? "longdouble" : number % 2 ? "double" : "float";
            const std::string rest = cat(" ", precision, " ", axes, number % 3 ? "" : " norm=ortho",
                                         number % 4 ? " threads=1" : " threads=2");
            const index_t offset = number % 5 == 0 ? 128 : 0;
            expect_right_in_every_budget(cat("r2c ", shape, " forward", rest), offset, forward);
            expect_right_in_every_budget(cat("c2r ", shape, " backward", rest), offset, backward);
        }
    }
    for (const Seen& seen : {forward, backward}) {
        EXPECT_GT(kPointStep * seen.plans, 500);
        EXPECT_GT(kPointStep * seen.halved_columns, 120);
        EXPECT_GT(kPointStep * seen.many_panels, 30);
    }
    EXPECT_GT(kPointStep * forward.slabs_in_place, 20);
    EXPECT_EQ(forward.by_scratch, 0);
    EXPECT_GT(kPointStep * backward.by_scratch, 20);
}

// Each axis in a sweep of its own, the halved one first or last: slabs and columns in place, in the output or scratch.
TEST(AxisSweeps, HalveAnAxisInThreeSweeps) {
    for (const char* axes : {"1,2,0", "0,2,1", "0,1,2"}) {
        for (const char* rest : {"r2c 20x30x41 forward double", "c2r 20x30x41 backward double"}) {
            const std::string problem = cat(rest, " axes=", axes, " threads=1");
            Machine machine;
            machine.cores = 1;
            const auto plan = solve_axis_sweeps(Problem::parse(problem + " memory=36KiB").value(), Planner(machine));
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            EXPECT_EQ(plan.value()->sweeps, 3) << problem;
            Seen seen;
            seen.add(*plan.value());
            const bool last = axes[4] == '2';  // it is halved in slabs
            EXPECT_EQ(seen.halved_columns, last ? 0 : 1) << problem;
            EXPECT_EQ(seen.slabs_in_place, last ? 0 : 1) << problem;
            EXPECT_EQ(seen.by_scratch, rest[0] == 'c') << problem;
            expect_right({problem.c_str(), "36KiB", 128, 4096}, solve_axis_sweeps);
        }
    }
}

// The named budget is not the smallest to the byte, but enough, and a first axis takes no more than a complex one.
TEST(AxisSweeps, HalveAFirstAxisInThatWhichTheyName) {
    for (const char* rest : {"400x300 forward double axes=0", "640x5x40 forward float axes=0",
                             "400x300 forward double axes=1,0", "7x400x90 forward double axes=1"}) {
        const std::string problem = cat("r2c ", rest);
        const index_t memory = named_memory(problem, solve_axis_sweeps);
        EXPECT_LE(memory, named_memory(cat("c2c ", rest), solve_axis_sweeps)) << rest;
        expect_right({problem.c_str(), std::to_string(memory).c_str()}, solve_axis_sweeps);
    }
    // A film's pixels through time: columns of 60000 points, not the whole film.
    const Planner planner{Machine()};
    for (const char* kind : {"r2c", "c2r"}) {
        const std::string text =
            cat(kind, " 60000x500x500 ", kind[0] == 'r' ? "forward" : "backward", " float axes=0 memory=4GiB");
        const auto plan = solve_axis_sweeps(Problem::parse(text).value(), planner);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_EQ(plan.value()->sweeps, 1);
        EXPECT_EQ(plan.value()->scratch_bytes, 0);
        const auto best = planner.plan(Problem::parse(text).value());  // whose runs are of whole frames
        ASSERT_TRUE(best.ok()) << best.status().message();
        EXPECT_EQ(best.value()->solver, "two_sweeps");
        EXPECT_EQ(best.value()->sweeps, 2);
    }
}

// What is never touched need not be had.
TEST(AxisSweeps, OfOnePanelHoldItOnceAsReadAndOnceAsWritten) {
    Machine machine;
    machine.cores = 1;
    const auto whole =
        solve_axis_sweeps(Problem::parse("c2c 512x512 forward double memory=64MiB").value(), Planner(machine)).value();
    const auto* sweep = dynamic_cast<const SweepStep*>(whole->steps.at(0).get());
    ASSERT_NE(sweep, nullptr);
    EXPECT_EQ(sweep->spec().walked().panels(), 1);
    EXPECT_GE(sweep->spec().panel_bytes(), 8 << 20);
    EXPECT_LT(sweep->spec().panel_bytes(), 9 << 20);
}

// It reads, then computes, then writes: nothing overlaps.
TEST(AxisSweeps, OfOnePanelTakeTheirTimesOneAfterTheOther) {
    Machine machine;
    machine.cores = 1;
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e9;
    const auto seconds = [&](const char* problem) {
        const auto plan = solve_axis_sweeps(Problem::parse(problem).value(), Planner(machine)).value();
        const Counts counts = plan->steps.at(0)->predict(0);
        const DiskUse reads{counts.disk_reads, counts.disk_read_bytes},
            writes{counts.disk_writes, counts.disk_written_bytes};
        return std::pair{counts.seconds, machine.disk_seconds(reads, writes, 1)};
    };
    const auto [one, its_disk] = seconds("c2c 512x512 forward double memory=64MiB");
    EXPECT_GT(one, 1.2 * its_disk);
    const auto [many, their_disk] = seconds("c2c 512x512x8 forward double axes=1,2 memory=4MiB");
    EXPECT_LT(many, 1.2 * their_disk);
}

// There are two where panels would be so narrow that all threads share each slab, and where a third does not fit.
TEST(AxisSweeps, OfSlabsHaveAThirdOneToWriteFromWhereThereIsMemory) {
    const Planner planner{Machine()};
    const auto slots = [&](const char* text) {
        const auto plan = solve_axis_sweeps(Problem::parse(text).value(), planner);
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        const SweepSpec& spec = dynamic_cast<const SweepStep&>(*plan.value()->steps.front()).spec();
        return std::pair{spec.read_slots(), spec.write_slots()};
    };
    using Slots = std::pair<index_t, index_t>;
    EXPECT_EQ(slots("r2c 1024x1024x1024 forward float memory=1GiB threads=2"), (Slots{2, 3}));
    EXPECT_EQ(slots("r2c 64x512x1024 forward float axes=1,2 memory=64MiB threads=2"), (Slots{2, 3}));
    EXPECT_EQ(slots("r2c 64x512x1024 forward float axes=1,2 memory=40MiB threads=2"), (Slots{2, 2}));
    EXPECT_EQ(slots("r2c 64x1024x1024 forward float axes=1,2 memory=20MiB threads=2"), (Slots{2, 2}));
}

TEST(AxisSweeps, UsesTheFewestSweeps) {
    const Planner planner{Machine()};
    const auto sweeps = [&](const char* text) {
        const auto plan = solve_axis_sweeps(Problem::parse(text).value(), planner);
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        return plan.ok() ? plan.value()->sweeps : 0;
    };
    EXPECT_EQ(sweeps("c2c 512x512x512 forward double memory=256MiB"), 2);
    EXPECT_EQ(sweeps("r2c 2048x2048x2048 forward float memory=512MiB"), 2);
    EXPECT_EQ(sweeps("c2c 100000x64x64 forward double axes=1,2 memory=64MiB"), 1);
    EXPECT_EQ(sweeps("c2c 64x64x100000 forward double axes=0,1 memory=64MiB"), 1);
}

}  // namespace
}  // namespace spanfft::test
