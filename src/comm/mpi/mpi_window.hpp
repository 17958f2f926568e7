// Memory that the ranks of one node share, by MPI_Win_allocate_shared.
#pragma once

#include <mpi.h>

#include "comm/comm.hpp"

namespace spanfft {

// Collective over comm, whose ranks are all on one node.
Result<std::unique_ptr<SharedWindow>> make_mpi_window(MPI_Comm comm, int rank, int size, index_t bytes);

}  // namespace spanfft
