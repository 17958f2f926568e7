// Solver `ffte` on simulated ranks, against the transform's definition; what it sends, what it does to each row, and
// what it refuses.
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/exchange.hpp"
#include "exec/explain.hpp"
#include "support/oracle.hpp"
#include "support/plans.hpp"

namespace spanfft::test {
namespace {

void check(const std::string& text) {
    for (const std::string direction : {"forward", "backward"})
        check_plan(cat(text, " ", direction, " threads=1 method=ffte"));
}

TEST(Ffte, LengthsThatTheRanksDivideTwiceInBothOrders) {
    for (int ranks = 2; ranks <= 7; ++ranks) {
        for (const index_t factor : {2, 6, 7, 16, 90, 121}) {
            for (const std::string output : {"natural", "exchanged"})
                check(cat("c2c ", ranks * ranks * factor, " output=", output, " exchange=alltoallv ranks=", ranks));
        }
    }
}

TEST(Ffte, EveryPrecisionNormAndPlace) {
    for (const std::string precision : {"float", "double", "longdouble"}) {
        for (const std::string norm : {"backward", "ortho", "forward"}) {
            const std::string rest = cat(precision, " norm=", norm, " exchange=alltoallw ranks=3");
            check("c2c 540 " + rest);
            check("c2c 540 in_place " + rest);
            check("c2c 540 own_output batch=2 output=exchanged " + rest);
        }
    }
    check("c2c 576 ranks=2 real_boxes=0:10;10:576");
}

TEST(Ffte, EveryStrategy) {
    for (const ExchangeStrategy& strategy : exchange_table()) {
        if (!strategy.approximate) check(cat("c2c 1024 ranks=4 exchange=", strategy.name));
    }
    check("c2c 1024 ranks=4 exchange=alltoallv+overlap:4+phased");
}

// It sends what `lines` sends; only what a rank does by itself is another.
TEST(Ffte, SendsWhatLinesSends) {
    for (const int ranks : {2, 3, 4, 7}) {
        for (const std::string output : {"natural", "exchanged"}) {
            const std::string text =
                cat("c2c ", ranks * ranks * 64, " exchange=alltoallv ranks=", ranks, " output=", output);
            const Counts own = plan(text + " method=ffte").value()->predict(1);
            const Counts lines = plan(text + " method=lines").value()->predict(1);
            const int exchanges = output == "natural" ? 3 : 2;
            EXPECT_EQ(own.messages, exchanges * (ranks - 1));
            EXPECT_EQ(own.messages, lines.messages);
            EXPECT_EQ(own.sent_bytes, lines.sent_bytes);
            EXPECT_GT(own.memory_bytes, lines.memory_bytes);
        }
    }
}

// Three transforms, of about a third root of the length each, and four local transpositions.
TEST(Ffte, TakesEachRowThroughTheSixStepsAgain) {
    const auto made = plan("c2c 4096 exchange=alltoallv ranks=4 method=ffte").value();
    EXPECT_EQ(made->solver, "ffte");
    EXPECT_EQ(steps_of(*made, "Exchange"), 3);
    EXPECT_EQ(steps_of(*made, "Columns"), 1);
    EXPECT_EQ(steps_of(*made, "Transform"), 2);
    EXPECT_EQ(steps_of(*made, "Twiddle"), 1);
    EXPECT_EQ(steps_of(*made, "Transpose"), 4);
    const std::string said = explain(*made, 0, {});
    EXPECT_NE(said.find("the line is 16*16*16 points"), std::string::npos) << said;
}

TEST(Ffte, IsTakenOnlyWhereItIsAskedFor) {
    const auto chosen = plan("c2c 4096 ranks=4").value();
    for (const Alternative& each : chosen->alternatives) EXPECT_NE(each.solver, "ffte");
}

TEST(Ffte, DeclinesWithASentence) {
    for (const auto& [problem, why] : {
             std::pair{"c2c 4098 ranks=4",
                       "ffte on 4 ranks takes lengths n1*n2*n3 of which 4 divides n1 and n2*n3, not "
                       "4098"},
             std::pair{"c2c 9 ranks=3", "not 9"},  // 3 x 3: no third factor
             std::pair{"c2c 104729 ranks=2", "not 104729"},
             std::pair{"c2c 4096", "ffte is for several ranks"},
             std::pair{"r2c 4096 ranks=4", "leave method= out for r2c"},
             std::pair{"c2c 64x64 ranks=4", "ffte is for arrays of one axis"},
         }) {
        const Status status = plan(cat(problem, " method=ffte")).status();
        EXPECT_EQ(status.code(), Code::unsupported) << problem;
        EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
    }
    const Status options = plan("c2c 4096 ranks=4 method=ffte:3").status();
    EXPECT_EQ(options.code(), Code::invalid_argument);
    EXPECT_NE(options.message().find("write method=ffte"), std::string::npos) << options.message();
}

}  // namespace
}  // namespace spanfft::test
