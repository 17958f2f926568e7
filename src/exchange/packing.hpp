// Packing: one side of an exchange whose parts travel as contiguous bytes.
//
// Method: the parts for, or from, each peer lie one after the other in a buffer, unless every part is contiguous in the
// local array anyway: then MPI is given the array itself and nothing is copied. The rank's own part never goes through
// the buffer: it is copied from array to array.
#pragma once

#include <functional>

#include "exchange/exchange.hpp"

namespace spanfft {

enum class Packing { where_needed, always };

struct PackedSide {
    std::vector<StridedPart> parts;  // in the array, one for each member of the group; the own rank's part included
    std::vector<BytesPart> wire;     // what MPI is given: in the array or in the buffer; the own rank's is empty
    std::vector<StridedPart> packed_parts;  // the same places in the buffer, as copies want them; empty unless packed
    bool packed = false;
    index_t buffer_bytes = 0;  // 0 unless packed
};

// `pieces` of a local array that holds `mine`; parts in the buffer start at `first_byte`.
PackedSide make_side(const std::vector<Piece>& pieces, const Patch& mine, index_t elem_bytes, int rank,
                     Packing packing = Packing::where_needed, index_t first_byte = 0);

// Nothing unless side.packed; both return how many bytes they copied.
index_t pack(const PackedSide& side, const void* array, void* buffer);
index_t unpack(const PackedSide& side, const void* buffer, void* array);

// What make_side would make of both sides, in sums and from kinds of peers alone: for predictions.
struct SideSums {
    index_t messages = 0;  // parts that are not empty; the own rank's is none
    index_t bytes = 0;     // of these
    bool packed = false;
    index_t buffer_bytes() const { return packed ? bytes : 0; }
};
struct PartSums {
    SideSums send, receive;
    index_t pairs = 0, larger_bytes = 0;  // peers with a part either way, and the larger of the two, summed
    index_t kept_bytes = 0;
    // Moved through memory: both sides where they are packed, and what stays.
    index_t copied_bytes() const { return 2 * (send.buffer_bytes() + receive.buffer_bytes() + kept_bytes); }
};
// Of the whole exchange, and of one in which `rank` sends `sent` of its part and each member what `sent_by` says, along
// axis `apart` by its own rows (as in peer_kinds).
PartSums sum_parts(const ExchangeSpec& spec, int rank, Packing packing);
PartSums sum_parts(const ExchangeSpec& spec, int rank, Packing packing, const Patch& sent,
                   const std::function<Patch(int)>& sent_by, int apart);

}  // namespace spanfft
