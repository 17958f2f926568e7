// AsyncIo: many requests of one direction under way at once, by an io_uring or by a few threads that call the Store.
//
// Method: io_uring (ring_worker.hpp) takes batches whose store consists of files with direct I/O and whose runs can be
// direct; threads take the rest: simulated stores, requests through the page cache (whose copying one thread of a ring
// would do alone), everything where the kernel refuses. Either can be asked for; then what stands against it is an
// error. Measured on a virtual disk (512 MiB, direct): with 4 and 16 threads, 8 KiB runs read at 0.8 and 1.1 GB/s, 32
// KiB at 1.5 and 2.1, 256 KiB at 2.7 and 2.6; both kinds on limited disks: bench/results, DISKS.json. Invariant:
// io_queue.hpp's, whoever does the work; the counts of the stores and the bytes are the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "disk/io_backend.hpp"
#include "disk/io_queue.hpp"
#include "disk/ring_worker.hpp"

namespace spanfft {

struct IoChoice {
    IoBackend backend = IoBackend::automatic;
    int depth = 64;                      // requests under way in a ring
    const RingSystem* system = nullptr;  // tests refuse it; nullptr: the kernel's
};

// What a new AsyncIo would do here: "io_uring, depth 64", or "16 threads" and why.
std::string describe_disk_io(const IoChoice& choice, int threads);

class AsyncIo {
  public:
    using Kind = IoKind;

    AsyncIo(Kind kind, int threads, const IoChoice& choice = {});
    ~AsyncIo();
    AsyncIo(const AsyncIo&) = delete;
    AsyncIo& operator=(const AsyncIo&) = delete;

    // Whether there is a worker of the kind that was asked for.
    Status started() const { return started_; }
    // Says what the batches that follow use, while none is under way: their store, and the memory that all of their
    // runs lie in, which a ring registers. Fails when the store has no direct I/O and a ring was asked for. Optional.
    Status attach(Store& store, void* memory, index_t memory_bytes);
    void detach();

    void start(IoBatch& batch);
    Status wait(IoBatch& batch) { return queue_.wait(batch); }
    index_t take_bytes(IoBatch& batch) { return queue_.take_bytes(batch); }
    void cancel(IoBatch& batch) { queue_.cancel(batch); }

    // Who did the batches so far: "io_uring, depth 64, registered memory and files", "16 threads: WHY", or both.
    std::string describe() const;

  private:
    static void* body(void* self);
    void serve();
    bool suits_ring(const IoBatch& batch);
    bool first_run_is_direct(const IoBatch& batch) const;

    IoQueue queue_;
    IoChoice choice_;
    Status started_, no_ring_;
    std::unique_ptr<RingWorker> ring_;
    std::vector<pthread_t> threads_;
    const char* why_threads_ = nullptr;
    bool registered_memory_ = false, registered_files_ = false;
    index_t ring_batches_ = 0, thread_batches_ = 0;
};

}  // namespace spanfft
