// Where parts lie in buffers; see packing.hpp.
#include "exchange/packing.hpp"

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

void pack(const PackedSide& side, const void* array, void* buffer) {
    if (!side.packed) return;
    for (size_t i = 0; i < side.parts.size(); ++i) {
        if (side.wire[i].bytes) copy_strided(side.parts[i], array, side.packed_parts[i], buffer);
    }
}

void unpack(const PackedSide& side, const void* buffer, void* array) {
    if (!side.packed) return;
    for (size_t i = 0; i < side.parts.size(); ++i) {
        if (side.wire[i].bytes) copy_strided(side.packed_parts[i], buffer, side.parts[i], array);
    }
}

index_t kept_bytes(const PackedSide& side, const std::vector<Piece>& pieces, int rank) {
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].peer == rank) return side.parts[i].bytes();
    }
    return 0;
}

index_t wire_bytes(const PackedSide& side) {
    index_t bytes = 0;
    for (const auto& part : side.wire) bytes += part.bytes;
    return bytes;
}

}  // namespace spanfft
