// NodeBarrier: a barrier of processes in memory that they share.
//
// Method: a counter of arrivals and a generation that the last one to arrive raises (a central barrier). Who waits
// looks at the generation for a while, as long as there is a core for every rank, and then sleeps in a futex, so that
// ranks that share cores hand them over at once. It wakes five times a second to see whether all the others still live.
// Invariant: what a rank wrote before arriving is visible to all that have left (release on arrival, acquire on
// leaving). Cost: 0.3 microseconds a rank where each has a core; a context switch where it has not.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/status.hpp"

namespace spanfft {

constexpr int kNodeBarrierRanks = 1000;  // of one node, at most

// Lies in shared memory, zeroed before first use, at the same distance from the window's start for everybody.
struct NodeBarrierState {
    std::atomic<std::uint32_t> arrived;
    std::atomic<std::uint32_t> generation;
    std::atomic<std::int32_t> pids[kNodeBarrierRanks];
};

class NodeBarrier {
  public:
    NodeBarrier() = default;
    // `spin`: whether waiting may take a core for some microseconds.
    NodeBarrier(NodeBarrierState* state, int rank, int size, bool spin);
    // Code::mpi_error when another rank's process is gone; names the rank.
    Status wait();

  private:
    Status sleep_until_next(std::uint32_t generation);
    NodeBarrierState* state_ = nullptr;
    int rank_ = 0, size_ = 1;
    bool spin_ = false;
};

}  // namespace spanfft
