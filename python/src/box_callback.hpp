// A Python function as spanfft_box_transfer: moves boxes of an array that a Python library keeps.
//
// Method: takes the GIL (the library calls from one of its I/O threads), gives the function (first, extent, memory)
// with `memory` a memoryview of the box's bytes, valid during the call alone. What the function raises is kept for the
// thread that called the library, which raises it again.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "spanfft/spanfft.h"

namespace spanfft::python {

// The exception that is being raised now, normalised and no longer set.
inline PyObject* take_raised() {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) {
        PyException_SetTraceback(value, trace);
    }
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

struct BoxCallback {
    nanobind::object callable;  // may be None: then there is no function
    int ndim = 0;
    int64_t elem_bytes = 0;
    int access = PyBUF_READ;                     // PyBUF_WRITE: the function fills the memory
    PyObject** raised = nullptr;                 // where an exception goes; the first one stays
    nanobind::object finish = nanobind::none();  // called when the array is whole; may be None

    spanfft_box_transfer function() const { return callable.is_none() ? nullptr : &BoxCallback::call; }
    int (*finish_function() const)(void*) { return finish.is_none() ? nullptr : &BoxCallback::end; }

    static int call(const int64_t* first, const int64_t* extent, void* data, void* user) {
        const nanobind::gil_scoped_acquire gil;
        const auto* self = static_cast<BoxCallback*>(user);
        PyObject* starts = PyTuple_New(self->ndim);
        PyObject* counts = PyTuple_New(self->ndim);
        int64_t bytes = self->elem_bytes;
        for (int axis = 0; axis < self->ndim && starts && counts; ++axis) {
            PyTuple_SetItem(starts, axis, PyLong_FromLongLong(first[axis]));
            PyTuple_SetItem(counts, axis, PyLong_FromLongLong(extent[axis]));
            bytes *= extent[axis];
        }
        PyObject* memory = PyMemoryView_FromMemory(static_cast<char*>(data), bytes, self->access);
        PyObject* result = nullptr;
        if (starts && counts && memory)
            result = PyObject_CallFunctionObjArgs(self->callable.ptr(), starts, counts, memory, nullptr);
        Py_XDECREF(memory);
        Py_XDECREF(starts);
        Py_XDECREF(counts);
        return self->ended(result);
    }

    static int end(void* user) {
        const nanobind::gil_scoped_acquire gil;
        const auto* self = static_cast<BoxCallback*>(user);
        return self->ended(PyObject_CallNoArgs(self->finish.ptr()));
    }

    // What came of a call, whose result this takes.
    int ended(PyObject* result) const {
        if (result != nullptr) {
            Py_DECREF(result);
            return SPANFFT_OK;
        }
        PyObject* value = take_raised();
        const int code = tell(value);
        if (*raised == nullptr)
            *raised = value;
        else
            Py_XDECREF(value);
        return code;
    }

    // What other ranks know of an exception: its sentence, and of one of ours its code.
    static int tell(PyObject* value) {
        PyObject* text = PyObject_Str(value);
        const char* utf8 = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
        spanfft_set_error(utf8 != nullptr && *utf8 != 0 ? utf8 : Py_TYPE(value)->tp_name);
        Py_XDECREF(text);
        PyErr_Clear();
        const nanobind::object ours = nanobind::module_::import_("spanfft._errors").attr("Error");
        if (PyObject_IsInstance(value, ours.ptr()) != 1) return SPANFFT_IO_ERROR;
        return nanobind::cast<int>(nanobind::handle(value).attr("code"));
    }
};

}  // namespace spanfft::python
