// From bytes to panels; see partition.hpp.
#include "disk/partition.hpp"

namespace spanfft {

namespace {

index_t panel_among_all(const ColumnPanels& panels, index_t column) {
    const index_t section = panels.section_columns();
    return column / section * panels.panels_per_section() + column % section / panels.panel;
}

// Which panel of a matrix walks over this column, of those that are walked over. Where ranks share panels out: in which
// of its panels a rank does that walks over it (blocks: of its own rows).
index_t panel_walking(const ColumnPanels& panels, index_t column) {
    const index_t i = panel_among_all(panels, column);
    return panels.in_blocks() ? i % panels.panels_per_matrix() : i / panels.ranks;
}

int rank_walking(const ColumnPanels& panels, index_t column) {
    const index_t i = panel_among_all(panels, column);
    return static_cast<int>(panels.in_blocks() ? i / panels.panels_per_matrix() : i % panels.ranks);
}

// Which panel of a matrix holds a column, in which of its groups: the one that walks over it, or else over its mirror
// image, row_elems - column, or its reflection, row_elems - 1 - column.
struct Holder {
    index_t panel = 0;
    int which = 0;
    ColumnPanels::Group group;
    int rank = 0;  // whose panel it is
};

// `of_all`: of the panels of any rank.
Holder holder_of(ColumnPanels panels, index_t column, bool of_all = false) {
    const index_t pitch = panels.section_pitch(), section = panels.section_columns();
    Holder holder;
    const index_t images[] = {column, panels.row_elems - column, panels.row_elems - 1 - column};
    for (const index_t& image : images) {
        holder.which = &image == images ? 0 : 1;
        if (image % pitch >= section) continue;
        const index_t walked = image / pitch * section + image % pitch;
        if (of_all) panels.rank = rank_walking(panels, walked);
        holder.rank = panels.rank;
        holder.panel = panel_walking(panels, walked);
        holder.group = panels.group(holder.panel, holder.which);
        const index_t at = column - holder.group.first;
        if (at >= 0 && at < holder.group.width) break;
    }
    return holder;
}

Partition::Part part_of_columns(const ColumnPanels& panels, index_t elem, bool of_all) {
    const bool twin = panels.twin() && elem >= panels.twin()->elems;
    const index_t region = twin ? panels.twin()->elems : 0;
    const index_t matrix_elems = panels.stored_matrix_elems(), row_elems = panels.stored_row_elems();
    const index_t matrix = (elem - region) / matrix_elems, within = (elem - region) % matrix_elems;
    const index_t row = within / row_elems, column = panels.column_at(within % row_elems);
    const Holder holder = holder_of(panels, column, of_all);
    index_t end = panels.stored_at(holder.group, holder.which) + holder.group.width;
    // What is read as an image may go on with columns that a panel walks over, which the next period begins with.
    if (panels.mirrored() && holder.which == 1) end = std::min(end, round_up(column + 1, panels.section_pitch()));
    Partition::Part part;
    const index_t before = of_all ? holder.rank * panels.panels() : twin ? panels.panels() : 0;
    part.id = before + matrix * panels.panels_per_matrix() + holder.panel;
    part.end_bytes = region + matrix * matrix_elems + std::min(row * row_elems + end, matrix_elems);
    part.image = holder.which == 1;
    return part;
}

}  // namespace

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

// Who computes this column of half a section, and which column the tile there ends at.
std::pair<Holder, index_t> tile_of_half(ColumnPanels panels, index_t tile_columns, index_t computed, bool of_all) {
    const Holder holder = holder_of(panels, panels.column_of(computed), of_all);
    panels.rank = holder.rank;
    const ColumnPanels::Group all = panels.computed(holder.panel, holder.which);
    const index_t in_tile = (computed - all.first) % tile_columns;
    return {holder, std::min(computed - in_tile + tile_columns, all.first + all.width)};
}

}  // namespace

Partition::Part Partition::at(index_t byte) const {
    Part part;
    if (kind == Kind::boxes) {
        part = part_of_boxes(array, (byte - offset_bytes) / array.elem_bytes);
        part.end_bytes = offset_bytes + part.end_bytes * array.elem_bytes;
        if (load_of) part.id = load_of(part.id);
        return part;
    }
    if (kind == Kind::blocks_of_loads) {
        const index_t block = (byte - offset_bytes) / block_bytes;
        part.id = load_of(block);
        part.end_bytes = offset_bytes + (block + 1) * block_bytes;
        return part;
    }
    if (kind == Kind::columns) {
        const index_t elem = (byte - offset_bytes) / panels.elem_bytes;
        part = part_of_columns(panels, elem, of_all());
        if (shared_rows)
            part.id += elem % panels.matrix_elems() / panels.row_elems / shared_rows->a_rank * panels.panels();
        part.end_bytes = offset_bytes + part.end_bytes * panels.elem_bytes;
        return part;
    }
    const index_t matrix = (byte - offset_bytes) / blocks.matrix_bytes();
    const index_t within = (byte - offset_bytes) % blocks.matrix_bytes();
    const index_t column_bytes = blocks.rows * blocks.elem_bytes;
    if (kind == Kind::column_tiles && panels.halved() > 0) {
        const auto [holder, end] = tile_of_half(panels, blocks.tile_columns, within / column_bytes, of_all());
        part.id = matrix * panels.panels_per_matrix() + holder.panel + (of_all() ? holder.rank * panels.panels() : 0);
        part.end_bytes = offset_bytes + matrix * blocks.matrix_bytes() + end * column_bytes;
        return part;
    }
    const index_t tile =
        blocks.natural ? blocks.tile_at(within / column_bytes) : within / blocks.column_tile_pitch_bytes();
    const index_t begin =
        blocks.natural ? blocks.first_column(tile) * column_bytes : tile * blocks.column_tile_pitch_bytes();
    const index_t columns = blocks.columns_in(tile), first = blocks.column_of_all(blocks.first_column(tile));
    const bool by_rows = kind == Kind::row_tiles;
    const index_t block = by_rows ? (within - begin) / (blocks.tile_rows * columns * blocks.elem_bytes) : 0;
    const index_t rows_before = block * blocks.tile_rows;
    const index_t rows = by_rows ? rows_before + blocks.rows_in(block) : blocks.rows;
    part.end_bytes = offset_bytes + matrix * blocks.matrix_bytes() + begin + rows * columns * blocks.elem_bytes;
    const index_t walked = by_rows ? rows_before : first;
    part.id = matrix * panels.panels_per_matrix() + panel_walking(panels, walked);
    if (of_all()) part.id += rank_walking(panels, walked) * panels.panels();
    return part;
}

}  // namespace spanfft
