// The names under which clients find this library: FFTW's, in its three precisions, and the forms with _f03 that
// fftw3-mpi.f03 binds Fortran to, whose communicators are Fortran's. The functions stand once, in two files that are
// included for each; FFTW makes its own in the same way.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocation.hpp"
#include "planning.hpp"
#include "spanfft/spanfft_mpi.h"

using namespace fftw3_mpi;

namespace {

// Runs our plan, or FFTW's by FFTW's own function, which each caller looks up once, because programs that run small
// plans of FFTW's would notice a search at each call.
template <class Theirs, class... Arrays>
void run(Theirs* theirs, PlanPointer plan, Arrays... arrays) {
    if (Plan* ours = find_plan(plan)) return ours->execute(arrays...);
    if (theirs) theirs(plan, arrays...);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

#define PRECISION Double
#define NAME(name) fftw_##name
#include "plan_entry_points.inc"
#undef NAME
#undef PRECISION
#define PRECISION Float
#define NAME(name) fftwf_##name
#include "plan_entry_points.inc"
#undef NAME
#undef PRECISION
#define PRECISION LongDouble
#define NAME(name) fftwl_##name
#include "plan_entry_points.inc"
#undef NAME
#undef PRECISION

#define COMM MPI_Comm
#define TO_COMM(comm) comm
#define PRECISION Double
#define MPI_NAME(name) fftw_mpi_##name
#include "mpi_entry_points.inc"
#undef MPI_NAME
#undef PRECISION
#define PRECISION Float
#define MPI_NAME(name) fftwf_mpi_##name
#include "mpi_entry_points.inc"
#undef MPI_NAME
#undef PRECISION
#define PRECISION LongDouble
#define MPI_NAME(name) fftwl_mpi_##name
#include "mpi_entry_points.inc"
#undef MPI_NAME
#undef PRECISION
#undef TO_COMM
#undef COMM

#define COMM SPANFFT_FINT
#define TO_COMM(comm) SPANFFT_COMM_F2C(comm)
#define PRECISION Double
#define MPI_NAME(name) fftw_mpi_##name##_f03
#include "mpi_entry_points.inc"
#undef MPI_NAME
#undef PRECISION
#define PRECISION Float
#define MPI_NAME(name) fftwf_mpi_##name##_f03
#include "mpi_entry_points.inc"
#undef MPI_NAME
#undef PRECISION
#define PRECISION LongDouble
#define MPI_NAME(name) fftwl_mpi_##name##_f03
#include "mpi_entry_points.inc"
