// Transfers over MPI: collectives on datatypes or bytes, persistent ones, pairwise messages.
//
// Invariant: errors return, never abort: the communicators that come here have MPI_ERRORS_RETURN.
#pragma once

#include <mpi.h>

#include "comm/comm.hpp"
#include "comm/mpi/rank_watch.hpp"

namespace spanfft {

// The library's sentence for an error code; ok for MPI_SUCCESS.
Status mpi_status(int code, const char* call);

#define SPANFFT_MPI_TRY(call) SPANFFT_TRY(mpi_status((call), #call))

struct WatchedComm {
    MPI_Comm comm;
    const NodePeers* peers = nullptr;  // may be none; must outlive what is made (rank_watch.hpp)
    bool patient = false;              // Comm::be_patient
};

// Until all of them have ended.
Status wait_for(const WatchedComm& comm, MPI_Request* requests, int count);

Result<std::unique_ptr<Transfer>> make_datatype_transfer(WatchedComm comm, int rank,
                                                         const std::vector<StridedPart>& send,
                                                         const std::vector<StridedPart>& receive, Issue issue);
bool fits_int(const std::vector<BytesPart>& parts);
// ints: all sizes and offsets fit an int, on every rank of the communicator.
Result<std::unique_ptr<Transfer>> make_bytes_transfer(WatchedComm comm, int rank, const std::vector<BytesPart>& send,
                                                      const std::vector<BytesPart>& receive, Issue issue, bool ints);
Result<std::unique_ptr<Transfer>> make_gather_transfer(WatchedComm comm, index_t bytes, bool at_once);
bool is_mpi_4();  // the library that was compiled for, and the one that runs: persistent collectives, large counts
Result<std::unique_ptr<Transfer>> make_persistent_transfer(WatchedComm comm, int rank, const void* source,
                                                           const std::vector<BytesPart>& send, void* target,
                                                           const std::vector<BytesPart>& receive, bool ints);
Result<std::unique_ptr<Transfer>> make_pair_transfer(WatchedComm comm, int rank, const std::vector<PairParts>& pairs,
                                                     Pairing pairing);

}  // namespace spanfft
