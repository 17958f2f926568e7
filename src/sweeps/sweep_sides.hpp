// The two sides of a sweep: where an array lies, and which panels or blocks of it are read or written.
//
// Method: a source is columns (of one row: slabs) or row tiles of blocks; a target is columns, column tiles of blocks,
// a reflection, or the panel that was read. Each knows its own runs in the file (disk/panels.hpp), what they add up to,
// and how it divides the file's bytes among panels (disk/partition.hpp). What tiles take from a side and put into it:
// sweep_tiles.hpp.
// Invariant: a side is the same on all ranks but for the number of the rank in its panels.
#pragma once

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include "plan/sweep_outline.hpp"
#include "steps/chirp.hpp"

namespace spanfft {

// What both sides say.
struct SweepSide : PlacedArray {
    bool complex = true;            // the numbers of a tile
    index_t file_number_bytes = 0;  // in the file, where they are not as computed (Problem::load, store); else 0
    Chirp factors;                  // numbers are multiplied by on their way; length 0: by none
};

struct SweepSource : SweepSide {
    std::variant<ColumnPanels, BlockGrid> array;

    bool is_blocks() const { return std::holds_alternative<BlockGrid>(array); }
    const ColumnPanels& columns() const {
        assert(!is_blocks());
        return *std::get_if<ColumnPanels>(&array);
    }
    ColumnPanels& columns() { return const_cast<ColumnPanels&>(std::as_const(*this).columns()); }
    const BlockGrid& blocks() const {
        assert(is_blocks());
        return *std::get_if<BlockGrid>(&array);
    }
    bool loads_other() const { return file_number_bytes > 0 && place == Place::input; }

    index_t slot_bytes() const;  // of memory for a panel, or for a row tile
    index_t payload_bytes() const;
    index_t total_requests() const;
    Partition partition(const ColumnPanels& walked) const;
};

// Of every so many columns of a half spectrum the first half and one are transformed, and panels hold with these
// sections those that mirror them: what is written is whole again.
struct Reflection {
    ColumnPanels panels;
    index_t columns = 0;
};

// Panels like those of the source, transformed and written in the slot into which they were read. Of these: with 3 a
// panel is read, one transformed and one written; with 2, which can be half as wide again, the panel before is written
// first.
struct InPlace {
    ColumnPanels panels;
    index_t slots = 3;
};

// Rows that columns are turned into: of a source's columns (a, b), of each a as many b as here are rows, row b of a
// panel has all points of column (a, b) one after the other, for each a of the panel. Panels of the source are so many
// whole a. A compute step turns `tile_rows` of a panel's rows, and they are written in one go. Worked: 2 x 3 columns
// (a, b) of 4 points are 3 rows of 2 x 4 elements: row 0 is columns (0, 0) and (1, 0).
struct TurnedRows {
    ColumnPanels panels;
    index_t tile_rows = 1;
    index_t rows_in(index_t tile) const { return std::min(tile_rows, panels.rows - tile * tile_rows); }
    // Where the first row of a panel would be in memory if those of this tile begin at `slot`.
    char* first_row(index_t tile, char* slot) const { return slot - tile * tile_rows * panels.pitch_bytes(); }
};

struct SweepTarget : SweepSide {
    std::variant<ColumnPanels, BlockGrid, Reflection, InPlace, TurnedRows> array;
    // > 0, of natural blocks: tiles are whole sections of so many columns, and each section is written as points x
    // columns, not column after column.
    index_t section_columns = 0;
    SweepTarget() { place = Place::output; }

    bool is_blocks() const { return std::holds_alternative<BlockGrid>(array); }
    const TurnedRows* turned() const { return std::get_if<TurnedRows>(&array); }
    // A panel is written in several steps, each when it is computed.
    bool in_tiles() const { return is_blocks() || turned() != nullptr; }
    bool twiddles_on_the_way() const { return in_tiles() && section_columns == 0; }
    bool is_in_place() const { return std::holds_alternative<InPlace>(array); }
    const BlockGrid& blocks() const {
        assert(is_blocks());
        return *std::get_if<BlockGrid>(&array);
    }
    BlockGrid& blocks() { return const_cast<BlockGrid&>(std::as_const(*this).blocks()); }
    const ColumnPanels& columns() const;  // of all but blocks
    ColumnPanels& columns() { return const_cast<ColumnPanels&>(std::as_const(*this).columns()); }

    index_t slot_bytes() const;  // of memory for a panel, or for a column tile
    // `walked`: the panels of the compute steps.
    index_t payload_bytes(const ColumnPanels& walked) const;
    index_t total_requests(const ColumnPanels& walked) const;
    Partition partition(const ColumnPanels& walked) const;
};

// "13 panels in runs of 1.25 KiB", "blocks of 64x64".
std::string describe_panels(const ColumnPanels& panels);
std::string describe_blocks(const BlockGrid& blocks);

}  // namespace spanfft
