// Binding and running plans; see executor.hpp.
#include "exec/executor.hpp"

#include <chrono>

#include "comm/counted_comm.hpp"
#include "comm/rank_cpus.hpp"
#include "disk/output_file.hpp"
#include "plan/pass_step.hpp"

namespace spanfft {

Executor::Executor(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm)
    : plan_(std::move(plan)),
      comm_(std::move(comm)),
      binding_(*comm_),
      in_bytes_(plan_->input.local_bytes(rank())),
      out_bytes_(plan_->output.local_bytes(rank())) {
    for (const auto& step : plan_->steps) {
        for (Slot slot : step->shared_slots()) is_shared_[static_cast<size_t>(slot)] = true;
    }
}

Result<std::unique_ptr<Executor>> Executor::make(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm) {
    std::unique_ptr<Executor> executor(new Executor(std::move(plan), std::move(comm)));
    SPANFFT_TRY(agree(*executor->comm_, executor->allocate()));
    SPANFFT_TRY(executor->make_windows());
    std::optional<TeamCpus> team_cpus;
    SPANFFT_TRY(executor->place_teams(team_cpus));
    executor->binding_.io = executor->plan_->problem.io;
    for (const auto& step : executor->plan_->steps) {
        auto task = step->bind(executor->binding_);
        SPANFFT_TRY(agree(*executor->comm_, task.status()));
        executor->tasks_.push_back(std::move(task).value());
    }
    executor->spare_counts_.reserve(executor->tasks_.size());
    return executor;
}

std::string Executor::describe_io() const {
    return binding_.pass_team ? spanfft::describe_io(*binding_.pass_team) : std::string();
}

std::array<index_t, kSlots> Executor::slot_bytes() const {
    auto bytes = plan_->slot_bytes[static_cast<size_t>(rank())];
    if (plan_->problem.own_output) bytes[static_cast<size_t>(Slot::output)] = out_bytes_;
    return bytes;
}

Status Executor::allocate() {
    const auto bytes = slot_bytes();
    for (size_t slot = 0; slot < buffers_.size(); ++slot) {
        if (is_shared_[slot]) continue;
        SPANFFT_ASSIGN(buffers_[slot], Buffer::allocate(static_cast<size_t>(bytes[slot])));
        memory_[slot] = buffers_[slot].data();
    }
    return Status();
}

// Collective, so outside allocate(), which may fail on one rank only.
Status Executor::make_windows() {
    const auto bytes = slot_bytes();
    for (size_t slot = 0; slot < buffers_.size(); ++slot) {
        if (!is_shared_[slot]) continue;
        auto window = comm_->make_window(bytes[slot]);
        SPANFFT_TRY(agree(*comm_, window.status()));
        binding_.windows[slot] = make_traced_window(std::move(window).value(), binding_.trace);
        memory_[slot] = binding_.windows[slot]->part(rank());
    }
    return Status();
}

// Collective where ranks have threads of their own.
Status Executor::place_teams(std::optional<TeamCpus>& place) const {
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

Status Executor::check_pointers(const void* in, void* out) const {
    const index_t in_bytes = in_bytes_, out_bytes = out_bytes_;
    if (in_bytes && !in)
        return error(Code::invalid_argument, "the input is NULL but this rank's box has ", in_bytes, " bytes");
    if (out_bytes && !out)
        return error(Code::invalid_argument, "the output is NULL but this rank's box has ", out_bytes, " bytes");
    const auto* a = static_cast<const char*>(in);
    const auto* b = static_cast<const char*>(out);
    if (plan_->problem.own_output && out != own_output()) {
        return error(Code::invalid_argument,
                     "the plan owns its output (own_output), but another array was given for it; pass the plan's");
    }
    if (plan_->problem.in_place) {
        if (in_bytes && out_bytes && a != b)
            return error(Code::invalid_argument,
                         "the plan is in_place, but input and output are different memory; pass the same pointer");
    } else if (in_bytes && out_bytes && a < b + out_bytes && b < a + in_bytes) {
        return error(Code::invalid_argument, "input and output overlap; use two arrays, or plan with in_place");
    }
    return Status();
}

namespace {

// What a step moved where it is slowest: to other ranks, else to or from the disk, else through memory.
index_t moved_bytes(const Counts& counts) {
    if (counts.sent_bytes) return counts.sent_bytes;
    const index_t disk_bytes = counts.disk_read_bytes + counts.disk_written_bytes;
    return disk_bytes ? disk_bytes : counts.memory_bytes;
}

}  // namespace

// Where steps are not agreed on, a rank whose step failed goes on to the end: the others are in the steps that are left
// and would wait for it.
Status Executor::run_steps(RunContext& context, bool agree_each) {
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
        Status status = task->run(context);
        if (agree_each) status = agree_traced(context, status);
        keep_first(first, std::move(status));
        if (!first.ok() && agree_each) break;
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

// A context for one run, with tracing on or off for all that records.
RunContext Executor::make_context() {
    RunContext context;
    context.slots = memory_;
    context.trace = trace_ && trace_->recording() ? trace_.get() : nullptr;
    binding_.trace->now = context.trace;
    if (context.trace) context.trace->begin_run();
    return context;
}

Status Executor::agree_traced(RunContext& context, const Status& mine) {
    const TraceScope scope(context.trace, "agree", TraceCategory::wait);
    return agree(*comm_, mine);
}

Status Executor::start_trace(index_t max_events) {
    auto made = Trace::make(max_events);
    SPANFFT_TRY(agree(*comm_, made.status()));
    auto aligned = align_clocks(*comm_, this_clock());
    SPANFFT_TRY(agree(*comm_, aligned.status()));
    trace_ = std::move(made).value();
    clock_ = aligned.value();
    return Status();
}

Status Executor::execute(const void* in, void* out) {
    RunContext context = make_context();
    const TraceScope scope(context.trace, "execute", TraceCategory::run);
    Status status;
    if (plan_->problem.memory_bytes > 0) {
        status = error(Code::invalid_argument,
                       "this plan was made with memory= for files; use transform_file, or plan without memory=");
    } else {
        status = failed_run_.ok() ? check_pointers(in, out) : failed_run_;
    }
    failed_run_ = Status();
    SPANFFT_TRY(agree_traced(context, status));
    // Slots are written only if they are the target of a step, which Slot::input never is.
    context.slots[static_cast<size_t>(Slot::input)] = const_cast<void*>(in);
    context.slots[static_cast<size_t>(Slot::output)] = out;
    const Status ran = run_steps(context, false);
    if (!ran.ok() && comm_->size() > 1) {
        failed_run_ =
            error(ran.code(), "the execution before this one failed, and its output is not to be used on any ",
                  "rank: ", ran.message());
    }
    return ran;
}

namespace {

Status check_input(const FileStore& store, const FileRequest& request, index_t needed_bytes) {
    if (request.input_offset_bytes < 0)
        return error(Code::invalid_argument, "input offset is ", request.input_offset_bytes,
                     " bytes; it must not be negative");
    if (store.size_bytes() - request.input_offset_bytes < needed_bytes) {
        return error(Code::corrupt_data, request.input_path, " has ", store.size_bytes(),
                     " bytes, but the array needs ", needed_bytes, " from byte ", request.input_offset_bytes,
                     "; the file is truncated or its shape or type is not what was said");
    }
    return Status();
}

}  // namespace

Status Executor::transform_file(const FileRequest& request) {
    RunContext context = make_context();
    const TraceScope scope(context.trace, "transform_file", TraceCategory::run);
    Status status;
    if (plan_->problem.memory_bytes == 0) {
        status =
            error(Code::invalid_argument, "this plan is for arrays in memory; plan with memory= to transform files");
    }
    SPANFFT_TRY(agree(*comm_, status));
    SPANFFT_TRY(agree_on_text(*comm_, "input file", request.input_path));
    SPANFFT_TRY(agree_on_text(*comm_, "output file", request.output_path));
    context.progress = request.progress;
    context.input_offset_bytes = request.input_offset_bytes;
    const Counts predicted = plan_->predict(rank());
    context.total_bytes = predicted.disk_read_bytes + predicted.disk_written_bytes;
    return run_on_stores(request, context);
}

Status Executor::run_on_stores(const FileRequest& request, RunContext& context) {
    const Problem& problem = plan_->problem;
    const index_t input_bytes = product(problem.input_shape()) * static_cast<index_t>(problem.input_elem().bytes());
    std::optional<TraceScope> opening(std::in_place, context.trace, "open", TraceCategory::disk);
    auto input = FileStore::open_input(request.input_path);
    SPANFFT_TRY(agree(*comm_, input.status()));
    SPANFFT_TRY(agree(*comm_, check_input(*input.value(), request, input_bytes)));
    context.input_store = input.value().get();

    // Rank 0 makes the partial file and gives it its name; the others write their boxes into the same file.
    std::unique_ptr<OutputFile> output;
    std::unique_ptr<FileStore> shared;
    std::string partial;
    Status made;
    if (rank() == 0) {
        auto created = OutputFile::create({request.output_path, request.input_path, request.header,
                                           plan_->output_file_bytes, request.scratch_folders, plan_->scratch_bytes});
        made = created.status();
        if (made.ok()) {
            output = std::move(created).value();
            partial = output->partial_path();
            context.output_store = &output->store();
            context.scratch_store = output->scratch();
            context.output_offset_bytes = output->payload_offset_bytes();
        }
    }
    SPANFFT_TRY(agree(*comm_, made));
    SPANFFT_TRY(broadcast_text(*comm_, partial));
    SPANFFT_TRY(comm_->broadcast(&context.output_offset_bytes, sizeof context.output_offset_bytes, 0));
    Status opened;
    if (rank() != 0) {
        auto store = FileStore::open_output(partial);
        opened = store.status();
        if (opened.ok()) {
            shared = std::move(store).value();
            context.output_store = shared.get();
        }
    }
    SPANFFT_TRY(agree(*comm_, opened));
    opening.reset();
    SPANFFT_TRY(run_steps(context, true));
    const TraceScope publishing(context.trace, "publish", TraceCategory::disk);
    SPANFFT_TRY(agree(*comm_, shared ? shared->sync() : Status()));
    const Status published = agree(*comm_, output ? output->publish() : Status());
    output.reset();  // here, so that the time it takes to free a large scratch file shows in the trace
    return published;
}

}  // namespace spanfft
