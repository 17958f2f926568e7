// Copies; see memory_scratch.hpp.
#include "disk/memory_scratch.hpp"

#include <cstring>

namespace spanfft {

Status MemoryScratch::do_read(const Run& run) {
    SPANFFT_TRY(check_range(run));
    std::memcpy(run.data, memory_ + run.offset_bytes, static_cast<size_t>(run.bytes));
    return {};
}

Status MemoryScratch::do_write(const Run& run) {
    SPANFFT_TRY(check_range(run));
    std::memcpy(memory_ + run.offset_bytes, run.data, static_cast<size_t>(run.bytes));
    return {};
}

}  // namespace spanfft
