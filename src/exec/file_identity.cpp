// Lines and marks of files; see file_identity.hpp.
#include "exec/file_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "disk/checksum.hpp"

namespace spanfft {

namespace {

constexpr const char* kAttribute = "user.spanfft.half-overwritten";

// Word `index` of a line.
std::string word(const std::string& line, int index) {
    TextReader in(line);
    std::string text;
    for (int i = 0; i <= index; ++i) in >> text;
    return text;
}

// The rest of a line from word `index` on: a path, in which there may be blanks.
std::string words_from(const std::string& line, int index) {
    size_t at = 0;
    for (int i = 0; i < index && at != std::string::npos; ++i) at = line.find(' ', at == 0 ? 0 : at + 1);
    return at == std::string::npos ? "" : line.substr(at);
}

std::string time_text(const timespec& time) { return cat(time.tv_sec, ".", time.tv_nsec); }

Result<uint64_t> samples_of(int descriptor, const std::string& path, index_t offset_bytes, index_t bytes) {
    constexpr index_t kSamples = 64, kSampleBytes = 4096;
    std::string samples;
    const index_t last = std::max<index_t>(0, bytes - kSampleBytes);
    for (index_t i = 0; i < kSamples; ++i) {
        std::string block(static_cast<size_t>(std::min(bytes, kSampleBytes)), '\0');
        const index_t at = offset_bytes + (i + 1 == kSamples ? last : last / (kSamples - 1) * i);
        const ssize_t got = pread(descriptor, block.data(), block.size(), static_cast<off_t>(at));
        if (got < 0) return error_errno(Code::io_error, errno, "could not read " + path);
        samples += hex_of(checksum(block.data(), got));
    }
    return checksum(samples.data(), static_cast<index_t>(samples.size()));
}

}  // namespace

std::string whole_path(const std::string& path) {
    char* const real = realpath(path.c_str(), nullptr);
    if (!real) return path;
    const std::string text = real;
    std::free(real);
    return text;
}

std::string path_in_line(const std::string& path) {
    std::string text;
    for (const char c : path) {
        std::array<char, 4> code{};
        if (static_cast<unsigned char>(c) >= ' ' && c != '%') {
            text += c;
            continue;
        }
        (void)std::snprintf(code.data(), code.size(), "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
        text += code.data();
    }
    return text;
}

std::string path_from_line(const std::string& text) {
    std::string path;
    for (size_t i = 0; i < text.size(); ++i) {
        unsigned code = 0;
        if (text[i] == '%' && std::sscanf(text.substr(i + 1, 2).c_str(), "%2X", &code) == 1) {
            path += static_cast<char>(code);
            i += 2;
        } else {
            path += text[i];
        }
    }
    return path;
}

Result<std::string> input_line(const std::string& path, index_t offset_bytes, index_t bytes) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        const int why = errno;
        if (descriptor >= 0) ::close(descriptor);
        return error_errno(Code::io_error, why, "could not open " + path);
    }
    const auto samples = samples_of(descriptor, path, offset_bytes, bytes);
    ::close(descriptor);
    if (!samples.ok()) return samples.status();
    return cat("input ", info.st_size, " ", time_text(info.st_mtim), " ", info.st_ino, " ", hex_of(samples.value()),
               " ", time_text(info.st_ctim), " ", path_in_line(whole_path(path)));
}

bool same_size(const std::string& found, const std::string& now) { return word(found, 1) == word(now, 1); }

bool same_input_file(const std::string& found, const std::string& now) {
    return same_size(found, now) && word(found, 3) == word(now, 3);
}

bool same_samples(const std::string& found, const std::string& now) { return word(found, 4) == word(now, 4); }

bool may_have_its_bytes(const std::string& found, const std::string& now) {
    const bool of_files = word(found, 1) != "function" && word(now, 1) != "function";
    return of_files && same_size(found, now) && same_samples(found, now) && words_from(found, 6) == words_from(now, 6);
}

bool same_but_for_mark(const std::string& found, const std::string& now) {
    return same_input_file(found, now) && word(found, 2) == word(now, 2) && same_samples(found, now) &&
           words_from(found, 6) == words_from(now, 6);
}

std::optional<OverwriteMark> overwrite_mark(const std::string& path) {
    std::string text(size_t{64} << 10, '\0');  // the most that one can have
    const ssize_t bytes = getxattr(path.c_str(), kAttribute, text.data(), text.size());
    if (bytes < 0) return std::nullopt;
    text.resize(static_cast<size_t>(bytes));
    TextReader in(text);
    OverwriteMark mark;
    std::string run;
    std::getline(in, run);
    std::getline(in, mark.journal);
    std::getline(in, mark.problem);
    mark.journal = path_from_line(mark.journal);
    (void)parse_hex(run, mark.run);  // 0 else: of no run, so the file can't be gone on with, nor read
    return mark;
}

bool has_attributes(const std::string& path) {
    return getxattr(path.c_str(), kAttribute, nullptr, 0) >= 0 || errno == ENODATA;
}

Status set_overwrite_mark(int descriptor, const OverwriteMark& mark, const std::string& path) {
    const std::string text =
        cat(hex_of(mark.run), "\n", path_in_line(mark.journal), "\n", mark.problem.substr(0, 1000));
    if (fsetxattr(descriptor, kAttribute, text.data(), text.size(), 0) != 0) return {};
    if (fsync(descriptor) == 0) return {};
    return error_errno(Code::io_error, errno, "could not flush " + path);
}

Status clear_overwrite_mark(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return error_errno(Code::io_error, errno, "could not open " + path);
    Status status;
    if (fremovexattr(descriptor, kAttribute) != 0) {
        if (errno != ENODATA && errno != ENOTSUP)
            status =
                error_errno(Code::io_error, errno, "could not take the mark of a half overwritten file from " + path);
    } else if (fsync(descriptor) != 0) {
        status = error_errno(Code::io_error, errno, "could not flush " + path);
    }
    ::close(descriptor);
    return status;
}

}  // namespace spanfft
