// Tiles, places and counts of rounds among ranks; see exchange_geometry.hpp.
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

namespace {

// Some rows of the panels of all ranks, side by side.
ColumnPanels rows_of_all(ColumnPanels panels, index_t rows, ColumnPanels::Use use) {
    panels.panel *= panels.ranks;
    panels.ranks = 1;
    panels.rank = 0;
    panels.rows = rows;
    panels.use = use;
    if (panels.twin()) panels.besides = ColumnPanels::Twin{panels.outer * panels.matrix_elems(), panels.twin()->once};
    return panels;
}

}  // namespace

ColumnPanels ExchangeGeometry::together(int rank) const {
    const index_t before = rows_before(rank), matrix = in().matrix_elems();
    const auto use = spec_.gives_back() ? ColumnPanels::Use::written : ColumnPanels::Use::read;
    ColumnPanels panels = rows_of_all(in(), rows_of(rank), use);
    if (panels.rows == 0 || before + panels.rows < in().rows) panels.last_row_elems = panels.row_elems;
    if (panels.rows > 0 && spec_.sharing.own_rows == 0)  // of every matrix these rows
        panels.part = {panels.matrix_elems(), matrix, before * in().row_elems};
    return panels;
}

ColumnPanels::Group ExchangeGeometry::taken(index_t panel, index_t tile, int which, int rank) const {
    ColumnPanels panels = in();
    panels.rank = rank;
    if (!spec_.takes_ahead()) return panels.group(panel, which);
    ColumnPanels::Group own = panels.group(panel, 0);
    own.first += tile * spec_.tile_width();
    own.width = std::clamp<index_t>(own.width - tile * spec_.tile_width(), 0, spec_.tile_width());
    if (which == 0) return own;
    return own.width > 0 ? in().images(own) : ColumnPanels::Group();
}

ColumnPanels ExchangeGeometry::all_together() const { return rows_of_all(in(), in().rows, ColumnPanels::Use::written); }

ColumnPanels ExchangeGeometry::kept_columns(int rank) const {
    return rows_of_all(out(), kept_by(rank), ColumnPanels::Use::written);
}

ColumnPanels ExchangeGeometry::keepers_of(int rank) const {
    ColumnPanels panels = *keepers();
    panels.rank = rank;
    return panels;
}

BlockGrid ExchangeGeometry::kept_blocks(int rank) const {
    BlockGrid grid;
    if (of_sections()) {  // sections take the place of columns, and what is kept of them that of rows
        const ColumnPanels mine = keepers_of(rank);
        grid.outer = in().outer;
        grid.columns = mine.rows;
        grid.rows = grid.tile_rows = mine.stored_row_elems();
        grid.tile_columns = sections_a_tile();
        grid.elem_bytes = elem_bytes();
        grid.natural = true;
        grid.shared_section = grid.section = mine.rows;
        return grid;
    }
    grid = spec_.target.blocks();
    if (shared_section() > 0) {
        grid.skipped = kept_before(rank);
        grid.section = kept_by(rank);
        grid.columns = grid.columns / grid.shared_section * grid.section;
    } else {
        grid.rows = kept_by(rank);
        if (grid.natural) grid.shared_section = grid.section = grid.section_columns();  // as it came, all of each
    }
    return grid;
}

index_t ExchangeGeometry::tile_bytes() const {
    if (of_sections()) {
        const index_t tile_elems = spec_.target.is_blocks() ? spec_.tile_width() * spec_.out_points : out().panel;
        return tile_elems * elem_bytes();
    }
    const index_t columns = of_blocks() ? spec_.target.blocks().tile_columns : out().panel * out().groups();
    return columns * exchanged_rows() * elem_bytes();
}

index_t ExchangeGeometry::place_bytes(int rank) const {
    if (of_columns()) return rank * kept_by(in().rank) * out().panel * out().elem_bytes;
    const index_t tile = kept_tile_bytes();
    if (shifts()) return rank * (round_up(tile, kDirectBytes) + kDirectBytes);
    return rank * (of_sections() || shared_section() > 0 ? round_up(tile, kDirectBytes) : tile);
}

index_t ExchangeGeometry::kept_tile_bytes() const {
    if (shared_section() == 0) return kept_blocks(in().rank).column_tile_pitch_bytes();
    const BlockGrid& blocks = spec_.target.blocks();
    return std::min(blocks.tile_columns, rows()->a_rank) * blocks.rows * blocks.elem_bytes;
}

index_t ExchangeGeometry::shift_bytes(index_t step, int rank, index_t file_offset_bytes) const {
    const RoundTile tile = round_tile(step, rank);
    const BlockGrid kept = kept_blocks(in().rank);
    const index_t column = kept.first_column(part_kept(tile, in().rank).tile);
    return (file_offset_bytes + kept.offset_bytes(tile.matrix, column)) % kDirectBytes;
}

RoundTile ExchangeGeometry::round_tile(index_t step, int rank) const {
    ColumnPanels panels = in();
    panels.rank = rank;
    const index_t panel = step / spec_.tile_steps(), begin = panels.first_column(panel);
    const index_t matrix = panel / panels.panels_per_matrix(), width = panels.group(panel, 0).width;
    if (of_columns()) return {matrix, 0, width};
    const index_t tile = spec_.tile_width(), first = begin + step % spec_.tile_steps() * tile;
    const index_t columns = std::clamp<index_t>(begin + width - first, 0, tile);
    if (columns == 0) return {matrix, 0, 0};
    if (of_sections()) return {matrix, first / tile, columns / section_columns()};
    return {matrix, spec_.target.blocks().tile_at(first), columns};
}

KeptPart ExchangeGeometry::part_kept(const RoundTile& tile, int rank) const {
    if (of_sections()) {
        const ColumnPanels theirs = keepers_of(rank);
        const index_t messages = tile.columns == 0 ? 0 : (theirs.own_group(0).width > 0) + (theirs.own_images() > 0);
        return {0, tile.columns * theirs.stored_row_elems() * elem_bytes(), tile.tile, messages};
    }
    if (tile.columns == 0 || kept_by(rank) == 0) return {};
    const index_t section = shared_section();
    if (section == 0) {
        const index_t row_bytes = tile.columns * elem_bytes();
        return {kept_before(rank) * row_bytes, kept_by(rank) * row_bytes, tile.tile, 1};
    }
    // Columns that are this rank's of those of the tile, which is part of one section.
    const BlockGrid &blocks = spec_.target.blocks(), kept = kept_blocks(rank);
    const index_t begin = blocks.first_column(tile.tile) % section, end = begin + tile.columns;
    const index_t first = std::max(begin, kept.skipped), last = std::min(end, kept.skipped + kept.section);
    if (first >= last) return {};
    const index_t before = tile.tile / blocks.tiles_per_section() * kept.section, column = blocks.rows * elem_bytes();
    return {(first - begin) * column, (last - first) * column, kept.tile_at(before + first - kept.skipped), 1};
}

index_t ExchangeGeometry::slot_bytes() const {
    return round_up(of_columns() ? kept_columns(in().rank).slot_bytes() : place_bytes(in().ranks), 4096);
}

index_t ExchangeGeometry::payload_bytes() const {
    return of_columns() ? kept_columns(in().rank).payload_bytes() : kept_blocks(in().rank).payload_bytes();
}

index_t ExchangeGeometry::total_requests() const {
    if (of_columns()) return kept_columns(in().rank).total_requests();
    return payload_bytes() > 0 ? kept_blocks(in().rank).total_writes() : 0;
}

Partition ExchangeGeometry::partition() const {
    if (of_columns()) return {Partition::Kind::columns, kept_columns(in().rank), {}};
    ColumnPanels panels = in();
    if (of_sections()) {  // as far as rounds are concerned, a panel is so many sections
        panels.row_elems = panels.last_row_elems = panels.columns = keepers()->rows;
        panels.panel = sections_a_panel();
        if (panels.own_file()) panels.share = ColumnPanels::Share::in_blocks;
    }
    return {Partition::Kind::column_tiles, panels, kept_blocks(in().rank)};
}

index_t ExchangeGeometry::width_of(index_t panel, int rank) const {
    ColumnPanels panels = in();
    panels.rank = rank;
    return panels.group(panel, 0).width;
}

// What has no row or no column is not sent. Column 0 of a panel, and its last one, may have no mirror image.
index_t ExchangeGeometry::take_messages(index_t panel, int which, int rank) const {
    const index_t mine = rows_of(in().rank), width = width_of(panel, rank);
    if (mine == 0 || width == 0) return 0;
    if (!spec_.takes_ahead()) return taken(panel, 0, which, rank).width > 0 ? std::min(parts(), mine) : 0;
    const index_t last = ceil_div(width, spec_.tile_width()) - 1;
    index_t messages = last + 1;
    if (taken(panel, 0, which, rank).width == 0) --messages;
    if (last > 0 && taken(panel, last, which, rank).width == 0) --messages;
    return messages;
}

void ExchangeGeometry::count_takes(Counts& counts) const {
    if (!spec_.sharing.reads_together) return;
    counts.calls += takes() + gives();
    const index_t panels = in().panels_per_matrix(), mine = rows_of(in().rank);
    const auto add = [&](index_t panel, index_t alike) {  // of which a matrix has so many
        const index_t times = in().outer * alike;
        const index_t own = spec_.gives_back() ? width_of(panel, in().rank) : 0;  // of which each gets its rows back
        for (int r = 0; r < in().ranks; ++r) {
            if (r == in().rank) continue;
            if (own > 0 && rows_of(r) > 0) counts.messages += times;
            counts.sent_bytes += times * rows_of(r) * own * in().elem_bytes;
            ColumnPanels theirs = in();
            theirs.rank = r;
            for (int which = 0; which < taken_groups(); ++which) {
                counts.messages += times * take_messages(panel, which, r);
                counts.sent_bytes += times * mine * theirs.group(panel, which).width * in().elem_bytes;
            }
        }
    };
    add(panels - 1, 1);
    if (panels > 1) add(0, 1);
    if (panels > 2) add(1, panels - 2);  // which column 0 is not in
}

Counts ExchangeGeometry::count() const {
    Counts counts;
    counts.calls = rounds() * most_calls();
    if (of_columns()) counts.calls = rounds() + (most_calls() - 1) * in().panels_per_matrix() * spec_.tile_steps();
    count_takes(counts);
    if (!spec_.exchanges()) return counts;
    const int rank = in().rank;
    // Whole panels have as many tiles each, and the last one what it has.
    const index_t panels = in().panels_per_matrix(), tiles = spec_.tile_steps();
    for (const index_t panel : {index_t{0}, panels - 1}) {
        const index_t arrays = in().outer + (of_columns() ? most_calls() - 1 : 0);  // and the twin
        const index_t times = arrays * (panel < panels - 1 ? panels - 1 : 1);
        const auto add = [&](index_t t, index_t alike) {  // the tile of this step, of which a panel has so many
            const RoundTile tile = round_tile(panel * tiles + t, rank);
            for (int r = 0; r < in().ranks && tile.columns > 0; ++r) {
                if (r == rank) continue;
                const KeptPart part = part_kept(tile, r);
                counts.messages += alike * times * part.messages;
                counts.sent_bytes += alike * times * part.bytes;
            }
        };
        if (shared_section() > 0 || of_columns()) {
            for (index_t t = 0; t < tiles; ++t) add(t, 1);
        } else {  // all whole tiles are alike: planners ask for sweeps of a million of them
            const index_t whole = std::min(tiles, width_of(panel, rank) / spec_.tile_width());
            if (whole > 0) add(0, whole);
            if (whole < tiles) add(whole, 1);
        }
        if (panels == 1) break;
    }
    return counts;
}

}  // namespace spanfft
