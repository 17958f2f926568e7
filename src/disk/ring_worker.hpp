// RingWorker: a thread that feeds the requests of an IoQueue to an io_uring and takes in what comes of them.
//
// Method: up to `depth` items are under way, each one transfer of a file at a time (an item on a striped store or a
// write with ragged ends has several, one after the other). The thread always waits in the kernel: new work reaches it
// through an eventfd that the ring itself reads. Results, short ones and failures too, go through FileStore::settle.
// Invariant: allocates at construction only; items end exactly once; every transfer that was handed over has ended
// before its item does, so buffers may be reused.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <pthread.h>

#include "disk/file_store.hpp"
#include "disk/io_queue.hpp"
#include "disk/ring.hpp"

namespace spanfft {

class RingWorker {
  public:
    // The queue must outlive it.
    static Result<std::unique_ptr<RingWorker>> make(IoQueue& queue, int depth, const RingSystem& system);
    ~RingWorker();
    RingWorker(const RingWorker&) = delete;
    RingWorker& operator=(const RingWorker&) = delete;

    void wake();  // after a batch was started
    // Memory and files of the batches that follow, while none is under way.
    void attach(void* memory, index_t memory_bytes, Store& store);
    void detach() { ring_->unregister(); }
    const Ring& ring() const { return *ring_; }
    int depth() const { return static_cast<int>(flights_.size()); }

  private:
    struct Flight {
        IoItem item;
        Run run, piece;
        index_t from = 0;  // byte of the store where the next piece begins
        FileStore* file = nullptr;
        FileTransfer transfer;
        index_t bytes = 0;
        bool first = false;  // holds the first byte of the run
    };
    static constexpr unsigned kWakeTag = ~0U;

    RingWorker(IoQueue& queue, int depth);
    static void* body(void* self);
    void serve();
    void fill();
    void push(unsigned tag);
    void advance(unsigned tag);
    void take_in(const Ring::Outcome& outcome);
    void end(unsigned tag, const Status& status);
    void give_up(int errno_value);

    IoQueue& queue_;
    std::unique_ptr<Ring> ring_;
    std::vector<Flight> flights_;
    std::vector<unsigned> free_;  // flights
    std::vector<int> descriptors_;
    int wake_descriptor_ = -1;
    uint64_t wake_value_ = 0;
    bool wake_asked_ = false;
    std::atomic<bool> stop_{false};
    bool running_ = false;
    pthread_t thread_{};
};

}  // namespace spanfft
