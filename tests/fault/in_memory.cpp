// Where the tests of faults keep their files: in memory, if there is room.
//
// They make thousands of small runs, each of which flushes its journal, output and scratch some ten times. A disk takes
// 5 ms and more for each flush, so that they would wait for it most of the time (one test: 80 s on a busy disk, 15 in
// memory). What is flushed when is recorded above the file system, and held by the power cuts. TMPDIR, if it is set,
// says otherwise; tests that are about the kernel's own counts of a disk are in tests/unit.
#include <sys/vfs.h>

#include <cstdlib>

namespace spanfft::test {
namespace {

constexpr long kMemoryFileSystem = 0x01021994;  // TMPFS_MAGIC of linux/magic.h
constexpr unsigned long long kRoomBytes = 1ULL << 30;

// Before the first test, as it is made when the program starts.
[[maybe_unused]] const bool in_memory = [] {
    struct statfs found = {};
    if (std::getenv("TMPDIR") || statfs("/dev/shm", &found) != 0 || found.f_type != kMemoryFileSystem) return false;
    if (static_cast<unsigned long long>(found.f_bavail) * static_cast<unsigned long long>(found.f_bsize) < kRoomBytes)
        return false;
    return setenv("TMPDIR", "/dev/shm", 0) == 0;
}();

}  // namespace
}  // namespace spanfft::test
