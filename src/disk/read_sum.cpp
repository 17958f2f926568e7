// Adding up what is read, and reading it again; see read_sum.hpp.
#include "disk/read_sum.hpp"

#include <algorithm>

#include "core/buffer.hpp"
#include "disk/checksum.hpp"

namespace spanfft {

ReadSum::ReadSum(const Partition& reader, int members) : reader_(reader), read_(static_cast<size_t>(members)) {}

// Calls with the part that a piece is of and its checksum.
template <class Each>
void ReadSum::each_piece(const Run& run, Each each) const {
    const index_t end = run.offset_bytes + run.bytes;
    Partition::Part part;
    for (index_t at = run.offset_bytes; at < end;) {
        if (at >= part.end_bytes) part = reader_.at(at);
        const index_t stop = std::min({part.end_bytes, at - at % kDirectBytes + kDirectBytes, end});
        each(part, placed_checksum(static_cast<const char*>(run.data) + (at - run.offset_bytes), stop - at, at));
        at = stop;
    }
}

void ReadSum::add(int member, index_t panel, index_t i, const Run& run) {
    uint64_t& sum = read_[static_cast<size_t>(member)];
    each_piece(run, [&](const Partition::Part& part, uint64_t checksum) {
        if (reader_.has(panel, i, part)) sum += checksum;
    });
}

void ReadSum::end_read(index_t panel) {
    uint64_t& pending = pending_[static_cast<size_t>(panel % kPending)];
    pending = 0;
    for (uint64_t& sum : read_) {
        pending += sum;
        sum = 0;
    }
}

Result<uint64_t> ReadSum::sum_again(Store& store, index_t begin, index_t bytes, index_t panels, char* memory,
                                    index_t memory_bytes, const std::function<bool()>& go_on) const {
    Buffer block;
    if (memory_bytes < kDirectBytes) {
        SPANFFT_ASSIGN(block, Buffer::allocate(kDirectBytes));
        memory = block.as<char>();
        memory_bytes = kDirectBytes;
    }
    const index_t most = memory_bytes / kDirectBytes * kDirectBytes;
    const index_t end = reader_.offset_bytes + bytes, shift = begin - reader_.offset_bytes;
    uint64_t sum = 0;
    for (index_t at = reader_.offset_bytes; at < end;) {
        if (!go_on()) return error(Code::interrupted, "stopped while what the unfinished run had read was read again");
        const index_t stop = std::min(end, at - at % kDirectBytes + most);
        SPANFFT_TRY(store.read({at + shift, memory, stop - at}));
        each_piece({at, memory, stop - at}, [&](const Partition::Part& part, uint64_t checksum) {
            if (reader_.panel_of(part.id) < panels) sum += checksum;
        });
        at = stop;
    }
    return sum;
}

}  // namespace spanfft
