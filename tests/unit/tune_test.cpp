// Tuning and probing on simulated ranks: everyone keeps the same winner, what fails is dropped, figures agree.
#include "exec/tune.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>

#include "core/cpus.hpp"
#include "core/vector_width.hpp"
#include "engine/ducc_engine.hpp"
#include "engine/engine.hpp"
#include "exchange/exchange.hpp"
#include "exec/engine_probe.hpp"
#include "exec/handover_probe.hpp"
#include "exec/probe.hpp"
#include "exec/step_probe.hpp"
#include "plan/machine_file.hpp"
#include "support/sanitized.hpp"
#include "support/simulated_store.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

struct Kept {
    std::string problem;
    size_t trials = 0, dropped = 0;
    Status status;
};

std::vector<Kept> tune_on(ThreadWorld& world, int ranks, const std::string& text) {
    std::vector<Kept> all(static_cast<size_t>(ranks));
    world.run([&](int rank, Comm& comm) {
        const Problem problem = Problem::parse(cat(text, " ranks=", ranks)).value();
        Kept& kept = all[static_cast<size_t>(rank)];
        const auto known = gather_knowledge(comm, problem);
        if (!known.ok()) {
            kept.status = known.status();
            return;
        }
        auto tuned = tune(problem, known.value(), comm);
        kept.status = tuned.status();
        if (!tuned.ok()) return;
        kept.problem = tuned.value().plan->problem.print();
        kept.trials = tuned.value().trials.size();
        for (const auto& trial : tuned.value().trials) kept.dropped += !trial.dropped.empty();
    });
    return all;
}

TEST(Tune, AllRanksKeepTheSameWinner) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
        ThreadWorld world(ranks);
        const auto all = tune_on(world, ranks, "c2c 9x8x7 effort=tune measure_seconds=0.2");
        for (const auto& kept : all) {
            ASSERT_TRUE(kept.status.ok()) << kept.status.message();
            EXPECT_EQ(kept.problem, all[0].problem);
            EXPECT_EQ(kept.trials, all[0].trials);
            EXPECT_GE(kept.trials, 1u);
        }
        EXPECT_EQ(world.open_comms(), 0);
    }
}

// One that has nothing to transform runs no engine, and tries the engines that the others try.
TEST(Tune, RanksWithoutElementsTryWhatTheOthersTry) {
    ThreadWorld world(3);
    const auto all = tune_on(world, 3, "c2c 2x2 effort=tune measure_seconds=0.2");
    for (const auto& kept : all) {
        ASSERT_TRUE(kept.status.ok()) << kept.status.message();
        EXPECT_EQ(kept.problem, all[0].problem);
        EXPECT_EQ(kept.trials, all[0].trials);
    }
}

TEST(Tune, KeepsToWhatIsForced) {
    ThreadWorld world(4);
    for (const auto& kept :
         tune_on(world, 4,
                 "r2c 8x8x8 grid=2x2 exchange=alltoallw engine=ducc0 threads=1 effort=tune measure_seconds=0.1")) {
        ASSERT_TRUE(kept.status.ok());
        EXPECT_EQ(kept.problem,
                  "r2c 8x8x8 forward double ranks=4 grid=2x2 threads=1 engine=ducc0 exchange=alltoallw effort=tune "
                  "measure_seconds=0.1");
        EXPECT_GE(kept.trials, 1u);  // and, if time is left, the same with measured engine plans
        EXPECT_LE(kept.trials, 2u);
    }
}

TEST(Tune, TimesAtLeastOneCandidateWhateverTheCap) {
    ThreadWorld world(3);
    for (const auto& kept : tune_on(world, 3, "c2c 16x16 in_place effort=tune measure_seconds=1e-9")) {
        ASSERT_TRUE(kept.status.ok());
        EXPECT_EQ(kept.trials, 1u);
    }
}

TEST(Tune, ACandidateThatCanNotBeBoundOnOneRankIsDroppedOnAll) {
    ThreadWorld world(4);
    world.fail(2, CommCall::make_transfer, 1);
    const auto all = tune_on(world, 4, "c2c 8x8x8 grid=2x2 effort=tune measure_seconds=2");
    EXPECT_TRUE(world.fault_was_hit());
    for (const auto& kept : all) {
        ASSERT_TRUE(kept.status.ok()) << kept.status.message();
        EXPECT_EQ(kept.problem, all[0].problem);
        EXPECT_EQ(kept.dropped, 1u);
    }
}

TEST(Tune, ProblemsThatNoOneTakesFailAlike) {
    ThreadWorld world(3);
    for (const auto& kept : tune_on(world, 3, "c2c 64 layout=cyclic effort=tune")) {
        EXPECT_FALSE(kept.status.ok());
        EXPECT_FALSE(kept.status.message().empty());
    }
}

TEST(Probe, AllRanksHaveTheSameFigures) {
    for (int ranks : {1, 2, 3, 5}) {
        ThreadWorld world(ranks);
        std::mutex mutex;
        std::set<std::string> texts;
        world.run([&](int, Comm& comm) {
            ProbeOptions options;
            options.quick = true;
            options.cap_seconds = 2;
            const auto machine = probe(comm, options);
            ASSERT_TRUE(machine.ok()) << machine.status().message();
            EXPECT_GT(machine.value().memory_bytes_per_second, 0);
            EXPECT_GT(machine.value().tile_bytes_per_second, 0);
            EXPECT_GT(machine.value().twiddle_seconds, 0);
            EXPECT_EQ(machine.value().measured_ranks, comm.size());
            if (comm.size() > 1) {
                const ExchangeFigures figures = machine.value().exchange("alltoallv");
                EXPECT_TRUE(figures.includes_copies);
                EXPECT_GT(figures.near.latency_seconds, 0);
                EXPECT_FALSE(figures.near.curve.empty());
            }
            const std::lock_guard lock(mutex);
            texts.insert(print_machine(machine.value()));
        });
        EXPECT_EQ(texts.size(), 1u);
    }
}

// All at once, and all go on with what the slowest found.
TEST(Probe, RanksMeasureScratchOfTheirOwn) {
    ThreadWorld world(3);
    const TemporaryFolder folder;
    for (const char* rank : {"0", "1", "2"}) ASSERT_EQ(mkdir((folder.path() + "/" + rank).c_str(), 0700), 0);
    std::mutex mutex;
    std::set<std::pair<double, double>> found;
    world.run([&](int, Comm& comm) {
        ProbeOptions options;
        options.quick = true;
        options.cap_seconds = 0;
        options.scratch_folders = {folder.path() + "/{rank}"};
        const auto machine = probe(comm, options);
        ASSERT_TRUE(machine.ok()) << machine.status().message();
        const std::lock_guard lock(mutex);
        found.emplace(machine.value().scratch_read_bytes_per_second, machine.value().scratch_write_bytes_per_second);
    });
    ASSERT_EQ(found.size(), 1U);
    EXPECT_GT(found.begin()->first, 0);
    EXPECT_GT(found.begin()->second, 0);
}

TEST(Probe, OfScratchOnSomeRanksOnlyFailsOnAll) {
    ThreadWorld world(3);
    const TemporaryFolder folder;
    world.run([&](int rank, Comm& comm) {
        ProbeOptions options;
        options.quick = true;
        options.cap_seconds = 0;
        if (rank != 1) options.scratch_folders = {folder.path()};
        const Status one_has_none = probe(comm, options).status();
        EXPECT_NE(one_has_none.message().find("rank 1 names no scratch folder"), std::string::npos)
            << one_has_none.message();
        options.scratch_folders = {folder.path() + (rank == 2 ? "/nowhere" : "")};
        EXPECT_NE(probe(comm, options).status().message().find("nowhere"), std::string::npos);
    });
}

// As on a machine on which the time was up before the exchanges' turn.
TEST(Probe, HasFiguresOfEveryExchangeHoweverLittleTimeItHas) {
    ThreadWorld world(3);
    world.run([](int, Comm& comm) {
        for (const bool quick : {true, false}) {
            ProbeOptions options;
            options.quick = quick;
            options.cap_seconds = 0;
            const auto machine = probe(comm, options);
            ASSERT_TRUE(machine.ok()) << machine.status().message();
            for (const auto& strategy : exchange_table()) {
                const ExchangeFigures figures = machine.value().exchange(strategy.name);
                EXPECT_TRUE(figures.includes_copies) << strategy.name;
                EXPECT_FALSE(figures.near.curve.empty()) << strategy.name;
            }
        }
    });
}

TEST(Probe, MeasuresLongLinesInTwoSweepsAndKeepsTheLengthsOfBoxes) {
    // Works come in order: 20 lengths, 5 long lines, then boxes. A sanitized build stops after two of the long lines.
    const bool boxes = !test::kSanitized;
    const std::string names = engine_names();
    const auto engines_here = static_cast<int>(std::count(names.begin(), names.end(), ',')) + 1;
    int left = engines_here * (boxes ? 26 : 22);
    const auto comm = make_self_comm();
    const auto table = probe_engines(*comm, cache_sizes(), 1, [&]() -> Result<bool> { return left-- > 0; });
    ASSERT_TRUE(table.ok()) << table.status().message();
    EXPECT_FALSE(table.value().alike({"ducc0", Precision::dbl, RateShape::two_sweeps, 1}).empty());
    const auto& several = table.value().alike({"ducc0", Precision::dbl, RateShape::several, 1});
    if (!boxes) return;
    ASSERT_EQ(several.size(), 1U);
    EXPECT_EQ(several[0].box, (Extents{4, 8, 16}));
    EXPECT_EQ(several[0].n, 512);
}

// Each length up to 1024 that has no prime factor above 7, as rows and in tiles; what fills registers partly; and
// nothing twice.
TEST(Probe, HasEachShortLengthByItself) {
    if (test::kSanitized) GTEST_SKIP() << "a round through all rows takes minutes";
    const auto comm = make_self_comm();
    const auto always = []() -> Result<bool> { return true; };
    const auto table = probe_engines(*comm, cache_sizes(), 1, always, 1);
    ASSERT_TRUE(table.ok()) << table.status().message();
    for (const Precision precision : {Precision::single, Precision::dbl}) {
        const auto lengths_of = [&](RateShape shape, RateKernel kernel, bool in_batches) {
            std::set<double> lengths;
            for (const RateRow& row : table.value().alike({"ducc0", precision, shape, 1, kernel}))
                if (!in_batches || row.batch_points > 0) lengths.insert(row.n);
            return lengths;
        };
        const auto lines = lengths_of(RateShape::line, RateKernel::c2c, true),
                   real = lengths_of(RateShape::line, RateKernel::half, true),
                   tiles = lengths_of(RateShape::tile, RateKernel::c2c, false);
        for (index_t n = 2; n <= 1024; ++n) {
            if (largest_prime_factor(n) > 7) continue;
            const auto length = static_cast<double>(n);
            EXPECT_TRUE(lines.count(length) && real.count(length) && tiles.count(length)) << n;
        }
        const bool registers = ducc_lines_at_once(precision, vector_bytes()) > 1;
        for (const RateShape few : {RateShape::few_lines, RateShape::few_lanes})
            EXPECT_EQ(lengths_of(few, RateKernel::c2c, false).empty(), !registers);
    }
    std::set<std::tuple<std::string, Precision, RateShape, double, RateKernel, double, Extents>> sorts;
    for (const RateRow& row : table.value())
        EXPECT_TRUE(
            sorts.insert({row.engine, row.precision, row.shape, row.n, row.kernel, row.batch_points, row.box}).second)
            << row.engine << ' ' << row.n;
}

TEST(Probe, HandsACounterOverBetweenTwoAndEndsWithMoreOrLess) {
    for (const int ranks : {1, 2, 3}) {
        std::vector<double> seconds(static_cast<size_t>(ranks), -1);
        ThreadWorld world(ranks);
        world.run([&](int rank, Comm& comm) {
            const auto handover = probe_handover(comm);
            if (handover.ok()) seconds[static_cast<size_t>(rank)] = handover.value();
        });
        for (const double each : seconds) EXPECT_EQ(each, seconds[0]) << ranks << " ranks";
        EXPECT_GE(seconds[0], 0) << ranks << " ranks";
        EXPECT_LT(seconds[0], 0.1) << ranks << " ranks";
        const bool at_once = list_cpus(allowed_cpus()).size() >= static_cast<size_t>(std::max(ranks, 2));
        EXPECT_EQ(seconds[0] > 0, at_once) << ranks << " ranks";
    }
}

// A machine file keeps it; and a processor's rows of a shape that earlier versions measured are left out.
TEST(Probe, KeepsHandoversAndReadsFilesOfEarlierVersions) {
    Machine machine;
    machine.handover_seconds = 1.25e-7;
    const auto again = parse_machine(print_machine(machine) + "engine ducc0 double column 1 16 12.5 c2c 16384\n", {});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again.value().handover_seconds, 1.25e-7);
    EXPECT_TRUE(again.value().engine_rates.empty());
}

TEST(Probe, SeveralRanksSayWhatStepsTakeBesideTheirEngines) {
    for (int ranks : {1, 2, 3}) {
        ThreadWorld world(ranks);
        std::mutex mutex;
        std::set<std::string> texts;
        world.run([&](int, Comm& comm) {
            int asked = 0;
            const auto some = [&]() -> Result<bool> { return asked++ < 3 * 8; };  // the first three sizes
            const auto none = probe_steps(comm, Machine(), [] { return Result<bool>(false); });
            ASSERT_TRUE(none.ok());
            EXPECT_TRUE(none.value().empty());
            Machine machine;
            const auto found = probe_steps(comm, machine, some);
            ASSERT_TRUE(found.ok()) << found.status().message();
            machine.step_slowness = found.value();
            ASSERT_FALSE(machine.step_slowness["any"].empty());
            for (const auto& [sort, points] : machine.step_slowness) {
                EXPECT_TRUE(std::is_sorted(points.begin(), points.end(), [](const auto& a, const auto& b) {
                    return a.bytes < b.bytes;
                })) << sort;
                for (const SlownessPoint& point : points) EXPECT_GT(point.ratio, 0) << sort;
            }
            const std::lock_guard lock(mutex);
            texts.insert(print_machine(machine));
        });
        EXPECT_EQ(texts.size(), 1u);
    }
}

}  // namespace
}  // namespace spanfft::test
