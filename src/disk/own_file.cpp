// Opening without following, waiting or trusting; see own_file.hpp.
#include "disk/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace spanfft {

namespace {

const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a FIFO";
    return S_ISLNK(mode) ? "a link" : "a device or a socket";
}

Result<OwnFile> open_own(const std::string& path, int flags) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    const int failed = descriptor < 0 ? errno : 0;
    struct stat info;
    // ELOOP: a link; ENXIO: a socket. EISDIR: a folder.
    const bool other = failed == ELOOP || failed == ENXIO || failed == EISDIR;
    if (failed != 0 && other && lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        return error(Code::io_error, path, " is ", kind_of(info.st_mode),
                     ", but the name is that of a file that runs of spanfft keep; take it away");
    }
    if (failed != 0) return error_errno(Code::io_error, failed, "could not open " + path);
    OwnFile file(descriptor, 0);
    if (fstat(descriptor, &info) != 0) return error_errno(Code::io_error, errno, "could not examine " + path);
    if (!S_ISREG(info.st_mode)) {
        return error(Code::io_error, path, " is ", kind_of(info.st_mode),
                     ", but the name is that of a file that runs of spanfft keep; take it away");
    }
    if (info.st_uid != geteuid()) {
        return error(Code::io_error, path, " belongs to another user (number ", info.st_uid,
                     "), and what it says can't be trusted; give a scratch folder of your own, or take it away");
    }
    if (info.st_nlink > 1) {
        return error(Code::io_error, path, " has ", info.st_nlink,
                     " names, but what runs keep has one; take away the others, or this one");
    }
    // Which io_uring would take for more than it means to a file.
    (void)fcntl(file.descriptor(), F_SETFL, fcntl(file.descriptor(), F_GETFL) & ~O_NONBLOCK);
    return OwnFile(file.release(), static_cast<index_t>(info.st_size));
}

}  // namespace

OwnFile::~OwnFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

OwnFile& OwnFile::operator=(OwnFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    bytes_ = other.bytes_;
    return *this;
}

Result<OwnFile> open_own_file(const std::string& path, bool write) { return open_own(path, write ? O_RDWR : O_RDONLY); }

Result<OwnFile> open_or_make_own_file(const std::string& path) { return open_own(path, O_RDWR | O_CREAT); }

void unlink_own(const std::string& path) {
    struct stat info;
    if (lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid())
        (void)unlink(path.c_str());
}

}  // namespace spanfft
