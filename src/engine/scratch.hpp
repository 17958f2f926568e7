// Arrays of a LocalSpec's reach that planning may overwrite: to time candidates, and for measured plans.
//
// Invariant: the caller's data is never touched by planning. Memory is touched once (zeros), so that a timing does
// not pay for first use of pages.
#pragma once

#include "core/buffer.hpp"
#include "engine/spec.hpp"

namespace spanfft {

struct Scratch {
    Buffer first;
    Buffer second;       // empty in place
    void* in = nullptr;  // what execute() takes: where offset 0 is, not where the memory begins
    void* out = nullptr;
};

// The spec must be valid and not empty.
Result<Scratch> make_scratch(const LocalSpec& spec);

}  // namespace spanfft
