// Adding up what is read, and reading it again; see read_sum.hpp.
#include "disk/read_sum.hpp"

#include <algorithm>

#include "core/buffer.hpp"

namespace spanfft {

ReadSum::ReadSum(const Partition& reader, int members)
    : reader_of_(reader), reader_(reader_of_.partition()), read_(static_cast<size_t>(members)) {}

void ReadSum::add(int member, index_t panel, index_t i, const Run& run) {
    uint64_t& sum = read_[static_cast<size_t>(member)];
    each_piece(run, std::array{&reader_of_}, [&](const SummedPiece& piece, const auto& parts) {
        if (reader_.has(panel, i, parts[0])) sum += piece.sum();
    });
}

void ReadSum::end_read(index_t panel) {
    uint64_t& pending = pending_[static_cast<size_t>(panel % kMaxSlots)];
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
        each_piece(Run{at, memory, stop - at}, std::array{&reader_of_},
                   [&](const SummedPiece& piece, const auto& parts) {
                       if (reader_.panel_of(parts[0].id) < panels) sum += piece.sum();
                   });
        at = stop;
    }
    return sum;
}

}  // namespace spanfft
