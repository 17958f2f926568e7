// See fftw_library.hpp.
#include "fftw_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace fftw3_mpi {
namespace {

// In the order of SPANFFT_FLOAT, SPANFFT_DOUBLE and SPANFFT_LONGDOUBLE.
constexpr const char* variables[] = {"SPANFFT_FFTWF_MPI_LIBRARY", "SPANFFT_FFTW_MPI_LIBRARY",
                                     "SPANFFT_FFTWL_MPI_LIBRARY"};

void* in_opened(const char* name, const char* library, int flags) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | flags);
    return handle ? dlsym(handle, name) : nullptr;
}

}  // namespace

void* serial_function(const char* name, const char* library) {
    if (void* next = dlsym(RTLD_NEXT, name)) return next;
    if (void* opened = in_opened(name, library, RTLD_NOLOAD)) return opened;
    return in_opened(name, library, 0);
}

void* mpi_function(const char* name, const char* library, int precision) {
    const char* const named = std::getenv(variables[precision]);
    if (named && *named) return in_opened(name, named, 0);
    if (void* next = dlsym(RTLD_NEXT, name)) return next;
    return in_opened(name, library, RTLD_NOLOAD);
}

}  // namespace fftw3_mpi
