// A forced engine is the one that runs: by the counters of the engines themselves, not by what the plan says.
#include <gtest/gtest.h>

#include <map>

#include "core/status.hpp"
#include "engine/engine.hpp"
#include "support/oracle.hpp"

namespace spanfft::test {
namespace {

std::map<std::string, index_t> executions() {
    std::map<std::string, index_t> all;
    for (const auto& engine : engines()) all[engine->name()] = engine->executions();
    return all;
}

TEST(EngineExecutions, AForcedEngineRunsAndNoOther) {
    for (const auto& forced : engines()) {
        for (const char* problem : {"c2c 6x5x4", "r2c 7x6x5 ranks=3", "c2c 6x5 ranks=2 exchange=shared"}) {
            const auto before = executions();
            check_plan(cat(problem, " engine=", forced->name()));
            for (const auto& [name, count] : executions()) {
                if (name == forced->name()) {
                    EXPECT_GT(count, before.at(name)) << problem << " with " << forced->name();
                } else {
                    EXPECT_EQ(count, before.at(name)) << problem << " with " << forced->name() << " ran " << name;
                }
            }
        }
    }
}

}  // namespace
}  // namespace spanfft::test
