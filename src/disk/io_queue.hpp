// IoQueue: batches of requests that wait for workers, be they threads that call a Store or one that feeds an io_uring.
//
// Method: a batch is a count and a function that says what its i-th request is, so that a sweep of a million runs
// needs no list. Each disk of the batch's store has a cursor of its own over the same requests: a worker takes the next
// index for one disk and does the part of that request that lies there. At most workers / disks of them are busy on
// one disk, so a slow disk cannot hold the workers that another one needs: no disk is idle while it has work queued.
// Threads that find nothing sleep at a semaphore, and not at a condition variable, whose signals glibc loses now and
// then where several threads wait (bug 25847, in versions 2.27 to 2.40): a lost one would be a run that hangs.
// Invariant: allocates nothing. After the first failure no further request of that batch starts; wait() returns when
// none is under way any more, so that buffers may be reused or freed.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include <semaphore.h>

#include "core/status.hpp"
#include "core/trace.hpp"
#include "disk/store.hpp"

namespace spanfft {

struct IoBatch {
    // Set before start(), constant until wait() has returned.
    Store* store = nullptr;
    index_t group = 0, slot = 0, count = 0;
    const std::function<Run(index_t group, index_t slot, index_t i)>* run = nullptr;
    Trace* trace = nullptr;  // gets an event for the whole batch when it ends
    // Kept by the queue.
    std::array<std::atomic<index_t>, kMaxDisks> next{};  // of each disk
    int disks = 1;
    bool on_ring = false;  // who takes it; the rest is under the lock
    index_t left = 0;      // parts (requests by disks) that have not ended
    index_t done_bytes = 0;
    index_t traced_bytes = 0;
    int64_t start_ns = 0;
    bool active = false;
    Status status;
};

// The part of one request on one disk.
struct IoItem {
    IoBatch* batch = nullptr;
    int disk = 0;
    index_t index = 0;
    Run run() const { return (*batch->run)(batch->group, batch->slot, index); }
};

class IoQueue {
  public:
    static constexpr int kMaxBatches = 8;  // at once

    explicit IoQueue(IoKind kind) : kind_(kind) { sem_init(&wake_, 0, 0); }
    ~IoQueue() { sem_destroy(&wake_); }
    IoQueue(const IoQueue&) = delete;
    IoQueue& operator=(const IoQueue&) = delete;
    IoKind kind() const { return kind_; }

    void start(IoBatch& batch, bool on_ring);
    Status wait(IoBatch& batch);         // at once when it was never started
    index_t take_bytes(IoBatch& batch);  // payload that has ended since the last call for this batch
    void cancel(IoBatch& batch);         // no further request of it starts; wait() must follow

    // For one of `workers` workers of a kind: an item of the oldest batch that has one for a disk with a place left.
    bool try_take(bool on_ring, int workers, IoItem& item);
    bool wait_take(int workers, IoItem& item);  // threads; false: stop
    // Another item of the same batch and disk; the worker keeps its place.
    static bool take_next(IoItem& item);
    // `parts` items from the one taken on have ended with `bytes` of payload; gives up the place on the disk.
    void finish(const IoItem& item, index_t parts, index_t bytes, const Status& status);
    void stop();

  private:
    bool take(bool on_ring, int workers, IoItem& item);
    void skip_rest(IoBatch& batch);
    void end_if_done(IoBatch& batch);
    int rouse(index_t most);  // under the lock: so many sleep no more, once wake_ is posted as often

    const IoKind kind_;
    std::mutex mutex_;
    std::condition_variable done_;  // at which whoever runs the pipeline waits
    sem_t wake_{};
    IoBatch* queue_[kMaxBatches] = {};  // oldest first
    int queued_ = 0;
    int busy_[2][kMaxDisks] = {};  // threads, ring: workers on each disk
    int asleep_ = 0;               // threads in wait_take for which wake_ was not posted
    bool stop_ = false;
};

}  // namespace spanfft
