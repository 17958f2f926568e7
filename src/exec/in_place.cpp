// What a journal says of a file that is overwritten, and copying; see in_place.hpp.
#include "exec/in_place.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "disk/checksum.hpp"

namespace spanfft {

InPlaceState in_place_state(const std::vector<std::string>& lines) {
    if (!journal_value(lines, "finished").empty()) return InPlaceState::finished;
    if (!journal_value(lines, "publish").empty()) return InPlaceState::overwriting;
    const std::string before = journal_value(lines, "overwrites-after");
    if (before.empty()) return InPlaceState::untouched;
    const std::string begun = cat("panels ", before, " ");
    const auto is_last = [&](const std::string& line) { return line.compare(0, begun.size(), begun) == 0; };
    return std::any_of(lines.begin(), lines.end(), is_last) ? InPlaceState::overwriting : InPlaceState::untouched;
}

std::string overwrites_line(int sweep, index_t panels) { return cat("overwrites-after ", sweep, " ", panels); }

Status check_in_place(const Plan& plan, bool journal) {
    const Problem& p = plan.problem;
    const std::string way_out = "; give another output";
    if (!journal) {
        return error(Code::invalid_argument,
                     "in place on disk overwrites the input, which is safe with a journal only; ",
                     "turn the journal on, or give another output");
    }
    if (!p.input_chunk.empty() || !p.output_chunk.empty()) {
        return error(Code::unsupported,
                     "in place on disk is for an array in one piece of a file, not for a chunked one", way_out);
    }
    if (plan.permutes())
        return error(Code::unsupported, "in place on disk is for transforms, not for permutations", way_out);
    if (p.loads_other()) {
        return error(Code::invalid_argument,
                     "in place on disk, the output must be of the input's type, and the file "
                     "holds ",
                     p.load->print(), ", of which ", elem_name(p.stored_elem()), " is made", way_out);
    }
    if (p.input_shape() == p.output_shape() && p.input_elem() == p.stored_elem()) return {};
    const auto words = [](const Extents& shape, const ElemType& elem) {
        return cat(shape_string(shape), elem.complex ? " complex " : " real ", precision_name(elem.precision));
    };
    return error(Code::invalid_argument, "in place on disk, the output must be as large as the input, but '", p.print(),
                 "' makes ", words(p.output_shape(), p.stored_elem()), " of ", words(p.input_shape(), p.input_elem()),
                 way_out);
}

std::string in_place_journal(const std::string& path) { return hidden_beside(whole_path(path), ".spanfft-in-place"); }

std::string in_place_line(index_t offset_bytes, index_t bytes) { return cat("in-place ", offset_bytes, " ", bytes); }

namespace {

// What ends sentences about files that must not be thrown away.
const std::string kWayBack = "; a copy of the array as it was, under a name of its own, can be used";

uint64_t run_of(const std::vector<std::string>& lines) {
    uint64_t run = 0;
    return parse_hex(journal_value(lines, "marks"), run) ? run : 0;
}

Status half_overwritten(const std::string& path, const OverwriteMark& mark) {
    const bool here = mark.journal == in_place_journal(path);
    return error(Code::corrupt_data, path, " is half overwritten by a run in place that did not end: '", mark.problem,
                 here ? "'; the same command in place goes on from there (its journal is "
                      : "'; it had another name or folder then: give it that back, and the same command in place goes "
                        "on from there (its journal is ",
                 mark.journal, "), and nothing else makes the file whole", kWayBack);
}

// Lines of journals that may be about this file: its own, and on file systems without attributes (or where they were
// lost) those of this folder that speak of it under another name.
Result<std::vector<std::vector<std::string>>> journals_about(const std::string& path) {
    std::vector<std::vector<std::string>> found;
    SPANFFT_ASSIGN(std::vector<std::string> own, Journal::peek(in_place_journal(path)));
    found.push_back(std::move(own));
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return found;
    const std::string folder = folder_of(whole_path(path)), suffix = ".spanfft-in-place";
    const std::string now = cat("input ", info.st_size, " - ", info.st_ino);
    for (const std::string& name : names_in(folder)) {
        if (name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
            continue;
        auto lines = Journal::peek(folder + "/" + name);
        if (lines.ok() && same_input_file("input " + journal_value(lines.value(), "input"), now))
            found.push_back(std::move(lines).value());
    }
    return found;
}

OverwriteMark mark_of(const std::vector<std::string>& lines) {
    return {run_of(lines), path_from_line(journal_value(lines, "journal")), journal_value(lines, "problem")};
}

Status perhaps_half_overwritten(const std::string& path, const std::vector<std::string>& lines) {
    return error(Code::corrupt_data, path,
                 " may be half overwritten, or a copy of a file that is, by a run in place: '",
                 journal_value(lines, "problem"), "', whose journal is in its folder (of ",
                 path_from_line(journal_value(lines, "journal")),
                 "); go on with the original, or if this is another array, take that journal away");
}

// Without a mark, by the lines of a journal that may be about the file.
Status judge(const std::string& path, const std::vector<std::string>& lines) {
    if (in_place_state(lines) != InPlaceState::overwriting) return {};
    TextReader in(journal_value(lines, "in-place"));
    index_t offset_bytes = 0, bytes = 0;
    in >> offset_bytes >> bytes;
    SPANFFT_ASSIGN(const std::string now, input_line(path, offset_bytes, bytes));
    const std::string then = "input " + journal_value(lines, "input");
    // With attributes it would have its mark: the inode is another file's now, or nothing was written yet.
    if (same_input_file(then, now) && !has_attributes(path)) return half_overwritten(path, mark_of(lines));
    return same_size(then, now) && !same_samples(then, now) ? perhaps_half_overwritten(path, lines) : Status();
}

}  // namespace

Status check_not_half_overwritten(const std::string& path) {
    SPANFFT_ASSIGN(const auto journals, journals_about(path));
    if (const auto mark = overwrite_mark(path)) {
        const bool ended = in_place_state(journals[0]) == InPlaceState::finished && run_of(journals[0]) == mark->run;
        return ended ? Status() : half_overwritten(path, *mark);
    }
    for (const auto& lines : journals) SPANFFT_TRY(judge(path, lines));
    return {};
}

bool is_overwritten_by(const std::string& path, const std::vector<std::string>& lines) {
    struct stat info;
    const std::string now = stat(path.c_str(), &info) == 0 ? cat("input ", info.st_size, " - ", info.st_ino) : "";
    const bool same_file = same_input_file("input " + journal_value(lines, "input"), now);
    const auto mark = overwrite_mark(path);
    if (!mark) return same_file;
    return mark->run != 0 && mark->run == run_of(lines) && (same_file || mark->journal == in_place_journal(path));
}

Status check_whose_overwriting(const std::string& path, const std::vector<std::string>& lines) {
    SPANFFT_ASSIGN(const auto journals, journals_about(path));
    const InPlaceState state = in_place_state(lines);
    const auto mark = overwrite_mark(path);
    if (mark && !is_overwritten_by(path, lines)) return half_overwritten(path, *mark);
    if (mark && state == InPlaceState::untouched) {
        return error(
            Code::corrupt_data, path, " is half overwritten, but the journal ", mark->journal,
            " does not say so: it has lost lines, or is of an earlier moment; put back the one that belongs to ",
            "the file, and the same command goes on", kWayBack);
    }
    if (mark) return {};
    struct stat info;
    const bool attributes = has_attributes(path);
    const std::string now = stat(path.c_str(), &info) == 0 ? cat("input ", info.st_size, " - ", info.st_ino) : "";
    for (const auto& each : journals) {
        const bool mine =
            run_of(each) == run_of(lines) && same_input_file("input " + journal_value(each, "input"), now);
        if (attributes || !mine) SPANFFT_TRY(judge(path, each));
    }
    return {};
}

Status copy_over(const CopyPlace& from, const CopyPlace& to, index_t bytes, char* memory, index_t memory_bytes,
                 RunContext& context) {
    constexpr index_t kMostBytes = index_t{8} << 20;
    const index_t piece = std::min(memory_bytes, kMostBytes);
    for (index_t at = 0; at < bytes;) {
        index_t count = std::min(piece, bytes - at);
        // Pieces end with a block of the file, so that the next one begins with one.
        const index_t over = (to.offset_bytes + at + count) % kDirectBytes;
        if (at + count < bytes && over < count) count -= over;
        SPANFFT_TRY(from.store->read({from.offset_bytes + at, memory, count}));
        SPANFFT_TRY(to.store->write({to.offset_bytes + at, memory, count}));
        at += count;
        if (!context.advance(2 * count)) return error(Code::interrupted, "stopped on request");
    }
    return to.store->sync();
}

}  // namespace spanfft
