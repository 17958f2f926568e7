// The thread that flushes, and when it does; see sweep_log.hpp.
#include "disk/sweep_log.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "disk/checksum.hpp"

namespace spanfft {

namespace {

constexpr index_t kFlushesASweep = 16;
constexpr index_t kFlushBytes = index_t{1} << 30;
constexpr double kFlushSeconds = 5;

}  // namespace

SweepLog::SweepLog(LineSink& sink) : sink_(sink) {
    started_ = start_thread(thread_, &SweepLog::body, this, size_t{256} << 10);
}

SweepLog::~SweepLog() {
    if (!started_.ok()) return;
    {
        std::lock_guard lock(mutex_);
        quit_ = true;
    }
    work_.notify_all();
    pthread_join(thread_, nullptr);
}

void* SweepLog::body(void* self) {
    static_cast<SweepLog*>(self)->serve();
    return nullptr;
}

void SweepLog::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        work_.wait(lock, [&] { return quit_ || busy_; });
        if (!busy_) return;
        const index_t panels = asked_;
        lock.unlock();
        Status status = sink_.before_flush();
        if (status.ok()) status = sweep_.written_store->sync();
        if (status.ok()) status = sink_.append(line_);
        lock.lock();
        busy_ = false;
        if (status.ok()) {
            durable_total_ += panels - durable_;
            durable_ = panels;
        } else {
            keep_first(failure_, std::move(status));
        }
        done_.notify_all();
    }
}

void SweepLog::begin(const LoggedSweep& sweep) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return !busy_; });
    sweep_ = sweep;
    written_ = asked_ = durable_ = sweep.first_panel;
    asked_at_ = std::chrono::steady_clock::now();
}

// The text is made here, by the thread that adds to the sums.
void SweepLog::ask(std::unique_lock<std::mutex>& /*lock*/) {
    line_ = cat("panels ", sweep_.number, " ", written_, " ", sweep_.input_sum ? hex_of(sweep_.input_sum->sum()) : "-",
                " ", sweep_.sums ? sweep_.sums->snapshot(asked_, written_) : std::string("0 0 "));
    asked_ = written_;
    asked_at_ = std::chrono::steady_clock::now();
    busy_ = true;
    work_.notify_all();
}

Status SweepLog::written(index_t panel) {
    if (sweep_.sums) sweep_.sums->settle(panel);
    std::unique_lock lock(mutex_);
    written_ = panel + 1;
    if (!failure_.ok()) return failure_;
    const index_t waiting = written_ - asked_;
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - asked_at_;
    const bool due = waiting >= ceil_div(sweep_.panels, kFlushesASweep) ||
                     waiting * sweep_.panel_bytes >= kFlushBytes || since.count() >= kFlushSeconds;
    if (due && !busy_ && written_ < sweep_.panels) ask(lock);
    return {};
}

Status SweepLog::wait_for(index_t panels) {
    std::unique_lock lock(mutex_);
    while (durable_ < panels) {
        if (!busy_ && failure_.ok() && asked_ < panels) ask(lock);
        if (!busy_) return failure_;
        done_.wait(lock, [&] { return !busy_; });
    }
    return failure_;
}

Status SweepLog::before_write(index_t panel) { return sweep_.needs ? wait_for(sweep_.needs(panel)) : Status(); }

Status SweepLog::finish() { return wait_for(sweep_.panels); }

void SweepLog::stop() { (void)wait_for(written_); }

}  // namespace spanfft
