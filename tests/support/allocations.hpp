// Counting allocations: of each thread, by operator new and aligned_alloc of the test program, which libspanfft uses
// too. What C libraries allocate inside (MPI, engines) is malloc's and not counted. AddressSanitizer's malloc is below.
#pragma once

#include <cstddef>

namespace spanfft::test {

struct Allocations {
    bool on = false;
    bool fail_aligned = false;  // aligned_alloc answers nullptr
    long count = 0;
    size_t bytes = 0, aligned_bytes = 0;
};
extern thread_local Allocations allocations;

}  // namespace spanfft::test
