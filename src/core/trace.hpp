// Trace: who did what when, on one rank, while a plan runs.
//
// Method: an array of events that is allocated (and touched) when tracing is switched on. A TraceScope reads the clock
// when it is made and again when it goes, and then writes one event; with a null Trace it does nothing but test the
// pointer. Events are written by the thread that runs the steps and by the threads that read and write disks.
// Invariant: recording never allocates and never fails. When the array is full events are dropped and counted; the last
// eighth is kept for runs and steps, so that a flood of small phases can't hide those.
// Source: the profiles of P3 (figures 3 and 4) and the stacked bars of P1 (figure 7) are drawn from these events.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "core/buffer.hpp"
#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

// The values are part of the C ABI (SPANFFT_TRACE_*): append only. A run holds steps, a step holds phases, which have
// the other categories; wait is waiting for other ranks, and waiting for a disk is disk.
enum class TraceCategory : std::int8_t { run = 0, step = 1, compute = 2, communication = 3, wait = 4, disk = 5 };

// Events of the first track nest and never cross; so do those of the last, which are what a communication thread does.
// The others are what goes on behind both: messages under way, batches of reads, batches of writes; these may overlap
// one another.
enum class TraceTrack : std::int8_t { steps = 0, messages = 1, reads = 2, writes = 3, calls = 4 };

struct TraceEvent {
    const char* name = "";  // static, or as long-lived as the plan
    TraceCategory category = TraceCategory::compute;
    TraceTrack track = TraceTrack::steps;
    int step = -1;             // of the plan; -1: outside of any
    int64_t start_ns = 0;      // of this process's clock; the Executor knows how far rank 0's is from it
    int64_t end_ns = 0;        // likewise
    index_t moved_bytes = -1;  // to other ranks, to or from the disk, or through memory; -1: not said
    int chunk = -1;            // of the step's exchange; -1: of none, or a communication thread's
};
static_assert(sizeof(TraceEvent) == 48, "the documented size");

int64_t trace_clock_ns();  // CLOCK_MONOTONIC

class Trace {
  public:
    static constexpr index_t kDefaultEvents = index_t{1} << 16;
    // For at most max_events events (0: kDefaultEvents). It records from the start.
    static Result<std::unique_ptr<Trace>> make(index_t max_events);

    void stop() { recording_ = false; }  // keeps the events
    bool recording() const { return recording_; }
    // The thread that calls this runs the steps. What a communication thread puts on the first track would not nest
    // there, and goes to its own; there is one such thread at a time, as an exchange has one and steps follow one
    // another.
    void begin_run() {
        runner_ = std::this_thread::get_id();
        step_ = -1;
    }
    void enter_step(int step) {  // of the events that follow
        step_ = step;
        chunk_ = -1;
    }
    void enter_chunk(int chunk) { chunk_ = chunk; }  // likewise; until the step ends
    // By any thread, while it is recording; event.step and event.chunk are set here.
    void record(TraceEvent event);

    index_t size() const;
    const TraceEvent& at(index_t i) const { return events_.as<TraceEvent>()[i]; }
    index_t dropped() const { return dropped_.load(); }

  private:
    Trace() = default;
    Buffer events_;
    index_t capacity_ = 0, phase_limit_ = 0;
    std::atomic<index_t> used_{0}, dropped_{0};
    int step_ = -1, chunk_ = -1;
    std::thread::id runner_ = std::this_thread::get_id();
    bool recording_ = true;
};

// Which trace, if any, the current run of an executor writes: for what is bound before it is known (transfers).
struct TraceSwitch {
    Trace* now = nullptr;
};

// One event of the first track, from here to the end of the scope: TraceScope scope(context.trace, "pack",
// TraceCategory::communication). An error on the way is an end like any other.
class TraceScope {
  public:
    TraceScope(Trace* trace, const char* name, TraceCategory category, index_t moved_bytes = -1) : trace_(trace) {
        if (!trace_) return;
        event_.name = name;
        event_.category = category;
        event_.moved_bytes = moved_bytes;
        event_.start_ns = trace_clock_ns();
    }
    ~TraceScope() {
        if (!trace_) return;
        event_.end_ns = trace_clock_ns();
        trace_->record(event_);
    }
    TraceScope(const TraceScope&) = delete;
    TraceScope& operator=(const TraceScope&) = delete;
    void moved(index_t bytes) { event_.moved_bytes = bytes; }

  private:
    Trace* trace_;
    TraceEvent event_;
};

}  // namespace spanfft
