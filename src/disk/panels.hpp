// Panels: which byte runs of a file make up a memoryload, and where they lie in memory. Geometry only: no I/O here.
//
// ColumnPanels: a file holds `outer` matrices of rows x row_elems; a panel is `panel` neighbouring columns of one of
//   them, all rows. Each row of a panel is one run (split evenly when longer than 1 MiB).
//   Worked: 4 x 6 elements, panels of 4 columns: panel 0 is runs 0-3, 6-9, 12-15, 18-21; panel 1 is 4-5, 10-11, ...
// BlockGrid: scratch between the two sweeps of a long 1-D transform: a columns x rows matrix in blocks of
//   tile_columns x tile_rows, column tiles one after the other, so that the first sweep writes a column tile in one
//   go and the second reads a row tile in runs of a whole block. Element (c, r) is element c*rows + r of a matrix
//   that is cut as [column tile][row tile][c in tile][r in tile], packed but for kDirectBytes between column tiles.
//   `natural`: one row tile and no padding, so the file simply holds the columns one after the other; tiles may be cut
//   off at sections as panels are, or be of the columns that each group of a panel computes.
// Several ranks that sweep one array have panels of their own and, of scratch, a grid of their own rows.
// In memory each run lies as far past a multiple of kSlackBytes as in the file, or if it is written of run_alignment(),
//   for direct I/O (see store.hpp); runs under a page are packed and go through the page cache ("lean").
#pragma once

#include <algorithm>
#include <functional>
#include <variant>

#include "disk/store.hpp"

namespace spanfft {

constexpr index_t kPieceBytes = index_t{1} << 20;  // longer runs are split, for several threads to share
constexpr index_t kLeanBytes = 4096;               // runs shorter than this are packed in memory
constexpr index_t kWideBytes = index_t{8} << 10;   // written runs from here on keep the alignment of whole blocks

// Of what multiple runs that are written and not lean lie as far past in memory as in the file. Whole blocks where they
// add less than half to a run: ext4 lets no other write at its file while one goes to space that was never written from
// memory that does not begin where a block does, so that runs of 24 KiB took twice as long. Reads do not mind.
constexpr index_t run_alignment(index_t bytes) { return bytes < kWideBytes ? kSlackBytes : kDirectBytes; }

constexpr index_t pieces_of(index_t bytes) { return bytes <= 2 * kPieceBytes ? 1 : ceil_div(bytes, kPieceBytes); }

// Piece i of `pieces` of a run: cut at multiples of kDirectBytes of the file, and between elements in any case: an
// array that begins inside an element's alignment has its pieces cut elsewhere, without slack.
Run piece_of(const Run& run, index_t pieces, index_t i, index_t elem_bytes = 1);

// Where the rows of a group of columns lie in memory.
struct RowMap {
    char* base = nullptr;
    index_t pitch_bytes = 0, file_bytes = 0, row_bytes = 0;  // file_bytes: offset of row 0
    index_t alignment = 1;                                   // 1: lean
    char* row(index_t r) const { return base + r * pitch_bytes + (file_bytes + r * row_bytes) % alignment; }
};

// What a panel of columns [a, b) holds besides those.
namespace panel_kinds {
struct Plain {            // nothing
    index_t section = 0;  // > 0: and none reaches across the end of so many columns
};
// Of each `period` columns of a row panels walk over the first half and one, and none over two of these; besides, they
// hold columns row_elems - c, where no panel walks over those, or of all c but 0.
struct Mirrored {
    index_t period = 0;
    bool all = false;
    index_t own = 0, begin = 0;  // own > 0: of the half only so many, from `begin` on
    index_t section = 0;         // > 0: of each so many columns of both groups the first half and one are computed
};
struct Reflected {};  // columns [row_elems - b, row_elems - a), but for those that it has already
// The same columns of a matrix that lies so far behind the first one, and that all `outer` share: on the first only
// (once), or on each.
struct Twin {
    index_t elems = 0;
    bool once = false;
};

// Of every `all` elements of the file the panels' array has `own`, from `begin` on; own 0: it has all. No run of a
// panel is in two of these. Worked: columns 2 to 5 of 3 x 8 elements are own = 4, all = 8, begin = 2.
struct Part {
    index_t own = 0, all = 0, begin = 0;
};
}  // namespace panel_kinds

struct ColumnPanels {
    index_t outer = 1;
    index_t rows = 1, row_elems = 1;
    index_t last_row_elems = 1;  // in the file; less than row_elems for half spectra, whose last row is cut off
    index_t elem_bytes = 16;
    index_t columns = 1;  // that panels walk over
    index_t panel = 1;    // columns a panel

    // What a panel holds besides its columns, as its group 1.
    using Plain = panel_kinds::Plain;
    using Mirrored = panel_kinds::Mirrored;
    using Reflected = panel_kinds::Reflected;
    using Twin = panel_kinds::Twin;
    std::variant<Plain, Mirrored, Reflected, Twin> besides;

    index_t numbers = 1;  // an element is a row of so many numbers, side by side
    // Ranks share the panels of each matrix out: panels are this rank's, every `ranks`th from its own number on, or, in
    // blocks, so many one after the other, of which the file may have this rank's alone: those columns, and what lies
    // besides, side by side. Each has as many; some may lie beyond the end and hold nothing.
    enum class Share { by_turns, in_blocks, own_file };
    int ranks = 1, rank = 0;
    Share share = Share::by_turns;
    // What becomes of rows in memory: they are read there, they are written from where they lie, or they are sent, for
    // which they lie one after the other, as wide as the panel.
    enum class Use { read, written, sent };
    Use use = Use::read;
    using Part = panel_kinds::Part;
    Part part = {};  // of the file's array
    index_t in_file(index_t elem) const {
        return part.own == 0 ? elem : elem / part.own * part.all + part.begin + elem % part.own;
    }

    const Mirrored* mirrored() const { return std::get_if<Mirrored>(&besides); }
    index_t mirrored_begin() const { return mirrored() ? mirrored()->begin : 0; }
    bool mirrors_all() const { return mirrored() && mirrored()->all; }
    bool reflected() const { return std::holds_alternative<Reflected>(besides); }
    const Twin* twin() const { return std::get_if<Twin>(&besides); }
    index_t section() const {  // of plain panels; 0: they may end anywhere
        const auto* plain = std::get_if<Plain>(&besides);
        return plain ? plain->section : 0;
    }
    bool in_blocks() const { return share != Share::by_turns; }
    bool own_file() const { return share == Share::own_file; }

    index_t section_columns() const {  // that are walked over
        if (mirrored()) return mirrored()->own > 0 ? mirrored()->own : mirrored()->period / 2 + 1;
        return section() > 0 ? section() : columns;
    }
    index_t section_pitch() const {  // in a row
        return mirrored() ? mirrored()->period : section() > 0 ? section() : row_elems;
    }
    bool in_sections() const { return section_columns() < columns; }
    index_t panels_per_section() const { return ceil_div(section_columns(), panel); }
    index_t panels_of_all() const { return columns / section_columns() * panels_per_section(); }  // ranks, of a matrix
    index_t panels_per_matrix() const { return ceil_div(panels_of_all(), ranks); }
    index_t place_among_all(index_t panel_index) const {  // of a matrix
        const index_t i = panel_index % panels_per_matrix();
        return in_blocks() ? rank * panels_per_matrix() + i : i * ranks + rank;
    }
    index_t first_column(index_t panel_index) const {  // of those that are walked over
        const index_t i = place_among_all(panel_index);
        return i / panels_per_section() * section_columns() + i % panels_per_section() * panel;
    }
    index_t own_columns() const;       // of a matrix: those in this rank's panels
    index_t own_images() const;        // and, reflected, those that mirror them
    bool owns(index_t column) const {  // that is walked over, without sections
        const index_t i = column / panel;
        return (in_blocks() ? i / panels_per_matrix() : i % ranks) == rank;
    }
    index_t panels() const { return outer * panels_per_matrix(); }
    index_t matrix_elems() const { return (rows - 1) * row_elems + last_row_elems; }
    index_t number_bytes() const { return elem_bytes / numbers; }

    // A contiguous range of columns in a panel; width 0: none. group 1 is the mirrored or reflected one, or the twin's.
    struct Group {
        index_t first = 0, width = 0;
    };
    Group group(index_t panel_index, int which) const;
    Group images(Group own) const;  // mirrored, of neighbouring columns that are walked over, of one section
    // In blocks: of all panels of this rank, of a matrix. Its own file has those of group 1 behind those of group 0.
    Group own_group(int which) const;
    index_t stored_row_elems() const { return own_file() ? own_group(0).width + own_group(1).width : row_elems; }
    index_t stored_matrix_elems() const { return own_file() ? rows * stored_row_elems() : matrix_elems(); }
    // What one rank keeps, as the array of rows that it is to that rank alone.
    ColumnPanels kept_alone() const;
    index_t stored_at(Group of, int which) const {  // in a row, where it begins
        if (!own_file()) return of.first;
        if (twin()) which = 0;
        return of.first - own_group(which).first + (which == 1 ? own_group(0).width : 0);
    }
    index_t file_row_elems() const {  // from row to row in the file
        const bool in_one_part = part.own == 0 || stored_row_elems() < part.own || rows == 1;
        return in_one_part ? stored_row_elems() : stored_row_elems() / part.own * part.all;
    }
    index_t groups() const { return std::holds_alternative<Plain>(besides) ? 1 : 2; }

    // Columns of which a transform is computed, by numbers of their own: those that are walked over, or of `section`
    // each of both groups. Worked: of 12 columns in sections of 4, of which 3 are computed, panel 0 of one section has
    // 0-3 and 9-11, of which 0, 1, 2 and 9, 10 are computed: numbers 0-2 and 7-8.
    index_t halved() const { return mirrored() ? mirrored()->section : 0; }
    index_t computed_of_section() const { return halved() > 0 ? halved() / 2 + 1 : section_columns(); }
    index_t computed_before(index_t column) const {
        return column / halved() * computed_of_section() + std::min(column % halved(), computed_of_section());
    }
    index_t column_of(index_t computed) const {  // the reverse
        const index_t each = computed_of_section(), pitch = halved() > 0 ? halved() : section_pitch();
        return computed / each * pitch + mirrored_begin() + computed % each;
    }
    // How many computed columns from this one on lie side by side, and so do their mirror images: those of a section,
    // but for columns 0 and row_elems/2, which are their own.
    index_t mirrored_together(index_t computed) const;
    Group computed(index_t panel_index, int which) const;
    index_t own_computed() const;  // of a matrix: those in this rank's panels
    index_t pitch_bytes() const;
    bool lean() const { return panel * elem_bytes < kLeanBytes; }
    // Of what multiple rows lie as far past in memory as in the file.
    index_t alignment() const {
        if (lean()) return 1;
        return use == Use::read ? kSlackBytes : run_alignment(panel * elem_bytes);
    }
    index_t slot_bytes() const;  // memory for one panel
    RowMap map(index_t panel_index, int which, index_t file_offset_bytes, void* slot) const;

    index_t requests(index_t panel_index) const;
    index_t walked_requests(index_t panel_index) const;  // of group 0, which come first
    // Of that group's first rows: a group comes row by row.
    index_t requests_of_rows(index_t panel_index, int which, index_t first_rows) const;
    Run run(index_t panel_index, index_t i, index_t file_offset_bytes, void* slot) const {
        return run(panel_index, i, file_offset_bytes, *this, file_offset_bytes, slot);
    }
    // Of panels at file_offset_bytes whose rows lie in memory as those of others do: where they were read, in place.
    Run run(index_t panel_index, index_t i, index_t file_offset_bytes, const ColumnPanels& in_memory,
            index_t memory_offset_bytes, void* slot) const;
    index_t payload_bytes() const;                                               // of all panels
    index_t array_bytes() const { return outer * matrix_elems() * elem_bytes; }  // of all ranks
    index_t total_requests() const;
    // The sum of of(columns) over the tiles of all panels: `step` of the columns that a panel computes at a time, the
    // two groups of halved sections apart; 0: all of them.
    index_t over_tiles(index_t step, const std::function<index_t(index_t columns)>& of) const;
};

struct BlockGrid {
    index_t outer = 1;
    index_t columns = 1, rows = 1;
    index_t tile_columns = 1, tile_rows = 1;
    index_t elem_bytes = 16;
    bool natural = false;
    index_t section = 0;  // natural only, > 0: columns that no tile reaches across
    // natural only, > 0: ranks share out every so many columns, and `section` of them, from number `skipped` on, are
    // this rank's. Tiles end where those of all columns do. Worked: of 8 columns in tiles of 4 a rank skips 3 and has
    // 3: tiles of 1 and of 2.
    index_t shared_section = 0, skipped = 0;

    index_t section_columns() const { return section > 0 ? section : columns; }
    index_t tiles_per_section() const {
        return ceil_div(skipped + section_columns(), tile_columns) - skipped / tile_columns;
    }
    index_t column_tiles() const { return columns / section_columns() * tiles_per_section(); }
    index_t tile_at(index_t column) const {
        return column / section_columns() * tiles_per_section() +
               (column % section_columns() + skipped) / tile_columns - skipped / tile_columns;
    }
    index_t first_column(index_t tile) const {
        return tile / tiles_per_section() * section_columns() + first_in_section(tile % tiles_per_section());
    }
    // A column's number among those of all ranks.
    index_t column_of_all(index_t column) const {
        if (shared_section == 0) return column;
        return column / section_columns() * shared_section + skipped + column % section_columns();
    }
    index_t row_tiles() const { return ceil_div(rows, tile_rows); }
    index_t columns_in(index_t tile) const {
        const index_t i = tile % tiles_per_section();
        return first_in_section(i + 1) - first_in_section(i);
    }
    index_t first_in_section(index_t i) const {  // tile i's first column; the end of the last one
        return std::clamp<index_t>((skipped / tile_columns + i) * tile_columns - skipped, 0, section_columns());
    }
    index_t rows_in(index_t tile) const { return std::min(tile_rows, rows - tile * tile_rows); }
    bool lean() const { return tile_columns * tile_rows * elem_bytes < kLeanBytes; }
    index_t column_tile_pitch_bytes() const;
    index_t matrix_bytes() const {
        return natural ? columns * rows * elem_bytes : column_tiles() * column_tile_pitch_bytes();
    }
    index_t scratch_bytes() const { return outer * matrix_bytes(); }
    index_t payload_bytes() const { return outer * columns * rows * elem_bytes; }

    // Writing: a column tile, packed in memory as on disk; as far past a multiple of its alignment as there, or natural
    // tiles behind a file's header could not be written directly.
    index_t write_alignment() const {
        const bool sent = shared_section > 0 || tile_rows < rows;  // to ranks that share it out
        return lean() || !natural || sent ? 1 : run_alignment(column_tile_pitch_bytes());
    }
    index_t write_slot_bytes() const { return column_tile_pitch_bytes() + write_alignment() - 1; }
    struct Columns {  // of a tile; natural: any that are written in one go
        index_t first = 0, count = 0;
    };
    Columns of_tile(index_t tile) const { return {first_column(tile), columns_in(tile)}; }
    index_t offset_bytes(index_t matrix, index_t column) const {  // from where the array begins
        const index_t before = natural ? column * rows * elem_bytes : column / tile_columns * column_tile_pitch_bytes();
        return matrix * matrix_bytes() + before;
    }
    char* write_data(index_t matrix, index_t first, index_t file_offset_bytes, void* slot) const {
        const index_t offset = file_offset_bytes + offset_bytes(matrix, first);
        return static_cast<char*>(slot) + offset % write_alignment();
    }
    index_t requests_of(index_t count) const { return pieces_of(count * rows * elem_bytes); }  // to write columns
    index_t write_requests(index_t column_tile) const { return requests_of(columns_in(column_tile)); }
    Run write_run(index_t matrix, Columns these, index_t i, index_t file_offset_bytes, void* slot) const;
    Run write_run(index_t matrix, index_t column_tile, index_t i, index_t file_offset_bytes, void* slot) const {
        return write_run(matrix, of_tile(column_tile), i, file_offset_bytes, slot);
    }
    index_t block_elems_before(index_t column_tile, index_t row_tile) const {  // inside a column tile
        return row_tile * tile_rows * columns_in(column_tile);
    }
    // Reading: the blocks of a row tile, one request each.
    index_t block_pitch_bytes() const;
    index_t read_slot_bytes() const { return column_tiles() * block_pitch_bytes(); }
    Run read_run(index_t matrix, index_t row_tile, index_t column_tile, void* slot) const;
    index_t total_writes() const;
    index_t total_reads() const { return outer * column_tiles() * row_tiles(); }
};

}  // namespace spanfft
