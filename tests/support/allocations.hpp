// Counting allocations: of each thread, by operator new and aligned_alloc of the test program, which libspanfft uses
// too. What C libraries allocate inside (MPI, engines) is malloc's and not counted.
// Under a sanitizer, which brings its own allocator, nothing is counted: SPANFFT_COUNTS_ALLOCATIONS is 0.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPANFFT_COUNTS_ALLOCATIONS 0
#else
#define SPANFFT_COUNTS_ALLOCATIONS 1
#endif

namespace spanfft::test {

struct Allocations {
    bool on = false;
    bool fail_aligned = false;  // aligned_alloc answers nullptr
    long count = 0;
    size_t bytes = 0, aligned_bytes = 0;
};
extern thread_local Allocations allocations;

}  // namespace spanfft::test
