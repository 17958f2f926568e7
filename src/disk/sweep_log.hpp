// SweepLog: which panels of a sweep are on the disk for good, told to a journal while the sweep goes on.
//
// Method: a thread of its own flushes the sweep's target now and then (a sixteenth of the sweep, a GiB or a few
// seconds) and then adds a line to the journal: so many panels are done, and the sums of what they wrote. The sweep
// waits for it only where a panel would overwrite what a lost panel needs (displaced_store.hpp), and at its end.
//     panels SWEEP DONE READ FIRST END HEX   READ: the sum of what they read of the input, or "-" (read_sum.hpp); HEX:
//                                           sums of the groups [FIRST, END) that changed since the line before
// Invariant: a line is given to the journal only when all writes of its panels ended before the flush began; lines are
// durable one after the other. After a failure nothing more is written, and the sweep is told at its next call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include <pthread.h>

#include "core/status.hpp"
#include "disk/panel_sums.hpp"
#include "disk/read_sum.hpp"
#include "disk/store.hpp"

namespace spanfft {

// Where lines go; append() returns when the line would survive a power cut. before_flush(): all is written that the
// next line speaks of, and is about to be flushed.
class LineSink {
  public:
    virtual ~LineSink() = default;
    virtual Status before_flush() { return {}; }
    virtual Status append(const std::string& line) = 0;
};

struct LoggedSweep {
    int number = 0;
    Store* written_store = nullptr;  // which is flushed
    PanelSums* sums = nullptr;       // of what is written; nullptr: nobody reads it again, or no checksums
    ReadSum* input_sum = nullptr;    // of what is read; nullptr: not the run's input, or no checksums
    index_t panels = 0, first_panel = 0;
    index_t panel_bytes = 0;  // about
    // How many panels must be on the disk before this one is written; empty: none.
    std::function<index_t(index_t panel)> needs;
};

class SweepLog {
  public:
    explicit SweepLog(LineSink& sink);
    ~SweepLog();
    SweepLog(const SweepLog&) = delete;
    SweepLog& operator=(const SweepLog&) = delete;
    Status started() const { return started_; }

    // By the thread that runs the sweep, in this order:
    void begin(const LoggedSweep& sweep);
    Status written(index_t panel);       // its writes have ended; panels one after the other
    Status before_write(index_t panel);  // waits for the panels that it needs, whose writes have ended
    Status finish();                     // all panels are written: waits until they are on the disk
    void stop();                         // ends early: keeps what it can
    index_t durable_panels() const { return durable_total_; }  // of all sweeps

  private:
    static void* body(void* self);
    void serve();
    void ask(std::unique_lock<std::mutex>& lock);  // when idle
    Status wait_for(index_t panels);

    LineSink& sink_;
    Status started_;
    pthread_t thread_{};
    LoggedSweep sweep_;
    index_t written_ = 0, asked_ = 0;  // panels
    std::chrono::steady_clock::time_point asked_at_;
    std::mutex mutex_;
    std::condition_variable work_, done_;
    bool busy_ = false, quit_ = false;
    std::string line_;
    index_t durable_ = 0, durable_total_ = 0;
    Status failure_;
};

}  // namespace spanfft
