// A Comm over an MPI communicator.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/comm.hpp"

namespace spanfft {

// Collective over comm, which is duplicated, once for all that are made of it.
Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm comm);

}  // namespace spanfft
