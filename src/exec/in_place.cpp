// What a journal says of a file that is overwritten, and copying; see in_place.hpp.
#include "exec/in_place.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

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

std::string overwrites_line(int pass, index_t panels) { return cat("overwrites-after ", pass, " ", panels); }

Status check_in_place(const Plan& plan, bool journal) {
    const Problem& p = plan.problem;
    const std::string way_out = "; give another output";
    if (!journal) {
        return error(Code::invalid_argument,
                     "in place on disk overwrites the input, which is safe with a journal only; ",
                     "turn the journal on, or give another output");
    }
    if (p.ranks > 1) {
        return error(Code::unsupported, "in place on disk is for one process, not for ", p.ranks, " ranks", way_out);
    }
    if (!p.input_chunk.empty() || !p.output_chunk.empty()) {
        return error(Code::unsupported,
                     "in place on disk is for an array in one piece of a file, not for a chunked one", way_out);
    }
    if (p.input_shape() == p.output_shape() && p.input_elem() == p.stored_elem()) return {};
    const auto words = [](const Extents& shape, const ElemType& elem) {
        return cat(shape_string(shape), elem.complex ? " complex " : " real ", precision_name(elem.precision));
    };
    return error(Code::invalid_argument, "in place on disk, the output must be as large as the input, but '", p.print(),
                 "' makes ", words(p.output_shape(), p.stored_elem()), " of ", words(p.input_shape(), p.input_elem()),
                 way_out);
}

std::string whole_path(const std::string& path) {
    char* const real = realpath(path.c_str(), nullptr);
    if (!real) return path;
    const std::string text = real;
    std::free(real);
    return text;
}

std::string in_place_journal(const std::string& path) { return hidden_beside(whole_path(path), ".spanfft-in-place"); }

namespace {

// Word `index` of a line: "input SIZE TIME INODE SAMPLES PATH".
std::string word(const std::string& line, int index) {
    TextReader in(line);
    std::string text;
    for (int i = 0; i <= index; ++i) in >> text;
    return text;
}

}  // namespace

bool same_input_file(const std::string& found, const std::string& now) {
    return word(found, 1) == word(now, 1) && word(found, 3) == word(now, 3);
}

bool same_samples(const std::string& found, const std::string& now) { return word(found, 4) == word(now, 4); }

Status check_not_half_overwritten(const std::string& path) {
    const std::string journal = in_place_journal(path);
    SPANFFT_ASSIGN(const std::vector<std::string> lines, Journal::peek(journal));
    struct stat info;
    if (in_place_state(lines) != InPlaceState::overwriting || stat(path.c_str(), &info) != 0) return {};
    if (!same_input_file("input " + journal_value(lines, "input"), cat("input ", info.st_size, " - ", info.st_ino)))
        return {};  // another file has taken its name
    return error(Code::corrupt_data, path, " is half overwritten by a run in place that did not end: '",
                 journal_value(lines, "problem"), "'; the same command in place goes on from there (its journal is ",
                 journal, "), and nothing else makes the file whole");
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
