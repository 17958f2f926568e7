// Creating, reserving, locking, publishing and cleaning up files; see output_file.hpp.
#include "disk/output_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <vector>

namespace spanfft {

namespace {

const std::string kPartialSuffix = ".spanfft-partial";
const std::string kScratchSuffix = ".spanfft-scratch";
constexpr size_t kNameBytes = 255;  // what file systems allow

bool ends_with(const std::string& text, const std::string& suffix) {
    return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::string name_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool leads_to(const std::string& path, int descriptor) {
    struct stat named, open;
    return lstat(path.c_str(), &named) == 0 && fstat(descriptor, &open) == 0 && named.st_ino == open.st_ino &&
           named.st_dev == open.st_dev;
}

std::string random_letters() {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device source;
    std::string text;
    for (int i = 0; i < 8; ++i) text += letters[source() % (sizeof letters - 1)];
    return text;
}

struct LockedFile {
    int descriptor = -1;
    std::string path;
};

// A new file that this process has locked and that its name leads to.
Result<LockedFile> create_locked(const std::string& folder, const std::string& stem, const std::string& suffix) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        const std::string tail = "." + random_letters() + suffix;
        LockedFile file;
        file.path = folder + "/." + stem.substr(0, kNameBytes - 1 - tail.size()) + tail;
        file.descriptor = ::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file.descriptor < 0 && errno == EEXIST) continue;
        if (file.descriptor < 0) return error_errno(Code::io_error, errno, "could not create a file in " + folder);
        if (flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 && leads_to(file.path, file.descriptor)) return file;
        ::close(file.descriptor);  // a cleaner was faster; it removes the name
    }
    return error(Code::io_error, "could not lock a new file in ", folder);
}

// Reserves the blocks where the file system can, so that a full disk shows now and not at 99 %.
Status reserve(int descriptor, index_t bytes, const std::string& path) {
    if (bytes > 0 && fallocate(descriptor, 0, 0, bytes) != 0) {
        if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
            return error_errno(Code::no_space, errno, cat("could not reserve ", bytes, " bytes for ", path));
        }
    }
    if (ftruncate(descriptor, bytes) != 0) {
        return error_errno(Code::io_error, errno, cat("could not size ", path, " to ", bytes, " bytes"));
    }
    return {};
}

struct Place {
    dev_t device{};
    index_t free_bytes = 0;
};

Result<Place> examine(const std::string& folder) {
    struct stat info;
    struct statvfs space;
    if (stat(folder.c_str(), &info) != 0) return error_errno(Code::io_error, errno, "no folder " + folder);
    if (!S_ISDIR(info.st_mode)) return error(Code::io_error, folder, " is not a folder");
    if (statvfs(folder.c_str(), &space) != 0) {
        return error_errno(Code::io_error, errno, "could not ask for the free space of " + folder);
    }
    Place place;
    place.device = info.st_dev;
    place.free_bytes = static_cast<index_t>(space.f_bavail) * static_cast<index_t>(space.f_frsize);
    return place;
}

Status check_space(const std::string& folder, index_t output_bytes, const std::string& scratch_folder,
                   index_t scratch_bytes) {
    SPANFFT_ASSIGN(const Place output, examine(folder));
    SPANFFT_ASSIGN(const Place scratch, examine(scratch_folder));
    const bool together = output.device == scratch.device;
    const index_t needed = output_bytes + (together ? scratch_bytes : 0);
    if (needed > output.free_bytes) {
        return error(Code::no_space, "the output needs ", output_bytes, " bytes",
                     together ? cat(" and the scratch file ", scratch_bytes) : std::string(), ", but ", folder, " has ",
                     output.free_bytes, " free; nothing was written",
                     together && scratch_bytes > 0 ? "; a scratch folder on another disk may do" : "");
    }
    if (!together && scratch_bytes > scratch.free_bytes) {
        return error(Code::no_space, "the scratch file needs ", scratch_bytes, " bytes, but ", scratch_folder, " has ",
                     scratch.free_bytes, " free; nothing was written");
    }
    return {};
}

Result<std::unique_ptr<FileStore>> create_scratch(const std::string& folder, const std::string& stem, index_t bytes) {
    SPANFFT_ASSIGN(const LockedFile file, create_locked(folder, stem, kScratchSuffix));
    auto store = FileStore::adopt(file.descriptor, file.path, bytes);
    (void)unlink(file.path.c_str());  // both descriptors are open: the name has done its work
    if (store.ok()) SPANFFT_TRY(reserve(file.descriptor, bytes, "the scratch file in " + folder));
    return store;
}

Status sync_folder(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return error_errno(Code::io_error, errno, "could not open " + folder);
    const int failed = fsync(descriptor) != 0 && errno != EINVAL ? errno : 0;  // some file systems have no such thing
    ::close(descriptor);
    return failed ? error_errno(Code::io_error, failed, "could not flush " + folder) : Status();
}

}  // namespace

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool same_file(const std::string& a, const std::string& b) {
    struct stat first, second;
    return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

int remove_stale_files(const std::string& folder) {
    DIR* entries = opendir(folder.c_str());
    if (!entries) return 0;
    int removed = 0;
    while (const dirent* entry = readdir(entries)) {
        const std::string name = entry->d_name;
        if (name[0] != '.' || (!ends_with(name, kPartialSuffix) && !ends_with(name, kScratchSuffix))) continue;
        const int descriptor = openat(dirfd(entries), name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (descriptor < 0) continue;
        struct stat info;
        const bool dead = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
                          flock(descriptor, LOCK_EX | LOCK_NB) == 0 && leads_to(folder + "/" + name, descriptor);
        if (dead && unlinkat(dirfd(entries), name.c_str(), 0) == 0) ++removed;
        ::close(descriptor);
    }
    closedir(entries);
    return removed;
}

Result<std::unique_ptr<FileStore>> make_scratch_file(const std::string& folder, const std::string& stem,
                                                     index_t bytes) {
    remove_stale_files(folder);
    SPANFFT_ASSIGN(const Place place, examine(folder));
    if (bytes > place.free_bytes) {
        return error(Code::no_space, "the scratch file needs ", bytes, " bytes, but ", folder, " has ",
                     place.free_bytes, " free; a scratch folder on another disk may do");
    }
    return create_scratch(folder, stem, bytes);
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const OutputRequest& request) {
    const std::string folder = folder_of(request.path), name = name_of(request.path);
    const std::string scratch_folder = request.scratch_folder.empty() ? folder : request.scratch_folder;
    if (name.empty() || name == "." || name == "..") {
        return error(Code::invalid_argument, "'", request.path, "' does not name a file");
    }
    struct stat info;
    if (stat(request.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        return error(Code::invalid_argument, request.path, " exists and is not a regular file");
    }
    if (!request.input_path.empty() && same_file(request.path, request.input_path)) {
        return error(Code::invalid_argument, "output ", request.path, " is the input file ", request.input_path,
                     "; the input is never overwritten: give another name");
    }
    remove_stale_files(folder);
    if (request.scratch_bytes > 0 && scratch_folder != folder) remove_stale_files(scratch_folder);
    const index_t header_bytes = static_cast<index_t>(request.header.size());
    const index_t bytes = header_bytes + request.payload_bytes;
    SPANFFT_TRY(check_space(folder, bytes, scratch_folder, request.scratch_bytes));

    std::unique_ptr<OutputFile> output(new OutputFile());
    output->path_ = request.path;
    output->payload_offset_bytes_ = header_bytes;
    SPANFFT_ASSIGN(const LockedFile file, create_locked(folder, name, kPartialSuffix));
    output->partial_path_ = file.path;  // from here on the destructor removes it
    SPANFFT_ASSIGN(output->store_, FileStore::adopt(file.descriptor, file.path, bytes));
    SPANFFT_TRY(reserve(file.descriptor, bytes, request.path));
    if (request.scratch_bytes > 0) {
        SPANFFT_ASSIGN(output->scratch_, create_scratch(scratch_folder, name, request.scratch_bytes));
    }
    for (index_t done = 0; done < header_bytes;) {
        // Around the Store: the header is no part of the array, whose requests are predicted and counted.
        const ssize_t put =
            pwrite(file.descriptor, request.header.data() + done, static_cast<size_t>(header_bytes - done), done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0)
            return error_errno(Code::io_error, put < 0 ? errno : ENOSPC,
                               "could not write the header of " + request.path);
        done += put;
    }
    return output;
}

OutputFile::~OutputFile() {
    if (!published_ && !partial_path_.empty()) (void)unlink(partial_path_.c_str());
}

Status OutputFile::publish() {
    SPANFFT_TRY(store_->sync());
    if (rename(partial_path_.c_str(), path_.c_str()) != 0) {
        return error_errno(Code::io_error, errno, "could not give the finished output its name " + path_);
    }
    published_ = true;
    return sync_folder(folder_of(path_));
}

}  // namespace spanfft
