// A thread for calls that block; see call_thread.hpp.
#include "exchange/call_thread.hpp"

#include "core/threads.hpp"

namespace spanfft {

Result<std::unique_ptr<CallThread>> CallThread::start(std::function<Status(int)> call, size_t stack_bytes) {
    auto made = std::unique_ptr<CallThread>(new CallThread(std::move(call)));
    SPANFFT_TRY(start_thread(made->thread_, &CallThread::body, made.get(), stack_bytes));
    made->running_ = true;
    return made;
}

CallThread::~CallThread() {
    if (!running_) return;
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_one();
    pthread_join(thread_, nullptr);
}

void CallThread::submit(int index) {
    {
        const std::lock_guard lock(mutex_);
        if (index == 0) {
            done_ = 0;
            failed_ = -1;
        }
        submitted_ = index + 1;
    }
    wake_.notify_one();
}

Status CallThread::wait(int index) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return done_ > index; });
    return index == failed_ ? failure_ : Status();
}

void* CallThread::body(void* self) {
    static_cast<CallThread*>(self)->serve();
    return nullptr;
}

void CallThread::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return stop_ || submitted_ > done_; });
        if (submitted_ <= done_) return;  // told to stop, and nothing is left
        const int index = done_;
        lock.unlock();
        Status status = call_(index);
        lock.lock();
        if (!status.ok() && failed_ < 0) {
            failed_ = index;
            failure_ = std::move(status);
        }
        ++done_;
        finished_.notify_one();
    }
}

}  // namespace spanfft
