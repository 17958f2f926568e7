// A Python function as spanfft_progress, and what a run raises in the end.
//
// Method: takes the GIL; an exception of the function, or of a signal handler, stops the run and is kept for the thread
// that called the library, which raises it again.
#pragma once

#include <string>

#include "binding.hpp"
#include "box_callback.hpp"

namespace spanfft::python {

// What progress_callback needs while spanfft_transform_file runs without the GIL.
struct Progress {
    nb::object callable;         // may be None
    PyObject* raised = nullptr;  // a Python exception that the callback or a signal handler raised
};

inline int progress_callback(int64_t done_bytes, int64_t total_bytes, void* user) {
    nb::gil_scoped_acquire gil;
    auto* progress = static_cast<Progress*>(user);
    if (progress->raised != nullptr) {
        return 0;
    }
    bool stop = PyErr_CheckSignals() != 0;
    if (!stop && !progress->callable.is_none()) {
        PyObject* result = PyObject_CallFunction(progress->callable.ptr(), "LL", static_cast<long long>(done_bytes),
                                                 static_cast<long long>(total_bytes));
        // None and True go on; False stops without an exception of its own.
        stop = result == nullptr || result == Py_False;
        Py_XDECREF(result);
    }
    if (PyErr_Occurred() != nullptr) progress->raised = take_raised();
    return stop ? 0 : 1;
}

// After a run: what the callback raised, else what the library reported.
// A callback's exception becomes the cause of the error that ended the run, if it did.
inline void give_back(const Progress& progress, int code, const std::string& message, nb::object cause = nb::object()) {
    if (progress.raised != nullptr) {
        if (code != SPANFFT_OK) {  // what the library says about it goes along: how to go on, above all
            nb::object(nb::borrow(progress.raised)).attr("spanfft_message") = message;
        }
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(progress.raised)), progress.raised);
        Py_DECREF(progress.raised);
        throw nb::python_error();
    }
    if (code == SPANFFT_CALLBACK_FAILED && cause.is_valid()) {
        nb::object error = nb::module_::import_("spanfft._errors").attr("from_code")(code, message);
        PyException_SetCause(error.ptr(), cause.release().ptr());
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
        throw nb::python_error();
    }
    if (code != SPANFFT_OK) {
        fail(code, message);
    }
}

}  // namespace spanfft::python
