// NodeBarrier: a barrier of processes in memory that they share.
//
// Method: a counter of arrivals and a generation that the last one to arrive raises (a central barrier). Who waits
// looks at the generation for a while, as long as there is a core for every rank, and then sleeps in a futex, so that
// ranks that share cores hand them over at once. It wakes now and then to see whether all the others still live.
// Who waits here makes no MPI calls, but a message that MPI took from it may still be on its way: MPI is free to move
// it on only when it is called (MPI 4.1, progress), while the one that waits for the message will not come to the
// barrier. So `progress` is called before each sleep, and sleeps are short at first. Invariant: what a rank wrote
// before arriving is visible to all that have left (release on arrival, acquire on leaving). Cost: 0.3 microseconds a
// rank where each has a core; a context switch where it has not.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/status.hpp"

namespace spanfft {

// No such process, or one that only waits for its parent to notice.
bool is_gone(std::int32_t pid);

// What to say of such a rank.
std::string gone_text(int rank, std::int32_t pid);

constexpr int kNodeBarrierRanks = 1000;  // of one node, at most

// Lies in shared memory, zeroed before first use, at the same distance from the window's start for everybody.
struct NodeBarrierState {
    std::atomic<std::uint32_t> arrived;
    std::atomic<std::uint32_t> generation;
    std::atomic<std::uint32_t> sleepers;  // ranks that only the kernel can wake; one that was killed asleep counts on
    std::atomic<std::int32_t> pids[kNodeBarrierRanks];
};

class NodeBarrier {
  public:
    NodeBarrier() = default;
    // `spin`: whether waiting may take a core for some microseconds. `progress`: lets messages move on; may be empty.
    NodeBarrier(NodeBarrierState* state, int rank, int size, bool spin, std::function<void()> progress = {});
    // Code::mpi_error when another rank's process is gone; names the rank.
    Status wait();

  private:
    Status sleep_until_next(std::uint32_t generation);
    NodeBarrierState* state_ = nullptr;
    int rank_ = 0, size_ = 1;
    bool spin_ = false;
    std::function<void()> progress_;
};

}  // namespace spanfft
