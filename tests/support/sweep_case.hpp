// A problem on simulated disks, and what is expected of any solver that takes it.
#pragma once

#include <ostream>
#include <string>

#include "support/store_run.hpp"

namespace spanfft::test {

struct SweepCase {
    const char* problem;  // without memory=
    const char* memory;
    index_t input_offset = 0, output_offset = 0;
};
void PrintTo(const SweepCase& c, std::ostream* out);

// An output that may be in the order that a note of its plan names.
Values in_natural_order(const Plan& plan, const Values& output);
// What the definition says, within the accuracy rule; counted as predicted.
void expect_right(const SweepCase& c, SolverFunction solve);
// The budget in the last parentheses of a refusal.
index_t named_memory(const std::string& problem, SolverFunction solve);
// Whether axis_sweeps splits an axis: groups of whole axes take no more sweeps than there are axes.
bool splits_an_axis(const Plan& plan);
// Runs at the budget that is named, and is refused at one byte less.
void expect_smallest_memory(const std::string& problem, SolverFunction solve);

}  // namespace spanfft::test
