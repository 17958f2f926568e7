// Random problems in little memory; see random_sweeps.hpp.
#include "support/random_sweeps.hpp"

#include <gtest/gtest.h>

namespace spanfft::test {

namespace {

void expect_definition(const Problem& problem, const Values& input, const Values& output) {
    const Values exact = direct_transform(problem, input);
    if (problem.power)
        expect_stored(problem, output, exact);
    else
        EXPECT_LT(error_in_units(problem, output, exact), allowed_error(problem));
}

std::string in_little_memory(Random& random, const std::string& problem, SolverFunction solve) {
    const index_t least = named_memory(problem, solve);
    return cat(problem, " memory=", random.chance(0.5) ? least : least + random.below(least / 2));
}

}  // namespace

void expect_right_in_little_memory(Random& random, RandomProblem any_problem, SolverFunction solve,
                                   const SeePlan& see) {
    const index_t threads = random.between(1, 2);
    const std::string text = in_little_memory(random, cat(any_problem(random), " threads=", threads), solve);
    SCOPED_TRACE(cat(text, ", seed ", random.seed()));
    const StoreRun run = run_on_stores(text, solve, random.chance(0.3) ? 128 : 0, 4096);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    expect_definition(run.plan->problem, run.input, run.output);
    expect_as_predicted(run);
    see(*run.plan);
}

void expect_right_in_little_memory_on_ranks(Random& random, RandomProblem any_problem, SolverFunction solve,
                                            const SeePlan& see) {
    const index_t ranks = random.between(1, 7);
    const std::string text = in_little_memory(random, cat(any_problem(random), " threads=1 ranks=", ranks), solve);
    SCOPED_TRACE(cat(text, ", seed ", random.seed()));
    RanksSetting setting;
    setting.input_offset = random.chance(0.3) ? 128 : 0;
    setting.output_offset = random.chance(0.5) ? 4096 : 128;
    setting.slow_messages = random.chance(0.5);
    const RanksRun run = run_on_ranks(text, solve, setting);
    ASSERT_TRUE(run.planned.ok()) << run.planned.message();
    expect_shared_out(run);
    expect_definition(run.plan->problem, run.input, run.output);
    see(*run.plan);
    RanksDisks disks(*run.plan, run.plan->problem.ranks);
    setting.disks = &disks;
    setting.output_offset = 0;
    const RanksRun journalled = run_on_ranks(text, solve, setting);
    for (const RankSeen& seen : journalled.ranks) ASSERT_TRUE(seen.status.ok()) << seen.status.message();
    const ElemType stored = run.plan->problem.stored_elem();
    EXPECT_TRUE(to_bytes(journalled.output, stored) == to_bytes(run.output, stored));
}

}  // namespace spanfft::test
