// Executor: what callers hold of a plan that is bound (bound_plan.hpp), to run it over arrays in memory or over files.
//
// Invariant: all ranks return the same status from every collective method, but for an MPI call that fails on one rank
// in the middle of execute(): that rank returns it, the others at the next call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/bound_plan.hpp"
#include "exec/file_request.hpp"
#include "exec/halo.hpp"

namespace spanfft {

class Executor {
  public:
    // Collective: as BoundPlan::make.
    static Result<std::unique_ptr<Executor>> make(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm,
                                                  const Executor* undone = nullptr);

    // Collective. Arrays in memory: this rank's parts. `ready`: why this rank can't take part, if so; then none does.
    Status execute(const void* in, void* out, const Status& ready = {});
    // Collective. Arrays in files or behind functions: reads, transforms, writes; a file appears when it is whole.
    Status transform_file(const FileRequest& request);

    // Of a plan with own_output, or own_input; nullptr for others.
    void* own_output() const { return bound_->owns(Slot::output) ? bound_->memory(Slot::output) : nullptr; }
    void* own_input() const { return bound_->owns(Slot::input) ? bound_->memory(Slot::input) : nullptr; }

    // Collective. Of the array in real space, which has boxes: so many elements around a rank's part along each axis
    // (a batch not counted). It does not need the plan afterwards.
    Result<std::unique_ptr<Halo>> make_halo(const std::vector<HaloWidth>& widths, const Status& ready = {}) const;

    // As of BoundPlan.
    Status start_trace(index_t max_events) { return bound_->start_trace(max_events); }
    void stop_trace() { bound_->stop_trace(); }
    const Trace* trace() const { return bound_->trace(); }
    const ClockAlignment& clock() const { return bound_->clock(); }
    const Plan& plan() const { return bound_->plan(); }
    int rank() const { return bound_->rank(); }
    const std::string& engines() const { return bound_->engines(); }
    std::string window_note() const { return bound_->comm().window_note(); }
    std::string describe_io() const { return bound_->describe_io(); }
    const std::optional<std::vector<Counts>>& counted() const { return bound_->counted(); }

    // Of disk work that the last run found done by an unfinished one.
    index_t resumed_bytes() const { return resumed_bytes_; }
    // What the last run of a file could not do, and why; goes with the plan's notes.
    const std::vector<std::string>& run_notes() const { return run_notes_; }

  private:
    explicit Executor(std::unique_ptr<BoundPlan> bound) : bound_(std::move(bound)) {}
    Status check_pointers(const void* in, void* out) const;

    std::unique_ptr<BoundPlan> bound_;
    Status failed_run_;  // of this rank, which the others have not heard of
    index_t resumed_bytes_ = 0;
    std::vector<std::string> run_notes_;
};

}  // namespace spanfft
