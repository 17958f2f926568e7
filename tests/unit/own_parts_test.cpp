// Sweeps of several ranks of which the first hands each a part of the array for all that follow: on simulated disks and
// ranks that are threads, against the definition, with what is counted against what is predicted.
#include <gtest/gtest.h>

#include "solvers/table.hpp"
#include "support/ranks_store_run.hpp"
#include "support/sanitized.hpp"
#include "support/sweep_case.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft::test {
namespace {

struct Case {
    const char* problem;
    int sweeps;  // of two ranks in the least memory
    SolverFunction solve = solve_axis_sweeps;
};

// Whether there is a plan in so much memory, and no axis is split: that is for still less memory, and another way
// (split_axis_test.cpp).
bool in_groups(const std::string& problem, SolverFunction solve, index_t memory) {
    const auto plan = plan_on_two_cores(cat(problem, " memory=", memory), solve);
    return plan.ok() && (solve != solve_axis_sweeps || !splits_an_axis(*plan.value()));
}

index_t least_in_groups(const std::string& problem, SolverFunction solve) {
    index_t least = named_memory(problem, solve), low = least - 1, high = 2 * least;
    if (in_groups(problem, solve, least)) return least;
    while (high - low > 1) {
        const index_t middle = low + (high - low) / 2;
        (in_groups(problem, solve, middle) ? high : low) = middle;
    }
    return high;
}

// In the least memory or a third more, on few ranks and on many.
void expect_right_on_ranks(const Case& c) {
    Values reference;  // the same for all, and what takes longest
    for (const int ranks : kSanitized ? std::vector{5} : std::vector{2, 5}) {
        const std::string text = cat(c.problem, " threads=", 1 + ranks % 2, " ranks=", ranks);
        const index_t least = least_in_groups(text, c.solve);
        const index_t memory = ranks == 5 ? least * 4 / 3 : least;
        SCOPED_TRACE(cat(text, " memory=", memory));
        RanksSetting setting;
        setting.output_offset = ranks % 2 ? 128 : 4096;
        const RanksRun run = run_on_ranks(cat(text, " memory=", memory), c.solve, setting);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        EXPECT_TRUE(ranks > 2 || run.plan->sweeps == c.sweeps) << run.plan->sweeps;
        const Problem& problem = run.plan->problem;
        if (reference.empty()) reference = direct_transform(problem, run.input);
        if (problem.stores_other())
            expect_stored(problem, run.output, reference);
        else
            EXPECT_LT(error_in_units(problem, run.output, reference), allowed_error(problem));
        expect_shared_out(run);
        if (testing::Test::HasFailure()) return;
        EXPECT_FALSE(in_groups(text, c.solve, least - 1));
    }
}

// On seven ranks, of which some have nothing after the first sweep.
TEST(OwnPartsOf, FewerIndicesThanRanksMatchTheDefinition) {
    for (const auto& [problem, solve] :
         {std::pair<const char*, SolverFunction>{"c2r 2x96x12 backward longdouble", solve_axis_sweeps},
          {"r2c 54x4 forward double power", solve_axis_sweeps},
          {"r2c 343 forward double", solve_many_sweeps},
          {"c2r 2x40x22 backward float", solve_axis_sweeps}}) {
        const std::string text = cat(problem, " threads=1 ranks=7");
        SCOPED_TRACE(text);
        const RanksRun run = run_on_ranks(cat(text, " memory=", least_in_groups(text, solve)), solve);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        expect_shared_out(run);
        EXPECT_EQ(run.ranks.back().counted.back().disk_reads, 0);
        const Problem& problem_of = run.plan->problem;
        const Values reference = direct_transform(problem_of, run.input);
        if (problem_of.stores_other())
            expect_stored(problem_of, run.output, reference);
        else
            EXPECT_LT(error_in_units(problem_of, run.output, reference), allowed_error(problem_of));
    }
}

class OwnParts : public testing::TestWithParam<Case> {};
void PrintTo(const Case& c, std::ostream* out) { *out << c.problem; }
TEST_P(OwnParts, MatchTheDefinition) { expect_right_on_ranks(GetParam()); }

// c2r of three axes and of four, of a batch, with an axis in between or behind that is not transformed, of primes, of
// fewer rows than ranks; with the halved axis before the others, so that a rank's part of it is columns.
INSTANTIATE_TEST_SUITE_P(
    Axes, OwnParts,
    testing::Values(Case{"c2r 13x97x31 backward double", 3}, Case{"c2r 16x80x33 backward float", 3},
                    Case{"c2r 6x20x10x60 backward double norm=ortho", 3},
                    Case{"c2r 2x12x60x31 backward double axes=1,2,3", 3},
                    Case{"c2r 61x5x93 backward float axes=0,2", 2}, Case{"c2r 60x70x9 backward double axes=0,1", 2},
                    Case{"c2r 20x25x79 backward double axes=1,2,0", 3},
                    Case{"c2r 23x2x15x54 backward longdouble axes=2,3,0", 3},
                    Case{"c2r 45x44x7 backward double axes=1,0", 2}, Case{"c2r 53x2x44x5 backward float axes=2,0", 2},
                    Case{"c2r 2x200x62 backward double", 3}, Case{"c2r 24x40x52 backward double axes=0,2,1", 3},
                    Case{"c2r 2x96x12 backward longdouble", 3}));

// What is stored as a smaller type leaves no room for the array between sweeps either.
INSTANTIATE_TEST_SUITE_P(Stored, OwnParts,
                         testing::Values(Case{"c2c 54x50 forward double power", 2},
                                         Case{"c2c 11x63x22 backward double store=complex64", 3},
                                         Case{"dct2 14x69x25 forward double store=float32", 3},
                                         Case{"r2c 34x15x65 forward double axes=1,2,0 power", 3}));

// Slabs first, of which each rank keeps columns: the halved axis is the last one forward, or alone in columns back.
INSTANTIATE_TEST_SUITE_P(Slabs, OwnParts,
                         testing::Values(Case{"c2r 64x5x62 backward double axes=2,0", 2},
                                         Case{"c2r 81x67 backward float axes=1,0", 2},
                                         Case{"r2c 54x90 forward double power", 2},
                                         Case{"r2c 14x89x55 forward float store=complex64", 3},
                                         Case{"r2c 12x73x4 forward longdouble store=complex64", 3},
                                         Case{"r2c 3x52x5x40 forward double axes=1,3 power", 2}));

// What would otherwise lie in the output between sweeps, where scratch has disks of its own, which are faster.
class OwnDisks : public testing::TestWithParam<Case> {};
TEST_P(OwnDisks, HaveWhatLiesBetweenSweepsAndMatchTheDefinition) {
    const auto& [problem_text, sweeps, solve] = GetParam();
    Values reference;
    for (const int ranks : kSanitized ? std::vector{3} : std::vector{2, 3, 7}) {
        const std::string text = cat(problem_text, " threads=1 disks=1 ranks=", ranks);
        SCOPED_TRACE(text);
        RanksSetting setting;
        setting.output_offset = 128;
        setting.fast_scratch = true;
        const RanksRun run = run_on_ranks(cat(text, " memory=", 4 * named_memory(text, solve)), solve, setting);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        EXPECT_TRUE(ranks > 3 || run.plan->sweeps == sweeps) << run.plan->sweeps;
        for (const SweepOutline& sweep : examine_sweeps(*run.plan).sweeps) EXPECT_NE(sweep.source.place, Place::output);
        if (reference.empty()) reference = direct_transform(run.plan->problem, run.input);
        EXPECT_LT(error_in_units(run.plan->problem, run.output, reference), allowed_error(run.plan->problem));
        expect_shared_out(run);
    }
}
INSTANTIATE_TEST_SUITE_P(Axes, OwnDisks,
                         testing::Values(Case{"c2c 54x50 forward double", 2}, Case{"c2c 13x31x40 backward float", 2},
                                         Case{"r2c 54x90 forward double", 2}, Case{"r2c 14x89x55 forward float", 2},
                                         Case{"r2c 12x73x4 forward longdouble", 2},
                                         Case{"r2c 34x15x65 forward double axes=1,2,0", 2},
                                         Case{"r2c 3x52x5x40 forward double axes=1,3", 2},
                                         Case{"dct2 14x69x25 forward double", 2}));
INSTANTIATE_TEST_SUITE_P(LongAxis, OwnDisks,
                         testing::Values(Case{"c2c 1155 forward double", 2, solve_two_sweeps},
                                         Case{"c2c 2x1155x3 backward float axes=1", 2, solve_two_sweeps}));

// One process with a disk besides that of input and output, and with several.
TEST(OwnDisks, OfOneProcessHaveWhatLiesBetweenSweeps) {
    const std::pair<const char*, SolverFunction> cases[] = {
        {"c2c 54x50x8 forward double memory=128KiB", solve_axis_sweeps},
        {"r2c 14x89x55 forward float memory=128KiB", solve_axis_sweeps},
        {"c2c 2310x8 forward double axes=0 memory=128KiB", solve_two_sweeps},
        {"c2c 50625 backward double memory=96KiB", solve_many_sweeps}};
    for (const auto& [text, solve] : cases) {
        SCOPED_TRACE(text);
        const auto spares = [&, solve = solve](const std::string& problem, bool fast) {
            const auto plan = plan_on_two_cores(problem, solve, false, fast).value();
            const auto sweeps = examine_sweeps(*plan).sweeps;
            return std::none_of(sweeps.begin(), sweeps.end(),
                                [](const SweepOutline& sweep) { return sweep.source.place == Place::output; });
        };
        EXPECT_FALSE(spares(text, true)) << "without a disk of its own";
        EXPECT_TRUE(spares(cat(text, " disks=1"), true));
        const std::string many = cat(text, " disks=4");
        EXPECT_TRUE(spares(many, false));
        const StoreRun run = run_on_stores(many, solve, 0, 128, nullptr, -1, 4);
        ASSERT_TRUE(run.status.ok()) << run.status.message();
        EXPECT_LT(error_in_units(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input)),
                  allowed_error(run.plan->problem));
        expect_as_predicted(run);
    }
}

// Every rank may be on the same disk as all others, so it takes figures of it to prefer it.
TEST(OwnDisks, ArePreferredWhereTheyAreKnownToBeFaster) {
    for (const auto& [text, solve] :
         {std::pair<const char*, SolverFunction>{"c2c 4096x4096x4096 forward float memory=8GiB", solve_axis_sweeps},
          {"r2c 4096x4096x4096 forward float memory=4GiB", solve_axis_sweeps},
          {"c2c 1073741824 forward float memory=2GiB", solve_two_sweeps}}) {
        for (const bool fast : {false, true}) {
            const auto plan = plan_on_two_cores(cat(text, " ranks=4 disks=1"), solve, false, fast).value();
            EXPECT_EQ(examine_sweeps(*plan).sweeps.back().source.place, fast ? Place::scratch : Place::output) << text;
        }
    }
}

// One long axis in four sweeps, and in three where sections that ranks share out would need more memory: after the
// first sweep a rank has part of the first factor's results to itself, on seven ranks of 13 or of half a spectrum's
// seven.
INSTANTIATE_TEST_SUITE_P(FourSweeps, OwnParts,
                         testing::Values(Case{"c2c 83521 forward longdouble", 4, solve_many_sweeps},
                                         Case{"r2c 28561x2 forward double axes=0", 4, solve_many_sweeps},
                                         Case{"r2c 2x28561 forward longdouble axes=1 power", 4, solve_many_sweeps},
                                         Case{"r2c 57122 forward longdouble", 4, solve_many_sweeps},
                                         Case{"c2r 57122 backward longdouble", 4, solve_many_sweeps},
                                         Case{"c2r 2x28561 backward longdouble axes=1", 4, solve_many_sweeps}));
INSTANTIATE_TEST_SUITE_P(ThreeSweeps, OwnParts,
                         testing::Values(Case{"c2c 50625 backward float norm=ortho", 3, solve_many_sweeps},
                                         Case{"c2c 10010x3 forward double axes=0", 3, solve_many_sweeps},
                                         Case{"c2c 16 forward double", 3, solve_many_sweeps},
                                         Case{"r2c 2x10000x2 forward double axes=1", 3, solve_many_sweeps},
                                         Case{"r2c 15015 forward float", 3, solve_many_sweeps},
                                         Case{"c2r 2x10000x2 backward double axes=1", 3, solve_many_sweeps},
                                         Case{"c2r 15015 backward float", 3, solve_many_sweeps}));

}  // namespace
}  // namespace spanfft::test
