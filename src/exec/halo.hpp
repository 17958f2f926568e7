// Halo: a rank's part of an array with its periodic surroundings, and the adjoint, which adds surroundings back.
//
// Method: along an axis the extended part has the indices first - before ... last + after of a line without end. Those
// of them that a rank owns form pieces of consecutive indices, one for each period that is met; what two ranks have in
// common are the products of their pieces of all axes. Where the array lies in a window that all ranks see, each copies
// these straight from the owners' parts; what does not lie there is packed into another window. So ranks of a node send
// nothing. Elsewhere all goes in one all-to-all, whatever the width.
// Invariant: every element of an extended part lies in exactly one piece of one owner, so `exchange` writes each once,
// and no piece holds an element of its owner twice, so that `add` may add a whole piece at once. Sums are in the order
// of ranks, whatever carries them: the same to the last bit.
// Worked numbers: 4 indices on 2 ranks, widths 3 and 0: rank 0 has 0 1 and its extended part is -3 -2 -1 0 1: pieces
// -2 -1 of rank 1 (its 2 3), and -3 and 0 1 of its own.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/comm.hpp"
#include "core/buffer.hpp"
#include "core/counts.hpp"
#include "plan/step.hpp"

namespace spanfft {

struct HaloWidth {
    index_t before = 0, after = 0;
    bool operator==(const HaloWidth&) const = default;
};

class Halo {
  public:
    // Collective over comm, which it keeps. `array` is in boxes, and `widths` has an entry for each axis, of a batch 0.
    // `window`: in which every rank's part lies; nullptr: there is none.
    static Result<std::unique_ptr<Halo>> make(ArrayState array, std::vector<HaloWidth> widths,
                                              std::unique_ptr<Comm> comm, std::shared_ptr<SharedWindow> window);

    // Collective. This rank's part with its surroundings. `ready`: why this rank can't take part, if so.
    Status exchange(const void* part, void* extended, const Status& ready = {});
    // Collective. The adjoint: each element of the part becomes the sum of all ranks' copies of it.
    Status add(const void* extended, void* part, const Status& ready = {});

    const Patch& extended() const { return extended_; }  // starts may be negative; empty where the part is
    index_t part_bytes() const { return part_bytes_; }
    index_t extended_bytes() const { return patch_elems(extended_) * elem_bytes(); }

    // Of one call on this rank. `in_window`: the part is the one in the window.
    Counts predict_exchange(bool in_window) const;
    Counts predict_add() const;
    const std::optional<Counts>& counted() const { return counted_; }  // of the last call

  private:
    // What lies in the extended part of one rank and in the part of another.
    struct Block {
        StridedPart extended, part;
    };
    // What is packed for, or comes from, each rank: runs of bytes, one rank's after another's.
    struct Packed {
        std::vector<BytesPart> of_rank;
        index_t bytes = 0;
    };

    using BlocksByRank = std::vector<std::vector<Block>>;

    Halo(ArrayState array, std::vector<HaloWidth> widths, std::unique_ptr<Comm> comm,
         std::shared_ptr<SharedWindow> window);
    Status allocate();
    Status make_pack_window();
    Patch extended_of(int rank) const;
    std::vector<Block> blocks(int extended_rank, int owner) const;
    static Packed packed(const BlocksByRank& blocks);
    index_t elem_bytes() const { return static_cast<index_t>(array_.elem.bytes()); }
    index_t own_bytes() const;
    Counts predict_messages(const Packed& outgoing) const;

    Status begin(const void* in, index_t in_bytes, const void* out, index_t out_bytes, const Status& ready);
    Result<bool> all_in_window(const void* part);
    void pack(const BlocksByRank& blocks, StridedPart Block::* side, const void* array);
    template <class Visit>
    Status deliver(Transfer* transfer, const Packed& incoming, const std::vector<index_t>& places,
                   const BlocksByRank& blocks, const Visit& visit);
    Status finish();

    const ArrayState array_;
    const std::vector<HaloWidth> widths_;
    std::unique_ptr<Comm> comm_;
    std::shared_ptr<Counts> sent_;  // by comm_'s transfers
    std::shared_ptr<SharedWindow> window_;
    const Patch part_, extended_;
    const index_t part_bytes_;
    std::vector<Block> own_;                          // what this rank's extended part has of its own part
    BlocksByRank inner_, outer_;                      // by rank: of its part in ours extended; of ours in its extended
    Packed in_halo_, in_part_;                        // the same as runs of bytes
    std::unique_ptr<SharedWindow> packs_;             // each rank's outgoing runs; nullptr: they are sent
    std::vector<index_t> halo_places_, part_places_;  // where those for this rank lie, in each rank's pack
    Buffer outgoing_, incoming_;
    std::unique_ptr<Transfer> to_halo_, to_part_;
    index_t moved_bytes_ = 0;
    std::optional<Counts> counted_;
};

}  // namespace spanfft
