// The replaced allocators; see allocations.hpp.
#include "support/allocations.hpp"

#include <cstdlib>
#include <new>

namespace spanfft::test {
thread_local Allocations allocations;
}  // namespace spanfft::test

using spanfft::test::allocations;

// Not inlined, or GCC sees a malloc that new made being freed by delete and warns.
#define SPANFFT_NOINLINE __attribute__((noinline))
SPANFFT_NOINLINE void* operator new(size_t bytes) {
    if (allocations.on) {
        ++allocations.count;
        allocations.bytes += bytes;
    }
    if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
// Replaced too, so that AddressSanitizer sees malloc and free on either side.
SPANFFT_NOINLINE void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    if (allocations.on) {
        ++allocations.count;
        allocations.bytes += bytes;
    }
    return std::malloc(bytes ? bytes : 1);
}
SPANFFT_NOINLINE void operator delete(void* memory) noexcept { std::free(memory); }
SPANFFT_NOINLINE void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" __attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
    if (allocations.on) {
        ++allocations.count;
        allocations.aligned_bytes += bytes;
    }
    if (allocations.fail_aligned) return nullptr;
    void* memory = nullptr;
    return posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) == 0 ? memory
                                                                                                      : nullptr;
}
