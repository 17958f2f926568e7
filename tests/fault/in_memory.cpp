// Where the tests of faults keep their files: in memory, if there is room.
//
// They make thousands of small runs, each of which flushes its journal, output and scratch some ten times. A disk takes
// 5 ms and more for each flush, so that they would wait for it most of the time (one test: 80 s on a busy disk, 15 in
// memory). What is flushed when is recorded above the file system, and held by the power cuts. TMPDIR, if it is set,
// says otherwise; tests that are about the kernel's own counts of a disk are in tests/unit.
//
// All files of a process lie in one folder, named after it. A process that was killed can't remove its own, so the next
// one does: memory would be full of them after some days.
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace spanfft::test {
namespace {

constexpr long kMemoryFileSystem = 0x01021994;  // TMPFS_MAGIC of linux/magic.h
constexpr unsigned long long kRoomBytes = 1ULL << 30;
constexpr char kFolders[] = "spanfft-fault-tests-";  // and the number of the process

void remove_what_dead_ones_left() {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kFolders)) continue;
        pid_t process = 0;
        const auto [end, error] =
            std::from_chars(name.data() + sizeof(kFolders) - 1, name.data() + name.size(), process);
        const bool is_number = error == std::errc() && end == name.data() + name.size() && process > 0;
        if (is_number && kill(process, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ignored);
    }
}

// The folder of this process; a child that ends leaves it to its parent.
struct OwnFolder {
    pid_t owner = getpid();
    std::string path = "/dev/shm/" + (kFolders + std::to_string(owner));

    OwnFolder() = default;
    OwnFolder(const OwnFolder&) = delete;
    OwnFolder& operator=(const OwnFolder&) = delete;
    ~OwnFolder() {
        std::error_code ignored;
        if (getpid() == owner) std::filesystem::remove_all(path, ignored);
    }
};

// Before the first test, as it is made when the program starts.
[[maybe_unused]] const bool in_memory = [] {
    struct statfs found = {};
    if (std::getenv("TMPDIR") || statfs("/dev/shm", &found) != 0 || found.f_type != kMemoryFileSystem) return false;
    if (static_cast<unsigned long long>(found.f_bavail) * static_cast<unsigned long long>(found.f_bsize) < kRoomBytes)
        return false;
    remove_what_dead_ones_left();
    static const OwnFolder folder;
    std::error_code error;
    if (!std::filesystem::create_directory(folder.path, error) && error) return false;
    return setenv("TMPDIR", folder.path.c_str(), 0) == 0;
}();

}  // namespace
}  // namespace spanfft::test
