// Two sweeps of one long axis in memory that all ranks see (solvers/lines.cpp, steps/shared_transform_step.cpp), on
// simulated ranks against the transform's definition: pieces of owners that end in the middle of registers and cache
// lines, tiles of few lines, stores past the cache. Machines with small caches make short lines behave like long ones.
#include <gtest/gtest.h>

#include "exec/explain.hpp"
#include "support/oracle_on_machine.hpp"
#include "support/plans.hpp"

namespace spanfft::test {
namespace {

Machine machine_with_caches(index_t l2_bytes, index_t l3_bytes) {
    Machine machine = this_machine();
    machine.caches = {1024, l2_bytes, l3_bytes, 1};
    return machine;
}

// Tiles of a few lines, streamed; of all lines of a rank, kept in the cache.
const std::vector<Machine> kMachines = {machine_with_caches(2048, 2048), machine_with_caches(1 << 20, 1 << 26)};

void check(const std::string& text) {
    for (const Machine& machine : kMachines) {
        for (const std::string direction : {"forward", "backward"})
            check_plan_on(machine, cat(text, " ", direction, " method=shared_lines"));
    }
}

// 33 x 35: 11 or 7 columns a rank. 1024: whole cache lines for each of two ranks. 37 x 41: prime numbers of rows.
const std::vector<index_t> kLengths = {33 * 35, 1024, 37 * 41, 600};

TEST(SharedLines, PiecesEndAnywhere) {
    for (const int ranks : {2, 3, 5, 7}) {
        for (const index_t n : kLengths) {
            for (const std::string precision : {"float", "double"})
                check(cat("c2c ", n, " ", precision, " threads=1 ranks=", ranks));
        }
    }
    for (const int ranks : {3, 5}) check(cat("c2c 1155 longdouble threads=1 ranks=", ranks));
}

// The ranks' own parts are read and written where the caller has them, and what others need of them is copied.
TEST(SharedLines, ArraysOfTheCallerOfThePlanAndInPlaceInBatches) {
    for (const int ranks : {2, 3, 5}) {
        for (const std::string arrays : {"", "own_output", "own_input", "own_input own_output", "in_place"}) {
            for (const std::string precision : {"float", "double"}) {
                for (const std::string batch : {"", "batch=3 "}) {
                    for (const index_t n : {15 * 21, 18 * 20})
                        check(cat("c2c ", n, " ", arrays, " ", batch, precision, " threads=1 ranks=", ranks));
                }
            }
        }
    }
}

// Columns go in pairs, 0 and the middle one alone, and X[m] lies behind all: of odd and even numbers of columns, fewer
// pairs than ranks, arrays of the caller's, of the plan's and of a batch, whose numbers move by one.
TEST(SharedLines, RealLinesInPairsOfColumns) {
    for (const int ranks : {2, 3, 5, 8}) {
        for (const std::string arrays : {"", "own_output", "own_input", "own_input own_output"}) {
            for (const std::string precision : {"float", "double"}) {
                for (const std::string batch : {"", "batch=3 "}) {
                    for (const index_t n : {2 * 15 * 21, 2 * 18 * 20, 2 * 67 * 2})
                        check(cat("r2c ", n, " ", arrays, " ", batch, precision, " threads=1 ranks=", ranks));
                }
            }
        }
        check(cat("r2c 2048 threads=1 in_place ranks=", ranks));
        check(cat("r2c 2310 longdouble threads=1 ranks=", ranks));
    }
}

TEST(SharedLines, EveryNormByThreads) {
    for (const std::string norm : {"backward", "ortho", "forward"}) {
        for (const int ranks : {2, 3}) {
            check(cat("c2c 600 norm=", norm, " threads=3 ranks=", ranks));
            check(cat("r2c 1155 norm=", norm, " threads=2 float ranks=", ranks));
            check(cat("r2c 1200 norm=", norm, " threads=2 own_output ranks=", ranks));
        }
    }
}

// Fewer columns than ranks, and ranks without rows: they copy nothing, take nothing, and wait for the others.
TEST(SharedLines, MoreRanksThanColumns) {
    for (const int ranks : {9, 13}) {
        check(cat("c2c 64 threads=1 ranks=", ranks));
        check(cat("c2c 65 threads=1 in_place ranks=", ranks));
    }
}

TEST(SharedLines, AConvolutionTakesTheSameTiles) {
    for (const int ranks : {2, 3}) {
        for (const Machine& machine : kMachines) {
            for (const std::string precision : {"float", "double"}) {
                for (const std::string direction : {"forward", "backward"})
                    check_plan_on(machine, cat("c2c 509 ", precision, " ", direction,
                                               " threads=1 method=shared_chirp_lines ranks=", ranks));
            }
        }
    }
}

// Of n points on p ranks: 1 - 1/p of a rank's part is copied for the others, and as much for it, or in it, by them.
TEST(SharedLines, OnlyWhatOthersTakeAndPutIsCopied) {
    for (const int ranks : {2, 4, 8}) {
        const index_t part = 16 * 65536 / ranks;
        for (const auto& [arrays, copies] : {std::pair{"", 2}, std::pair{"own_output", 1}, std::pair{"own_input", 1},
                                             std::pair{"own_input own_output", 0}, std::pair{"in_place", 2}}) {
            for (const std::string direction : {"forward", "backward"}) {
                const auto made =
                    plan(cat("c2c 65536 method=shared_lines ", arrays, " ranks=", ranks, " ", direction)).value();
                EXPECT_EQ(made->predict(0).memory_bytes, 2 * (2 * part + copies * (part - part / ranks)))
                    << explain(*made, 0, {});
                EXPECT_EQ(made->steps.size(), 2U);
            }
        }
    }
}

// Whatever n and the number of ranks, blocks that begin in the middle of a row are taken and put where they are; and
// real lines take as many sweeps as complex ones, in which nothing is read or written but the array, and X[m].
TEST(SharedLines, TwoSweepsWhereverBlocksBegin) {
    for (const int ranks : {2, 3, 4, 5, 7}) {
        for (const index_t n : {33 * 35, 37 * 41, 600, 65536}) {
            for (const index_t reals : {0, 1}) {
                if (reals && n % ranks) continue;  // a block of real numbers may begin in the middle of a pair
                for (const std::string direction : {"forward", "backward"}) {
                    const auto own =
                        plan(cat(reals ? "r2c " : "c2c ", n * (1 + reals),
                                 " method=shared_lines own_input own_output ranks=", ranks, " ", direction))
                            .value();
                    EXPECT_EQ(own->steps.size(), 2U) << explain(*own, 0, {});
                    index_t bytes = 0, messages = 0;
                    for (int rank = 0; rank < ranks; ++rank) {
                        bytes += own->predict(rank).memory_bytes;
                        messages += own->predict(rank).messages;
                    }
                    EXPECT_EQ(bytes, 4 * 16 * n + 16 * reals) << "two reads and two writes of all, and X[m]";
                    EXPECT_EQ(messages, 0);
                }
            }
        }
    }
}

// 2^16 = 256 x 256 where a line of 4096 points is more than the cache holds; and what is divided evenly is not moved.
TEST(SharedLines, FactorsFitTheCacheAndTheRanks) {
    const auto small = plan("c2c 65536 method=shared_lines ranks=2", machine_with_caches(1 << 15, 1 << 20)).value();
    EXPECT_NE(explain(*small, 0, {}).find("[256, 256"), std::string::npos) << explain(*small, 0, {});
    for (const int ranks : {2, 3, 5, 6, 7}) {
        const auto even = plan(cat("c2c ", 64 * ranks * ranks, " method=shared_lines ranks=", ranks)).value();
        EXPECT_EQ(even->steps.size(), 2U) << explain(*even, 0, {});
    }
}

}  // namespace
}  // namespace spanfft::test
