// Axes behind one that `two_sweeps` splits, transformed where rows are read or written: over simulated disks and ranks;
// prediction equal to count.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "solvers/table.hpp"
#include "support/random_sweeps.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

class RowsOnTheWay : public testing::TestWithParam<SweepCase> {};

TEST_P(RowsOnTheWay, MatchTheDefinition) { expect_right(GetParam(), solve_two_sweeps); }
// c2r, DCT and DST go by way of scratch, for which ranks exchange what they compute; so do rows of one number.
TEST_P(RowsOnTheWay, MatchTheDefinitionOnRanks) {
    const Problem problem = Problem::parse(GetParam().problem).value();
    const bool roomy = problem.halves() ? problem.forward() : problem.real_is_complex();
    expect_right_on_ranks(GetParam(), solve_two_sweeps, !roomy || problem.shape.back() == 1);
}

// Real ones, of odd and even lengths, whose halved axis is the last one or another, and not all of whose axes are
// transformed; of several arrays; one number, and rows that are whole blocks; and with DCTs among them.
INSTANTIATE_TEST_SUITE_P(Images, RowsOnTheWay,
                         testing::Values(SweepCase{"r2c 24x35 forward double", "80KiB", 128, 4096},
                                         SweepCase{"c2r 24x35 backward double", "96KiB", 128, 4096},
                                         SweepCase{"r2c 4x1 forward double", "72KiB"},
                                         SweepCase{"c2r 4x1 backward double", "72KiB"},
                                         SweepCase{"r2c 4x2 forward float norm=ortho", "72KiB"},
                                         SweepCase{"c2r 4x2 backward float norm=ortho", "72KiB"},
                                         SweepCase{"r2c 64x96 forward double threads=3", "256KiB", 0, 4096},
                                         SweepCase{"c2r 64x96 backward double threads=3", "256KiB", 0, 4096},
                                         SweepCase{"r2c 27x8x5 forward float", "96KiB", 128},
                                         SweepCase{"c2r 27x8x5 backward float", "128KiB", 8},
                                         SweepCase{"r2c 12x8x9 forward double axes=2,0,1", "128KiB"},
                                         SweepCase{"c2r 12x8x9 backward double axes=2,0,1", "128KiB"},
                                         SweepCase{"r2c 3x30x12 forward double axes=1,2", "80KiB", 128, 4096},
                                         SweepCase{"c2r 3x30x12 backward double axes=1,2", "96KiB", 128},
                                         SweepCase{"r2c 5x49x6x4 forward longdouble axes=1,3", "160KiB", 64},
                                         SweepCase{"c2r 5x49x6x4 backward longdouble axes=1,2", "256KiB", 64},
                                         SweepCase{"r2c 256x127 forward float", "256KiB", 128, 4096},
                                         SweepCase{"c2r 256x1022 backward float", "1MiB", 128, 4096},
                                         SweepCase{"c2c,dct2,r2c 30x5x6 forward double", "96KiB"},
                                         SweepCase{"c2c,dct2,r2c 30x5x6 backward double", "128KiB"},
                                         SweepCase{"c2c,dst3 30x7 forward double", "80KiB"},
                                         SweepCase{"dct2 36x5 forward double", "96KiB", 8, 4096},
                                         SweepCase{"dct2 36x5 backward double", "96KiB", 8},
                                         SweepCase{"dct3,dst2 35x3x4 forward float axes=0,2", "96KiB", 8, 4096},
                                         SweepCase{"dct4 2x60x9 forward double axes=1,2", "96KiB"},
                                         SweepCase{"dst1,dct1 127x8 backward double", "128KiB", 8, 4096},
                                         SweepCase{"dct4,c2c 30x7 backward float axes=1,0", "80KiB"}));

TEST(RowsOnTheWay, OfRealNumbersTakeTheSmallestMemoryThatIsNamed) {
    for (const char* text : {"r2c 64x48 forward double threads=1", "c2r 64x48 backward double threads=2",
                             "r2c 3x45x80 forward float axes=1,2 threads=1"})
        expect_smallest_memory(text, solve_two_sweeps);
}

// Panels of 128 rows instead of columns of 16384 points, and two sweeps instead of three.
TEST(RowsOnTheWay, OfImagesAreChosenWhereColumnsHaveShortRuns) {
    const Planner planner{Machine()};
    const auto solver = [&](const char* text) { return planner.plan(Problem::parse(text).value()).value()->solver; };
    EXPECT_EQ(solver("r2c 16384x16384 forward float memory=256MiB threads=2"), "two_sweeps");
    EXPECT_EQ(solver("c2r 16384x16384 backward float memory=256MiB threads=2"), "two_sweeps");
    EXPECT_EQ(solver("r2c 16384x16384 forward float memory=64MiB threads=2"), "two_sweeps");
    EXPECT_EQ(solver("r2c 8192x8192 forward float memory=64MiB threads=2"), "two_sweeps");
    EXPECT_EQ(solver("dct2 16384x16384 forward float memory=256MiB threads=2"), "two_sweeps");
    EXPECT_EQ(solver("r2c 1024x1024x1024 forward float memory=1GiB threads=2"), "axis_sweeps");
}

// Two to four axes, of which the first one that is transformed can be split: it is c2c and the others are of any kind,
// or all are DCTs and DSTs.
std::string any_problem(Random& random) {
    const auto ndim = static_cast<int>(random.between(2, 4)), split = static_cast<int>(random.below(ndim - 1));
    std::string shape;
    std::vector<int> axes;
    for (int axis = 0; axis < ndim; ++axis) {
        const std::vector<index_t> lengths{4, 30, 64, 77, 128};
        shape += cat(axis > 0 ? "x" : " ", axis == split ? random.pick(lengths) : random.between(1, 9));
        if (axis > split && (axis == split + 1 || random.chance(0.6))) axes.push_back(axis);
    }
    random.shuffle(axes);
    const bool real = random.chance(0.2), halves = !real && random.chance(0.7);
    axes.insert(axes.begin() + random.below(std::ssize(axes) + (halves ? 0 : 1)), split);
    std::string kinds, order;
    for (size_t i = 0; i < axes.size(); ++i) {
        const std::vector<const char*> real_kinds{"dct2", "dct3", "dct4", "dst2", "dst3"};
        const bool is_c2c = !real && (axes[i] == split || random.chance(0.7));
        const char* const other = is_c2c ? "c2c" : random.pick(real_kinds);
        kinds += cat(i > 0 ? "," : "", halves && i + 1 == axes.size() ? "r2c" : other);
        order += cat(i > 0 ? "," : "", axes[i]);
    }
    const char* const power = random.chance(0.15) ? " power" : "";
    const char* const norm = random.chance(0.2) ? " norm=forward" : "";
    const char* const precision = random.chance(0.5) ? " double" : " float";
    const char* const direction = random.chance(0.5) ? " forward" : " backward";
    return cat(kinds, shape, direction, precision, " axes=", order, norm, power);
}

bool has_rows_apart(const Plan& plan) { return spec_of(plan, 0).apart() || spec_of(plan, 1).apart(); }

TEST(RowsOnTheWay, OfAnyKindMatchTheDefinitionInLittleMemory) {
    Random random(133);
    int apart = 0;
    const auto see = [&](const Plan& plan) { apart += has_rows_apart(plan); };
    for (int i = 0; i < 120 / kPointStep; ++i)
        expect_right_in_little_memory(random, any_problem, solve_two_sweeps, see);
    EXPECT_GT(apart * kPointStep, 40);
}

TEST(RowsOnTheWay, OfAnyKindMatchTheDefinitionInLittleMemoryOnRanks) {
    Random random(134);
    int apart = 0;
    const auto see = [&](const Plan& plan) { apart += has_rows_apart(plan); };
    for (int i = 0; i < 120 / kPointStep; ++i)
        expect_right_in_little_memory_on_ranks(random, any_problem, solve_two_sweeps, see);
    EXPECT_GT(apart * kPointStep, 40);
}

}  // namespace
}  // namespace spanfft::test
