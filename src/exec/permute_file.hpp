// A BMMC permutation from file to file within a memory budget: what `spanfft permute` does.
//
// Method: input and output are ordinary files, seen as D disks; between them the records are striped over D scratch
// files, one in each folder, in one area or in two by turns. The memoryload is the largest that fits, the block size,
// unless given, the one with the fewest sweeps between 4 KiB and 256 KiB and of those the largest.
// Invariant: the input is only read; the output appears when whole; parallel I/Os predicted == counted.
#pragma once

#include <string>
#include <vector>

#include "permute/bmmc.hpp"

namespace spanfft {

struct PermuteRequest {
    Bmmc map;  // of 2^n records
    index_t record_bytes = 16;
    index_t memory_bytes = 0;
    index_t block_bytes = 0;  // 0: chosen
    int disks = 1;            // seen in files; where scratch folders are given, as many as they are
    IoMode mode = IoMode::asynchronous;
    int threads = 0;  // 0: all cores
};

struct PermutePlan {
    BmmcPlan bmmc;  // of at least one sweep: the identity is copied
    index_t record_bytes = 16;
    IoMode mode = IoMode::asynchronous;
    int threads = 1;
    index_t bound = 0;          // parallel I/Os of P1's [7]; 0: not defined
    index_t scratch_bytes = 0;  // all folders together
    index_t memory_bytes() const { return sweep_buffers(false, mode) * bmmc.shape.memory_records() * record_bytes; }
    std::string describe() const;
};

Result<PermutePlan> plan_permute(const PermuteRequest& request);

struct PermuteFiles {
    std::string input_path;
    index_t input_offset_bytes = 0;
    std::string output_path, header;
    std::vector<std::string> scratch_folders;  // empty: the output's, as one disk or as many as the plan has
    std::function<bool(index_t done_bytes, index_t total_bytes)> progress;
};

// What was counted.
Result<PdmCounts> permute_file(const PermutePlan& plan, const PermuteFiles& files);

}  // namespace spanfft
