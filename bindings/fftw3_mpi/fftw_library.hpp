// FFTW's own functions, of which this library has the names: those that come next in the program's order of libraries,
// or in an FFTW that the program has opened. FFTW's MPI library is never opened by us, because it is one MPI's and may
// not be this program's, unless SPANFFT_FFTW_MPI_LIBRARY names one (SPANFFT_FFTWF_... and SPANFFT_FFTWL_... those of
// the other precisions).
#pragma once
#include <string>

#include "fftw_abi.hpp"

namespace fftw3_mpi {

// The address of function `name`, with its prefix; NULL where there is none.
void* serial_function(const char* name, const char* library);
void* mpi_function(const char* name, const char* library, int precision);

// fftw_NAME and fftw_mpi_NAME of a precision.
template <class Function, class Precision>
Function* fftw(const char* name) {
    const std::string whole = Precision::prefix + std::string(name);
    return reinterpret_cast<Function*>(serial_function(whole.c_str(), Precision::library));
}
template <class Function, class Precision>
Function* fftw_mpi(const char* name) {
    const std::string whole = std::string(Precision::prefix) + "mpi_" + name;
    return reinterpret_cast<Function*>(mpi_function(whole.c_str(), Precision::mpi_library, Precision::precision));
}

}  // namespace fftw3_mpi
