// What a journal begins with, and what becomes of files; see journalled_run.hpp.
#include "exec/journalled_run.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "disk/checksum.hpp"
#include "plan/user_files.hpp"

namespace spanfft {

namespace {

constexpr index_t kAllPanels = -1;  // durable: what is missing is a name

std::string key_of(const std::string& input, index_t offset, const std::string& output) {
    const size_t slash = output.rfind('/');
    const std::string name = slash == std::string::npos ? output : output.substr(slash + 1);
    const std::string text = cat(whole_path(input), '\n', offset, '\n', whole_path(folder_of(output)), '/', name);
    return hex_of(checksum(text.data(), static_cast<index_t>(text.size())));
}

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

// Size, times and inode of the input, and a checksum of 64 of its blocks, the first and the last among them.
Result<std::string> identity_of(const JournalledRun::Request& request) {
    if (!request.input_identity.empty())
        return cat("input function ", in_a_line(request.input_identity), " ", whole_path(request.input_path));
    constexpr index_t kSamples = 64, kSampleBytes = 4096;
    const int descriptor = ::open(request.input_path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        const int why = errno;
        if (descriptor >= 0) ::close(descriptor);
        return error_errno(Code::io_error, why, "could not open " + request.input_path);
    }
    std::string samples;
    const index_t last = std::max<index_t>(0, request.input_bytes - kSampleBytes);
    for (index_t i = 0; i < kSamples; ++i) {
        std::string block(static_cast<size_t>(kSampleBytes), '\0');
        const index_t at = request.input_offset_bytes + last / (kSamples - 1) * i + (i + 1 == kSamples ? last % 63 : 0);
        const ssize_t got = pread(descriptor, block.data(), block.size(), static_cast<off_t>(at));
        if (got < 0) {
            const int why = errno;
            ::close(descriptor);
            return error_errno(Code::io_error, why, "could not read " + request.input_path);
        }
        samples += hex_of(checksum(block.data(), got));
    }
    ::close(descriptor);
    return cat("input ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ino, " ",
               hex_of(checksum(samples.data(), static_cast<index_t>(samples.size()))), " ",
               whole_path(request.input_path));
}

constexpr const char* kKept = "kept ";

const std::string kKeptOutput = ".spanfft-kept-output";

// Scratch and output, from the root, and what chunked arrays are copied into or out of.
std::vector<std::string> paths_of(const KeptFiles& kept, bool staged_input, bool staged_output) {
    std::vector<std::string> paths = kept.scratch;
    if (staged_input) paths.insert(paths.end(), kept.staged_input.begin(), kept.staged_input.end());
    if (staged_output) paths.insert(paths.end(), kept.staged_output.begin(), kept.staged_output.end());
    paths.push_back(kept.output);
    for (std::string& path : paths) path = cat(whole_path(folder_of(path)), "/", path.substr(path.rfind('/') + 1));
    return paths;
}

std::vector<std::string> kept_paths(const OutputRequest& request) {
    return paths_of(*request.kept, request.staged_input_bytes > 0, request.staged_output_bytes > 0);
}

constexpr size_t kProblemLine = 1, kInputLine = 2, kCallbacksLine = 5;

Result<std::vector<std::string>> first_lines(const Plan& plan, const PassLayout& layout,
                                             const JournalledRun::Request& request) {
    SPANFFT_ASSIGN(const std::string input, identity_of(request));
    const std::string& header = request.output.header;
    std::vector<std::string> lines = {
        "spanfft-journal 3 " SPANFFT_VERSION,
        "problem " + plan.problem.print(),
        input,
        "engines " + request.engines,
        request.behind
            ? "output function " + in_a_line(request.behind->identity)
            : cat("output ", header.size(), " ", hex_of(checksum(header.data(), static_cast<index_t>(header.size())))),
        "callbacks " + (request.callbacks.empty() ? "none" : in_a_line(request.callbacks)),
        cat("packed ", request.packed_input ? "input" : "-", " ", request.packed_output ? "output" : "-"),
    };
    std::string folders;
    for (const std::string& folder : request.output.scratch_folders) folders += " " + whole_path(folder);
    lines.push_back("scratch" + folders);
    // So that whoever throws the run away finds them, whatever folders it has been given itself.
    for (const std::string& path : kept_paths(request.output)) lines.push_back(kKept + path);
    if (request.in_place) lines.push_back(cat("in-place from byte ", request.input_offset_bytes));
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
    const char* const what = word == "callbacks"                    ? "had other callbacks"
                             : word == "output" || word == "packed" ? "was to store its output otherwise"
                                                                    : "was made otherwise";
    return error(Code::invalid_argument, "an unfinished run between these files ", what, ": '", found, "', now '",
                 wanted, "'", ways);
}

bool file_exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Of an output behind a function, nobody knows whether its folder is one: its file, which is empty, is in scratch.
KeptFiles kept_names(const std::string& input, index_t offset, const std::string& output,
                     const std::vector<std::string>& scratch_folders, bool in_place, bool behind) {
    if (!in_place) {
        KeptFiles kept = kept_files(output, scratch_folders, key_of(input, offset, output));
        if (behind) kept.output = folder_of(kept.journal) + kept.output.substr(kept.output.rfind('/'));
        return kept;
    }
    // The copy is scratch too.
    const std::string file = whole_path(input);
    const std::string folder = scratch_folders.empty() ? folder_of(file) : scratch_folders.front();
    const size_t slash = file.rfind('/');
    const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
    KeptFiles kept = kept_files(cat(folder, "/", name), scratch_folders, key_of(input, offset, file));
    kept.journal = in_place_journal(file);
    return kept;
}

// Whether the output's partial file is there that a journal speaks of.
bool has_output(const std::vector<std::string>& lines) {
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        const std::string word = kKept;
        const bool is_output = line.compare(0, word.size(), word) == 0 && line.size() > kKeptOutput.size() &&
                               line.compare(line.size() - kKeptOutput.size(), kKeptOutput.size(), kKeptOutput) == 0;
        return is_output && file_exists(line.substr(word.size()));
    });
}

// A run that was killed before its first panel was done, or after its output had its name, is none.
bool has_begun(const std::vector<std::string>& lines, InPlaceState state) {
    if (state != InPlaceState::untouched) return true;
    return !journal_value(lines, "panels").empty() && journal_value(lines, "finished").empty() &&
           !(journal_value(lines, "publish") == "now" && !has_output(lines));
}

}  // namespace

Result<UnfinishedRun> find_unfinished(const std::string& input_path, index_t input_offset_bytes,
                                      const std::string& output_path, const std::vector<std::string>& scratch_folders) {
    UnfinishedRun run;
    const bool in_place = same_file(input_path, output_path);
    const KeptFiles kept = kept_names(input_path, input_offset_bytes, output_path, scratch_folders, in_place, false);
    SPANFFT_ASSIGN(const std::vector<std::string> lines, Journal::peek(kept.journal));
    const InPlaceState state = in_place ? in_place_state(lines) : InPlaceState::untouched;
    if (!has_begun(lines, state) || (state != InPlaceState::finished && !has_output(lines))) return run;
    run.problem = journal_value(lines, "problem");
    run.journal = kept.journal;
    return run;
}

Result<std::unique_ptr<JournalledRun>> JournalledRun::open(const Plan& plan, const PassLayout& layout,
                                                           const Request& request) {
    std::unique_ptr<JournalledRun> run(new JournalledRun(request));
    OutputRequest& output = run->request_.output;
    output.kept = kept_names(request.input_path, request.input_offset_bytes, request.output_path,
                             output.scratch_folders, request.in_place, request.behind.has_value());
    (output.staged_output_bytes > 0 ? output.staged_output_bytes : output.extra_bytes) += layout.output_extra_bytes;
    if (output.scratch_bytes > 0) output.scratch_bytes += layout.scratch_extra_bytes;
    run->overwrites_ = layout.overwrites_input;
    run->last_sweep_ = layout.sweeps.empty() ? 0 : layout.sweeps.size() - 1;
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
    SPANFFT_ASSIGN(output.reopen, run->goes_on(lines));
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
    const std::vector<std::string>& found = journal_->lines();
    const bool restart = request_.mode == JournalMode::restart;
    if (request_.in_place) state_ = spanfft::in_place_state(found);
    const bool same_file = same_input_file("input " + journal_value(found, "input"), lines[kInputLine]);
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
    if (!has_begun(found, state_)) return false;
    const bool half = state_ == InPlaceState::overwriting && same_file;
    const std::string ways = half
                                 ? "; the file is half overwritten, and only the same command makes it whole"
                                 : "; restart throws the unfinished run away (its journal is " + journal_->path() + ")";
    for (size_t i = 0; i < lines.size() && i < found.size(); ++i) {
        if (found[i] != lines[i] && !(half && word_of(lines[i]) == "input"))
            return differs(found[i], lines[i], request_.input_path, ways);
    }
    progress_ = found;
    // The file is as it was before the last sweep, so that all of it must be written.
    restored_ = half && overwrites_ && same_samples("input " + journal_value(found, "input"), lines[kInputLine]);
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
    if (restored_) {
        progress_.push_back(cat("restored ", last_sweep_));
        SPANFFT_TRY(journal_->append(progress_.back()));
    }
    return journal_->append(whose_run());
}

Status JournalledRun::begin(const std::vector<std::string>& lines) {
    // Whoever is refused now shall read whose lock it is; the rest of the journal only when its files are there.
    const std::string mine = whose_run();
    SPANFFT_TRY(journal_->clear());  // it must not speak of files that are gone
    unlink_kept();                   // an earlier run's, whose room this one may need
    Status noted = journal_->append(mine);
    if (noted.ok()) {
        auto made = OutputFile::create(request_.output);
        noted = made.status();
        if (noted.ok()) output_ = std::move(made).value();
    }
    std::vector<std::string> all = lines;
    all.push_back(mine);
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

namespace {

void unlink_kept_of(const std::vector<std::string>& lines) {
    const std::string word = kKept;
    for (const std::string& line : lines) {
        const bool names_one = line.compare(0, word.size(), word) == 0 && line.find(".spanfft-kept-") != line.npos;
        if (names_one) (void)unlink(line.substr(word.size()).c_str());
    }
}

}  // namespace

// What the journal speaks of, and what this run may have made.
void JournalledRun::unlink_kept() {
    unlink_kept_of(earlier_);
    for (const std::string& path : kept_paths(request_.output)) (void)unlink(path.c_str());
}

// The journal after what it speaks of; then the files are closed, as it takes a while to free large ones, in which a
// kill would leave a journal of a run that has ended.
void JournalledRun::remove() {
    unlink_kept();
    journal_->remove();
    if (output_) output_->keep();  // the names may be another run's from here on
    output_.reset();
}

Status JournalledRun::overwrite(char* memory, index_t memory_bytes, RunContext& context) {
    if (state_ == InPlaceState::finished) return {};
    if (!overwrites_) {
        if (state_ == InPlaceState::untouched) {
            SPANFFT_TRY(output_->store().sync());
            SPANFFT_TRY(journal_->append("publish now"));
        }
        SPANFFT_TRY(copy_over({&output_->store(), output_->payload_offset_bytes()},
                              {input_.get(), request_.input_offset_bytes}, request_.input_bytes, memory, memory_bytes,
                              context));
    }
    return journal_->append("finished now");
}

// What a later run finds in the journal is what it need not do again: pack a spectrum, whose last number is cut off
// when it is published; nothing at all, when the caller has the output.
Status JournalledRun::give_name(const std::function<Status()>& finish) {
    if (request_.behind) {
        SPANFFT_TRY(request_.behind->finish());
        return journal_->append("finished now");
    }
    if (journal_value(progress_, "publish").empty()) {
        SPANFFT_TRY(finish());
        SPANFFT_TRY(journal_->append("publish now"));
    }
    return output_->publish();
}

Status JournalledRun::publish(const std::function<Status()>& finish, char* memory, index_t memory_bytes,
                              RunContext& context) {
    const Status published = request_.in_place ? overwrite(memory, memory_bytes, context) : give_name(finish);
    if (!published.ok()) return give_up(published, kAllPanels);
    remove();
    return {};
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
    output_.reset();
    const std::string done = durable_panels == kAllPanels ? "all panels are done and"
                             : durable_panels == 1        ? "the panel that is done is"
                                                          : cat("the ", durable_panels, " panels that are done are");
    return error(why.code(), why.message(), "; ", done,
                 " kept: the same command goes on from there, restart begins anew");
}

Status pass_over_unfinished(const JournalledRun::Request& request, const std::string& why_no_journal) {
    const KeptFiles kept = kept_names(request.input_path, request.input_offset_bytes, request.output_path,
                                      request.output.scratch_folders, false, request.behind.has_value());
    const std::string& path = kept.journal;
    if (!file_exists(path)) return {};
    const auto found = Journal::peek(path);
    const bool restart = request.mode == JournalMode::restart;
    if (!restart && !found.ok()) return found.status();
    const std::vector<std::string> lines = found.ok() ? found.value() : std::vector<std::string>();
    if (!restart && has_begun(lines, InPlaceState::untouched) && has_output(lines)) {
        return error(Code::invalid_argument, "there is an unfinished run between these files ('",
                     journal_value(lines, "problem"), "'), and this one can't go on with it: ", why_no_journal,
                     "; restart throws the unfinished run away (its journal is ", path, ")");
    }
    // One that did nothing, or all, may have been killed before it took its files away; one at work has the lock.
    SPANFFT_ASSIGN(const auto journal, Journal::open(path, true));
    unlink_kept_of(lines);
    for (const std::string& each : paths_of(kept, true, true)) (void)unlink(each.c_str());
    journal->remove();
    return {};
}

}  // namespace spanfft
