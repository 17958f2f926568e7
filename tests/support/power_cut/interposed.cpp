// libc's functions that change files, before libc: they do what was asked for and tell a RecordedDisk; see power_cut.h.
//
// Method: one lock is held around each call and its record, so that their order is that of the disk. Files are told by
// device and inode, so that it does not matter by which descriptor they are written. Functions inside libc that call
// each other (fopen) don't come here. An io_uring is seen through syscall(): while it is recorded, its writes have
// ended when io_uring_enter returns, so that they are on record before the program can know that they were done.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "power_cut.h"
#include "recorded_disk.hpp"
#include "seen_ring.hpp"

using spanfft::test::Fate;
using spanfft::test::RecordedDisk;
using spanfft::test::ShownFile;

namespace {

// libc's own; `name` without 64, which is the same on 64-bit systems.
template <class Function>
Function* real(Function* /*type*/, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define REAL(name)                                   \
    ([]() -> decltype(& ::name) {                    \
        static auto function = real(&::name, #name); \
        return function;                             \
    }())

struct World {
    std::recursive_mutex mutex;
    std::vector<std::unique_ptr<RecordedDisk>> recordings;
    RecordedDisk* recording = nullptr;
    std::string root;  // watched
    dev_t device = 0;
    ino_t epoch = 0;  // of inodes that the state built last does not have
    std::map<std::pair<dev_t, ino_t>, ShownFile> shown;
    std::string text;
    std::vector<power_cut_cut> chosen;
#ifdef SPANFFT_SEES_RINGS
    std::map<int, std::unique_ptr<spanfft::test::SeenRing>> rings;  // by descriptor: a later ring replaces one
#endif
};

World& world() {
    static auto* const all = new World;  // outlives destructors of programs
    return *all;
}

std::atomic<bool> watching{false};
thread_local int inside = 0;  // calls of the recorder itself

struct Inside {
    Inside() { ++inside; }
    ~Inside() { --inside; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

bool watched() { return watching.load(std::memory_order_relaxed) && inside == 0; }

std::string normal(int folder, const char* path) {
    std::filesystem::path whole = path;
    if (!whole.is_absolute()) {
        char at[PATH_MAX + 1];
        const std::string link = folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
        const ssize_t bytes = readlink(link.c_str(), at, PATH_MAX);
        whole = std::filesystem::path(std::string(at, bytes > 0 ? static_cast<size_t>(bytes) : 0)) / whole;
    }
    std::string text = whole.lexically_normal();
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    return text;
}

// Holds the lock for a call whose outcome is recorded, if one is being recorded; else nothing is done. errno stays.
class Recording {
  public:
    Recording() {
        if (!watched()) return;
        world().mutex.lock();
        ++inside;
        locked_ = true;
    }
    ~Recording() {
        if (!locked_) return;
        const int kept = errno;
        --inside;
        world().mutex.unlock();
        errno = kept;
    }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    RecordedDisk* disk() const { return locked_ ? world().recording : nullptr; }

  private:
    bool locked_ = false;
};

bool stat_of(int descriptor, struct stat& info) { return REAL(fstat)(descriptor, &info) == 0; }

void note_written(RecordedDisk& disk, int descriptor, off_t at, const struct iovec* parts, int count, ssize_t done) {
    struct stat info{};
    if (done <= 0 || !stat_of(descriptor, info) || !disk.knows(info)) return;
    std::string bytes;
    for (int i = 0; i < count && static_cast<ssize_t>(bytes.size()) < done; ++i)
        bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    bytes.resize(static_cast<size_t>(done));
    disk.written(info, at, std::move(bytes));
}

// Where the next write() of a descriptor goes.
off_t place_of(int descriptor) {
    struct stat info{};
    const bool at_end = (fcntl(descriptor, F_GETFL) & O_APPEND) != 0 && stat_of(descriptor, info);
    return at_end ? info.st_size : lseek(descriptor, 0, SEEK_CUR);
}

// What was copied there by the kernel.
void note_copied(RecordedDisk& disk, int descriptor, off_t at, ssize_t done) {
    struct stat info{};
    if (done <= 0 || !stat_of(descriptor, info) || !disk.knows(info)) return;
    std::string bytes(static_cast<size_t>(done), '\0');
    const int again = REAL(open)(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_RDONLY | O_CLOEXEC);
    if (again < 0 || pread(again, bytes.data(), bytes.size(), at) != done) abort();
    close(again);
    disk.written(info, at, std::move(bytes));
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
    const Recording recording;
    if (watching.load() && normal(folder, path).compare(0, world().root.size(), world().root) == 0) flags &= ~O_DIRECT;
    RecordedDisk* const disk = recording.disk();
    if (!disk || !(flags & (O_CREAT | O_TRUNC))) return REAL(openat)(folder, path, flags, mode);
    const std::string whole = normal(folder, path);
    struct stat before{}, info{};
    const bool existed = REAL(lstat)(whole.c_str(), &before) == 0;
    const int descriptor = REAL(openat)(folder, path, flags, mode);
    if (descriptor < 0 || !stat_of(descriptor, info)) return descriptor;
    if (!existed && disk->holds(whole)) disk->created(whole, info, false);
    if (existed && (flags & O_TRUNC)) disk->sized(info, 0, false);
    return descriptor;
}

mode_t mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

int size_of(int outcome, int descriptor, off_t bytes, bool only_grows, const Recording& recording) {
    struct stat info{};
    if (outcome == 0 && recording.disk() && stat_of(descriptor, info)) recording.disk()->sized(info, bytes, only_grows);
    return outcome;
}

template <class Call>
int flush(int descriptor, const char* name, const Call& call) {
    const Recording recording;
    struct stat info{};
    const bool ours = watching.load() && inside <= 1 && stat_of(descriptor, info) && info.st_dev == world().device;
    if (!ours) return call();
    if (recording.disk()) recording.disk()->flushed(info, name);
    return 0;
}

int rename_to(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    const Recording recording;
    const int outcome = REAL(renameat2)(from_folder, from, to_folder, to, flags);
    if (outcome == 0 && recording.disk())
        recording.disk()->renamed(normal(from_folder, from), normal(to_folder, to), (flags & RENAME_EXCHANGE) != 0);
    return outcome;
}

int link_to(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    const Recording recording;
    const int outcome = REAL(linkat)(from_folder, from, to_folder, to, flags);
    if (outcome == 0 && recording.disk()) recording.disk()->linked(normal(from_folder, from), normal(to_folder, to));
    return outcome;
}

int unlink_from(int folder, const char* path, int flags) {
    const Recording recording;
    const int outcome = REAL(unlinkat)(folder, path, flags);
    if (outcome == 0 && recording.disk()) recording.disk()->removed(normal(folder, path));
    return outcome;
}

int make_folder(int folder, const char* path, mode_t mode) {
    const Recording recording;
    const int outcome = REAL(mkdirat)(folder, path, mode);
    struct stat info{};
    const std::string whole = normal(folder, path);
    if (outcome == 0 && recording.disk() && recording.disk()->holds(whole) && REAL(lstat)(whole.c_str(), &info) == 0)
        recording.disk()->created(whole, info, true);
    return outcome;
}

void show(struct stat& info) {
    World& all = world();
    const std::lock_guard lock(all.mutex);
    if (info.st_dev != all.device) return;
    const auto found = all.shown.find({info.st_dev, info.st_ino});
    if (found == all.shown.end()) {
        info.st_ino += all.epoch << 40;
        return;
    }
    info.st_ino = found->second.inode;
    if (found->second.untouched) info.st_ctim = found->second.changed;
}

int shown(int outcome, struct stat* info) {
    if (outcome == 0 && watched()) show(*info);
    return outcome;
}

#ifdef SPANFFT_SEES_RINGS

long system_call(long number, const long (&with)[6]) {
    static auto* const function = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
    return function(number, with[0], with[1], with[2], with[3], with[4], with[5]);
}

// Requests of a ring are handed over, writes among them, and waited for.
long enter_with_writes(const spanfft::test::SeenRing& ring, std::vector<spanfft::test::SeenRing::Write> writes,
                       const long (&with)[6], RecordedDisk& disk) {
    const unsigned before = ring.outcomes();
    const long taken = system_call(__NR_io_uring_enter, with);
    if (taken < 0) return taken;
    std::erase_if(writes, [taken](const auto& write) { return write.number >= taken; });
    for (;;) {
        const long wait[6] = {with[0], 0, static_cast<long>(ring.outcomes_left()) + 1, IORING_ENTER_GETEVENTS, 0, 0};
        if (ring.look(writes, before) == 0) break;
        (void)system_call(__NR_io_uring_enter, wait);  // for one more than there were before that look
    }
    for (const auto& write : writes) {
        if (write.done <= 0) continue;
        const struct iovec part = {const_cast<void*>(write.data), static_cast<size_t>(write.done)};
        note_written(disk, write.descriptor, write.at, &part, 1, write.done);
    }
    return taken;
}

long ring_call(long number, const long (&with)[6]) {
    World& all = world();
    const int descriptor = static_cast<int>(number == __NR_io_uring_setup ? -1 : with[0]);
    if (number == __NR_io_uring_enter) {
        std::unique_lock lock(all.mutex);
        const auto found = all.rings.find(descriptor);
        std::vector<spanfft::test::SeenRing::Write> writes;
        if (found != all.rings.end() && all.recording) writes = found->second->writes(static_cast<unsigned>(with[1]));
        if (writes.empty()) {
            lock.unlock();  // it may wait for whoever needs the lock
            return system_call(number, with);
        }
        const Recording recording;
        return enter_with_writes(*found->second, std::move(writes), with, *recording.disk());
    }
    const long outcome = system_call(number, with);
    const int kept = errno;
    const std::lock_guard lock(all.mutex);
    if (number == __NR_io_uring_setup && outcome >= 0) {
        const auto& parameters = *reinterpret_cast<const io_uring_params*>(with[1]);
        const int ring = static_cast<int>(outcome);
        all.rings[ring] = std::make_unique<spanfft::test::SeenRing>(ring, parameters);
    } else if (outcome >= 0 && with[1] == IORING_REGISTER_FILES && all.rings.count(descriptor) > 0) {
        all.rings[descriptor]->registered(reinterpret_cast<const int*>(with[2]), static_cast<unsigned>(with[3]));
    }
    errno = kept;
    return outcome;
}

#endif

}  // namespace

extern "C" {

int power_cut_record(const char* root) {
    World& all = world();
    const std::lock_guard lock(all.mutex);
    const Inside own;
    char* const path = realpath(root, nullptr);
    struct stat info{};
    if (all.recording || !path || REAL(stat)(path, &info) != 0) return -1;
    all.root = path;
    free(path);
    all.device = info.st_dev;
    all.recordings.push_back(std::make_unique<RecordedDisk>(all.root, show));
    all.recording = all.recordings.back().get();
    watching = true;
    return static_cast<int>(all.recordings.size()) - 1;
}

int64_t power_cut_stop(void) {
    World& all = world();
    const std::lock_guard lock(all.mutex);
    if (!all.recording) return -1;
    const RecordedDisk& disk = *all.recording;
    all.recording = nullptr;
    return disk.trouble().empty() ? disk.operations() : -1;
}

const char* power_cut_describe(int recording, int64_t operation) {
    World& all = world();
    const std::lock_guard lock(all.mutex);
    const RecordedDisk& disk = *all.recordings.at(static_cast<size_t>(recording));
    all.text = operation > 0 ? disk.describe(operation) : disk.trouble();
    return all.text.c_str();
}

uint64_t power_cut_state(int recording, power_cut_cut cut, int build) {
    World& all = world();
    const std::lock_guard lock(all.mutex);
    const Inside own;
    const RecordedDisk& disk = *all.recordings.at(static_cast<size_t>(recording));
    const RecordedDisk::State state = disk.state_after(cut);
    if (!build) return state.hash;
    all.shown = disk.build(state);
    ++all.epoch;
    return state.hash;
}

int64_t power_cut_choose(int recording, int all) {
    World& world_now = world();
    const std::lock_guard lock(world_now.mutex);
    world_now.chosen = world_now.recordings.at(static_cast<size_t>(recording))->choose(all != 0);
    return static_cast<int64_t>(world_now.chosen.size());
}

power_cut_cut power_cut_chosen(int64_t index) { return world().chosen.at(static_cast<size_t>(index)); }

const char* power_cut_fate(int fate) { return spanfft::test::fate_name(static_cast<Fate>(fate)); }

void power_cut_end(void) {
    World& all = world();
    const std::lock_guard lock(all.mutex);
    watching = false;
    all.recording = nullptr;
    all.recordings.clear();
    all.shown.clear();
    all.epoch = 0;
}

#define EXPORT __attribute__((visibility("default")))
EXPORT int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(AT_FDCWD, path, flags, mode);
}
EXPORT int open64(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(AT_FDCWD, path, flags, mode);
}
EXPORT int openat(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(folder, path, flags, mode);
}
EXPORT int openat64(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(folder, path, flags, mode);
}
// What _FORTIFY_SOURCE makes of open without a mode.
EXPORT int __open_2(const char* path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
EXPORT int __open64_2(const char* path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
EXPORT int creat(const char* path, mode_t mode) {
    return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

EXPORT ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t at) {
    const Recording recording;
    const ssize_t done = REAL(pwrite)(descriptor, data, bytes, at);
    const struct iovec part = {const_cast<void*>(data), bytes};
    if (recording.disk()) note_written(*recording.disk(), descriptor, at, &part, 1, done);
    return done;
}
EXPORT ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t at) {
    return pwrite(descriptor, data, bytes, at);
}
EXPORT ssize_t pwritev(int descriptor, const struct iovec* parts, int count, off_t at) {
    const Recording recording;
    const ssize_t done = REAL(pwritev)(descriptor, parts, count, at);
    if (recording.disk()) note_written(*recording.disk(), descriptor, at, parts, count, done);
    return done;
}
EXPORT ssize_t pwritev64(int descriptor, const struct iovec* parts, int count, off64_t at) {
    return pwritev(descriptor, parts, count, at);
}
EXPORT ssize_t writev(int descriptor, const struct iovec* parts, int count) {
    const Recording recording;
    const off_t at = recording.disk() ? place_of(descriptor) : 0;
    const ssize_t done = REAL(writev)(descriptor, parts, count);
    if (recording.disk()) note_written(*recording.disk(), descriptor, at, parts, count, done);
    return done;
}
EXPORT ssize_t write(int descriptor, const void* data, size_t bytes) {
    const Recording recording;
    const off_t at = recording.disk() ? place_of(descriptor) : 0;
    const ssize_t done = REAL(write)(descriptor, data, bytes);
    const struct iovec part = {const_cast<void*>(data), bytes};
    if (recording.disk()) note_written(*recording.disk(), descriptor, at, &part, 1, done);
    return done;
}
EXPORT ssize_t sendfile(int to, int from, off_t* offset, size_t bytes) noexcept {
    const Recording recording;
    const off_t at = recording.disk() ? place_of(to) : 0;
    static auto* const function = reinterpret_cast<ssize_t (*)(int, int, off_t*, size_t)>(dlsym(RTLD_NEXT, "sendfile"));
    const ssize_t done = function(to, from, offset, bytes);
    if (recording.disk()) note_copied(*recording.disk(), to, at, done);
    return done;
}
EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, size_t bytes) noexcept {
    return sendfile(to, from, offset, bytes);
}
EXPORT ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t bytes, unsigned flags) {
    const Recording recording;
    const off_t at = to_at ? *to_at : recording.disk() ? place_of(to) : 0;
    const ssize_t done = REAL(copy_file_range)(from, from_at, to, to_at, bytes, flags);
    if (recording.disk()) note_copied(*recording.disk(), to, at, done);
    return done;
}

#ifdef SPANFFT_SEES_RINGS
EXPORT long syscall(long number, ...) noexcept {
    va_list arguments;
    va_start(arguments, number);
    long with[6];
    for (long& each : with) each = va_arg(arguments, long);
    va_end(arguments);
    const bool of_ring =
        number == __NR_io_uring_setup || number == __NR_io_uring_enter || number == __NR_io_uring_register;
    return of_ring ? ring_call(number, with) : system_call(number, with);
}
#endif

EXPORT int ftruncate(int descriptor, off_t bytes) noexcept {
    const Recording recording;
    return size_of(REAL(ftruncate)(descriptor, bytes), descriptor, bytes, false, recording);
}
EXPORT int ftruncate64(int descriptor, off64_t bytes) noexcept { return ftruncate(descriptor, bytes); }
EXPORT int truncate(const char* path, off_t bytes) noexcept {
    const Recording recording;
    const int outcome = REAL(truncate)(path, bytes);
    struct stat info{};
    if (outcome == 0 && recording.disk() && REAL(stat)(path, &info) == 0) recording.disk()->sized(info, bytes, false);
    return outcome;
}
EXPORT int truncate64(const char* path, off64_t bytes) noexcept { return truncate(path, bytes); }
EXPORT int fallocate(int descriptor, int mode, off_t at, off_t bytes) {
    const Recording recording;
    return size_of(REAL(fallocate)(descriptor, mode, at, bytes), descriptor, at + bytes, true, recording);
}
EXPORT int fallocate64(int descriptor, int mode, off64_t at, off64_t bytes) {
    return fallocate(descriptor, mode, at, bytes);
}
EXPORT int posix_fallocate(int descriptor, off_t at, off_t bytes) {
    const Recording recording;
    return size_of(REAL(posix_fallocate)(descriptor, at, bytes), descriptor, at + bytes, true, recording);
}
EXPORT int posix_fallocate64(int descriptor, off64_t at, off64_t bytes) {
    return posix_fallocate(descriptor, at, bytes);
}

EXPORT int fsetxattr(int descriptor, const char* name, const void* value, size_t bytes, int flags) noexcept {
    const Recording recording;
    const int outcome = REAL(fsetxattr)(descriptor, name, value, bytes, flags);
    struct stat info{};
    if (outcome == 0 && recording.disk() && stat_of(descriptor, info))
        recording.disk()->attribute_set(info, name, std::string(static_cast<const char*>(value), bytes));
    return outcome;
}
EXPORT int fremovexattr(int descriptor, const char* name) noexcept {
    const Recording recording;
    const int outcome = REAL(fremovexattr)(descriptor, name);
    struct stat info{};
    if (outcome == 0 && recording.disk() && stat_of(descriptor, info)) recording.disk()->attribute_removed(info, name);
    return outcome;
}

EXPORT int fsync(int descriptor) {
    return flush(descriptor, "fsync", [=] { return REAL(fsync)(descriptor); });
}
EXPORT int fdatasync(int descriptor) {
    return flush(descriptor, "fdatasync", [=] { return REAL(fdatasync)(descriptor); });
}

EXPORT int rename(const char* from, const char* to) noexcept { return rename_to(AT_FDCWD, from, AT_FDCWD, to, 0); }
EXPORT int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return rename_to(from_folder, from, to_folder, to, 0);
}
EXPORT int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    return rename_to(from_folder, from, to_folder, to, flags);
}
EXPORT int link(const char* from, const char* to) noexcept { return link_to(AT_FDCWD, from, AT_FDCWD, to, 0); }
EXPORT int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
    return link_to(from_folder, from, to_folder, to, flags);
}
EXPORT int unlink(const char* path) noexcept { return unlink_from(AT_FDCWD, path, 0); }
EXPORT int unlinkat(int folder, const char* path, int flags) noexcept { return unlink_from(folder, path, flags); }
EXPORT int rmdir(const char* path) noexcept { return unlink_from(AT_FDCWD, path, AT_REMOVEDIR); }
EXPORT int remove(const char* path) noexcept {
    if (unlink_from(AT_FDCWD, path, 0) == 0) return 0;
    return errno == EISDIR ? unlink_from(AT_FDCWD, path, AT_REMOVEDIR) : -1;
}
EXPORT int mkdir(const char* path, mode_t mode) noexcept { return make_folder(AT_FDCWD, path, mode); }
EXPORT int mkdirat(int folder, const char* path, mode_t mode) noexcept { return make_folder(folder, path, mode); }
EXPORT int fchmod(int descriptor, mode_t mode) noexcept {
    const Recording recording;
    const int outcome = REAL(fchmod)(descriptor, mode);
    struct stat info{};
    if (outcome == 0 && recording.disk() && stat_of(descriptor, info)) recording.disk()->mode_changed(info);
    return outcome;
}
EXPORT int chmod(const char* path, mode_t mode) noexcept {
    const Recording recording;
    const int outcome = REAL(chmod)(path, mode);
    struct stat info{};
    if (outcome == 0 && recording.disk() && REAL(stat)(path, &info) == 0) recording.disk()->mode_changed(info);
    return outcome;
}

EXPORT int fstat(int descriptor, struct stat* info) noexcept { return shown(REAL(fstat)(descriptor, info), info); }
EXPORT int stat(const char* path, struct stat* info) noexcept { return shown(REAL(stat)(path, info), info); }
EXPORT int lstat(const char* path, struct stat* info) noexcept { return shown(REAL(lstat)(path, info), info); }
EXPORT int fstatat(int folder, const char* path, struct stat* info, int flags) noexcept {
    return shown(REAL(fstatat)(folder, path, info, flags), info);
}
EXPORT int fstat64(int descriptor, struct stat64* info) noexcept {
    return fstat(descriptor, reinterpret_cast<struct stat*>(info));
}
EXPORT int stat64(const char* path, struct stat64* info) noexcept {
    return stat(path, reinterpret_cast<struct stat*>(info));
}
EXPORT int lstat64(const char* path, struct stat64* info) noexcept {
    return lstat(path, reinterpret_cast<struct stat*>(info));
}
EXPORT int fstatat64(int folder, const char* path, struct stat64* info, int flags) noexcept {
    return fstatat(folder, path, reinterpret_cast<struct stat*>(info), flags);
}

}  // extern "C"
