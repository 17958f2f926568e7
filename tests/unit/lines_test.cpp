// Solver `lines` on simulated ranks, against the transforms' definitions: one axis in balanced blocks, natural order.
// check_plan compares each element at the place that the layout gives it, the counts with the predictions, and holds
// that the input is kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/exchange.hpp"
#include "exec/explain.hpp"
#include "plan/machine_file.hpp"
#include "support/oracle.hpp"
#include "support/plans.hpp"

namespace spanfft::test {
namespace {

// Both directions.
void check(const std::string& text) {
    for (const std::string direction : {"forward", "backward"}) check_plan(cat(text, " ", direction, " threads=1"));
}

// Few points, primes, products of two primes, powers; divisible by the ranks twice, once or not at all.
const std::vector<index_t> kLengths = {1, 2, 3, 7, 63, 64, 65, 96, 101, 121, 143, 240, 2 * 61, 360, 729, 1024};

// --- results ---------------------------------------------------------------------------------------------------------

TEST(LinesPlan, EveryLengthOverEveryNumberOfRanks) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
        for (const index_t n : kLengths) {
            check(cat("c2c ", n, " exchange=alltoallv ranks=", ranks));
            check(cat("r2c ", n, " exchange=alltoallv ranks=", ranks));
            check(cat("c2c ", n, " exchange=shared ranks=", ranks));
            check(cat("r2c ", n, " exchange=shared ranks=", ranks));
        }
    }
}

// Each element is looked for at the frequency that the part (start, count, step) tells.
TEST(LinesPlan, EveryLengthInExchangedOrder) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
        for (const index_t n : kLengths) {
            for (const std::string exchange : {"alltoallv", "shared"}) {
                check(cat("c2c ", n, " output=exchanged exchange=", exchange, " ranks=", ranks));
                check(cat("r2c ", n, " output=exchanged exchange=", exchange, " ranks=", ranks));
            }
        }
    }
}

TEST(LinesPlan, ExchangedOrderInEveryPrecisionInPlaceAndInBatches) {
    for (const std::string precision : {"float", "double", "longdouble"}) {
        for (const std::string norm : {"backward", "ortho", "forward"}) {
            for (const std::string exchange : {"alltoallw", "shared"}) {
                const std::string rest = cat(" output=exchanged norm=", norm, " exchange=", exchange, " ranks=3");
                check(cat("c2c 180 in_place ", precision, rest));
                check(cat("c2c 180 own_output batch=2 ", precision, rest));
                check(cat("r2c 180 batch=2 ", precision, rest));
            }
        }
    }
}

TEST(LinesPlan, ExchangedOrderByEveryStrategy) {
    for (const ExchangeStrategy& strategy : exchange_table()) {
        if (!strategy.approximate) check(cat("c2c 144 output=exchanged ranks=4 exchange=", strategy.name));
    }
}

TEST(LinesPlan, EveryKindPrecisionAndNorm) {
    for (const std::string kind : {"c2c", "r2c", "dct1", "dct2", "dct4", "dst1", "dst3"}) {
        for (const std::string precision : {"float", "double", "longdouble"}) {
            for (const std::string norm : {"backward", "ortho", "forward"}) {
                for (const std::string exchange : {"alltoallw", "shared"})
                    check(cat(kind, " 180 ", precision, " ranks=3 norm=", norm, " exchange=", exchange));
            }
        }
    }
}

TEST(LinesPlan, InPlaceInAnArrayOfItsOwnAndInBatches) {
    for (const int ranks : {2, 3, 5}) {
        for (const index_t n : {64, 100, 97, 144 * ranks * ranks}) {
            for (const std::string exchange : {" exchange=alltoallv", " exchange=shared"}) {
                check(cat("c2c ", n, " in_place ranks=", ranks, exchange));
                check(cat("c2c ", n, " own_output ranks=", ranks, exchange));
                check(cat("c2c ", n, " batch=3 ranks=", ranks, exchange));
                check(cat("r2c ", n, " batch=3 own_output ranks=", ranks, exchange));
            }
        }
    }
}

TEST(LinesPlan, ThreadsChangeNothingButTime) {
    for (const std::string direction : {"forward", "backward"})
        check_plan(cat("c2c 65536 threads=3 ranks=2 exchange=alltoallv ", direction));
    for (const std::string direction : {"forward", "backward"})
        check_plan(cat("c2c 65536 threads=3 ranks=2 exchange=shared ", direction));
}

TEST(LinesPlan, BoxesOfTheCallers) {
    check("c2c 100 ranks=2 real_boxes=0:10;10:100");
    check("r2c 100 ranks=2 spectrum_boxes=0:50;50:51");
}

// --- strategies ------------------------------------------------------------------------------------------------------

TEST(LinesPlan, EveryStrategy) {
    for (const ExchangeStrategy& strategy : exchange_table()) {
        if (strategy.approximate) continue;
        for (const index_t n : {144, 150}) check(cat("c2c ", n, " ranks=4 exchange=", strategy.name));
    }
}

TEST(LinesPlan, EachExchangeMayHaveAStrategyOfItsOwn) {
    check("c2c 256 ranks=4 exchange=alltoallv+oneplane+shared");
    check("c2c 16x12x8 ranks=4 grid=2x2 exchange=alltoallv+shared+alltoallw");
    const auto made = plan("c2c 256 ranks=4 exchange=alltoallv+oneplane:2+alltoallw").value();
    std::vector<std::string> names;
    for (const auto& step : made->steps) {
        for (const ExchangeStrategy& strategy : exchange_table()) {
            if (step->describe().rfind(strategy.name, 0) == 0) names.push_back(strategy.name);
        }
    }
    EXPECT_EQ(names, (std::vector<std::string>{"alltoallv", "oneplane", "alltoallw"}));
    EXPECT_EQ(made->problem.exchange, "alltoallv+oneplane:2+alltoallw");
    const Status two = plan("c2c 256 ranks=4 exchange=alltoallv+alltoallw").status();
    EXPECT_EQ(two.code(), Code::invalid_argument);
    EXPECT_NE(two.message().find("names 2 strategies, but lines makes 3 exchanges"), std::string::npos)
        << two.message();
    const Status unknown = plan("c2c 256 ranks=4 exchange=alltoallv+pigeon+alltoallv").status();
    EXPECT_NE(unknown.message().find("exchange 'pigeon' is not known"), std::string::npos) << unknown.message();
}

TEST(LinesPlan, BackwardUndoesEachExchangeByItsOwnStrategy) {
    const auto made = plan("c2c 256 backward ranks=4 exchange=alltoallv+oneplane:2+alltoallw").value();
    std::string first;
    for (const auto& step : made->steps) {
        if (first.empty() && std::string(step->type()) == "Exchange") first = step->describe();
    }
    EXPECT_EQ(first.rfind("alltoallw", 0), 0U) << first;
}

// Columns are transformed, twiddled and sent chunk by chunk, and so is what is transformed before the last exchange,
// both ways; the first exchange has nothing before it that it could wait for. Of 29 x 31 some rank has more columns
// than its block of the result, so there is no third array for columns that are sent chunk by chunk.
TEST(LinesPlan, ExchangesGoChunkByChunkWithWhatIsComputedBeforeThem) {
    for (const std::string exchange : {"overlap:2", "oneplane:3", "standard", "replace", "blockvector:3"}) {
        for (const index_t n : {144 * 9, 29 * 31}) {
            for (const std::string more : {"", " in_place", " own_output", " batch=2", " output=exchanged", " float"}) {
                const std::string text = cat("c2c ", n, " ranks=3 exchange=", exchange, more);
                check(text);
                const bool cyclic = more == " output=exchanged" && n % 3 == 0;
                for (const std::string direction : {" forward", " backward"}) {
                    const auto made = plan(text + direction).value();
                    const bool once = (cyclic && direction == " forward") || n == 29 * 31;
                    const int expected = once ? 1 : 2;
                    EXPECT_EQ(steps_of(*made, "TransformExchange"), expected) << explain(*made, 0, {});
                    EXPECT_EQ(steps_of(*made, "Twiddle"), 0);
                }
            }
        }
    }
}

TEST(LinesPlan, ChunksTakeAThirdArrayAndWholeExchangesDoNot) {
    const auto slots = [](const std::string& exchange) {
        return plan("c2c 65536 ranks=4 exchange=" + exchange).value()->slot_bytes[0];
    };
    const index_t bytes = 16 * 65536 / 4;
    for (const std::string exchange : {"alltoallv", "alltoallw", "phased"})
        EXPECT_EQ(slots(exchange)[static_cast<size_t>(Slot::work1)], 0) << exchange;
    EXPECT_EQ(slots("overlap:16")[static_cast<size_t>(Slot::work1)], bytes);
}

// --- machines that are not there -------------------------------------------------------------------------------------

std::string exchange_on(const std::string& machine_text, const std::string& problem) {
    const auto machine = parse_machine("spanfft-machine 1\n" + machine_text, Machine());
    EXPECT_TRUE(machine.ok()) << machine.status().message();
    return Planner(machine.value()).plan(Problem::parse(problem).value()).value()->problem.exchange;
}

// A torus as P2 found it: one collective has 63 % of what the links carry, phases 85 %, but they wait at barriers.
TEST(LinesPlan, OnATorusLongMessagesGoInPhasesAndShortOnesDoNot) {
    const std::string torus =
        "ranks_per_node 1\ntorus 4x4x4\n"
        "exchange alltoallv far latency_seconds 5e-6\nexchange alltoallv far seconds_per_byte 7.6e-9\n"
        "exchange alltoallw far latency_seconds 5e-6\nexchange alltoallw far seconds_per_byte 7.6e-9\n"
        "exchange persistent far seconds_per_byte 7.6e-9\n"
        "exchange hierarchical far seconds_per_byte 7.6e-9\n"
        "exchange phased far latency_seconds 2e-5\nexchange phased far seconds_per_byte 5.6e-9\n";
    EXPECT_EQ(exchange_on(torus, "c2c 67108864 ranks=64 method=lines"), "phased:4x4x4");
    EXPECT_EQ(exchange_on(torus, "c2c 65536 ranks=64 method=lines").find("phased"), std::string::npos);
    // Half of the torus' ranks fill none of it.
    EXPECT_EQ(exchange_on(torus, "c2c 67108864 ranks=32 method=lines"), "phased");
}

TEST(LinesPlan, ManyRanksANodeSendShortMessagesThroughOneOfThem) {
    const std::string nodes = "ranks_per_node 16\ncores 16\n";
    EXPECT_EQ(exchange_on(nodes, "c2c 1048576 ranks=128 method=lines"), "hierarchical");  // of 1 KiB
    EXPECT_EQ(exchange_on(nodes, "c2c 4294967296 ranks=128 method=lines").find("hierarchical"), std::string::npos);
}

// The two strategies that are best for whole plans are not the best for the few points that are moved before and after.
TEST(LinesPlan, EachExchangeGetsTheStrategyThatIsBestForItAlone) {
    const std::string figures =
        "ranks_per_node 1\n"
        "exchange alltoallv far latency_seconds 1e-4\nexchange alltoallv far seconds_per_byte 1e-9\n"
        "exchange phased far latency_seconds 1e-4\nexchange phased far seconds_per_byte 1.1e-9\n"
        "exchange persistent far latency_seconds 1e-4\nexchange persistent far seconds_per_byte 1.1e-9\n"
        "exchange hierarchical far latency_seconds 1e-4\nexchange hierarchical far seconds_per_byte 1.1e-9\n"
        "exchange alltoallw far latency_seconds 1e-6\nexchange alltoallw far seconds_per_byte 3e-9\n";
    EXPECT_EQ(exchange_on(figures, "c2c 1022117 ranks=4 method=lines"),  // 1009 x 1013
              "alltoallw+alltoallv+alltoallv+alltoallv+alltoallw");
}

// P2's overlap is found where computing and exchanges go on at once.
TEST(LinesPlan, OverlapsWhereTheMachineDoes) {
    const std::string figures =
        "ranks_per_node 1\n"
        "exchange alltoallv far seconds_per_byte 1e-9\nexchange blockvector far seconds_per_byte 1e-9\n";
    const std::string problem = "c2c 67108864 ranks=8 method=lines";
    EXPECT_EQ(exchange_on(figures, problem).find("blockvector"), std::string::npos);
    EXPECT_NE(exchange_on(figures + "overlap_share 1\n", problem).find("blockvector:8"), std::string::npos);
}

// --- what is done ----------------------------------------------------------------------------------------------------

TEST(LinesPlan, ThreeExchangesWhereTheRanksDivideBothFactors) {
    for (const int ranks : {2, 3, 4, 7}) {
        const auto made = plan(cat("c2c ", ranks * ranks * 64, " exchange=alltoallv ranks=", ranks)).value();
        EXPECT_EQ(made->solver, "lines");
        EXPECT_EQ(steps_of(*made, "Exchange"), 3) << ranks;
        EXPECT_EQ(made->predict(0).messages, 3 * (ranks - 1)) << ranks;
    }
}

TEST(LinesPlan, TwoExchangesInExchangedOrderAndCyclicParts) {
    for (const int ranks : {2, 3, 4, 7}) {
        for (const std::string direction : {"forward", "backward"}) {
            const index_t n = ranks * ranks * 64;
            const auto made =
                plan(cat("c2c ", n, " output=exchanged exchange=alltoallv ranks=", ranks, " ", direction)).value();
            EXPECT_EQ(made->solver, "lines");
            EXPECT_EQ(steps_of(*made, "Exchange"), 2) << ranks;
            EXPECT_EQ(made->predict(0).messages, 2 * (ranks - 1)) << ranks;
            EXPECT_EQ(made->predict(0).sent_bytes, 2 * 16 * (n / ranks / ranks) * (ranks - 1)) << ranks;
            const ArrayState& spectrum = direction == "forward" ? made->output : made->input;
            for (int rank = 0; rank < ranks; ++rank)
                EXPECT_EQ(spectrum.layout.patch(rank)[0], (AxisRange{rank, n / ranks, ranks}));
        }
    }
}

// Of pairs: three exchanges of half the bytes, and the mirrored half once; the last exchange moves at most a point from
// one block to the next.
TEST(LinesPlan, RealLinesOfEvenLengthMoveHalfTheBytesAndAMirroredHalf) {
    for (const int ranks : {2, 3, 4}) {
        const index_t n = 2 * ranks * ranks * 64;
        for (const std::string direction : {"forward", "backward"}) {
            const std::string rest = cat(n, " exchange=alltoallv ranks=", ranks, " ", direction);
            const auto real = plan("r2c " + rest).value(), complex = plan("c2c " + rest).value();
            EXPECT_EQ(steps_of(*real, direction == "forward" ? "Split" : "Join"), 1);
            EXPECT_EQ(steps_of(*real, "Widen") + steps_of(*real, "Narrow"), 0);
            index_t real_bytes = 0, complex_bytes = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                real_bytes += real->predict(rank).sent_bytes;
                complex_bytes += complex->predict(rank).sent_bytes;
            }
            EXPECT_LE(real_bytes, complex_bytes / 2 + 16 * (n / 2 + ranks)) << explain(*real, 0, {});
            EXPECT_GT(real_bytes, complex_bytes / 2);
        }
    }
    const auto odd = plan("r2c 1155 exchange=alltoallv ranks=2").value();
    EXPECT_EQ(steps_of(*odd, "Widen"), 1);
}

// The imaginary parts of X[0] and X[n/2] are left out, as by engines.
TEST(LinesPlan, BackwardOfARealLineLeavesOutWhatNoRealLineHas) {
    for (const char* text : {"c2r 256 ranks=3 exchange=alltoallv threads=1", "c2r 256 ranks=3 method=shared_lines"}) {
        const auto problem = Problem::parse(text).value();
        Random random(7);
        Wides input = random_input(random, problem);
        const Wides first = run_on_threads(problem, input).output;
        input.front().im += 3;
        input.back().im -= 5;
        const Wides second = run_on_threads(problem, input).output;
        ASSERT_EQ(first.size(), 256U);
        for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].re, second[i].re) << text;
    }
}

// What forward leaves backward takes, whichever way was chosen, and a note says where that is.
TEST(LinesPlan, AllWaysOfALineLeaveTheSameExchangedOrder) {
    for (const index_t n : {128, 132, 135, 121, 60, 101}) {
        for (const std::string kind : {"c2c", "r2c"}) {
            const std::string text = cat(kind, " ", n, " ranks=3 output=exchanged");
            const Layout left = plan(text).value()->output.layout;
            for (const std::string more : {" exchange=alltoallv", " exchange=shared", " exchange=oneplane:2"}) {
                EXPECT_EQ(plan(text + more).value()->output.layout, left) << text << more;
                EXPECT_EQ(plan(text + more + " backward").value()->input.layout, left) << text << more;
            }
            const bool cyclic = n == 132 || n == 135;
            EXPECT_EQ(left.patch(1)[0].step, cyclic ? 3 : 1) << text;
            const std::string said = explain(*plan(text).value(), 0, {});
            EXPECT_NE(said.find(cyclic ? "frequency k lies on rank k mod 3" : "the spectrum is in natural order"),
                      std::string::npos)
                << said;
        }
    }
}

// The two others move only that by which blocks of n and whole rows differ.
TEST(LinesPlan, FiveElsewhere) {
    const auto made = plan("c2c 10403 exchange=alltoallv ranks=2").value();  // 101 x 103
    ASSERT_EQ(steps_of(*made, "Exchange"), 5);
    std::vector<index_t> sent;
    for (const auto& step : made->steps) {
        if (std::string(step->type()) == "Exchange")
            sent.push_back(step->predict(0).sent_bytes + step->predict(1).sent_bytes);
    }
    EXPECT_LE(sent.front(), 16 * 103);
    EXPECT_LE(sent.back(), 16 * 103);
    for (size_t i = 1; i < 4; ++i) EXPECT_GT(sent[i], 16 * 5000);
}

// What a rank moves through memory: two sweeps, and what the three others take of its input, and put into its output,
// where these arrays are the caller's: three quarters.
TEST(LinesPlan, TwoSweepsAndNoMessageOnANode) {
    const index_t bytes = 16 * 65536 / 4;
    for (const auto& [options, quarters] :
         {std::pair{"", 14}, std::pair{"in_place", 14}, std::pair{"own_output", 11}}) {
        for (const std::string direction : {"forward", "backward"}) {
            const auto made = plan(cat("c2c 65536 ranks=4 method=shared_lines ", options, " ", direction)).value();
            EXPECT_EQ(made->solver, "shared_lines");
            const Counts counts = made->predict(1);
            EXPECT_EQ(counts.messages, 0);
            EXPECT_EQ(made->steps.size(), 2U);
            EXPECT_EQ(counts.memory_bytes, 2 * quarters * bytes / 4) << options << " " << direction << "\n"
                                                                     << explain(*made, 1, {});
        }
    }
}

// What a rank moves through memory between nodes: what the first exchange packs, two transforms, and what the last one
// unpacks; in exchanged order without the last. The second exchange copies only what stays on the rank.
TEST(LinesPlan, FourSweepsBetweenNodesAndThreeInExchangedOrder) {
    for (const int ranks : {2, 3, 4, 7}) {
        const index_t n = ranks * ranks * 64, bytes = 16 * n / ranks;
        for (const std::string direction : {"forward", "backward"}) {
            for (const auto& [output, sweeps] : {std::pair{"", 4}, std::pair{" output=exchanged", 3}}) {
                const auto made =
                    plan(cat("c2c ", n, " exchange=alltoallv ranks=", ranks, " ", direction, output)).value();
                for (int rank = 0; rank < ranks; ++rank) {
                    EXPECT_EQ(made->predict(rank).memory_bytes, 2 * (sweeps * bytes + bytes / ranks))
                        << explain(*made, rank, {});
                }
                EXPECT_EQ(steps_of(*made, "Columns"), 1);
                EXPECT_EQ(steps_of(*made, "Transform"), 1);
                EXPECT_EQ(made->steps.size(), static_cast<size_t>(sweeps == 4 ? 5 : 4));
            }
        }
    }
}

TEST(LinesPlan, PrimesAndFewPointsAreTransformedByRankZeroWhichANoteSays) {
    for (const auto& [problem, why] : {std::pair{"c2c 104729 ranks=2 method=lines", "its length is prime"},
                                       std::pair{"c2c 60 ranks=2", "its points are few"},
                                       std::pair{"dct2 4096 ranks=2", "only c2c and r2c lines"}}) {
        const auto made = plan(problem).value();
        EXPECT_NE(explain(*made, 0, {}).find(why), std::string::npos) << explain(*made, 0, {});
        EXPECT_LE(steps_of(*made, "Exchange"), 2) << problem;
    }
}

TEST(LinesPlan, ExchangedOrderOfGivenBoxesIsRefused) {
    const Status status = plan("c2c 4096 ranks=2 output=exchanged real_boxes=0:10;10:4096").status();
    EXPECT_EQ(status.code(), Code::unsupported);
    EXPECT_NE(status.message().find("leaves natural order only"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace spanfft::test
