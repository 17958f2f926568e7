// Memory that the ranks of one node share, by MPI_Win_allocate_shared.
#pragma once

#include <mpi.h>

#include "comm/comm.hpp"

namespace spanfft {

// Collective over comm, which is `mpi` and whose ranks are all on one node. Code::unsupported, on all ranks, where
// there is no room.
Result<std::unique_ptr<SharedWindow>> make_mpi_window(Comm& comm, MPI_Comm mpi, index_t bytes);

}  // namespace spanfft
