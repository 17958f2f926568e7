// The array of events behind a Trace; see trace.hpp.
#include "core/trace.hpp"

#include <ctime>

#include <algorithm>
#include <new>

namespace spanfft {

namespace {
constexpr index_t kMostEvents = index_t{1} << 32;  // 192 GiB of them: more is a mistake
}

int64_t trace_clock_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Result<std::unique_ptr<Trace>> Trace::make(index_t max_events) {
    if (max_events < 0 || max_events > kMostEvents) {
        return error(Code::invalid_argument, "a trace of ", max_events, " events; give 0 (", kDefaultEvents, ") to ",
                     kMostEvents);
    }
    std::unique_ptr<Trace> trace(new Trace);
    trace->capacity_ = max_events == 0 ? kDefaultEvents : max_events;
    trace->phase_limit_ = trace->capacity_ - trace->capacity_ / 8;
    SPANFFT_ASSIGN(trace->events_, Buffer::allocate(static_cast<size_t>(trace->capacity_) * sizeof(TraceEvent)));
    // Written once here, so that no page is faulted in while a plan runs.
    for (index_t i = 0; i < trace->capacity_; ++i) new (trace->events_.as<TraceEvent>() + i) TraceEvent;
    return trace;
}

void Trace::record(TraceEvent event) {
    const bool phase = event.category != TraceCategory::run && event.category != TraceCategory::step;
    event.step = event.category == TraceCategory::run ? -1 : step_;
    // chunk_ is the runner's: another thread may be in an earlier chunk.
    const bool by_runner = std::this_thread::get_id() == runner_;
    event.chunk = by_runner && phase ? chunk_ : -1;
    if (event.track == TraceTrack::steps && !by_runner) event.track = TraceTrack::calls;
    // Threads that pass this test together may take a few entries behind phase_limit_, never one behind capacity_.
    if (used_.load(std::memory_order_relaxed) < (phase ? phase_limit_ : capacity_)) {
        const index_t at = used_.fetch_add(1, std::memory_order_relaxed);
        if (at < capacity_) {
            events_.as<TraceEvent>()[at] = event;
            return;
        }
    }
    dropped_.fetch_add(1, std::memory_order_relaxed);
}

index_t Trace::size() const { return std::min(used_.load(), capacity_); }

}  // namespace spanfft
