// Reading /proc/self/io; see kernel_io.hpp.
#include "support/kernel_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace spanfft::test {

namespace {

index_t field(const char* text, const char* name) {
    const char* const at = std::strstr(text, name);
    return at ? std::strtoll(at + std::strlen(name), nullptr, 10) : 0;
}

index_t own_bytes = 0;  // of the last call's read

}  // namespace

KernelIo kernel_io() {
    KernelIo io;
    std::array<char, 1024> text{};
    const int file = ::open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    if (file < 0) return io;
    const ssize_t got = ::read(file, text.data(), text.size() - 1);
    ::close(file);
    if (got <= 0) return io;
    own_bytes = got;
    io.reads = field(text.data(), "syscr: ");
    io.read_bytes = field(text.data(), "rchar: ");
    io.writes = field(text.data(), "syscw: ");
    io.written_bytes = field(text.data(), "wchar: ");
    io.device_read_bytes = field(text.data(), "\nread_bytes: ");
    io.device_written_bytes = field(text.data(), "\nwrite_bytes: ");
    io.known = std::strstr(text.data(), "syscr: ") != nullptr;
    return io;
}

KernelIo since(const KernelIo& before) {
    const index_t before_bytes = own_bytes;
    const KernelIo now = kernel_io();
    return {now.reads - before.reads - 1,
            now.read_bytes - before.read_bytes - before_bytes,
            now.writes - before.writes,
            now.written_bytes - before.written_bytes,
            now.device_read_bytes - before.device_read_bytes,
            now.device_written_bytes - before.device_written_bytes,
            before.known && now.known};
}

}  // namespace spanfft::test
