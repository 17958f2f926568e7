// The planner: who is asked, who wins, and what is said when nobody can.
#include "plan/planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "engine/trust.hpp"
#include "support/plans.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

struct Refusal {
    const char* text;
    Code code;
    std::vector<std::string> words;
};

TEST(Planner, RefusalsSayWhyAndWhatToDo) {
    const std::vector<Refusal> table = {
        {"c2c 64 ranks=2 output=exchanged real_boxes=0:9;9:64",
         Code::unsupported,
         {"1-D", "natural order only", "leave out output="}},
        {"c2c 8x8 ranks=4 grid=2x2", Code::invalid_argument, {"grid 2x2", "all 2 axes", "undivided"}},
        {"c2c 8x8x8 ranks=8 grid=2x2x2", Code::invalid_argument, {"grid 2x2x2", "all 3 axes"}},
        {"c2c 8x8 ranks=2 exchange=pigeons", Code::invalid_argument, {"'pigeons'", "alltoallv, alltoallw"}},
        {"c2c 8x8 engine=abacus", Code::engine_error, {"'abacus'", "not found", "ducc0"}},
        {"c2c 8x8 ranks=2 engine=abacus", Code::engine_error, {"'abacus'"}},
        {"c2c 8x8 engine=ducc", Code::engine_error, {"'ducc'", "did you mean 'ducc0'?"}},
        {"c2c 8x8 ranks=2 exchange=overlp:4", Code::invalid_argument, {"did you mean 'overlap'?"}},
        {"c2c 4096 memory=64KiB method=two_sweep", Code::invalid_argument, {"did you mean 'two_sweeps'?"}},
        {"c2c 4096 memory=64KiB method=two_sweeps:4",
         Code::invalid_argument,
         {"two_sweeps:4", "write method=two_sweeps"}},
        {"c2c 4096 memory=64KiB method=superlevels:what", Code::invalid_argument, {"'what'"}},
        // Four chunks of 253 KiB, which the array of 256 KiB says nothing of, and requests beside them.
        {"c2c 16x1024 memory=1 io=uring input_chunk=16x1011", Code::out_of_memory, {"the smallest memory= that any"}},
    };
    for (const auto& refusal : table) {
        const auto answer = plan(refusal.text);
        ASSERT_FALSE(answer.ok()) << refusal.text;
        EXPECT_EQ(answer.status().code(), refusal.code) << refusal.text << ": " << answer.status().message();
        for (const auto& word : refusal.words) {
            EXPECT_NE(answer.status().message().find(word), std::string::npos)
                << "'" << refusal.text << "' gave '" << answer.status().message() << "', which lacks '" << word << "'";
        }
    }
}

TEST(Planner, RefusesProblemsThatWereNeverChecked) {
    Problem p;
    p.shape = {8};
    EXPECT_EQ(Planner(this_machine()).plan(p).status().code(), Code::invalid_argument);
}

TEST(Planner, FillsInWhatItChose) {
    const auto chosen = plan("r2c 64x64x64 ranks=4");
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(product(chosen.value()->problem.grid), 4);
    EXPECT_FALSE(chosen.value()->problem.exchange.empty());
    EXPECT_EQ(chosen.value()->problem.threads, 1);
    EXPECT_EQ(chosen.value()->solver, "shared");
    EXPECT_EQ(plan("r2c 64x64x64 ranks=4 exchange=alltoallv").value()->solver, "pencil");
    const auto alone = plan("r2c 64x64x64");
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone.value()->solver, "local");
    EXPECT_GE(alone.value()->problem.threads, 1);
}

TEST(Planner, KeepsToWhatIsForced) {
    for (const std::string exchange : {"alltoallw", "alltoallv"}) {
        for (const std::string grid : {"4", "1x4", "2x2"}) {
            const auto chosen =
                plan("c2c 16x16x16 ranks=4 threads=2 engine=ducc0 grid=" + grid + " exchange=" + exchange);
            ASSERT_TRUE(chosen.ok()) << chosen.status().message();
            EXPECT_EQ(chosen.value()->problem.print(), "c2c 16x16x16 forward double ranks=4 grid=" + grid +
                                                           " threads=2 engine=ducc0 exchange=" + exchange);
        }
    }
}

TEST(Planner, NotesTheRunnersUp) {
    const auto chosen = plan("c2c 16x16x16 ranks=4");
    ASSERT_TRUE(chosen.ok());
    const auto& notes = chosen.value()->notes;
    EXPECT_TRUE(
        std::any_of(notes.begin(), notes.end(), [](const std::string& n) { return n.find("not chosen: grid") == 0; }));
}

TEST(Planner, ChoosesNoDearerPlanThanAnyThatItMayChoose) {
    const auto chosen = plan("c2c 32x32x32 ranks=8");
    ASSERT_TRUE(chosen.ok());
    for (const std::string exchange : {"alltoallw", "alltoallv"}) {
        for (const std::string grid : {"8x1", "2x4", "4x2"}) {
            const auto other = plan("c2c 32x32x32 ranks=8 grid=" + grid + " exchange=" + exchange);
            ASSERT_TRUE(other.ok());
            EXPECT_LE(chosen.value()->predicted_seconds(), other.value()->predicted_seconds())
                << grid << " " << exchange;
        }
    }
}

TEST(Planner, TakesEveryRandomProblemInMemory) {
    Random random(51);
    ProblemLimits limits;
    limits.max_ndim = 6;
    limits.max_ranks = 24;
    limits.max_elems = 100000;
    for (int i = 0; i < 500; i += kPointStep) {
        const Problem p = random_solvable(random, limits);
        SCOPED_TRACE(cat("seed ", random.seed(), ", case ", i, ": '", p.print(), "'"));
        const auto made = Planner(this_machine()).plan(p);
        ASSERT_TRUE(made.ok()) << made.status().message();
        const Plan& chosen = *made.value();
        // Each step starts where the last one ended, and no step but the first reads the input.
        EXPECT_EQ(chosen.input.layout.shape(), [&] {
            Extents shape = p.input_shape();
            if (p.batch > 1) shape.insert(shape.begin(), p.batch);
            return shape;
        }());
        for (int rank = 0; rank < p.ranks; ++rank) {
            ASSERT_GE(chosen.peak_memory_bytes(rank), chosen.input.local_bytes(rank));
            const Counts counts = chosen.predict(rank);
            ASSERT_GE(counts.seconds, 0);
            ASSERT_EQ(counts.disk_reads + counts.disk_writes, 0);
        }
    }
}

TEST(Planner, AnExchangeIsOnlyChosenIfItCanDoAllMovesOfTheRoute) {
    // On two nodes of two ranks, one dimension of a 2x2 grid is exchanged inside nodes and one across them.
    Machine machine = this_machine();
    machine.topology.ranks_per_node = 2;
    const auto made = Planner(machine).plan(Problem::parse("c2c 16x16x16 ranks=4 grid=2x2").value());
    ASSERT_TRUE(made.ok());
    EXPECT_NE(made.value()->problem.exchange, "shared");
    for (const Alternative& a : made.value()->alternatives)
        EXPECT_NE(a.exchange, "shared") << a.solver << " " << shape_string(a.grid);
}

TEST(Planner, WhatRanksSendIsWhatOtherRanksReceive) {
    // Summed over ranks, an exchange sends what does not stay: counted from the layouts alone.
    const auto made = plan("c2c 12x10x8 ranks=6 grid=3x2 output=exchanged exchange=alltoallv");
    ASSERT_TRUE(made.ok());
    index_t sent = 0;
    for (int rank = 0; rank < 6; ++rank) sent += made.value()->predict(rank).sent_bytes;
    // First exchange in pairs (grid dimension of 2), then in threes: 1/2 and 2/3 of 960 elements of 16 bytes.
    EXPECT_EQ(sent, 960 * 16 / 2 + 960 * 16 * 2 / 3);
}

// The parts of a plan's seconds, where transforms and exchanges are one step.
TEST(Alternative, PipelinedExchangesAreBookedAsExchanges) {
    for (const double share : {0.0, 1.0}) {
        Machine machine = this_machine();
        machine.overlap_share = share;
        machine.topology.ranks_per_node = 1;
        const auto made = Planner(machine).plan(
            Problem::parse("c2c 64x64x64 ranks=4 grid=4 exchange=overlap:4 output=exchanged").value());
        ASSERT_TRUE(made.ok()) << made.status().message();
        const Plan& chosen = *made.value();
        double transforms = 0;
        index_t messages = 0;
        int exchanges = 0;
        for (const auto& step : chosen.steps) {
            const auto inside = step->children();
            messages += step->predict(0).messages;
            exchanges += step->type() == std::string("TransformExchange");
            transforms += inside.empty() ? step->predict(0).seconds : inside.front()->predict(0).seconds;
        }
        ASSERT_EQ(exchanges, 1);
        const Alternative a = alternative_of(chosen, machine);
        EXPECT_EQ(a.exchanges, 1);
        EXPECT_EQ(a.messages, messages);
        EXPECT_EQ(a.messages, 3 * 4);  // to 3 peers, 16 planes by fours
        EXPECT_NEAR(a.local_seconds, transforms, 1e-12);
        EXPECT_GT(a.wire_seconds, 0);
        EXPECT_NEAR(a.local_seconds + a.copy_seconds + a.wire_seconds, a.seconds, 1e-12);
        EXPECT_NEAR(a.seconds, chosen.predicted_seconds(), 1e-12);
    }
}

TEST(Alternative, APipelinedRunnerUpLosesByItsMessages) {
    Machine machine = this_machine();
    machine.topology.ranks_per_node = 1;
    machine.exchanges["overlap"] = machine.exchanges["alltoallv"];
    const auto text = [&](const std::string& exchange) {
        const std::string problem = "c2c 64x64x64 ranks=4 grid=4 output=exchanged exchange=" + exchange;
        const auto made = Planner(machine).plan(Problem::parse(problem).value());
        return alternative_of(*made.value(), machine);
    };
    const std::string why = why_lost(text("overlap:1"), text("alltoallv"));
    EXPECT_NE(why.find("48 messages instead of 3"), std::string::npos) << why;
}

TEST(SolverTable, NamesAreUniqueAndSourced) {
    std::set<std::string> names;
    for (const auto& solver : solver_table()) {
        EXPECT_TRUE(names.insert(solver.name).second) << solver.name;
        EXPECT_NE(solver.source, std::string());
    }
}

TEST(SolverTable, EverySolverDeclinesWithASentence) {
    const Planner planner(this_machine());
    for (const auto& solver : solver_table()) {
        int declined = 0;
        for (const char* text : {"c2c 8", "c2c 8x8 ranks=2", "c2c 8x8 memory=1MB"}) {
            const auto answer = solver.solve(Problem::parse(text).value(), planner);
            if (answer.ok()) continue;
            ++declined;
            EXPECT_EQ(answer.status().code(), Code::unsupported) << solver.name;
            EXPECT_NE(answer.status().message().find(' '), std::string::npos) << solver.name;
        }
        EXPECT_GT(declined, 0) << solver.name;
    }
}

TEST(Machine, GivesUnknownExchangesTheDefaultFigures) {
    EXPECT_EQ(Machine().exchange("pigeons"), ExchangeFigures());
    EXPECT_GE(this_machine().cores, 1);
}

TEST(Planner, TakesABatchInAFileAsOneArray) {
    const Planner planner{Machine()};
    for (const char* text :
         {"c2c 65536 forward double batch=100 memory=8MiB", "c2c 8x10000 forward float batch=30 memory=8MiB",
          "c2c 70000x64 forward float axes=1 batch=3 memory=8MiB"}) {
        const Problem problem = Problem::parse(text).value();
        const auto plan = planner.plan(problem);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_EQ(plan.value()->input.layout.local_elems(0), problem.batch * product(problem.input_shape()));
        EXPECT_EQ(plan.value()->problem.shape.back(), problem.shape.back());
        EXPECT_EQ(plan.value()->sweeps, 1);
        EXPECT_EQ(plan.value()->predict(0).disk_read_bytes,
                  problem.batch * product(problem.input_shape()) * static_cast<index_t>(problem.input_elem().bytes()));
    }
}

TEST(Planner, NamesTheSmallestBudgetThatWorks) {
    const Planner planner{Machine()};
    for (const char* text : {"c2c 1048576 forward double", "r2c 360360 forward float", "c2c 1048583 forward double",
                             "dct4 100000 forward double", "c2c 1000x1000x10 forward double"}) {
        Problem problem = Problem::parse(std::string(text) + " memory=4KiB").value();
        const auto refused = planner.plan(problem);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.status().code(), Code::out_of_memory);
        const std::string message = refused.status().message();
        const size_t at = message.rfind('(');
        ASSERT_NE(at, std::string::npos) << message;
        problem.memory_bytes = std::stoll(message.substr(at + 1));
        const auto plan = planner.plan(problem);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_LE(plan.value()->peak_memory_bytes(0), problem.memory_bytes);
        --problem.memory_bytes;
        EXPECT_FALSE(planner.plan(problem).ok()) << text;
    }
}

// Seconds of this thread, so that a busy machine does not count.
double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each took seconds, minutes or for ever: sums over 10^11 panels, searches for the smallest budget in searches for it.
TEST(Planner, AnswersWithinTwoSecondsWhateverTheProblem) {
    const CheckAllowance checks(0, kImaginedLongest);
    const double kLimit = kSanitized ? 20 : 2;  // what takes one second of the processor takes three and more there
    int turn = 0;
    for (const char* text : {
             "c2c 274877906944 memory=16MiB",
             "c2c 134217728000 float memory=16MiB",
             "c2c 137438953472 forward double memory=1",
             "c2r 1073741824 backward memory=1",
             "r2c 1099511627776 float memory=1MiB",
             "dct1 1099511627776 memory=16777216",
             "dct3 999999999989 memory=4GB window=hann",
             "c2c 999999999989 memory=1GB",
             "dst4 1000000000039 longdouble memory=256MiB",
             "c2c 963761198400 memory=16MiB",  // 6720 divisors
             "c2r 963761198400 backward memory=1GB",
             "c2c 963761198400 memory=4GB output=exchanged",
             "c2c 9007199254740881 memory=4GB",
             "c2c 1099511627776x3 axes=0 memory=1MiB",
             "c2c 65536x65536x64 memory=1MiB",
             "r2c 64x64x64x64x64x64 memory=1KiB",
             "c2c 1000003x1000003 memory=64KiB",
             "c2c 4096x4096 ranks=10000 memory=4KiB",
             "c2c 68719476736 memory=1MiB method=superlevels:sync,block=64KiB",
             "dst3 4000037x2x999983 backward longdouble ranks=4 grid=2x2",  // six checks of seconds each
             "dst2 4000037x2x13x1024 exchange=shared norm=forward ranks=4 grid=2x2",
             "r2c 4000037x13x2x64 engine=fftw norm=forward axes=1,0",
             "dst4 4000037x3x16777216x2 axes=0 ranks=8 grid=1x8",
             "dst4 16777216x2x4000037 ranks=8 grid=1x8",  // 10^10 groups of lines in windows
             "dst2 2x1024x999983x4000037 threads=2 ranks=4",
             "dst4 64x3x16777216x999983 engine=fftw ranks=4",
         }) {
        if (turn++ % kPointStep) continue;
        const double start = thread_seconds();
        const auto answer = plan(text);
        EXPECT_LT(thread_seconds() - start, kLimit) << text;
        EXPECT_TRUE(answer.ok() || !answer.status().message().empty()) << text;
        RecordProperty(text, std::to_string(thread_seconds() - start));
    }
}

// FFTW made a plan for each of a machine's cores when it was checked at a length; on a machine of 1024 that took
// minutes.
TEST(Planner, AnswersWithinTwoSecondsForAMachineOfManyCores) {
    const CheckAllowance checks(0, kImaginedLongest);
    Machine machine;
    machine.cores = 4096;
    const double start = thread_seconds();
    const auto answer = Planner(machine).plan(Problem::parse("dct4 3x262139").value());
    EXPECT_LT(thread_seconds() - start, kSanitized ? 20 : 2);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
}

// At lengths with large prime factors engines convolve, and checks of theirs take as much again: a budget that holds
// the two arrays is not enough.
TEST(Planner, CountsWhatEnginesTakeAtLargePrimes) {
    for (const char* text : {"c2c 2564363 float memory=60MiB", "dst4 4000037 longdouble memory=130MiB"}) {
        const auto answer = plan(text);
        ASSERT_TRUE(answer.ok()) << answer.status().message();
        EXPECT_EQ(answer.value()->solver, "chirp_sweeps") << text;
    }
    EXPECT_GT(plan("dct1 4194304 double memory=40MiB").value()->sweeps, 1);
    EXPECT_TRUE(plan("c2c 2564363 float memory=256MiB method=file_in_memory").ok());
    EXPECT_EQ(plan("c2c 2564363 float memory=400MiB").value()->sweeps, 1);
}

}  // namespace
}  // namespace spanfft::test
