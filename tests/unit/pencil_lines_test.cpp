// Solver `pencil_lines` on simulated ranks, against the transforms' definitions: a divided axis among others, on more
// ranks than the others can feed. check_plan compares each element at the place that the layout gives it, the counts
// with the predictions, and holds that the input is kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/exchange.hpp"
#include "exec/explain.hpp"
#include "plan/planner.hpp"
#include "support/oracle.hpp"

namespace spanfft::test {
namespace {

Result<std::unique_ptr<Plan>> plan(const std::string& text) {
    const auto problem = Problem::parse(text);
    if (!problem.ok()) return problem.status();
    return Planner(this_machine()).plan(problem.value());
}

// Both directions.
void check(const std::string& text) {
    for (const std::string direction : {"forward", "backward"}) check_plan(cat(text, " ", direction, " threads=1"));
}

int steps_of(const Plan& plan, const std::string& type) {
    return static_cast<int>(
        std::count_if(plan.steps.begin(), plan.steps.end(), [&](const auto& step) { return step->type() == type; }));
}

// Every rank has elements at both ends.
bool feeds_all(const Plan& plan) {
    for (int rank = 0; rank < plan.problem.ranks; ++rank) {
        if (plan.input.layout.local_elems(rank) == 0 || plan.output.layout.local_elems(rank) == 0) return false;
    }
    return true;
}

// --- results ---------------------------------------------------------------------------------------------------------

TEST(PencilLinesPlan, EveryNumberOfRanksAndPlaceOfTheLongAxis) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
        for (const std::string shape : {"3x144", "144x2", "2x3x90", "2x96x3", "120x2x2", "1x128", "128x1", "5x7x64"}) {
            check(cat("c2c ", shape, " method=pencil_lines ranks=", ranks));
            check(cat("c2c ", shape, " method=pencil_lines output=exchanged ranks=", ranks));
        }
    }
}

TEST(PencilLinesPlan, EveryGridThatDividesAllAxesAndALongOne) {
    for (const std::string grid : {"2x3", "3x2", "1x6", "6x1"}) {
        for (const std::string shape : {"64x66", "9x100", "100x9", "65x70"}) {
            for (const std::string output : {"natural", "exchanged"}) {
                const std::string text =
                    cat("c2c ", shape, " ranks=6 method=pencil_lines output=", output, " grid=", grid);
                // The short axis alone is divided: there is nothing to view as two.
                if (plan(text).ok()) check(text);
            }
        }
    }
    check("c2c 6x66x5 ranks=8 grid=2x2x2 method=pencil_lines");
    check("c2c 6x5x66 ranks=12 grid=2x2x3 method=pencil_lines output=exchanged");
}

TEST(PencilLinesPlan, RealArraysWhoseHalvedAxisIsAnother) {
    for (int ranks = 2; ranks <= 7; ++ranks) {
        for (const std::string shape : {"144x2", "96x3", "2x100x3", "128x1x5"}) {
            for (const std::string output : {"natural", "exchanged"})
                check(cat("r2c ", shape, " method=pencil_lines output=", output, " ranks=", ranks));
        }
    }
    check("r2c 66x10 ranks=6 grid=3x2 method=pencil_lines");
    check("r2c 66x10 ranks=6 grid=2x3 method=pencil_lines output=exchanged");
}

TEST(PencilLinesPlan, RealArraysWhoseHalvedAxisIsTheLongOne) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
        for (const std::string shape : {"2x288", "3x180", "2x3x150", "1x128"}) {
            for (const std::string output : {"natural", "exchanged"})
                check(cat("r2c ", shape, " method=pencil_lines output=", output, " ranks=", ranks));
        }
    }
    for (const std::string grid : {"2x1x3", "3x1x2", "1x1x6", "1x2x3"}) {
        for (const std::string norm : {"backward", "ortho", "forward"}) {
            for (const std::string options : {"", "in_place", "float", "longdouble own_output"})
                check(cat("r2c 3x2x180 method=pencil_lines ranks=6 grid=", grid, " norm=", norm, " ", options));
        }
    }
    check("r2c 3x4x5x132 ranks=12 grid=2x2x1x3 method=pencil_lines");
    check("r2c 2x256 batch=3 ranks=4 method=pencil_lines");
    check("dct2,r2c 3x256 ranks=5 method=pencil_lines");
    check("r2c 3x256 axes=1 ranks=6 method=pencil_lines grid=3x2");
    check("r2c 2x192 ranks=3 method=pencil_lines real_boxes=0:2x0:10;0:1x10:192;1:2x10:192");
    check("r2c 2x192 ranks=3 method=pencil_lines spectrum_boxes=0:2x0:10;0:1x10:97;1:2x10:97");
    for (const ExchangeStrategy& strategy : exchange_table()) {
        if (!strategy.approximate) check(cat("r2c 3x180 ranks=4 method=pencil_lines exchange=", strategy.name));
    }
}

TEST(PencilLinesPlan, KindsBesideTheLongAxisSomeAxesAndBatches) {
    check("dct2,c2c 3x96 ranks=5 method=pencil_lines");
    check("c2c,dst1 96x3 ranks=4 method=pencil_lines");
    check("c2c 3x96 axes=1 ranks=6 method=pencil_lines grid=3x2");
    check("c2c 3x96 axes=1 ranks=6 method=pencil_lines");
    check("c2c 2x96 batch=3 ranks=4 method=pencil_lines");
    check("r2c 96x2 batch=2 ranks=5 method=pencil_lines output=exchanged");
}

TEST(PencilLinesPlan, EveryPrecisionAndNormInPlaceAndInAnArrayOfItsOwn) {
    for (const std::string precision : {"float", "double", "longdouble"}) {
        for (const std::string norm : {"backward", "ortho", "forward"}) {
            for (const std::string options : {"", "in_place", "own_output", "output=exchanged in_place"})
                check(cat("c2c 3x90 ranks=4 method=pencil_lines ", precision, " norm=", norm, " ", options));
        }
    }
}

TEST(PencilLinesPlan, EveryStrategy) {
    for (const ExchangeStrategy& strategy : exchange_table()) {
        if (strategy.approximate) continue;
        check(cat("c2c 3x90 ranks=4 method=pencil_lines exchange=", strategy.name));
        check(cat("c2c 3x96 ranks=4 method=pencil_lines output=exchanged exchange=", strategy.name));
    }
}

TEST(PencilLinesPlan, TwoSweepsOnANode) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
        for (const std::string shape : {"3x144", "2x3x90", "1x128", "5x64"}) {
            for (const std::string options : {"", "own_output", "in_place", "batch=2"}) {
                const std::string grid = shape == "2x3x90" ? "1x1x" : "1x";
                check(cat("c2c ", shape, " method=shared_pencil_lines grid=", grid, ranks, " ranks=", ranks, " ",
                          options));
            }
        }
    }
    check("c2c 3x96 axes=1 ranks=6 method=shared_pencil_lines grid=3x2 float norm=ortho");
    const auto made = plan("c2c 4x1048576 ranks=8 own_output").value();
    EXPECT_EQ(made->solver, "shared_pencil_lines") << explain(*made, 0, {});
    EXPECT_EQ(made->predict(1).messages, 0);
    EXPECT_EQ(made->predict(1).memory_bytes, 6 * 16 * 4 * 1048576 / 8);
}

TEST(PencilLinesPlan, BoxesOfTheCallers) {
    check("c2c 2x96 ranks=3 method=pencil_lines real_boxes=0:2x0:10;0:1x10:96;1:2x10:96");
    check("c2c 2x96 ranks=3 method=pencil_lines spectrum_boxes=0:2x0:10;0:1x10:96;1:2x10:96");
}

// --- what is done and when -------------------------------------------------------------------------------------------

TEST(PencilLinesPlan, ThreeExchangesKeepAllRanksBusy) {
    const auto made = plan("c2c 4x1048576 ranks=8 grid=1x8 exchange=alltoallv").value();
    EXPECT_EQ(made->solver, "pencil_lines") << explain(*made, 0, {});
    EXPECT_EQ(steps_of(*made, "Exchange"), 3);
    const index_t local_bytes = 16 * 4 * 1048576 / 8;
    for (int rank = 0; rank < 8; ++rank) {
        EXPECT_EQ(made->predict(rank).messages, 3 * 7);
        EXPECT_EQ(made->predict(rank).sent_bytes, 3 * local_bytes / 8 * 7);
    }
    const auto exchanged = plan("c2c 4x1048576 ranks=8 grid=1x8 exchange=alltoallv output=exchanged").value();
    EXPECT_EQ(steps_of(*exchanged, "Exchange"), 2);
    for (const std::string text :
         {"c2c 4x1048576 ranks=8", "c2c 1048576x2 ranks=6", "r2c 1048576x2 ranks=6", "c2c 2x3x1048576 ranks=24"}) {
        const auto chosen = plan(text + " exchange=alltoallv").value();
        EXPECT_EQ(chosen->solver, "pencil_lines") << text;
        EXPECT_TRUE(feeds_all(*chosen)) << text;
    }
}

TEST(PencilLinesPlan, IsForMoreRanksThanTheOtherAxesCanFeed) {
    EXPECT_EQ(plan("c2c 8x1048576 ranks=8 exchange=alltoallv").value()->solver, "pencil");
    EXPECT_EQ(plan("c2c 4x8x4096 ranks=8 exchange=alltoallv").value()->solver, "pencil");
    // The long axis is prime, or halved and odd.
    EXPECT_EQ(plan("c2c 2x3x1000003 ranks=8 exchange=alltoallv").value()->solver, "pencil");
    EXPECT_EQ(plan("r2c 4x1048575 ranks=8 exchange=alltoallv").value()->solver, "pencil");
    for (const auto& [text, said] :
         {std::pair{"r2c 4x1048575 ranks=8 method=pencil_lines", "of r2c of an even length"},
          std::pair{"c2c 2x3x1000003 ranks=8 method=pencil_lines", "of a length with factors"},
          std::pair{"r2c 5x180 ranks=6 grid=2x3 method=pencil_lines", "beside a whole axis"},
          std::pair{"c2c 9x9 ranks=9 grid=3x3 method=pencil_lines", "that grid 3x3 divides"},
          std::pair{"c2c 4096 ranks=2 method=pencil_lines", "arrays of several axes"}}) {
        const Status status = plan(text).status();
        EXPECT_EQ(status.code(), Code::unsupported) << text;
        EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
    }
}

// What forward leaves backward takes, by whatever strategy, and it is the same in place.
TEST(PencilLinesPlan, AllWaysDivideAnArrayAlike) {
    for (const std::string problem : {"c2c 4x65536 ranks=8", "c2c 65536x2 ranks=6", "r2c 65536x2 ranks=6",
                                      "c2c 3x4096 ranks=5", "c2c 2x2x1024 ranks=7"}) {
        for (const std::string order : {" output=natural", " output=exchanged"}) {
            const std::string text = problem + order;
            const auto forward = plan(text).value(), backward = plan(text + " backward").value();
            for (int rank = 0; rank < forward->problem.ranks; ++rank) {
                EXPECT_EQ(forward->input.layout.patch(rank), backward->output.layout.patch(rank)) << text;
                EXPECT_EQ(forward->output.layout.patch(rank), backward->input.layout.patch(rank)) << text;
                const auto in_place = plan(text + " in_place").value();
                EXPECT_EQ(forward->output.layout.patch(rank), in_place->output.layout.patch(rank)) << text;
            }
        }
    }
}

TEST(PencilLinesPlan, ExchangedOrderIsCyclicWhereThePartsDivideAFactorAndANoteSaysSo) {
    const auto cyclic = plan("c2c 3x4096 ranks=4 method=pencil_lines output=exchanged").value();
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(cyclic->output.layout.patch(rank)[1], (AxisRange{rank, 1024, 4})) << explain(*cyclic, 0, {});
    EXPECT_NE(explain(*cyclic, 0, {}).find("frequency k lies on part k mod 4"), std::string::npos);
    const auto natural = plan("c2c 2x81 ranks=4 method=pencil_lines output=exchanged").value();
    EXPECT_NE(explain(*natural, 0, {}).find("natural order"), std::string::npos) << explain(*natural, 0, {});
}

}  // namespace
}  // namespace spanfft::test
