// Slots and memory of a sweep, and what each rank has of it; see sweep_spec.hpp.
#include "sweeps/sweep_spec.hpp"

#include <algorithm>

#include "disk/pipeline.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

namespace {

// A column's pitch in a tile: whole cache lines, and not a multiple of a page, or columns would fight for cache sets.
index_t tile_pitch(index_t points, index_t bytes) {
    const index_t line_elems = std::max<index_t>(1, 64 / bytes);
    return round_up(points, line_elems) + line_elems;
}

// Tables that all threads share.
index_t table_bytes(const SweepSpec& spec) {
    index_t bytes = spec.twiddle_form().table_bytes(spec.precision);
    for (const Chirp* factors : {&spec.source.factors, &spec.target.factors})
        if (factors->length > 0) bytes += RootTable::bytes(factors->order());
    return bytes;
}

// What a rank keeps of a twin lies behind what it keeps of the array.
void place_twin(ColumnPanels& panels) {
    auto* twin = std::get_if<ColumnPanels::Twin>(&panels.besides);
    if (panels.own_file() && twin) twin->elems = panels.outer * panels.stored_matrix_elems();
}

// Rank 0's panels of an array of which each rank has a part, as that rank's.
void take_part(ColumnPanels& panels, const Sharing::OwnPart& part, int rank) {
    const index_t own = part.of(rank);
    if (own == 0 || !part.of_columns) {
        panels.outer = part.scaled(panels.outer, rank);
    } else {
        panels.columns = part.scaled(panels.columns, rank);
        if (panels.section() > 0) panels.besides = ColumnPanels::Plain{part.scaled(panels.section(), rank)};
        if (auto* half = std::get_if<ColumnPanels::Mirrored>(&panels.besides)) {  // which lies in the whole array
            half->own = own;
            half->begin = rank * part.a_rank;
        } else {
            panels.row_elems = panels.last_row_elems = panels.columns;
        }
    }
    panels.part.begin = rank * panels.part.own;
    panels.part.own = part.scaled(panels.part.own, rank);
}

void take_part(SweepSpec& spec, const Sharing::OwnPart& part, int rank) {
    take_part(spec.source.columns(), part, rank);
    if (!spec.target.is_blocks()) take_part(spec.target.columns(), part, rank);
    const index_t own = part.of(rank);
    if (own > 0 && spec.twiddles.roots_n > 0) spec.twiddles.section = part.scaled(spec.twiddles.section, rank);
    if (!spec.target.is_blocks()) return;
    BlockGrid& blocks = spec.target.blocks();
    if (own == 0 || !part.of_columns) {
        blocks.outer = part.scaled(blocks.outer, rank);
        return;
    }
    for (index_t* columns :
         {&blocks.columns, &blocks.tile_columns, &spec.target.section_columns, &spec.source.columns().panel})
        *columns = part.scaled(*columns, rank);
}

}  // namespace

SweepSpec SweepSpec::of_rank(int rank) const {
    SweepSpec mine = *this;
    if (sharing.own_part) {
        take_part(mine, *sharing.own_part, rank);
        return mine;
    }
    if (!source.is_blocks()) {
        mine.source.columns().rank = rank;
        if (sharing.reads_together) mine.source.columns().use = ColumnPanels::Use::sent;
        place_twin(mine.source.columns());
    } else if (ranks() > 1) {  // which hold the rows that this rank transforms
        BlockGrid grid = source.blocks();
        const index_t each = walked().panels_per_matrix() * walked().panel;
        grid.rows = std::clamp<index_t>(grid.rows - rank * each, 0, each);
        mine.source.array = grid;
    }
    if (!target.is_blocks()) {
        mine.target.columns().rank = rank;
        if (exchanges() || gives_back()) mine.target.columns().use = ColumnPanels::Use::sent;
    }
    if (auto* columns = std::get_if<Sharing::Columns>(&mine.sharing.kept)) columns->keepers.rank = rank;
    if (mine.apart()) std::get_if<TileWork>(&mine.work)->rows.apart->rank = rank;
    return mine;
}

// In place each panel of all ranks is one, of which all read and write rows.
Partition SweepSpec::read_partition() const {
    if (gives_back()) return {Partition::Kind::columns, ExchangeGeometry(*this).all_together(), {}};
    if (sharing.own_rows > 0) return {Partition::Kind::columns, ExchangeGeometry(*this).together(rank()), {}};
    return source.partition(walked());
}

index_t SweepSpec::tile_width() const {
    if (target.is_blocks()) return target.blocks().tile_columns;
    if (const TurnedRows* turned = target.turned()) return walked().panel / turned->panels.rows * turned->rows_in(0);
    return source.is_blocks() ? source.blocks().tile_rows : walked().panel;
}

index_t SweepSpec::tile_steps() const {
    const ColumnPanels& panels = walked();
    if (panels.halved() == 0) return ceil_div(panels.panel, tile_width());
    return 2 * ceil_div(panels.panel / panels.halved() * panels.computed_of_section(), tile_width());
}

index_t SweepSpec::read_slots() const {
    const index_t reads = walked().panels() * (source.is_blocks() ? tile_steps() : 1);
    const auto slots = [&]() -> index_t {
        if (const auto* in_place = std::get_if<InPlace>(&target.array)) return in_place->slots;
        if (sharing.reads_together && !takes_ahead()) return 1;
        return source.is_blocks() && tile_steps() >= kSmallTiles ? kMaxSlots : 2;
    };
    return std::min(slots(), reads);
}

index_t SweepSpec::write_slots() const {
    if (target.is_in_place()) return 0;
    const index_t of_tiles = target.turned() ? kMaxSlots : 2;  // turned tiles are small, so that there can be more
    const index_t most = tiled() ? of_tiles : slab_write_slots;
    return std::min(most, walked().panels() * (target.in_tiles() ? tile_steps() : 1));
}

index_t SweepSpec::read_slot_bytes() const {
    if (sharing.reads_together) return round_up(ExchangeGeometry(*this).together(0).slot_bytes(), 4096);  // the most
    return source.slot_bytes();
}

index_t SweepSpec::write_slot_bytes() const {
    return exchanges() ? ExchangeGeometry(*this).slot_bytes() : target.slot_bytes();
}

index_t SweepSpec::exchange_bytes() const {
    if (!has_rounds()) return 0;
    const ExchangeGeometry geometry(*this);
    if (!exchanges()) return geometry.taken_bytes();
    const index_t tiles = hands_on_ahead() ? 2 : 1;
    return geometry.taken_bytes() + tiles * round_up(geometry.tile_bytes(), 4096) +
           round_up(geometry.received_bytes(), 4096);
}

index_t SweepSpec::panel_bytes() const {
    return read_slots() * read_slot_bytes() + write_slots() * write_slot_bytes() + apart_bytes() + exchange_bytes();
}

index_t SweepSpec::twiddle_bytes() const { return round_up(twiddle_form().thread_bytes(precision), 4096); }

bool SweepSpec::shared_slab() const {
    return std::holds_alternative<SlabWork>(work) && walked().panel / points < 2 * threads;
}

index_t SweepSpec::source_pitch() const { return tile_pitch(points, source_elem_bytes()); }
index_t SweepSpec::target_pitch() const { return tile_pitch(out_points, target_elem_bytes()); }

// For each thread: a tile on the source side, one on the target side if that is another, and twiddles.
index_t SweepSpec::own_bytes() const {
    index_t bytes = table_bytes(*this) + threads * twiddle_bytes();
    if (!tiled()) return bytes;
    bytes += threads * round_up(lanes * source_pitch() * source_elem_bytes(), 4096);
    if (source.complex != target.complex)
        bytes += threads * round_up(lanes * target_pitch() * target_elem_bytes(), 4096);
    return bytes;
}

Partition SweepSpec::written_partition() const {
    if (gives_back()) return read_partition();
    return exchanges() ? ExchangeGeometry(*this).partition() : target.partition(walked());
}

}  // namespace spanfft
