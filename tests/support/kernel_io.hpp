// What the kernel says of this process's reads and writes: /proc/self/io, the calls and bytes of all its threads.
#pragma once

#include "core/extents.hpp"

namespace spanfft::test {

struct KernelIo {
    index_t reads = 0, read_bytes = 0, writes = 0, written_bytes = 0;  // system calls, and what they asked for
    index_t device_read_bytes = 0, device_written_bytes = 0;           // what went to block devices, pages once dirtied
    bool known = false;                                                // false: this kernel says nothing
};

// Since the process began. The call itself is one read, which the next one's figures have; `since` takes it out.
KernelIo kernel_io();
KernelIo since(const KernelIo& before);

}  // namespace spanfft::test
