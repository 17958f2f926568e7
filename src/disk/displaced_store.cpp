// From bytes of the displaced array to those below; see displaced_store.hpp.
#include "disk/displaced_store.hpp"

#include <algorithm>
#include <limits>

namespace spanfft {

Displacement::Spot Displacement::find(index_t byte) const {
    const index_t end = begin_bytes + total_bytes;
    if (byte < begin_bytes) return {byte, begin_bytes - byte};
    if (byte >= end || row_bytes == 0) return {byte + extra_bytes(), std::numeric_limits<index_t>::max() / 2};
    const index_t row = (byte - begin_bytes) / row_bytes, column = (byte - begin_bytes) % row_bytes;
    const index_t stays = row_bytes - shift_bytes;
    if (column < stays) return {byte + shift_bytes, stays - column};
    return {end + row * shift_bytes + column - stays, row_bytes - column};
}

Run DisplacedStore::part_below(const Run& run, index_t from) const {
    const index_t end = run.offset_bytes + run.bytes;
    const Displacement::Spot spot = displacement_.find(from);
    Run part;
    part.offset_bytes = spot.byte;
    part.data = static_cast<char*>(run.data) + (from - run.offset_bytes);
    part.bytes = std::min(spot.bytes, end - from);
    // A read may be widened only where what lies around it in memory is its own run's, and as aligned as in the file.
    const bool whole = part.bytes == run.bytes;
    part.slack = run.slack && whole && (spot.byte - from) % kDirectBytes == 0;
    return part;
}

bool DisplacedStore::next_piece(const Run& run, int index, index_t& from, Run& piece) const {
    const index_t end = run.offset_bytes + run.bytes;
    while (from < end) {
        const Run part = part_below(run, from);
        index_t at = part.offset_bytes;
        if (below_.next_piece(part, index, at, piece)) {
            from += at - part.offset_bytes;
            return true;
        }
        from += part.bytes;
    }
    return false;
}

Status DisplacedStore::transfer(IoKind kind, const Run& run) {
    const index_t end = run.offset_bytes + run.bytes;
    for (index_t from = run.offset_bytes; from < end;) {
        const Run part = part_below(run, from);
        SPANFFT_TRY(kind == IoKind::read ? below_.read(part) : below_.write(part));
        from += part.bytes;
    }
    return {};
}

}  // namespace spanfft
