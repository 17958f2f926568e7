// Partition: how one side of a sweep cuts a store's bytes among its panels, and PanelFinder, the inverse of panels.hpp:
// from a byte to the panel that writes or reads it, and to the end of the run there.
//
// Method: a finder asks each panel once which columns it has, sorts them, and looks them up: no panel's geometry is
// written down twice. What a sweep writes by columns the next one reads by rows; both
// cut what they move at both partitions' ends, so they sum up the same pieces (panel_sums.hpp).
// Worked: rows of 6 columns in panels of 4 are cut at 4 and 6, [0, 4) by panel 0 and [4, 6) by panel 1; byte 100 of an
// array of 16 bytes an element is in element 6, the first of row 1, and so panel 0's up to the end of element 9.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "disk/array_store.hpp"
#include "disk/checksum.hpp"
#include "disk/panels.hpp"

namespace spanfft {

struct Partition {
    // ColumnPanels; a BlockGrid written or read; blocks, each of which is in one memoryload (parallel_disks.hpp); or
    // boxes of a chunked array, as they lie in the whole array in C order.
    enum class Kind { columns, column_tiles, row_tiles, blocks_of_loads, boxes };
    Kind kind = Kind::columns;
    ColumnPanels panels;  // of tiles: what their columns (or rows) are panels of in the other file
    BlockGrid blocks;
    index_t offset_bytes = 0;  // where the array begins in the store
    index_t block_bytes = 0;   // of blocks_of_loads; `panels` are the loads (the boxes), one element each
    std::function<index_t(index_t block)> load_of = {};  // and, of boxes of all ranks, which id a box has
    static Partition of_loads(index_t loads, index_t block_bytes, std::function<index_t(index_t block)> load_of);
    ArrayBoxes array = {};  // of boxes
    // Set where ids are those of all ranks that share a file, as many of each, one rank's after the other's: where this
    // rank's begin. Of columns without twins, of column tiles, and of boxes.
    std::optional<index_t> first_of_all = {};
    // Of columns whose panels are those of all ranks side by side: of each a rank has so many rows.
    struct Rows {
        int ranks = 1;
        index_t a_rank = 1;
    };
    std::optional<Rows> shared_rows = {};
    bool of_all() const { return first_of_all.has_value(); }
    static Partition of_boxes(const ArrayBoxes& array);

    struct Part {
        index_t id = 0;  // a panel, or panels() + i: the twin of panel i of each matrix
        index_t end_bytes = 0;
        bool image = false;  // of a column that is walked over, and not one itself
    };
    index_t ids() const {
        if (of_all()) return (shared_rows ? shared_rows->ranks : panels.ranks) * panels.panels();
        return panels.panels() + (twins() ? panels.panels_per_matrix() : 0);
    }
    index_t first_id() const { return first_of_all.value_or(0); }
    bool twins() const { return kind == Kind::columns && panels.twin(); }
    // The panel that moves an id's bytes (a twin's: the first that does).
    index_t panel_of(index_t id) const { return of_all() || id < panels.panels() ? id : id - panels.panels(); }
    // Whether what run i of a panel has of this part is to be summed up there: of bytes that are read as images too
    // (Mirrored::all) those that are walked over are, once.
    bool has(index_t panel, index_t i, const Part& part) const {
        if (kind != Kind::columns || !panels.mirrors_all()) return true;
        return part.id == first_id() + panel && part.image == (i >= panels.walked_requests(panel));
    }
};

class PanelFinder {
  public:
    explicit PanelFinder(const Partition& partition);
    Partition::Part at(index_t byte) const;
    const Partition& partition() const { return partition_; }
    static index_t bytes(const Partition& partition);  // of its table, at most

  private:
    // From the end of the one before up to `end`: what the panel of this number has of each matrix; -1: nobody has it.
    struct Cut {
        index_t end = 0;
        int32_t panel = -1;
        bool image = false;
    };
    struct Found {
        index_t panel = 0, begin = 0, end = 0;
        bool image = false;
    };
    Found find(index_t at) const;
    Partition::Part in_columns(index_t elem) const;
    Partition::Part in_column_tiles(index_t byte) const;
    Partition::Part in_row_tiles(index_t byte) const;

    const Partition partition_;
    // Of a row of columns as they are stored; of the columns that are walked over, or of those that are computed, by
    // their numbers; of row tiles, of rows.
    std::vector<Cut> cuts_;
    double cuts_per_column_ = 0;
};

// What is summed up at once: up to 4 KiB of a run that no partition of a sum cuts.
struct SummedPiece {
    const char* data = nullptr;
    index_t offset_bytes = 0, bytes = 0;
    uint64_t sum() const { return placed_checksum(data, bytes, offset_bytes); }
};

// Cuts a run where any of the partitions does, and at multiples of kDirectBytes of the store, which is where long runs
// are split into several requests (piece_of); calls with each piece and the parts that it is of.
template <size_t N, class Each>
void each_piece(const Run& run, const std::array<const PanelFinder*, N>& partitions, Each each) {
    const index_t end = run.offset_bytes + run.bytes;
    std::array<Partition::Part, N> parts;
    for (index_t at = run.offset_bytes; at < end;) {
        index_t stop = std::min(end, at - at % kDirectBytes + kDirectBytes);
        for (size_t i = 0; i < N; ++i) {
            if (at >= parts[i].end_bytes) parts[i] = partitions[i]->at(at);
            stop = std::min(stop, parts[i].end_bytes);
        }
        each(SummedPiece{static_cast<const char*>(run.data) + (at - run.offset_bytes), at, stop - at}, parts);
        at = stop;
    }
}

}  // namespace spanfft
