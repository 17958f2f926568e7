// Batches and who does which part of them; see io_queue.hpp.
#include "disk/io_queue.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace spanfft {

void IoQueue::start(IoBatch& batch, bool on_ring) {
    batch.disks = batch.store ? batch.store->disks() : 1;
    assert(batch.disks <= kMaxDisks);
    for (auto& next : batch.next) next.store(0);
    batch.on_ring = on_ring;
    batch.left = batch.count * batch.disks;
    batch.done_bytes = batch.traced_bytes = 0;
    batch.status = Status();
    if (batch.count == 0) return;
    if (batch.trace) batch.start_ns = trace_clock_ns();
    int roused = 0;
    {
        std::lock_guard lock(mutex_);
        assert(queued_ < kMaxBatches);
        batch.active = true;
        queue_[queued_++] = &batch;
        // No more than there are parts: short batches that wake every thread spend more time on that than on
        // themselves.
        roused = rouse(on_ring ? 0 : batch.left);
    }
    while (roused-- > 0) sem_post(&wake_);
}

int IoQueue::rouse(index_t most) {
    const int roused = static_cast<int>(std::min<index_t>(most, asleep_));
    asleep_ -= roused;
    return roused;
}

// Under the lock.
bool IoQueue::take(bool on_ring, int workers, IoItem& item) {
    int* busy = busy_[on_ring];
    for (int b = 0; b < queued_; ++b) {
        IoBatch& batch = *queue_[b];
        if (batch.on_ring != on_ring) continue;
        const int places = std::max(1, workers / batch.disks);
        int best = -1;
        for (int disk = 0; disk < batch.disks; ++disk) {
            if (busy[disk] >= places || batch.next[static_cast<size_t>(disk)].load() >= batch.count) continue;
            if (best < 0 || busy[disk] < busy[best]) best = disk;
        }
        if (best < 0) continue;
        item = {&batch, best, 0};
        if (!take_next(item)) continue;  // threads take without the lock: one was faster
        ++busy[best];
        return true;
    }
    return false;
}

bool IoQueue::take_next(IoItem& item) {
    item.index = item.batch->next[static_cast<size_t>(item.disk)].fetch_add(1);
    return item.index < item.batch->count;
}

bool IoQueue::try_take(bool on_ring, int workers, IoItem& item) {
    std::lock_guard lock(mutex_);
    return take(on_ring, workers, item);
}

bool IoQueue::wait_take(int workers, IoItem& item) {
    for (;;) {
        {
            std::lock_guard lock(mutex_);
            if (stop_) return false;
            if (take(false, workers, item)) return true;
            ++asleep_;
        }
        while (sem_wait(&wake_) != 0) {  // interrupted by a signal
        }
    }
}

// Parts that nobody has taken are done in the sense that nobody will.
void IoQueue::skip_rest(IoBatch& batch) {
    for (int disk = 0; disk < batch.disks; ++disk) {
        const index_t skipped = batch.next[static_cast<size_t>(disk)].exchange(batch.count);
        if (skipped < batch.count) batch.left -= batch.count - skipped;
    }
}

void IoQueue::end_if_done(IoBatch& batch) {
    if (batch.left > 0) return;
    if (batch.trace) {
        const bool read = kind_ == IoKind::read;
        batch.trace->record({read ? "read" : "write", TraceCategory::disk,
                             read ? TraceTrack::reads : TraceTrack::writes, -1, batch.start_ns, trace_clock_ns(),
                             batch.traced_bytes});
    }
    batch.active = false;
    queued_ = static_cast<int>(std::remove(queue_, queue_ + queued_, &batch) - queue_);
    done_.notify_all();
}

void IoQueue::finish(const IoItem& item, index_t parts, index_t bytes, const Status& status) {
    std::lock_guard lock(mutex_);
    IoBatch& batch = *item.batch;
    --busy_[batch.on_ring][item.disk];
    batch.left -= parts;
    batch.done_bytes += bytes;
    batch.traced_bytes += bytes;
    if (!status.ok()) {
        if (batch.status.ok()) batch.status = status;
        skip_rest(batch);
    }
    end_if_done(batch);
}

void IoQueue::cancel(IoBatch& batch) {
    std::lock_guard lock(mutex_);
    if (!batch.active) return;
    skip_rest(batch);
    end_if_done(batch);
}

index_t IoQueue::take_bytes(IoBatch& batch) {
    std::lock_guard lock(mutex_);
    return std::exchange(batch.done_bytes, 0);
}

Status IoQueue::wait(IoBatch& batch) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return !batch.active; });
    return batch.status;
}

void IoQueue::stop() {
    int roused = 0;
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
        roused = rouse(asleep_);
    }
    while (roused-- > 0) sem_post(&wake_);
}

}  // namespace spanfft
