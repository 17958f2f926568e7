// Binding plans, and running their steps; see bound_plan.hpp.
#include "exec/bound_plan.hpp"

#include <algorithm>
#include <chrono>

#include "comm/counted_comm.hpp"
#include "comm/rank_cpus.hpp"
#include "engine/trust.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft {

BoundPlan::BoundPlan(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm)
    : plan_(std::move(plan)),
      comm_(std::move(comm)),
      binding_(*comm_),
      in_bytes_(plan_->input.local_bytes(rank())),
      out_bytes_(plan_->output.local_bytes(rank())) {
    bool any = false;
    for (const auto& step : plan_->steps) {
        for (Slot slot : step->shared_slots()) any = is_shared_[static_cast<size_t>(slot)] = true;
    }
    // The plan that undoes this one may share what this one does not.
    if (any && owns(Slot::input) && owns(Slot::output))
        is_shared_[static_cast<size_t>(Slot::input)] = is_shared_[static_cast<size_t>(Slot::output)] = true;
}

Result<std::unique_ptr<BoundPlan>> BoundPlan::make(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm,
                                                   const BoundPlan* undone) {
    std::unique_ptr<BoundPlan> bound(new BoundPlan(std::move(plan), std::move(comm)));
    if (undone) bound->adopt_arrays(*undone);
    SPANFFT_TRY(agree(*bound->comm_, bound->allocate()));
    SPANFFT_TRY(bound->make_windows());
    std::optional<TeamCpus> team_cpus;
    SPANFFT_TRY(bound->place_teams(team_cpus));
    bound->binding_.io = bound->plan_->problem.io;
    const CheckAllowance allowance(bound->plan_->problem.memory_bytes);
    SPANFFT_TRY(bound->bind_steps());
    bound->spare_counts_.reserve(bound->tasks_.size());
    return bound;
}

std::string BoundPlan::describe_io() const {
    return binding_.sweep_team ? spanfft::describe_io(*binding_.sweep_team) : std::string();
}

std::array<index_t, kSlots> BoundPlan::slot_bytes() const {
    auto bytes = plan_->slot_bytes[static_cast<size_t>(rank())];
    if (owns(Slot::output)) bytes[static_cast<size_t>(Slot::output)] = out_bytes_;
    if (owns(Slot::input)) bytes[static_cast<size_t>(Slot::input)] = in_bytes_;
    return bytes;
}

bool BoundPlan::owns(Slot slot) const {
    return slot == Slot::input ? plan_->problem.own_input : slot == Slot::output && plan_->problem.own_output;
}

// The same on all ranks: it goes by plans, which are.
void BoundPlan::adopt_arrays(const BoundPlan& undone) {
    const auto adopt = [&](Slot mine, const ArrayState& state, Slot theirs, const ArrayState& other) {
        const auto to = static_cast<size_t>(mine), from = static_cast<size_t>(theirs);
        if (!owns(mine) || !undone.owns(theirs)) return;
        if (!(state.layout == other.layout && state.elem == other.elem)) return;
        if (is_shared_[to] && !undone.is_shared_[from]) return;  // other ranks can't see it
        is_shared_[to] = undone.is_shared_[from];
        windows_[to] = undone.windows_[from];
        buffers_[to] = undone.buffers_[from];
    };
    adopt(Slot::input, plan_->input, Slot::output, undone.plan_->output);
    adopt(Slot::output, plan_->output, Slot::input, undone.plan_->input);
}

Status BoundPlan::allocate() {
    const auto bytes = slot_bytes();
    for (size_t slot = 0; slot < buffers_.size(); ++slot) {
        if (is_shared_[slot]) continue;
        if (!buffers_[slot]) {
            SPANFFT_ASSIGN(Buffer buffer, Buffer::allocate(static_cast<size_t>(bytes[slot])));
            buffers_[slot] = std::make_shared<Buffer>(std::move(buffer));
        }
        memory_[slot] = buffers_[slot]->data();
    }
    if (const Buffer* const panels = buffers_[static_cast<size_t>(Slot::work0)].get())
        first_touch_ = FirstTouch(*panels);
    return Status();
}

// Collective, so outside allocate(), which may fail on one rank only.
Status BoundPlan::make_windows() {
    const auto bytes = slot_bytes();
    for (size_t slot = 0; slot < buffers_.size(); ++slot) {
        if (!is_shared_[slot]) continue;
        if (!windows_[slot]) {
            auto window = comm_->make_window(bytes[slot]);
            SPANFFT_TRY(agree(*comm_, window.status()));
            windows_[slot] = std::move(window).value();
        }
        binding_.windows[slot] = make_traced_window(windows_[slot], binding_.trace);
        memory_[slot] = binding_.windows[slot]->part(rank());
    }
    return Status();
}

// All groups, then all steps, each agreed on once: among 10,000 ranks an agreement is an allgather of as many codes. A
// rank that fails goes on to the end, as the others wait for it in the groups of later steps.
Status BoundPlan::bind_steps() {
    Status status;
    std::vector<std::vector<int>> asked;  // once each, also for one that could not be made here
    for (const auto& step : plan_->steps) {
        std::vector<int> ranks = step->group(rank());
        if (ranks.empty() || std::find(asked.begin(), asked.end(), ranks) != asked.end()) continue;
        keep_first(status, binding_.group(ranks).status());
        asked.push_back(std::move(ranks));
    }
    SPANFFT_TRY(agree(*comm_, status));
    for (const auto& step : plan_->steps) {
        auto task = step->bind(binding_);
        keep_first(status, task.status());
        tasks_.push_back(task.ok() ? std::move(task).value() : nullptr);
    }
    return agree(*comm_, status);
}

// Collective where ranks have threads of their own.
Status BoundPlan::place_teams(std::optional<TeamCpus>& place) const {
    if (plan_->problem.threads <= 1) return Status();
    const auto pinning = pinning_asked_for();
    SPANFFT_TRY(agree(*comm_, pinning.status()));
    const auto nodes = comm_->nodes();
    SPANFFT_TRY(agree(*comm_, nodes.status()));
    const auto cpus = cpus_of_rank(*comm_, nodes.value());
    SPANFFT_TRY(agree(*comm_, cpus.status()));
    place.emplace(pinning.value(), cpus.value().own, cpus.value().divided);
    return Status();
}

std::pair<char*, index_t> BoundPlan::largest_slot() const {
    const auto bytes = slot_bytes();
    const size_t largest = static_cast<size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
    return {static_cast<char*>(memory_[largest]), bytes[largest]};
}

namespace {

// What a step moved where it is slowest: to other ranks, else to or from the disk, else through memory.
index_t moved_bytes(const Counts& counts) {
    if (counts.sent_bytes) return counts.sent_bytes;
    const index_t disk_bytes = counts.disk_read_bytes + counts.disk_written_bytes;
    return disk_bytes ? disk_bytes : counts.memory_bytes;
}

}  // namespace

Status BoundPlan::run_steps(RunContext& context, const SweepRun* sweeps) {
    Status first;
    if (counted_) spare_counts_ = std::move(*counted_);  // its memory is used again: nothing is allocated here
    counted_.reset();
    std::vector<Counts> counted = std::move(spare_counts_);
    counted.clear();
    for (size_t i = 0; i < tasks_.size(); ++i) {
        Task* const task = tasks_[i].get();
        if (context.trace) context.trace->enter_step(static_cast<int>(i));
        TraceScope scope(context.trace, plan_->steps[i]->type(), TraceCategory::step);
        const auto start = std::chrono::steady_clock::now();
        context.sweep = sweeps ? sweeps->sweep(i) : nullptr;
        Status status = sweeps ? sweeps->share_sums(i, *comm_) : Status();
        if (status.ok()) status = task->run(context);
        if (sweeps) status = agree_traced(context, status);
        keep_first(first, std::move(status));
        if (!first.ok() && sweeps) break;
        counted.push_back(task->counted());
        scope.moved(moved_bytes(counted.back()));
        counted.back().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    if (context.trace) context.trace->enter_step(-1);
    if (first.ok()) {
        counted_ = std::move(counted);
    } else {
        spare_counts_ = std::move(counted);
    }
    return first;
}

RunContext BoundPlan::make_context() {
    RunContext context;
    context.slots = memory_;
    context.first_touch = &first_touch_;
    context.trace = trace_ && trace_->recording() ? trace_.get() : nullptr;
    binding_.trace->now = context.trace;
    if (context.trace) context.trace->begin_run();
    return context;
}

Status BoundPlan::agree_traced(RunContext& context, const Status& mine) {
    const TraceScope scope(context.trace, "agree", TraceCategory::wait);
    return agree(*comm_, mine);
}

Status BoundPlan::start_trace(index_t max_events) {
    auto made = Trace::make(max_events);
    SPANFFT_TRY(agree(*comm_, made.status()));
    auto aligned = align_clocks(*comm_, this_clock());
    SPANFFT_TRY(agree(*comm_, aligned.status()));
    trace_ = std::move(made).value();
    clock_ = aligned.value();
    return Status();
}

}  // namespace spanfft
