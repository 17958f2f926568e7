// What the plans that follow P1 step by step share: `superlevels` in one process, the four methods for several
// processors, and permutations alone. A job, what method=NAME:OPTIONS says, and permutations and superlevels by turns
// as steps of a plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "permute/multiprocessor.hpp"
#include "plan/planner.hpp"
#include "sweeps/pdm_step.hpp"

namespace spanfft {

inline int log2_of(index_t n) { return 63 - __builtin_clzll(static_cast<Word>(n)); }
inline bool power_of_two(index_t n) { return n > 0 && (n & (n - 1)) == 0; }

struct PdmOptions {
    IoMode mode = IoMode::asynchronous;
    index_t block_bytes = 0;                     // 0: chosen
    std::optional<int> d;                        // not said: those of the scratch, if P1's layout takes so many
    Factoring factoring = Factoring::published;  // of methods on ranks
};

struct PdmJob {
    Problem problem;
    PdmOptions options;
    int n = 0, p = 0, d = 0;  // d: disks of all ranks
    index_t record_bytes = 16;
    int threads = 1;
    index_t budget_bytes = 0;  // of each rank
    // Whether the model's disks are those that scratch lies on.
    bool real_disks() const { return problem.disks > 1 && problem.disks == 1 << (d - p); }
};

// Declined, or refused, with a sentence that begins with the solver's name. On ranks: a power of two of them.
Result<PdmJob> examine_pdm(const Problem& problem, const Planner& planner, const char* solver, bool on_ranks);

// The plan for one shape of the model.
struct PdmRoute {
    PdmSpec spec;
    std::vector<Superlevel> levels;
    std::vector<BmmcPlan> permutations;         // one before each level, one after the last
    std::vector<std::vector<PdmPlace>> places;  // of the array before the first sweep of each and after all of them
    std::vector<std::string> titles;
    index_t parallel_ios = 0, sweeps = 0, own_bytes = 0, areas = 0;
    double seconds = 0;  // of rank 0

    // The engine's own is as much as a memoryload.
    index_t needed_bytes() const { return spec.work_bytes() + spec.load_bytes() + own_bytes; }
};

// Of levels and permutations: places, counts and seconds.
void complete(PdmRoute& route, const Machine& machine);

// Whether a block of so many records is one to try, of memoryloads of 2^m: 4 KiB to 256 KiB, or as the options say.
bool tries_block(const PdmJob& job, int b, int m);

// The budget, with its reserve, that holds so much.
index_t budget_that_holds(index_t bytes);

// What a solver says that has too little memory; needed_bytes = 0: no memory will do.
Status too_little_for(const PdmJob& job, const char* solver, index_t needed_bytes);

// What of a plan its route says: steps, sweeps, memory and scratch.
void add_steps(Plan& plan, PdmRoute route, const Machine& machine);

std::unique_ptr<Plan> plan_of(const PdmJob& job, const char* solver, PdmRoute route, const Machine& machine);

// A method as this model has it, whatever memory that takes (solvers/multiprocessor.cpp).
Result<std::unique_ptr<Plan>> plan_of_model(const Problem& problem, const Planner& planner, MultiprocessorMethod method,
                                            const MultiprocessorModel& model);

}  // namespace spanfft
