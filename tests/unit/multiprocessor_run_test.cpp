// P1's four methods as they run on ranks that are threads: results against the definition, and what each rank sends,
// reads and writes against the prediction, against what was delivered, and against the analysis.
#include <gtest/gtest.h>

#include "permute/multiprocessor.hpp"
#include "solvers/pdm_routes.hpp"
#include "solvers/table.hpp"
#include "support/random.hpp"
#include "support/ranks_store_run.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

struct Method {
    const char* name;
    SolverFunction solve;
    MultiprocessorMethod method;
};
const Method kMethods[] = {
    {"stripe_major_comm", solve_stripe_major_comm, MultiprocessorMethod::stripe_major_comm},
    {"memoryload_major_comm", solve_memoryload_major_comm, MultiprocessorMethod::memoryload_major_comm},
    {"processor_major_nocomm", solve_processor_major_nocomm, MultiprocessorMethod::processor_major_nocomm},
    {"memoryload_major_nocomm", solve_memoryload_major_nocomm, MultiprocessorMethod::memoryload_major_nocomm},
};

// The figures that the plan's note names, as `spanfft analyse` takes them.
MultiprocessorModel noted_model(const Plan& plan) {
    const std::string& note = plan.notes.front();
    const size_t begin = note.find("`spanfft analyse 2^");
    EXPECT_NE(begin, std::string::npos) << note;
    const auto value = [&](const std::string& option, index_t otherwise) {
        const size_t at = note.find(option + " ", begin);
        return at == std::string::npos ? otherwise : std::stoll(note.substr(at + option.size() + 1));
    };
    const auto lg = [](index_t count) { return 63 - __builtin_clzll(static_cast<Word>(count)); };
    MultiprocessorModel model;
    model.n = static_cast<int>(std::stoll(note.substr(begin + 19)));
    model.p = lg(value("--processors", 0));
    model.d = lg(value("--disks", 0));
    model.record_bytes = value("--record-bytes", 16);
    model.b = lg(value("--block-bytes", 0) / model.record_bytes);
    model.memory = lg(value("--memory", 0) / model.record_bytes) + model.p;
    model.mode = note.find(" --sync", begin) != std::string::npos ? IoMode::synchronous : IoMode::asynchronous;
    model.factoring =
        note.find("--factoring shorter", begin) != std::string::npos ? Factoring::shorter : Factoring::published;
    return model;
}

// Counted by each rank, beside the analysis of the same records, memory, blocks, disks and processors.
void expect_as_analysed(const RanksRun& run, const Method& method) {
    const MultiprocessorModel model = noted_model(*run.plan);
    ASSERT_EQ(1 << model.p, run.plan->problem.ranks);
    const auto plan = plan_multiprocessor(method.method, model);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const MultiprocessorCounts analysed = count_traffic(plan.value());
    Traffic butterflies, bmmc, busiest;
    for (size_t rank = 0; rank < run.ranks.size(); ++rank) {
        Traffic mine, in_bmmc;
        index_t parallel_ios = 0;
        for (size_t i = 0; i < run.plan->steps.size(); ++i) {
            const Counts& counts = run.ranks[rank].counted[i];
            const Traffic sent{counts.messages, counts.sent_bytes};
            (std::string(run.plan->steps[i]->type()) == "Sweep" ? mine : in_bmmc) += sent;
            parallel_ios += counts.parallel_ios;
        }
        EXPECT_TRUE(mine == analysed.butterflies) << mine.messages << " messages, " << mine.bytes << " bytes";
        EXPECT_EQ(parallel_ios, analysed.parallel_ios);
        bmmc += in_bmmc;
        if (in_bmmc.bytes > busiest.bytes || (in_bmmc.bytes == busiest.bytes && in_bmmc.messages > busiest.messages))
            busiest = in_bmmc;
    }
    EXPECT_TRUE(bmmc == analysed.bmmc) << bmmc.messages << " messages, " << bmmc.bytes << " bytes";
    EXPECT_TRUE(busiest == analysed.busiest) << busiest.messages << " messages, " << busiest.bytes << " bytes";
    EXPECT_EQ(run.plan->sweeps, analysed.sweeps);
}

RanksRun expect_right(const std::string& text, const Method& method, const RanksSetting& setting = {}) {
    SCOPED_TRACE(text);
    RanksRun run = run_on_ranks(text, method.solve, setting);
    EXPECT_TRUE(run.planned.ok()) << run.planned.message();
    if (!run.planned.ok()) return run;
    expect_shared_out(run);
    if (testing::Test::HasFailure()) return run;
    const Problem& problem = run.plan->problem;
    const Values reference = direct_transform(problem, run.input);
    if (problem.power || problem.stores_other()) {
        expect_stored(problem, run.output, reference);
    } else {
        EXPECT_LT(error_in_units(problem, run.output, reference), allowed_error(problem));
    }
    expect_as_analysed(run, method);
    return run;
}

class MultiprocessorRun : public testing::TestWithParam<Method> {
  protected:
    std::string name() const { return GetParam().name; }
};
void PrintTo(const Method& method, std::ostream* out) { *out << method.name; }

TEST_P(MultiprocessorRun, MatchesTheDefinitionAndTheAnalysisOnEveryNumberOfRanks) {
    for (const int ranks : {1, 2, 4, 8}) {
        for (const int n : {6, 7, 8, 9, 10, 11, 12}) {
            for (const char* options : {":sync", "", ":sync,factoring=shorter,block=16", ":block=16"}) {
                const std::string text =
                    cat("c2c ", index_t{1} << n, n % 2 ? " forward double" : " backward float", " threads=", 1 + n % 2,
                        " memory=48KiB ranks=", ranks, " method=", name(), options);
                if (kSanitized && !sanitized_build_takes(text)) continue;
                RanksSetting setting;
                setting.input_offset = n % 3 ? 128 : 0;
                setting.output_offset = n % 3 ? 4096 : 0;
                expect_right(text, GetParam(), setting);
                if (HasFailure()) return;
            }
        }
    }
}

// Memoryloads of a few records, which no budget would be so small for, as tables take more: many superlevels, of which
// the last is not whole, and every kind of stage in them.
MultiprocessorModel model;
MultiprocessorMethod method_of_model;
Result<std::unique_ptr<Plan>> solve_model(const Problem& problem, const Planner& planner) {
    return plan_of_model(problem, planner, method_of_model, model);
}

TEST_P(MultiprocessorRun, OfManySuperlevels) {
    Random random(1515);
    int deep = 0, high = 0;
    for (int p = 0; p <= 3; ++p) {
        for (int n = p + 4; n <= 10; n += kSanitized ? 3 : 2) {
            for (int m = p + 1; m < std::min(n, p + 5); ++m) {
                const int d = p + (m > p && random.chance(0.4)), b = static_cast<int>(random.between(0, m - d));
                const IoMode mode = random.chance(0.5) ? IoMode::synchronous : IoMode::asynchronous;
                const bool wide = random.chance(0.5);
                model = {n,
                         m + MultiprocessorModel::lg_buffers(mode),
                         b == m ? b - 1 : b,
                         d,
                         p,
                         wide ? 16 : 8,
                         mode,
                         random.chance(0.7) ? Factoring::published : Factoring::shorter};
                method_of_model = GetParam().method;
                if (!plan_multiprocessor(GetParam().method, model).ok()) continue;
                const std::vector<const char*> rests{"forward", "backward norm=ortho", "backward",
                                                     "forward norm=forward", "forward power"};
                const std::string text =
                    cat("c2c ", index_t{1} << n, " ", random.pick(rests), wide ? " double" : " float",
                        " threads=", random.between(1, 2), " memory=1MiB ranks=", 1 << p);
                SCOPED_TRACE(cat("m=", m, " b=", model.b, " d=", d));
                const RanksRun run = expect_right(text, {GetParam().name, solve_model, GetParam().method}, {128, 4096});
                ASSERT_FALSE(HasFailure()) << "seed " << random.seed();
                index_t levels = 0;
                for (const auto& step : run.plan->steps) levels += std::string(step->type()) == "Sweep";
                deep += levels > 3;
                high += GetParam().method == MultiprocessorMethod::stripe_major_comm && p > 0 && model.b + d < m;
            }
        }
    }
    EXPECT_GE(deep, kSanitized ? 1 : 8);
    const bool has_high = GetParam().method == MultiprocessorMethod::stripe_major_comm;  // bits above the rank's
    EXPECT_GE(high, !has_high ? 0 : kSanitized ? 1 : 10);
}

TEST_P(MultiprocessorRun, OfLongerArrays) {
    const std::string text = cat("c2c 262144 forward double memory=512KiB threads=2 ranks=4 method=", name());
    expect_right(text, GetParam(), {128, 4096});
    if (!kSanitized) expect_right(text + ":sync,disks=8,block=1KiB", GetParam());
}

// P1's figure 7, whose array is 512 MiB, from the plan of such a run, and a run of a 4096th of it all.
TEST_P(MultiprocessorRun, HasTheFiguresOfP1) {
    Machine machine;
    const auto plan = GetParam().solve(
        Problem::parse(
            cat("c2c 33554432 forward double memory=16MiB threads=1 ranks=4 method=", name(), ":sync,block=4KiB"))
            .value(),
        Planner(machine));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    struct Row {
        index_t messages, megabytes, bmmc_messages, bmmc_megabytes;
    };
    const Row printed[] = {{64, 268, 480, 503}, {64, 268, 504, 603}, {0, 0, 480, 503}, {0, 0, 480, 503}};
    const Row& row = printed[static_cast<size_t>(GetParam().method)];
    for (int rank = 0; rank < 4; ++rank) {
        Traffic butterflies, bmmc;
        for (const auto& step : plan.value()->steps) {
            const Counts counts = step->predict(rank);
            (std::string(step->type()) == "Sweep" ? butterflies : bmmc) += {counts.messages, counts.sent_bytes};
        }
        EXPECT_EQ(butterflies.messages, row.messages);
        EXPECT_EQ(butterflies.bytes / 1000000, row.megabytes);
        EXPECT_EQ(bmmc.messages, row.bmmc_messages);
        EXPECT_EQ(bmmc.bytes / 1000000, row.bmmc_megabytes);
    }
    EXPECT_LE(plan.value()->peak_memory_bytes(0), 16 << 20);
}

TEST_P(MultiprocessorRun, TakesTheSmallestMemoryThatItNames) {
    for (const char* rest : {"c2c 65536 forward double ranks=4", "c2c 1024 forward float ranks=2", "c2c 4096 ranks=1",
                             "c2c 1048576 backward double ranks=8"}) {
        for (const char* options : {"", ":sync,block=256", ":disks=16"}) {
            const std::string text = cat(rest, " threads=1 method=", name(), options);
            SCOPED_TRACE(text);
            const auto planned = [&](const std::string& memory) {
                return GetParam().solve(Problem::parse(text + " memory=" + memory).value(), Planner(Machine()));
            };
            const Status refused = planned("64").status();
            ASSERT_EQ(refused.code(), Code::out_of_memory) << refused.message();
            const std::string needed =
                std::to_string(std::stoll(refused.message().substr(refused.message().rfind('(') + 1)));
            const auto plan = planned(needed);
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            EXPECT_LE(plan.value()->peak_memory_bytes(0), std::stoll(needed));
        }
    }
}

TEST_P(MultiprocessorRun, SaysWhatItDoesNotDo) {
    const auto refused = [&](const std::string& text) {
        return GetParam().solve(Problem::parse(text).value(), Planner(Machine())).status();
    };
    const auto expect = [&](const std::string& text, Code code, const std::vector<std::string>& words) {
        const Status status = refused(text);
        EXPECT_EQ(status.code(), code) << status.message();
        for (const std::string& word : words)
            EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    };
    expect("c2c 1000 memory=1MiB ranks=2", Code::unsupported, {name(), "1000 is none", "1024"});
    expect("c2c 1024 memory=1MiB ranks=3", Code::unsupported, {"power of two of ranks", "3 is none", "run it on 2"});
    expect("c2c 1024 memory=1MiB ranks=6", Code::unsupported, {"run it on 4"});
    expect("r2c 1024 memory=1MiB ranks=2", Code::unsupported, {"not r2c"});
    expect("c2c 32x32 memory=1MiB ranks=2", Code::unsupported, {"not 32x32"});
    expect(cat("c2c 1024 memory=1MiB ranks=4 method=", name(), ":disks=2"), Code::invalid_argument,
           {"4 ranks can't share 2 disks", "disks=4"});
    expect(cat("c2c 1024 memory=1MiB ranks=4 method=", name(), ":disks=6"), Code::invalid_argument,
           {"disks=6", "power of two"});
    expect(cat("c2c 1024 memory=1MiB ranks=4 method=", name(), ":block=100"), Code::invalid_argument, {"100 bytes"});
    expect(cat("c2c 1024 memory=1MiB ranks=4 method=", name(), ":fast"), Code::invalid_argument,
           {"'fast' is not understood", "factoring=shorter"});
    expect("c2c 1024 memory=100 ranks=4", Code::out_of_memory, {name(), "it needs at least"});
    expect(cat("c2c 1024 memory=1MiB ranks=4 method=", name(), ":block=64KiB"), Code::unsupported, {"smaller blocks"});
}

INSTANTIATE_TEST_SUITE_P(Methods, MultiprocessorRun, testing::ValuesIn(kMethods),
                         [](const auto& each) { return std::string(each.param.name); });

// In communication methods ranks exchange in the stages of their bits, in the others never.
TEST(MultiprocessorRuns, OnlyTheMethodsWithCommunicationSendInSuperlevels) {
    for (const Method& method : kMethods) {
        const auto plan =
            method.solve(Problem::parse("c2c 65536 memory=64KiB threads=1 ranks=4").value(), Planner(Machine()));
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        index_t stages = 0;
        for (const auto& step : plan.value()->steps)
            stages += step->describe().find(" stages between ranks") != std::string::npos;
        const bool communicates = std::string(method.name).find("nocomm") == std::string::npos;
        EXPECT_EQ(stages > 0, communicates) << method.name;
    }
}

// Where another solver answers, plans are what they were; by its name each is taken, and where no other can, the one
// with the fewest predicted seconds.
TEST(MultiprocessorRuns, AreTheLastResortOfThePlanner) {
    const Planner planner{Machine()};
    const auto plan = planner.plan(Problem::parse("c2c 65536 memory=256KiB ranks=4 threads=1").value());
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    for (const Method& method : kMethods) {
        EXPECT_NE(plan.value()->solver, method.name);
        const auto forced =
            planner.plan(Problem::parse(cat("c2c 65536 memory=256KiB ranks=4 threads=1 method=", method.name)).value());
        ASSERT_TRUE(forced.ok()) << forced.status().message();
        EXPECT_EQ(forced.value()->solver, method.name);
    }
    std::vector<std::string> last;
    for (const Solver& solver : solver_table()) {
        if (solver.last_resort) last.push_back(solver.name);
    }
    EXPECT_EQ(last.size(), 4U);
    int chosen = 0;
    for (index_t kib = 4; kib < 64; kib += kPointStep) {
        const auto only = planner.plan(Problem::parse(cat("c2c 4096 memory=", kib, "KiB ranks=4 threads=1")).value());
        if (!only.ok() || only.value()->solver.find("_major_") == std::string::npos) continue;
        ++chosen;
        std::vector<std::string> asked;
        for (const Alternative& each : only.value()->alternatives) {
            asked.push_back(each.solver);
            EXPECT_GE(each.seconds, only.value()->predicted_seconds());
        }
        EXPECT_GE(asked.size(), 1U);
    }
    EXPECT_GT(chosen, 0);
}

// One process has `superlevels`, and these only by name.
TEST(MultiprocessorRuns, AreNotAskedInOneProcess) {
    const auto plan = Planner(Machine()).plan(Problem::parse("c2c 65536 memory=64KiB threads=1").value());
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    for (const Alternative& each : plan.value()->alternatives)
        EXPECT_EQ(each.solver.find("_major_"), std::string::npos);
}

}  // namespace
}  // namespace spanfft::test
