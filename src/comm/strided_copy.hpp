// Copies between strided parts of memory: what packing, unpacking and self-messages are made of.
#pragma once

#include "comm/comm.hpp"

namespace spanfft {

// Copies source's part to target's part element by element in loop order. Both have the same dims' counts, or one
// of them is contiguous (a single dim): then the other's order is the order of the bytes.
void copy_strided(const StridedPart& source_part, const void* source, const StridedPart& target_part, void* target);

// The part with neighbouring dims joined where they are contiguous, and the innermost contiguous run in elem_bytes:
// {[4 x 800 B], [10 x 16 B]} of 16 B elements is {[4 x 800 B]} of 160 B runs.
StridedPart merged(const StridedPart& part);

}  // namespace spanfft
