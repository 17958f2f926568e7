// What the files of spanfft._core share: the C interface's types and errors as Python has them.
//
// Method: an error code becomes the exception of spanfft._errors that belongs to it, through CodedError, which
// core_module.cpp translates.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "spanfft/spanfft.h"
#include "text_caster.hpp"

namespace spanfft::python {

namespace nb = nanobind;
using namespace nb::literals;

using Extents = std::vector<int64_t>;

struct CodedError {
    int code;
    std::string message;
};

// For codes from the library: the sentence is in thread-local memory, so take it on the thread that failed.
inline void check(int code) {
    if (code != SPANFFT_OK) {
        throw CodedError{code, spanfft_last_error()};
    }
}

[[noreturn]] inline void fail(int code, std::string message) { throw CodedError{code, std::move(message)}; }

// A text that the library allocated.
inline std::string take(char* text) {
    std::string s(text);
    spanfft_free(text);
    return s;
}

// For as long as the strings live.
inline std::vector<const char*> pointers(const std::vector<std::string>& strings) {
    std::vector<const char*> all;
    for (const std::string& s : strings) all.push_back(s.c_str());
    return all;
}

spanfft_plan* handle_of(nb::handle plan);    // of a Plan; plan_binding.cpp
nb::object plan_object(spanfft_plan* plan);  // a Plan of one process, which frees it
nb::dict counts_dict(const spanfft_counts& counts);

void bind_plans(nb::module_& m);        // plan_binding.cpp
void bind_halos(nb::module_& m);        // halo_binding.cpp
void bind_permute(nb::module_& m);      // permute_binding.cpp
void bind_disks(nb::module_& m);        // disks_binding.cpp
void bind_foresight(nb::module_& m);    // foresight_binding.cpp
void bind_small_calls(nb::module_& m);  // small_calls_binding.cpp

}  // namespace spanfft::python
