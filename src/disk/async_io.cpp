// A small team of threads that work through batches of requests; see async_io.hpp.
#include "disk/async_io.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/threads.hpp"

namespace spanfft {

AsyncIo::AsyncIo(Kind kind, int threads) : kind_(kind) {
    threads_.reserve(static_cast<size_t>(threads));
    for (int i = 0; i < threads; ++i) {
        pthread_t thread;
        started_ = start_thread(thread, &AsyncIo::body, this, size_t{256} << 10);
        if (!started_.ok()) break;
        threads_.push_back(thread);
    }
    if (!threads_.empty()) started_ = Status();  // fewer are slower, not wrong
}

AsyncIo::~AsyncIo() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    work_.notify_all();
    for (pthread_t thread : threads_) pthread_join(thread, nullptr);
}

void* AsyncIo::body(void* self) {
    static_cast<AsyncIo*>(self)->serve();
    return nullptr;
}

void AsyncIo::start(IoBatch& batch) {
    batch.next.store(0);
    batch.done = 0;
    batch.done_bytes = batch.traced_bytes = 0;
    batch.status = Status();
    if (batch.count == 0) return;
    if (batch.trace) batch.start_ns = trace_clock_ns();
    {
        std::lock_guard lock(mutex_);
        assert(queued_ < kMaxBatches);
        batch.active = true;
        queue_[(head_ + queued_) % kMaxBatches] = &batch;
        ++queued_;
    }
    work_.notify_all();
}

// The oldest batch with requests that nobody has taken; batches taken to the end leave the queue. Under the lock.
IoBatch* AsyncIo::take() {
    while (queued_ > 0 && queue_[head_]->next.load() >= queue_[head_]->count) {
        head_ = (head_ + 1) % kMaxBatches;
        --queued_;
    }
    return queued_ > 0 ? queue_[head_] : nullptr;
}

void AsyncIo::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        IoBatch* batch = nullptr;
        work_.wait(lock, [&] { return stop_ || (batch = take()) != nullptr; });
        if (stop_) return;
        // The first index is taken under the lock: a batch in the queue is one that wait() still waits for.
        index_t i = batch->next.fetch_add(1);
        if (i >= batch->count) continue;
        lock.unlock();
        index_t done = 0, done_bytes = 0;
        Status status;
        for (; i < batch->count; i = batch->next.fetch_add(1)) {
            const Run run = (*batch->run)(batch->group, batch->slot, i);
            status = kind_ == Kind::read ? batch->store->read(run) : batch->store->write(run);
            ++done;
            if (!status.ok()) break;
            done_bytes += run.bytes;
        }
        lock.lock();
        batch->done += done;
        batch->done_bytes += done_bytes;
        batch->traced_bytes += done_bytes;
        if (!status.ok()) {
            if (batch->status.ok()) batch->status = status;
            // Indices that nobody has taken are done in the sense that nobody will.
            const index_t skipped = batch->next.exchange(batch->count);
            if (skipped < batch->count) batch->done += batch->count - skipped;
        }
        if (batch->done >= batch->count) {
            if (batch->trace) record(*batch);
            batch->active = false;
            done_.notify_all();
        }
    }
}

void AsyncIo::record(const IoBatch& batch) const {
    const bool read = kind_ == Kind::read;
    batch.trace->record({read ? "read" : "write", TraceCategory::disk, read ? TraceTrack::reads : TraceTrack::writes,
                         -1, batch.start_ns, trace_clock_ns(), batch.traced_bytes});
}

void AsyncIo::cancel(IoBatch& batch) {
    std::lock_guard lock(mutex_);
    if (!batch.active) return;
    const index_t skipped = batch.next.exchange(batch.count);
    if (skipped < batch.count) batch.done += batch.count - skipped;
    if (batch.done >= batch.count) {
        batch.active = false;
        done_.notify_all();
    }
}

index_t AsyncIo::take_bytes(IoBatch& batch) {
    std::lock_guard lock(mutex_);
    return std::exchange(batch.done_bytes, 0);
}

Status AsyncIo::wait(IoBatch& batch) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return !batch.active; });
    // A batch that ended by an error or a cancel may still be in the queue; the caller may reuse it now.
    while (queued_ > 0 && queue_[head_]->next.load() >= queue_[head_]->count) {
        head_ = (head_ + 1) % kMaxBatches;
        --queued_;
    }
    return batch.status;
}

}  // namespace spanfft
