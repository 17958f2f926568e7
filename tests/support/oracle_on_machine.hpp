// The bench of oracle.hpp for plans that are made for another machine than this one: with other caches, say, so that
// short lines are done as long ones are.
#pragma once

#include "plan/machine.hpp"
#include "support/oracle.hpp"

namespace spanfft::test {

// As run_on_threads; the machine's topology holds for the ranks.
PlanRun run_on_machine(const Problem& problem, const Machine& machine, const Wides& input, int times = 1,
                       const std::vector<Wides>& others = {});

// As check_plan.
void check_plan_on(const Machine& machine, const std::string& problem_text);

}  // namespace spanfft::test
