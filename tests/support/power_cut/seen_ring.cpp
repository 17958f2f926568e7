// A ring's arrays, mapped once more; see seen_ring.hpp.
#include "seen_ring.hpp"

#ifdef SPANFFT_SEES_RINGS

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

namespace spanfft::test {

namespace {

unsigned load(const unsigned* shared) {
    return std::atomic_ref<unsigned>(*const_cast<unsigned*>(shared)).load(std::memory_order_acquire);
}

}  // namespace

SeenRing::SeenRing(int ring, const io_uring_params& parameters) : parameters_(parameters) {
    requests_.bytes = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
    outcomes_.bytes = parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe);
    entries_.bytes = parameters.sq_entries * sizeof(io_uring_sqe);
    const auto map = [ring](Map& into, std::uint64_t offset) {
        void* address = mmap(nullptr, into.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, static_cast<off_t>(offset));
        if (address == MAP_FAILED) abort();
        into.address = static_cast<char*>(address);
    };
    map(requests_, IORING_OFF_SQ_RING);
    map(outcomes_, IORING_OFF_CQ_RING);
    map(entries_, IORING_OFF_SQES);
}

SeenRing::~SeenRing() {
    for (const Map* map : {&requests_, &outcomes_, &entries_}) (void)munmap(map->address, map->bytes);
}

std::vector<SeenRing::Write> SeenRing::writes(unsigned count) const {
    const unsigned first = load(requests_.at(parameters_.sq_off.head)),
                   mask = *requests_.at(parameters_.sq_off.ring_mask);
    const unsigned* order = requests_.at(parameters_.sq_off.array);
    const auto* entries = reinterpret_cast<const io_uring_sqe*>(entries_.address);
    std::vector<Write> found;
    for (unsigned i = first; i != first + count; ++i) {
        const io_uring_sqe& entry = entries[order[i & mask]];
        if (entry.opcode != IORING_OP_WRITE && entry.opcode != IORING_OP_WRITE_FIXED) continue;
        const bool by_number = (entry.flags & IOSQE_FIXED_FILE) != 0;
        found.push_back({static_cast<long>(i - first), entry.user_data,
                         by_number ? files_.at(static_cast<std::size_t>(entry.fd)) : entry.fd,
                         reinterpret_cast<const void*>(entry.addr), static_cast<std::int64_t>(entry.off)});
    }
    return found;
}

unsigned SeenRing::outcomes() const { return load(outcomes_.at(parameters_.cq_off.tail)); }

unsigned SeenRing::outcomes_left() const { return outcomes() - load(outcomes_.at(parameters_.cq_off.head)); }

unsigned SeenRing::look(std::vector<Write>& writes, unsigned before) const {
    const auto* cqes = reinterpret_cast<const io_uring_cqe*>(outcomes_.address + parameters_.cq_off.cqes);
    const unsigned mask = *outcomes_.at(parameters_.cq_off.ring_mask), end = outcomes();
    unsigned missing = 0;
    for (Write& write : writes) {
        bool seen = false;
        for (unsigned i = before; i != end && !seen; ++i) {
            const io_uring_cqe& outcome = cqes[i & mask];
            seen = outcome.user_data == write.tag;
            if (seen) write.done = outcome.res;
        }
        missing += seen ? 0 : 1;
    }
    return missing;
}

}  // namespace spanfft::test

#endif
