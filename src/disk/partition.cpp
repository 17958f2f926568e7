// From bytes to panels; see partition.hpp.
#include "disk/partition.hpp"

#include <algorithm>
#include <cassert>

namespace spanfft {

namespace {
constexpr int kSteps = 3;  // from where a column should be, before it is looked for everywhere
}

Partition Partition::of_loads(index_t loads, index_t block_bytes, std::function<index_t(index_t block)> load_of) {
    Partition partition;
    partition.kind = Kind::blocks_of_loads;
    partition.panels.outer = loads;
    partition.block_bytes = block_bytes;
    partition.load_of = std::move(load_of);
    return partition;
}

Partition Partition::of_boxes(const ArrayBoxes& array) {
    Partition partition;
    partition.kind = Kind::boxes;
    partition.panels.outer = array.count();
    partition.array = array;
    return partition;
}

namespace {

// A range of columns of a panel, by its number in a matrix.
struct Span {
    index_t begin = 0, end = 0, panel = 0;
};

bool halved_tiles(const Partition& partition) {
    return partition.kind == Partition::Kind::column_tiles && partition.panels.halved() > 0;
}

// What group `which` of a panel has: columns where they are stored, of tiles by number, computed or walked over.
Span span_of(const Partition& partition, const ColumnPanels& panels, index_t panel, int which) {
    const ColumnPanels::Group group = panels.group(panel, which);
    index_t first = panels.first_column(panel), width = group.width;
    if (partition.kind == Partition::Kind::columns) {
        first = panels.stored_at(group, which);
    } else if (halved_tiles(partition)) {
        const ColumnPanels::Group computed = panels.computed(panel, which);
        first = computed.first;
        width = computed.width;
    }
    return {first, first + width, panel};
}

int groups_of(const Partition& partition) {
    const bool both = partition.kind == Partition::Kind::columns ? !partition.panels.twin() : halved_tiles(partition);
    return both ? static_cast<int>(partition.panels.groups()) : 1;
}

// Of all panels of a matrix, in order: of all ranks that share the file, or of the rank whose own it is. What the
// panels of several ranks have has the number that each of them gives it, or that all do.
std::vector<Span> spans_of(const Partition& partition, int which) {
    std::vector<Span> spans;
    ColumnPanels panels = partition.panels;
    const bool alone = panels.own_file();
    const int end = alone ? panels.rank + 1 : panels.ranks;
    for (panels.rank = alone ? panels.rank : 0; panels.rank < end; ++panels.rank) {
        for (index_t panel = 0; panel < panels.panels_per_matrix(); ++panel) {
            Span span = span_of(partition, panels, panel, which);
            if (span.begin >= span.end) continue;
            if (partition.of_all()) span.panel += panels.rank * panels.panels();
            spans.push_back(span);
        }
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    return spans;
}

}  // namespace

PanelFinder::PanelFinder(const Partition& partition) : partition_(partition) {
    if (partition.kind == Partition::Kind::boxes || partition.kind == Partition::Kind::blocks_of_loads) return;
    cuts_.reserve(static_cast<size_t>(bytes(partition)) / sizeof(Cut));
    const std::vector<Span> walked = spans_of(partition, 0);
    const std::vector<Span> images = groups_of(partition) > 1 ? spans_of(partition, 1) : std::vector<Span>();
    index_t at = 0;
    const auto cut = [&](index_t end, index_t panel, bool is_image) {
        if (end <= at) return;
        cuts_.push_back({end, static_cast<int32_t>(panel), is_image});
        at = end;
    };
    // A column that a panel walks over is that panel's, though it may be another one's image.
    auto image = images.begin();
    const auto cut_images = [&](index_t end) {
        for (; image != images.end() && image->begin < end; ++image) {
            cut(image->begin, -1, false);
            cut(std::min(image->end, end), image->panel, true);
            if (image->end > end) return;
        }
    };
    for (const Span& span : walked) {
        cut_images(span.begin);
        cut(span.begin, -1, false);
        cut(span.end, span.panel, false);
    }
    cut_images(INT64_MAX);
    if (at > 0) cuts_per_column_ = static_cast<double>(cuts_.size()) / static_cast<double>(at);
}

index_t PanelFinder::bytes(const Partition& partition) {
    if (partition.kind == Partition::Kind::boxes || partition.kind == Partition::Kind::blocks_of_loads) return 0;
    const index_t panels = partition.panels.ranks * partition.panels.panels_per_matrix();
    return (2 * groups_of(partition) * panels + 1) * static_cast<index_t>(sizeof(Cut));
}

PanelFinder::Found PanelFinder::find(index_t at) const {
    // Nearly all panels are as wide as one another.
    size_t i = std::min(cuts_.size() - 1, static_cast<size_t>(static_cast<double>(at) * cuts_per_column_));
    for (int steps = 0; steps < kSteps && i + 1 < cuts_.size() && cuts_[i].end <= at; ++steps) ++i;
    for (int steps = 0; steps < kSteps && i > 0 && cuts_[i - 1].end > at; ++steps) --i;
    if (cuts_[i].end <= at || (i > 0 && cuts_[i - 1].end > at)) {
        const auto after = [](index_t x, const Cut& cut) { return x < cut.end; };
        i = static_cast<size_t>(std::upper_bound(cuts_.begin(), cuts_.end(), at, after) - cuts_.begin());
    }
    assert(i < cuts_.size() && cuts_[i].panel >= 0);
    return {cuts_[i].panel, i == 0 ? 0 : cuts_[i - 1].end, cuts_[i].end, cuts_[i].image};
}

Partition::Part PanelFinder::in_columns(index_t elem) const {
    const ColumnPanels& panels = partition_.panels;
    const bool twin = panels.twin() && elem >= panels.twin()->elems;
    const index_t region = twin ? panels.twin()->elems : 0;
    const index_t matrix_elems = panels.stored_matrix_elems(), row_elems = panels.stored_row_elems();
    const index_t matrix = (elem - region) / matrix_elems, within = (elem - region) % matrix_elems;
    const index_t column = within % row_elems;
    const Found found = find(column);
    Partition::Part part;
    part.id = (twin ? panels.panels() : 0) + matrix * panels.panels_per_matrix() + found.panel;
    if (const auto& rows = partition_.shared_rows) part.id += within / row_elems / rows->a_rank * panels.panels();
    part.end_bytes = region + matrix * matrix_elems + std::min(within - column + found.end, matrix_elems);
    part.image = found.image;
    return part;
}

// Tiles follow one another in a panel from its first column on; of ranks that share a section out, those of all do.
Partition::Part PanelFinder::in_column_tiles(index_t byte) const {
    const BlockGrid& blocks = partition_.blocks;
    const index_t column_bytes = blocks.rows * blocks.elem_bytes;
    if (!blocks.natural) {
        const index_t tile = byte / blocks.column_tile_pitch_bytes();
        const index_t begin = tile * blocks.column_tile_pitch_bytes();
        return {find(blocks.column_of_all(blocks.first_column(tile))).panel,
                begin + blocks.columns_in(tile) * column_bytes};
    }
    const index_t own = byte / column_bytes, column = blocks.column_of_all(own);
    const Found found = find(column);
    const index_t in_tile = (column - found.begin) % blocks.tile_columns;
    const index_t left = std::min(blocks.tile_columns - in_tile, found.end - column);
    const index_t in_section = blocks.section_columns() - own % blocks.section_columns();
    return {found.panel, (own + std::min(left, halved_tiles(partition_) ? left : in_section)) * column_bytes};
}

Partition::Part PanelFinder::in_row_tiles(index_t byte) const {
    const BlockGrid& blocks = partition_.blocks;
    const index_t tile = byte / blocks.column_tile_pitch_bytes(), begin = tile * blocks.column_tile_pitch_bytes();
    const index_t row_bytes = blocks.columns_in(tile) * blocks.elem_bytes;
    const index_t block = (byte - begin) / (blocks.tile_rows * row_bytes), before = block * blocks.tile_rows;
    return {find(before).panel, begin + (before + blocks.rows_in(block)) * row_bytes};
}

namespace {

// Which box of the array has this element, and where its run there ends: at the box's end along the last axis that it
// does not fill.
Partition::Part part_of_boxes(const ArrayBoxes& array, index_t elem) {
    Partition::Part part;
    index_t rest = elem, row = 1, boxes = 1;  // row: elements of a step along the axis
    part.end_bytes = -1;
    for (size_t axis = array.shape.size(); axis-- > 0;) {
        const index_t length = array.shape[axis], box = array.box[axis];
        const index_t at = rest % length, end = std::min(at - at % box + box, length);
        rest /= length;
        if (part.end_bytes < 0 && (box < length || axis == 0)) part.end_bytes = elem - elem % row + (end - at) * row;
        part.id += at / box * boxes;
        boxes *= ceil_div(length, box);
        row *= length;
    }
    return part;
}

}  // namespace

Partition::Part PanelFinder::at(index_t byte) const {
    const Partition& p = partition_;
    const index_t from = byte - p.offset_bytes;
    const auto placed = [&](Partition::Part part, index_t unit_bytes) {
        part.end_bytes = p.offset_bytes + part.end_bytes * unit_bytes;
        return part;
    };
    switch (p.kind) {
        case Partition::Kind::columns:
            return placed(in_columns(from / p.panels.elem_bytes), p.panels.elem_bytes);
        case Partition::Kind::column_tiles:
        case Partition::Kind::row_tiles: {
            const index_t matrix = from / p.blocks.matrix_bytes(), before = matrix * p.blocks.matrix_bytes();
            const bool by_rows = p.kind == Partition::Kind::row_tiles;
            Partition::Part part = by_rows ? in_row_tiles(from - before) : in_column_tiles(from - before);
            part.id += matrix * p.panels.panels_per_matrix();
            part.end_bytes += before;
            return placed(part, 1);
        }
        case Partition::Kind::blocks_of_loads: {
            const index_t block = from / p.block_bytes;
            return placed({p.load_of(block), block + 1}, p.block_bytes);
        }
        case Partition::Kind::boxes: {
            Partition::Part part = part_of_boxes(p.array, from / p.array.elem_bytes);
            if (p.load_of) part.id = p.load_of(part.id);
            return placed(part, p.array.elem_bytes);
        }
    }
    return {};
}

}  // namespace spanfft
