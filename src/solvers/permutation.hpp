// Plans of BMMC permutations: the records of a file, of any number of bytes each, go to the places that a matrix over
// GF(2) gives them, in another file, within a memory budget. What `spanfft permute` does.
//
// Method: the plan is one Permute step (sweeps/pdm_step.hpp) from the input by way of scratch, in one area or in two by
// turns, to the output. Input and output are ordinary files, seen as D disks; scratch lies on D folders, block after
// block, if so many are given. The memoryload is the largest that fits; the block size, unless given, is the one with
// the fewest sweeps between 4 KiB and 256 KiB, and of those the largest.
// There is one way to permute, so no solvers are compared, and no problem string says which permutation: the plan's
// line `permutation` does.
// Invariant: parallel I/Os predicted == counted, and at most P1's bound; the identity is one sweep, which copies.
// Source: P1, section 5, and its [7].
#pragma once

#include "permute/bmmc.hpp"
#include "plan/planner.hpp"

namespace spanfft {

struct PermutationRequest {
    Bmmc map;  // of 2^n records
    index_t record_bytes = 16;
    index_t memory_bytes = 0;
    index_t block_bytes = 0;  // 0: chosen
    int disks = 1;            // seen in files; as many as scratch folders, or these are one
    IoMode mode = IoMode::asynchronous;
    int threads = 0;  // 0: all cores
};

struct PlannedPermutation {
    std::shared_ptr<Plan> plan;
    BmmcPlan bmmc;         // its sweeps, at least one
    std::string describe;  // the shape of the model, the sweeps and their parallel I/Os
};

Result<PlannedPermutation> plan_permutation(const PermutationRequest& request, const Machine& machine);

}  // namespace spanfft
