// Copies between strided parts of memory: what packing, unpacking and self-messages are made of.
#pragma once

#include "comm/comm.hpp"

namespace spanfft {

// The most dims of a part: a batch, and two for each axis of a problem (the cyclic layout cuts axes in two).
constexpr size_t kMaxStridedDims = 2 * kMaxNdim + 1;

// These return how many bytes they copied, counted by their loops.
//
// Allocates nothing. Copies source's part to target's part element by element in loop order. Both have the same dims'
// counts, or one of them is contiguous (a single dim): then the other's order is the order of the bytes.
index_t copy_strided(const StridedPart& source_part, const void* source, const StridedPart& target_part, void* target);

// The same with a contiguous run of bytes, from or to its first one.
index_t gather_strided(const StridedPart& source_part, const void* source, void* run);
index_t scatter_strided(const void* run, const StridedPart& target_part, void* target);

// Whether it is one run of bytes, or nothing. Allocates nothing.
bool is_contiguous(const StridedPart& part);

// The part with neighbouring dims joined where they are contiguous, and the innermost contiguous run in elem_bytes:
// {[4 x 800 B], [10 x 16 B]} of 16 B elements is {[4 x 800 B]} of 160 B runs.
StridedPart merged(const StridedPart& part);

}  // namespace spanfft
