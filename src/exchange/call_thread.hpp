// CallThread: one thread that makes numbered calls in the order in which they are handed over, 0, 1, 2, ...
//
// Method: the caller raises a counter and goes on; the thread sleeps until there is something to do. It is made once
// and nothing is allocated while it works. Whoever hands over call 0 again has waited for all calls before.
// Invariant: calls run one after the other, and never while wait() has returned for all that were handed over.
// Source: the communication thread of P2, section 4.4 (algorithm 2).
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/status.hpp"

namespace spanfft {

class CallThread {
  public:
    // Of the stack only the pages that are touched count.
    static Result<std::unique_ptr<CallThread>> start(std::function<Status(int)> call,
                                                     size_t stack_bytes = size_t{2} << 20);
    ~CallThread();
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;

    void submit(int index);  // of the next call; 0 begins anew
    Status wait(int index);  // for that call: what it returned

  private:
    explicit CallThread(std::function<Status(int)> call) : call_(std::move(call)) {}
    static void* body(void* self);
    void serve();

    std::function<Status(int)> call_;
    pthread_t thread_{};
    bool running_ = false, stop_ = false;
    std::mutex mutex_;
    std::condition_variable wake_, finished_;
    int submitted_ = 0, done_ = 0;
    Status failure_;  // of call failed_, the first one
    int failed_ = -1;
};

}  // namespace spanfft
