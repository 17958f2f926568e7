// Derived datatypes for strided parts of any size.
#pragma once

#include <mpi.h>

#include "comm/comm.hpp"

namespace spanfft {

// Commits a datatype that covers exactly the bytes of `part` (which is not empty), relative to the buffer's start.
// Returns an MPI error code. Free with MPI_Type_free.
int make_datatype(const StridedPart& part, MPI_Datatype* type);

}  // namespace spanfft
