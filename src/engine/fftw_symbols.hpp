// The entry points of an FFTW3-interface library at one precision, found by name in an opened shared object.
//
// Method: every precision has the same functions under another prefix (fftw_, fftwf_, fftwl_), which differ only
// in what their data pointers point to; pointers are void* here, so one struct serves all three.
// Source: the FFTW 3.3 manual, "FFTW Reference".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/status.hpp"

namespace spanfft::fftw_abi {

// A loop of the 64-bit guru interface: points, input stride, output stride, in elements.
struct IoDim {
    std::ptrdiff_t n;
    std::ptrdiff_t in_stride;
    std::ptrdiff_t out_stride;
};

constexpr int kForward = -1;
constexpr int kBackward = +1;

constexpr unsigned kMeasure = 0;
constexpr unsigned kDestroyInput = 1U << 0;
constexpr unsigned kUnaligned = 1U << 1;
constexpr unsigned kPreserveInput = 1U << 4;
constexpr unsigned kEstimate = 1U << 6;
constexpr unsigned kWisdomOnly = 1U << 21;  // no plan rather than one that must be measured

// Real-to-real kinds in the order of the interface's enumeration.
enum R2rKind : int {
    redft00 = 3,  // dct1
    redft01 = 4,  // dct3
    redft10 = 5,  // dct2
    redft11 = 6,  // dct4
    rodft00 = 7,  // dst1
    rodft01 = 8,  // dst3
    rodft10 = 9,  // dst2
    rodft11 = 10  // dst4
};

using Plan = void*;

struct Symbols {
    Plan (*plan_dft)(int, const IoDim*, int, const IoDim*, void*, void*, int, unsigned) = nullptr;
    Plan (*plan_r2c)(int, const IoDim*, int, const IoDim*, void*, void*, unsigned) = nullptr;
    Plan (*plan_c2r)(int, const IoDim*, int, const IoDim*, void*, void*, unsigned) = nullptr;
    Plan (*plan_r2r)(int, const IoDim*, int, const IoDim*, void*, void*, const int*, unsigned) = nullptr;
    void (*execute_dft)(Plan, void*, void*) = nullptr;
    void (*execute_r2c)(Plan, void*, void*) = nullptr;
    void (*execute_c2r)(Plan, void*, void*) = nullptr;
    void (*execute_r2r)(Plan, void*, void*) = nullptr;
    void (*destroy)(Plan) = nullptr;
    int (*alignment_of)(void*) = nullptr;  // optional: 0 at the alignment that SIMD wants
    int (*init_threads)() = nullptr;       // optional, as are the rest
    void (*with_nthreads)(int) = nullptr;
    void (*set_time_limit)(double) = nullptr;
    char* (*sprint_plan)(Plan) = nullptr;  // to be freed by free()
    char* (*export_wisdom)() = nullptr;    // to be freed by free()
    int (*import_wisdom)(const char*) = nullptr;
    std::string path;  // of the shared object that plan_dft lies in
    bool complete() const { return plan_dft && execute_dft && destroy; }
};

// How often a plan, as sprint_plan has it, starts threads. Most do so a few times for each axis; FFTW's estimated plans
// for real lines of some odd lengths, and for DCT-I of some, do so for each line: c2r of 12,121 lines of 33 doubles
// takes two threads 1100 ms then, and one thread 4.
double thread_starts(std::string_view plan);

// Opens NAME (a path or a name for the loader) with local symbols; the message is the loader's own.
Result<void*> open_library(const std::string& name);

// The entry points of one precision; threads_handle (may be null) is where the thread calls are looked for when
// the library itself has none. complete() is false when this library does not have the precision.
Symbols find_symbols(void* handle, void* threads_handle, Precision precision);

// The file that an address was loaded from.
std::string file_of(const void* address);

}  // namespace spanfft::fftw_abi
