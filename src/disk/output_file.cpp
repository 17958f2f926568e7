// Creating, reserving, locking, publishing and cleaning up files; see output_file.hpp.
#include "disk/output_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <vector>

#include "disk/striped_store.hpp"

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

std::string random_letters() {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device source;
    std::string text;
    for (int i = 0; i < 8; ++i) text += letters[source() % (sizeof letters - 1)];
    return text;
}

}  // namespace

Status no_lock(int errno_value, const std::string& what) {
    return error_errno(Code::io_error, errno_value,
                       "could not lock " + what + ", whose file system needs flock (Lustre: mount it with -o flock)");
}

namespace {

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
        const int failed = flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        if (failed == 0 && leads_to(file.path, file.descriptor)) return file;
        if (failed != 0 && failed != EWOULDBLOCK) (void)unlink(file.path.c_str());
        ::close(file.descriptor);  // else a cleaner was faster; it removes the name
        if (failed != 0 && failed != EWOULDBLOCK) return no_lock(failed, "a file in " + folder);
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
    ino_t inode{};
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
    place.inode = info.st_ino;
    place.free_bytes = static_cast<index_t>(space.f_bavail) * static_cast<index_t>(space.f_frsize);
    return place;
}

}  // namespace

// Every folder that was named must do, even where the plan turns out to need no scratch.
Status check_scratch_folders(const std::vector<std::string>& folders) {
    if (folders.size() > static_cast<size_t>(kMaxDisks)) {
        return error(Code::invalid_argument, folders.size(), " scratch folders; use at most ", kMaxDisks);
    }
    std::vector<Place> seen;
    for (const std::string& folder : folders) {
        if (folder.empty()) {
            return error(Code::invalid_argument, "a scratch folder has an empty name; name folders, or none at all");
        }
        auto place = examine(folder);
        if (!place.ok()) {
            return error(place.status().code(), place.status().message(), "; make it, or name another scratch folder");
        }
        if (access(folder.c_str(), W_OK | X_OK) != 0) {
            return error_errno(Code::io_error, errno,
                               "could not write into the scratch folder " + folder + "; allow it or name another");
        }
        for (size_t i = 0; i < seen.size(); ++i) {
            if (seen[i].device != place.value().device || seen[i].inode != place.value().inode) continue;
            return error(Code::invalid_argument, "scratch folders ", folders[i], " and ", folder,
                         " are the same folder; name each once");
        }
        seen.push_back(place.value());
    }
    return {};
}

namespace {

struct Demand {
    std::string folder;
    index_t bytes = 0;
};

// demands[0] is the output's, or `what`. What shares a file system is added up.
Status check_space(const std::vector<Demand>& demands, const char* what) {
    std::vector<Place> places;
    for (const Demand& demand : demands) {
        SPANFFT_ASSIGN(const Place place, examine(demand.folder));
        places.push_back(place);
    }
    for (size_t i = 0; i < demands.size(); ++i) {
        index_t scratch_bytes = 0;
        for (size_t j = 1; j < demands.size(); ++j) {
            if (places[j].device == places[i].device) scratch_bytes += demands[j].bytes;
        }
        const index_t output_bytes = places[0].device == places[i].device ? demands[0].bytes : 0;
        if (output_bytes + scratch_bytes <= places[i].free_bytes) continue;
        if (output_bytes == 0) {
            return error(Code::no_space, "the scratch file needs ", scratch_bytes, " bytes, but ", demands[i].folder,
                         " has ", places[i].free_bytes, " free; nothing was written");
        }
        return error(Code::no_space, what, " needs ", output_bytes, " bytes",
                     scratch_bytes > 0 ? cat(" and the scratch file ", scratch_bytes) : std::string(), ", but ",
                     demands[0].folder, " has ", places[0].free_bytes, " free; nothing was written",
                     scratch_bytes > 0 ? "; a scratch folder on another disk may do" : "");
    }
    return {};
}

Result<std::unique_ptr<FileStore>> create_scratch_file(const std::string& folder, const std::string& stem,
                                                       index_t bytes) {
    SPANFFT_ASSIGN(const LockedFile file, create_locked(folder, stem, kScratchSuffix));
    auto store = FileStore::adopt(file.descriptor, file.path, bytes);
    (void)unlink(file.path.c_str());  // both descriptors are open: the name has done its work
    if (store.ok()) SPANFFT_TRY(reserve(file.descriptor, bytes, "the scratch file in " + folder));
    return store;
}

StripeGeometry scratch_geometry(const OutputRequest& request) {
    const int disks = std::max(1, static_cast<int>(request.scratch_folders.size()));
    if (request.scratch_block_bytes > 0) return {disks, request.scratch_block_bytes, false};
    return {disks, kStripeBlockBytes};
}

// What each folder holds of the scratch: whole blocks of the file system, so that all of it can be written directly.
std::vector<Demand> scratch_demands(const std::vector<std::string>& folders, const StripeGeometry& geometry,
                                    index_t bytes) {
    std::vector<Demand> demands;
    if (bytes == 0) return demands;
    for (size_t i = 0; i < folders.size(); ++i) {
        const index_t share = folders.size() == 1 ? bytes : geometry.bytes_on(static_cast<int>(i), bytes);
        demands.push_back({folders[i], folders.size() == 1 ? share : round_up(share, kDirectBytes)});
    }
    return demands;
}

// A new file of this name, instead of what it led to, or the one that is there.
// whole_bytes: what publish() shortens it to, behind which there is nothing of value any more when it has.
Result<std::unique_ptr<FileStore>> kept_file(const std::string& path, index_t whole_bytes, index_t bytes, bool reopen) {
    if (reopen) {
        struct stat info;
        const bool shortened = stat(path.c_str(), &info) == 0 && info.st_size == whole_bytes && whole_bytes < bytes;
        if (shortened && truncate(path.c_str(), bytes) != 0)
            return error_errno(Code::io_error, errno, "could not write " + path);
        SPANFFT_ASSIGN(auto store, FileStore::open_output(path));
        if (store->size_bytes() == bytes) return store;
        return error(Code::corrupt_data, path, " has ", store->size_bytes(), " bytes, but the run that left it made ",
                     bytes, "; begin anew with restart");
    }
    (void)unlink(path.c_str());
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) return error_errno(Code::io_error, errno, "could not create " + path);
    const Status reserved = reserve(descriptor, bytes, path);
    if (!reserved.ok()) {
        ::close(descriptor);
        (void)unlink(path.c_str());
        return reserved;
    }
    return FileStore::adopt(descriptor, path, bytes);
}

// An array beside the output, over all scratch folders.
struct Part {
    index_t bytes = 0;
    StripeGeometry geometry;
    std::string stem;               // of files without names
    std::vector<std::string> kept;  // their names else: one for each demand
    std::vector<Demand> demands;
};

// Scratch, and what chunked arrays are copied into and out of.
std::array<Part, 3> parts_of(const OutputRequest& request, const std::vector<std::string>& folders) {
    const StripeGeometry plain{static_cast<int>(folders.size()), kStripeBlockBytes};
    const KeptFiles kept = request.kept.value_or(KeptFiles());
    std::array<Part, 3> parts = {
        Part{request.scratch_bytes, scratch_geometry(request), name_of(request.path), kept.scratch, {}},
        Part{request.staged_input_bytes, plain, "spanfft-input", kept.staged_input, {}},
        Part{request.staged_output_bytes, plain, "spanfft-output", kept.staged_output, {}},
    };
    for (Part& part : parts) part.demands = scratch_demands(folders, part.geometry, part.bytes);
    return parts;
}

Result<std::unique_ptr<Store>> create_part(const Part& part, bool reopen) {
    std::vector<std::unique_ptr<Store>> disks;
    for (size_t i = 0; i < part.demands.size(); ++i) {
        const Demand& demand = part.demands[i];
        SPANFFT_ASSIGN(std::unique_ptr<Store> disk, part.kept.empty()
                                                        ? create_scratch_file(demand.folder, part.stem, demand.bytes)
                                                        : kept_file(part.kept[i], demand.bytes, demand.bytes, reopen));
        disks.push_back(std::move(disk));
    }
    if (disks.empty()) return std::unique_ptr<Store>();
    if (disks.size() == 1) return std::move(disks[0]);
    return std::unique_ptr<Store>(
        new StripedStore(std::move(disks), part.geometry.block_bytes, part.bytes, part.geometry.turns));
}

}  // namespace

Status sync_folder(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return error_errno(Code::io_error, errno, "could not open " + folder);
    const int failed = fsync(descriptor) != 0 && errno != EINVAL ? errno : 0;  // some file systems have no such thing
    ::close(descriptor);
    return failed ? error_errno(Code::io_error, failed, "could not flush " + folder) : Status();
}

bool leads_to(const std::string& path, int descriptor) {
    struct stat named, open;
    return lstat(path.c_str(), &named) == 0 && fstat(descriptor, &open) == 0 && named.st_ino == open.st_ino &&
           named.st_dev == open.st_dev;
}

KeptFiles kept_files(const std::string& output_path, const std::vector<std::string>& scratch_folders,
                     const std::string& key) {
    const std::string folder = folder_of(output_path);
    const auto path = [&](const std::string& in, const char* suffix) {
        return hidden_beside(in + "/" + name_of(output_path), "." + key + suffix);
    };
    KeptFiles kept;
    kept.output = path(folder, ".spanfft-kept-output");
    kept.journal = path(scratch_folders.empty() ? folder : scratch_folders[0], ".spanfft-journal");
    for (const std::string& in : scratch_folders.empty() ? std::vector<std::string>{folder} : scratch_folders) {
        kept.scratch.push_back(path(in, ".spanfft-kept-scratch"));
        kept.staged_input.push_back(path(in, ".spanfft-kept-input"));
        kept.staged_output.push_back(path(in, ".spanfft-kept-result"));
    }
    return kept;
}

std::string hidden_beside(const std::string& path, const std::string& tail) {
    return folder_of(path) + "/." + name_of(path).substr(0, kNameBytes - 1 - tail.size()) + tail;
}

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
    SPANFFT_TRY(check_scratch_folders({folder}));
    SPANFFT_TRY(check_space({{folder, 0}, {folder, bytes}}, ""));
    return create_scratch_file(folder, stem, bytes);
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const OutputRequest& request) {
    const std::string folder = folder_of(request.path), name = name_of(request.path);
    std::vector<std::string> scratch_folders = request.scratch_folders;
    if (scratch_folders.empty()) scratch_folders.push_back(folder);
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
    SPANFFT_TRY(check_scratch_folders(request.scratch_folders));
    if (const auto folders = static_cast<int>(request.scratch_folders.size());
        request.scratch_block_bytes > 0 && request.scratch_bytes > 0 && folders > 1 &&
        folders != request.scratch_disks) {
        return error(Code::invalid_argument, folders, " scratch folders are given to a plan for ",
                     request.scratch_disks, request.scratch_disks == 1 ? " disk" : " disks",
                     "; plan with disks=", folders, ", or give ",
                     request.scratch_disks == 1 ? "one folder" : "as many folders");
    }
    remove_stale_files(folder);
    for (const std::string& scratch : request.scratch_folders) remove_stale_files(scratch);
    const index_t header_bytes = static_cast<index_t>(request.header.size());
    const index_t whole_bytes = header_bytes + request.payload_bytes, bytes = whole_bytes + request.extra_bytes;
    std::unique_ptr<OutputFile> output(new OutputFile());
    const std::array<Part, 3> parts = parts_of(request, scratch_folders);
    std::vector<Demand> demands = {{folder, bytes}};
    for (const Part& part : parts) demands.insert(demands.end(), part.demands.begin(), part.demands.end());
    if (!request.reopen) SPANFFT_TRY(check_space(demands, request.what));

    output->path_ = request.path;
    output->payload_offset_bytes_ = header_bytes;
    output->whole_bytes_ = whole_bytes;
    if (request.kept) {
        output->keep_ = request.reopen;  // until it is open, an error is no reason to lose it
        output->partial_path_ = request.kept->output;
        for (const Part& part : parts) {
            if (part.bytes > 0)
                output->kept_scratch_.insert(output->kept_scratch_.end(), part.kept.begin(), part.kept.end());
        }
        SPANFFT_ASSIGN(output->store_, kept_file(output->partial_path_, whole_bytes, bytes, request.reopen));
    } else {
        SPANFFT_ASSIGN(const LockedFile file, create_locked(folder, name, kPartialSuffix));
        output->partial_path_ = file.path;  // from here on the destructor removes it
        output->lock_ = file.descriptor;
        SPANFFT_TRY(reserve(file.descriptor, bytes, request.path));
        SPANFFT_ASSIGN(output->store_, FileStore::open_output(file.path));
    }
    SPANFFT_ASSIGN(output->scratch_, create_part(parts[0], request.reopen));
    SPANFFT_ASSIGN(output->staged_input_, create_part(parts[1], request.reopen));
    SPANFFT_ASSIGN(output->staged_output_, create_part(parts[2], request.reopen));
    output->keep_ = false;
    if (request.reopen) return output;
    for (index_t done = 0; done < header_bytes;) {
        // Around the Store: the header is no part of the array, whose requests are predicted and counted.
        const ssize_t put = pwrite(output->store_->descriptor(), request.header.data() + done,
                                   static_cast<size_t>(header_bytes - done), done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0)
            return error_errno(Code::io_error, put < 0 ? errno : ENOSPC,
                               "could not write the header of " + request.path);
        done += put;
    }
    if (request.kept) SPANFFT_TRY(output->flush_kept());
    return output;
}

Status OutputFile::flush_kept() {
    for (Store* const store : {static_cast<Store*>(store_.get()), scratch(), staged_input(), staged_output()}) {
        if (store) SPANFFT_TRY(store->sync());
    }
    return {};
}

OutputFile::~OutputFile() {
    if (!keep_ && !published_ && !partial_path_.empty()) (void)unlink(partial_path_.c_str());
    for (const std::string& path : kept_scratch_) {
        if (!keep_) (void)unlink(path.c_str());
    }
    if (lock_ >= 0) ::close(lock_);
}

Status OutputFile::publish() {
    if (store_->size_bytes() > whole_bytes_ && ftruncate(store_->descriptor(), whole_bytes_) != 0) {
        return error_errno(Code::io_error, errno, cat("could not shorten ", partial_path_, " to ", whole_bytes_));
    }
    SPANFFT_TRY(store_->sync());
    if (rename(partial_path_.c_str(), path_.c_str()) != 0) {
        return error_errno(Code::io_error, errno, "could not give the finished output its name " + path_);
    }
    published_ = true;
    return sync_folder(folder_of(path_));
}

}  // namespace spanfft
