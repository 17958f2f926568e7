// ReadSum: a checksum of what a sweep has read of its input, for a later run to compare with what is there now.
//
// Method: as in panel_sums.hpp, every piece of up to 4 KiB that lies in one panel has a checksum that includes its
// place, and sums have no order. So the sum of the panels that are done can be had again in one reading of the file
// from its beginning to its end, whatever order they were read in. A panel counts (settle) when what was made of it is
// written, as in a journal's line.
// Invariant: allocates at construction only. Members of a thread team add at once, each to a sum of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/status.hpp"
#include "disk/partition.hpp"
#include "disk/pipeline.hpp"

namespace spanfft {

class ReadSum {
  public:
    // `reader` says which panel reads what of the store.
    ReadSum(const Partition& reader, int members);
    ReadSum(const ReadSum&) = delete;
    // Whether requests end where pieces do: an array that begins inside an element's alignment has its requests cut
    // elsewhere (piece_of).
    static bool can_sum(index_t offset_bytes, index_t elem_bytes) { return offset_bytes % elem_bytes == 0; }

    // Run i of a panel; then, when all of them were added; then, when what was made of it is written.
    void add(int member, index_t panel, index_t i, const Run& run);
    void end_read(index_t panel);
    void settle(index_t panel) { sum_ += pending_[static_cast<size_t>(panel % kMaxSlots)]; }

    uint64_t sum() const { return sum_; }  // of the panels that were settled
    void restore(uint64_t sum) { sum_ = sum; }

    // The sum of the first `panels` panels of an array at [begin, begin + bytes) of `store`, read anew through `memory`
    // (4 KiB of its own where that is less). Where the reader's partition has it elsewhere (blocks of parallel disks
    // begin at 0), places are the partition's. `go_on` is asked between two requests.
    Result<uint64_t> sum_again(Store& store, index_t begin, index_t bytes, index_t panels, char* memory,
                               index_t memory_bytes, const std::function<bool()>& go_on) const;

  private:
    const PanelFinder reader_of_;
    const Partition& reader_;  // its
    uint64_t sum_ = 0;
    uint64_t pending_[kMaxSlots] = {};  // of panels whose writes may not have ended
    std::vector<uint64_t> read_;        // [member], of the panel that is read
};

}  // namespace spanfft
