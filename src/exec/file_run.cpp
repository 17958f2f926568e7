// From a request to a file that is whole, or to a sentence that says why not; see file_run.hpp.
#include "exec/file_run.hpp"

#include <set>

#include "disk/io_backend.hpp"

namespace spanfft {

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

Result<std::unique_ptr<BlockWork>> FileRun::make_work() const {
    if (plan_.permutes() && request_.callbacks.any())
        return error(Code::unsupported, "callbacks are for the numbers of a transform; a permutation moves records as ",
                     "they lie, whatever they are");
    // A chunked array has its work done on its way into a file, once.
    if (request_.callbacks.on_input && plan_.reads_twice && plan_.staged_input_bytes == 0) {
        return error(Code::unsupported, plan_.solver,
                     " reads some elements of half a spectrum twice, so no callback can have each once; plan with "
                     "reads_once, give more memory, or use method=two_sweeps");
    }
    SPANFFT_ASSIGN(auto work, BlockWork::make(plan_.problem, request_.callbacks));
    SPANFFT_ASSIGN(const IoBackend io, choose_io_backend(plan_.problem.io));
    if (io == IoBackend::uring && plan_.problem.loads_other()) {
        return error(Code::unsupported,
                     "io=uring was asked for, but the threads that read convert load=", plan_.problem.load->print(),
                     "; leave io= out");
    }
    if (io == IoBackend::uring && (work->on_way_in() || work->on_way_out())) {
        return error(Code::unsupported,
                     "io=uring was asked for, but work on blocks is done by the threads that read and write; "
                     "leave io= out");
    }
    return work;
}

// "{rank}" and "{node}" have their numbers then, and the output's name leads to its file.
Status FileRun::name_files() {
    const auto nodes = comm_.nodes();
    SPANFFT_TRY(agree(nodes.status()));
    const int node = nodes.value()[static_cast<size_t>(rank())];
    for (std::string& folder : request_.scratch_folders) folder = scratch_name(std::move(folder), rank(), node);
    if (request_.in_place || request_.write_box) return {};
    auto target = behind_links(request_.output_path);
    SPANFFT_TRY(agree(target.status()));
    request_.output_path = std::move(target).value();
    return {};
}

Status FileRun::check() {
    Status status;
    if (plan_.problem.memory_bytes == 0) {
        status =
            error(Code::invalid_argument, "this plan is for arrays in memory; plan with memory= to transform files");
    }
    if (status.ok()) status = check_stores(request_, plan_);
    if (status.ok() && request_.in_place) status = check_in_place(plan_, request_.journal != JournalMode::off);
    SPANFFT_TRY(agree(status));
    SPANFFT_TRY(agree_on_text(comm_, "input file", request_.input_path));
    SPANFFT_TRY(agree_on_text(comm_, "output file", request_.output_path));
    SPANFFT_TRY(agree_on_text(comm_, "block callbacks", describe_callbacks(request_.callbacks)));
    SPANFFT_TRY(agree_on_text(comm_, "journal", journal_name(request_.journal)));
    SPANFFT_TRY(agree_on_text(comm_, "checksums", request_.checksums ? "on" : "off"));
    auto work = make_work();
    SPANFFT_TRY(agree(work.status()));
    work_ = std::move(work).value();
    return {};
}

Status FileRun::open_input() {
    const TraceScope opening(context_.trace, "open", TraceCategory::disk);
    Status opened = request_.in_place || request_.read_box ? Status() : check_not_half_overwritten(request_.input_path);
    if (opened.ok()) opened = stores_.open_input();
    return agree(opened);
}

Status FileRun::run() {
    context_ = bound_.make_context();
    const TraceScope scope(context_.trace, "transform_file", TraceCategory::run);
    SPANFFT_TRY(name_files());
    SPANFFT_TRY(check());
    context_.progress = request_.progress;
    context_.total_bytes = plan_.progress_bytes(rank());
    SPANFFT_TRY(open_input());
    if (plan_.held_scratch_bytes > 0) stores_.hold_scratch(context_.at(Slot::work1));
    sweeps_ = examine_sweeps(plan_, request_.in_place, rank());
    if (request_.journal == JournalMode::off) return run_without_journal();
    const std::string why_not = why_no_journal(sweeps_);
    if (request_.in_place && !why_not.empty()) sweeps_ = examine_sweeps(plan_, false, rank());
    if (!why_not.empty() && sweeps_.why_not.empty()) notes_.push_back("no journal of this run: " + why_not);
    if (why_not.empty() || request_.in_place) return run_journalled(why_not.empty());
    if (request_.journal == JournalMode::resume)
        return agree(error(Code::invalid_argument, "this plan has no journal to resume from: ", why_not));
    Status passed_over;
    if (rank() == 0) {
        JournalRequest journalled = journal_request();
        journalled.output = stores_.output_request();
        passed_over = pass_over_unfinished(journalled, why_not);
    }
    SPANFFT_TRY(agree(passed_over));
    return run_without_journal();
}

Status FileRun::run_without_journal() {
    std::optional<TraceScope> opening(std::in_place, context_.trace, "open", TraceCategory::disk);
    std::unique_ptr<OutputFile> output;
    Status made;
    if (rank() == 0 ? stores_.needs_file() : plan_.scratch_of_each_rank_bytes > 0) {
        auto created = OutputFile::create(rank() == 0 ? stores_.output_request() : stores_.scratch_request());
        made = created.status();
        if (made.ok()) {
            output = std::move(created).value();
            stores_.attach(*output);
        }
    }
    SPANFFT_TRY(agree(made));
    SPANFFT_TRY(share_files(output.get()));
    context_.arrays = stores_.dress(*work_);
    opening.reset();
    const SweepRun sweeps(plan_, sweeps_, context_.arrays, request_.checksums, nullptr);
    SPANFFT_TRY(bound_.run_steps(context_, &sweeps));
    SPANFFT_TRY(agree(stores_.check_input_unchanged()));
    const TraceScope publishing(context_.trace, "publish", TraceCategory::disk);
    SPANFFT_TRY(agree(shared_.output ? shared_.output->sync() : Status()));
    Status published;
    if (rank() == 0) {
        if (output) published = stores_.finish(*output);
        if (published.ok() && request_.write_box) published = request_.finish ? request_.finish() : Status();
        if (published.ok() && output && !request_.write_box) published = output->publish();
    }
    published = agree(published);
    output.reset();  // here, so that the time it takes to free a large scratch file shows in the trace
    return published;
}

// Empty: panels can be journalled.
std::string FileRun::why_no_journal(const PlannedSweeps& sweeps) const {
    if (request_.read_box && request_.input_identity.empty())
        return "its input is behind a function, and nothing tells whether it changes; give its store an identity";
    if (request_.callbacks.any() && request_.callbacks.name.empty())
        return "its callbacks have no name, so nobody knows whether another run has the same ones; give them one "
               "(callback_name)";
    return sweeps.why_not;
}

JournalRequest FileRun::journal_request() const {
    JournalRequest journalled;
    journalled.mode = request_.journal;
    journalled.input_path = request_.input_path;
    journalled.input_offset_bytes = request_.input_offset_bytes;
    journalled.input_bytes = product(plan_.problem.input_shape()) * plan_.loaded_bytes();
    journalled.input_identity = request_.input_identity;
    journalled.output_path = request_.output_path;
    journalled.engines = bound_.engines();
    if (request_.callbacks.any())
        journalled.callbacks = cat(request_.callbacks.name, " (", describe_callbacks(request_.callbacks), ")");
    journalled.in_place = request_.in_place;
    journalled.packed_input = request_.packed_input;
    journalled.packed_output = request_.packed_output;
    if (request_.write_box)
        journalled.behind = {request_.output_identity, request_.finish ? request_.finish : [] { return Status(); }};
    journalled.rank = rank();
    if (rank() > 0) journalled.behind = {cat("rank ", rank()), [] { return Status(); }};
    return journalled;
}

// What runs have left that no run will find, where this one looks.
void FileRun::note_moved_away() {
    std::vector<std::string> folders = request_.scratch_folders;
    if (!request_.write_box) folders.push_back(folder_of(request_.output_path));
    std::set<std::string> seen;
    for (const std::string& folder : folders) {
        if (!seen.insert(whole_path(folder)).second) continue;
        for (std::string& sentence : moved_away(folder)) notes_.push_back(std::move(sentence));
    }
}

// `panels`: what is done of them is kept.
Status FileRun::run_journalled(bool panels) {
    JournalRequest journalled = journal_request();
    note_moved_away();
    journalled.output = rank() > 0          ? stores_.scratch_request()
                        : request_.in_place ? stores_.in_place_request(sweeps_)
                                            : stores_.output_request();
    if (comm_.size() > 1) SPANFFT_TRY(agree_on_run(comm_, journalled));
    std::unique_ptr<JournalledRun> run;
    const Status opened = open_journalled(journalled, run);
    if (!opened.ok()) return run ? run->abandon(opened) : opened;
    if (request_.in_place) {
        notes_.push_back(sweeps_.overwrites_input ? "in place: the last sweep overwrites the input"
                                                  : "in place: the output is copied over the input in the end");
        if (!sweeps_.overwrites_input && rank() == 0) context_.total_bytes += 2 * journalled.input_bytes;
    }
    if (in_place_state_ == InPlaceState::finished) {
        resumed_bytes_ = context_.total_bytes;
    } else {
        SPANFFT_TRY(run_in_journal(*run, panels));
    }
    const TraceScope publishing(context_.trace, "publish", TraceCategory::disk);
    return publish(run.get());
}

// Collective. `run`: none where it could not be opened, nor on ranks but 0 where rank 0 finds that it had ended.
Status FileRun::open_journalled(JournalRequest& journalled, std::unique_ptr<JournalledRun>& run) {
    const auto open = [&]() -> Status {
        SPANFFT_ASSIGN(run, JournalledRun::open(plan_, sweeps_, journalled));
        return {};
    };
    if (!request_.in_place || comm_.size() == 1) {
        const Status opened = agree(open());
        if (run) in_place_state_ = run->in_place_state();
        return opened;
    }
    // What the file is tells what the other ranks have to do with what they kept.
    struct Found {
        InPlaceState state = InPlaceState::untouched;
        int32_t goes_on = 0, restored = 0;
    } found;
    SPANFFT_TRY(agree(rank() == 0 ? open() : Status()));
    if (rank() == 0) found = {run->in_place_state(), !run->progress().empty(), run->restored()};
    SPANFFT_TRY(comm_.broadcast(&found, sizeof found, 0));
    in_place_state_ = found.state;
    if (rank() == 0) return agree({});
    journalled.mode = found.goes_on ? JournalMode::automatic : JournalMode::restart;
    journalled.restored = found.restored;
    return agree(found.state == InPlaceState::finished ? pass_over_unfinished(journalled, "") : open());
}

// Rank 0 gives the output its name, or ends what overwrites the input, when the others have noted that they are needed
// no more; then these end too, so that whoever is killed in between leaves what the next start understands
// (agree_on_run).
Status FileRun::publish(JournalledRun* run) {
    const auto [memory, bytes] = bound_.largest_slot();
    const auto publish_mine = [&, memory = memory, bytes = bytes] {
        return run->publish([&] { return stores_.finish(*run->output()); }, memory, bytes, context_);
    };
    if (comm_.size() == 1) return publish_mine();
    Status noted = shared_.output ? shared_.output->sync() : Status();
    if (noted.ok() && rank() > 0 && run) noted = run->note_whole();
    noted = agree(noted);
    if (!noted.ok()) return run ? run->leave(noted) : noted;
    const Status published = agree(rank() == 0 ? publish_mine() : Status());
    if (rank() == 0) return agree(published);
    if (!run) return agree(published);
    return agree(published.ok() ? publish_mine() : run->leave(published));
}

// The input may have changed since the unfinished run read from it. nullptr: no sums tell.
Status FileRun::check_what_was_read(JournalledRun& run, SweepRun* sweeps) {
    if (!sweeps) return run.doubt();
    const TraceScope scope(context_.trace, "check input", TraceCategory::disk);
    const auto [memory, bytes] = bound_.largest_slot();
    const index_t input_bytes = product(plan_.problem.input_shape()) * plan_.read_bytes();
    SPANFFT_ASSIGN(const bool same, sweeps->input_is_as_read(context_, input_bytes, memory, bytes));
    if (!same) return run.doubt();
    notes_.push_back(
        "the input has other times or is another file than when the run began; what had been read of "
        "it was read again, and is the same");
    return {};
}

// Collective: rank 0's files, which the others read and write too. `files` counts on rank 0.
Status FileRun::share_files(const OutputFile* files) {
    std::string output, staged_input, staged_output;
    if (rank() == 0 && files) {
        if (stores_.has_output_file()) output = files->partial_path();
        staged_input = files->staged_input_path();
        staged_output = files->staged_output_path();
    }
    for (std::string* const path : {&output, &staged_input, &staged_output}) SPANFFT_TRY(broadcast_text(comm_, *path));
    shared_.output_offset_bytes = stores_.output_offset_bytes();
    SPANFFT_TRY(comm_.broadcast(&shared_.output_offset_bytes, sizeof shared_.output_offset_bytes, 0));
    if (rank() == 0) return agree({});
    const auto open = [](const std::string& path, std::unique_ptr<FileStore>& store) -> Status {
        if (path.empty()) return {};
        SPANFFT_ASSIGN(store, FileStore::open_output(path));
        return {};
    };
    Status opened = open(output, shared_.output);
    if (opened.ok()) opened = open(staged_input, shared_.staged_input);
    if (opened.ok()) opened = open(staged_output, shared_.staged_output);
    if (opened.ok()) stores_.attach_shared(shared_);
    return agree(opened);
}

Status FileRun::run_in_journal(JournalledRun& run, bool panels) {
    stores_.attach(*run.output());
    if (comm_.size() > 1) {
        const Status opened = share_files(run.output().get());
        if (!opened.ok()) return run.abandon(opened);
    }
    if (sweeps_.overwrites_input) stores_.overwrite_input(*run.input());
    context_.arrays = stores_.dress(*work_);
    // Sweeps whose output is whole, and is being copied to its place, are done.
    if (in_place_state_ == InPlaceState::overwriting && !sweeps_.overwrites_input) {
        resumed_bytes_ = context_.done_bytes = plan_.progress_bytes(0);
        return {};
    }
    SweepRun sweeps(plan_, sweeps_, context_.arrays, request_.checksums, panels ? &run : nullptr);
    Status status;
    if (panels) status = sweeps.resume(run.progress());  // first: what is done is known whatever fails then
    if (status.ok()) status = sweeps.started();
    if (status.ok() && !run.doubt().ok()) {
        status = check_what_was_read(run, panels ? &sweeps : nullptr);
        if (!status.ok() && comm_.size() == 1) return run.leave(status);
    }
    const Status ready = agree(status);
    if (comm_.size() > 1 && !ready.ok()) return run.abandon(ready);
    if (ready.ok() && panels) status = sweeps.align(comm_);
    if (status.ok() && panels) resumed_bytes_ = context_.done_bytes = sweeps.skipped_bytes(plan_);
    if (status.ok()) status = bound_.run_steps(context_, &sweeps);
    if (status.ok() && !run.input()) status = agree(stores_.check_input_unchanged());
    if (status.ok()) return status;
    // Where any rank has something to go on from, all keep what they have; and where they can't ask one another, as one
    // was killed, all leave everything as that one did.
    index_t durable = panels ? sweeps.durable_panels() : 0;
    std::vector<index_t> all(static_cast<size_t>(comm_.size()));
    if (!comm_.allgather(&durable, sizeof durable, all.data()).ok()) return run.leave(status);
    for (size_t i = 0; comm_.size() > 1 && i < all.size(); ++i) durable = std::max(durable, all[i]);
    return agree(run.give_up(status, durable));
}

}  // namespace spanfft
