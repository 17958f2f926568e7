// Keeps a test program to one processor where ctest asks for it (SPANFFT_TEST_CPU_LOCKS, a folder;
// tests/CMakeLists.txt).
//
// Tests of faults are thousands of short runs, whose threads wake one another all the time. Where these are on
// different processors of a virtual machine each waking is the host's business, and the same runs take 2.5 times as
// long. Programs that run at the same time get a processor each, by the lock of a file; where all are taken one goes
// wherever it likes.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace spanfft::test {
namespace {

bool keep_to_a_free_cpu() {
    const char* const folder = std::getenv("SPANFFT_TEST_CPU_LOCKS");
    cpu_set_t allowed;
    if (std::getenv("SPANFFT_TEST_FILTER")) return false;  // which may name tests about processors
    if (!folder || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(static_cast<size_t>(cpu), &allowed)) continue;
        const std::string lock = std::string(folder) + "/cpu-" + std::to_string(cpu) + ".lock";
        const int file = open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
        if (file < 0) return false;
        if (flock(file, LOCK_EX | LOCK_NB) == 0) {  // till the program ends, however it does
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(static_cast<size_t>(cpu), &one);
            return sched_setaffinity(0, sizeof one, &one) == 0;
        }
        close(file);
    }
    return false;
}

[[maybe_unused]] const bool kept = keep_to_a_free_cpu();  // before there are threads

}  // namespace
}  // namespace spanfft::test
