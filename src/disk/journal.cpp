// Lines with checksums in a locked file; see journal.hpp.
#include "disk/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "disk/checksum.hpp"
#include "disk/output_file.hpp"
#include "disk/own_file.hpp"

namespace spanfft {

namespace {

constexpr size_t kTailBytes = 18;  // " #" and 16 digits

Result<std::string> read_all(int descriptor, const std::string& path) {
    std::string text;
    std::array<char, 65536> piece{};
    for (;;) {
        const ssize_t got = pread(descriptor, piece.data(), piece.size(), static_cast<off_t>(text.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_errno(Code::io_error, errno, "could not read the journal " + path);
        if (got == 0) return text;
        text.append(piece.data(), static_cast<size_t>(got));
    }
}

bool good_line(const std::string& line) {
    if (line.size() < kTailBytes || line.compare(line.size() - kTailBytes, 2, " #") != 0) return false;
    uint64_t told = 0;
    return parse_hex(line.substr(line.size() - 16), told) &&
           told == checksum(line.data(), static_cast<index_t>(line.size() - kTailBytes));
}

}  // namespace

std::string journal_line(const std::string& line) {
    return line + " #" + hex_of(checksum(line.data(), static_cast<index_t>(line.size()))) + "\n";
}

Result<std::vector<std::string>> parse_journal(const std::string& text, const std::string& path, index_t& whole_bytes) {
    std::vector<std::string> lines;
    size_t bad = 0;
    whole_bytes = 0;
    if (!text.empty() && text[0] == '\0') return lines;  // its first line was yet to come (append_all)
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = text.find('\n', begin);
        if (end == std::string::npos) break;  // torn: the last line has no end
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        if (!good_line(line)) {
            ++bad;
        } else if (bad > 0) {
            return error(Code::corrupt_data, "the journal ", path, " is damaged before byte ", begin,
                         ": a line does not have the checksum that it ends with; begin anew with restart");
        } else {
            lines.push_back(line.substr(0, line.size() - kTailBytes));
            whole_bytes = static_cast<index_t>(begin);
        }
    }
    return lines;
}

std::string journal_value(const std::vector<std::string>& lines, const std::string& key) {
    for (size_t i = lines.size(); i-- > 0;) {
        if (lines[i].compare(0, key.size() + 1, key + " ") == 0) return lines[i].substr(key.size() + 1);
    }
    return "";
}

Result<std::vector<std::string>> Journal::peek(const std::string& path) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) return std::vector<std::string>();
    const auto file = open_own_file(path, false);
    if (!file.ok()) return error(file.status().code(), "the journal: ", file.status().message());
    SPANFFT_ASSIGN(const std::string text, read_all(file.value().descriptor(), path));
    index_t whole = 0;
    return parse_journal(text, path, whole);
}

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, bool discard) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        std::unique_ptr<Journal> journal(new Journal());
        journal->path_ = path;
        auto file = open_or_make_own_file(path);
        if (!file.ok()) return error(file.status().code(), "the journal: ", file.status().message());
        journal->descriptor_ = file.value().release();
        const int failed = flock(journal->descriptor_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        if (failed == EWOULDBLOCK) {
            const auto lines = peek(path);
            const std::string who = lines.ok() ? journal_value(lines.value(), "run") : "";
            return error(Code::io_error, "another run works on this: process ",
                         who.empty() ? "unknown" : who.substr(0, who.find(' ')), " holds ", path,
                         "; wait for it, stop it, or give another output");
        }
        struct stat info;
        if (failed != 0 && fstat(journal->descriptor_, &info) == 0 && info.st_size == 0) (void)unlink(path.c_str());
        if (failed != 0) return no_lock(failed, "the journal " + path);
        if (!leads_to(path, journal->descriptor_)) continue;  // a run that ended took the name away in between
        if (!discard) {
            SPANFFT_ASSIGN(const std::string text, read_all(journal->descriptor_, path));
            SPANFFT_ASSIGN(journal->lines_, parse_journal(text, path, journal->end_bytes_));
        }
        if (ftruncate(journal->descriptor_, journal->end_bytes_) != 0)  // a spoiled end
            return error_errno(Code::io_error, errno, "could not write the journal " + path);
        return journal;
    }
    return error(Code::io_error, "could not lock the journal ", path, ": its name keeps changing");
}

Journal::~Journal() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

// A power cut can tear what is flushed as one. So the first of many lines comes last, when the others are on the disk:
// a journal without it says nothing.
Status Journal::append_all(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += journal_line(line);
    const size_t first = lines.size() > 1 && end_bytes_ == 0 ? journal_line(lines[0]).size() : 0;
    SPANFFT_TRY(write_at(end_bytes_ + static_cast<index_t>(first), text.substr(first)));
    if (first > 0) SPANFFT_TRY(write_at(0, text.substr(0, first)));
    end_bytes_ += static_cast<index_t>(text.size());
    return {};
}

Status Journal::write_at(index_t offset_bytes, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t put = pwrite(descriptor_, text.data() + done, text.size() - done,
                                   static_cast<off_t>(offset_bytes) + static_cast<off_t>(done));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            const int why = put < 0 ? errno : ENOSPC;
            const Code code = why == ENOSPC || why == EDQUOT ? Code::no_space : Code::io_error;
            return error_errno(code, why, "could not write the journal " + path_);
        }
        done += static_cast<size_t>(put);
    }
    return flush();
}

Status Journal::flush() {
    if (fdatasync(descriptor_) == 0) return {};
    return error_errno(Code::io_error, errno, "could not flush the journal " + path_);
}

Status Journal::clear() {
    lines_.clear();
    end_bytes_ = 0;
    if (ftruncate(descriptor_, 0) != 0) return error_errno(Code::io_error, errno, "could not empty " + path_);
    return flush();
}

void Journal::remove() { (void)unlink(path_.c_str()); }

}  // namespace spanfft
