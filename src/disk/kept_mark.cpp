// Marks as lines of text with a checksum; see kept_mark.hpp.
#include "disk/kept_mark.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "disk/checksum.hpp"
#include "disk/own_file.hpp"

namespace spanfft {

namespace {

constexpr size_t kLineBytes = 128;  // less than a sector, which is written whole or not

std::optional<KeptMark> parse_mark(const std::string& text) {
    const size_t end = text.find(" #");
    uint64_t told = 0;
    KeptMark mark;
    TextReader in(text);
    std::string word, run;
    if (end == std::string::npos || end + 18 > text.size() || !parse_hex(text.substr(end + 2, 16), told) ||
        told != checksum(text.data(), static_cast<index_t>(end))) {
        return std::nullopt;
    }
    if (!(in >> word >> run >> mark.written >> mark.settled) || !parse_hex(run, mark.run)) return std::nullopt;
    return mark;
}

}  // namespace

Status write_mark(int descriptor, index_t offset_bytes, const KeptMark& mark, const std::string& path) {
    std::string text = cat("spanfft-mark ", hex_of(mark.run), " ", mark.written, " ", mark.settled);
    text += " #" + hex_of(checksum(text.data(), static_cast<index_t>(text.size()))) + "\n";
    text.resize(kLineBytes, ' ');
    const index_t at = offset_bytes + (mark.written + mark.settled) % 2 * kDirectBytes;
    for (;;) {
        const ssize_t put = pwrite(descriptor, text.data(), text.size(), static_cast<off_t>(at));
        if (put == static_cast<ssize_t>(text.size())) return {};
        if (put < 0 && errno == EINTR) continue;
        return error_errno(Code::io_error, put < 0 ? errno : ENOSPC, "could not mark " + path);
    }
}

Result<std::optional<KeptMark>> read_mark(const std::string& path) {
    SPANFFT_ASSIGN(const OwnFile file, open_own_file(path, false));
    std::optional<KeptMark> latest;
    for (index_t copy = 0; copy < 2; ++copy) {
        std::string text(kLineBytes, '\0');
        const index_t at = file.bytes() - kMarkBytes + copy * kDirectBytes;
        if (at < 0 || pread(file.descriptor(), text.data(), text.size(), static_cast<off_t>(at)) !=
                          static_cast<ssize_t>(text.size())) {
            continue;
        }
        const auto mark = parse_mark(text);
        const auto age = [](const KeptMark& m) { return m.written + m.settled; };
        if (mark && (!latest || age(*mark) > age(*latest))) latest = mark;
    }
    return latest;
}

}  // namespace spanfft
