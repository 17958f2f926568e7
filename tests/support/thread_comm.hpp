// ThreadComm: P ranks as threads of one process, so that everything above Comm is tested at any P without MPI.
//
// Method: one mutex for the whole world. A collective is a rendezvous: each rank leaves a pointer, the last one wakes
// the others, all read, all leave together. A Transfer publishes its source at start and copies at finish, byte order
// as MPI would (both sides walked in loop order), with a walk of its own that shares nothing with copy_strided.
// Deadlock: the world knows who is blocked. When every living rank is, or one waits longer than the limit, every
// blocked call fails with what each rank was doing, and the test fails. Ranks in different collectives fail likewise.
// Faults: one rank's nth call of a sort can be told to fail. It takes part in the call, so that nobody waits for it,
// and then reports an error: the kind of failure that agree() must carry to all. Or all are lost to one another.
// Invariant: counts are of bytes that were really copied between ranks; nothing is allocated after a Transfer is made.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/comm.hpp"

namespace spanfft::test {

enum class CommCall : int {
    split,
    duplicate,
    barrier,
    allgather,
    broadcast,
    make_transfer,
    make_window,
    start,
    finish
};
constexpr int kCommCalls = 9;
const char* call_name(CommCall call);

struct Delivered {
    index_t messages = 0;  // non-empty, to other ranks
    index_t bytes = 0;     // in them
};

class ThreadWorld {
  public:
    explicit ThreadWorld(int ranks);
    ~ThreadWorld();
    ThreadWorld(const ThreadWorld&) = delete;
    ThreadWorld& operator=(const ThreadWorld&) = delete;

    // Rank `rank`'s nth call (from 1) of this sort returns an error after it has taken part.
    void fail(int rank, CommCall call, int nth);
    // From that call on no call of any rank succeeds, as where that rank's process has gone.
    void lose(int rank, CommCall call, int nth);
    bool fault_was_hit() const { return fault_hit_; }

    // Runs body(rank, comm) on a thread for each rank and joins them. Adds a gtest failure on deadlock unless
    // deadlocks are expected.
    void run(const std::function<void(int rank, Comm& comm)>& body);
    void expect_deadlock() { deadlock_expected_ = true; }
    bool deadlocked() const { return !broken_.empty(); }
    const std::string& deadlock_report() const { return broken_; }

    Delivered sent_by(int rank) const;  // in transfers finished so far
    index_t calls(int rank, CommCall call) const;
    int open_comms() const { return open_comms_; }  // made and not yet destroyed

    std::chrono::seconds time_limit{60};
    int ranks_per_node = 0;  // 0: all on one node
    bool persistent_collectives = true;
    bool calls_from_threads = true;

    struct Shared;  // of the ranks of one communicator
    struct Rank;

  private:
    friend class ThreadComm;
    friend class ThreadTransfer;

    // Waits until all members have called with the same `what`; then slots hold everyone's pointer. Status of a
    // deadlock.
    Status meet(Shared& group, int rank, CommCall what, const void* mine);
    // Counts the call; the error that was ordered for it, if any.
    Status account(int world_rank, CommCall call);
    void break_world(const std::string& why);  // with the mutex held

    std::mutex mutex_;
    std::vector<Rank> ranks_;
    int alive_ = 0, blocked_ = 0;
    std::string broken_;  // not empty: deadlocked, and why
    bool deadlock_expected_ = false;
    int fault_rank_ = -1, fault_nth_ = 0;
    bool loses_ = false;
    CommCall fault_call_ = CommCall::barrier;
    std::atomic<bool> fault_hit_{false};
    std::atomic<int> open_comms_{0};
};

}  // namespace spanfft::test
