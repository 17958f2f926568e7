// Ends a process that waits in MPI for a rank that is gone.
//
// Method: where the launcher does not end a job that lost a rank (mpiexec -disable-auto-cleanup, or a rank that it does
// not watch), an MPI call that waits for the dead one never returns, and nothing can be returned from it. So whoever
// calls MPI and may wait says so (WaitingInMpi), and a thread of the process looks once a second whether someone has
// waited for some seconds, and whether all ranks of that communicator on this node still live. If one does not, it
// says which one on standard error and ends the process, as MPI itself does on errors; ADR 67 says why.
// Invariant: only processes that were seen alive when the communicator was made, on the same system and in the same
// namespace of processes, are watched. Cost: two stores a call, some microseconds a second.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/status.hpp"

namespace spanfft {

struct NodePeer {
    int rank;  // in the communicator that the user gave
    int rank_here;
    std::int32_t pid;
};

// The other ranks of a communicator that share this rank's system. Ends being watched with its last owner.
class NodePeers {
  public:
    explicit NodePeers(std::vector<NodePeer> peers);
    NodePeers(const NodePeers&) = delete;
    NodePeers& operator=(const NodePeers&) = delete;
    ~NodePeers();
    const std::vector<NodePeer>& all() const { return peers_; }

  private:
    std::vector<NodePeer> peers_;
    std::int32_t made_by_;  // a process
};

// Collective over comm. Nothing (null) where SPANFFT_WATCH is 0; an error where it is neither 0 nor 1.
Result<std::shared_ptr<NodePeers>> find_node_peers(MPI_Comm comm);
// Those of them that are in `part`, which was made of `whole`; local. `peers` may be null.
std::shared_ptr<NodePeers> peers_in(const std::shared_ptr<NodePeers>& peers, MPI_Comm whole, MPI_Comm part);

// While one lives, its thread is in an MPI call that may wait for these ranks. `peers` may be null: nobody is watched.
class WaitingInMpi {
  public:
    explicit WaitingInMpi(const NodePeers* peers);
    ~WaitingInMpi();
    WaitingInMpi(const WaitingInMpi&) = delete;
    WaitingInMpi& operator=(const WaitingInMpi&) = delete;
};

// Of the ranks that this thread waits for, one that is gone: what an MPI call may have failed by, if it sees the death
// itself (one that copies from the other process's memory does). Waits a moment, as a process that ends is still there.
std::optional<NodePeer> gone_while_waiting();

}  // namespace spanfft
