// A problem on simulated disks and on several numbers of ranks, and what is expected of any solver that shares it out.
#pragma once

#include <memory>
#include <string>

#include "support/ranks_store_run.hpp"
#include "support/sweep_case.hpp"
#include "sweeps/sweep_spec.hpp"

namespace spanfft::test {

// As ranks with so much memory each plan it, and the sweep that a step of such a plan is.
std::unique_ptr<Plan> plan_of(const std::string& problem, SolverFunction solve);
const SweepSpec& spec_of(const Plan& plan, size_t step);

// On 1 to 7 ranks what the definition says, within the accuracy rule; counted as predicted, and shared out.
// `exchanges`: whether several exchange blocks.
void expect_right_on_ranks(const SweepCase& c, SolverFunction solve, bool exchanges);

}  // namespace spanfft::test
