// Python functions as spanfft_block_callbacks: `on_input(data, first)` and `on_output(data, stored, first)` get
// writable memoryviews of bytes, valid during the call alone; on_output returns whether it filled `stored`.
//
// Method: takes the GIL. The first exception is kept for the thread that called the library; its text goes along.
// Invariant: all calls come from one thread of the library, so no lock is needed.
#pragma once

#include <cstdio>

#include "binding.hpp"
#include "box_callback.hpp"

namespace spanfft::python {

struct BlockCalls {
    nb::object on_input, on_output;  // may be None
    size_t read_bytes = 0, computed_bytes = 0, stored_bytes = 0;
    PyObject* raised = nullptr;  // the first exception of a callback
};

inline nb::object memory_of(void* data, int64_t count, size_t elem_bytes) {
    return nb::steal(PyMemoryView_FromMemory(
        static_cast<char*>(data), static_cast<Py_ssize_t>(count) * static_cast<Py_ssize_t>(elem_bytes), PyBUF_WRITE));
}

// "ValueError: its text"; takes the error that is set.
inline PyObject* take_error(char* sentence, size_t sentence_bytes) {
    PyObject* value = take_raised();
    PyObject* text = PyObject_Str(value);
    const char* utf8 = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
    std::snprintf(sentence, sentence_bytes, "%s%s%s", Py_TYPE(value)->tp_name, utf8 != nullptr && *utf8 ? ": " : "",
                  utf8 != nullptr ? utf8 : "");
    PyErr_Clear();
    Py_XDECREF(text);
    return value;
}

inline int give_block(spanfft_block* block, BlockCalls& calls, bool out) {
    const nb::gil_scoped_acquire gil;
    try {
        const nb::object data = memory_of(block->data, block->count, out ? calls.computed_bytes : calls.read_bytes);
        if (!out) {
            calls.on_input(data, block->first);
        } else {
            const nb::object stored =
                block->stored == block->data ? nb::none() : memory_of(block->stored, block->count, calls.stored_bytes);
            block->filled = nb::cast<bool>(calls.on_output(data, stored, block->first)) ? 1 : 0;
        }
        return 0;
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    PyObject* const value = take_error(block->message, sizeof block->message);
    if (calls.raised == nullptr) {
        calls.raised = value;
    } else {
        Py_DECREF(value);
    }
    return 1;
}

inline int give_input_block(spanfft_block* block, void* user) {
    return give_block(block, *static_cast<BlockCalls*>(user), false);
}
inline int give_output_block(spanfft_block* block, void* user) {
    return give_block(block, *static_cast<BlockCalls*>(user), true);
}

}  // namespace spanfft::python
