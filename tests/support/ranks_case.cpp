// See ranks_case.hpp.
#include "support/ranks_case.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/sanitized.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft::test {

std::unique_ptr<Plan> plan_of(const std::string& problem, SolverFunction solve) {
    auto plan = solve(Problem::parse(problem).value(), Planner(Machine()));
    EXPECT_TRUE(plan.ok()) << problem << ": " << plan.status().message();
    return plan.ok() ? std::move(plan).value() : nullptr;
}

const SweepSpec& spec_of(const Plan& plan, size_t step) {
    return dynamic_cast<const SweepStep&>(*plan.steps[step]).spec();
}

void expect_right_on_ranks(const SweepCase& c, SolverFunction solve, bool exchanges) {
    Values reference;  // the same for all, and what takes longest
    for (const int ranks : kSanitized ? std::vector{2, 5} : std::vector{1, 2, 3, 4, 5, 7}) {
        const std::string text = cat(c.problem, " memory=", c.memory, " ranks=", ranks);
        SCOPED_TRACE(text);
        RanksSetting setting;
        setting.input_offset = c.input_offset;
        setting.output_offset = c.output_offset;
        const RanksRun run = run_on_ranks(text, solve, setting);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        const Problem& problem = run.plan->problem;
        ASSERT_EQ(problem.ranks, ranks);
        EXPECT_EQ(run.exchanges(), exchanges && ranks > 1);
        if (reference.empty()) reference = direct_transform(problem, run.input);
        if (problem.power || problem.stores_other()) {
            expect_stored(problem, run.output, reference);
        } else {
            const Values output = in_natural_order(*run.plan, run.output);
            EXPECT_LT(error_in_units(problem, output, reference), allowed_error(problem));
        }
        expect_shared_out(run);
    }
}

}  // namespace spanfft::test
