// Solver `cyclic` on simulated ranks, against the transforms' definitions: cyclic in, cyclic out, one all-to-all.
// check_plan compares each element at the place that the layout gives it, the counts with the predictions, and holds
// that the input is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "exchange/exchange.hpp"
#include "exec/executor.hpp"
#include "steps/butterfly_step.hpp"
#include "support/oracle.hpp"
#include "support/plans.hpp"
#include "support/random.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

// Both directions, and every exchange that keeps the data as it is.
void check(const std::string& text) {
    for (const std::string direction : {"forward", "backward"}) {
        for (const ExchangeStrategy& strategy : exchange_table()) {
            if (!strategy.approximate)
                check_plan(cat(text, " ", direction, " layout=cyclic threads=1 exchange=", strategy.name));
        }
    }
}

// --- results ---------------------------------------------------------------------------------------------------------

TEST(CyclicPlan, OneAxisOverEveryNumberOfRanks) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
        for (const index_t more : {1, 2, 3, 5}) check(cat("c2c ", ranks * ranks * more, " ranks=", ranks));
    }
}

TEST(CyclicPlan, TwoAndThreeAxesOnEveryGrid) {
    for (const index_t p : {1, 2, 3, 4}) {
        for (const index_t q : {1, 2, 3, 4}) {
            if (p * q <= 9) check(cat("c2c ", 2 * p * p, "x", 3 * q * q, " grid=", p, "x", q));
        }
    }
    check("c2c 18x9 grid=3x3");
    for (const std::string grid : {"2x2x2", "4x1x2", "1x2x4", "2x1x1", "1x1x2", "1x4x2", "2x4x1"})
        check("c2c 16x16x16 axes=2,0,1 float grid=" + grid);
    check("c2c 9x4x8 grid=3x2x1");
    check("c2c 9x4x8 grid=1x2x2");
    check("c2c 9x25x4 grid=3x1x2");
}

TEST(CyclicPlan, EveryPrecisionNormAndPlaceOfTheArray) {
    for (const std::string precision : {"float", "double", "longdouble"}) {
        for (const std::string norm : {"backward", "ortho", "forward"}) {
            check(cat("c2c 8x12x4 grid=2x2x2 ", precision, " norm=", norm));
            check(cat("c2c 8x12x4 grid=2x1x2 in_place ", precision, " norm=", norm));
            check(cat("c2c 36 ranks=3 in_place ", precision, " norm=", norm));
        }
    }
}

TEST(CyclicPlan, LongLinesUseEveryChunkOfTheTables) {
    check("c2c 1024 ranks=4");
    check("c2c 2x500x4 grid=1x5x2");
    check("c2c 400x3 grid=5 axes=0");
    check("c2c 288x2 grid=4 float");
}

TEST(CyclicPlan, Batches) {
    check("c2c 16x8 grid=2x2 batch=3");
    check("c2c 16 ranks=4 batch=2 in_place");
    check("c2c 9x8 grid=3 batch=2");
}

TEST(CyclicPlan, AxesThatAreNotTransformedMayHaveAnyLength) {
    check("c2c 5x16x3 axes=1 grid=2x2x1");
    check("c2c 5x16x3 axes=1 grid=2x1x2");
    check("c2c 2x16 axes=1 grid=3x2");  // more parts than indices: some ranks have nothing
    check("c2c 7x4x8 axes=2,1 grid=3x1x2");
    check("c2c 7x5 axes=1 grid=3");
    check("c2c 7x5 axes=1 grid=3 in_place");
    check("c2c 1x4x1 grid=1x2");
}

TEST(CyclicPlan, AxesThatAreNotDividedMayBeOfAnyKind) {
    for (const std::string exchange : {"alltoallv", "alltoallw"}) {
        for (const std::string direction : {"forward", "backward"}) {
            for (const std::string rest : {" norm=ortho", " float", " batch=2", ""}) {
                const std::string tail = cat(" ", direction, rest, " layout=cyclic threads=1 exchange=", exchange);
                check_plan("r2c 8x12x5 grid=2x2" + tail);
                check_plan("r2c 8x12x6 grid=2x2" + tail);
                check_plan("r2c,c2c 7x16 grid=1x4" + tail);
                check_plan("r2c 16x1 grid=4" + tail);
                check_plan("dct2,c2c 7x16 grid=1x4" + tail);
                check_plan("dct1,c2c,r2c 5x9x6 grid=1x3x1" + tail);
                check_plan("r2c 6x7 axes=1 grid=4" + tail);
                check_plan("dst3 6x7 axes=1 grid=4" + tail);
                check_plan("r2c 9x6" + tail);
            }
            check_plan(cat("r2c 8x12x6 grid=2x2 in_place layout=cyclic threads=1 ", direction, " exchange=", exchange));
            check_plan(cat("dct1,c2c,r2c 5x9x6 grid=1x3x1 in_place layout=cyclic threads=1 ", direction,
                           " exchange=", exchange));
        }
    }
}

TEST(CyclicPlan, SixAxes) { check("c2c 4x2x4x2x4x2 grid=2x1x2x1x2x1 batch=2"); }

TEST(CyclicPlan, RandomProblems) {
    Random random(91);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 150; ++i) {
        const int ndim = static_cast<int>(random.between(1, 4));
        Problem p;
        index_t ranks = 1, elems = 1;
        for (int axis = 0; axis < ndim; ++axis) {
            const index_t parts = ranks > 4 ? 1 : random.between(1, axis == 0 ? 4 : 2);
            const bool transformed = axis == 0 || random.chance(0.7);
            const index_t n = transformed ? parts * parts * random.between(1, 4) : random.between(1, 5);
            if (transformed) p.axes.push_back(axis);
            p.shape.push_back(n);
            p.grid.push_back(parts);
            ranks *= parts;
            elems *= n;
        }
        if (elems > 3000) continue;
        random.shuffle(p.axes);
        p.kinds.assign(p.axes.size(), AxisKind::c2c);
        p.ranks = static_cast<int>(ranks);
        p.layout = Division::cyclic;
        p.direction = static_cast<Direction>(random.below(2));
        p.precision = static_cast<Precision>(random.below(3));
        p.norm = static_cast<Norm>(random.below(3));
        p.in_place = random.chance(0.3);
        p.batch = random.between(1, 2);
        p.output = static_cast<SpectrumOrder>(random.below(2));  // the exchange leaves it where it shall be
        p.threads = 1;
        check_plan(p, random.bits());
    }
}

TEST(CyclicPlan, BackwardUndoesForward) {
    for (const std::string text : {"c2c 8x12x4 grid=2x2x2", "c2c 81 ranks=9", "r2c 16x6 grid=4"}) {
        Problem p = Problem::parse(text + " layout=cyclic threads=1").value();
        Random random(92);
        const Wides input = random_input(random, p);
        const PlanRun there = run_on_threads(p, input);
        ASSERT_TRUE(there.status.ok()) << there.status.message();
        p.direction = Direction::backward;
        const PlanRun back = run_on_threads(p, there.output);
        ASSERT_TRUE(back.status.ok()) << back.status.message();
        EXPECT_LE(relative_error(back.output, input), 2 * tolerance(p));
    }
}

// Up to 16 parts a butterfly does it, beyond an engine; the direct sum of each length must be as exact.
TEST(CyclicPlan, EveryNumberOfPartsOfAnAxis) {
    for (const int p : {10, 11, 12, 13, 14, 15, 16, 17, 20}) {
        check(cat("c2c ", p * p, " ranks=", p, p % 2 ? " batch=2" : " in_place"));
        check(cat("c2c ", p * p, "x3 axes=0 float ranks=", p));
    }
    check("c2c 400x4 grid=20x2 norm=ortho");
    check("r2c 324x4x3 axes=0,2 grid=18x1x1");
}

TEST(CyclicPlan, LanesOfATileMayBelongToManyIndices) {
    for (const index_t inner : {1, 2, 3, 5, 15, 16, 17, 40}) {
        check(cat("c2c 12x", inner, " axes=0 grid=2"));
        check(cat("c2c 3x45x", inner, " axes=1 grid=1x3 float"));
    }
    check("c2c 2x4x300x4 axes=1,3 grid=1x2x1x2");
}

TEST(ButterflyStep, ThreadsShareTheTiles) {
    const Layout layout({3, 2, 700, 33}, {{1, -1, Division::block}});
    const auto run = [&](int threads, Direction direction) {
        const auto step = make_butterfly_step(
            {{layout, {Precision::dbl, true}}, {1, 2}, direction, 0.25L, Slot::input, Slot::output, threads},
            this_machine());
        const auto comm = make_self_comm();
        Binding binding(*comm);
        auto task = step->bind(binding);
        std::vector<double> in(static_cast<size_t>(2 * layout.local_elems(0))), out(in.size());
        Random random(93);
        for (double& x : in) x = random.noise();
        RunContext context;
        context.slots[static_cast<size_t>(Slot::input)] = in.data();
        context.slots[static_cast<size_t>(Slot::output)] = out.data();
        EXPECT_TRUE(task.value()->run(context).ok());
        return out;
    };
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        const auto alone = run(1, direction);
        for (const int threads : {2, 3}) EXPECT_EQ(run(threads, direction), alone);
    }
}

// --- where the elements lie
// -------------------------------------------------------------------------------------------

TEST(CyclicPlan, BothSidesAreCyclic) {
    const auto made = plan("c2c 16x9x5 grid=2x3x1 layout=cyclic axes=0,1");
    ASSERT_TRUE(made.ok()) << made.status().message();
    for (const ArrayState* state : {&made.value()->input, &made.value()->output}) {
        const Patch patch = state->layout.patch(4);  // row 1, column 1 of the 2 x 3 grid
        EXPECT_EQ(patch, (Patch{{1, 8, 2}, {1, 3, 3}, {0, 5, 1}}));
    }
    const auto half = plan("r2c 16x10 grid=2 layout=cyclic");
    ASSERT_TRUE(half.ok()) << half.status().message();
    EXPECT_EQ(half.value()->input.layout.patch(1), (Patch{{1, 8, 2}, {0, 10, 1}}));
    EXPECT_EQ(half.value()->output.layout.patch(1), (Patch{{1, 8, 2}, {0, 6, 1}}));
}

TEST(CyclicPlan, OneAllToAllAndNoMore) {
    for (const std::string text : {"c2c 64x64x64 ranks=8", "c2c 64x64x64 ranks=8 backward", "c2c 64 ranks=8",
                                   "c2c 36x36 grid=3x3", "r2c 64x64x64 grid=4x2 backward"}) {
        for (const std::string exchange : {"alltoallv", "alltoallw"}) {
            const auto made = plan(text + " layout=cyclic exchange=" + exchange);
            ASSERT_TRUE(made.ok()) << made.status().message();
            int exchanges = 0;
            for (const auto& step : made.value()->steps) exchanges += step->type() == std::string("Exchange");
            EXPECT_EQ(exchanges, 1) << text;
            const int ranks = made.value()->problem.ranks;
            for (int rank = 0; rank < ranks; ++rank) {
                const Counts counts = made.value()->predict(rank);
                EXPECT_EQ(counts.messages, ranks - 1) << text;
                // Each keeps one part of `ranks`; the spectrum of r2c is what moves.
                const index_t bytes =
                    std::max(made.value()->input.local_bytes(rank), made.value()->output.local_bytes(rank));
                EXPECT_EQ(counts.sent_bytes, bytes / ranks * (ranks - 1)) << text;
            }
        }
    }
}

TEST(CyclicPlan, AxesThatAreNotTransformedTakeTheRanksFirst) {
    const auto made = plan("c2c 64x64 axes=1 ranks=8 layout=cyclic");
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(shape_string(made.value()->problem.grid), "8x1");
    EXPECT_EQ(made.value()->predict(3).messages, 0);
}

TEST(CyclicPlan, ForwardAndBackwardDivideAlike) {
    for (const std::string text : {"c2c 64x36x5 ranks=6", "r2c 64x36x5 ranks=12", "c2c 48x5 axes=0 ranks=4"}) {
        const auto forward = plan(text + " layout=cyclic"), backward = plan(text + " layout=cyclic backward in_place");
        ASSERT_TRUE(forward.ok() && backward.ok()) << forward.status().message() << backward.status().message();
        EXPECT_EQ(forward.value()->problem.grid, backward.value()->problem.grid);
        EXPECT_EQ(forward.value()->input.layout, backward.value()->output.layout);
        EXPECT_EQ(forward.value()->output.layout, backward.value()->input.layout);
    }
}

// --- who is asked ----------------------------------------------------------------------------------------------------

TEST(CyclicPlan, IsChosenWhenAskedForAndOnlyThen) {
    for (const std::string text :
         {"c2c 64x64x64", "c2c 64x64x64 ranks=4", "r2c 64x64 ranks=2", "c2c 64 ranks=4 batch=2"}) {
        const auto cyclic = plan(text + " layout=cyclic");
        ASSERT_TRUE(cyclic.ok()) << cyclic.status().message();
        EXPECT_EQ(cyclic.value()->solver, "cyclic");
        const auto block = plan(text);
        EXPECT_TRUE(!block.ok() || block.value()->solver != "cyclic");
    }
}

struct Refusal {
    const char* text;
    Code code;
    std::vector<std::string> words;
};

TEST(CyclicPlan, RefusalsNameTheAxisAndTheGridsThatWork) {
    const std::vector<Refusal> table = {
        {"c2c 100 ranks=3",
         Code::unsupported,
         {"axis 0 of length 100", "3*3", "1, 2", "2 ranks (grid 2)", "5 ranks (grid 5)"}},
        {"c2c 12x12 grid=4x1", Code::invalid_argument, {"grid 4x1", "axis 0 of length 12", "4*4", "1, 2", "2x2"}},
        {"c2c 12x12 grid=1x4", Code::invalid_argument, {"axis 1 of length 12"}},
        {"c2c 7x11 ranks=2", Code::unsupported, {"axis 0 of length 7", "axis 1 of length 11", "1 rank (grid 1x1)"}},
        {"c2c 8x8 ranks=64", Code::unsupported, {"64 ranks", "4 ranks (grid 2x2)"}},
        {"r2c 64 ranks=4", Code::unsupported, {"axis 0 (r2c)", "as c2c", "layout=block"}},
        {"r2c 64x64 grid=2x2", Code::invalid_argument, {"axis 1 (r2c)", "4x1"}},
        {"dct2 64x64 ranks=2", Code::unsupported, {"axis 0 (dct2)", "only c2c"}},
        {"c2c 64 memory=1MB", Code::invalid_argument, {"layout=cyclic", "memory="}},
        {"c2c 4x4 ranks=2 real_boxes=0:2x0:4;2:4x0:4", Code::invalid_argument, {"layout=cyclic", "boxes"}},
        {"c2c 16 ranks=2 exchange=pigeons", Code::invalid_argument, {"pigeons"}},
    };
    for (const auto& refusal : table) {
        const auto answer = plan(std::string(refusal.text) + " layout=cyclic");
        ASSERT_FALSE(answer.ok()) << refusal.text;
        EXPECT_EQ(answer.status().code(), refusal.code) << refusal.text << ": " << answer.status().message();
        for (const auto& word : refusal.words) {
            EXPECT_NE(answer.status().message().find(word), std::string::npos)
                << "'" << refusal.text << "' gave '" << answer.status().message() << "', which lacks '" << word << "'";
        }
    }
}

TEST(CyclicPlan, RefusalsNeedNoTimeOnManyRanks) {
    const auto answer = plan("c2c 1021x1021x1021 ranks=65536 layout=cyclic");
    EXPECT_EQ(answer.status().code(), Code::unsupported);
    const auto large = plan("c2c 4096x4096x4096 ranks=4096 layout=cyclic exchange=alltoallv");
    ASSERT_TRUE(large.ok()) << large.status().message();
    EXPECT_EQ(large.value()->predict(7).messages, 4095);
}

// --- the step alone --------------------------------------------------------------------------------------------------

// Reference: exp(-2 pi i s k/n) by the definition, for every element.
TEST(TwiddleStep, MultipliesByTheProductOverPairs) {
    const Extents shape{3, 4, 5, 2, 130, 2};  // pairs (1, 2) and (3, 4): n = 20 and 260
    const Layout layout(shape, {{4, 1, Division::block}, {2, 3, Division::block}});
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        TwiddleSpec spec{{layout, {Precision::dbl, true}}, {{1, 2}, {3, 4}}, direction, 0.5L, Slot::output};
        const auto step = make_twiddle_step(spec, this_machine());
        ThreadWorld world(8);
        world.run([&](int rank, Comm& comm) {
            Binding binding(comm);
            auto task = step->bind(binding);
            ASSERT_TRUE(task.ok());
            std::vector<double> x(static_cast<size_t>(2 * layout.local_elems(rank)));
            for (size_t i = 0; i < x.size(); i += 2) x[i] = 1;
            RunContext context;
            context.slots[static_cast<size_t>(Slot::output)] = x.data();
            ASSERT_TRUE(task.value()->run(context).ok());
            const Counts predicted = step->predict(rank), counted = task.value()->counted();
            EXPECT_EQ(predicted.flops, counted.flops);
            EXPECT_EQ(predicted.memory_bytes, counted.memory_bytes);
            size_t at = 0;
            for_each_index(shape, layout.patch(rank), [&](index_t i) {
                const index_t k2 = i / 2 % 130, s2 = i / 260 % 2, k1 = i / 520 % 5, s1 = i / 2600 % 4;
                const long double turns =
                    static_cast<long double>(s1 * k1 % 20) / 20 + static_cast<long double>(s2 * k2 % 260) / 260;
                const long double angle =
                    (direction == Direction::forward ? -2 : 2) * 3.14159265358979323846264L * turns;
                ASSERT_NEAR(x[at], static_cast<double>(std::cos(angle) / 2), 4e-16);
                ASSERT_NEAR(x[at + 1], static_cast<double>(std::sin(angle) / 2), 4e-16);
                at += 2;
            });
        });
    }
}

}  // namespace
}  // namespace spanfft::test
