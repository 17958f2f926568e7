// Sweeps of one long axis over simulated disks: results against the definition, prediction equal to count.
#include <gtest/gtest.h>

#include "solvers/table.hpp"
#include "support/sanitized.hpp"
#include "support/store_run.hpp"
#include "support/sweep_case.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft::test {
namespace {

class TwoSweeps : public testing::TestWithParam<SweepCase> {};

TEST_P(TwoSweeps, MatchesTheDefinition) { expect_right(GetParam(), solve_two_sweeps); }

INSTANTIATE_TEST_SUITE_P(
    Lengths, TwoSweeps,
    testing::Values(
        SweepCase{"c2c 4 forward double", "72KiB"}, SweepCase{"c2c 6 backward double", "72KiB"},
        SweepCase{"r2c 4 forward double", "72KiB"}, SweepCase{"c2r 4 backward double", "72KiB"},
        SweepCase{"r2c 9 forward double", "72KiB"}, SweepCase{"c2r 9 backward double", "72KiB"},
        SweepCase{"r2c 6 forward double", "72KiB"}, SweepCase{"c2r 6 backward double", "72KiB"},
        SweepCase{"r2c 10 forward double", "72KiB"}, SweepCase{"c2r 10 backward double", "72KiB"},
        SweepCase{"c2c 1155 forward double", "72KiB", 128, 4096},
        SweepCase{"c2c 1155 backward double", "88KiB", 128, 4096}, SweepCase{"c2c 1024 forward double", "88KiB"},
        SweepCase{"c2c 1024 forward float norm=ortho", "88KiB", 128},
        SweepCase{"c2c 1024 backward longdouble", "96KiB", 64},
        SweepCase{"c2c 1632 forward double", "88KiB", 128, 4096},
        SweepCase{"r2c 1024 forward double", "88KiB", 128, 4096}, SweepCase{"r2c 1155 forward double", "88KiB", 80},
        SweepCase{"r2c 1154 forward double", "200KiB"}, SweepCase{"r2c 1530 forward float norm=forward", "88KiB"},
        SweepCase{"r2c 1001 forward longdouble", "88KiB"}, SweepCase{"c2r 1024 backward double", "88KiB", 128, 4096},
        SweepCase{"c2r 1155 backward double", "88KiB", 80}, SweepCase{"c2r 1154 backward double", "200KiB"},
        SweepCase{"c2r 1530 backward float norm=forward", "88KiB"}, SweepCase{"c2r 1001 backward longdouble", "88KiB"},
        SweepCase{"c2c 3x5x480 forward double axes=2", "72KiB", 128},
        SweepCase{"r2c 3x2x105 forward double axes=2", "72KiB"},
        SweepCase{"c2r 2x3x210 backward double axes=2", "72KiB", 8},
        SweepCase{"c2c 2x1024 backward double axes=1 threads=1", "1MiB"},
        SweepCase{"c2c 2048 forward double threads=3", "256KiB", 128, 4096},
        SweepCase{"r2c 1024 forward double", "512KiB", 0, 4096},
        SweepCase{"c2r 1024 backward float", "512KiB", 0, 4096},
        SweepCase{"c2c 16384 forward double", "400KiB", 128, 4096},
        SweepCase{"c2c 1048576 backward double", "5MiB", 128, 4096},
        SweepCase{"c2c 69120 forward float norm=ortho", "700KiB", 0, 4096}));

INSTANTIATE_TEST_SUITE_P(
    RealKinds, TwoSweeps,
    testing::Values(
        SweepCase{"dct1 3 forward double", "72KiB"}, SweepCase{"dct1 501 forward double", "88KiB", 8, 4096},
        SweepCase{"dct1 513 backward float norm=forward", "88KiB"}, SweepCase{"dct2 2 forward double", "72KiB"},
        SweepCase{"dct2 720 forward double", "88KiB", 8, 4096}, SweepCase{"dct2 525 forward float", "88KiB"},
        SweepCase{"dct2 719 forward double", "256KiB"}, SweepCase{"dct2 720 backward double", "88KiB", 128, 4096},
        SweepCase{"dct3 2 forward double", "72KiB"}, SweepCase{"dct3 525 forward longdouble", "128KiB"},
        SweepCase{"dct3 512 forward double threads=3", "256KiB", 128, 4096},
        SweepCase{"dct4 720 forward double", "88KiB", 8, 4096}, SweepCase{"dct4 525 backward float", "88KiB"},
        SweepCase{"dct4 3 forward double", "72KiB"}, SweepCase{"dst1 499 forward double", "88KiB"},
        SweepCase{"dst1 511 backward double", "88KiB", 128, 4096}, SweepCase{"dst2 720 forward double", "88KiB"},
        SweepCase{"dst2 525 backward float norm=forward", "88KiB"}, SweepCase{"dst3 3 forward double", "72KiB"},
        SweepCase{"dst3 720 forward double", "88KiB", 128, 4096}, SweepCase{"dst4 525 forward double", "88KiB"},
        SweepCase{"dct2 3x2x105 forward double axes=2", "88KiB", 8, 4096},
        SweepCase{"dct3 3x2x105 forward double axes=2", "88KiB"},
        SweepCase{"dst4 2x3x64 forward double axes=2", "88KiB"},
        SweepCase{"dct2 65536 forward double", "1MiB", 128, 4096},
        SweepCase{"dct3 65536 forward float", "1MiB", 128, 4096},
        SweepCase{"dct4 65536 forward float", "1MiB", 128, 4096},
        SweepCase{"dst2 1048576 forward double", "6MiB", 0, 4096}));

class ManySweeps : public testing::TestWithParam<SweepCase> {};

TEST_P(ManySweeps, MatchesTheDefinition) { expect_right(GetParam(), solve_many_sweeps); }

INSTANTIATE_TEST_SUITE_P(
    Lengths, ManySweeps,
    testing::Values(
        SweepCase{"c2c 8 forward double", "72KiB"}, SweepCase{"c2c 30 backward double", "72KiB"},
        SweepCase{"c2c 16 forward double threads=1", "72KiB"}, SweepCase{"c2c 1155 forward double", "72KiB", 128, 4096},
        SweepCase{"c2c 4096 backward double", "88KiB", 128, 4096},
        SweepCase{"c2c 3x2x480 forward double axes=2", "72KiB"},
        SweepCase{"c2c 105 forward longdouble norm=ortho", "88KiB", 64}, SweepCase{"r2c 8 forward double", "72KiB"},
        SweepCase{"r2c 27 forward double", "72KiB"}, SweepCase{"r2c 12 forward double", "72KiB"},
        SweepCase{"r2c 30 forward double", "72KiB"}, SweepCase{"r2c 1155 forward double", "80KiB", 8, 4096},
        SweepCase{"r2c 1024 forward float", "72KiB"},
        SweepCase{"r2c 1024 forward double threads=3", "256KiB", 128, 4096},
        SweepCase{"r2c 3x2x480 forward double axes=2", "72KiB", 128}, SweepCase{"c2r 8 backward double", "72KiB"},
        SweepCase{"c2r 27 backward double", "72KiB"}, SweepCase{"c2r 12 backward double", "72KiB"},
        SweepCase{"c2r 30 backward double", "72KiB"}, SweepCase{"c2r 1155 backward double", "80KiB", 128, 4096},
        SweepCase{"c2r 1024 backward float", "72KiB", 8},
        SweepCase{"c2r 1024 backward double norm=ortho", "256KiB", 0, 4096},
        SweepCase{"c2r 3x2x480 backward double axes=2", "72KiB"},
        SweepCase{"c2c 65536 forward double", "160KiB", 128, 4096},
        SweepCase{"r2c 65536 forward double", "128KiB", 128, 4096}, SweepCase{"c2r 45045 backward double", "128KiB"},
        SweepCase{"r2c 45045 forward float", "128KiB"}, SweepCase{"c2c 1048576 forward float", "512KiB", 128, 4096}));

// Memory for whole sections: lengths odd and even, first factors odd and even, as many sections odd and even.
INSTANTIATE_TEST_SUITE_P(
    WholeSections, ManySweeps,
    testing::Values(SweepCase{"c2c 4096 forward double", "512KiB", 128, 4096},
                    SweepCase{"c2c 3x1155 backward float axes=1", "256KiB"},
                    SweepCase{"r2c 3375 forward double", "256KiB", 128}, SweepCase{"r2c 4096 forward double", "256KiB"},
                    SweepCase{"r2c 1001 forward float", "256KiB"}, SweepCase{"r2c 2310 forward double", "256KiB"},
                    SweepCase{"r2c 2x1728 forward longdouble axes=1", "512KiB", 0, 4096},
                    SweepCase{"r2c 262144 forward float threads=3", "768KiB", 128, 4096},
                    SweepCase{"c2r 3375 backward double", "256KiB"}, SweepCase{"c2r 4096 backward float", "256KiB"},
                    SweepCase{"c2r 1001 backward float", "256KiB", 8}, SweepCase{"c2r 2310 backward double", "256KiB"},
                    SweepCase{"c2r 2x1728 backward longdouble axes=1", "512KiB", 0, 4096},
                    SweepCase{"c2r 3x1155x2 backward double axes=1 norm=forward", "256KiB", 16},
                    SweepCase{"c2r 65536 backward float threads=3", "192KiB", 128, 4096}));

const SweepSpec& sweep_of(const Plan& plan, size_t step) {
    return dynamic_cast<const SweepStep&>(*plan.steps[step]).spec();
}

// The first sweep of c2r: whole sections of the half spectrum, or halves of them where memory does not hold one.
TEST(ManySweeps, OfC2rAreRightInWholeSectionsAndInHalves) {
    int whole = 0, halves = 0, of_many_panels = 0;
    for (const char* length :
         {"512", "1331", "1820", "3x1350 axes=1", "3125", "6000", "6174", "2x2002 axes=1", "9009", "16384"}) {
        for (const char* memory : {"58KiB", "64KiB", "80KiB", "128KiB", "200KiB"}) {
            const std::string problem = cat("c2r ", length, " backward double threads=2");
            const auto plan =
                solve_many_sweeps(Problem::parse(cat(problem, " memory=", memory)).value(), Planner(Machine()));
            if (!plan.ok()) continue;
            const ColumnPanels& in = sweep_of(*plan.value(), 0).source.columns();
            ++(in.halved() > 0 ? whole : halves);
            of_many_panels += in.halved() > 0 && in.panels_per_matrix() > 2;
            EXPECT_EQ(plan.value()->reads_twice, in.mirrors_all());
            SCOPED_TRACE(cat(problem, " memory=", memory));
            expect_right({problem.c_str(), memory}, solve_many_sweeps);
        }
    }
    EXPECT_GE(whole, 20);
    EXPECT_GE(of_many_panels, 10);
    EXPECT_GE(halves, 4);
}

// Three sweeps of which the second one transforms slabs where they lie: batches, rows for elements, last panels and
// tiles that are narrower, several slabs a panel.
TEST(ManySweeps, OfSlabsAreRightWhateverTheirPanelsAreRoundedTo) {
    int slabs = 0, batches = 0, of_many_panels = 0, of_many_tiles = 0, of_many_slabs = 0, cut_tiles = 0;
    for (const char* kind : {"c2c ", "r2c "}) {
        for (const char* length : {"1331", "3x1350 axes=1", "2310x3 axes=0", "6174", "2x2002x2 axes=1", "9009", "16384",
                                   "2x27000 axes=1", "30030", "3x18432 axes=1", "46080", "65536", "24640", "27027"}) {
            for (const char* memory : {"64KiB", "96KiB", "200KiB", "400KiB", "700KiB", "1MiB"}) {
                const std::string problem = cat(kind, length, " forward double threads=2");
                const auto plan =
                    solve_many_sweeps(Problem::parse(cat(problem, " memory=", memory)).value(), Planner(Machine()));
                if (!plan.ok()) continue;
                const SweepSpec &first = sweep_of(*plan.value(), 0), &second = sweep_of(*plan.value(), 1);
                const TurnedRows* const turned = first.target.turned();
                if (!turned) continue;
                ++slabs;
                batches += turned->panels.outer > 1;
                of_many_panels += turned->panels.panels_per_matrix() > 2;
                of_many_tiles += first.tile_steps() > 2;
                cut_tiles += turned->panels.rows % turned->tile_rows != 0;
                of_many_slabs += second.source.columns().panel > second.slab_elems(second.points);
                EXPECT_EQ(second.source.place, second.target.place);
                SCOPED_TRACE(cat(problem, " memory=", memory));
                expect_right({problem.c_str(), memory, 128, 4096}, solve_many_sweeps);
                expect_right({problem.c_str(), memory}, solve_many_sweeps);
            }
        }
    }
    EXPECT_GE(slabs, 40);
    EXPECT_GE(batches, 8);
    EXPECT_GE(of_many_panels, 10);
    EXPECT_GE(of_many_tiles, 10);
    EXPECT_GE(cut_tiles, 5);
    EXPECT_GE(of_many_slabs, 10);
}

TEST(ManySweeps, NeedNoScratchForC2cAndForR2cThatOfOneResult) {
    const Planner planner{Machine()};
    const auto scratch = [&](const char* text) {
        const auto plan = solve_many_sweeps(Problem::parse(text).value(), planner);
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_EQ(plan.value()->sweeps, 3);
        return plan.value()->scratch_bytes;
    };
    EXPECT_EQ(scratch("c2c 134217728 forward float memory=256MiB"), 0);
    EXPECT_EQ(scratch("c2c 16777216 backward double memory=16MiB"), 0);
    EXPECT_EQ(scratch("c2c 8x16777216 forward float axes=1 memory=32MiB"), 0);
    // Of each column of f0 points one result more than half is stored.
    EXPECT_LE(scratch("r2c 134217728 forward float memory=128MiB"), (index_t{512} << 20) / 32 * 33);
    // Numbers that are stored as another type are not computed in the output.
    EXPECT_EQ(scratch("c2c 134217728 forward float memory=256MiB power store=float32"), index_t{1} << 30);
}

// The sweep over the middle factor reads whole slabs, so the other two factors may be short, and their runs are long.
TEST(ManySweeps, HaveLongRunsInASixteenthOfTheArray) {
    const Planner planner{Machine()};
    for (const char* text : {"c2c 134217728 forward float memory=64MiB", "c2c 536870912 forward double memory=512MiB",
                             "r2c 536870912 forward float memory=128MiB", "c2c 16777216 forward double memory=16MiB"}) {
        const auto plan = solve_many_sweeps(Problem::parse(text).value(), planner);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        for (const auto& step : plan.value()->steps) {
            const Counts counts = step->predict(0);
            EXPECT_GE(counts.disk_read_bytes / counts.disk_reads, 48 << 10) << text << ": " << step->describe();
            EXPECT_GE(counts.disk_written_bytes / counts.disk_writes, 48 << 10) << text << ": " << step->describe();
        }
    }
}

// Where memory bounds runs, those of a sweep over fewer points are longer: points times bytes a request is what counts.
TEST(ManySweeps, OfC2rReadRunsAsLongAsThoseThatR2cWrites) {
    for (const char* rest :
         {"268435456 float memory=64MiB", "16777216 double memory=8MiB", "14348907 double memory=8MiB",
          "134217728 float memory=64MiB", "27000000 longdouble memory=48MiB"}) {
        const auto plan = [&](const char* kind) {
            return std::move(solve_many_sweeps(Problem::parse(cat(kind, rest)).value(), Planner(Machine())).value());
        };
        const auto c2r = plan("c2r "), r2c = plan("r2c ");
        const Counts reads = c2r->steps.front()->predict(0), writes = r2c->steps.back()->predict(0);
        const index_t read = reads.disk_read_bytes / reads.disk_reads * sweep_of(*c2r, 0).points;
        const index_t written = writes.disk_written_bytes / writes.disk_writes * sweep_of(*r2c, 2).points;
        EXPECT_GE(read, written) << rest;
        EXPECT_EQ(reads.disk_read_bytes, c2r->problem.input_elem().bytes() * product(c2r->problem.input_shape()));
    }
}

TEST(ManySweeps, HaveLongRunsInEverySweep) {
    const Planner planner{Machine()};
    for (const char* text :
         {"c2c 134217728 forward float memory=256MiB", "r2c 134217728 forward float memory=128MiB"}) {
        const auto plan = solve_many_sweeps(Problem::parse(text).value(), planner);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_EQ(plan.value()->sweeps, 3);
        for (const auto& step : plan.value()->steps) {
            const Counts counts = step->predict(0);
            EXPECT_GE(counts.disk_read_bytes / counts.disk_reads, 48 << 10) << text << ": " << step->describe();
            EXPECT_GE(counts.disk_written_bytes / counts.disk_writes, 96 << 10) << text << ": " << step->describe();
        }
    }
}

// In a 64th the last sweep works in two slots; where memory is ample runs are long, and all three are there.
TEST(ManySweeps, HaveTwoSlotsInPlaceWhereThreeHaveShortRuns) {
    const Planner planner{Machine()};
    const auto last = [&](const char* text) {
        const auto plan = solve_many_sweeps(Problem::parse(text).value(), planner);
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        return dynamic_cast<const SweepStep&>(*plan.value()->steps.back()).spec();
    };
    const auto run_bytes = [](const SweepSpec& sweep) {
        return sweep.source.columns().panel * sweep.source.columns().elem_bytes;
    };
    const SweepSpec scarce = last("c2c 134217728 forward float memory=16MiB threads=2");
    EXPECT_EQ(scarce.read_slots(), 2);
    EXPECT_GE(run_bytes(scarce), 20 << 10);
    EXPECT_GE(run_bytes(last("c2c 134217728 forward float memory=64MiB threads=2")), 52 << 10);
    EXPECT_EQ(last("c2c 134217728 forward float memory=256MiB threads=2").read_slots(), 3);
}

// An axis with others behind it, whose rows take the place of elements.
INSTANTIATE_TEST_SUITE_P(RowsForElements, TwoSweeps,
                         testing::Values(SweepCase{"c2c 24x35 forward double", "72KiB", 128, 4096},
                                         SweepCase{"c2c 24x35 backward double", "1MiB"},
                                         SweepCase{"c2c 4x3 forward double", "72KiB"},
                                         SweepCase{"c2c 27x8x5 forward float norm=ortho", "72KiB", 128},
                                         SweepCase{"c2c 12x8x9 backward double axes=2,0", "96KiB"},
                                         SweepCase{"c2c 3x30x12 forward double axes=1", "72KiB", 128, 4096},
                                         SweepCase{"c2c 5x49x6x4 forward longdouble axes=1,3 threads=1", "128KiB", 64},
                                         SweepCase{"c2c 64x96 forward double threads=3", "256KiB", 0, 4096},
                                         SweepCase{"c2c 256x64 forward float", "160KiB", 128, 4096},
                                         SweepCase{"c2c 1155x2 forward double axes=0", "88KiB", 128, 4096},
                                         SweepCase{"c2c 2x1024x3 backward float axes=1 threads=3", "128KiB", 8}));

INSTANTIATE_TEST_SUITE_P(RealRows, TwoSweeps,
                         testing::Values(SweepCase{"r2c 4x3 forward double axes=0", "72KiB"},
                                         SweepCase{"c2r 4x3 backward double axes=0", "72KiB"},
                                         SweepCase{"r2c 9x2 forward double axes=0", "72KiB", 8},
                                         SweepCase{"c2r 9x2 backward float axes=0", "72KiB"},
                                         SweepCase{"r2c 1024x3 forward double axes=0", "128KiB", 128, 4096},
                                         SweepCase{"c2r 1024x3 backward double axes=0", "128KiB", 128, 4096},
                                         SweepCase{"r2c 1155x5 forward float axes=0 norm=ortho", "128KiB", 80},
                                         SweepCase{"c2r 1155x5 backward longdouble axes=0", "256KiB", 80},
                                         SweepCase{"r2c 3x210x2x3 forward double axes=1 threads=3", "128KiB"},
                                         SweepCase{"c2r 3x210x2x3 backward double axes=1", "128KiB", 8},
                                         SweepCase{"r2c 64x33 forward double axes=0", "96KiB", 0, 4096},
                                         SweepCase{"r2c 16x1100 forward double axes=0", "512KiB", 128, 4096},
                                         SweepCase{"c2r 16x1100 backward double axes=0", "512KiB", 128, 4096},
                                         SweepCase{"dct1 501x3 forward double axes=0", "128KiB", 8, 4096},
                                         SweepCase{"dct2 720x3 forward double axes=0", "128KiB", 8, 4096},
                                         SweepCase{"dct3 525x2 forward float axes=0", "128KiB", 128, 4096},
                                         SweepCase{"dct4 2x360x5 backward double axes=1", "128KiB"},
                                         SweepCase{"dst1 499x2 forward double axes=0", "128KiB"},
                                         SweepCase{"dst2 720x5 backward double axes=0", "128KiB"},
                                         SweepCase{"dst3 4x64x3 forward double axes=1", "96KiB"}));

INSTANTIATE_TEST_SUITE_P(RowsForElements, ManySweeps,
                         testing::Values(SweepCase{"c2c 1155x2 forward double axes=0", "80KiB", 128, 4096},
                                         SweepCase{"c2c 3x480x5 backward float axes=1", "80KiB"},
                                         SweepCase{"r2c 27x2 forward double axes=0", "72KiB"},
                                         SweepCase{"r2c 1155x3 forward double axes=0", "96KiB", 8, 4096},
                                         SweepCase{"r2c 2x1024x3 forward float axes=1 threads=3", "256KiB", 128, 4096},
                                         SweepCase{"c2r 30x2 backward double axes=0", "72KiB"},
                                         SweepCase{"c2r 1155x3 backward double axes=0", "96KiB", 128, 4096},
                                         SweepCase{"c2r 3x480x2 backward longdouble axes=1", "128KiB"},
                                         SweepCase{"r2c 3375x2 forward double axes=0", "512KiB", 128},
                                         SweepCase{"c2r 2310x3 backward float axes=0", "512KiB"},
                                         SweepCase{"c2c 4096x3 forward double axes=0", "1MiB", 128, 4096}));

TEST(RowsForElements, TakeTheSmallestMemoryThatIsNamed) {
    for (const char* text : {"c2c 64x48 forward double", "c2c 3x45x80 backward float axes=1",
                             "r2c 4096x3 forward double axes=0", "c2r 2x4096x3 backward float axes=1"})
        expect_smallest_memory(text, solve_two_sweeps);
}

// Lines of which memory holds none: refused for r2c and c2r before, for which only the last axis was split.
TEST(RowsForElements, SplitAFirstAxisThatNoMemoryHolds) {
    const Planner planner{Machine()};
    for (const char* text :
         {"r2c 100000000x20 forward float axes=0 memory=64MiB", "c2r 100000000x20 backward float axes=0 memory=64MiB",
          "dct2 100000000x20 forward float axes=0 memory=64MiB"}) {
        const auto plan = planner.plan(Problem::parse(text).value());
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_LE(plan.value()->sweeps, 3) << text;
    }
}

TEST(RowsForElements, AreChosenWhereColumnsHaveShortRuns) {
    const Planner planner{Machine()};
    const auto solver = [&](const char* text) { return planner.plan(Problem::parse(text).value()).value()->solver; };
    EXPECT_EQ(solver("c2c 16384x16384 forward float memory=512MiB"), "two_sweeps");
    EXPECT_EQ(solver("c2c 64x2048x1024 forward float memory=512MiB"), "axis_sweeps");  // its columns have long ones
    EXPECT_EQ(solver("c2c 16411x16384 forward float memory=512MiB"), "axis_sweeps");   // a prime
}

class ChirpSweeps : public testing::TestWithParam<SweepCase> {};

TEST_P(ChirpSweeps, MatchesTheDefinition) { expect_right(GetParam(), solve_chirp_sweeps); }

INSTANTIATE_TEST_SUITE_P(
    Lengths, ChirpSweeps,
    testing::Values(
        SweepCase{"c2c 17 forward double", "128KiB"}, SweepCase{"c2c 34 backward double", "128KiB"},
        SweepCase{"r2c 17 forward double", "128KiB"}, SweepCase{"r2c 34 forward double", "128KiB"},
        SweepCase{"c2r 17 backward double", "128KiB"}, SweepCase{"c2r 34 backward double", "128KiB"},
        SweepCase{"c2c 997 forward double", "160KiB", 128, 4096},
        SweepCase{"c2c 1009 backward double", "160KiB", 128, 4096}, SweepCase{"c2c 1021 forward float", "128KiB"},
        SweepCase{"c2c 1021 backward longdouble norm=ortho", "256KiB", 64},
        SweepCase{"c2c 2018 forward double threads=3", "512KiB", 128, 4096},
        SweepCase{"r2c 1009 forward double", "160KiB", 80, 4096}, SweepCase{"r2c 2018 forward float", "160KiB"},
        SweepCase{"c2r 1009 backward double", "160KiB", 128, 4096},
        SweepCase{"c2r 2018 backward double norm=forward", "160KiB"},
        SweepCase{"c2c 3x2x509 forward double axes=2", "128KiB", 128},
        SweepCase{"r2c 5x509 forward double axes=1", "1MiB"}, SweepCase{"dct1 500 forward double", "128KiB"},
        SweepCase{"dct1 512 backward float", "128KiB"}, SweepCase{"dct2 17 forward double", "128KiB"},
        SweepCase{"dct2 719 backward double", "128KiB", 8, 4096}, SweepCase{"dct3 509 forward longdouble", "256KiB"},
        SweepCase{"dct4 719 forward double", "128KiB"}, SweepCase{"dst1 502 forward double", "128KiB"},
        SweepCase{"dst2 719 forward float", "128KiB"}, SweepCase{"dst3 509 forward double norm=forward", "128KiB"},
        SweepCase{"dst4 719 forward double", "128KiB"}, SweepCase{"dst4 3x4x101 backward double axes=2", "128KiB"},
        SweepCase{"c2c 131101 forward double", "8MiB", 128, 4096},
        SweepCase{"c2c 1048583 backward float", "8MiB", 0, 4096},
        SweepCase{"dct4 131101 forward float", "8MiB", 128, 4096}));

// An axis with others behind it: rows, of one number and of many, few and many of them a panel.
INSTANTIATE_TEST_SUITE_P(RowsForElements, ChirpSweeps,
                         testing::Values(SweepCase{"c2c 509x3 forward double axes=0", "160KiB", 128, 4096},
                                         SweepCase{"c2c 2x1009x5 backward double axes=1", "512KiB", 128},
                                         SweepCase{"c2c 131x2x31 forward float axes=0 threads=3", "256KiB"},
                                         SweepCase{"c2c 509x3 backward longdouble axes=0 norm=ortho", "256KiB", 64},
                                         SweepCase{"r2c 509x3 forward double axes=0", "128KiB", 80, 4096},
                                         SweepCase{"r2c 2x1018x3 forward float axes=1", "128KiB"},
                                         SweepCase{"c2r 509x3 backward double axes=0 norm=forward", "160KiB", 128,
                                                   4096},
                                         SweepCase{"c2r 2x254x7 backward float axes=1", "128KiB"},
                                         SweepCase{"dct1 500x3 forward double axes=0", "192KiB"},
                                         SweepCase{"dct2 2x509x2 forward double axes=1", "192KiB"},
                                         SweepCase{"dct3 509x3 backward float axes=0", "160KiB"},
                                         SweepCase{"dst4 3x101x4 forward double axes=1", "160KiB", 128, 4096},
                                         SweepCase{"c2c 65537x2 forward double axes=0", "8MiB", 128, 4096},
                                         SweepCase{"r2c 65537x3 forward float axes=0", "4MiB", 128, 4096}));

TEST(ChirpSweeps, TakesTheSmallestMemoryThatItNames) {
    for (const char* text : {"c2c 65537 forward double", "r2c 131074 forward float", "dct4 65537 backward double",
                             "c2c 16411x6 backward double axes=0"})
        expect_smallest_memory(text, solve_chirp_sweeps);
}

// Each array and the one filter are convolutions of as many points, which the title says, 16 bytes each.
TEST(ChirpSweeps, SharesTheFilterAmongTheArraysOfABatch) {
    const Planner planner{Machine()};
    for (const auto& [text, arrays] : {std::pair<const char*, index_t>{"c2c 65537 forward double memory=8MiB", 1},
                                       {"c2c 9x65537 forward double axes=1 memory=8MiB", 9}}) {
        const auto plan = solve_chirp_sweeps(Problem::parse(text).value(), planner);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        const std::string title = plan.value()->steps[0]->describe(), before = "convolution of ";
        const index_t points = std::stoll(title.substr(title.find(before) + before.size()));
        EXPECT_GE(points, 2 * 65537 - 1) << title;
        EXPECT_EQ(plan.value()->steps[0]->predict(0).disk_written_bytes, (arrays + 1) * points * 16) << title;
    }
}

// It is within 1.5 eps sqrt(log2 N), but not within the 0.6 that holds for these.
TEST(ChirpSweeps, LeavesLengthsWithoutLargePrimeFactorsToOthers) {
    const Planner planner{Machine()};
    for (const char* text : {"c2c 65536 forward double memory=1MiB", "dct1 65537 forward double memory=1MiB"}) {
        const auto declined = solve_chirp_sweeps(Problem::parse(text).value(), planner);
        ASSERT_FALSE(declined.ok());
        EXPECT_EQ(declined.status().code(), Code::unsupported);
    }
}

INSTANTIATE_TEST_SUITE_P(Exchanged, TwoSweeps,
                         testing::Values(SweepCase{"c2c 4 forward double output=exchanged", "72KiB"},
                                         SweepCase{"c2c 1155 forward double output=exchanged", "72KiB", 128, 4096},
                                         SweepCase{"c2c 4096 forward float output=exchanged norm=ortho", "160KiB", 128,
                                                   4096},
                                         SweepCase{"c2c 3x2x480 forward double axes=2 output=exchanged", "72KiB"},
                                         SweepCase{"c2c 65536 forward double output=exchanged threads=3", "512KiB"}));

TEST(TwoSweeps, SaysInWhichOrderTheOutputIs) {
    const Planner planner{Machine()};
    const auto plan_of = [&](const char* text) { return planner.plan(Problem::parse(text).value()); };
    const auto long_one = plan_of("c2c 16777216 forward double memory=16MiB output=exchanged");
    ASSERT_TRUE(long_one.ok()) << long_one.status().message();
    EXPECT_TRUE(long_one.value()->leaves_exchanged);
    EXPECT_NE(long_one.value()->notes[0].find("element k1*n2 + k2 is X[k1 + n1*k2], n1 = "), std::string::npos);
    // To bring the output into order takes a sweep more.
    const auto natural = plan_of("c2c 16777216 forward double memory=16MiB");
    ASSERT_TRUE(natural.ok());
    EXPECT_LT(long_one.value()->sweeps, natural.value()->sweeps);
    EXPECT_LT(long_one.value()->predict(0).seconds, natural.value()->predict(0).seconds);
    const auto short_one = plan_of("c2c 1024 forward double memory=16MiB output=exchanged");
    ASSERT_TRUE(short_one.ok());
    EXPECT_FALSE(short_one.value()->leaves_exchanged);
    EXPECT_NE(short_one.value()->notes[0].find("natural order"), std::string::npos);
    EXPECT_FALSE(plan_of("c2c 16777216 backward double memory=16MiB output=exchanged").ok());
}

// Whatever a panel's width is rounded to, and whatever that makes of the number of slots.
TEST(Sweeps, KeepWithinEveryBudgetInWhichTheyArePlanned) {
    Machine machine;
    machine.cores = 1;
    const std::pair<const char*, SolverFunction> cases[] = {
        {"c2c 32x1792 forward double", solve_axis_sweeps},
        {"r2c 64x1024 forward float", solve_axis_sweeps},
        {"r2c 64x1792 forward float axes=1,0", solve_axis_sweeps},
        {"c2r 32x40x70 backward double axes=2,0,1", solve_axis_sweeps},
        {"c2c 3x40x700 forward double", solve_axis_sweeps},
        {"c2c 65536 forward double", solve_many_sweeps},
        {"r2c 46080 forward double", solve_many_sweeps},
        {"c2c 60x1100 forward double", solve_two_sweeps},
        {"c2c 65536 forward double", solve_two_sweeps},
        {"c2c 2062 forward double", solve_chirp_sweeps}};
    for (const auto& [text, solve] : cases) {
        int planned = 0;
        for (double bytes = 64 << 10; bytes < 5e6; bytes *= 1 + 0.004 * kPointStep) {
            const auto memory = static_cast<index_t>(bytes);
            const auto plan = solve(Problem::parse(cat(text, " memory=", memory)).value(), Planner(machine));
            if (!plan.ok()) continue;
            ASSERT_LE(plan.value()->peak_memory_bytes(0), memory) << text;
            ++planned;
        }
        EXPECT_GT(planned, 300 / kPointStep) << text;
    }
}

// Else ext4 does their writes to a new file one after the other. What is only read has no use for it.
TEST(Sweeps, LayRowsThatTheyWriteOnWholeBlocksAndNoOthers) {
    const std::pair<const char*, SolverFunction> cases[] = {
        {"c2c 64x256x512 forward double memory=2MiB", solve_axis_sweeps},
        {"r2c 4096x1024 forward float memory=2MiB", solve_axis_sweeps},
        {"r2c 1024x4096 forward float axes=1,0 memory=2MiB", solve_axis_sweeps},
        {"c2r 1024x4096 backward float axes=1,0 memory=2MiB", solve_axis_sweeps},
        {"c2c 4194304 forward double memory=2MiB", solve_many_sweeps},
        {"r2c 4194304 forward double memory=2MiB", solve_many_sweeps},
        {"c2r 4194304 backward double memory=2MiB", solve_many_sweeps},
        {"c2c 60x110000 forward double memory=16MiB", solve_two_sweeps},
        {"c2c 4194304 forward double memory=32MiB", solve_two_sweeps},
        {"c2c 4194304 forward double memory=32MiB output=exchanged", solve_two_sweeps},
        {"r2c 4194304 forward double memory=32MiB", solve_two_sweeps},
        {"c2r 4194304 backward double memory=32MiB", solve_two_sweeps},
        {"c2c 2097143 forward double memory=8MiB", solve_chirp_sweeps}};
    for (const auto& [text, solve] : cases) {
        const auto plan = solve(Problem::parse(text).value(), Planner(Machine()));
        ASSERT_TRUE(plan.ok()) << text << ": " << plan.status().message();
        for (const auto& step : plan.value()->steps) {
            const auto* sweep = dynamic_cast<const SweepStep*>(step.get());
            ASSERT_NE(sweep, nullptr) << text;
            const SweepSpec& spec = sweep->spec();
            if (!spec.source.is_blocks()) {
                EXPECT_EQ(spec.source.columns().use == ColumnPanels::Use::written, spec.target.is_in_place())
                    << text << ": " << sweep->describe();
            }
            EXPECT_TRUE(spec.target.is_blocks() || spec.target.columns().use == ColumnPanels::Use::written)
                << text << ": " << sweep->describe();
        }
    }
}

TEST(TwoSweeps, TakesTheSmallestMemoryThatItNames) {
    for (const char* text : {"c2c 65536 forward double", "r2c 46080 forward double", "c2r 45045 backward float",
                             "dct2 46080 forward double", "dst4 46080 forward float"})
        expect_smallest_memory(text, solve_two_sweeps);
}

TEST(ManySweeps, TakesTheSmallestMemoryThatItNames) {
    for (const char* text : {"c2c 16384 forward double", "r2c 11520 forward double", "c2r 9009 backward float",
                             "c2c 3x1024 backward double axes=1"})
        expect_smallest_memory(text, solve_many_sweeps);
}

TEST(ManySweeps, TakesAFourthSweepWhereThreeDoNotFit) {
    // 31^4: three factors are at least 31, 31 and 961.
    for (const char* text : {"c2r 923521 backward double", "c2c 923521 forward double"}) {
        if (kPointStep > 1 && text[2] == 'c') continue;
        const std::string memory = std::to_string(named_memory(text, solve_many_sweeps));
        expect_right({text, memory.c_str()}, solve_many_sweeps);
        const auto plan =
            solve_many_sweeps(Problem::parse(cat(text, " threads=2 memory=", memory)).value(), Planner(Machine()));
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_EQ(plan.value()->sweeps, 4) << text;
    }
}

// Two sweeps of 2^30 points in 64 MiB have runs of a few elements; three in 16 MiB have too.
TEST(ManySweeps, IsChosenWhereTwoSweepsHaveShortRuns) {
    Machine machine;
    machine.cores = 2;
    const Planner planner{machine};
    const auto solver = [&](const char* text) {
        const auto plan = planner.plan(Problem::parse(text).value());
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        return plan.ok() ? plan.value()->solver : "";
    };
    EXPECT_EQ(solver("c2c 1073741824 forward double memory=16MiB"), "superlevels");
    EXPECT_EQ(solver("c2c 1073741824 forward double memory=64MiB"), "many_sweeps");
    EXPECT_EQ(solver("c2c 1073741824 forward double memory=8GiB"), "two_sweeps");
    EXPECT_EQ(solver("r2c 1073741824 forward float memory=12MiB"), "many_sweeps");
    EXPECT_EQ(solver("c2c 1073741827 forward double memory=1GiB"), "chirp_sweeps");
    EXPECT_EQ(solver("c2c 735134400 forward double memory=12MiB"), "many_sweeps");  // 1344 divisors
    EXPECT_EQ(solver("c2c 1073741824 forward double memory=64GiB").substr(0, 14), "file_in_memory");
}

TEST(TwoSweeps, SaysWhichLengthsItCannotSplit) {
    const Planner planner{Machine()};
    const auto prime = solve_two_sweeps(Problem::parse("c2c 65537 forward double memory=1MiB").value(), planner);
    ASSERT_FALSE(prime.ok());
    EXPECT_EQ(prime.status().code(), Code::unsupported);
    EXPECT_NE(prime.status().message().find("65537 is prime"), std::string::npos) << prime.status().message();
    EXPECT_NE(prime.status().message().find("65610"), std::string::npos) << prime.status().message();
    const auto factor = solve_two_sweeps(Problem::parse("c2c 131074 forward double memory=1MiB").value(), planner);
    ASSERT_FALSE(factor.ok());
    EXPECT_EQ(factor.status().code(), Code::out_of_memory);
    EXPECT_NE(factor.status().message().find("prime factor 65537"), std::string::npos) << factor.status().message();
}

TEST(TwoSweeps, ReadsAndWritesEveryByteTwice) {
    const Planner planner{Machine()};
    const auto plan = solve_two_sweeps(Problem::parse("c2c 16777216 forward double memory=16MiB").value(), planner);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const Counts counts = plan.value()->predict(0);
    EXPECT_EQ(counts.disk_read_bytes, 2 * (index_t{16} << 24));
    EXPECT_EQ(counts.disk_written_bytes, 2 * (index_t{16} << 24));
    EXPECT_EQ(plan.value()->scratch_bytes, 0);
}

TEST(Sweeps, StopWhenProgressSaysSo) {
    for (int calls = 0; calls < 6; ++calls) {
        const StoreRun run =
            run_on_stores("c2c 4096 forward double memory=88KiB", solve_two_sweeps, 0, 0, nullptr, calls);
        EXPECT_EQ(run.status.code(), Code::interrupted);
        EXPECT_TRUE(run.input_untouched);
    }
}

}  // namespace
}  // namespace spanfft::test
