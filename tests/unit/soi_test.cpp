// Solver `soi` on simulated ranks: as many digits as were asked for, against the transform's definition; what it moves;
// and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "steps/segment_window.hpp"
#include "support/oracle.hpp"
#include "support/plans.hpp"

namespace spanfft::test {
namespace {

// Of a run on simulated ranks, whose counts and guards are checked on the way.
double error_of(const std::string& text, const Wides* given = nullptr) {
    SCOPED_TRACE(text);
    const Problem problem = Problem::parse(text).value();
    Random random(1);
    const Wides input = given ? *given : random_input(random, problem);
    const PlanRun run = run_on_threads(problem, input, 2);
    EXPECT_TRUE(run.status.ok()) << run.status.message();
    if (!run.status.ok()) return 1;
    EXPECT_TRUE(run.statuses_agree && run.input_preserved && run.guards_intact) << run.explained;
    EXPECT_TRUE(run.wrong_counts.empty()) << run.wrong_counts.front();
    return relative_error(run.output, expected(problem, input));
}

void expect_digits(const std::string& problem, int digits) {
    for (const std::string direction : {"forward", "backward"}) {
        const std::string text = cat(problem, " ", direction, " threads=1 method=soi:digits=", digits);
        EXPECT_LE(error_of(text), std::pow(10.0, -digits)) << text;
    }
}

TEST(Soi, HasTheDigitsThatAreAskedFor) {
    for (int digits = 1; digits <= 14; ++digits) expect_digits("c2c 4096 ranks=2", digits);
    for (int digits = 1; digits <= 5; ++digits) expect_digits("c2c 4096 float ranks=2", digits);
    for (const int digits : {6, 15, 17}) expect_digits("c2c 4096 longdouble ranks=2", digits);
}

TEST(Soi, OnAnyNumberOfRanksThatDividesTheLengthTwice) {
    for (int ranks = 2; ranks <= 8; ++ranks) expect_digits(cat("c2c ", ranks * ranks * 120, " ranks=", ranks), 10);
}

// The rows of a rank are n over the ranks' square: a multiple of 4, or of 3, or of 2, or of none of them.
TEST(Soi, WithAnyOversampling) {
    for (const auto& [n, words] : {std::pair<index_t, std::string>{4 * 240, "5/4 as many"},
                                   {4 * 243, "4/3 as many"},
                                   {4 * 250, "3/2 as many"},
                                   {4 * 343, "2/1 as many"}}) {
        const auto made = plan(cat("c2c ", n, " ranks=2 method=soi:digits=5"));
        ASSERT_TRUE(made.ok()) << made.status().message();
        const auto& steps = made.value()->steps;
        const auto says = [&, &wanted = words](const auto& step) {
            return step->describe().find(wanted) != std::string::npos;
        };
        EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), says)) << n << ": " << words;
        expect_digits(cat("c2c ", n, " ranks=2"), 5);
    }
}

TEST(Soi, InBatchesInPlaceIntoAnArrayOfItsOwnAndWithAnyNorm) {
    for (const std::string more : {"batch=3", "in_place", "own_output", "norm=ortho", "norm=forward", "exchange=shared",
                                   "exchange=overlap:2", "exchange=alltoallw"})
        expect_digits(cat("c2c 2304 ranks=3 ", more), 11);
    EXPECT_LE(error_of("c2c 131072 ranks=2 threads=3 method=soi:digits=9"), 1e-9);
}

// The bound holds for every input: for those whose spectrum lies where the window passes least, too.
TEST(Soi, HoldsItsBoundAtEveryFrequency) {
    const index_t n = 1024;
    const std::string text = "c2c 1024 ranks=2 threads=1 method=soi:digits=8";
    for (const index_t frequency : {0, 1, 255, 256, 510, 511, 512, 513, 767, 1022, 1023}) {
        Wides tone(static_cast<size_t>(n));
        for (index_t i = 0; i < n; ++i) {
            const long double angle =
                2 * std::numbers::pi_v<long double> * static_cast<long double>(i * frequency % n) / n;
            tone[static_cast<size_t>(i)] = {std::cos(angle), std::sin(angle)};
        }
        EXPECT_LE(error_of(text, &tone), 1e-8) << frequency;
    }
}

TEST(Soi, ExchangesOnceAndAsksItsNeighboursForRows) {
    for (const int ranks : {2, 4}) {
        const auto made = plan(cat("c2c ", ranks * ranks * 4096, " ranks=", ranks, " method=soi exchange=alltoallv"));
        ASSERT_TRUE(made.ok()) << made.status().message();
        const auto& steps = made.value()->steps;
        const auto of_type = [&](const std::string& type) {
            return std::count_if(steps.begin(), steps.end(), [&](const auto& step) { return step->type() == type; });
        };
        EXPECT_EQ(of_type("Exchange"), 1);
        EXPECT_EQ(of_type("Convolve"), 1);
        // All-to-all of 5/4 of the points, less what stays; and the rows of the neighbours.
        const index_t exchanged = 16 * ranks * 4096 * 5 / 4 * (ranks - 1) / ranks * ranks / ranks;
        EXPECT_EQ(made.value()->predict(0).messages, ranks - 1 + (ranks == 2 ? 1 : 2));
        EXPECT_GT(made.value()->predict(0).sent_bytes, exchanged);
        EXPECT_LT(made.value()->predict(0).sent_bytes, exchanged + 2 * 64 * ranks * 16);
    }
}

TEST(Soi, IsNeverChosenUnlessAskedFor) {
    for (const std::string text : {"c2c 1048576 ranks=2", "c2c 16777216 ranks=8"}) {
        const auto made = plan(text);
        ASSERT_TRUE(made.ok()) << made.status().message();
        EXPECT_NE(made.value()->solver, "soi");
        for (const Alternative& each : made.value()->alternatives) EXPECT_NE(each.solver, "soi");
    }
}

TEST(Soi, RefusesWhatItCannotDoAndSaysWhy) {
    for (const auto& [text, words] : {
             std::pair<std::string, std::string>{"c2c 4096 ranks=2 method=soi:digits=16", "1 to 14"},
             {"c2c 4096 float ranks=2 method=soi:digits=9", "float numbers allow"},
             {"c2c 4096 ranks=2 method=soi:digits=0", "digits=0"},
             {"c2c 4096 ranks=2 method=soi:digits=-3", "'digits=-3' is not understood"},
             {"c2c 4096 ranks=2 method=soi:precision=3", "use method=soi:digits=D"},
             {"c2c 4098 ranks=2 method=soi", "lengths that 4 divides, not 4098"},
             {"c2c 64 ranks=2 method=soi:digits=12", "points or more, not 64"},
             {"r2c 4096 ranks=2 method=soi", "one c2c axis"},
             {"c2c 64x64 ranks=2 method=soi", "one c2c axis"},
             {"c2c 4096 method=soi", "several ranks"},
             {"c2c 4096 ranks=2 output=exchanged method=soi", "natural order"},
         }) {
        const Status status = plan(text).status();
        EXPECT_FALSE(status.ok()) << text;
        EXPECT_NE(status.message().find(words), std::string::npos) << text << ": " << status.message();
    }
}

}  // namespace
}  // namespace spanfft::test
