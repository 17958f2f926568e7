// Preloaded for simulations whose arrays no memory holds: large aligned blocks all lie on the same pages.
//
// Method: aligned_alloc, by which spanfft gets its buffers, maps one shared block of memory again and again. What ranks
// write there they overwrite for one another, so values mean nothing; sizes, messages and simulated times are as ever,
// because no plan depends on values. (SMPI_SHARED_MALLOC does the same for programs that are written for SMPI.)
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" void* __libc_memalign(size_t alignment, size_t bytes);
extern "C" void __libc_free(void* data);

namespace {

constexpr size_t kFolded = size_t{64} << 10;  // bytes from which blocks are folded
constexpr size_t kBlock = size_t{16} << 20;   // that is there once
constexpr size_t kMost = 1 << 18;             // blocks at a time
struct Block {
    void* data;
    size_t bytes;
};
Block blocks[kMost];  // not a container: that would allocate
size_t used = 0;

int file() {
    static const int made = [] {
        const int descriptor = memfd_create("folded", 0);
        if (descriptor < 0 || ftruncate(descriptor, kBlock) != 0) abort();
        return descriptor;
    }();
    return made;
}

void* fold(size_t bytes) {
    if (used == kMost) return nullptr;
    void* data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    for (size_t at = 0; at < bytes; at += kBlock) {
        const size_t part = bytes - at < kBlock ? bytes - at : kBlock;
        if (mmap(static_cast<char*>(data) + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file(), 0) ==
            MAP_FAILED)
            return nullptr;
    }
    blocks[used++] = {data, bytes};
    return data;
}

}  // namespace

extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
    return bytes < kFolded ? __libc_memalign(alignment, bytes) : fold((bytes + 4095) / 4096 * 4096);
}

extern "C" void free(void* data) {
    if (data && reinterpret_cast<uintptr_t>(data) % 4096 == 0) {
        for (size_t i = used; i-- > 0;) {
            if (blocks[i].data != data) continue;
            munmap(data, blocks[i].bytes);
            blocks[i] = blocks[--used];
            return;
        }
    }
    __libc_free(data);
}
