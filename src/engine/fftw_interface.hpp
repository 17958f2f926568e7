// One engine for every library that answers to FFTW3's interface: FFTW itself, Intel MKL, AMD AOCL, Arm PL.
//
// Method: the library is opened at run time (dlopen, local symbols) and asked for its 64-bit guru interface, one
// set of entry points a precision. What a library declines is reduced to what it takes: outer batch loops are
// looped over here, transforms along several axes become successive ones along one.
// Invariant: nothing is linked and no header of such a library is needed or copied; the numbers below are facts
// of the interface as its manual documents it (fftw.org/fftw3_doc, "Guru Interface", "Planner Flags").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"

namespace spanfft {

// What distinguishes one such library from another.
struct FftwLibrarySpec {
    std::string engine;                   // "fftw"
    std::string path_variable;            // an environment variable with a path, or "none"
    std::vector<std::string> file_names;  // of the double precision library, best first
    bool is_mkl = false;                  // one file for all precisions, its own calls for threads and version
};

FftwLibrarySpec fftw_library();
FftwLibrarySpec mkl_library();

// Opens the library, or answers with the sentence that says why it can't be had here.
Result<std::unique_ptr<Engine>> open_fftw_interface(const FftwLibrarySpec& spec,
                                                    const std::vector<std::string>& folders);

}  // namespace spanfft
