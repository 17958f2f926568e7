// Aligned memory that a plan or an executor owns.
//
// Invariant: 4096-byte aligned (a page, and what direct I/O needs), never zero-filled; from 4 MiB on memory that nobody
// has touched, for which huge pages are asked. Allocation happens when something is built, never while it runs.
#pragma once

#include <cstddef>

#include "core/status.hpp"

namespace spanfft {

class Buffer {
  public:
    Buffer() = default;
    static Result<Buffer> allocate(size_t bytes);  // Code::out_of_memory names the size
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    void* data() const { return data_; }
    size_t bytes() const { return bytes_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace spanfft
