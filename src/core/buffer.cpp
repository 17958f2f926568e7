// Aligned, huge-page-advised allocation; see buffer.hpp.
#include "core/buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

namespace spanfft {

namespace {
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
}  // namespace

Result<Buffer> Buffer::allocate(size_t bytes) {
    Buffer buffer;
    if (bytes == 0) return buffer;
    const size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kPage;
    const size_t rounded = whole_pages(bytes);
    void* data =
        rounded < bytes ? nullptr : std::aligned_alloc(alignment, (rounded + alignment - 1) / alignment * alignment);
    if (!data)
        return error(Code::out_of_memory, "could not allocate ", bytes,
                     " bytes of work space; use more ranks or a memory budget");
    if (alignment == kHugePage) {  // advice only: failure costs speed, nothing else
        // What the heap had already lies in small pages, and would stay there (docs/adr/0127).
        (void)madvise(data, rounded, MADV_DONTNEED);
        (void)madvise(data, rounded, MADV_HUGEPAGE);
    }
    buffer.data_ = data;
    buffer.bytes_ = bytes;
    return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Buffer::~Buffer() {
    // The heap keeps the range, and a small allocation of somebody else's in it would get 2 MiB.
    if (bytes_ >= 2 * kHugePage) (void)madvise(data_, whole_pages(bytes_), MADV_NOHUGEPAGE);
    std::free(data_);
}

}  // namespace spanfft
