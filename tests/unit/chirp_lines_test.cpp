// Solvers `chirp_line`, in one process, and `chirp_lines` and `shared_chirp_lines` on simulated ranks, against the
// transforms' definitions: one axis of a length with a large prime factor, as a convolution. check_plan compares each
// element at the place that the layout gives it, to the accuracy rule, the counts with the predictions, and holds that
// the input is kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/explain.hpp"
#include "lower/route.hpp"
#include "support/oracle.hpp"
#include "support/plans.hpp"

namespace spanfft::test {
namespace {

// Both directions, by messages and in memory that all ranks see.
void check(const std::string& text) {
    for (const std::string method : {"chirp_lines exchange=alltoallv", "shared_chirp_lines"}) {
        for (const std::string direction : {"forward", "backward"})
            check_plan(cat(text, " ", direction, " threads=1 method=", method));
    }
}

// Primes, twice and thrice a prime, products of two.
const std::vector<index_t> kLengths = {17, 19, 34, 51, 67, 97, 101, 17 * 19, 2 * 127, 509};

TEST(ChirpLinesPlan, EveryLengthOverEveryNumberOfRanks) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
        for (const index_t n : kLengths) {
            check(cat("c2c ", n, " ranks=", ranks));
            check(cat("r2c ", n, " ranks=", ranks));
        }
    }
}

TEST(ChirpLinesPlan, EveryPrecisionAndNorm) {
    for (const std::string kind : {"c2c", "r2c"}) {
        for (const std::string precision : {"float", "double", "longdouble"}) {
            for (const std::string norm : {"backward", "ortho", "forward"})
                check(cat(kind, " 211 ", precision, " ranks=3 norm=", norm));
        }
    }
}

// The logical lengths have the factors 17, 101 and 53.
TEST(ChirpLinesPlan, EveryKindOfRealLine) {
    for (const std::string kind : {"dct2", "dct3", "dct4", "dst2", "dst3", "dst4"}) {
        for (const std::string precision : {"float", "double", "longdouble"})
            check(cat(kind, " 101 ", precision, " ranks=3"));
    }
    check("dct1 54 ranks=2");
    check("dst1 52 ranks=4");
    check("dst1 16 ranks=4");
}

TEST(ChirpLinesPlan, InPlaceInAnArrayOfItsOwnInBatchesAndInBoxesOfTheCallers) {
    for (const int ranks : {2, 5}) {
        for (const index_t n : {97, 202}) {
            check(cat("c2c ", n, " in_place ranks=", ranks));
            check(cat("c2c ", n, " own_output ranks=", ranks));
            check(cat("c2c ", n, " batch=3 ranks=", ranks));
            check(cat("r2c ", n, " batch=3 own_output ranks=", ranks));
        }
    }
    check("c2c 101 ranks=2 real_boxes=0:10;10:101");
    check("r2c 101 ranks=2 spectrum_boxes=0:50;50:51");
}

void check_alone(const std::string& text) {
    for (const std::string direction : {"forward", "backward"})
        check_plan(cat(text, " ", direction, " method=chirp_line"));
}

TEST(ChirpLinePlan, EveryKindOfLineInOneProcess) {
    for (const index_t n : kLengths) {
        check_alone(cat("c2c ", n));
        check_alone(cat("r2c ", n));
    }
    for (const std::string precision : {"float", "double", "longdouble"}) {
        for (const std::string kind : {"dct2", "dct3", "dct4", "dst2", "dst3", "dst4"})
            check_alone(cat(kind, " 101 ", precision));
        for (const std::string norm : {"backward", "ortho", "forward"}) {
            check_alone(cat("c2c 211 ", precision, " norm=", norm));
            check_alone(cat("r2c 211 ", precision, " norm=", norm));
        }
    }
    check_alone("dct1 54");
    check_alone("dst1 52");
}

TEST(ChirpLinePlan, InPlaceInAnArrayOfItsOwnAndInBatches) {
    for (const index_t n : {97, 202}) {
        for (const std::string where : {"in_place", "own_output", "own_input", "batch=3", "batch=3 in_place"})
            check_alone(cat("c2c ", n, " ", where));
        check_alone(cat("r2c ", n, " batch=3 own_output"));
    }
}

// Threads share the points of a line out (of 40009, 1.2 MiB where it is padded), the last chunk among them.
TEST(ChirpLinePlan, ThreadsShareItsPointsOut) { check_alone("c2c 40009 threads=3"); }

// What engines do with such a line has one thread; here the two of its good length have all.
TEST(ChirpLinePlan, IsTakenForALongPrimeAndForNoShortOne) {
    EXPECT_EQ(plan("c2c 1000003 threads=2").value()->solver, "chirp_line");
    EXPECT_EQ(plan("c2c 10007 threads=2").value()->solver, "local");
    EXPECT_EQ(plan("c2c 4194304 threads=2").value()->solver, "local");
}

// Of n points twice and of m points twice; the others move what blocks and rows differ by, at most two rows a rank.
TEST(ChirpLinesPlan, FourExchangesOfAllData) {
    const index_t n = 10007;  // 20013 points at least
    for (const int ranks : {2, 4}) {
        const auto made = plan(cat("c2c ", n, " method=chirp_lines exchange=alltoallv ranks=", ranks)).value();
        int wide = 0;
        for (const auto& step : made->steps) {
            if (std::string(step->type()) != "Exchange") continue;
            index_t sent = 0;
            for (int rank = 0; rank < ranks; ++rank) sent += step->predict(rank).sent_bytes;
            wide += sent > 16 * n / 4;
            if (sent <= 16 * n / 4) {
                EXPECT_LE(sent, 16 * 2 * 160 * ranks);
            }
        }
        EXPECT_EQ(wide, 4) << explain(*made, 0, {});
        EXPECT_EQ(steps_of(*made, "Filter"), 1);
    }
}

// The second half of the way there, the product and the first half of the way back are one.
TEST(ChirpLinesPlan, ThreeSweepsAndNoMessageOnANode) {
    const auto made = plan("c2c 10007 method=shared_chirp_lines ranks=4").value();
    EXPECT_EQ(steps_of(*made, "SharedTransform"), 3);
    EXPECT_EQ(steps_of(*made, "Filter"), 0);
    for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(made->predict(rank).messages, 0);
}

// m = 20160 = 144 * 140 at 20013 points is one such length; whichever it is, the filter has a number for each point.
TEST(ChirpLinesPlan, TheFilterCountsInThePeakOfMemory) {
    const auto made = plan("c2c 10007 method=chirp_lines exchange=alltoallv ranks=2").value();
    const auto filter = std::find_if(made->steps.begin(), made->steps.end(),
                                     [](const auto& step) { return std::string(step->type()) == "Filter"; });
    ASSERT_NE(filter, made->steps.end());
    const index_t own = (*filter)->own_memory_bytes(0);
    EXPECT_GE(own, 16 * 20013 / 2);
    index_t slots = 0;
    for (const index_t bytes : made->slot_bytes[0]) slots += bytes;
    EXPECT_GE(made->peak_memory_bytes(0), slots + own);
}

TEST(ChirpLinesPlan, TheyLeaveWhatOtherSolversLeave) {
    for (const std::string text : {"c2c 10007 ranks=3", "r2c 10007 ranks=3", "c2c 10007 ranks=3 output=exchanged"}) {
        const auto reference = plan(text + " method=lines").value();
        for (const std::string method : {"chirp_lines", "shared_chirp_lines"}) {
            const auto made = plan(text + " method=" + method).value();
            EXPECT_EQ(made->input.layout, reference->input.layout);
            EXPECT_EQ(made->output.layout, reference->output.layout);
        }
    }
}

TEST(ChirpLinesPlan, RefusalsSayWhy) {
    for (const auto& [text, why] :
         {std::pair{"c2c 1024 ranks=2", "has none above 13"}, std::pair{"c2c 101 ranks=1", "for several ranks"},
          std::pair{"c2c 202 ranks=2 output=exchanged", "natural order only"},
          std::pair{"dct2 101 ranks=2 norm=ortho", "norm=ortho"}, std::pair{"c2c 101x2 ranks=2", "one axis"}}) {
        const Status status = plan(cat(text, " method=chirp_lines")).status();
        EXPECT_FALSE(status.ok()) << text;
        if (std::string(text).find("ranks=1") != std::string::npos) continue;  // refused by the table
        EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
    }
    EXPECT_FALSE(plan("c2c 101 ranks=2 method=shared_chirp_lines exchange=alltoallv").ok());
    for (const auto& [text, why] :
         {std::pair{"c2c 1024", "has none above 13"}, std::pair{"dct2 101 norm=ortho", "norm=ortho"},
          std::pair{"c2c 101x2", "one axis"}}) {
        const Status status = plan(cat(text, " method=chirp_line")).status();
        EXPECT_NE(status.message().find(why), std::string::npos) << text << ": " << status.message();
    }
}

// A long prime is shared out, whichever way ranks exchange.
TEST(ChirpLinesPlan, ALongPrimeIsSharedOut) {
    for (const int ranks : {2, 4}) {
        const auto made = plan(cat("c2c 4194301 exchange=alltoallv ranks=", ranks)).value();
        EXPECT_EQ(made->solver, "chirp_lines") << explain(*made, 0, {});
        EXPECT_NE(explain(*made, 0, {}).find("the line is a convolution of"), std::string::npos);
        const std::string shared = plan(cat("c2c 4194301 exchange=shared ranks=", ranks)).value()->solver;
        EXPECT_NE(shared.find("chirp_lines"), std::string::npos) << shared;  // by windows or through one: as costs say
    }
}

}  // namespace
}  // namespace spanfft::test
