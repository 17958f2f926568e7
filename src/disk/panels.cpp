// The arithmetic of panels and blocks; see panels.hpp.
#include "disk/panels.hpp"

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <vector>

namespace spanfft {

Run piece_of(const Run& run, index_t pieces, index_t i, index_t elem_bytes) {
    if (pieces == 1) return run;
    // Cuts depend on the run's length alone, so their number can be predicted; their place is rounded to a block.
    const auto cut = [&](index_t k) {
        if (k == 0) return index_t{0};
        if (k == pieces) return run.bytes;
        const index_t at = run.offset_bytes + run.bytes / pieces * k;
        const index_t block = at - at % kDirectBytes - run.offset_bytes;
        return block - block % elem_bytes;
    };
    const index_t begin = cut(i), end = cut(i + 1);
    // A widened read must not reach into the pieces beside it, which may be there and worked on already.
    const auto apart = [&](index_t at) {
        return at == 0 || at == run.bytes || (run.offset_bytes + at) % kSlackBytes == 0;
    };
    const bool slack = run.slack && apart(begin) && apart(end);
    return {run.offset_bytes + begin, static_cast<char*>(run.data) + begin, end - begin, slack};
}

ColumnPanels::Group ColumnPanels::group(index_t panel_index, int which) const {
    const index_t i = place_among_all(panel_index);
    if (i >= panels_of_all()) return {};
    const index_t in_section = i % panels_per_section() * panel, skipped = mirrored_begin();
    const index_t begin = skipped + in_section, end = skipped + std::min(in_section + panel, section_columns());
    const index_t pitch = section_pitch(), before = i / panels_per_section() * pitch;
    const Group own{before + begin, end - begin};
    if (which == 0) return own;
    if (twin()) return twin()->once && panel_index >= panels_per_matrix() ? Group() : own;
    if (reflected()) {  // of 10 columns in panels of 3: 0-2 and 7-9, 3-4 and 5-6 where 5 are walked over
        const index_t first = std::max(before + end, row_elems - before - end), last = row_elems - before - begin;
        return first >= last ? Group() : Group{first, last - first};
    }
    return mirrored() ? images(own) : Group();
}

ColumnPanels::Group ColumnPanels::images(Group own) const {
    const index_t pitch = section_pitch(), before = own.first / pitch * pitch;
    const index_t begin = own.first - before, end = begin + own.width;
    if (mirrors_all()) {
        const index_t first = before == 0 ? std::max<index_t>(begin, 1) : begin;
        return first >= end ? Group() : Group{row_elems - before - end + 1, end - first};
    }
    // Columns 0 and pitch/2 of a section have their mirror images among those that panels walk over: of one section and
    // row_elems = 6, 1 and 2 have 5 and 4; of 5, 4 and 3.
    const index_t first = std::max<index_t>(begin, 1), last = std::min(end, (pitch - 1) / 2 + 1);
    if (first >= last) return {};
    return {row_elems - before - last + 1, last - first};
}

ColumnPanels::Group ColumnPanels::own_group(int which) const {
    assert(ranks == 1 || (in_blocks() && !in_sections()));
    const index_t begin = std::min(first_column(0), columns);
    const index_t end = std::min(begin + panels_per_matrix() * panel, columns);
    if (which == 0) return {begin, end - begin};
    if (!reflected() || begin == end) return {};
    const index_t first = std::max(end, row_elems - end), last = row_elems - begin;
    return first >= last ? Group() : Group{first, last - first};
}

ColumnPanels ColumnPanels::kept_alone() const {
    if (!own_file()) return *this;
    ColumnPanels alone = *this;
    alone.row_elems = alone.last_row_elems = alone.columns = own_group(0).width;
    alone.ranks = 1;
    alone.rank = 0;
    alone.share = Share::by_turns;
    return alone;
}

index_t ColumnPanels::pitch_bytes() const {
    const index_t bytes = panel * elem_bytes;
    return lean() ? bytes : round_up(bytes, alignment()) + alignment();
}

index_t ColumnPanels::slot_bytes() const { return rows * pitch_bytes() * groups(); }

RowMap ColumnPanels::map(index_t panel_index, int which, index_t file_offset_bytes, void* slot) const {
    RowMap rows_at;
    const index_t before =
        which == 1 && twin() ? twin()->elems : panel_index / panels_per_matrix() * stored_matrix_elems();
    rows_at.base = static_cast<char*>(slot) + which * rows * pitch_bytes();
    rows_at.pitch_bytes = pitch_bytes();
    rows_at.file_bytes = file_offset_bytes + in_file(before + stored_at(group(panel_index, which), which)) * elem_bytes;
    rows_at.row_bytes = file_row_elems() * elem_bytes;
    rows_at.alignment = alignment();
    if (use == Use::sent) {
        rows_at.base = static_cast<char*>(slot) + which * rows * panel * elem_bytes;
        rows_at.pitch_bytes = group(panel_index, which).width * elem_bytes;
        rows_at.alignment = 1;
    }
    return rows_at;
}

namespace {

// Requests of one group: `full` rows of `width`, and one of `last_width` (0: none).
struct GroupRuns {
    index_t full = 0, width = 0, last_width = 0;
    index_t pieces = 1, last_pieces = 0;
    index_t count() const { return full * pieces + last_pieces; }
    index_t elems() const { return full * width + last_width; }
};

GroupRuns group_runs(const ColumnPanels& panels, const ColumnPanels::Group& group) {
    GroupRuns runs;
    if (group.width == 0) return runs;
    const bool cut = panels.last_row_elems < panels.row_elems;
    runs.full = panels.rows - (cut ? 1 : 0);
    runs.width = group.width;
    runs.pieces = pieces_of(group.width * panels.elem_bytes);
    runs.last_width = cut ? std::clamp<index_t>(panels.last_row_elems - group.first, 0, group.width) : 0;
    runs.last_pieces = runs.last_width > 0 ? pieces_of(runs.last_width * panels.elem_bytes) : 0;
    return runs;
}

}  // namespace

index_t ColumnPanels::requests(index_t panel_index) const {
    return group_runs(*this, group(panel_index, 0)).count() + group_runs(*this, group(panel_index, 1)).count();
}

index_t ColumnPanels::walked_requests(index_t panel_index) const {
    return group_runs(*this, group(panel_index, 0)).count();
}

index_t ColumnPanels::requests_of_rows(index_t panel_index, int which, index_t first_rows) const {
    const GroupRuns runs = group_runs(*this, group(panel_index, which));
    return std::min(first_rows, runs.full) * runs.pieces + (first_rows > runs.full ? runs.last_pieces : 0);
}

namespace {

// Indices below `count` at which something may change, each with its neighbours, rising, with `count` at the end.
std::vector<index_t> changes(index_t count, std::initializer_list<index_t> places) {
    std::vector<index_t> all{0, count};
    for (index_t place : places) {
        for (index_t at = place - 2; at <= place + 2; ++at) {
            if (at > 0 && at < count) all.push_back(at);
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

// The same where ranks share panels out, of which none is part of a section.
template <class Each>
index_t sum_over_own_panels(const ColumnPanels& panels, Each each) {
    assert(!panels.in_sections() || panels.section_columns() == panels.panel);
    const index_t count = panels.panels_per_matrix(), row = panels.row_elems, cut = panels.last_row_elems;
    const auto own = [&](index_t column) {
        const index_t among_all = column / (panels.in_sections() ? panels.section_pitch() : panels.panel);
        return panels.in_blocks() ? among_all - panels.rank * count : (among_all - panels.rank) / panels.ranks;
    };
    const std::vector<index_t> places =
        changes(count, {0, count, own(panels.columns), own(row), own(cut), own(row - cut), own(row / 2)});
    index_t total = 0;
    for (size_t i = 0; i + 1 < places.size(); ++i) total += (places[i + 1] - places[i]) * each(places[i]);
    return total;
}

// The sum of each(p) over the panels of a matrix, of which there may be 10^11. All panels are alike but those at the
// ends of sections and rows, where the last row ends, and where columns meet their mirror images; so each is asked
// there, and once for every stretch in between.
template <class Each>
index_t sum_over_panels(const ColumnPanels& panels, Each each) {
    if (panels.ranks > 1) return sum_over_own_panels(panels, each);
    const index_t in_section = panels.panels_per_section(), sections = panels.panels_per_matrix() / in_section;
    const index_t pitch = panels.section_pitch(), row = panels.row_elems, cut = panels.last_row_elems;
    const std::vector<index_t> outer =
        changes(sections, {0, sections, cut / pitch, (row - cut) / pitch, row / 2 / pitch});
    index_t total = 0;
    for (size_t o = 0; o + 1 < outer.size(); ++o) {
        const index_t before = outer[o] * pitch;
        const auto panel_at = [&](index_t column) { return (column - panels.mirrored_begin()) / panels.panel; };
        const std::vector<index_t> inner =
            changes(in_section, {0, in_section, panel_at(cut - before), panel_at(row - cut - before),
                                 panel_at(pitch / 2), panel_at(row / 2 - before)});
        index_t of_section = 0;
        for (size_t i = 0; i + 1 < inner.size(); ++i)
            of_section += (inner[i + 1] - inner[i]) * each(outer[o] * in_section + inner[i]);
        total += (outer[o + 1] - outer[o]) * of_section;
    }
    return total;
}

}  // namespace

index_t ColumnPanels::own_columns() const {
    if (ranks == 1) return columns;
    if (in_blocks()) return own_group(0).width;
    return sum_over_panels(*this, [&](index_t p) { return group(p, 0).width; });
}

index_t ColumnPanels::own_images() const {
    if (!reflected()) return 0;
    if (ranks == 1) return row_elems - columns;
    if (in_blocks()) return own_group(1).width;
    return sum_over_panels(*this, [&](index_t p) { return group(p, 1).width; });
}

index_t ColumnPanels::payload_bytes() const {
    index_t elems = outer * matrix_elems();
    if (twin()) elems += (twin()->once ? 1 : outer) * matrix_elems();
    if (mirrors_all() || ranks > 1 || (mirrored() && mirrored()->own > 0)) {  // some are read twice, or by others
        elems = outer * sum_over_panels(*this, [&](index_t p) {
                    return group_runs(*this, group(p, 0)).elems() + group_runs(*this, group(p, 1)).elems();
                });
    }
    return elems * elem_bytes;
}

index_t ColumnPanels::total_requests() const {
    const index_t total = sum_over_panels(*this, [&](index_t p) { return requests(p); });
    if (!twin() || !twin()->once) return outer * total;
    return total + (outer - 1) * sum_over_panels(*this, [&](index_t p) { return walked_requests(p); });
}

index_t ColumnPanels::mirrored_together(index_t computed) const {
    const index_t column = column_of(computed), of_section = computed_of_section() - computed % computed_of_section();
    if (column == 0 || 2 * column == row_elems) return 1;
    return 2 * column < row_elems ? std::min(of_section, (row_elems + 1) / 2 - column) : of_section;
}

ColumnPanels::Group ColumnPanels::computed(index_t panel_index, int which) const {
    const Group all = group(panel_index, which);
    if (halved() == 0) return {first_column(panel_index), which == 0 || reflected() ? all.width : 0};
    const index_t first = computed_before(all.first);
    return {first, computed_before(all.first + all.width) - first};
}

index_t ColumnPanels::own_computed() const {
    if (halved() == 0) return own_columns() + own_images();
    return sum_over_panels(*this, [&](index_t p) { return computed(p, 0).width + computed(p, 1).width; });
}

index_t ColumnPanels::over_tiles(index_t step, const std::function<index_t(index_t columns)>& of) const {
    const auto of_these = [&](index_t count) {
        if (step == 0 || count <= step) return count > 0 ? of(count) : 0;
        return count / step * of(step) + (count % step > 0 ? of(count % step) : 0);
    };
    return outer * sum_over_panels(*this, [&](index_t p) {
               const index_t own = computed(p, 0).width, images = computed(p, 1).width;
               return halved() > 0 ? of_these(own) + of_these(images) : of_these(own + images);
           });
}

Run ColumnPanels::run(index_t panel_index, index_t i, index_t file_offset_bytes, const ColumnPanels& in_memory,
                      index_t memory_offset_bytes, void* slot) const {
    int which = 0;
    GroupRuns runs = group_runs(*this, group(panel_index, 0));
    if (i >= runs.count()) {
        i -= runs.count();
        which = 1;
        runs = group_runs(*this, group(panel_index, 1));
    }
    assert(i < runs.count());
    const bool last = i >= runs.full * runs.pieces;
    const index_t row = last ? rows - 1 : i / runs.pieces;
    const index_t piece = last ? i - runs.full * runs.pieces : i % runs.pieces;
    const RowMap rows_at = map(panel_index, which, file_offset_bytes, slot);
    const RowMap memory = in_memory.map(panel_index, which, memory_offset_bytes, slot);
    const Run whole{rows_at.file_bytes + row * rows_at.row_bytes, memory.row(row),
                    (last ? runs.last_width : runs.width) * elem_bytes, !lean()};
    return piece_of(whole, last ? runs.last_pieces : runs.pieces, piece, number_bytes());
}

index_t BlockGrid::column_tile_pitch_bytes() const {
    const index_t bytes = tile_columns * rows * elem_bytes;
    return lean() || natural ? bytes : round_up(bytes, kDirectBytes);
}

Run BlockGrid::write_run(index_t matrix, Columns these, index_t i, index_t file_offset_bytes, void* slot) const {
    const Run whole{file_offset_bytes + offset_bytes(matrix, these.first),
                    write_data(matrix, these.first, file_offset_bytes, slot), these.count * rows * elem_bytes,
                    !lean() && !natural};
    return piece_of(whole, requests_of(these.count), i);
}

index_t BlockGrid::block_pitch_bytes() const {
    const index_t bytes = tile_columns * tile_rows * elem_bytes;
    return lean() ? bytes : round_up(bytes, kSlackBytes) + kSlackBytes;
}

Run BlockGrid::read_run(index_t matrix, index_t row_tile, index_t column_tile, void* slot) const {
    const index_t offset = matrix * matrix_bytes() + column_tile * column_tile_pitch_bytes() +
                           block_elems_before(column_tile, row_tile) * elem_bytes;
    char* data = static_cast<char*>(slot) + column_tile * block_pitch_bytes() + (lean() ? 0 : offset % kSlackBytes);
    return {offset, data, columns_in(column_tile) * rows_in(row_tile) * elem_bytes, !lean()};
}

index_t BlockGrid::total_writes() const {
    // Sections are cut alike: whole tiles, but for the first one and the last.
    const index_t tiles = tiles_per_section(), whole = std::max<index_t>(0, tiles - 2);
    const index_t ends = write_requests(0) + (tiles > 1 ? write_requests(tiles - 1) : 0);
    return outer * (columns / section_columns()) * (ends + (whole > 0 ? whole * write_requests(1) : 0));
}

}  // namespace spanfft
