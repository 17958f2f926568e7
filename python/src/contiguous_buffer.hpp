// Arrays as the C interface wants them, through the buffer protocol.
#pragma once

#include <string>

#include "binding.hpp"

namespace spanfft::python {

// A contiguous buffer of at least `bytes`; None stands for an empty one.
class Buffer {
  public:
    Buffer(nb::handle object, int64_t bytes, bool writable, const char* role) {
        if (object.is_none()) {
            if (bytes != 0) {
                fail(SPANFFT_INVALID_ARGUMENT,
                     std::string(role) + " is None but needs " + std::to_string(bytes) + " bytes; pass an array");
            }
            return;
        }
        const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) {
            throw nb::python_error();
        }
        held_ = true;
        if (view_.len < bytes) {
            const int64_t given = view_.len;
            PyBuffer_Release(&view_);
            held_ = false;
            fail(SPANFFT_INVALID_ARGUMENT, std::string(role) + " holds " + std::to_string(given) +
                                               " bytes; the plan needs " + std::to_string(bytes));
        }
    }
    ~Buffer() {
        if (held_) {
            PyBuffer_Release(&view_);
        }
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void* data() const { return held_ ? view_.buf : nullptr; }

  private:
    Py_buffer view_{};
    bool held_ = false;
};

}  // namespace spanfft::python
