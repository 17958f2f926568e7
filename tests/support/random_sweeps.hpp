// Random problems of a solver that sweeps a disk, each in the least memory that the solver names or up to half more.
#pragma once

#include <functional>
#include <string>

#include "support/random.hpp"
#include "support/ranks_case.hpp"

namespace spanfft::test {

using RandomProblem = std::string (*)(Random&);  // without memory=, threads= and ranks=
using SeePlan = std::function<void(const Plan&)>;

// In one process: what the definition says, within the accuracy rule; counted as predicted.
void expect_right_in_little_memory(Random& random, RandomProblem any_problem, SolverFunction solve, const SeePlan& see);
// On 1 to 7 ranks of one thread: the same, shared out; and the same bits again with journals, for which what is
// overwritten is displaced, and what lies behind it makes way.
void expect_right_in_little_memory_on_ranks(Random& random, RandomProblem any_problem, SolverFunction solve,
                                            const SeePlan& see);

}  // namespace spanfft::test
