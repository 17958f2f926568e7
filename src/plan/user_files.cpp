// Reading, replacing and locking small files; see user_files.hpp.
#include "plan/user_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "core/hash.hpp"
#include "disk/output_file.hpp"

namespace spanfft {

namespace {

Status failed(const char* what, const std::string& path) {
    return error_errno(Code::io_error, errno, cat(what, " ", path));
}

Status make_folder_of(const std::string& path) {
    std::error_code problem;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
    if (!problem) return Status();
    return error(Code::io_error, "can't make the folder of ", path, ": ", problem.message(),
                 "; set SPANFFT_HOME to a folder that can be written");
}

Status write_all(int fd, const std::string& path, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t n = write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return failed("can't write", path);
        done += static_cast<size_t>(n);
    }
    return fsync(fd) == 0 ? Status() : failed("can't flush", path);
}

}  // namespace

std::string user_folder() {
    const auto set = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    if (!set("SPANFFT_HOME").empty()) return set("SPANFFT_HOME");
    if (!set("XDG_CACHE_HOME").empty()) return set("XDG_CACHE_HOME") + "/spanfft";
    return set("HOME").empty() ? "" : set("HOME") + "/.cache/spanfft";
}

Result<std::string> read_text(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return std::string();
    if (fd < 0) return failed("can't open", path);
    std::string text;
    std::array<char, 16384> piece{};
    for (;;) {
        const ssize_t n = read(fd, piece.data(), piece.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            const Status status = failed("can't read", path);
            close(fd);
            return status;
        }
        if (n == 0) break;
        text.append(piece.data(), static_cast<size_t>(n));
    }
    close(fd);
    return text;
}

Status write_text(const std::string& path, const std::string& text) {
    SPANFFT_TRY(make_folder_of(path));
    remove_stale_files(folder_of(path));
    SPANFFT_ASSIGN(const LockedFile partial, create_partial(path));
    Status status = give_mode(partial.descriptor, path, "");
    if (status.ok()) status = write_all(partial.descriptor, partial.path, text);
    if (status.ok() && rename(partial.path.c_str(), path.c_str()) != 0) status = failed("can't replace", path);
    if (!status.ok()) unlink(partial.path.c_str());
    close(partial.descriptor);
    return status.ok() ? sync_folder(folder_of(path)) : status;
}

uint64_t file_stamp(const std::string& path) {
    struct stat about{};
    if (stat(path.c_str(), &about) != 0) return 0;
    return hash_text(cat(about.st_ino, " ", about.st_size, " ", about.st_mtim.tv_sec, " ", about.st_mtim.tv_nsec)) | 1;
}

Result<FileLock> FileLock::take(const std::string& path) {
    SPANFFT_TRY(make_folder_of(path));
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return failed("can't open", path);
    while (flock(fd, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        const Status status = failed("can't lock", path);
        close(fd);
        return status;
    }
    return FileLock(fd);
}

FileLock::~FileLock() {
    if (fd_ >= 0) close(fd_);
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

}  // namespace spanfft
