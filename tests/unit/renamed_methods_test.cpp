// Names that methods had before: refused with the name of now in problems, understood in what was written then.
#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "plan/renamed_methods.hpp"
#include "solvers/table.hpp"

namespace spanfft::test {
namespace {

constexpr std::pair<const char*, const char*> kNames[] = {{"two_pass", "two_sweeps"},
                                                          {"row_passes", "two_sweeps"},
                                                          {"axis_passes", "axis_sweeps"},
                                                          {"many_passes", "many_sweeps"},
                                                          {"chirp_passes", "chirp_sweeps"}};

TEST(RenamedMethods, AreRefusedWithTheNameOfNow) {
    const Planner planner((Machine()));
    for (const auto& [before, now] : kNames) {
        for (const char* parameters : {"", ":sync"}) {
            const std::string text = std::string("c2c 4096 memory=64KiB method=") + before + parameters;
            const auto plan = planner.plan(Problem::parse(text).value());
            EXPECT_EQ(plan.status().code(), Code::invalid_argument);
            EXPECT_EQ(plan.status().message(),
                      std::string("method '") + before + "' is called " + now + " now; write method=" + now);
        }
    }
}

TEST(RenamedMethods, LeadToMethodsThatThereAre) {
    for (const auto& [before, now] : kNames) {
        EXPECT_EQ(name_now(before), now);
        EXPECT_EQ(name_now(now), "");
        const auto& table = solver_table();
        EXPECT_TRUE(
            std::any_of(table.begin(), table.end(), [&](const Solver& s) { return s.name == name_now(before); }));
        EXPECT_FALSE(
            std::any_of(table.begin(), table.end(), [&](const Solver& s) { return s.name == std::string(before); }));
    }
}

TEST(RenamedMethods, AreReadInProblemsOfBefore) {
    EXPECT_EQ(with_name_now("c2c 64 method=two_pass"), "c2c 64 method=two_sweeps");
    EXPECT_EQ(with_name_now("c2c 64 method=many_passes:x io=uring"), "c2c 64 method=many_sweeps:x io=uring");
    for (const char* same : {"c2c 64", "c2c 64 method=superlevels:sync", "c2c 64 method=two_passes", "", " method="})
        EXPECT_EQ(with_name_now(same), same);
}

}  // namespace
}  // namespace spanfft::test
