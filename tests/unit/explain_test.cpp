// What a plan says of itself.
#include "exec/explain.hpp"

#include <gtest/gtest.h>

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
