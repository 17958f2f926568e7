// Binding and running plans; see executor.hpp.
#include "exec/executor.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "comm/counted_comm.hpp"
#include "comm/rank_cpus.hpp"
#include "disk/io_backend.hpp"
#include "disk/output_file.hpp"
#include "engine/trust.hpp"
#include "exec/run_stores.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft {

namespace {

// Panels of a disk: huge pages gain nothing there, and where the page cache has the rest of memory, making room for
// them took 0.55 s for 236 MiB, small pages 0.06 (three pairs of runs of a transform of 5.3 s).
void use_small_pages(const Buffer& panels) { (void)madvise(panels.data(), panels.bytes(), MADV_NOHUGEPAGE); }

}  // namespace

Executor::Executor(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm)
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

Result<std::unique_ptr<Executor>> Executor::make(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm,
                                                 const Executor* undone) {
    std::unique_ptr<Executor> executor(new Executor(std::move(plan), std::move(comm)));
    if (undone) executor->adopt_arrays(*undone);
    SPANFFT_TRY(agree(*executor->comm_, executor->allocate()));
    SPANFFT_TRY(executor->make_windows());
    std::optional<TeamCpus> team_cpus;
    SPANFFT_TRY(executor->place_teams(team_cpus));
    executor->binding_.io = executor->plan_->problem.io;
    const CheckAllowance allowance(executor->plan_->problem.memory_bytes);
    SPANFFT_TRY(executor->bind_steps());
    executor->spare_counts_.reserve(executor->tasks_.size());
    return executor;
}

std::string Executor::describe_io() const {
    return binding_.sweep_team ? spanfft::describe_io(*binding_.sweep_team) : std::string();
}

std::array<index_t, kSlots> Executor::slot_bytes() const {
    auto bytes = plan_->slot_bytes[static_cast<size_t>(rank())];
    if (owns(Slot::output)) bytes[static_cast<size_t>(Slot::output)] = out_bytes_;
    if (owns(Slot::input)) bytes[static_cast<size_t>(Slot::input)] = in_bytes_;
    return bytes;
}

bool Executor::owns(Slot slot) const {
    return slot == Slot::input ? plan_->problem.own_input : slot == Slot::output && plan_->problem.own_output;
}

// The same on all ranks: it goes by plans, which are.
void Executor::adopt_arrays(const Executor& undone) {
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

Status Executor::allocate() {
    const auto bytes = slot_bytes();
    for (size_t slot = 0; slot < buffers_.size(); ++slot) {
        if (is_shared_[slot]) continue;
        if (!buffers_[slot]) {
            SPANFFT_ASSIGN(Buffer buffer, Buffer::allocate(static_cast<size_t>(bytes[slot])));
            buffers_[slot] = std::make_shared<Buffer>(std::move(buffer));
        }
        memory_[slot] = buffers_[slot]->data();
    }
    const auto& work0 = buffers_[static_cast<size_t>(Slot::work0)];
    const bool sweeps = !plan_->steps.empty() && dynamic_cast<const SweepStep*>(plan_->steps[0].get());
    if (sweeps && work0 && work0->bytes() > 0) use_small_pages(*work0);
    return Status();
}

// Collective, so outside allocate(), which may fail on one rank only.
Status Executor::make_windows() {
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
Status Executor::bind_steps() {
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
    if (plan_->problem.own_output && out_bytes && out != own_output()) {
        return error(Code::invalid_argument,
                     "the plan owns its output (own_output), but another array was given for it; pass the plan's");
    }
    if (plan_->problem.own_input && in_bytes && in != own_input()) {
        return error(
            Code::invalid_argument,
            "the plan owns its input (own_input), but another array was given for it; fill and pass the plan's");
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
Status Executor::run_steps(RunContext& context, bool agree_each, const SweepRun* sweeps) {
    Status first;
    if (counted_) spare_counts_ = std::move(*counted_);  // its memory is used again: nothing is allocated here
    counted_.reset();
    std::vector<Counts> counted = std::move(spare_counts_);
    counted.clear();
    for (size_t i = 0; i < tasks_.size(); ++i) {
        Task* const task = tasks_[i].get();
        context.last_step = i + 1 == tasks_.size();
        if (context.trace) context.trace->enter_step(static_cast<int>(i));
        TraceScope scope(context.trace, plan_->steps[i]->type(), TraceCategory::step);
        const auto start = std::chrono::steady_clock::now();
        context.sweep = sweeps ? sweeps->sweep(i) : nullptr;
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

Status Executor::execute(const void* in, void* out, const Status& ready) {
    RunContext context = make_context();
    const TraceScope scope(context.trace, "execute", TraceCategory::run);
    Status status;
    if (plan_->problem.memory_bytes > 0) {
        status = error(Code::invalid_argument,
                       "this plan was made with memory= for files; use transform_file, or plan without memory=");
    } else if (!failed_run_.ok()) {
        status = failed_run_;
    } else {
        status = ready.ok() ? check_pointers(in, out) : ready;
    }
    failed_run_ = Status();
    SPANFFT_TRY(agree_traced(context, status));
    // Slots are written only if they are the target of a step, which Slot::input never is.
    context.slots[static_cast<size_t>(Slot::input)] = const_cast<void*>(in);
    // In place a rank may have an input only, which is the array then.
    context.slots[static_cast<size_t>(Slot::output)] =
        plan_->problem.in_place && in_bytes_ > 0 ? const_cast<void*>(in) : out;
    const Status ran = run_steps(context, false, nullptr);
    if (!ran.ok() && comm_->size() > 1) {
        failed_run_ =
            error(ran.code(), "the execution before this one failed, and its output is not to be used on any ",
                  "rank: ", ran.message());
    }
    return ran;
}

namespace {

const char* journal_name(JournalMode mode) {
    return mode == JournalMode::off       ? "off"
           : mode == JournalMode::resume  ? "resume"
           : mode == JournalMode::restart ? "restart"
                                          : "automatic";
}

std::string describe_callbacks(const BlockCallbacks& callbacks) {
    return cat(callbacks.on_input ? "one on the input" : "none on the input", ", ",
               callbacks.on_output ? "one on the output" : "none on the output");
}

}  // namespace

Result<std::unique_ptr<BlockWork>> Executor::make_work(const FileRequest& request) const {
    // A chunked array has its work done on its way into a file, once.
    if (request.callbacks.on_input && plan_->reads_twice && plan_->staged_input_bytes == 0) {
        return error(Code::unsupported, plan_->solver,
                     " reads some elements of half a spectrum twice, so no callback can have each once; plan with "
                     "reads_once, give more memory, or use method=two_sweeps");
    }
    SPANFFT_ASSIGN(auto work, BlockWork::make(plan_->problem, request.callbacks));
    SPANFFT_ASSIGN(const IoBackend io, choose_io_backend(plan_->problem.io));
    if (io == IoBackend::uring && plan_->problem.loads_other()) {
        return error(Code::unsupported,
                     "io=uring was asked for, but the threads that read convert load=", plan_->problem.load->print(),
                     "; leave io= out");
    }
    if (io == IoBackend::uring && (work->on_way_in() || work->on_way_out())) {
        return error(Code::unsupported,
                     "io=uring was asked for, but work on blocks is done by the threads that read and write; "
                     "leave io= out");
    }
    return work;
}

namespace {

// Of the output, that this rank stores: what its panels have of it, where ranks sweep it together.
index_t elems_stored(const Plan& plan, int rank) {
    const Step& last = *plan.steps.back();
    if (plan.problem.ranks == 1 || !dynamic_cast<const SweepStep*>(&last)) return plan.output.layout.local_elems(rank);
    return last.predict(rank).disk_written_bytes / static_cast<index_t>(plan.problem.stored_elem().bytes());
}

// What steps get of the input beyond the bytes that its file has of it; less than 0 where the file has more.
index_t more_bytes_loaded(const Plan& plan, int rank) {
    const Problem& p = plan.problem;
    if (!p.loads_other()) return 0;
    index_t bytes = 0;
    for (const auto& step : plan.steps) {
        const auto* swept = dynamic_cast<const SweepStep*>(step.get());
        if (swept ? swept->spec().source.loads_other() : step == plan.steps.front())
            bytes += step->predict(rank).disk_read_bytes;
    }
    return bytes / p.loaded_bytes() * (static_cast<index_t>(p.input_elem().bytes()) - p.loaded_bytes());
}

}  // namespace

// Collective.
Status Executor::name_scratch(FileRequest& request) const {
    const auto nodes = comm_->nodes();
    SPANFFT_TRY(agree(*comm_, nodes.status()));
    const int node = nodes.value()[static_cast<size_t>(rank())];
    for (std::string& folder : request.scratch_folders) folder = scratch_name(std::move(folder), rank(), node);
    return {};
}

Status Executor::transform_file(const FileRequest& asked_for) {
    FileRequest request = asked_for;
    SPANFFT_TRY(name_scratch(request));
    if (!request.in_place && !request.write_box) {
        auto target = behind_links(request.output_path);
        SPANFFT_TRY(agree(*comm_, target.status()));
        request.output_path = std::move(target).value();
    }
    RunContext context = make_context();
    const TraceScope scope(context.trace, "transform_file", TraceCategory::run);
    Status status;
    if (plan_->problem.memory_bytes == 0) {
        status =
            error(Code::invalid_argument, "this plan is for arrays in memory; plan with memory= to transform files");
    }
    if (status.ok()) status = check_stores(request, *plan_);
    if (status.ok() && request.in_place) status = check_in_place(*plan_, request.journal != JournalMode::off);
    SPANFFT_TRY(agree(*comm_, status));
    SPANFFT_TRY(agree_on_text(*comm_, "input file", request.input_path));
    SPANFFT_TRY(agree_on_text(*comm_, "output file", request.output_path));
    SPANFFT_TRY(agree_on_text(*comm_, "block callbacks", describe_callbacks(request.callbacks)));
    SPANFFT_TRY(agree_on_text(*comm_, "journal", journal_name(request.journal)));
    auto work = make_work(request);
    SPANFFT_TRY(agree(*comm_, work.status()));
    context.progress = request.progress;
    const Counts predicted = plan_->predict(rank());
    // Progress counts what is computed, whatever is stored of it.
    const index_t more_bytes =
        elems_stored(*plan_, rank()) * (work.value()->computed_bytes() - work.value()->stored_bytes());
    context.total_bytes =
        predicted.disk_read_bytes + predicted.disk_written_bytes + more_bytes + more_bytes_loaded(*plan_, rank());
    return run_on_stores(request, *work.value(), context);
}

Status Executor::run_on_stores(const FileRequest& request, BlockWork& work, RunContext& context) {
    std::optional<TraceScope> opening(std::in_place, context.trace, "open", TraceCategory::disk);
    RunStores stores(request, *plan_);
    Status opened_input =
        request.in_place || request.read_box ? Status() : check_not_half_overwritten(request.input_path);
    if (opened_input.ok()) opened_input = stores.open_input(context);
    SPANFFT_TRY(agree(*comm_, opened_input));

    const PlannedSweeps layout = examine_sweeps(*plan_);
    resumed_bytes_ = 0;
    run_notes_.clear();
    Status passed_over;
    if (request.journal != JournalMode::off) {
        const std::string why_not = why_no_journal(request);
        const bool plan_says_so = !layout.why_not.empty();
        if (!why_not.empty() && !plan_says_so) run_notes_.push_back("no journal of this run: " + why_not);
        if (request.journal == JournalMode::resume && !why_not.empty() && !request.in_place)
            return agree(*comm_, error(Code::invalid_argument, "this plan has no journal to resume from: ", why_not));
        if (why_not.empty() || request.in_place) {
            opening.reset();
            return run_journalled(request, work, context, stores);
        }
        if (rank() == 0) {
            JournalledRun::Request journalled = journal_request(request);
            journalled.output = stores.output_request();
            passed_over = pass_over_unfinished(journalled, why_not);
        }
    }
    SPANFFT_TRY(agree(*comm_, passed_over));
    opening.reset();
    return run_with_file(request, work, context, stores);
}

// Without a journal. The input is open.
Status Executor::run_with_file(const FileRequest& request, BlockWork& work, RunContext& context, RunStores& stores) {
    std::optional<TraceScope> opening(std::in_place, context.trace, "open", TraceCategory::disk);
    // Rank 0 makes the partial file and gives it its name; the others write their parts into the same file, and have a
    // file of their own where they have scratch of their own.
    std::unique_ptr<OutputFile> output;
    std::unique_ptr<FileStore> shared;
    Status made;
    if (rank() == 0 ? stores.needs_file() : plan_->scratch_of_each_rank_bytes > 0) {
        auto created = OutputFile::create(rank() == 0 ? stores.output_request() : stores.scratch_request());
        made = created.status();
        if (made.ok()) {
            output = std::move(created).value();
            stores.attach(*output, context);
        }
    }
    SPANFFT_TRY(agree(*comm_, made));
    SPANFFT_TRY(open_shared_output(output ? output->partial_path() : "", shared, context));
    stores.dress(context, work);
    opening.reset();
    std::optional<SweepRun> sweeps;
    if (!examine_sweeps(*plan_).sweeps.empty()) sweeps.emplace(*plan_, context, request.checksums, nullptr, rank());
    SPANFFT_TRY(run_steps(context, true, sweeps ? &*sweeps : nullptr));
    SPANFFT_TRY(agree(*comm_, stores.check_input_unchanged()));
    const TraceScope publishing(context.trace, "publish", TraceCategory::disk);
    SPANFFT_TRY(agree(*comm_, shared ? shared->sync() : Status()));
    Status published = output && rank() == 0 ? stores.finish(*output) : Status();
    if (published.ok() && request.write_box) published = request.finish ? request.finish() : Status();
    if (published.ok() && output && rank() == 0 && !request.write_box) published = output->publish();
    published = agree(*comm_, published);
    output.reset();  // here, so that the time it takes to free a large scratch file shows in the trace
    return published;
}

// Empty: panels can be journalled.
std::string Executor::why_no_journal(const FileRequest& request) const {
    if (request.read_box && request.input_identity.empty())
        return "its input is behind a function, and nothing tells whether it changes; give its store an identity";
    if (request.callbacks.any() && request.callbacks.name.empty())
        return "its callbacks have no name, so nobody knows whether another run has the same ones; give them one "
               "(callback_name)";
    return examine_sweeps(*plan_).why_not;
}

JournalledRun::Request Executor::journal_request(const FileRequest& request) const {
    JournalledRun::Request journalled;
    journalled.mode = request.journal;
    journalled.input_path = request.input_path;
    journalled.input_offset_bytes = request.input_offset_bytes;
    journalled.input_bytes = product(plan_->problem.input_shape()) * plan_->problem.loaded_bytes();
    journalled.input_identity = request.input_identity;
    journalled.output_path = request.output_path;
    journalled.engines = engines();
    if (request.callbacks.any())
        journalled.callbacks = cat(request.callbacks.name, " (", describe_callbacks(request.callbacks), ")");
    journalled.in_place = request.in_place;
    journalled.packed_input = request.packed_input;
    journalled.packed_output = request.packed_output;
    if (request.write_box)
        journalled.behind = {request.output_identity, request.finish ? request.finish : [] { return Status(); }};
    journalled.rank = rank();
    if (rank() > 0) journalled.behind = {cat("rank ", rank()), [] { return Status(); }};
    return journalled;
}

// What runs have left that no run will find, where this one looks.
void Executor::note_moved_away(const FileRequest& request) {
    std::vector<std::string> folders = request.scratch_folders;
    if (!request.write_box) folders.push_back(folder_of(request.output_path));
    std::set<std::string> seen;
    for (const std::string& folder : folders) {
        if (!seen.insert(whole_path(folder)).second) continue;
        for (std::string& sentence : moved_away(folder)) run_notes_.push_back(std::move(sentence));
    }
}

// The plan's memory that a run has between its steps.
std::pair<char*, index_t> Executor::largest_slot() const {
    const auto bytes = slot_bytes();
    const size_t largest = static_cast<size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
    return {static_cast<char*>(memory_[largest]), bytes[largest]};
}

// The input is open. In place: one process.
Status Executor::run_journalled(const FileRequest& request, BlockWork& work, RunContext& context, RunStores& stores) {
    const bool panels = why_no_journal(request).empty();
    const PlannedSweeps layout = examine_sweeps(*plan_, request.in_place && panels);
    JournalledRun::Request journalled = journal_request(request);
    note_moved_away(request);
    journalled.output = request.in_place ? stores.in_place_request(layout)
                        : rank() > 0     ? stores.scratch_request()
                                         : stores.output_request();
    if (comm_->size() > 1) SPANFFT_TRY(agree_on_run(*comm_, journalled));
    auto opened = JournalledRun::open(*plan_, layout, journalled);
    const Status all_opened = agree(*comm_, opened.status());
    if (!all_opened.ok()) return opened.ok() ? opened.value()->abandon(all_opened) : all_opened;
    const std::unique_ptr<JournalledRun> run = std::move(opened).value();
    if (request.in_place) {
        run_notes_.push_back(layout.overwrites_input ? "in place: the last sweep overwrites the input"
                                                     : "in place: the output is copied over the input in the end");
        if (!layout.overwrites_input) context.total_bytes += 2 * journalled.input_bytes;
    }
    if (run->output()) SPANFFT_TRY(run_in_journal(work, context, stores, *run, request.checksums, panels));
    if (run->in_place_state() == InPlaceState::finished) resumed_bytes_ = context.total_bytes;
    const TraceScope publishing(context.trace, "publish", TraceCategory::disk);
    return publish(*run, stores, context);
}

// Rank 0 gives the output its name when the others have noted that they are needed no more; then these end too, so that
// whoever is killed in between leaves what the next start understands (agree_on_run).
Status Executor::publish(JournalledRun& run, RunStores& stores, RunContext& context) {
    const auto [memory, bytes] = largest_slot();
    const auto publish_mine = [&, memory = memory, bytes = bytes] {
        return run.publish([&] { return stores.finish(*run.output()); }, memory, bytes, context);
    };
    if (comm_->size() == 1) return publish_mine();
    const Status noted = agree(*comm_, rank() > 0 ? run.note_whole() : Status());
    if (!noted.ok()) return run.leave(noted);
    const Status published = agree(*comm_, rank() == 0 ? publish_mine() : Status());
    if (rank() == 0) return agree(*comm_, published);
    return agree(*comm_, published.ok() ? publish_mine() : run.leave(published));
}

// The input may have changed since the unfinished run read from it.
Status Executor::check_what_was_read(RunContext& context, JournalledRun& run, SweepRun* sweeps) {
    if (!sweeps) return run.doubt();
    const TraceScope scope(context.trace, "check input", TraceCategory::disk);
    const auto [memory, bytes] = largest_slot();
    const index_t input_bytes =
        product(plan_->problem.input_shape()) * static_cast<index_t>(plan_->problem.input_elem().bytes());
    SPANFFT_ASSIGN(const bool same, sweeps->input_is_as_read(context, input_bytes, memory, bytes));
    if (!same) return run.doubt();
    run_notes_.push_back(
        "the input has other times or is another file than when the run began; what had been read of "
        "it was read again, and is the same");
    return {};
}

// Collective: rank 0's file, which the others write into too. `partial` counts on rank 0.
Status Executor::open_shared_output(std::string partial, std::unique_ptr<FileStore>& shared,
                                    RunContext& context) const {
    SPANFFT_TRY(broadcast_text(*comm_, partial));
    SPANFFT_TRY(comm_->broadcast(&context.output_offset_bytes, sizeof context.output_offset_bytes, 0));
    Status opened;
    if (rank() > 0) {
        auto store = FileStore::open_output(partial);
        opened = store.status();
        if (opened.ok()) {
            shared = std::move(store).value();
            context.output_store = shared.get();
        }
    }
    return agree(*comm_, opened);
}

Status Executor::run_in_journal(BlockWork& work, RunContext& context, RunStores& stores, JournalledRun& run,
                                bool checksums, bool panels) {
    stores.attach(*run.output(), context);
    std::unique_ptr<FileStore> shared;
    if (comm_->size() > 1) {
        const Status opened = open_shared_output(run.output()->partial_path(), shared, context);
        if (!opened.ok()) return run.abandon(opened);
    }
    if (run.input() && examine_sweeps(*plan_, panels).overwrites_input) {
        context.finished_store = run.input();
        context.finished_offset_bytes = context.input_offset_bytes;
    }
    stores.dress(context, work);
    // Sweeps whose output is whole, and is being copied to its place, are done.
    if (run.in_place_state() == InPlaceState::overwriting && !context.finished_offset_bytes) {
        resumed_bytes_ = context.done_bytes = plan_->predict(0).disk_read_bytes + plan_->predict(0).disk_written_bytes;
        return {};
    }
    std::optional<SweepRun> sweeps;
    Status status;
    if (!examine_sweeps(*plan_).sweeps.empty()) {
        sweeps.emplace(*plan_, context, checksums, panels ? &run : nullptr, rank());
        if (panels) status = sweeps->resume(run.progress());  // first: what is done is known whatever fails then
        if (status.ok()) status = sweeps->started();
        if (status.ok() && !run.doubt().ok()) {
            const Status same = check_what_was_read(context, run, panels ? &*sweeps : nullptr);
            if (!same.ok() && comm_->size() == 1) return run.leave(same);
            status = same;
        }
        const Status ready = agree(*comm_, status);
        if (comm_->size() > 1 && !ready.ok()) return run.abandon(ready);
        if (ready.ok() && panels) status = sweeps->align(*comm_);
        if (status.ok() && panels) resumed_bytes_ = context.done_bytes = sweeps->skipped_bytes(*plan_);
    }
    if (status.ok()) status = run_steps(context, true, sweeps ? &*sweeps : nullptr);
    if (status.ok() && !run.input()) status = agree(*comm_, stores.check_input_unchanged());
    if (status.ok()) return status;
    // Where any rank has something to go on from, all keep what they have.
    index_t durable = panels ? sweeps->durable_panels() : 0;
    std::vector<index_t> all(static_cast<size_t>(comm_->size()));
    SPANFFT_TRY(comm_->allgather(&durable, sizeof durable, all.data()));
    for (size_t i = 0; comm_->size() > 1 && i < all.size(); ++i) durable = std::max(durable, all[i]);
    return agree(*comm_, run.give_up(status, durable));
}

}  // namespace spanfft
