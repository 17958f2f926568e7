// What an earlier start left between the same files; see unfinished_run.hpp.
#include "exec/unfinished_run.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "disk/checksum.hpp"
#include "disk/journal.hpp"
#include "disk/own_file.hpp"
#include "exec/in_place.hpp"
#include "plan/renamed_methods.hpp"
#include "plan/user_files.hpp"

namespace spanfft {

namespace {

// Ranks may share a folder: each but the first has a key of its own.
std::string key_of(const std::string& input, index_t offset, const std::string& output, int rank = 0) {
    const size_t slash = output.rfind('/');
    const std::string name = slash == std::string::npos ? output : output.substr(slash + 1);
    std::string text = cat(whole_path(input), '\n', offset, '\n', whole_path(folder_of(output)), '/', name);
    if (rank > 0) text += cat("\nrank ", rank);
    return hex_of(checksum(text.data(), static_cast<index_t>(text.size())));
}

// The rests of all lines "KEY REST".
std::vector<std::string> values_of(const std::vector<std::string>& lines, const std::string& key) {
    std::vector<std::string> values;
    for (const std::string& line : lines) {
        if (line.compare(0, key.size() + 1, key + " ") == 0) values.push_back(line.substr(key.size() + 1));
    }
    return values;
}

// Of an output behind a function, nobody knows whether its folder is one: its file, which is empty, is in scratch.
KeptFiles kept_names(const std::string& input, index_t offset, const std::string& output,
                     const std::vector<std::string>& scratch_folders, const std::string& shared_folder, bool in_place,
                     bool behind, int rank = 0) {
    if (!in_place) {
        KeptFiles kept = kept_files(output, scratch_folders, shared_folder, key_of(input, offset, output, rank));
        if (behind) kept.output = folder_of(kept.journal) + kept.output.substr(kept.output.rfind('/'));
        return kept;
    }
    // The copy is scratch too, unless other ranks write into it.
    const std::string file = whole_path(input);
    const std::string own = scratch_folders.empty() ? folder_of(file) : scratch_folders.front();
    const std::string folder = shared_folder.empty() ? own : shared_folder;
    const size_t slash = file.rfind('/');
    const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
    KeptFiles kept = kept_files(cat(folder, "/", name), scratch_folders, shared_folder, key_of(input, offset, file));
    kept.journal = in_place_journal(file);
    return kept;
}

}  // namespace

bool file_exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

uint64_t new_run_number() {
    std::random_device source;
    const uint64_t run = (uint64_t{source()} << 32) ^ source() ^ static_cast<uint64_t>(getpid());
    return run == 0 ? 1 : run;
}

KeptFiles kept_names(const JournalRequest& request) {
    return kept_names(request.input_path, request.input_offset_bytes, request.output_path,
                      request.output.scratch_folders, request.output.shared_folder, request.owns_input(),
                      request.behind.has_value(), request.rank);
}

// The names of what the run kept that a journal speaks of, in the folders that it names.
KeptFiles kept_by(const std::vector<std::string>& lines, const JournalRequest& request) {
    std::vector<std::string> folders;
    for (const std::string& folder : values_of(lines, "scratch")) folders.push_back(path_from_line(folder));
    index_t offset = request.input_offset_bytes;
    TextReader in(journal_value(lines, "in-place"));
    if (index_t told = 0; in >> told) offset = told;
    return kept_names(request.input_path, offset, request.output_path, folders,
                      path_from_line(journal_value(lines, "shared")), request.owns_input(), request.behind.has_value(),
                      request.rank);
}

void unlink_all(const KeptFiles& kept) {
    for (const auto* paths : {&kept.scratch, &kept.staged_input, &kept.staged_output}) {
        for (const std::string& path : *paths) unlink_own(path);
    }
    unlink_own(kept.output);
}

// A run that was killed before its first panel was done, or after its output had its name, is none.
bool has_begun(const std::vector<std::string>& lines, InPlaceState state, const KeptFiles& kept) {
    if (state != InPlaceState::untouched) return true;
    return !journal_value(lines, "panels").empty() && journal_value(lines, "finished").empty() &&
           !(journal_value(lines, "publish") == "now" && !file_exists(kept.output));
}

Result<UnfinishedRun> find_unfinished(const std::string& input_path, index_t input_offset_bytes,
                                      const std::string& output_path, const std::vector<std::string>& scratch_folders) {
    UnfinishedRun run;
    JournalRequest request;
    request.in_place = same_file(input_path, output_path);
    request.input_path = input_path;
    request.input_offset_bytes = input_offset_bytes;
    SPANFFT_ASSIGN(request.output_path, request.in_place ? output_path : behind_links(output_path));
    const std::string journal =
        kept_names(input_path, input_offset_bytes, request.output_path, scratch_folders, "", request.in_place, false)
            .journal;
    SPANFFT_ASSIGN(const std::vector<std::string> lines, Journal::peek(journal));
    request.behind.emplace();  // where it is, an output behind a function has its file beside the journal
    const KeptFiles behind = kept_by(lines, request);
    request.behind.reset();
    const KeptFiles kept = kept_by(lines, request);
    const InPlaceState state = request.in_place ? in_place_state(lines) : InPlaceState::untouched;
    const bool is_there = file_exists(kept.output) || file_exists(behind.output);
    if (!has_begun(lines, state, file_exists(kept.output) ? kept : behind)) return run;
    if (state != InPlaceState::finished && !is_there) return run;
    run.problem = with_name_now(journal_value(lines, "problem"));
    run.journal = journal;
    return run;
}

std::vector<std::string> moved_away(const std::string& folder) {
    const std::string suffix = ".spanfft-journal", here = whole_path(folder);
    const std::vector<std::string> names = names_in(folder);
    std::vector<std::string> sentences;
    for (const std::string& name : names) {
        if (name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
            continue;
        const auto lines = Journal::peek(folder + "/" + name);
        const std::string then = lines.ok() ? path_from_line(journal_value(lines.value(), "journal")) : "";
        if (then.empty() || folder_of(then) == here) continue;
        const std::string stem = name.substr(0, name.size() - suffix.size());
        index_t bytes = 0;
        for (const std::string& other : names) {
            struct stat info;
            if (other.compare(0, stem.size(), stem) == 0 && lstat((folder + "/" + other).c_str(), &info) == 0)
                bytes += static_cast<index_t>(info.st_size);
        }
        sentences.push_back(cat("left behind: ", folder, "/", stem, ".spanfft-* (",
                                bytes_string(static_cast<double>(bytes)),
                                ") are left of a run that was stopped when they were in ", folder_of(then),
                                ": move them back there to go on with it, or delete them"));
    }
    return sentences;
}

// Rank 0 makes the output anew where it has not begun, and with it goes what others wrote there.
RunDecision decide_on_run(const std::vector<KnownRun>& all) {
    const auto any = [&](auto is) { return std::any_of(all.begin(), all.end(), is); };
    if (!any([](const KnownRun& each) { return each.begun; })) return RunDecision::begin;
    if (!any([&](const KnownRun& each) { return each.run != all[0].run; }))
        return all[0].begun ? RunDecision::go_on : RunDecision::begin;
    // The output got its name, and what the other ranks kept was not taken away any more.
    const bool published = all[0].run == 0 && !any([](const KnownRun& each) { return each.run != 0 && !each.whole; });
    return published ? RunDecision::begin : RunDecision::refuse;
}

namespace {

KnownRun known_run(const JournalRequest& request) {
    KnownRun known;
    const KeptFiles kept = kept_names(request);
    const auto lines = Journal::peek(kept.journal);
    if (!lines.ok() || !parse_hex(journal_value(lines.value(), "marks"), known.run)) return known;
    const InPlaceState state = request.owns_input() ? in_place_state(lines.value()) : InPlaceState::untouched;
    known.begun = has_begun(lines.value(), state, kept_by(lines.value(), request));
    known.whole = !journal_value(lines.value(), "publish").empty() || !journal_value(lines.value(), "finished").empty();
    return known;
}

std::string ranks_of(const std::vector<KnownRun>& all, uint64_t run) {
    std::string text;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].run == run) text += cat(text.empty() ? "" : ", ", rank);
    }
    return text;
}

}  // namespace

Status agree_on_run(Comm& comm, JournalRequest& request) {
    const KnownRun mine = known_run(request);
    std::vector<KnownRun> all(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&mine, sizeof mine, all.data()));
    request.run = new_run_number();
    SPANFFT_TRY(comm.broadcast(&request.run, sizeof request.run, 0));
    if (request.mode == JournalMode::restart) return {};
    switch (decide_on_run(all)) {
        case RunDecision::begin:
            if (request.mode == JournalMode::automatic) request.mode = JournalMode::restart;
            return {};
        case RunDecision::go_on:
            request.run = all[0].run;
            request.mode = JournalMode::automatic;  // some may have done nothing yet, and nothing is an error then
            return {};
        case RunDecision::refuse:
            break;
    }
    const auto begun = std::find_if(all.begin(), all.end(), [](const KnownRun& each) { return each.begun; });
    return error(Code::invalid_argument, "ranks ", ranks_of(all, begun->run), " of ", comm.size(),
                 " have an unfinished run between these files, and the others don't: give each rank the scratch folder "
                 "that it had, on as many ranks, and all go on; restart throws the unfinished run away");
}

Status pass_over_unfinished(const JournalRequest& request, const std::string& why_no_journal) {
    const KeptFiles kept = kept_names(request);
    const std::string& path = kept.journal;
    if (!file_exists(path)) return {};
    const auto found = Journal::peek(path);
    const bool restart = request.mode == JournalMode::restart;
    if (!restart && !found.ok()) return found.status();
    const std::vector<std::string> lines = found.ok() ? found.value() : std::vector<std::string>();
    const KeptFiles earlier = kept_by(lines, request);
    if (!restart && has_begun(lines, InPlaceState::untouched, earlier) && file_exists(earlier.output)) {
        return error(Code::invalid_argument, "there is an unfinished run between these files ('",
                     journal_value(lines, "problem"), "'), and this one can't go on with it: ", why_no_journal,
                     "; restart throws the unfinished run away (its journal is ", path, ")");
    }
    // One that did nothing, or all, may have been killed before it took its files away; one at work has the lock.
    SPANFFT_ASSIGN(const auto journal, Journal::open(path, true));
    unlink_all(earlier);
    unlink_all(kept);
    journal->remove();
    return {};
}

}  // namespace spanfft
