// What FFTW's binary interface fixes and clients have compiled in: precisions, flags, kinds and signs, as FFTW 3.3's
// manual and headers (fftw3.h, fftw3-mpi.h) define them. The headers themselves are not needed to build this library,
// so that it is built wherever there is an MPI.
#pragma once
#include <cstddef>
#include <cstdint>

#include "spanfft/spanfft.h"

namespace fftw3_mpi {

// One of FFTW's three libraries: the prefix of its functions, and our name for its numbers.
struct Double {
    using Real = double;
    static constexpr const char* prefix = "fftw_";
    static constexpr const char* library = "libfftw3.so.3";
    static constexpr const char* mpi_library = "libfftw3_mpi.so.3";
    static constexpr int precision = SPANFFT_DOUBLE;
};
struct Float {
    using Real = float;
    static constexpr const char* prefix = "fftwf_";
    static constexpr const char* library = "libfftw3f.so.3";
    static constexpr const char* mpi_library = "libfftw3f_mpi.so.3";
    static constexpr int precision = SPANFFT_FLOAT;
};
struct LongDouble {
    using Real = long double;
    static constexpr const char* prefix = "fftwl_";
    static constexpr const char* library = "libfftw3l.so.3";
    static constexpr const char* mpi_library = "libfftw3l_mpi.so.3";
    static constexpr int precision = SPANFFT_LONGDOUBLE;
};

// fftw_plan: clients never look inside, so it may be FFTW's plan or ours.
using PlanPointer = void*;

constexpr int forward_sign = -1;

constexpr unsigned exhaustive = 1U << 3, patient = 1U << 5, estimate = 1U << 6, wisdom_only = 1U << 21;
constexpr unsigned scrambled_in = 1U << 27, scrambled_out = 1U << 28;
constexpr unsigned transposed_in = 1U << 29, transposed_out = 1U << 30;

// fftw_r2r_kind
enum R2rKind { r2hc = 0, hc2r = 1, dht = 2, redft00, redft01, redft10, redft11, rodft00, rodft01, rodft10, rodft11 };

}  // namespace fftw3_mpi
