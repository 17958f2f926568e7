// Ranks with journals that all die at once, as by kill -9, at any write, and go on from what is in their stores: to the
// same bits, with each rank as far as its own journal says.
#include <gtest/gtest.h>

#include "solvers/table.hpp"
#include "support/ranks_store_run.hpp"
#include "support/sanitized.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft::test {
namespace {

enum class Last { together, in_place, other };  // what the last sweep does

struct KilledRoute {
    const char* problem;
    SolverFunction solve;
    Last last;
    bool slow_messages = false;
};

// In many panels, of which each rank's journal notes some at a time.
const KilledRoute kKilledRoutes[] = {
    {"c2c 128x96 forward double memory=33KiB threads=1 ranks=2", solve_axis_sweeps, Last::together},
    {"c2c 128x96 backward float norm=ortho memory=24KiB threads=1 ranks=3", solve_axis_sweeps, Last::together},
    {"r2c 32x480 forward double axes=0,1 memory=40KiB threads=1 ranks=3", solve_axis_sweeps, Last::together},
    {"c2c 32x16x24 backward double memory=43KiB threads=1 ranks=5", solve_axis_sweeps, Last::together},
    {"c2c 65536 backward double memory=727KiB threads=1 ranks=5", solve_two_sweeps, Last::together},
    {"c2c 12x70x96 forward double axes=1,2 memory=64KiB threads=1 ranks=3", solve_axis_sweeps, Last::together},
    {"c2c 5x70x96 forward float axes=1,2 memory=40KiB threads=1 ranks=2", solve_axis_sweeps, Last::together},
    {"c2c 12x70x96 forward double axes=1,2 memory=64KiB threads=1 ranks=3", solve_axis_sweeps, Last::in_place, true},
    {"c2c 3x4096 forward double memory=96KiB threads=1 ranks=2", solve_axis_sweeps, Last::in_place},
    {"c2c 1200 forward double memory=40KiB threads=1 ranks=3", solve_two_sweeps, Last::other},
    {"r2c 1728 forward double memory=80KiB threads=1 ranks=3 disks=1", solve_many_sweeps, Last::other},
    {"c2c 134 forward double memory=48KiB threads=1 ranks=3", solve_chirp_sweeps, Last::other},
    {"c2c 10000 forward double memory=144KiB threads=1 ranks=2 disks=1", solve_many_sweeps, Last::in_place},
    // Slabs in the middle, which are in place as well.
    {"c2c 10000 forward double memory=144KiB threads=1 ranks=2", solve_many_sweeps, Last::in_place},
    {"c2c 65536 forward double memory=400KiB threads=1 ranks=2", solve_many_sweeps, Last::together},
    {"c2c 65536 forward double memory=400KiB threads=1 ranks=2", solve_many_sweeps, Last::in_place, true},
    {"c2c 2x4096 backward double axes=1 memory=160KiB threads=1 ranks=3", solve_many_sweeps, Last::together},
    {"r2c 131072 forward double memory=600KiB threads=1 ranks=2", solve_many_sweeps, Last::other},
    {"r2c 2x8192 forward float axes=1 memory=160KiB threads=1 ranks=3", solve_many_sweeps, Last::other},
    // An axis that is split, after others, which are behind the output, or before them.
    {"r2c 36x8192 forward float memory=720KiB threads=1 ranks=2", solve_axis_sweeps, Last::in_place},
    {"c2r 36x8192 backward float memory=720KiB threads=1 ranks=2", solve_axis_sweeps, Last::other},
    {"r2c 8x2048x4 forward double axes=1,0 memory=80KiB threads=1 ranks=2", solve_axis_sweeps, Last::in_place},
    {"r2c 6x1024 forward double axes=1,0 memory=46KiB threads=1 ranks=2", solve_axis_sweeps, Last::other},
    {"c2r 3x4096 backward double memory=48KiB threads=1 ranks=3", solve_axis_sweeps, Last::other},
    {"c2c 3x1021 backward double memory=64KiB threads=1 ranks=2", solve_axis_sweeps, Last::in_place},
    {"r2c 180x62 forward double memory=80KiB threads=1 ranks=3", solve_two_sweeps, Last::together},  // rows apart
    {"c2r 180x62 backward double memory=80KiB threads=1 ranks=2", solve_two_sweeps, Last::other},
};

class RanksThatAllDie : public testing::TestWithParam<KilledRoute> {};
void PrintTo(const KilledRoute& route, std::ostream* out) { *out << route.problem; }

TEST_P(RanksThatAllDie, GoOnToTheSameBits) {
    const KilledRoute& route = GetParam();
    RanksSetting setting;
    setting.slow_messages = route.slow_messages;
    const RanksRun whole = run_on_ranks(route.problem, route.solve, setting);
    ASSERT_TRUE(whole.planned.ok()) << whole.planned.message();
    expect_shared_out(whole);
    const auto* const last = dynamic_cast<const SweepStep*>(whole.plan->steps.back().get());
    ASSERT_TRUE(last);
    const Last does = last->spec().gives_back()           ? Last::together
                      : last->spec().target.is_in_place() ? Last::in_place
                                                          : Last::other;
    ASSERT_EQ(does, route.last);
    const int ranks = whole.plan->problem.ranks;
    const ElemType stored = whole.plan->problem.stored_elem();

    RanksDisks undisturbed(*whole.plan, ranks);
    setting.disks = &undisturbed;
    ASSERT_TRUE(run_on_ranks(route.problem, route.solve, setting).ranks[0].status.ok());
    const index_t writes = undisturbed.writes;

    index_t gone_on = 0, apart = 0;  // deaths at which panels were done, and not as many of each rank
    for (index_t at = 0; at < writes; at += kPointStep * ceil_div(writes, 30)) {
        SCOPED_TRACE(cat("dead after ", at, " writes"));
        RanksDisks disks(*whole.plan, ranks);
        setting.disks = &disks;
        for (const index_t dies_at : {at, at / 3}) {  // and again, on the way
            disks.dies_at = dies_at;
            const RanksRun killed = run_on_ranks(route.problem, route.solve, setting);
            for (const RankSeen& seen : killed.ranks)
                ASSERT_EQ(seen.status.ok(), !disks.dead()) << seen.status.message();
        }
        for (const auto& journal : disks.lines) {
            gone_on += !journal.empty();
            apart += journal != disks.lines[0];
        }
        disks.dies_at = -1;
        const RanksRun rest = run_on_ranks(route.problem, route.solve, setting);
        for (const RankSeen& seen : rest.ranks) ASSERT_TRUE(seen.status.ok()) << seen.status.message();
        ASSERT_TRUE(to_bytes(rest.output, stored) == to_bytes(whole.output, stored));
    }
    EXPECT_GE(kPointStep * gone_on, 20);
    EXPECT_GE(kPointStep * apart, 5);
}

INSTANTIATE_TEST_SUITE_P(Routes, RanksThatAllDie, testing::ValuesIn(kKilledRoutes));

}  // namespace
}  // namespace spanfft::test
