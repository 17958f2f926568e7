// The thread behind a ring; see ring_worker.hpp.
#include "disk/ring_worker.hpp"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/threads.hpp"

namespace spanfft {

RingWorker::RingWorker(IoQueue& queue, int depth) : queue_(queue), flights_(static_cast<size_t>(depth)) {
    free_.reserve(flights_.size());
    for (unsigned i = 0; i < flights_.size(); ++i) free_.push_back(i);
    descriptors_.reserve(size_t{2} * kMaxDisks);
}

Result<std::unique_ptr<RingWorker>> RingWorker::make(IoQueue& queue, int depth, const RingSystem& system) {
    std::unique_ptr<RingWorker> worker(new RingWorker(queue, depth));
    SPANFFT_ASSIGN(worker->ring_, Ring::make(depth + 1, system));  // one for the eventfd
    worker->wake_descriptor_ = eventfd(0, EFD_CLOEXEC);
    if (worker->wake_descriptor_ < 0) return error_errno(Code::unsupported, errno, "no eventfd for an io_uring");
    SPANFFT_TRY(start_thread(worker->thread_, &RingWorker::body, worker.get(), size_t{256} << 10));
    worker->running_ = true;
    return worker;
}

RingWorker::~RingWorker() {
    if (running_) {
        stop_.store(true);
        wake();
        pthread_join(thread_, nullptr);
    }
    if (wake_descriptor_ >= 0) ::close(wake_descriptor_);
}

void* RingWorker::body(void* self) {
    static_cast<RingWorker*>(self)->serve();
    return nullptr;
}

void RingWorker::wake() {
    const uint64_t one = 1;
    while (::write(wake_descriptor_, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void RingWorker::attach(void* memory, index_t memory_bytes, Store& store) {
    ring_->unregister();
    (void)ring_->register_memory(memory, memory_bytes);
    descriptors_.clear();
    for (int disk = 0; disk < store.disks(); ++disk) {
        const FileStore* file = store.disk(disk).file();
        if (!file) continue;
        descriptors_.push_back(file->descriptor());
        if (file->direct()) descriptors_.push_back(file->direct_descriptor());
    }
    (void)ring_->register_files(descriptors_);
}

void RingWorker::serve() {
    for (;;) {
        fill();
        const bool idle = free_.size() == flights_.size();
        if (stop_.load() && idle && !wake_asked_) return;
        if (!wake_asked_) {
            // Not among the registered files, which another thread may be changing now.
            ring_->push({false, wake_descriptor_, &wake_value_, sizeof wake_value_, 0, kWakeTag, false});
            wake_asked_ = true;
        }
        const int entered = ring_->enter(1);
        if (entered == -EAGAIN || entered == -EBUSY) {
            sched_yield();  // the kernel lacks memory for more requests just now
        } else if (entered < 0 && entered != -EINTR) {
            give_up(-entered);
        }
        for (Ring::Outcome outcome; ring_->pop(outcome);) take_in(outcome);
    }
}

void RingWorker::fill() {
    IoItem item;
    while (!free_.empty() && queue_.try_take(true, depth(), item)) {
        const unsigned tag = free_.back();
        free_.pop_back();
        Flight& flight = flights_[tag];
        flight.item = item;
        flight.run = item.run();
        flight.piece = Run();
        flight.from = flight.run.offset_bytes;
        flight.file = nullptr;
        flight.transfer = FileTransfer();
        flight.bytes = 0;
        flight.first = false;
        Store& store = *item.batch->store;
        const Status status = store.disks() > 1 ? store.check_range(flight.run) : Status();
        if (status.ok()) {
            advance(tag);
        } else {
            end(tag, status);
        }
    }
}

void RingWorker::push(unsigned tag) {
    const Flight& flight = flights_[tag];
    const FileTransfer& next = flight.transfer;
    ring_->push({next.write, flight.file->descriptor_for(next), next.data, next.bytes, next.offset_bytes, tag, true});
}

// The next transfer of the piece, or the first one of the next piece, or the end of the item.
void RingWorker::advance(unsigned tag) {
    Flight& flight = flights_[tag];
    Store& store = *flight.item.batch->store;
    const IoKind kind = queue_.kind();
    index_t begin = flight.transfer.end_bytes;
    if (begin >= flight.piece.offset_bytes + flight.piece.bytes) {
        if (flight.file && flight.file != &store) flight.file->count(kind, 1, flight.piece.bytes);
        flight.bytes += flight.piece.bytes;
        if (!store.next_piece(flight.run, flight.item.disk, flight.from, flight.piece)) {
            if (flight.bytes > 0) store.count(kind, flight.first ? 1 : 0, flight.bytes);
            end(tag, Status());
            return;
        }
        flight.first = flight.first || flight.piece.data == flight.run.data;
        flight.file = store.disk(flight.item.disk).file();
        begin = flight.piece.offset_bytes;
    }
    flight.transfer = flight.file->transfer(kind, flight.piece, begin);
    push(tag);
}

void RingWorker::take_in(const Ring::Outcome& outcome) {
    if (outcome.tag == kWakeTag) {
        wake_asked_ = false;
        return;
    }
    Flight& flight = flights_[outcome.tag];
    const auto settled = flight.file->settle(flight.transfer, ring_->seen(outcome.result, flight.transfer.bytes));
    if (!settled.ok()) {
        end(outcome.tag, settled.status());
    } else if (settled.value()) {
        advance(outcome.tag);
    } else {
        push(outcome.tag);
    }
}

void RingWorker::end(unsigned tag, const Status& status) {
    const IoItem item = flights_[tag].item;
    free_.push_back(tag);
    queue_.finish(item, 1, flights_[tag].bytes, status);
}

// The kernel takes no more requests: what it has not seen fails, what it has is waited for without asking it.
void RingWorker::give_up(int errno_value) {
    for (unsigned tag = 0; ring_->take_back(tag);) {
        if (tag == kWakeTag) {
            wake_asked_ = false;
        } else {
            end(tag, error_errno(Code::io_error, errno_value, "the kernel's io_uring failed; io=threads does without"));
        }
    }
    if (free_.size() < flights_.size()) {
        sched_yield();
    } else if (!wake_asked_) {
        (void)!::read(wake_descriptor_, &wake_value_, sizeof wake_value_);  // until there is something to refuse
    }
}

}  // namespace spanfft
