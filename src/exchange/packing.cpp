// Where parts lie in buffers; see packing.hpp.
#include "exchange/packing.hpp"

#include <algorithm>

#include "comm/strided_copy.hpp"

namespace spanfft {

PackedSide make_side(const std::vector<Piece>& pieces, const Patch& mine, index_t elem_bytes, int rank, Packing packing,
                     index_t first_byte) {
    PackedSide side;
    side.packed = packing == Packing::always;
    for (const auto& piece : pieces) {
        side.parts.push_back(strided_part(piece, patch_shape(mine), elem_bytes));
        if (piece.peer != rank && !is_contiguous(side.parts.back())) side.packed = true;
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
        const index_t bytes = pieces[i].peer == rank ? 0 : side.parts[i].bytes();
        if (side.packed) {
            side.wire.push_back({first_byte + side.buffer_bytes, bytes});
            side.packed_parts.push_back({side.wire.back().offset_bytes, {{bytes, 1}}, 1});
            side.buffer_bytes += bytes;
        } else {
            side.wire.push_back({bytes ? side.parts[i].offset_bytes : 0, bytes});
        }
    }
    return side;
}

namespace {

// A part of one of `times` peers.
void add(SideSums& side, const StridedPart& part, index_t times) {
    if (part.bytes() == 0) return;
    side.messages += times;
    side.bytes += times * part.bytes();
    side.packed = side.packed || !is_contiguous(part);
}

}  // namespace

PartSums sum_parts(const ExchangeSpec& spec, int rank, Packing packing, const Patch& sent,
                   const std::function<Patch(int)>& sent_by, int apart) {
    const Patch source = spec.from.patch(rank), target = spec.to.patch(rank);
    const auto part_of = [&](const Patch& mine, const Patch& some, const Patch& theirs) {
        return strided_part(make_piece(0, mine, intersect(some, theirs)), patch_shape(mine), spec.elem_bytes);
    };
    PartSums sums;
    sums.send.packed = sums.receive.packed = packing == Packing::always;
    for (const PeerKind& kind : peer_kinds(spec.from, spec.to, rank, sent, apart)) {
        const StridedPart given = part_of(source, sent, spec.to.patch(kind.peer));
        if (kind.peer == rank) {
            sums.kept_bytes = given.bytes();
            continue;
        }
        const StridedPart taken = part_of(target, target, sent_by(kind.peer));
        add(sums.send, given, kind.times);
        add(sums.receive, taken, kind.times);
        const index_t larger = std::max(given.bytes(), taken.bytes());
        sums.pairs += larger > 0 ? kind.times : 0;
        sums.larger_bytes += kind.times * larger;
    }
    return sums;
}

PartSums sum_parts(const ExchangeSpec& spec, int rank, Packing packing) {
    return sum_parts(spec, rank, packing, spec.from.patch(rank), [&](int peer) { return spec.from.patch(peer); }, -1);
}

index_t pack(const PackedSide& side, const void* array, void* buffer) {
    index_t copied_bytes = 0;
    if (!side.packed) return copied_bytes;
    for (size_t i = 0; i < side.parts.size(); ++i) {
        if (side.wire[i].bytes) copied_bytes += copy_strided(side.parts[i], array, side.packed_parts[i], buffer);
    }
    return copied_bytes;
}

index_t unpack(const PackedSide& side, const void* buffer, void* array) {
    index_t copied_bytes = 0;
    if (!side.packed) return copied_bytes;
    for (size_t i = 0; i < side.parts.size(); ++i) {
        if (side.wire[i].bytes) copied_bytes += copy_strided(side.packed_parts[i], buffer, side.parts[i], array);
    }
    return copied_bytes;
}

}  // namespace spanfft
