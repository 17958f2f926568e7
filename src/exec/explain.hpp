// Explain: a plan in words, predicted beside counted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace spanfft {

// One line of the tree, depth first. index is the plan's step for depth 0, else -1: what happens inside is not counted
// alone.
struct PlanLine {
    int depth = 0;
    const Step* step = nullptr;
    int index = -1;
};
std::vector<PlanLine> plan_lines(const Plan& plan);

// For `rank`; counted: one entry for each step, if the plan has run; io: who did its disk requests;
// run_notes: of the executor.
std::string explain(const Plan& plan, int rank, const std::optional<std::vector<Counts>>& counted,
                    const std::string& io = "", const std::vector<std::string>& run_notes = {});

}  // namespace spanfft
