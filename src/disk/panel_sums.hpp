// PanelSums: checksums of what one sweep writes and the next one reads.
//
// Method: the writer's panels cross the reader's. Every piece of up to 4 KiB that lies in one panel of either side has
// a checksum that includes its place; a *cell* is the sum of those in one reader's panel and one group of neighbouring
// writer's panels. Sums have no order, so the writer adds up as it goes and the reader compares a panel's cells when it
// has read all of it. Worked: 100 panels cross 80: with 80 groups of a panel or two there are 8000 cells, 62.5 KiB.
// Where ranks read what others have written (Partition::of_all), each adds up for the panels of all ranks, and before
// any reads they send one another what is theirs (share): a cell is then what all ranks have written of it.
// A writer's panel counts (settle) when its writes have ended, so that a snapshot holds whole panels only.
// Invariant: allocates at construction, and in share(). Members of a thread team add at once, each to sums of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "disk/partition.hpp"
#include "disk/store.hpp"

namespace spanfft {

class PanelSums {
  public:
    PanelSums(const Partition& writer, const Partition& reader, index_t max_cells, int members);
    PanelSums(const PanelSums&) = delete;
    // What one would allocate.
    static index_t bytes(const Partition& writer, const Partition& reader, index_t max_cells, int members);

    // Writing. add_written: any member, runs of the panel that is being computed; end_written: all of them are in.
    void add_written(int member, const Run& run);
    void end_written(index_t panel);
    void settle(index_t panel);  // its writes have ended; panels one after the other

    // Collective, of sums of all ranks: before any of them reads, once in a run. `allgather` is Comm's.
    using Allgather = std::function<Status(const void* mine, size_t bytes, void* all)>;
    Status share(int ranks, int rank, const Allgather& allgather);
    bool of_all_ranks() const { return reader_.of_all(); }

    // Reading: all runs of a panel (the i-th), then whether they are what was written. `runs` calls with each of them
    // again, whose data is not looked at any more, to find where they differ.
    void add_read(int member, index_t panel, index_t i, const Run& run);
    using EachRun = std::function<void(const Run&)>;
    Status check(index_t panel, Store& store, const std::function<void(const EachRun&)>& runs);

    // For a journal: the groups of writer's panels [first, last) and their cells in hex; and back.
    std::string snapshot(index_t first_panel, index_t end_panel) const;
    Status restore(const std::string& snapshot);
    void clear();

    index_t cells() const { return static_cast<index_t>(cells_.size()); }

  private:
    template <class Each>
    void each(const Run& run, Each each) const;  // with the piece, its writer's panel and its reader's part
    index_t group_of(index_t writer_id) const {
        return writer_id * groups_ / (writer_.of_all() ? writer_.ids() : writer_.panels.panels());
    }
    index_t group_of_panel(index_t panel) const { return group_of(writer_.first_id() + panel); }
    uint64_t& cell(index_t id, index_t group) { return cells_[static_cast<size_t>(group * ids_ + id)]; }

    const PanelFinder writer_of_, reader_of_;
    const Partition &writer_, &reader_;  // theirs
    const index_t ids_, groups_;
    const int members_;
    std::vector<uint64_t> cells_;    // [group][id]
    std::vector<uint64_t> pending_;  // [panel mod kMaxSlots][id], of panels whose writes may not have ended
    std::vector<uint64_t> written_;  // [member][id], of the panel that is computed
    std::vector<uint64_t> read_;     // [member][own or twin][group], of the panel that is read
};

}  // namespace spanfft
