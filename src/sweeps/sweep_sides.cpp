// Bytes, requests, partitions and words of a side; see sweep_sides.hpp.
#include "sweeps/sweep_sides.hpp"

#include "plan/problem.hpp"

namespace spanfft {

index_t SweepSource::slot_bytes() const {
    return round_up(is_blocks() ? blocks().read_slot_bytes() : columns().slot_bytes(), 4096);
}

index_t SweepSource::payload_bytes() const {
    return is_blocks() ? blocks().payload_bytes() : columns().payload_bytes();
}

index_t SweepSource::total_requests() const {
    return is_blocks() ? blocks().total_reads() : columns().total_requests();
}

Partition SweepSource::partition(const ColumnPanels& walked) const {
    if (is_blocks()) return {Partition::Kind::row_tiles, walked, blocks()};
    return {Partition::Kind::columns, columns(), {}};
}

const ColumnPanels& SweepTarget::columns() const {
    if (const auto* reflection = std::get_if<Reflection>(&array)) return reflection->panels;
    if (const auto* in_place = std::get_if<InPlace>(&array)) return in_place->panels;
    if (turned()) return turned()->panels;
    assert(!is_blocks());
    return *std::get_if<ColumnPanels>(&array);
}

index_t SweepTarget::slot_bytes() const {
    if (turned()) return round_up(turned()->rows_in(0) * columns().pitch_bytes(), 4096);
    return round_up(is_blocks() ? blocks().write_slot_bytes() : columns().slot_bytes(), 4096);
}

index_t SweepTarget::payload_bytes(const ColumnPanels& walked) const {
    if (!is_blocks()) return columns().payload_bytes();
    return walked.outer * walked.own_computed() * blocks().rows * blocks().elem_bytes;
}

index_t SweepTarget::total_requests(const ColumnPanels& walked) const {
    if (!is_blocks()) return columns().total_requests();
    if (walked.halved() > 0)
        return walked.over_tiles(blocks().tile_columns, [&](index_t columns) { return blocks().requests_of(columns); });
    if (walked.ranks == 1) return blocks().total_writes();
    // The column tiles of this rank's panels, of which all but the last are alike.
    const index_t panels = walked.panels_per_matrix();
    const auto of_panel = [&](index_t panel) {
        const index_t begin = walked.first_column(panel), end = begin + walked.group(panel, 0).width;
        index_t writes = 0;
        for (index_t first = begin; first < end; first += blocks().tile_columns)
            writes += blocks().write_requests(blocks().tile_at(first));
        return writes;
    };
    return walked.outer * ((panels - 1) * (panels > 1 ? of_panel(0) : 0) + of_panel(panels - 1));
}

Partition SweepTarget::partition(const ColumnPanels& walked) const {
    if (is_blocks()) return {Partition::Kind::column_tiles, walked, blocks()};
    return {Partition::Kind::columns, columns(), {}};
}

std::string describe_panels(const ColumnPanels& panels) {
    const double run = static_cast<double>(panels.panel * panels.elem_bytes);
    return cat(panels.panels(), panels.panels() == 1 ? " panel" : " panels", " in runs of ", bytes_string(run));
}

std::string describe_blocks(const BlockGrid& blocks) {
    if (blocks.natural) return cat(blocks.tile_columns, " columns at a time");
    return cat("blocks of ", blocks.tile_columns, "x", blocks.tile_rows);
}

}  // namespace spanfft
