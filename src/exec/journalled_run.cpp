// What a journal begins with, and what becomes of files; see journalled_run.hpp.
#include "exec/journalled_run.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>

#include "disk/checksum.hpp"
#include "disk/own_file.hpp"
#include "plan/renamed_methods.hpp"
#include "plan/user_files.hpp"

namespace spanfft {

namespace {

constexpr index_t kAllPanels = -1;  // durable: what is missing is a name

// A caller's text in a line: its checksum, and as much of it as a message needs.
std::string in_a_line(const std::string& text) {
    constexpr size_t kShown = 200;
    const auto within = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
    size_t end = std::min(text.size(), kShown);
    while (end > 0 && end < text.size() && within(end)) --end;  // no part of a UTF-8 character
    std::string shown = text.substr(0, end);
    for (char& c : shown) {
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return cat(hex_of(checksum(text.data(), static_cast<index_t>(text.size()))), " ", shown);
}

Result<std::string> identity_of(const JournalRequest& request) {
    if (request.input_identity.empty())
        return input_line(request.input_path, request.input_offset_bytes, request.input_bytes);
    return cat("input function ", in_a_line(request.input_identity), " ", path_in_line(whole_path(request.input_path)));
}

// Whether a line tells of progress: these are counted, and what is kept has their number.
bool is_progress(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    return word == "panels" || word == "publish" || word == "finished" || word == "restored";
}

index_t generation_of(const std::vector<std::string>& lines) {
    return std::count_if(lines.begin(), lines.end(), is_progress);
}

// Of a journal that may be from before methods were renamed.
void rename_method(std::vector<std::string>& lines) {
    for (std::string& line : lines)
        if (line.compare(0, 8, "problem ") == 0) line = with_name_now(line);
}

constexpr size_t kProblemLine = 1, kInputLine = 2, kCallbacksLine = 5;

// A path from the root, whether or not there is such a file.
std::string in_its_folder(const std::string& path) {
    return cat(whole_path(folder_of(path)), "/", path.substr(path.rfind('/') + 1));
}

Result<std::vector<std::string>> first_lines(const Plan& plan, const PlannedSweeps& layout,
                                             const JournalRequest& request) {
    SPANFFT_ASSIGN(const std::string input, identity_of(request));
    const std::string& header = request.output.header;
    std::vector<std::string> lines = {
        "spanfft-journal 11 " SPANFFT_VERSION,
        "problem " + plan.task(),
        input,
        "engines " + request.engines,
        request.behind
            ? "output function " + in_a_line(request.behind->identity)
            : cat("output ", header.size(), " ", hex_of(checksum(header.data(), static_cast<index_t>(header.size())))),
        "callbacks " + (request.callbacks.empty() ? "none" : in_a_line(request.callbacks)),
        cat("packed ", request.packed_input ? "input" : "-", " ", request.packed_output ? "output" : "-"),
    };
    lines.push_back("journal " + path_in_line(in_its_folder(request.output.kept->journal)));
    // So that whoever throws the run away finds what is there, whatever folders it has been given itself.
    for (const std::string& folder : request.output.scratch_folders)
        lines.push_back("scratch " + path_in_line(whole_path(folder)));
    if (!request.output.shared_folder.empty())
        lines.push_back("shared " + path_in_line(whole_path(request.output.shared_folder)));
    if (request.in_place) lines.push_back(in_place_line(request.input_offset_bytes, request.input_bytes));
    if (layout.overwrites_input) {
        const size_t before = layout.sweeps.size() - 2;
        lines.push_back(overwrites_line(static_cast<int>(before), layout.sweeps[before].panels));
    }
    for (size_t i = 0; i < plan.steps.size(); ++i) lines.push_back(cat("step ", i, " ", plan.steps[i]->describe()));
    return lines;
}

std::string word_of(const std::string& line) { return line.substr(0, line.find(' ')); }

// Why what was found can't be gone on with; `ways` out of it. `path`: the input's.
Status differs(const std::string& found, const std::string& wanted, const std::string& path, const std::string& ways) {
    const std::string word = word_of(wanted);
    if (word == "input") {
        return error(Code::corrupt_data, path, " has changed since the unfinished run read from it (it was: ", found,
                     "; it is: ", wanted, "), so that run can't be continued", ways);
    }
    if (word == "problem") {
        return error(Code::invalid_argument,
                     "an unfinished run between these files was for another problem or budget: '",
                     found.substr(found.find(' ') + 1), "', not '", wanted.substr(wanted.find(' ') + 1),
                     "'; ask for that one to go on with it", ways);
    }
    if (word == "spanfft-journal") {
        return error(Code::invalid_argument,
                     "an unfinished run between these files is of another version of spanfft: '", found, "', now '",
                     wanted, "'; go on with that version", ways);
    }
    if (word == "journal") {
        return error(Code::invalid_argument, "an unfinished run of this file was in another folder: '", found,
                     "', now '", wanted, "'; move it back to go on with it", ways);
    }
    const char* const what = word == "callbacks"                    ? "had other callbacks"
                             : word == "output" || word == "packed" ? "was to store its output otherwise"
                                                                    : "was made otherwise";
    return error(Code::invalid_argument, "an unfinished run between these files ", what, ": '", found, "', now '",
                 wanted, "'", ways);
}

}  // namespace

JournalledRun::JournalledRun(const JournalRequest& request, const PlannedSweeps& layout)
    : request_(request), overwrites_(layout.overwrites_input) {
    for (const SweepOutline& sweep : layout.sweeps) targets_.push_back(sweep.target.place);
    last_sweep_ = targets_.empty() ? 0 : targets_.size() - 1;
}

Result<std::unique_ptr<JournalledRun>> JournalledRun::open(const Plan& plan, const PlannedSweeps& layout,
                                                           const JournalRequest& request) {
    std::unique_ptr<JournalledRun> run(new JournalledRun(request, layout));
    OutputRequest& output = run->request_.output;
    output.kept = kept_names(request);
    (output.staged_output_bytes > 0 ? output.staged_output_bytes : output.extra_bytes) += layout.output_extra_bytes;
    if (output.scratch_bytes > 0) output.scratch_bytes += layout.scratch_extra_bytes;
    const std::string& journal = output.kept->journal;
    if (request.mode == JournalMode::resume && !file_exists(journal)) {
        return error(Code::invalid_argument, "there is no unfinished run from ", request.input_path, " to ",
                     request.output_path, " to resume: no journal ", journal,
                     request.in_place ? "; one that began has ended, and the file is whole: without resume it would be "
                                        "transformed again"
                                      : "; run it without resume");
    }
    SPANFFT_ASSIGN(const std::vector<std::string> lines, first_lines(plan, layout, run->request_));
    SPANFFT_TRY(check_scratch_folders(output.scratch_folders));
    if (request.in_place && access(request.input_path.c_str(), W_OK) != 0) {
        return error_errno(Code::io_error, errno,
                           "could not open " + request.input_path + " for writing, which in place does; allow it, or " +
                               "give another output");
    }
    const auto earlier = Journal::peek(journal);
    if (earlier.ok()) run->earlier_ = earlier.value();
    // In place a journal may be all that makes a file whole, so it is looked into before it is thrown away.
    SPANFFT_ASSIGN(run->journal_, Journal::open(journal, request.mode == JournalMode::restart && !request.in_place));
    const auto goes_on = run->goes_on(lines);
    if (!goes_on.ok() && run->journal_->lines().empty()) run->journal_->remove();  // it was made here
    SPANFFT_ASSIGN(output.reopen, goes_on);
    if (run->state_ == InPlaceState::finished) return run;
    if (!output.reopen && request.mode == JournalMode::resume) {
        return error(Code::invalid_argument, "the unfinished run from ", request.input_path, " to ",
                     request.output_path,
                     " had not finished a panel, so there is nothing to resume; run it without resume");
    }
    if (request.in_place) {
        SPANFFT_ASSIGN(run->input_, FileStore::open_output(whole_path(request.input_path)));
    }
    SPANFFT_TRY(output.reopen ? run->reopen() : run->begin(lines));
    return run;
}

// Whether what the journal says is a run to go on with; an error where it is another's.
Result<bool> JournalledRun::goes_on(const std::vector<std::string>& lines) {
    std::vector<std::string> found = journal_->lines();
    rename_method(found);
    const bool restart = request_.mode == JournalMode::restart;
    const bool owns = request_.owns_input();
    if (owns) SPANFFT_TRY(check_whose_overwriting(request_.input_path, found));
    if (request_.in_place) state_ = spanfft::in_place_state(found);
    if (!owns && (restart || state_ == InPlaceState::finished))
        state_ = InPlaceState::untouched;  // rank 0 knows better
    const bool same_file = request_.in_place && (!owns || is_overwritten_by(request_.input_path, found));
    if (restart && state_ == InPlaceState::overwriting && same_file) {
        return error(Code::invalid_argument, request_.input_path,
                     " is half overwritten by an unfinished run in place: '", journal_value(found, "problem"),
                     "'; it can't begin anew: the same command without restart goes on and makes the file whole");
    }
    const bool same_problem = "problem " + journal_value(found, "problem") == lines[kProblemLine] &&
                              "callbacks " + journal_value(found, "callbacks") == lines[kCallbacksLine];
    if (restart || (state_ == InPlaceState::finished && !(same_file && same_problem))) {
        state_ = InPlaceState::untouched;
        return false;
    }
    if (state_ == InPlaceState::finished) return true;
    if (!has_begun(found, state_, kept_by(found, request_))) return false;
    const bool half = state_ == InPlaceState::overwriting && same_file;
    const std::string ways = half
                                 ? "; the file is half overwritten, and only the same command makes it whole"
                                 : "; restart throws the unfinished run away (its journal is " + journal_->path() + ")";
    for (size_t i = 0; i < lines.size() && i < found.size(); ++i) {
        const bool marked = !owns && request_.in_place && same_but_for_mark(found[i], lines[i]);  // by rank 0
        if (found[i] == lines[i] || (word_of(lines[i]) == "input" && (half || marked))) continue;
        const Status difference = differs(found[i], lines[i], request_.input_path, ways);
        const bool whole = word_of(lines[i]) == "input" && state_ == InPlaceState::untouched;
        if (!whole || !may_have_its_bytes(found[i], lines[i])) return difference;
        doubt_ = difference;
    }
    progress_ = found;
    generation_ = generation_of(found);
    (void)parse_hex(journal_value(found, "marks"), run_);
    request_.output.run = run_;
    request_.output.published = !request_.in_place && !journal_value(found, "publish").empty();
    // The file is as it was before the last sweep, so that all of it must be written.
    restored_ = half && overwrites_ &&
                (owns ? same_samples("input " + journal_value(found, "input"), lines[kInputLine]) : request_.restored);
    return true;
}

namespace {

std::string whose_run() { return cat("run ", getpid(), " ", utc_now()); }

}  // namespace

Status JournalledRun::reopen() {
    auto reopened = OutputFile::create(request_.output);
    if (!reopened.ok()) {
        return error(reopened.status().code(), reopened.status().message(),
                     "; the unfinished run can't go on without it, ",
                     state_ == InPlaceState::overwriting ? "and the file that it overwrites stays half overwritten"
                                                         : "and restart begins anew");
    }
    output_ = std::move(reopened).value();
    output_->keep();
    SPANFFT_TRY(check_marks());
    if (state_ == InPlaceState::overwriting && request_.owns_input()) SPANFFT_TRY(mark_input());
    SPANFFT_TRY(output_->mark({run_, generation_, generation_}));
    if (restored_) {
        progress_.push_back(cat("restored ", last_sweep_));
        SPANFFT_TRY(note(progress_.back()));
    }
    return journal_->append(whose_run());
}

// Those that a sweep writes to, of what is kept.
std::vector<std::string> JournalledRun::files_of(size_t sweep) const {
    const OutputRequest& output = request_.output;
    const Place target = sweep < targets_.size() ? targets_[sweep] : Place::array;
    if (target == Place::array || (overwrites_ && sweep == last_sweep_)) return {};
    if (target == Place::scratch) return output.kept->scratch;
    if (target == Place::input)  // of several ranks the first one has it
        return output.staged_input_bytes > 0 ? output.kept->staged_input : std::vector<std::string>();
    return output.staged_output_bytes > 0 ? output.kept->staged_output : std::vector<std::string>{output.kept->output};
}

// Before anything is written to what is kept: whether it is of the journal's run, and of its moment.
Status JournalledRun::check_marks() const {
    std::map<std::string, index_t> written;  // a file, and the last line about it
    index_t line_number = 0;
    for (const std::string& path : output_->kept_paths()) written[path] = 0;
    for (const std::string& line : progress_) {
        if (!is_progress(line)) continue;
        ++line_number;
        TextReader in(line);
        std::string word;
        size_t sweep = 0;
        if (!(in >> word >> sweep) || word != "panels") continue;
        for (const std::string& path : files_of(sweep)) written[path] = line_number;
    }
    const std::string ways =
        state_ == InPlaceState::overwriting
            ? cat("; ", request_.input_path, " is half overwritten: put all of them back as they were at one moment")
            : "; restart begins anew";
    for (const auto& [path, line] : written) {
        SPANFFT_ASSIGN(const auto mark, read_mark(path));
        if (!mark && request_.output.published && path == request_.output.kept->output) continue;  // it was cut off
        if (!mark || mark->run != run_) {
            return error(Code::corrupt_data, path, " is not what the run of the journal ", journal_->path(),
                         " has kept: its mark is damaged, or one of them is a copy from elsewhere", ways);
        }
        if (mark->settled > generation_) {
            return error(Code::corrupt_data, "the journal ", journal_->path(), " is older than ", path, ": it has ",
                         generation_, " lines of progress, and the data that of ", mark->settled,
                         "; it has lost lines, or is a copy of an earlier moment", ways);
        }
        if (mark->written < line) {
            return error(Code::corrupt_data, path, " is older than the journal ", journal_->path(),
                         ", which speaks of ", line, " lines of progress, and the data of ", mark->written,
                         "; it is a copy of an earlier moment", ways);
        }
    }
    return {};
}

Status JournalledRun::before_flush() { return output_->mark({run_, generation_ + 1, generation_}); }

Status JournalledRun::append(const std::string& line) {
    SPANFFT_TRY(journal_->append(line));
    ++generation_;
    SPANFFT_TRY(output_->mark({run_, generation_, generation_}));
    if (!request_.owns_input() || state_ == InPlaceState::overwriting) return {};
    earlier_.push_back(line);
    if (spanfft::in_place_state(earlier_) != InPlaceState::overwriting) return {};
    // The next write may be to the input.
    state_ = InPlaceState::overwriting;
    return mark_input();
}

Status JournalledRun::mark_input() {
    return set_overwrite_mark(input_->descriptor(), {run_, journal_->path(), journal_value(earlier_, "problem")},
                              request_.input_path);
}

// Of progress that no sweep makes.
Status JournalledRun::note(const std::string& line) {
    SPANFFT_TRY(before_flush());
    return append(line);
}

Status JournalledRun::begin(const std::vector<std::string>& lines) {
    // Whoever is refused now shall read whose lock it is; the rest of the journal only when its files are there.
    const std::string mine = whose_run();
    SPANFFT_TRY(journal_->clear());  // it must not speak of files that are gone
    unlink_kept();                   // an earlier run's, whose room this one may need
    Status noted = journal_->append(mine);
    run_ = request_.output.run = request_.run != 0 ? request_.run : new_run_number();
    if (noted.ok()) {
        auto made = OutputFile::create(request_.output);
        noted = made.status();
        if (noted.ok()) {
            output_ = std::move(made).value();
            output_->keep();  // whatever ends this run from here on: the journal speaks of it
        }
    }
    std::vector<std::string> all = lines;
    all.push_back("marks " + hex_of(run_));
    all.push_back(mine);
    earlier_ = all;
    if (noted.ok()) noted = journal_->clear();
    if (noted.ok()) noted = journal_->append_all(all);
    if (noted.ok()) noted = sync_folder(folder_of(request_.output.kept->journal));
    if (noted.ok()) noted = sync_folder(folder_of(request_.output.path));
    for (const std::string& folder : request_.output.scratch_folders) {
        if (noted.ok()) noted = sync_folder(folder);
    }
    if (!noted.ok()) remove();
    return noted;
}

// What the journal speaks of, and what this run may have made.
void JournalledRun::unlink_kept() {
    unlink_all(kept_by(earlier_, request_));
    unlink_all(*request_.output.kept);
}

// The journal after what it speaks of; then the files are closed, as it takes a while to free large ones, in which a
// kill would leave a journal of a run that has ended.
void JournalledRun::remove() {
    unlink_kept();
    journal_->remove();
    if (output_) output_->keep();  // the names may be another run's from here on
    output_.reset();
}

// The mark goes when the journal says that the run has ended: a file without one that a journal calls half overwritten
// would be taken for another file.
Status JournalledRun::overwrite(char* memory, index_t memory_bytes, RunContext& context) {
    if (!overwrites_ && state_ != InPlaceState::finished) {
        if (state_ == InPlaceState::untouched) {
            SPANFFT_TRY(output_->store().sync());
            SPANFFT_TRY(note("publish now"));
        }
        SPANFFT_TRY(copy_over({&output_->store(), output_->payload_offset_bytes()},
                              {input_.get(), request_.input_offset_bytes}, request_.input_bytes, memory, memory_bytes,
                              context));
    }
    if (state_ != InPlaceState::finished) SPANFFT_TRY(note("finished now"));
    return clear_overwrite_mark(request_.input_path);
}

// What a later run finds in the journal is what it need not do again: pack a spectrum, whose last number is cut off
// when it is published; nothing at all, when the caller has the output.
Status JournalledRun::give_name(const std::function<Status()>& finish) {
    if (request_.behind) {
        SPANFFT_TRY(request_.behind->finish());
        return note("finished now");
    }
    if (journal_value(progress_, "publish").empty()) {
        SPANFFT_TRY(finish());
        SPANFFT_TRY(note("publish now"));
    }
    return output_->publish();
}

Status JournalledRun::publish(const std::function<Status()>& finish, char* memory, index_t memory_bytes,
                              RunContext& context) {
    const Status published = request_.owns_input() ? overwrite(memory, memory_bytes, context) : give_name(finish);
    if (!published.ok()) return give_up(published, kAllPanels);
    remove();
    return {};
}

Status JournalledRun::leave(const Status& why) {
    output_->keep();
    output_.reset();
    return why;
}

Status JournalledRun::abandon(const Status& why) {
    // Of a run that others go on with, a rank that had done nothing yet keeps its journal too: without it all refuse.
    // So does one that can't hear how far the others have come.
    if (request_.mode != JournalMode::restart || why.code() == Code::mpi_error) return leave(why);
    remove();
    return why;
}

Status JournalledRun::give_up(const Status& why, index_t durable_panels) {
    const auto lines = Journal::peek(journal_->path());  // the sweeps have added to it
    if (request_.in_place && lines.ok()) state_ = spanfft::in_place_state(lines.value());
    const bool damaged = why.code() == Code::corrupt_data || why.code() == Code::internal;
    const bool hopeless = damaged && durable_panels != kAllPanels;  // what the last call says is not of what is kept
    if (state_ == InPlaceState::overwriting) {
        output_->keep();
        output_.reset();
        return error(why.code(), why.message(), "; ", request_.input_path, " is half overwritten: ",
                     damaged ? "what it is made of may be damaged, so take a copy of the input if there is one"
                             : "the same command goes on from there, and nothing else makes the file whole");
    }
    if (hopeless || (durable_panels == 0 && progress_.empty())) {
        remove();
        return error(
            why.code(), why.message(),
            hopeless ? "; what was done so far is thrown away" : "; nothing was done yet, and nothing is left");
    }
    output_->keep();
    const std::string missing = output_->missing();
    output_.reset();
    if (!missing.empty()) {
        return error(why.code(), why.message(), "; ", missing, ", which holds what is done, is gone from its place: ",
                     "with it back the same command goes on from there, without it restart begins anew");
    }
    const std::string done = durable_panels == kAllPanels ? "all panels are done and"
                             : durable_panels == 1        ? "the panel that is done is"
                                                          : cat("the ", durable_panels, " panels that are done are");
    return error(why.code(), why.message(), "; ", done,
                 " kept: the same command goes on from there, restart begins anew");
}

}  // namespace spanfft
