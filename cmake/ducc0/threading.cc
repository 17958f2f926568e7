// ducc0's threading.cc with an environment that it can read.
//
// ducc0 caps its threads at DUCC0_NUM_THREADS, else OMP_NUM_THREADS, and throws while it makes its pool, out of the
// first transform, where the value is empty, no number, or a list (OpenMP's "4,2": 4, and 2 inside those). Here a list
// is its first entry, and anything but a positive number is a variable that is not set. Nor is it told to pin threads
// to processors, which it would do by ending the process where there is no such processor.
//
// Method: its own file, with getenv under another name. The headers come first, so that only its calls are renamed.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ducc0/infra/error_handling.h"
#include "ducc0/infra/misc_utils.h"
#include "ducc0/infra/string_utils.h"
#include "ducc0/infra/threading.h"

namespace {

const char* number_from_environment(const char* name) {
    const char* text = std::strstr(name, "NUM_THREADS") ? std::getenv(name) : nullptr;
    if (!text) return nullptr;
    char* end = nullptr;
    const long threads = std::strtol(text, &end, 10);
    end += std::strspn(end, " \t\n");
    if (threads < 1 || (*end != '\0' && *end != ',')) return nullptr;
    static thread_local std::string number;  // its caller reads it at once
    number = std::to_string(threads);
    return number.c_str();
}

}  // namespace

#define getenv number_from_environment
#include "ducc0/infra/threading.cc"
