// Plans of solvers `local` and `pencil` on simulated ranks, against the transforms' definitions. Every case checks the
// result, that the input is kept bit for bit, that nothing is written outside the arrays, and that every step
// counts what it predicted (check_plan in support/oracle.cpp).
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/exchange.hpp"
#include "exec/executor.hpp"
#include "exec/explain.hpp"
#include "plan/planner.hpp"
#include "steps/pipelined_step.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

const std::vector<std::string> kKinds = {"c2c", "r2c", "dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4"};
const std::vector<std::string> kDirections = {"forward", "backward"};
const std::vector<std::string> kPrecisions = {"float", "double", "longdouble"};
const std::vector<std::string> kNorms = {"backward", "ortho", "forward"};

std::unique_ptr<Plan> planned(const std::string& text) {
    const auto problem = Problem::parse(text);
    EXPECT_TRUE(problem.ok()) << problem.status().message();
    if (!problem.ok()) return nullptr;
    auto plan = Planner(this_machine()).plan(problem.value());
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? std::move(plan).value() : nullptr;
}

// --- one process ---------------------------------------------------------------------------------------------------

TEST(LocalPlan, EveryKindDirectionPrecisionAndNormAtSmallLengths) {
    for (const auto& kind : kKinds) {
        for (const auto& direction : kDirections) {
            for (const auto& precision : kPrecisions) {
                for (const auto& norm : kNorms) {
                    for (const index_t n : {2, 3, 4, 5, 8, 9, 16, 26, 45}) {
                        // Several rows, so that the error is that of the transform and not of one lucky number.
                        check_plan(cat(kind, " 12x", n, " ", direction, " ", precision, " axes=1 norm=", norm));
                    }
                }
            }
        }
    }
}

TEST(LocalPlan, OnePointIsATransformToo) {
    for (const auto& kind : kKinds) {
        if (kind == "dct1") continue;
        for (const auto& direction : kDirections) check_plan(kind + " 1 " + direction);
        check_plan(kind + " 1x1x1 norm=ortho");
        check_plan(kind + " 3x1x4 float");
    }
}

TEST(LocalPlan, LengthsWithLargePrimes) {
    for (const index_t n : {17, 19, 34, 97, 101, 211}) {
        for (const auto& kind : kKinds) check_plan(cat(kind, " ", n, " ", n % 2 ? "double" : "float"));
    }
}

TEST(LocalPlan, OneToSixAxes) {
    for (const std::string shape : {"24", "5x6", "3x4x5", "2x3x4x5", "2x3x2x3x4", "2x3x2x3x2x4"}) {
        for (const auto& kind : kKinds) {
            for (const auto& direction : kDirections) check_plan(kind + " " + shape + " " + direction);
        }
    }
}

TEST(LocalPlan, SubsetsAndOrdersOfAxes) {
    for (const std::string axes : {"0", "1", "2", "0,1", "1,0", "2,0", "0,2", "2,1,0", "1,2,0"}) {
        for (const std::string kind : {"c2c", "r2c", "dct2", "dst3"}) {
            for (const auto& direction : kDirections) check_plan(kind + " 4x5x6 " + direction + " axes=" + axes);
        }
    }
}

TEST(LocalPlan, MixedKindsMeanAnAxisEach) {
    for (const std::string kinds :
         {"dct2,c2c,r2c", "c2c,dst1,dct4", "dct1,dst2,dct3", "r2c,c2c,c2c", "c2c,r2c,dct2", "dst4,r2c,dst4"}) {
        for (const auto& direction : kDirections) {
            for (const auto& norm : kNorms) check_plan(kinds + " 4x5x6 " + direction + " norm=" + norm);
        }
    }
}

TEST(LocalPlan, BatchesAreSeparateTransforms) {
    for (const auto& kind : kKinds) {
        check_plan(kind + " 4x6 batch=3");
        check_plan(kind + " 4x6 backward batch=5 axes=0");
        check_plan(kind + " 7 batch=2");
    }
}

TEST(LocalPlan, InPlaceUsesOneArray) {
    for (const auto& kind : kKinds) {
        for (const auto& direction : kDirections) {
            check_plan(kind + " 6x7 in_place " + direction);
            check_plan(kind + " 3x4x5 in_place float axes=1 " + direction);
            check_plan(kind + " 8 in_place norm=ortho batch=2 " + direction);
        }
    }
}

TEST(LocalPlan, ThreadsChangeNothingButTime) {
    for (const auto& kind : kKinds) check_plan(kind + " 8x9x10 threads=3");
}

TEST(LocalPlan, MeasuredPlansAreAsExact) { check_plan("r2c 8x9x10 effort=measure"); }

// --- ranks ---------------------------------------------------------------------------------------------------------

class PencilPlan : public testing::TestWithParam<int> {
  protected:
    // Exchanges by collectives and through shared memory, where solver shared does what it can and pencil the rest.
    void check(const std::string& text) const {
        for (const std::string exchange : {"alltoallv", "alltoallw", "shared"}) {
            check_plan(cat(text, " threads=1 ranks=", GetParam(), " exchange=", exchange));
        }
    }
    std::vector<std::string> grids(int ndim) const {
        std::vector<std::string> texts;
        for (int dims = 1; dims < ndim; ++dims) {
            for (const Extents& grid : factorings(GetParam(), dims)) texts.push_back(" grid=" + shape_string(grid));
        }
        return texts;
    }
};

TEST_P(PencilPlan, EveryKindAndDirection) {
    for (const auto& kind : kKinds) {
        for (const auto& direction : kDirections) check(kind + " 6x5x4 " + direction);
    }
}

TEST_P(PencilPlan, EveryPrecisionAndNorm) {
    for (const auto& precision : kPrecisions) {
        for (const auto& norm : kNorms) {
            check("r2c 6x4x8 " + precision + " norm=" + norm);
            check("dct2 6x4x8 backward " + precision + " norm=" + norm);
            check("c2c 7x5 backward " + precision + " norm=" + norm);
        }
    }
}

TEST_P(PencilPlan, EveryGridOfFewerDimensionsThanTheArray) {
    for (const auto& grid : grids(3)) {
        for (const auto& direction : kDirections) {
            for (const std::string output : {"natural", "exchanged"}) {
                check("r2c 6x5x8 " + direction + grid + " output=" + output);
                check("c2c 4x9x5 " + direction + grid + " output=" + output);
            }
        }
    }
}

TEST_P(PencilPlan, GridsOfFourAndFiveAxes) {
    for (const auto& grid : grids(4)) check("r2c 4x3x4x6" + grid);
    for (const auto& grid : grids(5)) check_plan(cat("c2c 3x2x4x3x2 threads=1 ranks=", GetParam(), grid));
}

TEST_P(PencilPlan, ReadsAndWritesArraysOfItsOwn) {
    for (const auto& direction : kDirections) {
        for (const std::string output : {"natural", "exchanged"}) {
            for (const std::string kind : {"c2c", "r2c", "dct2"}) {
                for (const std::string arrays : {"own_output ", "own_input ", "own_input own_output "})
                    check(kind + " 7x5x6 " + arrays + direction + " output=" + output);
            }
        }
    }
    for (const auto& grid : grids(4)) check("c2c 3x4x2x5 own_input own_output" + grid);
}

TEST_P(PencilPlan, SharesLinesAmongThreads) {
    for (const auto& direction : kDirections) {
        check_plan(cat("c2c 7x6x70 exchange=shared threads=2 ranks=", GetParam(), " ", direction));
    }
}

TEST_P(PencilPlan, TwoAxes) {
    for (const auto& kind : kKinds) check(kind + " 10x9");
}

TEST_P(PencilPlan, SubsetsAndOrdersOfAxes) {
    for (const std::string axes : {"0", "1", "2", "1,0", "0,2", "2,1,0", "0,1,2"}) {
        for (const std::string kind : {"c2c", "r2c", "dct2"}) {
            for (const std::string output : {"natural", "exchanged"}) {
                check(kind + " 5x6x4 axes=" + axes + " output=" + output);
                check(kind + " 5x6x4 backward axes=" + axes + " output=" + output);
            }
        }
    }
}

TEST_P(PencilPlan, MixedKinds) {
    for (const std::string kinds : {"dct2,c2c,r2c", "c2c,dst1,dct4", "r2c,c2c,c2c", "c2c,r2c,dst2", "dct1,dst2,dct3"}) {
        for (const auto& direction : kDirections) check(kinds + " 4x6x5 norm=ortho " + direction);
    }
}

TEST_P(PencilPlan, Batches) {
    check("r2c 6x5x4 batch=3");
    check("c2c 6x5 backward batch=2 output=exchanged");
    check("dst2 3x4 batch=4");
}

TEST_P(PencilPlan, RowsOfATwoDimensionalArray) { check("r2c 11x16 axes=1"); }

TEST_P(PencilPlan, MoreRanksThanPlanes) {
    check("r2c 2x3x4");
    check("c2c 1x2x3 backward");
    check("dct2 3x2");
    check("c2c 1x1x5");
    check("r2c 2x2x1 backward");
}

TEST_P(PencilPlan, InPlace) {
    for (const std::string kind : {"c2c", "r2c", "dct3"}) {
        for (const auto& direction : kDirections) {
            check(kind + " 6x5x4 in_place " + direction);
            check(kind + " 6x5x4 in_place output=exchanged " + direction);
            check(kind + " 5x4 in_place axes=0 " + direction);
        }
    }
}

TEST_P(PencilPlan, GivenBoxes) {
    Random random(31);
    for (int i = 0; i < 12; ++i) {
        for (const std::string kind : {"c2c", "r2c", "dst4"}) {
            Problem p = Problem::parse(kind + " 5x6x4 threads=1").value();
            p.direction = static_cast<Direction>(i % 2);
            p.ranks = GetParam();
            if (i % 3 != 0) p.real_boxes = random_tiling(random, p.shape, p.ranks);
            if (i % 3 != 1) p.spectrum_boxes = random_tiling(random, p.spectrum_shape(), p.ranks);
            p.in_place = i % 4 == 0;
            if (i % 5 == 0) p.batch = 2;
            check_plan(p, random.bits());
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PencilPlan, testing::Range(1, 9, kRanksStep),
                         [](const auto& tested) { return cat("P", tested.param); });

// --- every exchange ------------------------------------------------------------------------------------------------

// Every row of the table, and parameters that leave chunks over, or make one of all.
std::vector<std::string> exchange_texts() {
    std::vector<std::string> texts;
    for (const auto& strategy : exchange_table()) {
        if (!strategy.approximate) texts.emplace_back(strategy.name);
    }
    for (const std::string text :
         {"oneplane:3", "overlap:2", "overlap:all", "standard:2", "replace:2", "blockvector:2", "blockvector:3,thread"})
        texts.push_back(text);
    return texts;
}

class EveryStrategy : public testing::TestWithParam<int> {
  protected:
    void check(const std::string& text) const {
        for (const std::string& exchange : exchange_texts())
            check_plan(cat(text, " threads=1 ranks=", GetParam(), " exchange=", exchange));
    }
};

TEST_P(EveryStrategy, ComplexAndRealOfTwoPrecisionsBothWays) {
    for (const std::string kind : {"c2c", "r2c"}) {
        for (const std::string precision : {"float", "double"}) {
            for (const auto& direction : kDirections) {
                check(kind + " 9x7x6 output=exchanged " + precision + " " + direction);
            }
            check(kind + " 6x10x5 " + precision);
        }
    }
}

TEST_P(EveryStrategy, EveryGridOfThreeAxes) {
    for (int dims = 1; dims < 3; ++dims) {
        for (const Extents& grid : factorings(GetParam(), dims)) {
            check("r2c 7x6x9 grid=" + shape_string(grid));
            check("c2c 5x8x6 backward output=exchanged grid=" + shape_string(grid));
            check("r2c 8x4x9 axes=2,1,0 backward grid=" + shape_string(grid));
        }
    }
}

TEST_P(EveryStrategy, RowsOfTransformsThatScaleTheirEnds) {
    for (const std::string kind : {"dct1", "dct2", "dct3", "dst2", "dst3"}) {
        check(kind + " 6x5x4 norm=ortho");
        check(kind + " 4x5x6 norm=ortho backward output=exchanged");
        check(kind + " 5x7x3 norm=ortho axes=2,0");
    }
    check("c2c 6x5x4 norm=ortho");
    check("r2c 6x5x4 norm=forward");
}

TEST_P(EveryStrategy, InPlaceBatchesFewPlanesAndGivenBoxes) {
    check("c2c 6x5x4 in_place");
    check("r2c 6x5x4 in_place output=exchanged");
    check("r2c 6x5x4 in_place backward");
    check("r2c 6x5x4 batch=3");
    check("r2c 2x3x4");
    check("c2c 1x2x3 backward");
    Random random(35);
    for (const std::string& exchange : exchange_texts()) {
        Problem p = Problem::parse("r2c 5x6x4 threads=1").value();
        p.ranks = GetParam();
        p.exchange = exchange;
        p.real_boxes = random_tiling(random, p.shape, p.ranks);
        p.spectrum_boxes = random_tiling(random, p.spectrum_shape(), p.ranks);
        check_plan(p, random.bits());
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryStrategy, testing::Range(1, 9, kRanksStep),
                         [](const auto& tested) { return cat("P", tested.param); });

TEST(ForcedExchange, IsTheOneThatRuns) {
    for (const std::string& exchange : exchange_texts()) {
        const auto plan = planned("c2c 16x16x16 ranks=2 grid=2 exchange=" + exchange);
        EXPECT_EQ(plan->problem.exchange, exchange);
        EXPECT_NE(plan->problem.print().find("exchange=" + exchange), std::string::npos);
        if (find_exchange(exchange).strategy->uses_window) continue;  // solver shared has steps of its own
        int found = 0;
        for (const PlanLine& line : plan_lines(*plan)) {
            if (line.step->type() != std::string("Exchange")) continue;
            EXPECT_EQ(line.step->describe().find(exchange + " in groups of 2"), 0u) << line.step->describe();
            ++found;
        }
        EXPECT_EQ(found, 2) << exchange;
    }
}

TEST(ForcedExchange, WithAParameterThatIsNoneIsRefused) {
    const auto problem = Problem::parse("c2c 8x8x8 ranks=2 exchange=overlap:few");
    const auto plan = Planner(this_machine()).plan(problem.value());
    EXPECT_EQ(plan.status().code(), Code::invalid_argument);
    EXPECT_NE(plan.status().message().find("'few'"), std::string::npos) << plan.status().message();
}

// --- transform and exchange in one
// ------------------------------------------------------------------------------------

std::vector<std::string> step_types(const std::string& text) {
    std::vector<std::string> types;
    const auto plan = planned(text);
    for (const auto& step : plan->steps) types.emplace_back(step->type());
    return types;
}

TEST(TransformExchange, TakesTheTransformBeforeAnExchangeInChunks) {
    using Types = std::vector<std::string>;
    const std::string slab = "c2c 16x16x16 ranks=4 grid=4 ";
    EXPECT_EQ(step_types(slab + "exchange=alltoallv"), (Types{"Transform", "Exchange", "Transform", "Exchange"}));
    EXPECT_EQ(step_types(slab + "exchange=overlap:all"), (Types{"Transform", "Exchange", "Transform", "Exchange"}));
    for (const std::string exchange : {"overlap", "oneplane:2", "standard", "replace:3", "blockvector:2,thread"}) {
        EXPECT_EQ(step_types(slab + "exchange=" + exchange), (Types{"TransformExchange", "TransformExchange"}));
        EXPECT_EQ(step_types(slab + "output=exchanged backward exchange=" + exchange),
                  (Types{"TransformExchange", "Transform"}));
    }
    // Natural order in, backward: the first exchange has no transform before it.
    EXPECT_EQ(step_types(slab + "backward exchange=overlap"), (Types{"Exchange", "TransformExchange", "Transform"}));
}

TEST(TransformExchange, PredictsP2sTimeWhereTheTwoGoOnAtOnce) {
    EXPECT_DOUBLE_EQ(pipelined_seconds(6, 2, 4, 1), 6 + 2.0 / 4);
    EXPECT_DOUBLE_EQ(pipelined_seconds(2, 6, 4, 1), 2.0 / 4 + 6);
    EXPECT_DOUBLE_EQ(pipelined_seconds(2, 6, 1, 1), 8);
    EXPECT_DOUBLE_EQ(pipelined_seconds(2, 6, 4, 0), 8);
    EXPECT_DOUBLE_EQ(pipelined_seconds(2, 6, 4, 0.5), 8 - 0.5 * 1.5);
    Machine machine = this_machine();
    machine.overlap_share = 1;
    const auto seconds = [&](const std::string& exchange) {
        const auto problem = Problem::parse("c2c 64x64x64 ranks=4 grid=4 output=exchanged exchange=" + exchange);
        return Planner(machine).plan(problem.value()).value()->steps.front()->predict(0).seconds;
    };
    const auto blocking = planned("c2c 64x64x64 ranks=4 grid=4 output=exchanged exchange=oneplane:4");
    const Step& apart = *blocking->steps.front();
    const auto parts = apart.children();
    ASSERT_EQ(parts.size(), 2u);
    // Blocking: the sum of what is inside.
    EXPECT_DOUBLE_EQ(apart.predict(0).seconds, parts[0]->predict(0).seconds + parts[1]->predict(0).seconds);
    EXPECT_LT(seconds("blockvector:4"), seconds("oneplane:4"));
}

// --- what plans say of themselves -----------------------------------------------------------------------------------

TEST(PencilRoute, SlabsNeedOneExchangeForwardAndASecondForNaturalOrder) {
    const auto exchanges = [](const std::string& text) {
        int count = 0;
        const auto plan = planned(text);
        for (const auto& step : plan->steps) count += step->type() == std::string("Exchange");
        return count;
    };
    EXPECT_EQ(exchanges("c2c 8x8x8 ranks=4 grid=4 output=exchanged exchange=alltoallv"), 1);
    EXPECT_EQ(exchanges("c2c 8x8x8 ranks=4 grid=4 exchange=alltoallv"), 2);
    EXPECT_EQ(exchanges("c2c 8x8x8 ranks=4 grid=4 backward output=exchanged exchange=alltoallv"), 1);
    EXPECT_EQ(exchanges("r2c 8x8x8 ranks=4 grid=2x2 output=exchanged exchange=alltoallv"), 2);
    EXPECT_EQ(exchanges("c2c 8x8x8 ranks=4 grid=4 axes=1,2 exchange=alltoallv"), 0);
    EXPECT_EQ(exchanges("c2c 8x8x8 ranks=1"), 0);
}

TEST(SharedRoute, OnOneNodeADividedAxisIsOneSweepAndNothingIsSent) {
    const auto steps = [](const std::string& text) {
        std::string types;
        const auto plan = planned(text);
        for (const auto& step : plan->steps) types += std::string(step->type()).substr(0, 1);
        EXPECT_EQ(plan->predict(0).messages, 0);
        EXPECT_EQ(plan->problem.exchange, "shared");
        return types;
    };
    // T: local transform, S: along a divided axis, in the windows of all, C: copy between the window and the user's
    // array.
    EXPECT_EQ(steps("c2c 64x64x64 ranks=4 grid=4"), "TSC");
    EXPECT_EQ(steps("c2c 64x64x64 ranks=4 grid=4 backward"), "TSC");
    // Named: on some processors their engines' rates are predicted to do a transform before and after a copy as fast.
    EXPECT_EQ(steps("c2c 64x64x64 ranks=4 grid=4 output=exchanged method=shared"), "TS");
    EXPECT_EQ(steps("c2c 64x64x64 ranks=4 grid=4 output=exchanged backward method=shared"), "ST");
    EXPECT_EQ(steps("r2c 64x64x64 ranks=4 grid=2x2"), "TSSC");
    EXPECT_EQ(steps("r2c 64x64x64 ranks=4 grid=2x2 backward"), "CSST");
}

TEST(PencilRoute, TheDefaultGridDividesTheLeadingAxis) {
    const auto plan = planned("c2c 64x64x64 ranks=4");
    EXPECT_EQ(plan->input.layout.patch(0)[0].count * plan->problem.grid[0], 64);
    EXPECT_TRUE(plan->input.layout.is_whole(2));
}

TEST(PencilRoute, ExchangedOutputIsDividedAsTheLastExchangeLeftIt) {
    const auto plan = planned("c2c 8x8x8 ranks=4 grid=4 output=exchanged");
    EXPECT_TRUE(plan->output.layout.is_whole(0));
    EXPECT_FALSE(plan->output.layout.is_whole(1));
    EXPECT_TRUE(planned("c2c 8x8x8 ranks=4 grid=4")->output.layout.is_whole(1));
}

TEST(PencilRoute, InputAndOutputOfForwardAndBackwardAreEachOthers) {
    Random random(32);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 200; ++i) {
        ProblemLimits limits;
        limits.max_elems = 2000;
        Problem p = random_solvable(random, limits);
        p.direction = Direction::forward;
        const auto forward = Planner(this_machine()).plan(p);
        p.direction = Direction::backward;
        const auto backward = Planner(this_machine()).plan(p);
        ASSERT_TRUE(forward.ok() && backward.ok()) << p.print();
        for (int rank = 0; rank < p.ranks; ++rank) {
            EXPECT_EQ(forward.value()->input.layout.patch(rank), backward.value()->output.layout.patch(rank))
                << p.print();
            EXPECT_EQ(forward.value()->output.layout.patch(rank), backward.value()->input.layout.patch(rank))
                << p.print();
        }
    }
}

TEST(PencilRoute, PredictsForMoreRanksThanThereAre) {
    // 64 x 64 ranks: pencils move along rows and columns of the grid, 63 messages each, and the last exchange, back
    // to natural order, moves both grid dimensions at once.
    const auto plan = planned("r2c 512x512x512 float ranks=4096 grid=64x64 output=exchanged exchange=alltoallv");
    EXPECT_EQ(plan->predict(1234).messages, 2 * 63);
    // 8 x 8 rows of the local array of 8 x 8 x 257 to each of 64, complex float: all but its own part.
    index_t sent = 0;
    for (int rank = 0; rank < 4096; rank += 819) sent += plan->steps[1]->predict(rank).sent_bytes;
    EXPECT_GT(sent, 0);
}

}  // namespace
}  // namespace spanfft::test
