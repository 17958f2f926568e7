// Running a plan for files on simulated stores, and the reference it is held against.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/block_work.hpp"
#include "plan/planner.hpp"
#include "support/direct_sum.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {

using Values = std::vector<WideComplex>;  // real data: imaginary parts are 0

using SolverFunction = Result<std::unique_ptr<Plan>> (*)(const Problem&, const Planner&);

// For a machine of two cores. With slow messages ranks rather read apart than together; with fast scratch what lies
// between sweeps is rather there than in the output. The last one is given again where the same is asked for: a test
// that fails each operation of a run takes longer to plan than to run.
Result<std::shared_ptr<Plan>> plan_on_two_cores(const std::string& problem, SolverFunction solve,
                                                bool slow_messages = false, bool fast_scratch = false);

// The threads of a rank's sweeps, which all runs of a process share: small ones would spend their time on starting
// them.
std::shared_ptr<SweepTeam> team_of_rank(int rank, int threads);

struct StoreRun {
    Status status;
    std::shared_ptr<Plan> plan;
    std::vector<Counts> predicted, counted;
    Values input, output;
    bool each_byte_once = true;  // of the output, when it was written in one sweep
    bool input_untouched = true;
    index_t progress_bytes = 0, progress_total = 0;
    std::vector<index_t> scratch_disk_bytes;  // read and written on each disk of a striped scratch
};

// Plans `problem` with `solve`, fills the input with random numbers of a seed and runs it on memory stores, the
// array `input_offset` and `output_offset` bytes into its file. stop_after >= 0: progress says stop at that call.
// scratch_disks > 0: scratch is striped over so many memory stores, in blocks of 1000 bytes, or as the plan wants it.
// Work that the problem or `callbacks` ask for is fused in as the executor does it.
StoreRun run_on_stores(const std::string& problem, SolverFunction solve, index_t input_offset = 0,
                       index_t output_offset = 0, FaultPlan* faults = nullptr, int stop_after = -1,
                       int scratch_disks = 0, const BlockCallbacks& callbacks = {});

// Reports through gtest: each step counted what it predicted, sweeps wrote each byte of the output once, the input is
// as it was, memory within the budget, progress came to its end.
void expect_as_predicted(const StoreRun& run);

// The transform by the definition (support/direct_sum.hpp), axis by axis, with the norm. O(N * sum of lengths), so a
// 1-D one above 8000 points goes to an engine in long double instead, which is held against the definition at 16
// outputs there (reports through gtest).
Values direct_transform(const Problem& problem, const Values& input);

// ||a - b|| / ||b|| in units of eps sqrt(log2 N), N the product of the axes' logical lengths.
double error_in_units(const Problem& problem, const Values& result, const Values& reference);

// 0.6 where no prime factor of a transformed axis' logical length exceeds 13, else 1.5.
double allowed_error(const Problem& problem);

double norm_of(const Values& values);  // 2-norm
double distance(const Values& a, const Values& b);

// Reports through gtest where an output is not what is to be stored of the spectrum `exact` (|x|^2 with power, a
// smaller type), by the accuracy rule and what rounding adds.
void expect_stored(const Problem& problem, const Values& output, const Values& exact);

// Bytes of numbers as a file holds them, and back.
std::string to_bytes(const Values& values, ElemType elem);
Values from_bytes(const std::string& bytes, ElemType elem);
Values random_input(const Problem& problem, unsigned seed);

}  // namespace spanfft::test
