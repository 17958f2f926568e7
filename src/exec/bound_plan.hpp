// BoundPlan: a plan with all that it runs with on one rank: communicator, buffers and tasks. What is run over arrays in
// memory (executor.hpp) and over files (file_run.hpp) is bound alike.
//
// Method: construction allocates every buffer and binds every step; running only moves data. Measured counts are kept
// for each step beside the prediction.
// Invariant: nothing is allocated while a plan runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/cpus.hpp"
#include "core/touch.hpp"
#include "exec/clock_alignment.hpp"
#include "plan/plan.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft {

class BoundPlan {
  public:
    // Collective over comm, which it keeps. `undone`: one whose work this one undoes, or nullptr. What both own is one
    // array then: this one's input (own_input) is the other's output (own_output), and the other way round.
    static Result<std::unique_ptr<BoundPlan>> make(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm,
                                                   const BoundPlan* undone);

    const Plan& plan() const { return *plan_; }
    Comm& comm() const { return *comm_; }
    int rank() const { return binding_.comm.rank(); }
    const std::string& engines() const { return binding_.engines(); }
    std::string describe_io() const;  // who did the reads and writes of disk sweeps so far; "" before the first
    index_t in_bytes() const { return in_bytes_; }  // of this rank's input
    index_t out_bytes() const { return out_bytes_; }
    bool owns(Slot slot) const;                                                   // of input and output
    void* memory(Slot slot) const { return memory_[static_cast<size_t>(slot)]; }  // nullptr: not the plan's
    // In which all ranks see an array that the plan owns; nullptr: they don't.
    std::shared_ptr<SharedWindow> window(Slot slot) const {
        return owns(slot) ? windows_[static_cast<size_t>(slot)] : nullptr;
    }
    std::pair<char*, index_t> largest_slot() const;  // which a run has between its steps

    // A context for one run, with tracing on or off for all that records.
    RunContext make_context();
    // Collective. `sweeps`: of a run on disk. Where steps are not agreed on, a rank whose step failed goes on to the
    // end: the others are in the steps that are left and would wait for it.
    Status run_steps(RunContext& context, const SweepRun* sweeps);
    Status agree_traced(RunContext& context, const Status& mine);
    // One for each step of the plan after a complete run, none before.
    const std::optional<std::vector<Counts>>& counted() const { return counted_; }

    // Collective. Records what the runs that follow do, on top of the plan's memory; an older trace is thrown away.
    Status start_trace(index_t max_events);
    void stop_trace() {
        if (trace_) trace_->stop();
    }
    const Trace* trace() const { return trace_.get(); }  // nullptr before the first start_trace
    const ClockAlignment& clock() const { return clock_; }

  private:
    BoundPlan(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm);
    std::array<index_t, kSlots> slot_bytes() const;
    void adopt_arrays(const BoundPlan& undone);
    Status allocate();
    Status make_windows();
    Status bind_steps();
    Status place_teams(std::optional<TeamCpus>& place) const;

    std::shared_ptr<const Plan> plan_;
    std::unique_ptr<Comm> comm_;
    Binding binding_;
    index_t in_bytes_, out_bytes_;                               // of this rank's input and output
    std::array<bool, kSlots> is_shared_{};                       // a window of all ranks instead of a buffer
    std::array<std::shared_ptr<SharedWindow>, kSlots> windows_;  // traced ones of them are in binding_
    std::array<std::shared_ptr<Buffer>, kSlots> buffers_;
    std::array<void*, kSlots> memory_{};  // of each slot that is the plan's
    std::vector<std::unique_ptr<Task>> tasks_;
    std::optional<std::vector<Counts>> counted_;
    std::vector<Counts> spare_counts_;  // memory for the next run's counted_
    FirstTouch first_touch_;            // of work0
    std::unique_ptr<Trace> trace_;
    ClockAlignment clock_;
};

}  // namespace spanfft
