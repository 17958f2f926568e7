// What a system call of this process is answered from here on, for children that a test makes.
#pragma once

#include <cstdint>

namespace spanfft::test {

// `answer`: one of SECCOMP_RET_*, with an errno for SECCOMP_RET_ERRNO. False: the kernel takes no filter.
bool answer_system_call(uint32_t number, uint32_t answer);
// From here on no file can be opened with O_DIRECT: all reads and writes are those that were asked for.
bool refuse_direct_files();

}  // namespace spanfft::test
