// Memory that the ranks of one node share, by MPI_Win_allocate_shared.
#pragma once

#include <mpi.h>

#include <functional>

#include "comm/comm.hpp"

namespace spanfft {

// For NodeBarrier: lets MPI move its messages on.
std::function<void()> progress_of(MPI_Comm mpi);

// Collective over comm, which is `mpi` and whose ranks are all on one node. Code::unsupported, on all ranks, where
// there is no room.
Result<std::unique_ptr<SharedWindow>> make_mpi_window(Comm& comm, MPI_Comm mpi, index_t bytes);

}  // namespace spanfft
