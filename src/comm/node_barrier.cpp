// Arriving, looking, sleeping; see node_barrier.hpp.
#include "comm/node_barrier.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

namespace spanfft {

namespace {

constexpr int kLooks = 4000;  // about 20 to 50 microseconds
constexpr long kFirstSleepNs = 1000000;
constexpr long kLongestSleepNs = 64000000;
constexpr long kLookAroundNs = 190000000;  // for dead ranks

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "a futex is a plain word");

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value, const timespec* timeout) {
    return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, value, timeout, nullptr, 0);
}

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

// The state stands in /proc/PID/stat after the name in brackets; Z: waits for its parent to notice.
bool is_gone(std::int32_t pid) {
    if (kill(pid, 0) != 0) return errno == ESRCH;
    char path[32], text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return false;
    text[length] = '\0';
    const char* name_end = std::strrchr(text, ')');
    return name_end && name_end[1] == ' ' && (name_end[2] == 'Z' || name_end[2] == 'X');
}

std::string gone_text(int rank, std::int32_t pid) {
    return cat("rank ", rank, " (process ", pid, ") of this node is gone");
}

NodeBarrier::NodeBarrier(NodeBarrierState* state, int rank, int size, bool spin, std::function<void()> progress)
    : state_(state), rank_(rank), size_(size), spin_(spin), progress_(std::move(progress)) {
    state_->pids[rank_].store(static_cast<std::int32_t>(getpid()));
}

Status NodeBarrier::wait() {
    if (size_ == 1) return Status();
    const std::uint32_t generation = state_->generation.load(std::memory_order_acquire);
    if (state_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
        state_->arrived.store(0, std::memory_order_relaxed);
        state_->generation.fetch_add(1);
        // A call of the kernel takes as long as two ranks' whole meeting. Either this sees a sleeper, or the sleeper,
        // who counts itself first, sees the new generation.
        if (state_->sleepers.load() > 0) futex(&state_->generation, FUTEX_WAKE, INT_MAX, nullptr);
        return Status();
    }
    for (int look = 0; spin_ && look < kLooks; ++look) {
        if (state_->generation.load(std::memory_order_acquire) != generation) return Status();
        relax();
    }
    return sleep_until_next(generation);
}

Status NodeBarrier::sleep_until_next(std::uint32_t generation) {
    timespec timeout{0, kFirstSleepNs};
    long slept_ns = 0;  // since the last look around
    while (state_->generation.load(std::memory_order_acquire) == generation) {
        if (progress_) progress_();
        state_->sleepers.fetch_add(1);
        const bool timed_out = futex(&state_->generation, FUTEX_WAIT, generation, &timeout) != 0 && errno == ETIMEDOUT;
        state_->sleepers.fetch_sub(1);
        if (!timed_out) continue;
        slept_ns += timeout.tv_nsec;
        timeout.tv_nsec = std::min(2 * timeout.tv_nsec, kLongestSleepNs);
        if (slept_ns < kLookAroundNs) continue;
        slept_ns = 0;
        for (int rank = 0; rank < size_; ++rank) {
            const std::int32_t pid = state_->pids[rank].load();
            if (pid > 0 && is_gone(pid)) {
                return error(Code::mpi_error, gone_text(rank, pid), "; the transform can't be finished");
            }
        }
    }
    return Status();
}

}  // namespace spanfft
