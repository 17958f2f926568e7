// Sweeps of one array by several ranks, three of them over the factors of one axis: with slabs in the middle where
// ranks share a disk, and by exchanges where each has disks of its own, and of c2r.
#include <gtest/gtest.h>

#include <utility>

#include "solvers/table.hpp"
#include "support/random.hpp"
#include "support/ranks_case.hpp"
#include "support/sanitized.hpp"
#include "sweeps/exchange_geometry.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft::test {
namespace {

class SweepsOnRanksInThreeSweeps : public testing::TestWithParam<SweepCase> {};
TEST_P(SweepsOnRanksInThreeSweeps, MatchTheDefinition) { expect_right_on_ranks(GetParam(), solve_many_sweeps, true); }

// The first sweep's tiles lie in sections of 2 to 41 columns, of which up to seven ranks keep some; tiles are a section
// or a part of it, panels one section or several.
// With scratch on disks of their own: else they have slabs in the middle, and exchange nothing.
INSTANTIATE_TEST_SUITE_P(
    Complex, SweepsOnRanksInThreeSweeps,
    testing::Values(SweepCase{"c2c 8 forward double disks=1 threads=1", "72KiB", 128, 4096},
                    SweepCase{"c2c 4096 forward double disks=1 threads=1", "112KiB", 128, 4096},
                    SweepCase{"c2c 4913 backward double disks=1", "160KiB", 8},
                    SweepCase{"c2c 1155 forward float norm=ortho disks=1 threads=1", "104KiB"},
                    SweepCase{"c2c 2310 backward longdouble disks=1 threads=2", "192KiB", 16, 4096},
                    SweepCase{"c2c 6560 forward double disks=1 threads=1", "400KiB", 128},
                    SweepCase{"c2c 3x1001 forward double axes=1 disks=1 threads=1", "112KiB", 0, 4096},
                    SweepCase{"c2c 2x60x7 backward double axes=1 disks=1 threads=1", "104KiB", 128},
                    SweepCase{"c2c 3600 forward double store=complex64 disks=1 threads=1", "128KiB"},
                    SweepCase{"c2c 8192 forward float disks=1 threads=2", "160KiB", 128, 4096}));

// The last sweep has on each rank sections with those that mirror them.
INSTANTIATE_TEST_SUITE_P(Real, SweepsOnRanksInThreeSweeps,
                         testing::Values(SweepCase{"r2c 8 forward double threads=1 disks=1", "72KiB", 128, 4096},
                                         SweepCase{"r2c 4096 forward double threads=1 disks=1", "112KiB", 128, 4096},
                                         SweepCase{"r2c 4913 forward double disks=1", "160KiB", 8},
                                         SweepCase{"r2c 1155 forward float norm=ortho threads=1 disks=1", "104KiB"},
                                         SweepCase{"r2c 2310 forward longdouble threads=2 disks=1", "192KiB", 16, 4096},
                                         SweepCase{"r2c 3x1001 forward double axes=1 threads=1 disks=1", "112KiB", 0,
                                                   4096},
                                         SweepCase{"r2c 2x60x7 forward double axes=1 threads=1 disks=1", "104KiB", 128},
                                         SweepCase{"r2c 3600 forward double power threads=1 disks=1", "112KiB", 128},
                                         SweepCase{"r2c 8192 forward float threads=2 disks=1", "144KiB", 128, 4096}));

INSTANTIATE_TEST_SUITE_P(Back, SweepsOnRanksInThreeSweeps,
                         testing::Values(SweepCase{"c2r 8 backward double threads=1", "80KiB", 128, 4096},
                                         SweepCase{"c2r 4096 backward double threads=1", "128KiB", 128, 4096},
                                         SweepCase{"c2r 4913 backward double", "192KiB", 8},
                                         SweepCase{"c2r 1155 backward float norm=ortho threads=1", "112KiB"},
                                         SweepCase{"c2r 2310 backward longdouble threads=2", "192KiB", 16, 4096},
                                         SweepCase{"c2r 3x1001 backward double axes=1 threads=1", "128KiB", 0, 4096},
                                         SweepCase{"c2r 2x60x7 backward double axes=1 threads=1", "128KiB", 128},
                                         SweepCase{"c2r 3600 backward double store=float32 threads=1", "128KiB", 128},
                                         SweepCase{"c2r 8192 backward float threads=2", "160KiB", 128, 4096}));

TEST(SweepsOnRanks, InThreeSweepsOfAnyGeometryMatchTheDefinition) {
    Random random(11);
    int parts = 0, idle = 0, by_output = 0, whole_sections = 0;
    for (int i = 0; i < 40; i += kRanksStep) {
        const index_t n = random.between(2, 13) * random.between(2, 13) * random.between(2, 13);
        std::string shape = std::to_string(n), axes;
        if (random.chance(0.3)) shape = cat(random.between(2, 3), "x", shape), axes = " axes=1";
        if (random.chance(0.3)) shape = cat(shape, "x", random.between(2, 5)), axes = axes.empty() ? " axes=0" : axes;
        const std::vector<std::pair<const char*, const char*>> kinds{{"c2c ", " forward double"},
                                                                     {"c2c ", " backward float"},
                                                                     {"r2c ", " forward longdouble"},
                                                                     {"c2r ", " backward double"}};
        const auto& [kind, precision] = random.pick(kinds);
        std::string text =
            cat(kind, shape, precision, axes, " threads=", random.between(1, 2), " ranks=", random.between(2, 7));
        const index_t least = named_memory(text, solve_many_sweeps);
        text += cat(" memory=", random.chance(0.5) ? least : least + random.below(least));
        SCOPED_TRACE(cat(text, ", seed ", random.seed()));
        const RanksRun run = run_on_ranks(text, solve_many_sweeps);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        expect_shared_out(run);
        EXPECT_LT(error_in_units(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input)), 1.5);
        if (HasFailure()) return;
        const SweepSpec& first = spec_of(*run.plan, 0);
        by_output += !first.exchanges();
        whole_sections += first.source.columns().halved() > 0;  // of c2r, by way of the output
        if (!first.exchanges()) continue;
        parts += first.target.blocks().tile_columns < first.target.blocks().section;
        idle += ExchangeGeometry(first).kept_by(first.ranks() - 1) == 0;
    }
    EXPECT_GE(kRanksStep * parts, 4);
    EXPECT_GE(kRanksStep * idle, 4);
    EXPECT_GE(kRanksStep * by_output, 4);
    EXPECT_GE(kRanksStep * whole_sections, 2);
}

// Where ranks have no disks of their own, the first sweep writes all its results turned, and the others overwrite what
// they read, each rank its own panels: nothing is exchanged but what is read together, and a killed run goes on.
void expect_slabs(const RanksRun& run) {
    const Plan& plan = *run.plan;
    expect_shared_out(run);
    EXPECT_FALSE(run.exchanges());
    EXPECT_EQ(plan.scratch_bytes, 0);
    EXPECT_TRUE(spec_of(plan, 0).target.turned());
    EXPECT_TRUE(spec_of(plan, 1).target.is_in_place());
    const SweepSpec& last = spec_of(plan, 2);
    EXPECT_EQ(last.source.begin_bytes > 0, plan.problem.halves() || plan.problem.stores_other()) << "behind the result";
    EXPECT_EQ(last.target.is_in_place(), !plan.problem.halves());
    EXPECT_TRUE(examine_sweeps(plan).why_not.empty()) << "a killed run goes on";
    const Values expected = direct_transform(plan.problem, run.input);
    if (plan.problem.stores_other()) return expect_stored(plan.problem, run.output, expected);
    EXPECT_LT(error_in_units(plan.problem, run.output, expected), 1.5);
}

TEST(SweepsOnRanks, WithSlabsOfAnyGeometryMatchTheDefinition) {
    Random random(19);
    int with_slabs = 0, real = 0, stored_other = 0, idle = 0, both_ends = 0;
    for (int i = 0; i < 60; i += kRanksStep) {
        const index_t n = random.between(4, 24) * random.between(16, 60) * random.between(4, 24);
        std::string shape = std::to_string(n), axes;
        if (random.chance(0.3)) shape = cat(random.between(2, 3), "x", shape), axes = " axes=1";
        if (random.chance(0.3)) shape = cat(shape, "x", random.between(2, 5)), axes = axes.empty() ? " axes=0" : axes;
        const std::string kind = random.pick<const char*>({"c2c ", "r2c "});
        std::string text =
            cat(kind, shape, " ", kind == "r2c " ? "forward" : random.pick<const char*>({"forward", "backward"}),
                random.pick<const char*>({" double", " float"}), axes, " threads=", random.between(1, 2),
                " ranks=", random.between(2, 7));
        if (random.chance(0.3)) text += text.find("double") != std::string::npos ? " store=complex64" : " power";
        const index_t least = named_memory(text, solve_many_sweeps);
        text += cat(" memory=", 2 * least + random.below(6 * least));
        SCOPED_TRACE(cat(text, ", seed ", random.seed()));
        const RanksRun run = run_on_ranks(text, solve_many_sweeps);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        if (!spec_of(*run.plan, 0).target.turned()) continue;
        expect_slabs(run);
        if (HasFailure()) return;
        const SweepSpec& second = spec_of(*run.plan, 1);
        ++with_slabs;
        real += run.plan->problem.halves();
        stored_other += run.plan->problem.stores_other();
        const SweepSpec& last = spec_of(*run.plan, 2);
        both_ends += last.sharing.reads_together && last.source.columns().reflected();
        idle += second.of_rank(second.ranks() - 1).walked().own_columns() == 0;
    }
    EXPECT_GE(kRanksStep * with_slabs, 24);
    EXPECT_GE(kRanksStep * real, 8);
    EXPECT_GE(kRanksStep * stored_other, 2);
    EXPECT_GE(kRanksStep * idle, 2);
    EXPECT_GE(kRanksStep * both_ends, 1) << "sections and those that mirror them, read together";
}

TEST(SweepsOnRanks, WithManyPanelsOfSlabsMatchTheDefinition) {
    for (const char* text : {"c2c 65536 backward double memory=600KiB threads=1 ranks=2",
                             "r2c 131072 forward double memory=600KiB threads=1 ranks=2",
                             "r2c 262144 forward double memory=1200KiB threads=1 ranks=2"}) {
        SCOPED_TRACE(text);
        const RanksRun run = run_on_ranks(text, solve_many_sweeps);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        expect_slabs(run);
        EXPECT_GE(spec_of(*run.plan, 1).walked().panels_per_matrix(), 2);
    }
}

TEST(SweepsOnRanks, WithSlabsMayReadTheFirstAndTheLastSweepTogether) {
    for (const char* text : {"c2c 65536 forward double memory=400KiB threads=1 ranks=2",
                             "r2c 139968 forward double memory=1000KiB threads=1 ranks=3",
                             "r2c 262144 forward double memory=700KiB threads=1 ranks=5",
                             "r2c 3x131072x2 forward float axes=1 memory=800KiB threads=1 ranks=2"}) {
        for (const bool slow_messages : {false, true}) {
            SCOPED_TRACE(cat(text, slow_messages ? ", slow messages" : ""));
            RanksSetting setting;
            setting.slow_messages = slow_messages;
            const RanksRun run = run_on_ranks(text, solve_many_sweeps, setting);
            ASSERT_TRUE(run.planned.ok()) << run.planned.message();
            expect_slabs(run);
            const SweepSpec& last = spec_of(*run.plan, 2);
            EXPECT_EQ(last.sharing.reads_together, !slow_messages);
            if (run.plan->problem.halves()) continue;
            EXPECT_EQ(spec_of(*run.plan, 0).sharing.reads_together, !slow_messages);
            EXPECT_EQ(last.gives_back(), !slow_messages);
        }
    }
}

// Panels of several sections each, several of them on each rank, and in all sweeps.
TEST(SweepsOnRanks, InThreeSweepsOfManyPanelsMatchTheDefinition) {
    for (const char* text : {"c2c 13824 forward double threads=1 memory=180KiB ranks=2 disks=1",
                             "r2c 27648 forward double threads=1 memory=180KiB ranks=2 disks=1",
                             "c2r 27648 backward double threads=1 memory=180KiB ranks=2"}) {
        SCOPED_TRACE(text);
        const RanksRun run = run_on_ranks(text, solve_many_sweeps);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        expect_shared_out(run);
        EXPECT_LT(error_in_units(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input)), 1);
        const SweepSpec &first = spec_of(*run.plan, 0), &second = spec_of(*run.plan, 1);
        const ColumnPanels& in = first.source.columns();
        EXPECT_GE(in.panels_per_matrix(), 2);
        const index_t unit = first.exchanges() ? first.target.blocks().section : first.target.blocks().tile_columns;
        EXPECT_GE(in.panel / unit, in.mirrored() ? 1 : 2);
        EXPECT_GE(second.source.columns().panels_per_matrix(), 2);
        EXPECT_GE(ExchangeGeometry(second).sections_a_panel(), 2);
    }
}

// Ranks exchange once, before the third sweep, which transforms panels of c2c where it read them. Of half spectra one
// result more of each column lies behind the output meanwhile.
TEST(SweepsOnRanks, InThreeSweepsGoByWayOfTheOutput) {
    const index_t points = 1 << 20;
    const auto plan =
        plan_of(cat("c2c ", points, " forward double threads=1 memory=1MiB ranks=2 disks=1"), solve_many_sweeps);
    const auto real =
        plan_of(cat("r2c ", points, " forward double threads=1 memory=1MiB ranks=2 disks=1"), solve_many_sweeps);
    ASSERT_TRUE(plan && real);
    ASSERT_EQ(plan->sweeps, 3);
    EXPECT_EQ(plan->scratch_bytes, 16 * points) << "once the array";
    const SweepSpec &first = spec_of(*plan, 0), &second = spec_of(*plan, 1), &third = spec_of(*plan, 2);
    EXPECT_FALSE(first.exchanges());
    EXPECT_EQ(first.target.place, Place::output);
    EXPECT_EQ(second.source.place, Place::output);
    EXPECT_TRUE(second.exchanges());
    EXPECT_EQ(third.source.place, Place::scratch);
    EXPECT_TRUE(third.target.is_in_place());
    EXPECT_FALSE(third.has_rounds());
    EXPECT_TRUE(examine_sweeps(*plan).why_not.empty()) << "a killed run goes on";
    const SweepSpec &real_first = spec_of(*real, 0), &real_third = spec_of(*real, 2);
    EXPECT_FALSE(real_first.exchanges());
    EXPECT_EQ(real_first.target.place, Place::output);
    EXPECT_EQ(real_third.source.place, Place::scratch);
    EXPECT_EQ(plan->output_extra_bytes, 0);
    EXPECT_GE(real->output_extra_bytes, real_first.target.blocks().payload_bytes() - real->output_file_bytes);
    EXPECT_LT(real->scratch_bytes, 9 * points) << "about once the array";
    EXPECT_TRUE(examine_sweeps(*real).why_not.empty());
}

}  // namespace
}  // namespace spanfft::test
