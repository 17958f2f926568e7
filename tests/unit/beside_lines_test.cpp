// SharedTransform with another transform beside it, block by block, on simulated ranks: against the transforms'
// definitions, with caches so small that arrays of some kilobytes are many blocks.
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/explain.hpp"
#include "plan/planner.hpp"
#include "support/oracle.hpp"

namespace spanfft::test {
namespace {

Caches small_caches(index_t bytes) {
    Caches caches;
    caches.l1_bytes = bytes / 2;
    caches.l2_bytes = bytes;
    caches.l3_bytes = 64 * bytes;
    return caches;
}

std::unique_ptr<Plan> planned(const std::string& text, const Caches& caches) {
    Machine machine = this_machine();
    machine.caches = caches;
    auto plan = Planner(machine).plan(Problem::parse(text).value());
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return std::move(plan).value();
}

int blocked_steps(const Plan& plan) {
    return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(), [](const auto& step) {
        return std::string(step->type()) == "SharedTransform" && !step->children().empty();
    }));
}

// Both directions, and at least one step of each in blocks.
void check(const std::string& text, index_t cache_bytes) {
    const Caches caches = small_caches(cache_bytes);
    for (const std::string direction : {" forward", " backward"}) {
        const std::string all = text + direction + " exchange=shared";
        EXPECT_GT(blocked_steps(*planned(all, caches)), 0) << all;
        check_plan(Problem::parse(all).value(), 20261124, 0, caches);
    }
}

TEST(BesideLines, EveryGridOfPencilsKindAndOwnerOfTheArrays) {
    for (const std::string grid : {"2x2", "3x2", "2x3", "2x1x3", "1x2x3"}) {
        const int ranks = grid == "2x2" ? 4 : 6;
        for (const std::string kind : {"c2c", "r2c"}) {
            if (kind == "r2c" && grid.size() > 3) continue;  // the halved axis stays undivided
            for (const std::string options : {"", "own_output", "in_place"}) {
                if (kind == "r2c" && options == "in_place") continue;
                check(cat(kind, " 9x10x12 ranks=", ranks, " grid=", grid, " ", options), 512);
            }
        }
    }
}

TEST(BesideLines, BlocksOfOnePlaneOfSomeAndOfUnequalNumbers) {
    // 7 planes of 6 x 10 and of 4 x 6 complex numbers on the fullest rank.
    for (const index_t cache_bytes : {500, 1000, 1500, 3000}) check("c2c 13x11x10 ranks=4 grid=2x2", cache_bytes);
    for (const index_t cache_bytes : {200, 500, 1000, 1300})
        check("r2c 13x11x10 ranks=6 grid=2x3 own_output", cache_bytes);
}

TEST(BesideLines, FourAxesBatchesAndKinds) {
    check("c2c 5x6x7x8 ranks=4 grid=2x2", 2048);
    check("c2c 5x6x7x8 ranks=8 grid=2x2x2", 1024);
    check("c2c 9x10x12 batch=2 ranks=4 grid=2x2", 1024);
    check("c2c,dct2,c2c 9x10x12 ranks=4 grid=2x2", 1024);
    check("c2c 9x10x12 float threads=2 ranks=4 grid=2x2", 512);
}

TEST(BesideLines, MoreRanksThanPlanes) {
    check("c2c 3x12x12 ranks=8 grid=2x4", 300);
    check("c2c 8x3x12 ranks=8 grid=2x4", 200);
}

// 2x2 pencils of an array that fits no cache: three axes in two sweeps, as many as slabs take.
TEST(BesideLines, PencilsTakeTwoSweepsOfMemory) {
    Caches caches;
    caches.l1_bytes = index_t{32} << 10;
    caches.l2_bytes = index_t{1} << 20;
    caches.l3_bytes = index_t{32} << 20;
    const index_t bytes = 16 * 256 * 256 * 256 / 4;
    for (const std::string direction : {"", " backward"}) {
        const std::string text = "c2c 256x256x256 ranks=4 own_output exchange=shared" + direction;
        const auto slabs = planned(text + " grid=4", caches), pencils = planned(text + " grid=2x2", caches);
        EXPECT_EQ(slabs->predict(0).memory_bytes, 4 * bytes);
        EXPECT_EQ(pencils->predict(0).memory_bytes, 4 * bytes) << explain(*pencils, 0, {});
        EXPECT_EQ(pencils->steps.size(), 2U);
    }
    EXPECT_EQ(blocked_steps(*planned("c2c 64x64x64 ranks=4 grid=2x2 exchange=shared", caches)), 0);  // fits a cache
}

}  // namespace
}  // namespace spanfft::test
