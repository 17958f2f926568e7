// What a plan says of itself.
#include "exec/explain.hpp"

#include <gtest/gtest.h>

#include <set>

#include "exec/executor.hpp"
#include "plan/planner.hpp"
#include "support/oracle.hpp"

namespace spanfft::test {
namespace {

std::unique_ptr<Plan> plan(const std::string& text) {
    return Planner(this_machine()).plan(Problem::parse(text).value()).value();
}

bool has(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

TEST(Explain, BeforeARunShowsProblemLayoutsAndPredictions) {
    const auto p = plan("r2c 8x8x8 ranks=2 grid=2 exchange=alltoallw engine=ducc0");
    const std::string text = explain(*p, 1, std::nullopt);
    for (const std::string word :
         {"problem  r2c 8x8x8 forward double ranks=2 grid=2", "solver   pencil", "input    [8/2, 8, 8] real double",
          "output   [8/2, 8, 5] complex double", "on rank 1", "rank 1 of 2", "predicted",
          "Exchange  alltoallw in groups of 2", "Transform  r2c axes", "by ducc0", "messages to other ranks",
          "bytes through memory", "total"}) {
        EXPECT_TRUE(has(text, word)) << "lacks '" << word << "':\n" << text;
    }
    EXPECT_FALSE(has(text, "counted"));
}

TEST(Explain, AfterARunShowsPredictedBesideCounted) {
    const Problem problem = Problem::parse("c2c 8x8 ranks=2 grid=2 exchange=alltoallv threads=1").value();
    Random random(61);
    const PlanRun run = run_on_threads(problem, random_input(random, problem));
    ASSERT_TRUE(run.status.ok());
    EXPECT_TRUE(has(run.explained, "counted"));
    // The exchange of rank 0: one message of half of its 4x8 complex numbers, predicted and counted; twice in all.
    EXPECT_TRUE(has(run.explained, "bytes to other ranks                       256                 256"))
        << run.explained;
    EXPECT_TRUE(has(run.explained, "bytes to other ranks                       512                 512"))
        << run.explained;
}

Machine even_machine() {
    Machine machine;
    machine.memory_bytes_per_second = machine.shared_memory_bytes_per_second = 1e9;
    machine.engine_rates = {{"ducc0", Precision::dbl, RateShape::line, 1, 1024, 10}};
    machine.exchanges = {{"alltoallv", {{1e-6, 1e-9, {}}, {1e-5, 1e-8, {{1024, 4e-8}, {65536, 2e-8}}}, true}}};
    machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e8;
    machine.disk_request_seconds = 1.6e-3;
    return machine;
}

TEST(Explain, AStepIsLimitedByWhatTakesLongestAtItsBest) {
    const Machine machine = even_machine();
    const Peaks alone = peaks_of(machine, Precision::dbl, 1, 1, 1);
    Counts counts;
    EXPECT_STREQ(limit_of(counts, alone).name, "");
    counts.flops = 1e7;  // 1 ms
    EXPECT_STREQ(limit_of(counts, alone).name, "flops");
    EXPECT_DOUBLE_EQ(limit_of(counts, alone).seconds, 1e-3);
    counts.memory_bytes = 4'000'000;  // read and written: 2 ms
    EXPECT_STREQ(limit_of(counts, alone).name, "memory");
    EXPECT_DOUBLE_EQ(limit_of(counts, alone).seconds, 2e-3);
    EXPECT_DOUBLE_EQ(limit_of(counts, peaks_of(machine, Precision::dbl, 1, 2, 1)).seconds, 1e-3);  // two threads copy
    counts.sent_bytes = 3'000'000;                                                                 // 3 ms
    EXPECT_STREQ(limit_of(counts, alone).name, "wire");
    EXPECT_DOUBLE_EQ(limit_of(counts, alone).seconds, 3e-3);
    counts.messages = 4000;  // 4 ms
    EXPECT_STREQ(limit_of(counts, alone).name, "latency");
    EXPECT_DOUBLE_EQ(limit_of(counts, alone).seconds, 4e-3);
    counts.disk_read_bytes = counts.disk_written_bytes = 200'000;
    counts.disk_reads = counts.disk_writes = 5;  // 4 ms for bytes and 1 ms for requests, 16 at once
    EXPECT_STREQ(limit_of(counts, alone).name, "disk");
    EXPECT_DOUBLE_EQ(limit_of(counts, alone).seconds, 5e-3);
    EXPECT_DOUBLE_EQ(limit_of(counts, peaks_of(machine, Precision::dbl, 2, 1, 4)).seconds, 4e-3);  // of the messages
    EXPECT_DOUBLE_EQ(limit_of(counts, peaks_of(machine, Precision::dbl, 2, 1, 1)).seconds, 1e-2);  // ranks share it
}

TEST(Explain, BetweenNodesTheWireIsTheBestPointOfItsCurve) {
    Machine machine = even_machine();
    machine.topology.ranks_per_node = 1;
    Counts counts;
    counts.sent_bytes = 1'000'000;
    EXPECT_DOUBLE_EQ(limit_of(counts, peaks_of(machine, Precision::dbl, 2, 1, 1)).seconds, 2e-2);
}

TEST(Explain, PlansOfEveryKindNameTheLimitOfEachStep) {
    Machine slow_engine = even_machine(), slow_wire = even_machine(), slow_messages = even_machine();
    slow_engine.engine_rates = {{"ducc0", Precision::dbl, RateShape::line, 1, 1024, 0.1}};
    slow_wire.exchanges["alltoallv"].near.seconds_per_byte = 1e-6;
    slow_messages.exchanges["alltoallv"].near.latency_seconds = 1;
    std::set<std::string> met;
    for (const Machine& machine : {even_machine(), slow_engine, slow_wire, slow_messages}) {
        for (const char* text : {"c2c 128x128x128 threads=1", "c2c 256x256 ranks=4 grid=4 exchange=alltoallv threads=1",
                                 "c2c 4096 ranks=4 threads=1", "c2c 2097152 memory=4MiB threads=1"}) {
            const auto p = Planner(machine).plan(Problem::parse(text).value()).value();
            for (const auto& step : p->steps) {
                const StepLimit limit = limit_of(step->predict(0), p->peaks);
                EXPECT_GT(limit.seconds, 0) << text << ": " << step->describe();
                EXPECT_TRUE(has(explain(*p, 0, std::nullopt), cat("of the limit, ", limit.name)));
                met.insert(limit.name);
            }
        }
    }
    EXPECT_EQ(met, (std::set<std::string>{"flops", "memory", "wire", "latency", "disk"}));
}

TEST(Explain, GroupsDigitsByThree) {
    const std::string text = explain(*plan("c2c 1024x1024 engine=ducc0 threads=1"), 0, std::nullopt);
    EXPECT_TRUE(has(text, "33 554 432")) << text;  // 2 * 16 MiB through memory
}

TEST(Explain, LinesAreTheStepsDepthFirst) {
    const auto p = plan("c2c 8x8 ranks=2 grid=2");
    const auto lines = plan_lines(*p);
    ASSERT_EQ(lines.size(), p->steps.size());
    for (size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i].depth, 0);
        EXPECT_EQ(lines[i].step, p->steps[i].get());
        EXPECT_EQ(lines[i].index, static_cast<int>(i));
    }
}

TEST(Explain, EveryStepDescribesItselfInOneLine) {
    for (const char* text :
         {"r2c 6x5x4 ranks=3 norm=ortho", "dct2 6x5 in_place", "c2r 8", "c2c 8x8 ranks=2 in_place output=exchanged"}) {
        const auto p = plan(text);
        for (const auto& step : p->steps) {
            EXPECT_FALSE(step->describe().empty());
            EXPECT_FALSE(has(step->describe(), "\n")) << step->describe();
        }
    }
}

}  // namespace
}  // namespace spanfft::test
