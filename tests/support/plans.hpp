// Plans from problem strings, as tests of solvers make and look at them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "plan/planner.hpp"

namespace spanfft::test {

inline Result<std::unique_ptr<Plan>> plan(const std::string& text, const Machine& machine = this_machine()) {
    const auto problem = Problem::parse(text);
    if (!problem.ok()) return problem.status();
    return Planner(machine).plan(problem.value());
}

inline int steps_of(const Plan& plan, const std::string& type) {
    return static_cast<int>(
        std::count_if(plan.steps.begin(), plan.steps.end(), [&](const auto& step) { return step->type() == type; }));
}

}  // namespace spanfft::test
