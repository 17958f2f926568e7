// ExchangeGeometry: what ranks that sweep one array together hand to one another, and what each then writes. Geometry
// only; who sends it: block_exchange.hpp.
//
// Method: a round is one compute step of all ranks: every rank has transformed a tile of its columns (or none, in the
// last round or two), into a buffer in which what a rank keeps lies together (disk/panels.hpp, BlockGrid). Then each
// rank has its part of as many tiles as there are ranks, which it writes.
// - Of blocks a rank keeps rows, or of sections that ranks share out (BlockGrid::shared_section) columns.
// - Of columns that the next sweep reads as slabs a rank keeps rows; what it receives of a round is then put side by
//   side, so that its runs are as many panels wide as there are ranks.
// - Of sections (many_sweeps) a rank keeps columns: of each its panels of the next sweep, and those that mirror them.
//   So it does of slabs, each of which is a section.
// - Where ranks read a panel together, each has rows of the panels of all for all rows of its own panel, and hands them
//   on tile by tile, or, where there are few tiles, some rows of all after the other; what mirrors them goes the same
//   way, by itself. In place all hand back what became of them, whole panels at a time, and write the same rows.
//
// Worked: 12 columns, tiles of 2, 2 ranks with panels of 2 columns: in round 0 rank 0 has columns 0 and 1, rank 1
// columns 2 and 3; of 8 rows, rank 0 keeps rows 0 to 3 of all four and rank 1 the rest.
#pragma once

#include <algorithm>

#include "core/counts.hpp"
#include "disk/pipeline.hpp"
#include "sweeps/sweep_spec.hpp"

namespace spanfft {

// The tile of a rank in a round.
struct RoundTile {
    index_t matrix = 0, tile = 0;
    index_t columns = 0;  // 0: it has none
};

// What a rank keeps of another's tile: bytes of the tile, and where in the keeper's scratch they are (of blocks).
struct KeptPart {
    index_t begin_bytes = 0, bytes = 0;
    index_t tile = 0;      // of the keeper's blocks
    index_t messages = 0;  // in which it is sent
};

class ExchangeGeometry {
  public:
    explicit ExchangeGeometry(const SweepSpec& spec) : spec_(spec) {}  // a rank's, which must outlive it

    // Reading together.
    ColumnPanels together(int rank) const;  // what that rank reads of all panels, from its first row on
    ColumnPanels all_together() const;      // and what all do
    index_t rows_before(int rank) const {
        const index_t each = spec_.sharing.own_rows > 0 ? spec_.sharing.own_rows : ceil_div(in().rows, in().ranks);
        return std::min(rank * each, in().rows);
    }
    index_t rows_of(int rank) const { return rows_before(rank + 1) - rows_before(rank); }
    // The rows of a panel are read and taken in so many parts, so that others are read while one is taken; or in tiles
    // of all rows, while the next panel is read into a slot of its own.
    index_t parts() const {
        return spec_.gives_back() || spec_.takes_ahead() ? 1 : std::clamp<index_t>(rows_of(0), 1, kMaxSlots);
    }
    index_t taken_tiles() const { return spec_.takes_ahead() ? spec_.tile_steps() : 1; }  // a panel
    int taken_groups() const { return static_cast<int>(in().groups()); }
    // Panels that are taken alike: the last one of a matrix, and where columns are mirrored the first one, as column 0
    // is its own image, are unlike the others.
    index_t taken_kinds() const { return in().mirrored() ? 3 : 2; }
    ColumnPanels::Group taken(index_t panel, index_t tile, int which, int rank) const;  // of that rank's columns
    index_t rows_before_part(int rank, index_t part) const {                            // of this rank's rows
        return rows_of(rank) * part / parts();
    }
    index_t rows_of_part(int rank, index_t part) const {
        return rows_before_part(rank, part + 1) - rows_before_part(rank, part);
    }
    index_t taken_group_bytes() const {  // of this rank's columns, row after row
        return in().rows * (spec_.takes_ahead() ? spec_.tile_width() : in().panel) * in().elem_bytes;
    }
    index_t taken_tile_bytes() const {
        return spec_.sharing.reads_together ? round_up(taken_groups() * taken_group_bytes(), 4096) : 0;
    }
    index_t taken_bytes() const { return (spec_.takes_ahead() ? 2 : 1) * taken_tile_bytes(); }

    // Exchanging: in one of these ways.
    bool of_sections() const { return keepers() != nullptr; }
    bool of_blocks() const { return rows() && spec_.target.is_blocks(); }
    bool of_columns() const { return rows() && !spec_.target.is_blocks(); }
    // What that rank writes into its scratch: of columns rows of its own, of as many panels as there are ranks.
    ColumnPanels kept_columns(int rank) const;
    BlockGrid kept_blocks(int rank) const;  // of blocks and sections
    ColumnPanels keepers_of(int rank) const;
    index_t kept_before(int rank) const { return std::min(rank * rows()->a_rank, shared_out()); }
    index_t kept_by(int rank) const { return kept_before(rank + 1) - kept_before(rank); }
    index_t sections_a_panel() const { return in().panel / section_columns(); }
    index_t sections_a_tile() const { return spec_.tile_width() / section_columns(); }
    index_t tile_bytes() const;           // what a rank has of a round
    index_t place_bytes(int rank) const;  // where what came of that rank's tile begins, or `shift_bytes` behind it
    // Tiles of a natural array follow one another in a file without a gap. Long ones come to lie as far past a block
    // in memory as they will there, or they could not be written directly.
    bool shifts() const { return exchanges_natural_blocks() && kept_tile_bytes() >= kSplitBytes; }
    index_t shift_bytes(index_t step, int rank, index_t file_offset_bytes) const;
    // Of columns and their twins, before they are put where they are written from.
    index_t received_bytes() const { return of_columns() ? out().groups() * received_bytes_a_call() : 0; }
    index_t received_bytes_a_call() const {
        return of_columns() ? in().ranks * kept_by(in().rank) * out().panel * out().elem_bytes : 0;
    }
    RoundTile round_tile(index_t step, int rank) const;
    KeptPart part_kept(const RoundTile& tile, int rank) const;

    // What this rank writes.
    index_t slot_bytes() const;
    index_t payload_bytes() const;
    index_t total_requests() const;
    Partition partition() const;

    // Sections are sent column by column of the next sweep's panels, then those that mirror them; columns, then their
    // twins, which go with the first matrix alone.
    index_t most_calls() const {
        return (of_sections() && keepers()->reflected()) || (of_columns() && out().groups() > 1) ? 2 : 1;
    }
    index_t calls_in_round(index_t step) const {
        return of_columns() && step / spec_.tile_steps() >= in().panels_per_matrix() ? 1 : most_calls();
    }
    index_t rounds() const { return spec_.exchanges() ? in().panels() * spec_.tile_steps() : 0; }
    index_t takes() const {
        return spec_.sharing.reads_together ? in().panels() * parts() * taken_tiles() * taken_groups() : 0;
    }
    index_t gives() const { return spec_.gives_back() ? in().panels() : 0; }
    index_t width_of(index_t panel, int rank) const;  // of a panel of that rank
    Counts count() const;                             // of this rank in all rounds: messages, bytes in them, and calls

  private:
    const ColumnPanels& in() const { return spec_.source.columns(); }
    const ColumnPanels& out() const { return spec_.target.columns(); }
    const Sharing::Rows* rows() const { return std::get_if<Sharing::Rows>(&spec_.sharing.kept); }
    const ColumnPanels* keepers() const {
        const auto* columns = std::get_if<Sharing::Columns>(&spec_.sharing.kept);
        return columns ? &columns->keepers : nullptr;
    }
    index_t section_columns() const {  // as read; a slab is a section of its own
        return spec_.target.section_columns > 0 ? spec_.target.section_columns : spec_.points;
    }
    index_t exchanged_rows() const { return of_blocks() ? spec_.target.blocks().rows : out().rows; }
    index_t shared_section() const { return of_blocks() ? spec_.target.blocks().shared_section : 0; }
    // Of what ranks share out, rows or columns of a section, all.
    index_t shared_out() const { return shared_section() > 0 ? shared_section() : exchanged_rows(); }
    index_t elem_bytes() const {
        return spec_.target.is_blocks() ? spec_.target.blocks().elem_bytes : out().elem_bytes;
    }
    bool exchanges_natural_blocks() const { return of_sections() || (of_blocks() && spec_.target.blocks().natural); }
    index_t kept_tile_bytes() const;         // of blocks: the most that this rank keeps of a tile
    void count_takes(Counts& counts) const;  // and what is given back
    index_t take_messages(index_t panel, int which, int rank) const;  // to that rank

    const SweepSpec& spec_;
};

}  // namespace spanfft
