// What tests of sweeps over simulated disks have in common; see sweep_case.hpp.
#include "support/sweep_case.hpp"

#include <gtest/gtest.h>

namespace spanfft::test {

void PrintTo(const SweepCase& c, std::ostream* out) { *out << c.problem << " memory=" << c.memory; }

Values in_natural_order(const Plan& plan, const Values& exchanged) {
    if (!plan.leaves_exchanged) return exchanged;
    const std::string& note = plan.notes.at(0);
    const index_t n1 = std::stoll(note.substr(note.find("n1 = ") + 5)),
                  n2 = std::stoll(note.substr(note.find("n2 = ") + 5));
    Values natural = exchanged;
    for (size_t i = 0; i < exchanged.size(); ++i) {
        const auto at = static_cast<index_t>(i), in_line = at % (n1 * n2);
        natural[static_cast<size_t>(at - in_line + in_line / n2 + n1 * (in_line % n2))] = exchanged[i];
    }
    return natural;
}

void expect_right(const SweepCase& c, SolverFunction solve) {
    const StoreRun run =
        run_on_stores(std::string(c.problem) + " memory=" + c.memory, solve, c.input_offset, c.output_offset);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    const Problem& problem = run.plan->problem;
    const Values output = in_natural_order(*run.plan, run.output);
    EXPECT_LT(error_in_units(problem, output, direct_transform(problem, run.input)), allowed_error(problem));
    expect_as_predicted(run);
}

index_t named_memory(const std::string& problem, SolverFunction solve) {
    Machine machine;
    machine.cores = 2;
    const auto refused = solve(Problem::parse(problem + " memory=4KiB").value(), Planner(machine));
    EXPECT_EQ(refused.status().code(), Code::out_of_memory);
    const std::string message = refused.status().message();
    const size_t at = message.rfind('(');
    EXPECT_NE(at, std::string::npos) << message;
    return at == std::string::npos ? 0 : std::stoll(message.substr(at + 1));
}

bool splits_an_axis(const Plan& plan) { return plan.steps.size() > plan.problem.axes.size(); }

void expect_smallest_memory(const std::string& problem, SolverFunction solve) {
    const index_t memory = named_memory(problem, solve);
    expect_right({problem.c_str(), std::to_string(memory).c_str()}, solve);
    Machine machine;
    machine.cores = 2;
    const std::string less = problem + " memory=" + std::to_string(memory - 1);
    EXPECT_FALSE(solve(Problem::parse(less).value(), Planner(machine)).ok()) << less;
}

}  // namespace spanfft::test
