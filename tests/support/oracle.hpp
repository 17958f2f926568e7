// What a plan must give: the whole transform by its definition, and a bench that runs a plan on ranks and compares.
//
// Method: expected() sums each axis by definition (direct_sum.hpp, wider than any precision under test). The bench
// hands each rank its part of one global array in memory of its exact size between guard bytes, aligned to a real
// number and no more, and collects the parts again by the layout's patches. Invariant: normalisation, the inverse kinds
// and the order of c2r are written here from their definitions, not taken from src.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/caches.hpp"
#include "plan/plan.hpp"
#include "support/direct_sum.hpp"
#include "support/random.hpp"

namespace spanfft::test {

using Wides = std::vector<WideComplex>;  // a global array in C order, batch arrays one after the other

Wides random_input(Random& random, const Problem& problem);
Wides expected(const Problem& problem, const Wides& input);

// The accuracy rule for the whole problem, from its text.
double tolerance(const Problem& problem);

// One rank's array: exact size, guarded, aligned to sizeof(real) only.
class LocalArray {
  public:
    LocalArray(index_t bytes, size_t real_bytes);
    void* data();
    index_t bytes() const { return bytes_; }
    bool guards_intact() const;

  private:
    index_t bytes_;
    size_t shift_;
    std::vector<unsigned char> memory_;
};

// The global (batch included) linear index of every element of a patch, in local C order.
void for_each_index(const Extents& shape, const Patch& patch, const std::function<void(index_t global)>& visit);

// Part of `global` under `state` (its layout may have the batch as leading axis), to and from memory of its type.
void scatter(const Wides& global, const ArrayState& state, int rank, void* local);
void gather(const void* local, const ArrayState& state, int rank, Wides& global);

// Everything that one run showed.
struct PlanRun {
    Status status;               // of planning, making or executing; all ranks'
    bool statuses_agree = true;  // same code and sentence on all ranks
    Wides output;
    std::vector<Wides> other_outputs;
    bool input_preserved = true;
    bool guards_intact = true;
    std::vector<std::string> wrong_counts;  // a sentence for each prediction that was not met
    std::string explained;                  // rank 0's, after the run
};

// Plans, binds and runs on problem.ranks threads (a ThreadWorld). `times`: executions of the one plan, which then has
// `others` as inputs, once each; ranks_per_node 0: all ranks are on one node. `caches`: of the machine that is planned
// for, where blocks that fit them are to be small.
PlanRun run_on_threads(const Problem& problem, const Wides& input, int times = 1, int ranks_per_node = 0,
                       const std::vector<Wides>& others = {}, const Caches& caches = cache_sizes());

// Runs and checks everything: result within tolerance, input kept, guards, counts. Reports through gtest.
void check_plan(const Problem& problem, uint64_t seed, int ranks_per_node = 0, const Caches& caches = cache_sizes());
void check_plan(const std::string& problem_text);

}  // namespace spanfft::test
