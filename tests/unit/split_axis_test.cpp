// An axis that `axis_sweeps` splits beside sweeps of the others: over simulated disks and ranks; prediction equal to
// count.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "solvers/table.hpp"
#include "support/random_sweeps.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

class SplitAxis : public testing::TestWithParam<SweepCase> {};

TEST_P(SplitAxis, MatchesTheDefinition) { expect_right(GetParam(), solve_axis_sweeps); }

// Slabs of the other axes, and the first one in two sweeps: both ways, of a batch, with a real kind among the others,
// with an axis that is not transformed, in rows that are no whole sectors.
const SweepCase kSplit[] = {{"r2c 36x8192 forward float", "896KiB", 128, 4096},
                            {"c2r 36x8192 backward float", "896KiB", 128, 4096},
                            {"r2c 35x8201 forward float norm=ortho threads=3", "1MiB", 128, 128},
                            {"c2r 35x8201 backward float norm=ortho", "1MiB", 0, 128},
                            {"r2c 2x36x8192 forward float axes=1,2", "896KiB", 128, 4096},
                            {"c2r 2x36x8192 backward float axes=1,2", "896KiB", 128},
                            {"c2c,dct2,r2c 36x4x2048 forward float", "896KiB"},
                            {"c2c,dct2,r2c 36x4x2048 backward float", "896KiB"},
                            {"r2c 36x4x2048 forward longdouble axes=0,2", "1536KiB"},
                            {"c2r 36x4x2048 backward longdouble axes=0,2", "1536KiB"}};
INSTANTIATE_TEST_SUITE_P(SplitFirstAxis, SplitAxis, testing::ValuesIn(kSplit));

// Whole lines of the first axis would be in short runs; where they are not, or those of the two sweeps are,
// columns it is.
TEST(SplitAxis, IsALongFirstOneWhereThatIsPredictedToTakeLess) {
    for (const SweepCase& c : kSplit) {
        const auto plan = plan_on_two_cores(cat(c.problem, " memory=", c.memory), solve_axis_sweeps).value();
        EXPECT_EQ(plan->sweeps, 3) << c.problem;
    }
    const auto sweeps = [](const char* text) { return plan_on_two_cores(text, solve_axis_sweeps).value()->sweeps; };
    EXPECT_EQ(sweeps("r2c 36x8192 forward float memory=768KiB"), 2);
    EXPECT_EQ(sweeps("r2c 65536x65536 forward double memory=1GiB"), 3);
    EXPECT_EQ(sweeps("r2c 65536x65536 backward double memory=1GiB"), 3);
    EXPECT_EQ(sweeps("r2c 1024x1024x1024 forward float memory=256MiB"), 2);
    EXPECT_EQ(sweeps("r2c 400x1000x1000 backward float memory=384MiB"), 2);
}

// One axis of which no memory holds a line, by the solvers that split it, and the others before or after: of each kind,
// first, last and in the middle, with axes that are not transformed, and beside two others.
const SweepCase kLong[] = {{"c2c 3x4096 forward double", "96KiB", 128, 4096},
                           {"c2c 4096x3 backward double", "48KiB", 128, 4096},
                           {"r2c 3x4096 forward double", "64KiB", 128, 128},
                           {"r2c 3x4096 forward double norm=ortho", "96KiB", 128, 4096},
                           {"c2r 3x4096 backward double", "72KiB", 0, 128},
                           {"c2r 3x4096 backward double norm=ortho", "96KiB", 128, 4096},
                           {"r2c 5x4x2310 forward float", "72KiB"},
                           {"c2r 5x4x2310 backward float axes=1,2,0", "112KiB"},
                           {"dct2 3x2000 forward double", "96KiB", 128, 4096},
                           {"dct2 3x2000 backward double", "96KiB"},
                           {"c2c 3x2048x5 forward longdouble axes=0,1", "96KiB"},
                           {"c2r 2x2048x6 backward double axes=0,1", "64KiB"},
                           {"r2c 4096x6 forward double axes=1,0", "80KiB"},
                           {"c2r 4096x6 backward double axes=1,0 threads=3", "112KiB"},
                           {"r2c 3x5000x4 forward double axes=2,1 threads=2", "96KiB", 128}};
INSTANTIATE_TEST_SUITE_P(LongAxis, SplitAxis, testing::ValuesIn(kLong));

TEST(SplitAxis, OfALongOneTakesTheSmallestMemoryThatIsNamed) {
    for (const char* problem : {"c2c 3x4096 forward double threads=1", "r2c 3x4096 forward double threads=2",
                                "c2r 3x4096 backward double threads=1", "dct2 3x2000 forward double threads=1"}) {
        SCOPED_TRACE(problem);
        expect_smallest_memory(problem, solve_axis_sweeps);
    }
}

// The least memory is then far below a line of the long axis, for every kind.
TEST(SplitAxis, FitsMemoryThatHoldsNoLineOfIt) {
    for (const char* problem :
         {"c2c 8x134217728 forward float", "r2c 8x134217728 forward float", "c2r 8x134217728 backward float",
          "dct2 134217728x8 forward float", "c2r 4x134217728x2 backward float axes=0,1"}) {
        const auto plan = plan_on_two_cores(cat(problem, " memory=256MiB"), solve_axis_sweeps);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_GE(plan.value()->sweeps, 3) << problem;
        EXPECT_LE(plan.value()->sweeps, 4) << problem;
    }
}

// A problem of two or three axes of any kinds in any order, of which one may be long, smooth or not.
std::string any_problem(Random& random) {
    const auto ndim = static_cast<int>(random.between(2, 3)), longest = static_cast<int>(random.below(ndim)),
               other = longest > 0 ? longest - 1 : 1;
    std::vector<int> axes;
    std::string shape;
    for (int axis = 0; axis < ndim; ++axis) {
        const std::vector<index_t> lengths{1021, 1024, 1155, 2039, 2048};
        const index_t n = axis == longest ? random.pick(lengths) : random.between(1, 6);
        shape += cat(axis > 0 ? "x" : " ", n);
        if (axis == longest || axis == other || random.chance(0.5)) axes.push_back(axis);
    }
    random.shuffle(axes);
    std::string kinds, order;
    for (size_t i = 0; i < axes.size(); ++i) {
        const char* const may_halve = i + 1 == axes.size() ? "r2c" : "c2c";
        const std::vector<const char*> choice{"c2c", "c2c", "dct2", "dst3", may_halve, may_halve};
        kinds += cat(i > 0 ? "," : "", random.pick(choice));
        order += cat(i > 0 ? "," : "", axes[i]);
    }
    const char* const power = random.chance(0.15) ? " power" : "";
    const char* const norm = random.chance(0.2) ? " norm=forward" : "";
    const char* const precision = random.chance(0.5) ? " double" : " float";
    const char* const direction = random.chance(0.5) ? " forward" : " backward";
    return cat(kinds, shape, direction, precision, " axes=", order, norm, power);
}

TEST(SplitAxis, OfAnyKindAnywhereMatchesTheDefinitionInLittleMemory) {
    Random random(131);
    int split = 0;
    const auto see = [&](const Plan& plan) { split += splits_an_axis(plan); };
    for (int i = 0; i < 160 / kPointStep; ++i)
        expect_right_in_little_memory(random, any_problem, solve_axis_sweeps, see);
    EXPECT_GT(split * kPointStep, 30);
}

TEST(SplitAxis, OfAnyKindAnywhereMatchesTheDefinitionOnRanks) {
    Random random(132);
    int split = 0;
    const auto see = [&](const Plan& plan) { split += splits_an_axis(plan); };
    for (int i = 0; i < 160 / kPointStep; ++i)
        expect_right_in_little_memory_on_ranks(random, any_problem, solve_axis_sweeps, see);
    EXPECT_GT(split * kPointStep, 30);
}

}  // namespace
}  // namespace spanfft::test
