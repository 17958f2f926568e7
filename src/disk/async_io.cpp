// Threads, a ring, and who takes what; see async_io.hpp.
#include "disk/async_io.hpp"

#include "core/threads.hpp"

namespace spanfft {

namespace {

Status asked_for(const Status& refused) {
    return Status(refused.code(), "io=uring was asked for, but " + refused.message() + "; io=threads does without");
}

std::string why(const Status& refused) { return ": " + refused.message(); }

// The first file without direct I/O; nullptr: all have it. Stores that are no files are not looked at.
const FileStore* cached_file(Store& store) {
    for (int disk = 0; disk < store.disks(); ++disk) {
        const FileStore* file = store.disk(disk).file();
        if (file && !file->direct()) return file;
    }
    return nullptr;
}

}  // namespace

std::string describe_disk_io(const IoChoice& choice, int threads) {
    const std::string crew = cat(threads, " threads each way");
    if (choice.backend == IoBackend::threads) return crew + ", as asked for";
    const auto ring = Ring::make(choice.depth, choice.system ? *choice.system : kernel_rings());
    if (!ring.ok()) return crew + why(ring.status());
    return cat("io_uring, depth ", choice.depth, " each way, where direct I/O can be had; else ", crew);
}

AsyncIo::AsyncIo(Kind kind, int threads, const IoChoice& choice) : queue_(kind), choice_(choice) {
    if (choice.backend != IoBackend::threads) {
        auto ring = RingWorker::make(queue_, choice.depth, choice.system ? *choice.system : kernel_rings());
        no_ring_ = ring.status();
        if (ring.ok()) ring_ = std::move(ring).value();
    }
    threads_.reserve(static_cast<size_t>(threads));
    for (int i = 0; i < threads; ++i) {
        pthread_t thread;
        started_ = start_thread(thread, &AsyncIo::body, this, size_t{256} << 10);
        if (!started_.ok()) break;
        threads_.push_back(thread);
    }
    if (!threads_.empty()) started_ = Status();  // fewer are slower, not wrong
    if (choice.backend == IoBackend::uring && !ring_) started_ = asked_for(no_ring_);
}

AsyncIo::~AsyncIo() {
    queue_.stop();
    for (pthread_t thread : threads_) pthread_join(thread, nullptr);
}

void* AsyncIo::body(void* self) {
    static_cast<AsyncIo*>(self)->serve();
    return nullptr;
}

void AsyncIo::serve() {
    const bool read = queue_.kind() == IoKind::read;
    const int workers = static_cast<int>(threads_.capacity());
    for (IoItem item; queue_.wait_take(workers, item);) {
        Store& store = *item.batch->store;
        index_t parts = 0, bytes = 0;
        Status status;
        do {
            const Run run = item.run();
            ++parts;
            if (item.batch->disks == 1) {
                status = read ? store.read(run) : store.write(run);
                if (status.ok()) bytes += run.bytes;
            } else {
                status = store.transfer_part(queue_.kind(), run, item.disk, bytes);
            }
        } while (status.ok() && IoQueue::take_next(item));
        queue_.finish(item, parts, bytes, status);
    }
}

Status AsyncIo::attach(Store& store, void* memory, index_t memory_bytes) {
    if (!ring_) return {};
    const FileStore* cached = cached_file(store);
    if (cached && choice_.backend == IoBackend::uring) {
        return asked_for(error(Code::unsupported, "its file system has no direct I/O for ", cached->describe()));
    }
    if (cached || !store.disk(0).file()) return {};
    ring_->attach(memory, memory_bytes, store);
    registered_memory_ |= ring_->ring().has_memory();
    registered_files_ |= ring_->ring().has_files();
    return {};
}

void AsyncIo::detach() {
    if (ring_) ring_->detach();
}

bool AsyncIo::suits_ring(const IoBatch& batch) {
    if (!ring_) return false;
    for (int disk = 0; disk < batch.store->disks(); ++disk) {
        Store& store = batch.store->disk(disk);
        if (store.file()) continue;
        why_threads_ = store.why_called();
        return false;
    }
    if (choice_.backend == IoBackend::uring) return true;
    if (cached_file(*batch.store)) {
        why_threads_ = "the file system has no direct I/O";
        return false;
    }
    if (first_run_is_direct(batch)) return true;
    why_threads_ = "the runs are too short or not aligned for direct I/O";
    return false;
}

// The other runs of a batch have the same length and alignment, but for the last of a row or panel.
bool AsyncIo::first_run_is_direct(const IoBatch& batch) const {
    const Run run = (*batch.run)(batch.group, batch.slot, 0);
    for (int disk = 0; disk < batch.store->disks(); ++disk) {
        Run piece;
        index_t from = run.offset_bytes;
        if (!batch.store->next_piece(run, disk, from, piece)) continue;
        const FileStore& file = *batch.store->disk(disk).file();
        const FileTransfer first = file.transfer(queue_.kind(), piece, piece.offset_bytes);
        if (first.direct || first.end_bytes >= piece.offset_bytes + piece.bytes) return first.direct;
        return file.transfer(queue_.kind(), piece, first.end_bytes).direct;  // behind a ragged end
    }
    return false;
}

void AsyncIo::start(IoBatch& batch) {
    const bool on_ring = batch.count > 0 && suits_ring(batch);
    if (batch.count > 0) ++(on_ring ? ring_batches_ : thread_batches_);
    queue_.start(batch, on_ring);
    if (on_ring) ring_->wake();
}

std::string AsyncIo::describe() const {
    std::string text;
    if (ring_batches_ > 0) {
        text = cat("io_uring, depth ", ring_->depth());
        if (registered_memory_ || registered_files_) {
            text += registered_memory_ && registered_files_ ? ", registered memory and files"
                    : registered_memory_                    ? ", registered memory"
                                                            : ", registered files";
        }
    }
    if (thread_batches_ > 0) {
        text += cat(text.empty() ? "" : "; ", threads_.size(), " threads");
        if (!no_ring_.ok()) text += why(no_ring_);
        if (no_ring_.ok() && why_threads_) text += cat(": ", why_threads_);
    }
    return text;
}

}  // namespace spanfft
