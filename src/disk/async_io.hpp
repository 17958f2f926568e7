// AsyncIo: many requests of one direction under way at once, by a few threads that call the Store.
//
// Method: a batch is a count and a function that says what its i-th request is, so that a sweep of a million runs
// needs no list. Threads take indices one by one. Measured on a virtual disk (512 MiB, direct): with 4 and 16 threads,
// 8 KiB runs read at 0.8 and 1.1 GB/s, 32 KiB at 1.5 and 2.1, 256 KiB at 2.7 and 2.6. io_uring has not been tried.
// Invariant: allocates at construction only. After the first failure no further request of that batch starts;
// wait() returns when none is under way any more, so that buffers may be reused or freed.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include <pthread.h>

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
    // Kept by AsyncIo.
    std::atomic<index_t> next{0};
    index_t done = 0;  // under the lock, as are the rest
    index_t done_bytes = 0;
    index_t traced_bytes = 0;
    int64_t start_ns = 0;
    bool active = false;
    Status status;
};

class AsyncIo {
  public:
    enum class Kind { read, write };
    static constexpr int kMaxBatches = 8;  // queued at once

    AsyncIo(Kind kind, int threads);
    ~AsyncIo();
    AsyncIo(const AsyncIo&) = delete;
    AsyncIo& operator=(const AsyncIo&) = delete;

    Status started() const { return started_; }  // whether any thread could be had
    void start(IoBatch& batch);
    Status wait(IoBatch& batch);         // at once when it was never started
    index_t take_bytes(IoBatch& batch);  // payload that has ended since the last call for this batch
    void cancel(IoBatch& batch);         // no further request of it starts; wait() must follow

  private:
    static void* body(void* self);
    void serve();
    void record(const IoBatch& batch) const;
    IoBatch* take();

    const Kind kind_;
    Status started_;
    std::vector<pthread_t> threads_;
    std::mutex mutex_;
    std::condition_variable work_, done_;
    IoBatch* queue_[kMaxBatches] = {};
    int head_ = 0, queued_ = 0;
    bool stop_ = false;
};

}  // namespace spanfft
