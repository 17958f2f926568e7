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

#include "disk/own_file.hpp"
#include "disk/striped_store.hpp"

namespace spanfft {

namespace {

const std::string kPartialSuffix = ".spanfft-partial";
const std::string kScratchSuffix = ".spanfft-scratch";
constexpr size_t kNameBytes = 255;  // what file systems allow

bool ends_with(const std::string& text, const std::string& suffix) {
    return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// umask() can't tell without changing it, for an instant in which other threads may make files.
mode_t current_umask() {
    std::FILE* const status = std::fopen("/proc/self/status", "re");
    unsigned mask = 077;
    std::array<char, 256> line{};
    bool found = false;
    while (status && !found && std::fgets(line.data(), static_cast<int>(line.size()), status))
        found = std::sscanf(line.data(), "Umask: %o", &mask) == 1;
    if (status) (void)std::fclose(status);
    return found ? static_cast<mode_t>(mask) : 077;
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

// A new file that this process has locked and that its name leads to.
Result<LockedFile> create_locked(const std::string& folder, const std::string& stem, const std::string& suffix) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        const std::string tail = "." + random_letters() + suffix;
        LockedFile file;
        file.path = folder + "/." + stem.substr(0, kNameBytes - 1 - tail.size()) + tail;
        file.descriptor = ::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
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

}  // namespace

Result<LockedFile> create_partial(const std::string& path) {
    return create_locked(folder_of(path), name_of(path), kPartialSuffix);
}

namespace {

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

// The one that is there. whole_bytes: what publish() shortens it to, behind which there is nothing of value any more
// when it has; < 0: it has not. A power cut after that may leave any part of what reopening makes of it.
Result<std::unique_ptr<FileStore>> reopen_kept(const std::string& path, index_t whole_bytes, index_t bytes) {
    SPANFFT_ASSIGN(OwnFile file, open_own_file(path, true));
    const bool shortened = whole_bytes >= 0 && file.bytes() >= whole_bytes && file.bytes() < marked_bytes(bytes);
    if (shortened && ftruncate(file.descriptor(), marked_bytes(bytes)) != 0)
        return error_errno(Code::io_error, errno, "could not write " + path);
    if (!shortened && file.bytes() != marked_bytes(bytes)) {
        return error(Code::corrupt_data, path, " has ", file.bytes(), " bytes, but the run that left it made ",
                     marked_bytes(bytes));
    }
    return FileStore::adopt(file.release(), path, bytes);
}

// A new file of this name, instead of what it led to, or the one that is there; with a mark behind.
Result<std::unique_ptr<FileStore>> kept_file(const std::string& path, const OutputRequest& request, index_t whole_bytes,
                                             index_t bytes) {
    if (request.reopen) return reopen_kept(path, whole_bytes, bytes);
    unlink_own(path);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return error_errno(Code::io_error, errno, "could not create " + path);
    Status reserved = reserve(descriptor, marked_bytes(bytes), path);
    if (reserved.ok()) reserved = write_mark(descriptor, mark_offset(bytes), {request.run, 0, 0}, path);
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
    bool shared = false;  // one file, whose name other ranks are told
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
    for (Part& part : parts) {
        part.shared = &part != parts.data() && !request.shared_folder.empty();
        part.demands = part.shared ? scratch_demands({request.shared_folder}, part.geometry, part.bytes)
                                   : scratch_demands(folders, part.geometry, part.bytes);
    }
    return parts;
}

Result<std::unique_ptr<Store>> create_part(const Part& part, const OutputRequest& request) {
    std::vector<std::unique_ptr<Store>> disks;
    for (size_t i = 0; i < part.demands.size(); ++i) {
        const Demand& demand = part.demands[i];
        SPANFFT_ASSIGN(std::unique_ptr<Store> disk, part.kept.empty()
                                                        ? create_scratch_file(demand.folder, part.stem, demand.bytes)
                                                        : kept_file(part.kept[i], request, -1, demand.bytes));
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
                     const std::string& shared_folder, const std::string& key) {
    const std::string folder = folder_of(output_path);
    const auto path = [&](const std::string& in, const char* suffix) {
        return hidden_beside(in + "/" + name_of(output_path), "." + key + suffix);
    };
    KeptFiles kept;
    kept.output = path(folder, ".spanfft-kept-output");
    kept.journal = path(scratch_folders.empty() ? folder : scratch_folders[0], ".spanfft-journal");
    const std::vector<std::string> own = scratch_folders.empty() ? std::vector<std::string>{folder} : scratch_folders;
    for (const std::string& in : own) kept.scratch.push_back(path(in, ".spanfft-kept-scratch"));
    for (const std::string& in : shared_folder.empty() ? own : std::vector<std::string>{shared_folder}) {
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

Result<std::string> behind_links(const std::string& path) {
    constexpr int kMostLinks = 40;  // as the kernel has it
    std::string at = path;
    for (int i = 0; i < kMostLinks; ++i) {
        struct stat link, folder;
        if (lstat(at.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return at;
        // As Linux itself does with fs.protected_symlinks.
        const bool shared = stat(folder_of(at).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 &&
                            (folder.st_mode & S_IWOTH) != 0 && folder.st_uid != link.st_uid;
        if (shared && link.st_uid != geteuid()) {
            return error(Code::io_error, at, " is a link of another user (number ", link.st_uid,
                         ") in a folder that everyone can write, and is not followed; give another output");
        }
        std::array<char, 4097> target{};
        const ssize_t bytes = readlink(at.c_str(), target.data(), target.size() - 1);
        if (bytes < 0) return error_errno(Code::io_error, errno, "could not read the link " + at);
        const std::string text(target.data(), static_cast<size_t>(bytes));
        at = text[0] == '/' ? text : folder_of(at) + "/" + text;
    }
    return error(Code::io_error, path, " leads to more than ", kMostLinks, " links, one after the other");
}

bool same_file(const std::string& a, const std::string& b) {
    struct stat first, second;
    return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    DIR* const entries = opendir(folder.c_str());
    if (!entries) return names;
    while (const dirent* entry = readdir(entries)) names.emplace_back(entry->d_name);
    closedir(entries);
    return names;
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

namespace {

// What can be said against a request before anything is touched.
Status check_output_request(const OutputRequest& request) {
    const std::string name = name_of(request.path);
    if (name.empty() || name == "." || name == "..")
        return error(Code::invalid_argument, "'", request.path, "' does not name a file");
    struct stat info;
    if (stat(request.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
        return error(Code::invalid_argument, request.path, " exists and is not a regular file");
    if (!request.input_path.empty() && same_file(request.path, request.input_path)) {
        return error(Code::invalid_argument, "output ", request.path, " is the input file ", request.input_path,
                     "; the input is never overwritten: give another name");
    }
    SPANFFT_TRY(check_scratch_folders(request.scratch_folders));
    const auto folders = static_cast<int>(request.scratch_folders.size());
    const bool of_disks = request.scratch_block_bytes > 0 && request.scratch_bytes > 0 && folders > 1;
    if (!of_disks || folders == request.scratch_disks) return {};
    const bool one = request.scratch_disks == 1;
    return error(Code::invalid_argument, folders, " scratch folders are given to a plan for ", request.scratch_disks,
                 one ? " disk" : " disks", "; plan with disks=", folders, ", or give ",
                 one ? "one folder" : "as many folders");
}

// Around the Store: the header is no part of the array, whose requests are predicted and counted.
Status write_header(int descriptor, const OutputRequest& request) {
    for (size_t done = 0; done < request.header.size();) {
        const ssize_t put =
            pwrite(descriptor, request.header.data() + done, request.header.size() - done, static_cast<off_t>(done));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0)
            return error_errno(Code::io_error, put < 0 ? errno : ENOSPC,
                               "could not write the header of " + request.path);
        done += static_cast<size_t>(put);
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const OutputRequest& request) {
    SPANFFT_TRY(check_output_request(request));
    const std::string folder = folder_of(request.path);
    std::vector<std::string> scratch_folders = request.scratch_folders;
    if (scratch_folders.empty()) scratch_folders.push_back(folder);
    remove_stale_files(folder);
    for (const std::string& scratch : request.scratch_folders) remove_stale_files(scratch);
    std::unique_ptr<OutputFile> output(new OutputFile());
    output->path_ = request.path;
    output->permissions_of_ = request.permissions_of.empty() ? request.input_path : request.permissions_of;
    output->payload_offset_bytes_ = static_cast<index_t>(request.header.size());
    output->whole_bytes_ = output->payload_offset_bytes_ + request.payload_bytes;
    const index_t bytes = output->whole_bytes_ + request.extra_bytes;
    const std::array<Part, 3> parts = parts_of(request, scratch_folders);
    std::vector<Demand> demands = {{folder, bytes}};
    for (const Part& part : parts) demands.insert(demands.end(), part.demands.begin(), part.demands.end());
    if (!request.reopen) SPANFFT_TRY(check_space(demands, request.what));
    for (const Part& part : parts) {  // of kept files alone
        if (part.bytes > 0) output->named_.insert(output->named_.end(), part.kept.begin(), part.kept.end());
    }
    SPANFFT_TRY(output->create_output(request, bytes));
    const auto staged = [&](const Part& part, std::string& path) -> Result<std::unique_ptr<Store>> {
        if (!part.shared || part.bytes == 0) return create_part(part, request);
        if (!request.kept) return output->create_shared(part.demands[0].folder, part.stem, part.bytes, path);
        path = part.kept[0];
        return create_part(part, request);
    };
    SPANFFT_ASSIGN(output->scratch_, create_part(parts[0], request));
    SPANFFT_ASSIGN(output->staged_input_, staged(parts[1], output->staged_input_path_));
    SPANFFT_ASSIGN(output->staged_output_, staged(parts[2], output->staged_output_path_));
    if (request.kept) {
        output->add_marked(*output->store_, {output->partial_path_});
        if (output->scratch_) output->add_marked(*output->scratch_, parts[0].kept);
        if (output->staged_input_) output->add_marked(*output->staged_input_, parts[1].kept);
        if (output->staged_output_) output->add_marked(*output->staged_output_, parts[2].kept);
    }
    output->keep_ = false;
    if (request.reopen) return output;
    SPANFFT_TRY(write_header(output->store_->descriptor(), request));
    if (request.kept) SPANFFT_TRY(output->flush_kept());
    return output;
}

// The output itself, of so many bytes with what is behind the payload meanwhile.
Status OutputFile::create_output(const OutputRequest& request, index_t bytes) {
    if (request.kept) {
        keep_ = request.reopen;  // until it is open, an error is no reason to lose it
        partial_path_ = request.kept->output;
        SPANFFT_ASSIGN(store_, kept_file(partial_path_, request, request.published ? whole_bytes_ : -1, bytes));
        return {};
    }
    SPANFFT_ASSIGN(const LockedFile file, create_partial(request.path));
    partial_path_ = file.path;  // from here on the destructor removes it
    locks_.push_back(file.descriptor);
    SPANFFT_TRY(reserve(file.descriptor, bytes, request.path));
    SPANFFT_ASSIGN(store_, FileStore::open_output(file.path));
    return {};
}

// A file whose name other ranks are told, and which goes with this.
Result<std::unique_ptr<Store>> OutputFile::create_shared(const std::string& folder, const std::string& stem,
                                                         index_t bytes, std::string& path) {
    SPANFFT_ASSIGN(const LockedFile file, create_locked(folder, stem, kScratchSuffix));
    path = file.path;
    named_.push_back(file.path);
    locks_.push_back(file.descriptor);
    SPANFFT_TRY(reserve(file.descriptor, bytes, "the scratch file in " + folder));
    SPANFFT_ASSIGN(std::unique_ptr<Store> store, FileStore::open_output(file.path));
    return store;
}

Status OutputFile::flush_kept() {
    for (Store* const store : {static_cast<Store*>(store_.get()), scratch(), staged_input(), staged_output()}) {
        if (store) SPANFFT_TRY(store->sync());
    }
    return {};
}

OutputFile::~OutputFile() {
    if (!keep_ && !published_ && !partial_path_.empty()) (void)unlink(partial_path_.c_str());
    for (const std::string& path : named_) {
        if (!keep_) (void)unlink(path.c_str());
    }
    for (const int lock : locks_) ::close(lock);
}

void OutputFile::add_marked(Store& store, const std::vector<std::string>& paths) {
    for (int i = 0; i < store.disks(); ++i) {
        FileStore* const file = store.disk(i).file();
        marked_.push_back({paths[static_cast<size_t>(i)], file->descriptor(), mark_offset(file->size_bytes())});
    }
}

Status OutputFile::mark(const KeptMark& mark) {
    for (const Marked& file : marked_) SPANFFT_TRY(write_mark(file.descriptor, file.offset_bytes, mark, file.path));
    return {};
}

std::vector<std::string> OutputFile::kept_paths() const {
    std::vector<std::string> paths;
    for (const Marked& file : marked_) paths.push_back(file.path);
    return paths;
}

std::string OutputFile::missing() const {
    for (const Marked& file : marked_) {
        if (!leads_to(file.path, file.descriptor)) return file.path;
    }
    return "";
}

// A group's rights are kept where the file can be given that group.
Status give_mode(int descriptor, const std::string& path, const std::string& input_path) {
    struct stat before, input, now;
    if (fstat(descriptor, &now) != 0) return error_errno(Code::io_error, errno, "could not examine " + path);
    mode_t mode = 0666;
    if (stat(path.c_str(), &before) == 0) {
        mode = before.st_mode & 0777;
        if (before.st_gid != now.st_gid && fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) != 0)
            mode &= static_cast<mode_t>(~0070);
    } else {
        const mode_t mask = current_umask();
        mode &= ~mask;
        const bool known = !input_path.empty() && stat(input_path.c_str(), &input) == 0;
        if (known && (input.st_mode & 0040) == 0) mode &= static_cast<mode_t>(~0060);
        if (known && (input.st_mode & 0004) == 0) mode &= static_cast<mode_t>(~0006);
    }
    // The file is this user's, so only a file system that has no such rights of its own (vfat) refuses.
    if (fchmod(descriptor, mode) == 0 || errno == EPERM || errno == ENOTSUP) return {};
    return error_errno(Code::io_error, errno, "could not set who may read " + path);
}

Status OutputFile::publish() {
    const bool longer = !marked_.empty() || store_->size_bytes() > whole_bytes_;
    if (longer && ftruncate(store_->descriptor(), whole_bytes_) != 0) {
        return error_errno(Code::io_error, errno, cat("could not shorten ", partial_path_, " to ", whole_bytes_));
    }
    SPANFFT_TRY(give_mode(store_->descriptor(), path_, permissions_of_));
    SPANFFT_TRY(store_->sync());
    if (rename(partial_path_.c_str(), path_.c_str()) != 0) {
        return error_errno(Code::io_error, errno, "could not give the finished output its name " + path_);
    }
    published_ = true;
    return sync_folder(folder_of(path_));
}

}  // namespace spanfft
