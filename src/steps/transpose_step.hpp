// Transpose: two neighbouring axes of each rank's part in the other order, as a plan step.
//
// Method: the part is `outer` matrices of rows x columns elements. Blocks of 64 rows by 16 columns are read row by row,
// while they are in the first-level cache each column is written as one run, past the cache where the array is larger
// than that. One sweep of memory.
// Worked numbers: of 16-byte elements a block is 16 KiB, read in 64 runs of 256 bytes and written in 16 of 1 KiB.
#pragma once

#include "plan/machine.hpp"
#include "plan/step.hpp"

namespace spanfft {

struct TransposeSpec {
    ArrayState from, to;  // alike, but for the order of axes `axis` and `axis` + 1
    int axis = 0;
    Slot source = Slot::work0, target = Slot::output;  // not the same
    int threads = 1;
};

std::unique_ptr<Step> make_transpose_step(TransposeSpec spec, const Machine& machine);

}  // namespace spanfft
