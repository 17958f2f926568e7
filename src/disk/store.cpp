// Counting at the Store boundary; see store.hpp.
#include "disk/store.hpp"

namespace spanfft {

Status Store::read(const Run& run) {
    SPANFFT_TRY(do_read(run));
    reads_.fetch_add(1, std::memory_order_relaxed);
    read_bytes_.fetch_add(run.bytes, std::memory_order_relaxed);
    return {};
}

Status Store::write(const Run& run) {
    SPANFFT_TRY(do_write(run));
    writes_.fetch_add(1, std::memory_order_relaxed);
    written_bytes_.fetch_add(run.bytes, std::memory_order_relaxed);
    return {};
}

StoreCounts Store::counts() const { return {reads_.load(), read_bytes_.load(), writes_.load(), written_bytes_.load()}; }

}  // namespace spanfft
